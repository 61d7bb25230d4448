"""What a workflow hands back to the command line: an exit code, and the answer in either form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lifecycle.core.errors import Exit


@dataclass(frozen=True, slots=True)
class Style:
    """How text is to be laid out: columns, and whether colour may be used."""

    width: int
    colour: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """Rendered only in the form that is asked for, because either can be large.

    notes: sentences for standard error, whatever the form.
    """

    exit: Exit
    text: Callable[[Style], str]
    json: Callable[[], bytes]
    notes: tuple[str, ...] = ()
