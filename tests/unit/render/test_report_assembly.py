"""core/report.py: verdicts arranged as a report."""

from __future__ import annotations

import pytest

from lifecycle.core.findings import Action
from lifecycle.core.report import (
    SEVERITY,
    Report,
    Subject,
    SweepSummary,
    age_seconds,
    build_report,
    epoch_seconds,
)
from tests.unit.render import samples


def sick(sweep: SweepSummary | None = samples.PARTIAL_SWEEP) -> Report:
    return build_report(
        samples.sick(), generated_at=samples.GENERATED_AT, sweep=sweep, pools=samples.POOL_OF, fleet="demo"
    )


def plain(cards: list, nodes: list, sweep: SweepSummary | None = None) -> Report:
    return build_report(samples.verdicts(cards, nodes), generated_at=samples.GENERATED_AT, sweep=sweep)


def test_severity_is_the_order_of_the_actions():
    assert [Action[name].value for name in SEVERITY] == list(range(len(Action)))


def test_every_card_is_counted_once_under_its_verdict():
    counts = sick().card_counts
    assert list(counts) == list(SEVERITY)
    assert counts == {
        "ok": 62, "unknown": 5, "watch": 1, "reset": 1, "reboot": 0, "quarantine": 1, "rma": 1, "retire": 1,
    }  # fmt: skip


def test_a_node_counts_as_the_worst_of_itself_and_its_cards():
    counts = sick().node_counts
    assert sum(counts.values()) == 12
    assert (counts["retire"], counts["reboot"], counts["unknown"], counts["watch"]) == (1, 1, 2, 0)


def test_what_asks_for_action_comes_worst_first():
    assert [(entry.verdict, entry.subject.node) for entry in sick().todo] == [
        ("retire", "gpu-a100-01"),
        ("rma", "gpu-h100-02"),
        ("quarantine", "gpu-a100-04"),
        ("reboot", "gpu-l40s-01"),
        ("reset", "gpu-a100-02"),
    ]


def test_equal_verdicts_are_ordered_by_node_then_node_before_card_then_seat():
    lost = {"verdict": "quarantine", "findings": [samples.LOST]}
    report = plain(
        [samples.card("b", 1, **lost), samples.card("a", 3, **lost), samples.card("a", 1, **lost)],
        [samples.node("a", "quarantine", findings=[samples.LOST]), samples.node("b")],
    )
    assert [(e.subject.node, e.subject.kind, e.subject.pci) for e in report.todo] == [
        ("a", "node", None),
        ("a", "card", "0000:17:00.0"),
        ("a", "card", "0000:37:00.0"),
        ("b", "card", "0000:17:00.0"),
    ]


def test_a_subject_appears_once_with_all_its_findings_the_worst_first():
    entry = sick().todo[0]
    assert [finding.rule for finding in entry.findings] == ["ecc-monthly", "row-remap-pending"]


def test_of_equal_findings_the_one_that_acts_stands_before_the_one_that_observes():
    observing = samples.finding("a-rule", "retire", enforce="observe")
    acting = samples.finding("b-rule", "retire")
    report = plain(
        [samples.card("n", 0, verdict="retire", findings=[observing, acting])], [samples.node("n")]
    )
    assert [finding.rule for finding in report.todo[0].findings] == ["b-rule", "a-rule"]


def test_a_watched_card_is_not_something_to_do():
    report = sick()
    assert [entry.subject.node for entry in report.watching] == ["gpu-a100-01"]
    assert all(Action[entry.verdict] >= Action.reset for entry in report.todo)


def test_a_verdict_without_a_finding_still_asks_for_action():
    report = plain([samples.card("n", 0, verdict="rma")], [samples.node("n")])
    assert [(entry.verdict, entry.findings) for entry in report.todo] == [("rma", [])]


