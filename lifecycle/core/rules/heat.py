"""How hot the cards of a node were in the window, and what of it is the card's and what the node's.

Hot is strictly above the card's limit. An episode is a row of hot samples of which no two neighbours
are further apart than the policy's gap. Where half or more of a node's cards are hot at once, that
time is charged to the node; only what a card was hot beyond it is charged to the card.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lifecycle.core.history import HeatSample
from lifecycle.core.rules.base import RuleSettings, Sourced
from lifecycle.core.rules.view import CardView, NodeView
from lifecycle.core.rules.words import number


class Episode(NamedTuple):
    """Hot without a break from start to end (epoch ms); peak in °C."""

    start: int
    end: int
    peak: float

    @property
    def length(self) -> int:
        return self.end - self.start


class Span(NamedTuple):
    start: int
    end: int


@dataclass(slots=True)
class CardHeat:
    """Heat of one card in the window. own: what is charged to it; common: what is charged to the node."""

    view: CardView
    limit: Sourced
    own: list[Episode]
    common: list[Episode]


@dataclass(slots=True)
class NodeHeat:
    """Heat of a node in the window: its hot cards, and when half or more of all were hot at once.

    here: how many cards the node has. most: how many were hot at once. period: what counts as sustained,
    in ms, None where that rule is switched off.
    """

    cards: dict[str, CardHeat]
    together: list[Span]
    most: int
    here: int
    period: int | None


def assess(node: NodeView, sustained: RuleSettings, cooling: RuleSettings | None) -> NodeHeat | None:
    """Work out the heat of a node once; None where no card was ever hot. Without `cooling` all is own."""
    hot: dict[str, CardHeat] = {}
    gap = int(sustained.number("gap"))
    lowest = _lowest_limit(sustained)
    for view in node.cards:
        heat = view.heat
        # Most cards are cooler than any limit could be, so theirs need not be worked out.
        if not any(sample.celsius > lowest for sample in heat):
            continue
        limit = limit_of(view, sustained)
        if not any(sample.celsius > limit.number for sample in heat):
            continue
        hot[view.card.uuid] = CardHeat(view, limit, episodes(heat, limit.number, gap), [])
    if not hot:
        return None
    here = sum(1 for card in node.history.cards if card.present) or len(node.cards)
    together: list[Span] = []
    most = 0
    if cooling is not None and here >= cooling.number("cards"):
        together, most = _together(hot.values(), gap, here * cooling.number("share"))
    for card in hot.values():
        card.own, card.common = _charge(card.own, together)
    period = int(sustained.number("period")) if sustained.enabled else None
    return NodeHeat(hot, together, most, here, period)


def _lowest_limit(sustained: RuleSettings) -> float:
    """A temperature no card's limit lies below."""
    own = sustained.number("slowdown_floor") - sustained.number("headroom")
    models = [numbers["limit"].number for numbers in sustained.models.values() if "limit" in numbers]
    return min(own, sustained.number("limit"), *models)


def limit_of(view: CardView, sustained: RuleSettings) -> Sourced:
    """The lower of the policy's number for this model and the card's own slowdown threshold less headroom."""
    policy = sustained.for_model("limit", view.name)
    slowdown = view.static.limits.temperature_slowdown_c
    if not isinstance(slowdown, int | float) or not slowdown >= sustained.number("slowdown_floor"):
        return policy
    own = slowdown - sustained.number("headroom")
    if own >= policy.number:
        return policy
    return Sourced(own, f"{policy.source}; the card's own slowdown threshold is {number(slowdown)} °C")


def episodes(heat: Sequence[HeatSample], limit: float, gap: int) -> list[Episode]:
    """The hot episodes of a series, oldest first. A sample that is no number counts as not taken."""
    found: list[Episode] = []
    joins = False
    for sample in heat:
        if not math.isfinite(sample.celsius):
            continue
        if sample.celsius <= limit:
            joins = False
            continue
        if joins and sample.at - found[-1].end <= gap:
            current = found[-1]
            found[-1] = Episode(current.start, sample.at, max(current.peak, sample.celsius))
        else:
            found.append(Episode(sample.at, sample.at, sample.celsius))
        joins = True
    return found


def _together(cards: Iterable[CardHeat], gap: int, needed: float) -> tuple[list[Span], int]:
    """When at least `needed` cards were hot at once, and the most that ever were.

    A sample stands for the time up to the next one that may join it, so two cards whose samples differ
    by seconds are hot at once.
    """
    events: list[tuple[int, int]] = []
    for card in cards:
        for joined in _joined(card.own, gap):
            events += [(joined.start, -1), (joined.end, 1)]
    events.sort()
    spans: list[Span] = []
    count, most, begin = 0, 0, 0
    for at, leaves in events:
        was = count
        count -= leaves
        most = max(most, count)
        if was < needed <= count:
            begin = at
        elif count < needed <= was:
            spans.append(Span(begin, at))
    return spans, most


def _joined(own: Sequence[Episode], gap: int) -> list[Span]:
    """The episodes of one card, each prolonged by the gap, merged where they then touch."""
    spans: list[Span] = []
    for episode in own:
        if spans and episode.start <= spans[-1].end:
            spans[-1] = Span(spans[-1].start, episode.end + gap)
        else:
            spans.append(Span(episode.start, episode.end + gap))
    return spans


def _charge(own: Sequence[Episode], together: Sequence[Span]) -> tuple[list[Episode], list[Episode]]:
    """Cut the node's time out of a card's episodes: (what stays the card's, what is the node's)."""
    kept: list[Episode] = []
    common: list[Episode] = []
    for episode in own:
        start: int | None = episode.start
        touched = False
        for together_span in together:
            if start is None or together_span.end < start or together_span.start > episode.end:
                continue
            touched = True
            if together_span.start > start:
                kept.append(Episode(start, together_span.start, episode.peak))
            start = together_span.end if together_span.end < episode.end else None
        if touched:
            common.append(episode)
        if start is not None:
            kept.append(Episode(start, episode.end, episode.peak))
    return kept, common
