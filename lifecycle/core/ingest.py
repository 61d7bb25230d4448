"""From the bytes of a facts document to what the ledger stores: checked in full, then split verbatim.

Everything that arrives here was written by a node and is not believed: size, depth, types, names and
times are checked before anything is kept. The parts are slices of the document itself, so groups and
keys this program does not know survive (unknown card groups count as live).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from lifecycle.core.bounds import (
    MAX_DETAIL,
    MAX_IDENTITY,
    check_card,
    check_name,
    check_text,
    compact,
    identifying,
    known,
    own_time,
    refused,
    shown,
)
from lifecycle.core.facts import (
    FACTS_SCHEMA,
    HOST_LIVE_KEYS,
    MEMORY_GROUPS,
    STATIC_GROUPS,
    Card,
    FactsDocument,
)
from lifecycle.core.times import iso

DIGEST_HEX = 32
"""128 bits of SHA-256: an accidental match among 10^12 rows has a chance below 10^-14."""

DUPLICATE = "duplicate"
"""Outcome of an entry whose UUID an earlier entry of the same document has: one of the two is wrong."""

_TOP_OWN = frozenset(
    (
        "schema",
        "node",
        "observed_at",
        "reach",
        "reach_detail",
        "simulated",
        "expected_cards",
        "pool",
        "non_production",
        "reader",
        "host",
        "cards",
    )
)
_NOT_CONTENT = frozenset(("schema", "node", "observed_at"))
_DOCUMENT = msgspec.json.Decoder(FactsDocument)
_SLICES = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CARD_SLICES = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_ENCODE = msgspec.json.Encoder().encode

Slices = Mapping[str, msgspec.Raw]


class Troubles(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which entries of a document did not read well.

    cards: position among the cards that named themselves → outcome. seats: (PCI address or None, outcome,
    detail) of the entries that are no card of the ledger's: those without a UUID, and those whose UUID an
    earlier entry has (outcome DUPLICATE).
    """

    cards: dict[str, str] = {}
    seats: list[tuple[str | None, str, str]] = []

    def __bool__(self) -> bool:
        return bool(self.cards or self.seats)


class CardEntry(msgspec.Struct, frozen=True, gc=False):
    """One card that named itself. static, memory and live are JSON objects of its groups, verbatim."""

    uuid: str
    serial: str | None
    name: str | None
    board_part_number: str | None
    pci: str | None
    static: str
    static_digest: str
    memory: str
    reading_digest: str


class ParsedDocument(msgspec.Struct, frozen=True):
    """One facts document, checked and split. Times are epoch milliseconds; bodies are JSON text.

    at: the time that counts; document_at: the document's own where it differs, else None. troubles: the
    entries whose reading did not go well as a JSON `Troubles`, None where all did. live: JSON object with
    the live parts (see `_live`). notes: what a person should know about it.
    """

    node: str
    at: int
    document_at: int | None
    digest: str
    reach: str
    reach_detail: str
    simulated: bool
    expected_cards: int | None
    pool: str | None
    non_production: bool
    reader: str
    boot_id: str | None
    host: str | None
    host_digest: str | None
    cards: tuple[CardEntry, ...]
    troubles: str | None
    live: str
    size: int
    notes: tuple[str, ...] = ()


