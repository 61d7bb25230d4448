"""The ledger a command works with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.settings import Settings
from lifecycle.core.times import parse_iso
from lifecycle.workflows.spooled import Taken, drain


@contextmanager
def opened(settings: Settings) -> Iterator[tuple[Ledger, Taken]]:
    """The ledger with everything taken in that waits in its spool, so that no command overlooks a reading.

    What was refused on the way is handed on: whoever answers from this ledger has to say so.
    """
    with Ledger.open(settings.ledger_url) as ledger:
        yield ledger, drain(settings, ledger)


def as_of_ms(text: str | None) -> int:
    """`--as-of`, or now."""
    return now_ms() if text is None else parse_iso(text, what="--as-of")
