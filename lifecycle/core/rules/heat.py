"""How hot the cards of a node were in the window, and what of it is the card's and what the node's.

Hot is strictly above the card's limit. An episode is a row of hot samples of which no two neighbours
are further apart than the policy's gap. Common is the time in which half or more of a node's cards were
hot at once. Common time that itself lasted longer than the period is charged to the node: a card's
episode is the card's own where the period is reached without it. Common time shorter than that excuses
no card that was hot for the period: heat that long always asks somebody to act.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from lifecycle.core.history import CardHistory, HeatSample
from lifecycle.core.quantities import plausible_celsius
from lifecycle.core.rules.base import RuleSettings, Sourced
from lifecycle.core.rules.view import CardView, NodeView
from lifecycle.core.rules.words import number


class Episode(NamedTuple):
    """Hot without a break from start to end (epoch ms); peak in °C.

    stands: how long the last sample stands for in ms: until a cool one, at most as long as the step
    before it, at most the gap. Cards whose samples lie some seconds apart are hot at once by that.
    """

    start: int
    end: int
    peak: float
    stands: int

    @property
    def length(self) -> int:
        return self.end - self.start

    @property
    def until(self) -> int:
        return self.end + max(self.stands, 1)


class Span(NamedTuple):
    """A time from start to end (epoch ms), the end not included."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


class Sustained(NamedTuple):
    """An episode that is the card's own and reached the period, and how much of it is charged to the node."""

    episode: Episode
    common_ms: int


@dataclass(slots=True)
class CardHeat:
    """Heat of one card in the window: its episodes, each charged to the card or to the node.

    sustained: the card's own, as long as the period. own: the card's own, shorter. common: charged to the
    node. met: all that lie at least in part in common time, whoever is charged with them.
    """

    view: CardView
    limit: Sourced
    episodes: list[Episode]
    sustained: list[Sustained] = field(default_factory=list)
    own: list[Episode] = field(default_factory=list)
    common: list[Episode] = field(default_factory=list)
    met: list[Episode] = field(default_factory=list)


@dataclass(slots=True)
class NodeHeat:
    """Heat of a node in the window: its hot cards, and when half or more of all were hot at once.

    together: all common time. lasting: what of it is longer than the period. here: how many cards the
    node has; needed: how many of them hot at once make common time; most: how many ever were. period:
    what counts as sustained, in ms. retires: whether thermal-sustained is switched on.
    """

    cards: dict[str, CardHeat]
    together: list[Span]
    lasting: list[Span]
    most: int
    here: int
    needed: int
    period: int
    retires: bool


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
        found = episodes(heat, limit.number, gap)
        if found:
            hot[view.card.uuid] = CardHeat(view, limit, found)
    if not hot:
        return None
    here = _cards_here(node)
    period = int(sustained.number("period"))
    whole = NodeHeat(hot, [], [], 0, here, 0, period, sustained.enabled)
    if cooling is not None and here >= cooling.number("cards"):
        # Rounded, because 7 % of 100 is a little more than 7 in binary.
        whole.needed = math.ceil(round(here * cooling.number("share"), 6))
        whole.together, whole.most = _together(hot.values(), whole.needed)
        whole.lasting = [span for span in whole.together if span.length > period]
    for card in hot.values():
        _charge(card, whole)
    return whole


def _cards_here(node: NodeView) -> int:
    """Cards of the node in the window: those present, and those that were or still are in a seat of it."""
    here = sum(1 for card in node.history.cards if card.present or _was_here(card, node))
    return here or len(node.cards)


def _was_here(card: CardHistory, node: NodeView) -> bool:
    seen = card.last_seen_at if card.last_seen_at is not None else card.last_read_at
    if seen is not None and seen >= node.window_start:
        return True
    return card.pci is not None and node.pci is not None and card.pci.lower() in node.pci - node.seated


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
    """The hot episodes of a series, oldest first. A sample no card can have counts as not taken."""
    found: list[Episode] = []
    joins = False
    for sample in _moments(heat):
        if sample.celsius <= limit:
            if joins:
                last = found[-1]
                found[-1] = last._replace(stands=min(last.stands, sample.at - last.end))
            joins = False
            continue
        if joins and sample.at - found[-1].end <= gap:
            last = found[-1]
            found[-1] = Episode(last.start, sample.at, max(last.peak, sample.celsius), sample.at - last.end)
        else:
            found.append(Episode(sample.at, sample.at, sample.celsius, gap))
        joins = True
    return found


def _moments(heat: Sequence[HeatSample]) -> Iterator[HeatSample]:
    """One plausible sample per time: of two of one moment the hotter, so that the other hides no heat."""
    held: HeatSample | None = None
    for sample in heat:
        if not plausible_celsius(sample.celsius):
            continue
        if held is not None and held.at == sample.at:
            if sample.celsius > held.celsius:
                held = sample
            continue
        if held is not None:
            yield held
        held = sample
    if held is not None:
        yield held


def _together(cards: Iterable[CardHeat], needed: int) -> tuple[list[Span], int]:
    """When at least `needed` cards were hot at once, and the most that ever were."""
    changes: dict[int, int] = {}
    for card in cards:
        for episode in card.episodes:
            changes[episode.start] = changes.get(episode.start, 0) + 1
            changes[episode.until] = changes.get(episode.until, 0) - 1
    spans: list[Span] = []
    count, most = 0, 0
    begin: int | None = None
    for at in sorted(changes):
        count += changes[at]
        most = max(most, count)
        if begin is None and count >= needed:
            begin = at
        elif begin is not None and count < needed:
            spans.append(Span(begin, at))
            begin = None
    return spans, most


def _charge(card: CardHeat, node: NodeHeat) -> None:
    """Sort the card's episodes by who is charged with them."""
    for episode in card.episodes:
        if any(_meets(episode, span) for span in node.together):
            card.met.append(episode)
        excused = any(_meets(episode, span) for span in node.lasting)
        common = sum(_overlap(episode, span) for span in node.lasting)
        alone = episode.length - common
        if episode.length >= node.period and (not excused or alone >= max(node.period, 1)):
            card.sustained.append(Sustained(episode, common))
        elif card.met and card.met[-1] is episode:
            card.common.append(episode)
        else:
            card.own.append(episode)


def _meets(episode: Episode, span: Span) -> bool:
    return episode.start < span.end and span.start < episode.until


def _overlap(episode: Episode, span: Span) -> int:
    return max(0, min(episode.end, span.end) - max(episode.start, span.start))