def test_an_unreachable_node_is_named_once_with_its_cards():
    entry = next(entry for entry in sick().not_read if entry.node == "gpu-l40s-03")
    assert entry.whole_node
    assert len(entry.cards) == 4
    assert entry.reasons == [samples.UNREACHABLE.reason]
    assert entry.remedy == samples.UNREACHABLE.remedy
    assert entry.observed_at == "2026-10-20T08:00:00Z"


def test_a_node_that_only_the_sweep_knows_is_not_read_with_the_sweeps_reason():
    entry = next(entry for entry in sick().not_read if entry.node == "gpu-new-01")
    assert entry.reasons == ["the deadline of 600 s passed before it was asked"]
    assert (entry.cards, entry.age_s) == ([], None)


@pytest.mark.parametrize(
    ("observed_at", "listed"),
    [("2026-11-01T00:00:00Z", True), ("2026-11-29T23:50:00Z", False), (None, True)],
)
def test_what_a_sweep_missed_counts_until_a_later_reading(observed_at: str | None, listed: bool):
    sweep = SweepSummary("2026-11-29T23:39:00Z", "2026-11-29T23:41:00Z", 1, 0, 0, False, {"n": "deadline"})
    report = plain([samples.card("n", 0)], [samples.node("n", observed_at=observed_at)], sweep)
    assert [entry.node for entry in report.not_read] == (["n"] if listed else [])


def test_cards_of_one_node_with_one_reason_share_an_entry():
    unread = {"verdict": "unknown", "findings": [samples.ECC_TIMED_OUT], "complete": False}
    cards = [samples.card("n", seat, **unread) for seat in range(3)] + [samples.card("m", 0, **unread)]
    report = plain(cards, [samples.node("m"), samples.node("n")])
    assert [(entry.node, len(entry.cards), entry.is_node) for entry in report.not_read] == [
        ("m", 1, False),
        ("n", 3, False),
    ]


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        (
            {"findings": [samples.ECC_TIMED_OUT], "missing": ["ecc: timed_out"]},
            [samples.ECC_TIMED_OUT.reason],
        ),
        ({"missing": ["ecc: timed_out"]}, ["ecc: timed_out"]),
        ({"stale": True}, ["the last reading is too old"]),
        ({}, ["not read"]),
    ],
)
def test_an_unknown_card_always_says_why(changes: dict, reasons: list[str]):
    report = plain([samples.card("n", 0, verdict="unknown", **changes)], [samples.node("n")])
    assert [entry.reasons for entry in report.not_read] == [reasons]


def test_a_reached_node_that_says_too_little_is_listed_as_itself():
    report = plain([samples.card("n", 0)], [samples.node("n", "unknown", findings=[samples.ECC_TIMED_OUT])])
    assert [(entry.is_node, entry.whole_node, entry.cards) for entry in report.not_read] == [
        (True, False, [])
    ]


def test_missing_readings_of_judged_cards_are_counted_per_reading():
    assert [(gap.reading, gap.cards) for gap in sick().gaps] == [("power.enforced_limit_w: not_supported", 2)]


def test_a_card_under_watch_that_was_not_read_is_not_read_all_the_same():
    hung = {"verdict": "watch", "findings": [samples.HOT, samples.ECC_TIMED_OUT], "complete": False}
    report = plain([samples.card("n", 0, **hung)], [samples.node("n")])
    assert [(entry.reasons, entry.remedy) for entry in report.not_read] == [
        ([samples.ECC_TIMED_OUT.reason], None)
    ]
    assert [entry.verdict for entry in report.watching] == ["watch"]
    assert report.unproven_cards == 1


def test_a_card_that_asks_for_action_is_not_asked_for_twice():
    lost = {"verdict": "quarantine", "findings": [samples.LOST, samples.ECC_TIMED_OUT], "complete": False}
    report = plain([samples.card("n", 0, **lost)], [samples.node("n")])
    assert (len(report.todo), report.not_read, report.unproven_cards) == (1, [], 0)


def test_missing_readings_that_a_finding_speaks_of_are_no_gap():
    told = samples.card(
        "n", 0, verdict="watch", findings=[samples.HOT, samples.ECC_TIMED_OUT], missing=["ecc"]
    )
    assert plain([told], [samples.node("n")]).gaps == []


