"""Paths as a person writes them, made absolute the same way wherever they count."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def full_path(text: str) -> Path:
    """The absolute path: `~` is the home directory, a relative path starts at the current directory.

    `.`, `..` and double slashes are resolved as text; links are not followed.
    """
    home = os.path.expanduser(text)  # noqa: PTH111 - Path.expanduser raises where there is no such user
    return Path(os.path.abspath(home))  # noqa: PTH100 - Path.resolve follows links


def state_directory(env: Mapping[str, str]) -> Path:
    """Muster's own state directory. A relative XDG_STATE_HOME does not count (XDG Base Directory 0.8)."""
    chosen = env.get("XDG_STATE_HOME", "")
    return full_path(chosen if chosen.startswith("/") else "~/.local/state") / "muster"
