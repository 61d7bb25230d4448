"""Which cards a board has: every card that ever showed its serial.

A card may show no serial for a while, or another after its InfoROM was damaged. What was decided about a
board must not be undone by that, so no reading ever takes a card off its board again.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

import msgspec
from sqlalchemy import Connection, select

from lifecycle.adapters.ledger.chunks import raw_rows
from lifecycle.adapters.ledger.keys import slices
from lifecycle.adapters.ledger.schema import card_facts, cards, observations, readings
from lifecycle.core.bounds import identifying
from lifecycle.core.facts import NOT_READ, Unread


class _Serial(msgspec.Struct, frozen=True, gc=False):
    serial: str | Unread = NOT_READ


class _Who(msgspec.Struct, gc=False):
    identity: _Serial = _Serial()


_who = msgspec.json.Decoder(_Who).decode
_ids = msgspec.json.Decoder(list[int]).decode

EVER = 2**63 - 1
"""An as-of after every observation (epoch ms)."""

_Shown = dict[int, tuple[int, str]]
"""card_facts id → card id and the serial in these facts."""


def boards_of_cards(connection: Connection, serials: Container[str], as_of: int) -> Mapping[str, set[str]]:
    """UUID → the boards among `serials` the card belongs to, as far as was observed up to as_of (epoch ms).

    Reads all static facts once, which a fleet of 100,000 cards has some 150 MB of; nothing where no board
    is asked for.
    """
    if not serials:
        return {}
    shown = {
        number: (card, serial)
        for number, card, body in raw_rows(
            connection, select(card_facts.c.id, card_facts.c.card_id, card_facts.c.body)
        )
        if (serial := identifying(_who(body).identity.serial)) is not None and serial in serials
    }
    if as_of < EVER:
        seen = _observed(connection, shown, as_of)
        shown = {number: one for number, one in shown.items() if number in seen}
    found: dict[str, set[str]] = {}
    uuids = _uuids(connection, sorted({card for card, _ in shown.values()}))
    for card, serial in shown.values():
        found.setdefault(uuids[card], set()).add(serial)
    return found


def _observed(connection: Connection, shown: _Shown, as_of: int) -> set[int]:
    """Which of these facts some observation up to as_of holds."""
    r, o = readings.c, observations.c
    facts_of: dict[int, int] = {}
    places: set[int] = set()
    for part in slices(sorted({card for card, _ in shown.values()})):
        query = select(r.id, r.node_id, r.facts_id).where(r.card_id.in_(part))
        for number, node, facts in connection.execute(query):
            if facts in shown:
                facts_of[number] = facts
                places.add(node)
    seen: set[int] = set()
    for part in slices(sorted(places)):
        for (held,) in raw_rows(
            connection, select(o.manifest).where(o.node_id.in_(part), o.observed_at <= as_of)
        ):
            seen.update(facts_of[number] for number in _ids(held) if number in facts_of)
    return seen


def _uuids(connection: Connection, wanted: list[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for part in slices(wanted):
        found.update(
            (number, uuid)
            for number, uuid in connection.execute(
                select(cards.c.id, cards.c.uuid).where(cards.c.id.in_(part))
            )
        )
    return found