def test_watched_cards_of_a_node_are_joined_only_where_every_word_is_the_same():
    other = samples.finding("temperature-sustained", "watch", reason="92 °C")
    watched = {"a": samples.HOT, "b": samples.HOT}
    cards = [
        samples.card(name, seat, verdict="watch", findings=[hot])
        for name, hot in watched.items()
        for seat in (0, 1)
    ]
    cards.append(samples.card("a", 2, verdict="watch", findings=[other]))
    report = plain(cards, [samples.node("a"), samples.node("b")])
    assert [(e.subject.node, e.subject.pci, len(e.others)) for e in report.watching] == [
        ("a", "0000:07:00.0", 1),
        ("a", "0000:27:00.0", 0),
        ("b", "0000:07:00.0", 1),
    ]


def test_cards_that_ask_for_action_are_never_joined():
    cards = [samples.card("n", seat, verdict="rma", findings=[samples.REMAP_FAILURE]) for seat in (0, 1)]
    assert [entry.others for entry in plain(cards, [samples.node("n")]).todo] == [[], []]


def test_the_oldest_reading_comes_first_and_never_read_before_all():
    never = samples.card("z", 0, verdict="unknown", observed_at=None, stale=True)
    old = samples.card("y", 0, observed_at="2026-10-01T00:00:00Z", stale=True)
    report = plain([samples.card("a", 0), old, never], [samples.node(name) for name in "ayz"])
    assert [(age.node, age.age_s, age.stale) for age in report.ages] == [
        ("z", None, True),
        ("y", 60 * 86_400, True),
        ("a", 20 * 60, False),
    ]


def test_pools_come_in_order_and_nodes_without_one_last():
    verdicts = samples.verdicts(
        [], [samples.node("a"), samples.node("b", pool="z"), samples.node("c", pool="y")]
    )
    report = build_report(verdicts, generated_at=samples.GENERATED_AT, sweep=None, pools={"b": "x"})
    assert [(pool.name, [line.node for line in pool.nodes]) for pool in report.pools] == [
        ("x", ["b"]),
        ("y", ["c"]),
        (None, ["a"]),
    ]


def test_a_card_whose_node_was_not_judged_makes_an_unread_node():
    report = plain([samples.card("ghost", 0)], [])
    assert [(line.node, line.own) for line in report.nodes] == [("ghost", "unknown")]


def test_an_incomplete_sweep_is_never_the_last_complete_one():
    assert sick().last_complete is None
    assert sick(samples.SWEEP).last_complete == samples.SWEEP


@pytest.mark.parametrize("kind", ["card", "node"])
def test_one_simulated_verdict_makes_the_report_simulated(kind: str):
    cards = [samples.card("n", 0), samples.card("n", 1, simulated=kind == "card")]
    assert plain(cards, [samples.node("n", simulated=kind == "node")]).simulated
    assert not plain([samples.card("n", 0)], [samples.node("n")]).simulated


def test_an_empty_ledger_gives_an_empty_report():
    report = plain([], [])
    assert (report.pools, report.todo, report.not_read, report.ages) == ([], [], [], [])


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        (None, None),
        ("yesterday", None),
        ("2026-11-30T00:00:00", None),
    ],
)
def test_a_time_is_read_as_seconds_or_not_at_all(moment: str | None, seconds: int | None):
    assert epoch_seconds(moment) == seconds


def test_a_reading_from_after_as_of_has_no_negative_age():
    assert age_seconds("2026-11-30T00:00:09Z", "2026-11-30T00:00:00Z") == 0


@pytest.mark.parametrize(
    ("uuid", "short"), [("GPU-4fb53fd9-c37e-4a5b", "GPU-4fb53fd9"), ("GPU", "GPU"), (None, None)]
)
def test_a_uuid_is_shortened_to_its_first_block(uuid: str | None, short: str | None):
    assert Subject("card", "n", uuid=uuid).short_uuid == short
