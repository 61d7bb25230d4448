"""What the list commands hand to a rendering: rows of cards and nodes, events, an ingest's outcome.

Times are ISO 8601, or None where the thing never happened.
"""

from __future__ import annotations

import msgspec

from lifecycle.core.findings import ActionName


class CardRow(msgspec.Struct, frozen=True):
    """A card in `muster cards` (contract 6.6, field for field). `verdict` is None where none was formed."""

    uuid: str
    serial: str | None
    name: str | None
    node: str | None
    pci: str | None
    state: str
    verdict: ActionName | None
    first_seen: str | None
    last_seen: str | None


class NodeRow(msgspec.Struct, frozen=True):
    """A node in `muster nodes`. cards: how many were in it when it was last read.

    verdict: on the node itself; worst_card: the worst verdict on a card that sits in it, None without one.
    """

    node: str
    state: str | None
    verdict: ActionName | None
    worst_card: ActionName | None
    reach: str
    cards: int
    first_seen: str | None
    last_seen: str | None


class StoryEvent(msgspec.Struct, frozen=True):
    """One dated event in a card's life. kind: seen, moved, reading, finding, transition, run …"""

    at: str
    kind: str
    text: str
    node: str | None = None
    pci: str | None = None
    who: str | None = None


class IngestOutcome(msgspec.Struct, frozen=True):
    """What an ingest did. new: observations stored; known: documents that were there already.

    refused: (document, why). notes: (document or card, what was remarkable but taken). nodes: how many
    nodes the documents are about. cards: cards never seen before.
    """

    new: int
    known: int
    refused: list[tuple[str, str]] = []
    notes: list[tuple[str, str]] = []
    nodes: int = 0
    cards: int = 0
