"""The ledger and the policy a command works with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.policy_file import load_policy
from lifecycle.adapters.settings import Settings
from lifecycle.core.policy import Policy
from lifecycle.core.times import parse_iso

DEFAULT_POLICY = "owner"


@contextmanager
def opened(settings: Settings) -> Iterator[Ledger]:
    """The ledger with everything taken in that waits in its spool, so that no command overlooks a reading."""
    from lifecycle.workflows.spooled import drain

    with Ledger.open(settings.ledger_url) as ledger:
        drain(settings, ledger)
        yield ledger


def policy_for(settings: Settings, wanted: str | None) -> Policy:
    """A policy by name or file; `owner` where none is asked for."""
    return load_policy(wanted or DEFAULT_POLICY, settings.policies)


def as_of_ms(text: str | None) -> int:
    """`--as-of`, or now."""
    return now_ms() if text is None else parse_iso(text, what="--as-of")
