"""How reasons write times, numbers and counts, so that all rules say them alike."""

from __future__ import annotations

from fractions import Fraction

from lifecycle.core.quantities import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, MS_PER_SECOND
from lifecycle.core.times import iso

# A binary float has no more decimal digits than these (IEEE 754 binary64: 15 to 17).
_PLACES = 17


def when(ms: int | None) -> str:
    """2026-11-29 23:40 UTC, or «never»."""
    return "never" if ms is None else iso(ms)[:16].replace("T", " ") + " UTC"


def number(value: Fraction | int | float) -> int | float:
    """As shown and compared: whole where it is whole, else to one place."""
    if isinstance(value, int):
        return value  # however large: turning it into a float may fail
    shown = round(float(value), 1)
    return int(shown) if shown.is_integer() else shown


def above(value: Fraction | int | float, limit: float) -> int | float:
    """A value above a limit as shown: never rounded down onto the limit."""
    least = max(limit, number(limit))
    for places in range(1, _PLACES):
        shown = round(float(value), places)
        if shown > least:
            return int(shown) if shown.is_integer() else shown
    return float(value)


def counted(value: Fraction | int, limit: float = 0) -> str:
    """A number of errors: exact where whole, «about 165» where an interval counted in proportion.

    Never rounded down onto a limit that the value is above.
    """
    if not isinstance(value, Fraction):
        return str(value)
    shown = round(value)
    return f"about {shown if shown > limit or value <= limit else above(value, limit)}"


def days(ms: int) -> str:
    """1 day, 24.1 days: with at most one decimal place."""
    return times(number(ms / MS_PER_DAY), "day")


def span(ms: int) -> str:
    """A duration in its largest sensible unit: 22 min, 3.5 h, 2 days."""
    for per, least, unit in ((MS_PER_DAY, 2, "days"), (MS_PER_HOUR, 2, "h"), (MS_PER_MINUTE, 1, "min")):
        if ms >= least * per:
            return f"{number(ms / per)} {unit}"
    return f"{number(ms / MS_PER_SECOND)} s"


def times(count: int | float, noun: str) -> str:
    """1 card, 2 cards, 0.5 cards."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
