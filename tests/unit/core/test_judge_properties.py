"""What must hold for every history: no better for knowing less, deterministic, each card on its own."""

from __future__ import annotations

import json
from typing import Any

import worlds
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle.core.findings import Action, CardVerdict
from lifecycle.core.history import CardHistory, HeatSample, Sample
from lifecycle.core.judge import judge_node
from lifecycle.core.quantities import MS_PER_DAY, MS_PER_MINUTE

DAY, AS_OF = MS_PER_DAY, worlds.AS_OF
REASONS = st.sampled_from(["timed_out", "no_permission", "not_read", "hidden_by_mig", "not_supported"])


def unread(reason: str) -> dict[str, Any]:
    """A memory body in which nothing was read."""
    said = {"unread": reason}
    spoilt: dict[str, Any] = json.loads(worlds.memory())
    for group in (spoilt["ecc"]["volatile"], spoilt["ecc"]["aggregate"], *spoilt.values()):
        for key, value in group.items():
            if not isinstance(value, dict) or "unread" in value:
                group[key] = said
    return spoilt


counters = st.fixed_dictionaries(
    {
        name: st.sampled_from([0, 0, 3, 60, 200])
        for name in ("dram_corrected", "dram_uncorrected", "sram_corrected")
    }
)
bodies = st.builds(
    lambda aggregate, volatile, pending, failure, sram, recovery: {
        "ecc": {"aggregate": aggregate, "volatile": volatile, "sram_threshold_exceeded": sram},
        "remap": {"pending": pending, "failure": failure},
        "health": {"recovery": recovery},
    },
    counters,
    st.fixed_dictionaries({"dram_uncorrected": st.sampled_from([0, 0, 0, 2])}),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["none", "none", "reset", "reboot", "9"]),
)
readings = st.lists(
    st.tuples(st.integers(1, 90), bodies | REASONS.map(unread), st.sampled_from([None, "a", "b"])),
    min_size=1,
    max_size=5,
    unique_by=lambda reading: reading[0],
)
heats = st.lists(st.tuples(st.integers(0, 40), st.sampled_from([40.0, 89.0, 95.0])), max_size=12)


@st.composite
def cards(draw: st.DrawFn, number: int = 1) -> CardHistory:
    read = sorted(draw(readings), key=lambda reading: -reading[0])
    samples = [Sample(AS_OF - days * DAY, worlds.memory(body), boot) for days, body, boot in read]
    heat = [HeatSample(AS_OF - minute * MS_PER_MINUTE, celsius) for minute, celsius in draw(heats)]
    card = worlds.card(number, state=draw(st.sampled_from(["in_service", "quarantined"])))
    card.samples, card.heat = samples, sorted(heat, key=lambda sample: sample.at)
    card.last_read_at = samples[-1].at
    return card


def verdict_of(*histories: CardHistory) -> list[CardVerdict]:
    return judge_node(worlds.node(list(histories)), worlds.POLICY, AS_OF)[1]


def severity(verdict: CardVerdict) -> int:
    return Action[verdict.verdict].value


@settings(max_examples=150, deadline=None)
@given(cards(), REASONS, st.integers(0, 90))
def test_an_unread_reading_never_improves_a_verdict(card: CardHistory, reason: str, days: int) -> None:
    before = verdict_of(card)[0]
    at = AS_OF - days * DAY + 1 - DAY
    extra = Sample(at, json.dumps(unread(reason)), "c")
    card.samples = sorted([*card.samples, extra], key=lambda sample: sample.at)
    after = verdict_of(card)[0]
    assert severity(after) >= severity(before)
    assert set(f.rule for f in after.findings) >= set(f.rule for f in before.findings) - {"unread"}


@settings(max_examples=100, deadline=None)
@given(cards(), st.sampled_from(["lost", "timed_out", "crashed", "locked"]))
def test_a_failed_attempt_never_improves_a_verdict(card: CardHistory, outcome: str) -> None:
    before = verdict_of(card)[0]
    card.outcome, card.failed = outcome, [(AS_OF - 1, outcome)]
    after = verdict_of(card)[0]
    assert severity(after) >= severity(before)
    assert not after.complete


@settings(max_examples=100, deadline=None)
@given(cards())
def test_a_node_that_is_not_reached_never_improves_a_verdict(card: CardHistory) -> None:
    reached = judge_node(worlds.node([card]), worlds.POLICY, AS_OF)
    lost = judge_node(worlds.node([card], reach="unreachable", reach_detail="no route"), worlds.POLICY, AS_OF)
    assert severity(lost[1][0]) >= severity(reached[1][0])
    assert Action[lost[0].verdict] >= max(Action[reached[0].verdict], Action.unknown)


@settings(max_examples=100, deadline=None)
@given(cards())
def test_the_same_evidence_gives_the_same_verdict(card: CardHistory) -> None:
    assert judge_node(worlds.node([card]), worlds.POLICY, AS_OF) == judge_node(
        worlds.node([card]), worlds.POLICY, AS_OF
    )


@settings(max_examples=100, deadline=None)
@given(cards())
def test_a_sample_handed_over_twice_changes_nothing(card: CardHistory) -> None:
    once = verdict_of(card)
    card.samples = [sample for sample in card.samples for _ in range(2)]
    assert verdict_of(card) == once


@settings(max_examples=100, deadline=None)
@given(cards())
def test_what_is_read_after_as_of_changes_nothing(card: CardHistory) -> None:
    before = verdict_of(card)
    worse = worlds.memory({"remap": {"failure": True}, **worlds.counted(10_000_000)})
    card.samples = [*card.samples, Sample(AS_OF + 1, worse, "z")]
    card.heat = [*card.heat, HeatSample(AS_OF + 1, 120.0)]
    assert verdict_of(card) == before


@settings(max_examples=100, deadline=None)
@given(cards(1), cards(2))
def test_a_card_is_judged_alike_beside_another(one: CardHistory, other: CardHistory) -> None:
    assert verdict_of(one, other)[0] == verdict_of(one)[0], "two cards are too few for node-cooling"


@settings(max_examples=100, deadline=None)
@given(cards(1), cards(2), cards(3))
def test_only_common_heat_changes_what_a_card_is_charged_with(
    one: CardHistory, two: CardHistory, three: CardHistory
) -> None:
    alone, together = verdict_of(one)[0], verdict_of(one, two, three)[0]
    heat = {"thermal-sustained", "thermal-hot"}
    assert [f for f in together.findings if f.rule not in heat] == [
        f for f in alone.findings if f.rule not in heat
    ]


@settings(max_examples=100, deadline=None)
@given(cards())
def test_findings_are_whole_and_the_verdict_is_the_worst_of_them(card: CardHistory) -> None:
    verdict = verdict_of(card)[0]
    ranks = [Action[finding.action] for finding in verdict.findings]
    assert ranks == sorted(ranks, reverse=True)
    assert severity(verdict) == max(ranks, default=Action.ok)
    assert len({finding.id for finding in verdict.findings}) == len(verdict.findings)
    for finding in verdict.findings:
        assert finding.reason.endswith(".")
        assert finding.remedy.endswith(".")
        assert finding.source


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60), st.binary(max_size=40))
def test_bodies_that_are_no_readings_are_unread_and_crash_nothing(memory: bytes | str, static: bytes) -> None:
    card = worlds.card()
    card.samples = [Sample(AS_OF - DAY, memory)]
    card.static = card.live = static
    verdict = verdict_of(card)[0]
    assert verdict.verdict == "unknown"
    assert not verdict.complete
