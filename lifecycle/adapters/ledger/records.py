"""Sweeps and transitions: what Muster itself did, beside what it read."""

from __future__ import annotations

import json

from sqlalchemy import Connection, insert, select

from lifecycle.adapters.ledger.keys import numbers
from lifecycle.adapters.ledger.schema import cards, nodes, sweeps, transitions
from lifecycle.adapters.ledger.standing import Standing
from lifecycle.adapters.ledger.story import serial_of, uuids_with_serial
from lifecycle.core.errors import NotFound, Refused
from lifecycle.core.records import SweepRecord, TargetKind, Transition
from lifecycle.core.states import FINAL

_FOR_EVER = 2**63 - 1


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


def last_complete_sweep(connection: Connection) -> SweepRecord | None:
    """The complete sweep that ended last."""
    s = sweeps.c
    query = select(sweeps).where(s.complete.is_(True)).order_by(s.ended_at.desc(), s.id.desc()).limit(1)
    row = connection.execute(query).first()
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


def state_of(connection: Connection, kind: TargetKind, target: str) -> str:
    """The present state of a target; NotFound where the ledger never met it."""
    _check_known(connection, kind, target)
    standing = Standing(connection, _FOR_EVER)
    if kind == "card":
        return standing.card(target, serial_of(connection, target))[0]
    return standing.other(kind, target)[0]


def add_transition(
    connection: Connection, at: int, kind: TargetKind, target: str, to_state: str, who: str, reason: str
) -> Transition:
    """Add one row for a change of state, unless the present state is final."""
    state = state_of(connection, kind, target)
    if state in FINAL:
        raise Refused(
            f"{kind}:{target} is {state}, and that is final.",
            means=f"Nothing was recorded: what is {state} never returns to production.",
            remedy="Put another card in its seat, and enrol that one.",
        )
    row = {
        "id": next(numbers(connection, transitions)),
        "at": at,
        "target_kind": kind,
        "target": target,
        "from_state": state,
        "to_state": to_state,
        "who": who,
        "reason": reason,
    }
    connection.execute(insert(transitions), row)
    return Transition(at, kind, target, state, to_state, who, reason)


def _check_known(connection: Connection, kind: TargetKind, target: str) -> None:
    if kind == "board":
        found = bool(uuids_with_serial(connection, target))
    elif kind == "node":
        found = connection.execute(select(nodes.c.id).where(nodes.c.name == target)).first() is not None
    else:
        found = connection.execute(select(cards.c.id).where(cards.c.uuid == target)).first() is not None
    if not found:
        raise NotFound(
            f"The ledger knows no {kind} «{target[:80]}».",
            means="Nothing was recorded.",
            remedy="See `muster cards` and `muster nodes` for what it knows; take it in with a sweep first.",
        )
