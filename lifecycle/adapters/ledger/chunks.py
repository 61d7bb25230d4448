"""Loading the rows behind the histories of some nodes: few statements per chunk, short columns first."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, func, select

from lifecycle.adapters.ledger.keys import slices
from lifecycle.adapters.ledger.schema import cards, nodes, observations, readings
from lifecycle.adapters.ledger.seats import Life, Observation, Reading
from lifecycle.core.history import Sample

CHUNK_NODES = 128
"""128 nodes of 8 cards with 12 different readings of 1 KB each are about 12 MB in memory."""

FETCH_ROWS = 1000
"""Rows taken from the database's cursor at a time."""

_ids = msgspec.json.Decoder(list[int]).decode

_o = observations.c
_OBSERVATIONS = select(
    _o.id,
    _o.node_id,
    _o.observed_at,
    _o.digest,
    _o.reach,
    _o.reach_detail,
    _o.simulated,
    _o.expected_cards,
    _o.pool,
    _o.boot_id,
    _o.host_facts_id,
    _o.troubles,
    _o.manifest,
).order_by(_o.node_id, _o.observed_at, _o.digest)

_r = readings.c
_READINGS = select(_r.id, _r.card_id, _r.pci, _r.facts_id, _r.memory)


def node_names(connection: Connection) -> dict[int, str]:
    """id → name of all nodes, in the order of names (the program's order, whatever the database's)."""
    rows = connection.execute(select(nodes.c.id, nodes.c.name)).all()
    return {number: name for number, name in sorted(rows, key=lambda row: row.name)}


def moved_cards(connection: Connection) -> set[int]:
    """Cards ever seen at more than one node."""
    query = select(_r.card_id).group_by(_r.card_id).having(func.min(_r.node_id) != func.max(_r.node_id))
    return set(connection.scalars(query))


def load_lives(
    connection: Connection, names: Mapping[int, str], as_of: int
) -> tuple[dict[int, Life], dict[int, Reading]]:
    """The lives of these nodes (id → name) up to as_of, and their readings by id."""
    rows = connection.execute(_READINGS.where(_r.node_id.in_(names)), execution_options=_STREAM)
    by_id: dict[int, Reading] = {
        number: (card, pci, facts, memory) for number, card, pci, facts, memory in rows
    }
    return _lives(connection, names, as_of, by_id), by_id


def load_elsewhere(
    connection: Connection,
    wanted: Sequence[int],
    here: Container[int],
    names: Mapping[int, str],
    as_of: int,
) -> tuple[dict[int, Reading], dict[int, Life]]:
    """The readings of these cards outside the nodes `here`, and the lives of those nodes as far as these
    cards go."""
    by_id: dict[int, Reading] = {}
    places: dict[int, str] = {}
    for part in slices(wanted):
        query = _READINGS.add_columns(_r.node_id).where(_r.card_id.in_(part))
        for number, card, pci, facts, memory, node in connection.execute(query):
            if node not in here:
                by_id[number] = (card, pci, facts, memory)
                places[node] = names[node]
    return by_id, _lives(connection, places, as_of, by_id) if places else {}


def _lives(
    connection: Connection, names: Mapping[int, str], as_of: int, by_id: Mapping[int, Reading]
) -> dict[int, Life]:
    lives = {number: Life(number, name) for number, name in names.items()}
    for part in slices(list(names)):
        query = _OBSERVATIONS.where(_o.node_id.in_(part), _o.observed_at <= as_of)
        for row in connection.execute(query, execution_options=_STREAM):
            life = lives[row.node_id]
            life.observations.append(Observation._make(row))
    for life in lives.values():
        _fill(life, by_id)
    return lives


def _fill(life: Life, by_id: Mapping[int, Reading]) -> None:
    samples = life.samples
    for index, observation in enumerate(life.observations):
        held = _ids(observation.manifest)
        life.held.append(held)
        at, boot_id = observation.at, observation.boot_id
        for number in held:
            reading = by_id.get(number)
            if reading is None:
                continue  # Another card of a node that was loaded for its moved cards only.
            card = reading[0]
            sample = Sample(at, reading[3], boot_id)
            try:
                samples[card].append(sample)
            except KeyError:
                samples[card] = [sample]
            life.last[card] = index


def bodies(
    connection: Connection, key: Column[int], body: Column[str], wanted: Sequence[int]
) -> dict[int, str]:
    """id → body of these rows."""
    return {number: text for number, text in rows(connection, (key, body), wanted)}


def card_rows(connection: Connection, wanted: Sequence[int]) -> dict[int, tuple[str, str | None]]:
    """id → (UUID, serial as first read) of these cards."""
    columns = (cards.c.id, cards.c.uuid, cards.c.serial)
    return {number: (uuid, serial) for number, uuid, serial in rows(connection, columns, wanted)}


def rows(connection: Connection, columns: Sequence[Column[Any]], wanted: Sequence[int]) -> Iterator[Any]:
    """These columns of the rows whose first column is wanted, streamed."""
    for part in slices(wanted):
        query = select(*columns).where(columns[0].in_(part))
        yield from connection.execute(query, execution_options=_STREAM)


_STREAM = {"yield_per": FETCH_ROWS}
