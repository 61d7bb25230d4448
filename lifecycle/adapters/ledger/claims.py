"""Cards that turn up at another node than before: moved, or claimed by two nodes at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from lifecycle.adapters.ledger.keys import slices
from lifecycle.adapters.ledger.schema import nodes, observations, readings
from lifecycle.adapters.ledger.seats import READABLE, too_close
from lifecycle.core.records import Claim


@dataclass(frozen=True, slots=True)
class Added:
    """A reading new to the ledger: which card, at which node, when."""

    card_id: int
    uuid: str
    node_id: int
    node: str
    at: int


Places = dict[int, set[int]]
"""card id → ids of the nodes it was seen at."""


def places(connection: Connection, card_ids: Sequence[int]) -> Places:
    """Where these cards were seen so far."""
    found: Places = {}
    r = readings.c
    for part in slices(card_ids):
        query = select(r.card_id, r.node_id).where(r.card_id.in_(part)).distinct()
        for card, node in connection.execute(query):
            found.setdefault(card, set()).add(node)
    return found


def of_batch(connection: Connection, added: Sequence[Added], before: Places) -> tuple[int, list[Claim]]:
    """How many cards moved with these readings, and which of them their other node still shows.

    before: where the cards were seen until then. Only a card with a new reading can have moved, so an
    unchanged fleet costs nothing here. Readings and observations are in the transaction already.
    """
    moved = 0
    found: list[Claim] = []
    for one in added:
        seen = before.setdefault(one.card_id, set())
        if one.node_id in seen:
            continue
        moved += bool(seen)
        for other in sorted(seen):
            name = _still_shown(connection, one, other)
            if name is not None:
                found.append(Claim(one.uuid, one.node, name))
        seen.add(one.node_id)
    return moved, found


def _still_shown(connection: Connection, one: Added, other: int) -> str | None:
    """The other node's name where its newest readable observation holds the card at practically that time."""
    o, r = observations.c, readings.c
    newest = (
        select(nodes.c.name, o.observed_at, o.manifest)
        .join(nodes, nodes.c.id == o.node_id)
        .where(o.node_id == other, o.reach == READABLE)
        .order_by(o.observed_at.desc(), o.digest.desc())
        .limit(1)
    )
    row = connection.execute(newest).first()
    if row is None or not too_close(row.observed_at, one.at):
        return None
    held = select(r.id).where(r.id.in_(json.loads(row.manifest)), r.card_id == one.card_id).limit(1)
    return str(row.name) if connection.execute(held).first() is not None else None
