"""Loading the rows behind the histories of some nodes: few statements per chunk, short columns first."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, Select, func, select

from lifecycle.adapters.ledger.keys import slices
from lifecycle.adapters.ledger.schema import nodes, observations, readings
from lifecycle.adapters.ledger.seats import Life, Observation
from lifecycle.core.history import Sample

CHUNK_NODES = 128
"""128 nodes of 8 cards with 12 different readings of 1 KB each are about 12 MB in memory."""

FETCH_ROWS = 200
"""Rows taken from the cursor at a time; few enough to stay in the processor's cache."""

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
    _o.non_production,
    _o.boot_id,
    _o.host_facts_id,
    _o.troubles,
    _o.manifest,
).order_by(_o.node_id, _o.observed_at, _o.digest)

_r = readings.c
_READINGS = select(_r.card_id, _r.pci, _r.facts_id, _r.memory, _r.id)


_Spot = tuple[Life, int, int, str | None]
"""Where an observation is: its node's life, its index there, its time and boot id."""


def node_names(connection: Connection) -> dict[int, str]:
    """id → name of all nodes, in the order of names (the program's order, whatever the database's)."""
    found = connection.execute(select(nodes.c.id, nodes.c.name)).all()
    return {number: name for number, name in sorted(found, key=lambda row: row.name)}


def moved_cards(connection: Connection) -> set[int]:
    """Cards ever seen at more than one node."""
    query = select(_r.card_id).group_by(_r.card_id).having(func.min(_r.node_id) != func.max(_r.node_id))
    return set(connection.scalars(query))


def load_lives(connection: Connection, names: Mapping[int, str], as_of: int) -> dict[int, Life]:
    """The lives of these nodes (id → name; of one chunk) up to as_of."""
    lives = _observed(connection, names, as_of)
    _Filling(lives).take(connection, _READINGS.where(_r.node_id.in_(names)))
    return lives


def load_elsewhere(
    connection: Connection,
    wanted: Sequence[int],
    here: Container[int],
    names: Mapping[int, str],
    as_of: int,
) -> dict[int, Life]:
    """The lives of the nodes outside `here` that ever held these cards, as far as these cards go."""
    places = {
        node: names[node]
        for part in slices(wanted)
        for node in connection.scalars(select(_r.node_id).where(_r.card_id.in_(part)).distinct())
        if node not in here
    }
    lives = _observed(connection, places, as_of) if places else {}
    filling = _Filling(lives)
    for part in slices(wanted):
        filling.take(connection, _READINGS.where(_r.card_id.in_(part)))
    return lives


def _observed(connection: Connection, names: Mapping[int, str], as_of: int) -> dict[int, Life]:
    lives = {number: Life(number, name) for number, name in names.items()}
    for part in slices(list(names)):
        query = _OBSERVATIONS.where(_o.node_id.in_(part), _o.observed_at <= as_of)
        for row in connection.execute(query).all():
            one = Observation._make(row)
            life = lives[one.node_id]
            life.observations.append(one)
            life.held.append(_ids(one.manifest))
    return lives


class _Filling:
    """Puts readings where the observations that hold them are.

    The short side is turned round (reading id → observation), so that each of the many readings is
    touched once, when it comes from the database, and not kept.
    """

    def __init__(self, lives: Mapping[int, Life]) -> None:
        self._mixed: list[list[Sample]] = []
        self._where: dict[int, _Spot] = {}
        self._again: dict[int, list[_Spot]] = {}
        for life in lives.values():
            for index, (one, held) in enumerate(zip(life.observations, life.held, strict=True)):
                spot = (life, index, one.at, one.boot_id)
                for number in held:
                    if self._where.setdefault(number, spot) is not spot:
                        self._again.setdefault(number, []).append(spot)

    def take(self, connection: Connection, query: Select[*tuple[Any, ...]]) -> None:
        where, again = self._where, self._again
        for card, pci, facts_id, memory, number in raw_rows(connection, query):
            spot = where.get(number)
            if spot is None:
                continue  # Observed after as_of, or at a node that is not asked for.
            life, index, at, boot_id = spot
            samples = life.samples.get(card)
            if samples is None:
                samples = life.samples[card] = []
            elif samples[-1].at >= at:
                self._mixed.append(samples)
            samples.append(Sample(at, memory, boot_id))
            if number in again:
                self._mixed.append(samples)
                samples += [Sample(at, memory, boot_id) for _, _, at, boot_id in again[number]]
                index = again[number][-1][1]
            last = life.last.get(card)
            if last is None or last[0] < index:
                life.last[card] = (index, number, pci, facts_id)
            life.card_of[number] = card
        # Readings come in the order they were first taken in, which is nearly always that of time.
        for samples in self._mixed:
            samples.sort(key=_AGE)


# Of two samples of one time the order must not depend on which was taken in first.
_AGE = attrgetter("at", "memory")


def raw_rows(connection: Connection, query: Select[*tuple[Any, ...]]) -> Iterator[Any]:
    """The rows as the driver gives them: a million named rows cost as much again as fetching them.

    Only for columns of types that need no conversion (integers and text).
    """
    result = connection.execute(query)
    cursor = result.cursor
    if cursor is None:
        return
    while block := cursor.fetchmany(FETCH_ROWS):
        yield from block
    result.close()


def bodies(
    connection: Connection, key: Column[int], body: Column[str], wanted: Sequence[int]
) -> dict[int, str]:
    """id → body of these rows."""
    return {number: text for number, text in rows(connection, (key, body), wanted)}


def rows(connection: Connection, columns: Sequence[Column[Any]], wanted: Sequence[int]) -> Iterator[Any]:
    """These columns (integers and text) of the rows whose first column is wanted."""
    for part in slices(wanted):
        yield from raw_rows(connection, select(*columns).where(columns[0].in_(part)))
