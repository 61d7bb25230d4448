"""What a facts document must keep to before it is believed: size, depth, text, numbers and times."""

from __future__ import annotations

import msgspec

from lifecycle.core.errors import BadArgument, BadDocument
from lifecycle.core.facts import Card, FactsDocument
from lifecycle.core.times import parse_iso

MAX_BYTES = 8 * 1024 * 1024
"""A 16-card node with 500 log lines and 2,000 packages writes about 0.5 MB; this is sixteen times that."""

MAX_DEPTH = 16
"""`facts/1` nests to seven levels; the rest is room for groups of later versions."""

MAX_CARDS = 256
"""The largest GPU servers hold 16 cards; sixteen times that."""

MAX_NAME = 253
"""Longest name DNS allows (RFC 1035, 255 octets on the wire)."""

MAX_IDENTITY = 128
"""UUIDs have 40 characters; NVML's own buffers for serials and names end at 96."""

MAX_DETAIL = 4096
"""One screen of an error message."""

LAST_MS = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z, the last millisecond ISO 8601 writes with a year of four digits."""

NO_IDENTITY = frozenset(
    (
        "n/a",
        "[n/a]",
        "not available",
        "[not available]",
        "not supported",
        "[not supported]",
        "unknown",
        "[unknown]",
        "unknown error",
        "[unknown error]",
        "none",
        "null",
        "gpu-00000000-0000-0000-0000-000000000000",
    )
)
"""What nvidia-smi and NVML put where a board has no serial or UUID to tell (lower case; zeros beside)."""


# All but brackets, quotes and white space vanishes; the brackets that are left show the nesting.
_BRACKETS = bytes.maketrans(b"[]{}", b"()()")
_SPACE = b" \t\r\n"
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'[]{}"' + _SPACE))


def compact(data: bytes) -> bytes:
    """The document without insignificant white space, so that layout makes no new content.

    Raises BadDocument where it is too large, too deep, not UTF-8 or, as far as seen here, not JSON. The
    check of depth comes before any parser, because parsers of nested text recurse.
    """
    if len(data) > MAX_BYTES:
        raise refused(f"it has {len(data):,} bytes; {MAX_BYTES:,} is the limit")
    try:
        data.decode()
        structure = _structure(data)
        if _deeper_than(structure, MAX_DEPTH):
            raise refused(f"it is nested more than {MAX_DEPTH} levels deep")
        spaced = structure.translate(None, _SPACE) != structure
        return msgspec.json.format(data, indent=-1) if spaced else data
    except UnicodeDecodeError as error:
        raise refused(f"it is not UTF-8 at byte {error.start}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise refused(f"it is not JSON: {shown(str(error), MAX_IDENTITY)}") from None


def _structure(data: bytes) -> bytes:
    """The brackets and the white space outside of strings. (Of what is not JSON: anything.)"""
    # Escaped quotes would end a string early below; they go first, with whatever they escape.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
    # Taking away pairs of neighbouring quotes leaves inside what was inside, and less to split.
    skeleton = plain.translate(None, _NOT_STRUCTURE).replace(b'""', b"")
    return b"".join(skeleton.split(b'"')[::2])


def _deeper_than(structure: bytes, levels: int) -> bool:
    brackets = structure.translate(_BRACKETS, _SPACE)
    for _ in range(levels):
        brackets = brackets.replace(b"()", b"")
        if not brackets:
            return False
    # Brackets that do not pair are no depth; the parser will say what they are.
    return brackets.count(b"(") > 0 and b"()" in brackets


def check_name(name: str) -> str:
    """A node name as given, or BadDocument: 1 to 253 printable characters."""
    if not name or len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
        raise refused(f"the node name «{shown(name)}» is not 1 to {MAX_NAME} printable characters")
    return name


def own_time(text: str) -> int:
    """The document's own time in epoch ms, or BadDocument: ISO 8601 with zone, 1970 to 9999 in UTC."""
    try:
        when = parse_iso(text, what="observed_at")
    except (BadArgument, OverflowError):
        when = -1
    if not 0 <= when <= LAST_MS:
        raise refused(f"its time «{shown(text)}» is not ISO 8601 with a time zone, from 1970 to 9999 in UTC")
    return when


def check_text(document: FactsDocument) -> None:
    """BadDocument where a text that gets a column of its own does not fit it."""
    for what, text in (
        ("reach", document.reach),
        ("boot_id", known(document.host.boot_id)),
        ("pool", document.pool),
    ):
        _check_identity(what, text or "")
    if len(document.reach_detail) > MAX_DETAIL or "\0" in document.reach_detail:
        raise refused(f"reach_detail is longer than {MAX_DETAIL} characters or holds a NUL")
    if not 0 <= (document.expected_cards or 0) <= MAX_CARDS:
        raise refused(f"expected_cards is {document.expected_cards}, not 0 to {MAX_CARDS}")
    if len(document.cards) > MAX_CARDS:
        raise refused(f"it lists {len(document.cards)} cards; {MAX_CARDS} is the limit")


def _check_identity(what: str, text: str) -> None:
    if len(text) > MAX_IDENTITY or not text.isprintable():
        raise refused(f"{what} «{shown(text)}» is not at most {MAX_IDENTITY} printable characters")


def check_card(position: int, card: Card) -> None:
    """BadDocument where a text that identifies card or seat is too long or not printable."""
    identity = card.identity
    values = {
        "identity.uuid": identity.uuid,
        "identity.serial": identity.serial,
        "identity.name": identity.name,
        "identity.board_part_number": identity.board_part_number,
        "seat.pci": card.seat.pci,
        "read.outcome": card.read.outcome,
    }
    texts = [value for value in values.values() if isinstance(value, str)]
    joined = "".join(texts)
    if joined.isprintable() and len(joined) <= MAX_IDENTITY:
        return
    for what, value in values.items():
        if isinstance(value, str):
            _check_identity(f"cards[{position}].{what}", value)


def shown(text: str, length: int = 60) -> str:
    """Untrusted text made fit for a message: short, and without anything a terminal obeys."""
    return "".join(c if c.isprintable() else "�" for c in text[:length])


def refused(why: str) -> BadDocument:
    """The error for one document; `why` completes the sentence and holds untrusted text only as `shown`."""
    return BadDocument(
        f"A facts document cannot be taken in: {why}.",
        means="Nothing of it was stored; other documents are not affected.",
        remedy="Read the node again with the current probe; if it comes back, keep the file and report it.",
    )


def known(value: object) -> str | None:
    """The text of a reading, or None where it is unread."""
    return value if isinstance(value, str) else None


def identifying(value: object) -> str | None:
    """The text of a reading that can tell one thing from another: None where it is unread, or where it is
    one of the words (see NO_IDENTITY) or zeros that stand for «none»."""
    if not isinstance(value, str) or not value.strip(" 0-") or value.strip().lower() in NO_IDENTITY:
        return None
    return value
