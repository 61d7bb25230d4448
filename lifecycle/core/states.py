"""States of cards and nodes, and the verbs that only record one (contract 6.6)."""

from __future__ import annotations

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


def next_state(verb: str, target: Target, state: str) -> str:
    """The state `verb` leads to from `state`. Raises Refused where the present one is final."""
    if state in FINAL:
        raise Refused(
            f"{target} is {state}, and that is final.",
            means=f"Nothing was recorded: what is {state} never returns to production.",
            remedy="Put another card in its seat, and enrol that one.",
        )
    return LEADS_TO[verb]
