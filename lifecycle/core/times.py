"""Times as people and JSON write them (ISO 8601 with zone) and as the ledger keeps them (epoch ms)."""

from __future__ import annotations

import datetime as _dt

from lifecycle.core.errors import BadArgument

_UTC = _dt.UTC
LATEST_MS = 253_402_300_799_999
"""The last millisecond that ISO 8601 can write with four digits for the year, in UTC."""

_EPOCH = _dt.datetime(1970, 1, 1, tzinfo=_UTC)


def parse_iso(text: str, *, what: str) -> int:
    """ISO 8601 text to epoch milliseconds. A time without a zone is refused: whose midnight would it be?"""
    try:
        when = _dt.datetime.fromisoformat(text)
    except ValueError:
        raise _bad(text, what, "it is not an ISO 8601 time") from None
    if when.tzinfo is None:
        raise _bad(text, what, "it names no time zone")
    ms = (when - _EPOCH) // _dt.timedelta(milliseconds=1)
    if not 0 <= ms <= LATEST_MS:
        raise _bad(text, what, "it lies outside the years 1970 to 9999")
    return ms


def iso(ms: int) -> str:
    """Epoch milliseconds to ISO 8601 in UTC, with milliseconds only where they are not zero."""
    when = _EPOCH + _dt.timedelta(milliseconds=ms)
    spec = "milliseconds" if ms % 1000 else "seconds"
    return when.isoformat(timespec=spec).replace("+00:00", "Z")


def _bad(text: str, what: str, why: str) -> BadArgument:
    return BadArgument(
        f"{what} «{text[:80]}» cannot be used: {why}.",
        means="Nothing was read or written.",
        remedy="Give it like 2026-11-30T00:00:00Z or 2026-11-30T01:00:00+01:00.",
    )
