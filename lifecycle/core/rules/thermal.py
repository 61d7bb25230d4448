"""Rules about heat: a card hot for long, a card hot at all, and a node whose cooling fails."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lifecycle.core.quantities import CARDS, CELSIUS, DURATION, MS_PER_DAY, SHARE, Threshold
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.heat import CardHeat, Episode
from lifecycle.core.rules.view import CardView, NodeView
from lifecycle.core.rules.words import number, span, times, when


def _thermal_sustained(view: CardView, settings: RuleSettings) -> Trouble | None:
    heat = _heat_of(view)
    if heat is None:
        return None
    period = settings.number("period")
    long = [episode for episode in heat.own if episode.length >= period]
    if not long:
        return None
    worst = max(long, key=lambda episode: (episode.length, episode.end))
    return Trouble(
        action=settings.action,
        observed=number(worst.peak),
        threshold=number(heat.limit.number),
        unit="°C",
        since=worst.start,
        until=worst.end,
        reason=f"GPU above {number(heat.limit.number)} °C for {span(worst.length)} without a break (from "
        f"{when(worst.start)} to {when(worst.end)}, at most {number(worst.peak)} °C); the policy allows "
        "less than "
        f"{span(int(period))}. {times(len(long), 'such episode')} in the last 30 days. NVIDIA's own policy "
        "would "
        "slow the card down and not retire it; the owner's rule is stricter and decides.",
        remedy="Take the card out of service now. Before a person confirms the retirement: check fans, air "
        "flow and "
        "heat sink of this seat, compare with its neighbours, and swap it with a cool card: heat that stays "
        "with "
        "the seat is the server's fault, heat that moves with the card is the card's.",
        source=heat.limit.source,
    )


def _thermal_hot(view: CardView, settings: RuleSettings) -> Trouble | None:
    heat = _heat_of(view)
    if heat is None or view.node.heat is None:
        return None
    period = view.node.heat.period
    if period is not None and any(episode.length >= period for episode in heat.own):
        return None
    shared = bool(heat.common)
    episode = max(heat.common or heat.own, key=lambda e: (e.peak, e.length, e.end))
    charged = (
        "Half or more of the node's cards were hot at the same time, so this is charged to the node's "
        "cooling."
        if shared
        else "That is short of what counts as sustained."
        if period is None
        else f"That is short of the {span(period)} that would count as sustained."
    )
    return Trouble(
        action=settings.action,
        observed=number(episode.peak),
        threshold=number(heat.limit.number),
        unit="°C",
        since=episode.start,
        until=episode.end,
        reason=f"GPU at {number(episode.peak)} °C, above its limit of {number(heat.limit.number)} °C, "
        f"{_how_long(episode)}. {charged}",
        remedy="See the finding node-cooling of this node."
        if shared
        else "Watch it: record its temperature every minute under load (`nvidia-smi dmon -s p`) and compare "
        "with its "
        "neighbours; clean dust, check fans and the air path of this seat.",
        source=heat.limit.source,
    )


def _node_cooling(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    heat = node.heat
    if heat is None or not heat.together:
        return
    common = [(card, episode) for card in heat.cards.values() for episode in card.common]
    here, period = heat.here, heat.period
    lasting = [episode for _, episode in common if period is not None and episode.length >= period]
    names = sorted({card.view.card.pci or card.view.card.uuid for card, _ in common})
    longest = max(episode.length for _, episode in common)
    peak = max(episode.peak for _, episode in common)
    yield Trouble(
        action=settings.action if lasting else settings.actions["short"],
        observed=heat.most,
        threshold=number(math.ceil(here * settings.number("share"))),
        unit="cards hot at once",
        since=heat.together[0].start,
        until=max(episode.end for _, episode in common),
        reason=f"{heat.most} of {times(here, 'card')} were above their limit at the same time (up to "
        f"{number(peak)} °C, "
        f"{_lasting(longest)}; seats {', '.join(names)}). So many cards do not fail together: the node's "
        "cooling or its room does.",
        remedy="Take load off the node. Check inlet temperature, fans, filters, blanking panels and the "
        "power limit of "
        "the cards; look whether neighbouring nodes are hot as well. Judge the cards again once the node is "
        "cool.",
    )


def _how_long(episode: Episode) -> str:
    if episode.length == 0:
        return f"in one sample on {when(episode.start)}"
    return f"for {span(episode.length)} from {when(episode.start)} to {when(episode.end)}"


def _lasting(longest: int) -> str:
    return f"for up to {span(longest)}" if longest else "each in a single sample"


def _heat_of(view: CardView) -> CardHeat | None:
    heat = view.node.heat
    return heat.cards.get(view.card.uuid) if heat is not None else None


_SHORT_TIME = Threshold(DURATION, 0, MS_PER_DAY)
_CARD_HEAT = Threshold(CELSIUS, 30, 130)

CARD_RULES = (
    Rule(
        "thermal-sustained",
        card=_thermal_sustained,
        thresholds={
            "limit": _CARD_HEAT,
            "headroom": Threshold(CELSIUS, 0, 30),
            "slowdown_floor": _CARD_HEAT,
            "period": _SHORT_TIME,
            "gap": _SHORT_TIME,
        },
    ),
    Rule("thermal-hot", card=_thermal_hot),
)
NODE_RULES = (
    Rule(
        "node-cooling",
        node=_node_cooling,
        thresholds={"share": Threshold(SHARE, 0.01, 1), "cards": Threshold(CARDS, 1, 1024)},
        actions=("short",),
    ),
)
