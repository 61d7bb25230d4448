"""Changes of state: who decided what, when and why."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from lifecycle.adapters.ledger.boards import EVER, boards_of_cards
from lifecycle.adapters.ledger.keys import numbers
from lifecycle.adapters.ledger.schema import cards, nodes, transitions
from lifecycle.adapters.ledger.standing import Standing
from lifecycle.core.errors import NotFound
from lifecycle.core.records import TargetKind, Transition
from lifecycle.core.states import check_step


def state_of(connection: Connection, kind: TargetKind, target: str) -> str:
    """The present state of a target; NotFound where the ledger never met it."""
    _check_known(connection, kind, target)
    return _state(Standing(connection, EVER), kind, target)


def state_before(connection: Connection, kind: TargetKind, target: str, to_state: str) -> str:
    """See `Ledger.state_before`."""
    members = _check_known(connection, kind, target)
    standing = Standing(connection, EVER)
    state = _state(standing, kind, target)
    check_step(f"{kind}:{target}", state, to_state, {uuid: standing.card(uuid)[0] for uuid in members})
    return state


def add_transition(
    connection: Connection, at: int, kind: TargetKind, target: str, to_state: str, who: str, reason: str
) -> Transition:
    """Add one row for a change of state, unless the rules forbid it."""
    state = state_before(connection, kind, target, to_state)
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


def _refuse_beginning(connection: Connection, target: str) -> None:
    """A beginning is enough to look a card up, and too little to change it: say which card it may be."""
    begins = select(cards.c.uuid).where(cards.c.uuid.startswith(target, autoescape=True)).limit(2)
    whole = connection.scalars(begins).all()
    if len(whole) == 1:
        raise NotFound(
            f"«{target[:80]}» is only the beginning of {whole[0]}.",
            means="Nothing was recorded: a change of state needs the full UUID.",
            remedy=f"If that is the card, give card:{whole[0]}",
        )


def _state(standing: Standing, kind: TargetKind, target: str) -> str:
    return (standing.card(target) if kind == "card" else standing.other(kind, target))[0]


def _check_known(connection: Connection, kind: TargetKind, target: str) -> list[str]:
    """The UUIDs of a board's cards, none for other kinds; NotFound where the ledger never met the target."""
    members: list[str] = []
    if kind == "board":
        members = sorted(boards_of_cards(connection, {target}, EVER))
        found = bool(members)
    elif kind == "node":
        found = connection.execute(select(nodes.c.id).where(nodes.c.name == target)).first() is not None
    else:
        found = connection.execute(select(cards.c.id).where(cards.c.uuid == target)).first() is not None
        if not found:
            _refuse_beginning(connection, target)
    if not found:
        raise NotFound(
            f"The ledger knows no {kind} «{target[:80]}».",
            means="Nothing was recorded.",
            remedy="See `muster cards` and `muster nodes` for what it knows; take it in with a sweep first.",
        )
    return members