def parse_document(data: bytes, *, node: str | None = None, at: int | None = None) -> ParsedDocument:
    """Check and split one document. `node` and `at` (epoch ms) win over the document's own.

    Raises BadDocument with the place and the reason; nothing is kept of a refused document.
    """
    text = compact(data)
    try:
        document = _DOCUMENT.decode(text)
        top = _SLICES.decode(text)
        slices = _CARD_SLICES.decode(top.get("cards", b"[]"))
    except msgspec.ValidationError as error:
        raise refused(f"it does not fit {FACTS_SCHEMA}: {shown(str(error), 2 * MAX_IDENTITY)}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise refused(f"it is not JSON: {shown(str(error), MAX_IDENTITY)}") from None
    own_at = own_time(document.observed_at)
    name = check_name(node if node is not None else document.node)
    check_text(document)
    notes = _overruled(document, own_at, name, at)
    split = _split_cards(name, document.cards, slices)
    notes += split.notes
    host, host_live = _split_host(top.get("host"))
    as_taken = {key: raw for key, raw in top.items() if key not in _TOP_OWN}
    if document.node != name:
        as_taken["node"] = top["node"]
    if iso(own_at) != document.observed_at:
        as_taken["observed_at"] = top["observed_at"]
    return ParsedDocument(
        node=name,
        at=own_at if at is None else at,
        document_at=own_at if at is not None and at != own_at else None,
        digest=_digest(b"%s:%s" % (_ENCODE(k), top[k]) for k in sorted(top) if k not in _NOT_CONTENT),
        reach=document.reach,
        reach_detail=document.reach_detail,
        simulated=document.simulated,
        expected_cards=document.expected_cards,
        pool=document.pool,
        non_production=document.non_production,
        reader=bytes(top.get("reader", b"{}")).decode(),
        boot_id=known(document.host.boot_id),
        host=host.decode() if host is not None else None,
        host_digest=_digest((host,)) if host is not None else None,
        cards=tuple(split.entries),
        troubles=_ENCODE(split.troubles).decode() if split.troubles else None,
        live=_live(host_live, split, as_taken).decode(),
        size=len(data),
        notes=tuple(notes),
    )


def _overruled(document: FactsDocument, own_at: int, name: str, at: int | None) -> list[str]:
    """What the document says of itself and the caller knows better."""
    notes = []
    if at is not None and at != own_at:
        notes.append(f"the document says {iso(own_at)}; it was taken in as of {iso(at)}, as asked")
    if document.node != name:
        notes.append(f"the document names node «{shown(document.node)}»; it was taken in as «{name}»")
    return notes


@dataclass(slots=True)
class _Split:
    entries: list[CardEntry] = field(default_factory=list)
    live: list[Slices] = field(default_factory=list)
    unidentified: dict[str, Slices] = field(default_factory=dict)
    troubles: Troubles = field(default_factory=lambda: Troubles({}, []))
    notes: list[str] = field(default_factory=list)


def _split_cards(node: str, cards: Sequence[Card], slices: Sequence[Slices]) -> _Split:
    split = _Split()
    seen: dict[str, int] = {}
    for position, (card, groups) in enumerate(zip(cards, slices, strict=True)):
        check_card(position, card)
        uuid = identifying(card.identity.uuid)
        outcome = card.read.outcome
        if uuid is None or uuid in seen:
            detail = card.read.detail
            if uuid is not None:
                # Which of them is the card cannot be told; one that lies must not hide its neighbours.
                outcome, detail = DUPLICATE, f"cards[{seen[uuid]}] has the same UUID {uuid}"
                split.notes.append(f"cards[{position}] was not taken for a card: {shown(detail, MAX_DETAIL)}")
            split.unidentified[str(position)] = groups
            # A card that was opened and yet has no UUID is as much in trouble as one that was not.
            seat = (known(card.seat.pci), outcome, shown(detail, MAX_IDENTITY))
            split.troubles.seats.append(seat)
            continue
        seen[uuid] = position
        if outcome != "ok":
            split.troubles.cards[str(len(split.entries))] = outcome
        split.live.append({key: raw for key, raw in groups.items() if key not in _KEPT_APART})
        split.entries.append(_entry(node, uuid, card, groups))
    return split


_KEPT_APART = frozenset(STATIC_GROUPS + MEMORY_GROUPS)


def _entry(node: str, uuid: str, card: Card, groups: Slices) -> CardEntry:
    static = _ENCODE({key: groups[key] for key in STATIC_GROUPS if key in groups})
    memory = _ENCODE({key: groups[key] for key in MEMORY_GROUPS if key in groups})
    pci = known(card.seat.pci)
    static_digest = _digest((static,))
    seat = _ENCODE((node, uuid, pci, static_digest))
    identity = card.identity
    return CardEntry(
        uuid=uuid,
        serial=identifying(identity.serial),
        name=known(identity.name),
        board_part_number=known(identity.board_part_number),
        pci=pci,
        static=static.decode(),
        static_digest=static_digest,
        memory=memory.decode(),
        reading_digest=_digest((seat, memory)),
    )


def _split_host(raw: msgspec.Raw | None) -> tuple[bytes | None, Slices]:
    if raw is None:
        return None, {}
    keys = _SLICES.decode(raw)
    live = {key: keys.pop(key) for key in HOST_LIVE_KEYS if key in keys}
    return _ENCODE(keys), live


def _live(host: Slices, split: _Split, as_taken: Slices) -> bytes:
    """`{"host": live host keys, "cards": [live groups, in manifest order], "unidentified": {position in
    the document: whole entry}, "document": top-level keys that have no column}`."""
    parts: dict[str, object] = {"host": host, "cards": split.live}
    if split.unidentified:
        parts["unidentified"] = split.unidentified
    if as_taken:
        parts["document"] = as_taken
    return _ENCODE(parts)


def _digest(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:DIGEST_HEX]
