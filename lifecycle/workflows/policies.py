"""Which policy judges."""

from __future__ import annotations

from lifecycle.adapters.policy_file import DEFAULT_POLICY, load_policy
from lifecycle.adapters.settings import Settings
from lifecycle.core.policy import Policy


def policy_for(settings: Settings, wanted: str | None) -> Policy:
    """A policy by name or file; the default where none is asked for. Raises BadPolicy."""
    return load_policy(wanted or DEFAULT_POLICY, settings.policies)
