"""How long work tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with the steps done, the steps in all (None: not known) and what is going on."""

    def __call__(self, done: int, total: int | None, text: str) -> None: ...


def silent(done: int, total: int | None, text: str) -> None:
    """Tells nobody."""
