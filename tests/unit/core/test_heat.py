"""Whose heat it is: against a brute-force oracle on minute samples, and what must hold for every series."""

from __future__ import annotations

import pytest
import worlds
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle.core.findings import CardVerdict, Finding, NodeVerdict
from lifecycle.core.history import HeatSample
from lifecycle.core.judge import judge_node
from lifecycle.core.quantities import MS_PER_MINUTE
from lifecycle.core.rules import heat

START = worlds.AS_OF - 10 * 24 * 60 * MS_PER_MINUTE
PERIOD, GAP = 15, 5 * MS_PER_MINUTE
HOT, COOL = 95.0, 40.0

Minutes = list[bool]
"""Whether a card was hot in each minute, one sample a minute."""

# Rows of minutes of one kind, so that long episodes come up.
stretches = st.lists(st.tuples(st.booleans(), st.integers(1, 20)), min_size=1, max_size=6)
series = stretches.map(lambda rows: [hot for hot, minutes in rows for _ in range(minutes)])


def judged(cards: list[Minutes], shift_s: int = 0) -> tuple[NodeVerdict, list[CardVerdict]]:
    histories = []
    for number, minutes in enumerate(cards, start=1):
        card = worlds.card(number)
        first = START + (number - 1) * shift_s * 1000
        card.heat = [
            HeatSample(first + i * MS_PER_MINUTE, HOT if hot else COOL)
            for i, hot in enumerate([*minutes, False])
        ]
        card.heat.append(HeatSample(worlds.READ_AT, COOL))
        histories.append(card)
    return judge_node(worlds.node(histories), worlds.POLICY, worlds.AS_OF)


def finding(verdict: NodeVerdict | CardVerdict, rule: str) -> Finding | None:
    return next((one for one in verdict.findings if one.rule == rule), None)


def longest(minutes: Minutes) -> int:
    """The longest row of hot samples, from its first to its last one, in minutes; -1 where none is hot."""
    best, row = 0, 0
    for hot in minutes:
        row = row + 1 if hot else 0
        best = max(best, row)
    return best - 1


def common(cards: list[Minutes]) -> Minutes:
    """The minutes in which at least half of the cards were hot."""
    length = max(len(minutes) for minutes in cards)
    hot = [sum(i < len(minutes) and minutes[i] for minutes in cards) for i in range(length)]
    return [2 * count >= len(cards) for count in hot]


@settings(max_examples=150, deadline=None)
@given(st.lists(series, min_size=3, max_size=5))
def test_the_node_is_charged_when_half_were_hot_at_once_for_the_period(cards: list[Minutes]) -> None:
    cooling = finding(judged(cards)[0], "node-cooling")
    together = longest(common(cards))
    if together < 0:
        assert cooling is None
    else:
        assert cooling is not None
        assert cooling.action == ("quarantine" if together >= PERIOD else "watch")


@settings(max_examples=150, deadline=None)
@given(st.lists(series, min_size=1, max_size=5), st.integers(0, 11))
def test_heat_as_long_as_the_period_always_asks_somebody_to_act(cards: list[Minutes], shift_s: int) -> None:
    node, verdicts = judged(cards, shift_s)
    acts = node.verdict == "quarantine"
    for minutes, verdict in zip(cards, verdicts, strict=True):
        if longest(minutes) >= PERIOD:
            assert verdict.verdict == "retire" or acts
        else:
            assert verdict.verdict == ("watch" if any(minutes) else "ok")


@settings(max_examples=100, deadline=None)
@given(st.lists(series, min_size=3, max_size=5))
def test_no_card_is_retired_for_heat_that_never_went_beyond_lasting_common_heat(cards: list[Minutes]) -> None:
    shared = common(cards)
    node, verdicts = judged(cards)
    if node.verdict != "quarantine" or longest(shared) + 1 != sum(shared):
        return
    for minutes, verdict in zip(cards, verdicts, strict=True):
        alone = sum(hot and not shared[i] for i, hot in enumerate(minutes))
        if alone < PERIOD:
            assert verdict.verdict != "retire"


def test_a_card_hot_for_an_hour_is_its_own_though_a_neighbour_was_hot_for_short_times() -> None:
    blips = [i % 12 == 0 for i in range(61)]
    node, (one, other, *_) = judged([[True] * 61, blips, [False], [False]])
    assert (node.verdict, one.verdict, other.verdict) == ("watch", "retire", "watch")


@pytest.mark.parametrize(
    ("cards", "hot", "action"),
    [
        (4, 2, "quarantine"),
        (4, 1, None),
        (3, 2, "quarantine"),
        (3, 1, None),
        (2, 2, None),
        (8, 8, "quarantine"),
    ],
)
def test_half_or_more_of_at_least_three_cards(cards: int, hot: int, action: str | None) -> None:
    found = finding(judged([[i < hot] * 20 for i in range(cards)])[0], "node-cooling")
    assert (found.action if found else None) == action


def times(*minutes: float) -> list[HeatSample]:
    return [HeatSample(int(minute * MS_PER_MINUTE), HOT) for minute in minutes]


def test_samples_five_minutes_apart_join_and_a_moment_more_does_not() -> None:
    assert [episode.length for episode in heat.episodes(times(0, 5), 88, GAP)] == [GAP]
    apart = [HeatSample(0, HOT), HeatSample(GAP + 1, HOT)]
    assert [episode.length for episode in heat.episodes(apart, 88, GAP)] == [0, 0]


def test_a_sample_stands_until_a_cool_one_at_most_as_long_as_the_step_before_it() -> None:
    cool = HeatSample(int(3.5 * MS_PER_MINUTE), COOL)
    (early,) = heat.episodes([*times(0, 2, 3), cool], 88, GAP)
    assert early.until == cool.at
    (alone,) = heat.episodes(times(0), 88, GAP)
    assert alone.until == GAP
    (row,) = heat.episodes(times(0, 1, 2), 88, GAP)
    assert row.until == 3 * MS_PER_MINUTE
    (twice,) = heat.episodes(times(0, 1, 1), 88, GAP)
    assert twice.until == 2 * MS_PER_MINUTE
