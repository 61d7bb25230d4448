"""render/as_prometheus.py: the textfile for node_exporter."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle.core.findings import Verdicts
from lifecycle.core.report import SweepSummary, build_report
from lifecycle.render.as_prometheus import render_prometheus
from tests.unit.render import samples

# The text format 0.0.4, https://prometheus.io/docs/instrumenting/exposition_formats/
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(\{{{LABEL}(?:,{LABEL})*\}})? (-?\d+)")
COMMENT = re.compile(rf"# (HELP|TYPE) ({NAME}) (.+)")
FLEETS = {
    "healthy": samples.healthy,
    "sick": samples.sick,
    "hostile": samples.hostile,
    "empty": samples.empty,
}
PROMTOOL = shutil.which("promtool")


def metrics(verdicts: Verdicts, sweep: SweepSummary | None = samples.SWEEP, **options: int) -> str:
    return render_prometheus(
        build_report(verdicts, generated_at=samples.GENERATED_AT, sweep=sweep), **options
    )


def parse(text: str) -> dict[str, int]:
    """Series → value, by the grammar; a series twice, or one without HELP and TYPE before it, is an error."""
    assert text.endswith("\n")
    series: dict[str, int] = {}
    family = {"HELP": "", "TYPE": ""}
    seen: list[str] = []
    for line in text.split("\n")[:-1]:
        if comment := COMMENT.fullmatch(line):
            family[comment[1]] = comment[2]
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert family == {"HELP": sample[1], "TYPE": sample[1]}
        if sample[1] not in seen[-1:]:
            assert sample[1] not in seen, "a family is torn apart"
            seen.append(sample[1])
        key = sample[1] + (sample[2] or "")
        assert key not in series, key
        series[key] = int(sample[3])
    return series


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize("sweep", [samples.SWEEP, samples.PARTIAL_SWEEP, None])
def test_the_file_follows_the_text_format(name: str, sweep: SweepSummary | None):
    assert parse(metrics(FLEETS[name](), sweep))


@pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian package prometheus) is not installed")
@pytest.mark.parametrize("name", FLEETS)
def test_promtool_finds_nothing_to_complain_about(name: str):
    done = subprocess.run(
        [PROMTOOL or "", "check", "metrics"],
        input=metrics(FLEETS[name](), samples.PARTIAL_SWEEP),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_complete_sweep_winds_the_dead_mans_switch():
    series = parse(metrics(samples.sick()))
    assert series["muster_last_complete_sweep_timestamp_seconds"] == 1_795_995_630
    assert series["muster_last_sweep_timestamp_seconds"] == 1_795_995_630


def test_an_incomplete_sweep_does_not_wind_it():
    series = parse(metrics(samples.sick(), samples.PARTIAL_SWEEP))
    assert "muster_last_complete_sweep_timestamp_seconds" not in series
    assert series["muster_last_sweep_timestamp_seconds"] == 1_795_995_750
    assert series['muster_sweep_nodes{state="asked"}'] == 13
    assert series['muster_sweep_nodes{state="read"}'] == 11


def test_without_a_sweep_there_is_no_time_rather_than_zero():
    assert not [name for name in parse(metrics(samples.sick(), None)) if "sweep" in name]


def test_cards_and_nodes_are_counted_per_verdict_with_zeros():
    series = parse(metrics(samples.sick(), samples.PARTIAL_SWEEP))
    assert series['muster_cards{verdict="ok"}'] == 62
    assert series['muster_cards{verdict="reboot"}'] == 0
    assert series['muster_nodes{verdict="unknown"}'] == 2
    assert series["muster_nodes_not_read"] == 2


def test_a_card_has_its_verdict_as_a_number_and_the_time_of_its_last_reading():
    card = samples.card("n", 0, verdict="rma", uuid="GPU-1")
    never = samples.card("n", 1, verdict="unknown", uuid="GPU-2", observed_at=None)
    series = parse(metrics(samples.verdicts([card, never], [samples.node("n")])))
    assert series['muster_card_verdict{uuid="GPU-1",node="n"}'] == 6
    assert series['muster_card_last_read_timestamp_seconds{uuid="GPU-1",node="n"}'] == 1_795_995_600
    assert series['muster_card_verdict{uuid="GPU-2",node="n"}'] == 1
    assert 'muster_card_last_read_timestamp_seconds{uuid="GPU-2",node="n"}' not in series


def test_a_uuid_that_is_claimed_twice_counts_as_the_worst_and_oldest():
    cards = [
        samples.card("n", 0, uuid="GPU-1"),
        samples.card("n", 1, uuid="GPU-1", verdict="retire", observed_at="2026-11-01T00:00:00Z"),
    ]
    series = parse(metrics(samples.verdicts(cards, [samples.node("n")])))
    assert series['muster_card_verdict{uuid="GPU-1",node="n"}'] == 7
    assert series['muster_card_last_read_timestamp_seconds{uuid="GPU-1",node="n"}'] == 1_793_491_200


def test_beyond_the_limit_no_card_has_a_series_and_the_file_says_so():
    series = parse(metrics(samples.sick(), cards_max=71))
    assert not [name for name in series if name.startswith("muster_card_")]
    assert series["muster_cards_without_series"] == 72
    assert parse(metrics(samples.sick(), cards_max=72))["muster_cards_without_series"] == 0


def test_simulated_verdicts_are_labelled():
    assert 'simulated="true"' in metrics(samples.sick(simulated=True))
    assert 'simulated="false"' in metrics(samples.sick())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=5))
def test_no_name_breaks_the_format(names: list[str]):
    cards = [samples.card(name, 0, uuid=name, observed_at=name) for name in names]
    assert parse(metrics(samples.verdicts(cards, [])))
