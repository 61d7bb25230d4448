"""From rows to histories: what the judge sees, one node after the other in the order of names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec
from sqlalchemy import Connection

from lifecycle.adapters.ledger import chunks, seats
from lifecycle.adapters.ledger.bodies import Bodies, load_bodies
from lifecycle.adapters.ledger.life_cards import Around, card_histories, troubles_of
from lifecycle.adapters.ledger.seats import Life
from lifecycle.adapters.ledger.standing import Standing
from lifecycle.core.facts import Host
from lifecycle.core.history import NodeHistory, SeatTrouble
from lifecycle.core.records import NodeRow

_host = msgspec.json.Decoder(Host).decode
_NO_KEYS = "{}"


def histories(connection: Connection, as_of: int, heat_since: int) -> Iterator[NodeHistory]:
    """See `Ledger.histories`."""
    for life, around in _lives(connection, as_of, heat_since):
        yield _node_history(life, around)


def node_rows(connection: Connection, as_of: int) -> Iterator[NodeRow]:
    """See `Ledger.nodes`."""
    for life, around in _lives(connection, as_of, as_of):
        node = _node_history(life, around)
        yield NodeRow(
            node=node.node,
            state=node.state,
            reach=node.reach,
            first_seen=next((one.at for one in life.observations if one.reach == seats.READABLE), None),
            last_tried=node.observed_at,
            last_read=node.host_at,
            cards=sum(card.present for card in node.cards),
        )


def _lives(connection: Connection, as_of: int, heat_since: int) -> Iterator[tuple[Life, Around]]:
    """Every node with an observation up to as_of, in the order of names."""
    names = chunks.node_names(connection)
    moved = chunks.moved_cards(connection)
    standing = Standing(connection, as_of)
    pending = iter(names.items())
    while chunk := dict(islice(pending, chunks.CHUNK_NODES)):
        lives = chunks.load_lives(connection, chunk, as_of)
        wanderers = [card for life in lives.values() for card in moved.intersection(life.last)]
        elsewhere = chunks.load_elsewhere(connection, wanderers, lives, names, as_of)
        bodies = load_bodies(connection, lives, heat_since)
        around = Around({**elsewhere, **lives}, moved, bodies, standing)
        for life in lives.values():
            if life.observations:
                yield life, around


def _node_history(life: Life, around: Around) -> NodeHistory:
    newest = life.observations[-1]
    index = life.newest_readable()
    readable = life.observations[index] if index is not None else newest
    with_host = seats.newest_host(life)
    return NodeHistory(
        node=life.name,
        observed_at=newest.at,
        reach=newest.reach,
        reach_detail=newest.reach_detail,
        simulated=readable.simulated,
        host=_host_facts(with_host, around.bodies) if with_host is not None else None,
        host_at=with_host.at if with_host is not None else None,
        cards=card_histories(life, around),
        troubles=_seat_troubles(life) if index is not None else [],
        previous_cards=_previous_cards(life, index),
        expected_cards=newest.expected_cards,
        pool=newest.pool,
        state=around.standing.other("node", life.name)[0],
    )


def _host_facts(one: seats.Observation, bodies: Bodies) -> Host:
    if one.host_facts_id is None:
        return Host()
    slow = bodies.hosts[one.host_facts_id]
    live = bytes(bodies.live[one.id].host).decode()
    if _NO_KEYS in (slow, live):
        return _host(live if slow == _NO_KEYS else slow)
    return _host(f"{slow[:-1]},{live[1:]}")


def _previous_cards(life: Life, index: int | None) -> int | None:
    """Cards of the newest earlier readable observation that held any: one without says nothing of loss."""
    for earlier in range((index or 0) - 1, -1, -1):
        if life.observations[earlier].reach == seats.READABLE and life.held[earlier]:
            return len(life.held[earlier])
    return None


def _seat_troubles(life: Life) -> list[SeatTrouble]:
    readable = [one for one in life.observations if one.reach == seats.READABLE]
    found = [SeatTrouble(pci, outcome, detail) for pci, outcome, detail in troubles_of(readable[-1]).seats]
    for trouble in found:
        for one in reversed(readable[:-1]):
            if not any(pci == trouble.pci for pci, _, _ in troubles_of(one).seats):
                break
            trouble.tries += 1
    return found
