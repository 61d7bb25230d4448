"""The parts of a report: typed, frozen, and free of any decision.

Names and reasons are kept as they came; making them harmless is the duty of every rendering.
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from lifecycle.core.findings import ActionName, Finding, PolicyStamp

SEVERITY: tuple[ActionName, ...] = get_args(ActionName)
"""Verdicts from ok to retire, in the order of `Action`."""


class SweepSummary(msgspec.Struct, frozen=True):
    """What one sweep reached. Times are ISO 8601; `not_read` says per node why it was not read."""

    started_at: str
    ended_at: str
    nodes_asked: int
    nodes_read: int
    cards_read: int
    complete: bool
    not_read: dict[str, str] = {}


class Subject(msgspec.Struct, frozen=True):
    """What a line of the report is about: a card in its seat, or a node."""

    kind: Literal["card", "node"]
    node: str
    pci: str | None = None
    uuid: str | None = None
    serial: str | None = None
    model: str | None = None

    @property
    def short_uuid(self) -> str | None:
        """The UUID up to the end of its first block, which tells the cards of a fleet apart."""
        return None if self.uuid is None else "-".join(self.uuid.split("-")[:2])


class Todo(msgspec.Struct, frozen=True):
    """A subject with its findings, worst first; the first one is the reason for `verdict`.

    others: further cards of the node of which the very same is said (only where nothing is to be done).
    """

    subject: Subject
    verdict: ActionName
    findings: list[Finding]
    others: list[Subject] = []


class NotRead(msgspec.Struct, frozen=True):
    """A node, or cards of one node with the same reasons, without a usable reading.

    whole_node: the node was not reached; `cards` are then the cards last known there. Without cards the
    entry is about the node itself. age_s: seconds from the last good reading to as-of; None where there
    never was one.
    """

    node: str
    whole_node: bool
    cards: list[Subject]
    reasons: list[str]
    remedy: str | None
    observed_at: str | None
    age_s: int | None

    @property
    def is_node(self) -> bool:
        """Whether this is about a node rather than about some of its cards."""
        return self.whole_node or not self.cards


class Gap(msgspec.Struct, frozen=True):
    """A reading that is missing on cards which have a verdict all the same."""

    reading: str
    cards: int


class CardCell(msgspec.Struct, frozen=True):
    """One card on the map."""

    subject: Subject
    verdict: ActionName
    state: str
    observed_at: str | None
    age_s: int | None
    stale: bool


class NodeLine(msgspec.Struct, frozen=True):
    """One node on the map. `own` is the node's own verdict, `worst` that of the node and its cards."""

    node: str
    own: ActionName
    worst: ActionName
    reach: str
    observed_at: str | None
    age_s: int | None
    cards: list[CardCell]


class Pool(msgspec.Struct, frozen=True):
    """Nodes that belong together; `name` is None for nodes without a pool."""

    name: str | None
    nodes: list[NodeLine]


class Age(msgspec.Struct, frozen=True):
    """Cards of one node whose last reading is from the same moment."""

    node: str
    observed_at: str | None
    age_s: int | None
    stale: bool
    cards: list[Subject]


class Report(msgspec.Struct, frozen=True):
    """Everything a rendering needs. Counts hold every verdict, in the order of severity.

    unproven_cards: cards that ask for nothing else and lack a needed reading, wherever they sit.
    sweep is the newest sweep, last_complete the newest one that reached every node; None where none is
    known. ages: oldest first, never-read cards before all others.
    """

    generated_at: str
    as_of: str
    fleet: str | None
    policy: PolicyStamp
    engine: str
    simulated: bool
    card_counts: dict[ActionName, int]
    node_counts: dict[ActionName, int]
    pools: list[Pool]
    todo: list[Todo]
    watching: list[Todo]
    not_read: list[NotRead]
    unproven_cards: int
    gaps: list[Gap]
    ages: list[Age]
    sweep: SweepSummary | None
    last_complete: SweepSummary | None

    @property
    def nodes(self) -> list[NodeLine]:
        """All nodes, pool after pool."""
        return [node for pool in self.pools for node in pool.nodes]
