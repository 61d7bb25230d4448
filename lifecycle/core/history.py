"""What the ledger hands to the judge: one node with the life of its cards, oldest first.

Bodies stay encoded until a rule needs them: judging 100,000 cards touches two or three counters
samples per card, not all of them. Times are epoch milliseconds.

A fleet makes millions of these; none can be part of a cycle, so the collector need not look at them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lifecycle.core.facts import Ecc, Health, Host, Identity, Limits, Modes, Remap, RetiredPages


class StaticFacts(msgspec.Struct, frozen=True):
    """The slow groups of a card; unknown groups are ignored."""

    identity: Identity = Identity()
    modes: Modes = Modes()
    limits: Limits = Limits()


class MemoryFacts(msgspec.Struct, frozen=True):
    """The counters and flags of a card that rules follow over time."""

    ecc: Ecc = Ecc()
    remap: Remap = Remap()
    retired_pages: RetiredPages = RetiredPages()
    health: Health = Health()


class Sample(msgspec.Struct, gc=False):
    """One reading of one card: when, and its memory groups still encoded as JSON.

    `boot_id` tells driver loads apart; None where the node did not say. Samples of a reading that did not
    change share one `memory` object. (A struct, because a fleet's year has more than a million of them.)
    """

    at: int
    memory: bytes | str
    boot_id: str | None = None


class HeatSample(msgspec.Struct, gc=False):
    """GPU temperature in °C at one time."""

    at: int
    celsius: float


class CardHistory(msgspec.Struct, gc=False):
    """One card as the ledger knows it at as-of.

    present: seen in the node's newest readable observation. outcome: how the last attempt to read it
    went. failed: (time, outcome) of the attempts since the last one that read it, oldest first; it may
    be left empty, then only `outcome` is known. static and live are the newest bodies (JSON), or None
    where none was ever read. state_since: when the card entered its state, None where it never changed.
    heat: oldest first, at least the 30 days before as-of. first_seen_at and last_seen_at: anywhere, and
    at this node. claimed_by: other nodes that show the same UUID at practically the same time and held it
    before or came with it, so that this claim is in doubt; each of them has a CardHistory of its own, made
    from its own readings alone.
    """

    uuid: str
    node: str
    pci: str | None
    state: str
    present: bool
    outcome: str
    last_read_at: int | None
    samples: Sequence[Sample]
    heat: Sequence[HeatSample] = ()
    static: bytes | str | None = None
    live: bytes | str | None = None
    non_production: bool = False
    failed: Sequence[tuple[int, str]] = ()
    state_since: int | None = None
    first_seen_at: int | None = None
    last_seen_at: int | None = None
    claimed_by: Sequence[str] = ()


class SeatTrouble(msgspec.Struct, gc=False):
    """A card entry without a UUID in the newest readable observation: lost, hung or crashed too early.

    tries: how many observations in a row, the newest included, had trouble at this seat.
    """

    pci: str | None
    outcome: str
    detail: str
    tries: int = 1


class NodeHistory(msgspec.Struct, gc=False):
    """One node at as-of, with the cards last read there.

    reach and reach_detail are those of the newest attempt; host is the newest readable host body.
    previous_cards: how many cards the last readable observation before the newest one held.
    """

    node: str
    observed_at: int | None
    reach: str
    reach_detail: str
    simulated: bool
    host: Host | None
    host_at: int | None
    cards: list[CardHistory]
    troubles: list[SeatTrouble] = []
    previous_cards: int | None = None
    expected_cards: int | None = None
    pool: str | None = None
    state: str = "enrolled"
