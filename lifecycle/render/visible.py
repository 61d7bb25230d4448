"""Words for people: text made harmless, times, ages, counts.

Names and reasons come from nodes, inventories and logs. `visible` is the one gate they pass before a
terminal, a mail or a page shows them.
"""

from __future__ import annotations

import unicodedata

from lifecycle.core.report import epoch_seconds
from lifecycle.core.times import iso

NAME_MAX = 64
"""Longest shown name in characters; DNS labels (RFC 1035, 63 octets) and all known card names fit."""

TEXT_MAX = 600
"""Longest shown reason, remedy or source in characters: about seven lines of a mail."""

MARKS_MAX = 2
"""Longest run of combining marks; living scripts stack two, only mischief stacks more."""

CUT = "..."

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories without a glyph of their own: controls, bidi and format marks, surrogates, line ends."""

MINUTE, HOUR, DAY = 60, 3_600, 86_400
MS_PER_SECOND = 1_000
MINUTES_END = len("2026-11-29T23:40")


def visible(text: str | None, limit: int = NAME_MAX, absent: str = "-") -> str:
    """The text on one line, with everything that could move a cursor or turn text around spelt out.

    A result longer than `limit` keeps its beginning and its end, so that two long names stay different.
    """
    if text is None or text == "":
        return absent
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    # Both ends are enough to shorten from, whatever the length of what came in.
    bounded = text if len(text) <= 2 * limit else text[:limit] + text[-limit:]
    marks, shown = 0, []
    for char in unicodedata.normalize("NFC", bounded):
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        odd_space = category == "Zs" and char != " "
        shown.append(_escape(char) if category in HIDDEN or odd_space or marks > MARKS_MAX else char)
    return _shorten(shown, limit)


def _shorten(parts: list[str], limit: int) -> str:
    """At most `limit` characters, cut between parts, never inside an escape."""
    if sum(map(len, parts)) <= limit:
        return "".join(parts)
    room = limit - len(CUT)
    tail = _fitting(parts[::-1], room // 4)[::-1]
    head = _fitting(parts, room - sum(map(len, tail)))
    return "".join([*head, CUT, *tail])


def _fitting(parts: list[str], room: int) -> list[str]:
    taken = []
    for part in parts:
        room -= len(part)
        if room < 0:
            break
        taken.append(part)
    return taken


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def sentence(text: str | None) -> str:
    """A reason or remedy, made harmless."""
    return visible(text, TEXT_MAX)


def model(name: str | None) -> str:
    """A card's name without the maker's: all cards here are NVIDIA's."""
    return visible(name).removeprefix("NVIDIA ").removeprefix("Tesla ")


def when(moment: str | None) -> str:
    """An ISO 8601 time as «2026-11-29 23:40 UTC»; what is no time is shown as it is."""
    seconds = epoch_seconds(moment)
    if seconds is None:
        return visible(moment, absent="never")
    return f"{iso(seconds * MS_PER_SECOND)[:MINUTES_END].replace('T', ' ')} UTC"


def period(since: str | None, until: str | None) -> str:
    """The days that evidence covers; empty where the finding has none."""
    if since is None and until is None:
        return ""
    if since is None or until is None:
        return f"since {when(since)}" if since is not None else f"until {when(until)}"
    return when(since) if since == until else f"{when(since)} to {when(until)}"


def age(seconds: int | None) -> str:
    """An age in its largest useful unit: «20 min», «7 h», «40 d»; whole units, rounded down."""
    if seconds is None:
        return "never"
    if seconds < 2 * HOUR:
        return f"{seconds // MINUTE} min"
    return f"{seconds // HOUR} h" if seconds < 2 * DAY else f"{seconds // DAY} d"


def count(number: int, noun: str) -> str:
    """«1 card», «1,496 cards»."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(parts: list[str]) -> str:
    """«a, b and c»."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def measured(observed: int | float | str | None, threshold: int | float | str | None, unit: str) -> str:
    """«137 errors/30d (threshold 100)»; empty where nothing was measured."""
    if observed is None:
        return ""
    # A word carries its own meaning; the unit of «absent» is nothing a reader needs.
    suffix = "" if isinstance(observed, str) else f" {visible(unit, absent='')}".rstrip()
    value = f"{_value(observed)}{suffix}"
    if threshold is None:
        return value
    return f"{value} ({'expected' if isinstance(threshold, str) else 'threshold'} {_value(threshold)})"


def _value(value: int | float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else visible(str(value))
