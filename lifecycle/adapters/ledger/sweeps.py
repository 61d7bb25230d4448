"""Sweeps, and what the nodes answered since one began."""

from __future__ import annotations

import json

from sqlalchemy import Connection, Select, insert, select

from lifecycle.adapters.ledger.chunks import node_names
from lifecycle.adapters.ledger.keys import numbers, slices
from lifecycle.adapters.ledger.schema import observations, sweeps
from lifecycle.adapters.ledger.seats import READABLE
from lifecycle.core.records import NodeRead, SweepRecord


def add_sweep(connection: Connection, sweep: SweepRecord) -> None:
    """Add one row for a sweep."""
    row = {
        "id": next(numbers(connection, sweeps)),
        "started_at": sweep.started_at,
        "ended_at": sweep.ended_at,
        "nodes_asked": sweep.nodes_asked,
        "nodes_read": sweep.nodes_read,
        "cards_read": sweep.cards_read,
        "complete": sweep.complete,
        "not_read": json.dumps(dict(sweep.not_read)),
        "policy_sha256": sweep.policy_sha256,
    }
    connection.execute(insert(sweeps), row)


def newest_sweep(connection: Connection) -> SweepRecord | None:
    """The sweep that ended last, complete or not."""
    return _first(connection, select(sweeps))


def last_complete_sweep(connection: Connection) -> SweepRecord | None:
    """The complete sweep that ended last."""
    return _first(connection, select(sweeps).where(sweeps.c.complete.is_(True)))


def _first(connection: Connection, query: Select[*tuple[object, ...]]) -> SweepRecord | None:
    row = connection.execute(query.order_by(sweeps.c.ended_at.desc(), sweeps.c.id.desc()).limit(1)).first()
    if row is None:
        return None
    return SweepRecord(
        started_at=row.started_at,
        ended_at=row.ended_at,
        nodes_asked=row.nodes_asked,
        nodes_read=row.nodes_read,
        cards_read=row.cards_read,
        complete=row.complete,
        not_read=json.loads(row.not_read),
        policy_sha256=row.policy_sha256,
    )


def read_since(connection: Connection, since: int) -> dict[str, NodeRead]:
    """See `Ledger.read_since`."""
    names = node_names(connection)
    best: dict[int, tuple[tuple[bool, int, str], NodeRead]] = {}
    o = observations.c
    columns = select(o.node_id, o.reach, o.observed_at, o.digest, o.manifest)
    # Asked for node by node, because the index begins with the node.
    for part in slices(list(names)):
        query = columns.where(o.node_id.in_(part), o.observed_at >= since)
        for node, reach, at, digest, manifest in connection.execute(query):
            rank = (reach == READABLE, at, digest)
            if node not in best or best[node][0] < rank:
                best[node] = (rank, NodeRead(reach, len(json.loads(manifest))))
    return {name: best[node][1] for node, name in names.items() if node in best}
