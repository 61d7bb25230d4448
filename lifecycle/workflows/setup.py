"""Settings for the command line, which does not talk to adapters itself."""

from __future__ import annotations

from lifecycle.adapters.settings import Settings, read_settings

__all__ = ["Settings", "read_settings"]
