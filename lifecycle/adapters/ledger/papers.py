"""Giving back the facts documents that were taken in."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, select

from lifecycle.adapters.ledger import chunks
from lifecycle.adapters.ledger.schema import card_facts, host_facts, nodes, observations, readings
from lifecycle.core.errors import NotFound
from lifecycle.core.facts import FACTS_SCHEMA
from lifecycle.core.times import iso


class _Live(msgspec.Struct):
    host: dict[str, msgspec.Raw] = {}
    cards: list[dict[str, msgspec.Raw]] = []
    unidentified: dict[str, msgspec.Raw] = {}
    document: dict[str, msgspec.Raw] = {}


_live = msgspec.json.Decoder(_Live).decode
_slices = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_ids = msgspec.json.Decoder(list[int]).decode
_encode = msgspec.json.Encoder().encode


def observation_ids(connection: Connection, node: str) -> list[int]:
    """The observations of a node, oldest first."""
    o = observations.c
    query = select(o.id).join(nodes, nodes.c.id == o.node_id).where(nodes.c.name == node)
    return list(connection.scalars(query.order_by(o.observed_at, o.digest)))


def document(connection: Connection, observation_id: int) -> bytes:
    """The document of an observation, with everything it held; NotFound where there is no such one."""
    query = select(observations, nodes.c.name.label("node")).join(nodes, nodes.c.id == observations.c.node_id)
    row = connection.execute(query.where(observations.c.id == observation_id)).first()
    if row is None:
        raise NotFound(
            f"The ledger has no observation {observation_id}.",
            means="There is no document to give back.",
            remedy="Take the number from `muster card` or `muster nodes`.",
        )
    live = _live(row.live)
    whole: dict[str, Any] = {
        "schema": FACTS_SCHEMA,
        "node": row.node,
        "observed_at": iso(row.observed_at if row.document_at is None else row.document_at),
        "reach": row.reach,
        "reach_detail": row.reach_detail,
        "simulated": row.simulated,
        "expected_cards": row.expected_cards,
        "pool": row.pool,
        "non_production": row.non_production,
        "reader": msgspec.Raw(row.reader.encode()),
    }
    whole.update(_host(connection, row.host_facts_id, live))
    whole["cards"] = _cards(connection, _ids(row.manifest), live)
    return _encode({**whole, **live.document})


def _host(connection: Connection, facts_id: int | None, live: _Live) -> dict[str, Any]:
    if facts_id is None:
        return {}
    slow = chunks.bodies(connection, host_facts.c.id, host_facts.c.body, [facts_id])[facts_id]
    return {"host": {**_slices(slow), **live.host}}


def _cards(connection: Connection, manifest: list[int], live: _Live) -> list[Any]:
    r = readings.c
    rows = {
        number: (facts, memory)
        for number, facts, memory in chunks.rows(connection, (r.id, r.facts_id, r.memory), manifest)
    }
    wanted = sorted({facts for facts, _ in rows.values()})
    static = chunks.bodies(connection, card_facts.c.id, card_facts.c.body, wanted)
    entries: list[Any] = []
    for number, moving in zip(manifest, live.cards, strict=True):
        facts, memory = rows[number]
        entries.append({**_slices(static[facts]), **_slices(memory), **moving})
    # Entries without a UUID go back to the position they had.
    for position, entry in sorted(live.unidentified.items(), key=lambda item: int(item[0])):
        entries.insert(int(position), entry)
    return entries
