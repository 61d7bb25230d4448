"""Finding a card by what a person types, and telling its life in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, func, or_, select

from lifecycle.adapters.ledger import chunks
from lifecycle.adapters.ledger.schema import card_facts, cards, readings, transitions
from lifecycle.adapters.ledger.seats import Life
from lifecycle.adapters.ledger.standing import Standing
from lifecycle.core.bounds import identifying
from lifecycle.core.errors import NotFound
from lifecycle.core.facts import Identity
from lifecycle.core.history import CardHistory
from lifecycle.core.records import CardRow, CardStory, StoryEvent, Transition

_SHOWN_CANDIDATES = 5
"""Names in an error message; more do not help to choose."""


class _Who(msgspec.Struct):
    identity: Identity = Identity()


_who = msgspec.json.Decoder(_Who).decode


def find_card(connection: Connection, wanted: str) -> str:
    """The UUID meant by a UUID, a serial, or an unambiguous beginning; else NotFound."""
    if wanted and wanted.isprintable():
        exact = connection.scalar(select(cards.c.uuid).where(cards.c.uuid == wanted))
        found = [exact] if exact is not None else _beginning(connection, wanted)
        if len(found) == 1:
            return found[0]
        if found:
            raise _ambiguous(wanted, found)
    raise NotFound(
        f"The ledger knows no card «{''.join(c for c in wanted[:80] if c.isprintable())}».",
        means="No UUID and no serial begins like that.",
        remedy="See `muster cards` for the cards it knows.",
    )


def _beginning(connection: Connection, wanted: str) -> list[str]:
    uuid = cards.c.uuid
    full = f"GPU-{wanted}"
    begins = or_(
        func.substr(uuid, 1, len(wanted)) == wanted,
        func.substr(uuid, 1, len(full)) == full,
    )
    found = list(connection.scalars(select(uuid).where(begins)))
    return sorted({*found, *_by_serial(connection, wanted)})


def _by_serial(connection: Connection, wanted: str) -> list[str]:
    serial = cards.c.serial
    query = select(cards.c.uuid).where(func.substr(serial, 1, len(wanted)) == wanted)
    found = list(connection.scalars(query.order_by(cards.c.uuid)))
    if found or identifying(wanted) is None:
        return found
    # A serial that could not be read when the card was first met is found in its later facts.
    text = '"serial":' + msgspec.json.encode(wanted).decode()[:-1]
    later = (
        select(cards.c.uuid)
        .join(card_facts, card_facts.c.card_id == cards.c.id)
        .where(card_facts.c.body.contains(text, autoescape=True))
        .distinct()
    )
    return list(connection.scalars(later.order_by(cards.c.uuid)))


def _ambiguous(wanted: str, found: Sequence[str]) -> NotFound:
    names = ", ".join(found[:_SHOWN_CANDIDATES])
    more = len(found) - _SHOWN_CANDIDATES
    return NotFound(
        f"«{wanted[:80]}» can be {len(found)} cards: {names}{f' and {more} more' if more > 0 else ''}.",
        means="Nothing was chosen, so nothing was done.",
        remedy="Give more of the UUID. (Two GPUs of one board have the same serial.)",
    )


def tell(connection: Connection, uuid: str, as_of: int) -> CardStory:
    """The story of one card up to as_of: seats, readings as long as they stayed the same, transitions."""
    card, serial = connection.execute(select(cards.c.id, cards.c.serial).where(cards.c.uuid == uuid)).one()
    lives = chunks.load_elsewhere(connection, [card], (), chunks.node_names(connection), as_of)
    readings_of = _readings(connection, card)
    sightings = _sightings(card, lives)
    events = list(_seen(sightings, readings_of))
    static = _static(connection, readings_of[sightings[-1][2]].facts_id) if sightings else None
    who = _who(static).identity if static is not None else Identity()
    serial = identifying(who.serial) or serial
    standing = Standing(connection, as_of)
    events += _transitions(connection, uuid, standing.boards(uuid), as_of)
    events.sort(key=lambda event: event.at)
    return CardStory(
        uuid=uuid,
        serial=serial,
        name=who.name if isinstance(who.name, str) else None,
        state=standing.card(uuid)[0],
        static=static,
        events=events,
    )


class _Reading(NamedTuple):
    id: int
    pci: str | None
    facts_id: int
    memory: str


def _readings(connection: Connection, card: int) -> dict[int, _Reading]:
    r = readings.c
    query = select(r.id, r.pci, r.facts_id, r.memory).where(r.card_id == card)
    return {row.id: _Reading._make(row) for row in connection.execute(query)}


def _sightings(card: int, lives: Mapping[int, Life]) -> list[tuple[int, str, int]]:
    """(time, node, reading id), oldest first."""
    found = [
        (one.at, life.name, number)
        for life in lives.values()
        for one, held in zip(life.observations, life.held, strict=True)
        for number in held
        if life.card_of.get(number) == card
    ]
    return sorted(found)


def _seen(
    sightings: Sequence[tuple[int, str, int]], readings_of: Mapping[int, _Reading]
) -> Iterator[StoryEvent]:
    seat: tuple[str, str | None] | None = None
    same: tuple[str, str, str | None] | None = None
    since = until = 0
    for at, node, number in sightings:
        reading = readings_of[number]
        if (reading.memory, node, reading.pci) != same:
            if same is not None:
                yield StoryEvent(since, "reading", until, same[1], same[2], same[0])
            same, since = (reading.memory, node, reading.pci), at
        if (node, reading.pci) != seat:
            yield StoryEvent(at, "moved" if seat else "first_seen", node=node, pci=reading.pci)
            seat = (node, reading.pci)
        until = at
    if same is not None:
        yield StoryEvent(since, "reading", until, same[1], same[2], same[0])


def _static(connection: Connection, facts_id: int) -> str:
    return chunks.bodies(connection, card_facts.c.id, card_facts.c.body, [facts_id])[facts_id]


def _transitions(connection: Connection, uuid: str, boards: AbstractSet[str], as_of: int) -> list[StoryEvent]:
    t = transitions.c
    mine = or_(
        (t.target_kind == "card") & (t.target == uuid),
        (t.target_kind == "board") & t.target.in_(sorted(boards)),
    )
    query = select(transitions).where(mine, t.at <= as_of).order_by(t.at, t.id)
    return [
        StoryEvent(
            row.at,
            "transition",
            transition=Transition(
                row.at, row.target_kind, row.target, row.from_state, row.to_state, row.who, row.reason
            ),
        )
        for row in connection.execute(query)
    ]


def card_row(card: CardHistory) -> CardRow:
    """One line about a card."""
    who = _who(card.static).identity if card.static is not None else Identity()
    return CardRow(
        uuid=card.uuid,
        serial=identifying(who.serial),
        name=who.name if isinstance(who.name, str) else None,
        node=card.node,
        pci=card.pci,
        state=card.state,
        first_seen=card.first_seen_at,
        last_seen=card.last_seen_at,
        claimed_by=card.claimed_by,
    )
