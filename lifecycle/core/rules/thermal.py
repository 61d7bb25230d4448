"""Rules about heat: a card hot for long, a card hot at all, and a node whose cooling fails."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.quantities import CARDS, CELSIUS, DURATION, MS_PER_DAY, SHARE, WINDOW_DAYS, Threshold
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.heat import CardHeat, Episode
from lifecycle.core.rules.view import CardView, NodeView
from lifecycle.core.rules.words import above, number, span, times, when


def _thermal_sustained(view: CardView, settings: RuleSettings) -> Trouble | None:
    heat, node = _heat_of(view), view.node.heat
    if heat is None or node is None or not heat.sustained:
        return None
    worst, common = max(heat.sustained, key=lambda own: (own.episode.length, own.episode.end))
    limit = heat.limit.number
    return Trouble(
        action=settings.action,
        observed=above(worst.peak, limit),
        threshold=number(limit),
        unit="°C",
        since=worst.start,
        until=worst.end,
        reason=f"GPU above {number(limit)} °C for {span(worst.length)} without a break (from "
        f"{when(worst.start)} to {when(worst.end)}, at most {above(worst.peak, limit)} °C); the policy "
        f"allows less than {span(node.period)}. {_shared(worst in heat.met, worst.length, common)}"
        f"{times(len(heat.sustained), 'such episode')} in the last {WINDOW_DAYS} days. NVIDIA's own policy "
        "would slow the card down and not retire it; the owner's rule is stricter and decides.",
        remedy="Take the card out of service now. Before a person confirms the retirement: check fans, air "
        "flow and "
        "heat sink of this seat, compare with its neighbours, and swap it with a cool card: heat that stays "
        "with "
        "the seat is the server's fault, heat that moves with the card is the card's.",
        source=heat.limit.source,
    )


def _shared(met: bool, length: int, common: int) -> str:
    """How much of a card's own episode half or more of the node's cards were hot as well."""
    if common:
        return (
            f"For {span(common)} of it half or more of the node's cards were hot as well, which is charged "
            f"to the node's cooling; the other {span(length - common)} are this card's own. "
        )
    if met:
        return (
            "At times half or more of the node's cards were hot as well, but not for long enough to be the "
            "cause: see the finding node-cooling of this node. "
        )
    return ""


def _thermal_hot(view: CardView, settings: RuleSettings) -> Trouble | None:
    heat, node = _heat_of(view), view.node.heat
    if heat is None or node is None or (heat.sustained and node.retires):
        return None
    shared = bool(heat.common)
    own = [*heat.own, *(sustained.episode for sustained in heat.sustained)]
    episode = max(heat.common or own, key=lambda e: (e.peak, e.length, e.end))
    charged = (
        "Half or more of the node's cards were hot at the same time, "
        f"{'so this is charged to the node and its cooling' if node.lasting else 'if only for a short time'}."
        if shared
        else f"That is short of the {span(node.period)} that would count as sustained."
        if episode.length < node.period
        else "The policy's rule for sustained heat is switched off."
    )
    limit = heat.limit.number
    return Trouble(
        action=settings.action,
        observed=above(episode.peak, limit),
        threshold=number(limit),
        unit="°C",
        since=episode.start,
        until=episode.end,
        reason=f"GPU at {above(episode.peak, limit)} °C, above its limit of {number(limit)} °C, "
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
    met = [(card.view.card, episode) for card in heat.cards.values() for episode in card.met]
    names = sorted({card.pci or card.uuid for card, _ in met})
    peak = max(episode.peak for _, episode in met)
    lowest = min(card.limit.number for card in heat.cards.values() if card.met)
    longest = max(common.length for common in heat.together)
    single = not heat.lasting and all(episode.length == 0 for _, episode in met)
    yield Trouble(
        action=settings.action if heat.lasting else settings.actions["short"],
        observed=heat.most,
        threshold=heat.needed,
        unit="cards hot at once",
        since=heat.together[0].start,
        until=min(heat.together[-1].end, node.as_of),
        reason=f"{heat.most} of {times(heat.here, 'card')} {'was' if heat.most == 1 else 'were'} above "
        f"{'its' if heat.most == 1 else 'their'} limit at the same time (up to {above(peak, lowest)} °C, "
        f"{'each in a single sample' if single else f'for up to {span(longest)}'}; "
        f"{'seat' if len(names) == 1 else 'seats'} {', '.join(names)}). "
        + (
            "So many cards do not fail together: the node's cooling or its room does."
            if heat.lasting
            else f"More than {span(heat.period)} of it would be charged to the node's cooling."
        ),
        remedy="Take load off the node. Check inlet temperature, fans, filters, blanking panels and the "
        "power limit of "
        "the cards; look whether neighbouring nodes are hot as well. Judge the cards again once the node is "
        "cool.",
    )


def _how_long(episode: Episode) -> str:
    if episode.length == 0:
        return f"in one sample on {when(episode.start)}"
    return f"for {span(episode.length)} from {when(episode.start)} to {when(episode.end)}"


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
