"""What the ledger takes and gives back besides histories. Times are epoch milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lifecycle.core.ingest import ParsedDocument

TargetKind = Literal["card", "node", "board"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """One checked document on its way into the ledger; `origin` (a file's path) names it to people."""

    origin: str
    document: ParsedDocument


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that was not taken in, and why (one sentence)."""

    origin: str
    why: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A card that two nodes showed at practically the same time: one of them is wrong."""

    uuid: str
    node: str
    other: str


@dataclass(slots=True)
class IngestReport:
    """What one ingest did. moved_cards: seen for the first time at a node other than the known ones."""

    observations: int = 0
    already_known: int = 0
    new_nodes: int = 0
    new_cards: int = 0
    moved_cards: int = 0
    new_readings: int = 0
    claims: list[Claim] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """One sweep: what was asked and what answered. not_read: node → reason."""

    started_at: int
    ended_at: int
    nodes_asked: int
    nodes_read: int
    cards_read: int
    complete: bool
    not_read: Mapping[str, str] = field(default_factory=dict)
    policy_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class NodeRead:
    """How a node answered. reach: `ok` or why not; cards: how many of its cards named themselves."""

    reach: str
    cards: int


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of state: who, when, why. target: a card's UUID, a node's name or a board's serial."""

    at: int
    target_kind: TargetKind
    target: str
    from_state: str
    to_state: str
    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """One thing in a card's life.

    first_seen and moved: at `node`, seat `pci`. reading: memory (JSON) as it stayed from `at` to `until`.
    transition: the change of state in `transition`.
    """

    at: int
    kind: Literal["first_seen", "moved", "reading", "transition"]
    until: int | None = None
    node: str | None = None
    pci: str | None = None
    memory: str | None = None
    transition: Transition | None = None


@dataclass(frozen=True, slots=True)
class CardStory:
    """A card's life in order. static: the newest slow groups (JSON), None where none was ever read."""

    uuid: str
    serial: str | None
    name: str | None
    state: str
    static: str | None
    events: Sequence[StoryEvent]


@dataclass(frozen=True, slots=True)
class CardRow:
    """One line of `muster cards`, unique by UUID and node.

    A UUID has more than one line only while several nodes show it at practically the same time; each line
    then comes from its own node's readings alone, and claimed_by names the other nodes.
    """

    uuid: str
    serial: str | None
    name: str | None
    node: str
    pci: str | None
    state: str
    first_seen: int | None
    last_seen: int | None
    claimed_by: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One line of `muster nodes`.

    first_seen: oldest readable observation; last_tried: newest one of any reach; last_read: newest readable
    one that has facts of the host. None where there is none.
    """

    node: str
    state: str
    reach: str
    first_seen: int | None
    last_tried: int | None
    last_read: int | None
    cards: int
