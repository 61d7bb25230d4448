"""Whose card is it? One card seen at several nodes: moved, or claimed by two at once. Pure logic."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lifecycle.core.history import Sample

READABLE = "ok"
"""The reach of an observation whose list of cards counts."""

TOO_CLOSE_MS = 60 * 60 * 1000
"""Two nodes that show one card within an hour, neither having been read without it since, contradict each
other. A sweep reads nodes for up to 3600 s unless told otherwise, so two readings of one sweep can lie that
far apart; within one sweep no node takes over the card of another."""


class Observation(NamedTuple):
    """The short columns of one observation, in the order they are selected."""

    id: int
    node_id: int
    at: int
    digest: str
    reach: str
    reach_detail: str
    simulated: bool
    expected_cards: int | None
    pool: str | None
    non_production: bool
    boot_id: str | None
    host_facts_id: int | None
    troubles: str | None
    manifest: str


Last = tuple[int, int, str | None, int]
"""How a card was last seen at a node: index of the observation, reading id, PCI address, card_facts id.
(A plain tuple: one is made for every reading there is.)"""


@dataclass(slots=True)
class Life:
    """One node's observations, oldest first, and what they say about each card.

    held: the reading ids of each observation. card_of: reading id → card id. samples: card id → its
    samples, oldest first. last: card id → how it was last seen here.
    """

    node_id: int
    name: str
    observations: list[Observation] = field(default_factory=list)
    held: list[list[int]] = field(default_factory=list)
    card_of: dict[int, int] = field(default_factory=dict)
    samples: dict[int, list[Sample]] = field(default_factory=dict)
    last: dict[int, Last] = field(default_factory=dict)

    def newest_readable(self) -> int | None:
        """Index of the newest observation whose list of cards counts."""
        for index in range(len(self.observations) - 1, -1, -1):
            if self.observations[index].reach == READABLE:
                return index
        return None

    def last_at(self, card: int) -> int:
        """When the card was last seen here (epoch ms)."""
        return self.observations[self.last[card][0]].at

    def shows_now(self, card: int) -> bool:
        """Whether the newest readable observation holds the card."""
        newest = self.newest_readable()
        return newest is not None and card in self.last and self.last[card][0] >= newest


def too_close(one: int, other: int) -> bool:
    """Whether two sightings (epoch ms) are too close in time for a move."""
    return abs(one - other) <= TOO_CLOSE_MS


def rivals(card: int, home: Life, others: Sequence[Life]) -> list[Life]:
    """The other nodes that show the card at practically the same time as home does."""
    if not home.shows_now(card):
        return []
    return [
        other
        for other in others
        if other.shows_now(card) and too_close(other.last_at(card), home.last_at(card))
    ]


def questioned_by(card: int, home: Life, others: Sequence[Life]) -> list[Life]:
    """The rivals that put home's claim to the card in doubt: those that did not come clearly after it.

    Where one node held the card before, a newcomer spoils only its own record.
    """
    first = home.samples[card][0].at
    return [
        rival
        for rival in rivals(card, home, others)
        if rival.samples[card][0].at <= first or too_close(rival.samples[card][0].at, first)
    ]


def belongs(card: int, home: Life, others: Sequence[Life]) -> bool:
    """Whether the card is home's: last seen there, rivals left aside (each of them keeps its own claim)."""
    contested = {id(rival) for rival in rivals(card, home, others)}
    mine = (home.last_at(card), home.name)
    return all(
        id(other) in contested or (other.last_at(card), other.name) <= mine
        for other in others
        if card in other.last
    )


def joined_samples(card: int, home: Life, others: Sequence[Life]) -> list[Sample]:
    """The card's samples from home and from its earlier nodes, oldest first.

    What another node said while home held the card without a gap is left out: a card is in one place, and
    a node speaks only for itself. So are all samples of rivals.
    """
    contested = {id(rival) for rival in rivals(card, home, others)}
    tenure = _Tenure(card, home)
    samples = list(home.samples[card])
    for other in others:
        if id(other) not in contested:
            samples += [s for s in other.samples.get(card, ()) if not tenure.covers(s.at)]
    samples.sort(key=lambda sample: sample.at)
    return samples


class _Tenure:
    """When a node held a card: between two readable observations in a row that both show it."""

    def __init__(self, card: int, life: Life) -> None:
        seen_at = {sample.at for sample in life.samples[card]}
        self._times = [o.at for o in life.observations if o.reach == READABLE]
        self._shown = [at in seen_at for at in self._times]

    def covers(self, at: int) -> bool:
        """Whether the readable observations on both sides of `at` show the card."""
        after = bisect_left(self._times, at)
        before = after if after < len(self._times) and self._times[after] == at else after - 1
        if before < 0 or after >= len(self._times):
            return False
        return self._shown[before] and self._shown[after]


def at_other_nodes(card: int, home: Life, lives: Mapping[int, Life]) -> list[Life]:
    """The other loaded nodes that ever held the card, in the order of names."""
    found = [life for life in lives.values() if life is not home and card in life.last]
    return sorted(found, key=lambda life: life.name)


def newest_host(life: Life) -> Observation | None:
    """The newest readable observation that has facts about the host."""
    for one in reversed(life.observations):
        if one.reach == READABLE and one.host_facts_id is not None:
            return one
    return None


def find(life: Life, index: int, card: int) -> int | None:
    """Position of the card in the manifest of an observation, None where it is not there."""
    for position, number in enumerate(life.held[index]):
        if life.card_of.get(number) == card:
            return position
    return None
