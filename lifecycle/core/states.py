"""States of cards and nodes, and the verbs that only record one (contract 6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from lifecycle.core.errors import BadArgument, Refused

Kind = Literal["card", "node", "board"]

STATES = (
    "enrolled",
    "in_service",
    "quarantined",
    "in_repair",
    "validating",
    "spare",
    "retired",
    "disposed",
)

FINAL = ("retired", "disposed")
"""Nothing recorded by hand leads out of these."""

LEADS_TO = {"quarantine": "quarantined", "retire": "retired", "release": "in_service"}
"""The verbs that record a state without touching a node, and the state each leads to."""

_KINDS = ("card", "node", "board")


@dataclass(frozen=True, slots=True)
class Target:
    """What changes its state: a card by UUID, a node by name, or a board by serial."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def parse_target(text: str) -> Target:
    """`card:UUID`, `node:NAME`, `board:SERIAL`, or a bare full card UUID. Anything else is BadArgument."""
    kind, colon, name = text.partition(":")
    if colon and kind in _KINDS and name:
        return Target(cast(Kind, kind), name)
    if text.startswith("GPU-"):
        return Target("card", text)
    raise BadArgument(
        f"«{text[:80]}» does not say what it is.",
        means="Nothing was recorded: a card, a node and a board can have the same name.",
        remedy="Give a full card UUID (GPU-…), or card:UUID, node:NAME or board:SERIAL.",
    )


def check_step(target: str, state: str, to_state: str, cards: Mapping[str, str] | None = None) -> None:
    """Raises Refused where `target` (kind:name) may not leave `state` for `to_state`.

    cards: UUID → state of the cards of a board. What is final for one of them must not seem undone by a
    step of the board; to end the others as well undoes nothing.
    """
    if state in FINAL:
        raise _refused(target, state)
    if to_state not in FINAL:
        for uuid, of_card in (cards or {}).items():
            if of_card in FINAL:
                raise _refused(f"card:{uuid} of {target}", of_card)


def _refused(target: str, state: str) -> Refused:
    return Refused(
        f"{target} is {state}, and that is final.",
        means=f"Nothing was recorded: what is {state} never returns to production.",
        remedy="Put another card in its seat, and enrol that one.",
    )
