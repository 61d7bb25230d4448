"""The states of cards, nodes and boards at a time, worked out from the transitions."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from sqlalchemy import Connection, select

from lifecycle.adapters.ledger.boards import boards_of_cards
from lifecycle.adapters.ledger.schema import transitions
from lifecycle.core.states import FINAL, STATES

Step = tuple[int, int, str]
"""When, row id, to-state."""


class Standing:
    """All transitions up to as_of. A fleet has few: people and playbooks make them one by one."""

    def __init__(self, connection: Connection, as_of: int) -> None:
        t = transitions.c
        query = select(t.target_kind, t.target, t.at, t.id, t.to_state).where(t.at <= as_of)
        self._steps: dict[tuple[str, str], list[Step]] = {}
        for kind, target, at, number, to in connection.execute(query):
            self._steps.setdefault((kind, target), []).append((at, number, to))
        decided = {target for kind, target in self._steps if kind == "board"}
        self._boards = boards_of_cards(connection, decided, as_of)

    def boards(self, uuid: str) -> AbstractSet[str]:
        """The boards with transitions that the card belongs to."""
        return self._boards.get(uuid, frozenset())

    def card(self, uuid: str) -> tuple[str, int | None]:
        """State of a card and since when; transitions of its boards count as its own."""
        steps = list(self._steps.get(("card", uuid), ()))
        for serial in self.boards(uuid):
            steps += self._steps["board", serial]
        return present_state(steps)

    def other(self, kind: str, target: str) -> tuple[str, int | None]:
        """State of a node or a board and since when."""
        return present_state(self._steps.get((kind, target), []))


def present_state(steps: list[Step]) -> tuple[str, int | None]:
    """The state the steps lead to and since when (epoch ms; None: never changed).

    A step out of a final state changes nothing, so a retired card stays retired whatever was recorded of
    its board.
    """
    state: str = STATES[0]
    since: int | None = None
    for at, _, to in sorted(steps):
        if to != state and state not in FINAL:
            state, since = to, at
    return state, since
