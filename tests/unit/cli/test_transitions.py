"""quarantine, retire and release: they only record, and a retired card stays retired (contract 6.6)."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Program

UUID = "GPU-11111111-2222-3333-4444-555555555555"
AS_OF = ("--as-of", "2027-01-01T00:00:00Z")


def state(muster: Program) -> str:
    (card,) = muster("cards", *AS_OF, "--json").json["cards"]
    return card["state"]


@pytest.mark.parametrize(
    ("verb", "after"), [("quarantine", "quarantined"), ("retire", "retired"), ("release", "in_service")]
)
def test_a_verb_records_who_when_and_why(muster: Program, verb: str, after: str) -> None:
    muster("ingest", muster.facts("a"))
    ended = muster(verb, UUID, "--reason", "fan died", "--yes", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["to"] == after
    assert ended.json["reason"] == "fan died"
    assert state(muster) == after
    assert "fan died" in muster("card", UUID, *AS_OF).out


def test_a_retired_card_cannot_be_released(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    assert muster("retire", f"card:{UUID}", "--reason", "worn", "--yes").code == 0
    ended = muster("release", UUID, "--reason", "please", "--yes")
    assert ended.code == 2
    assert "never returns to production" in ended.err
    assert state(muster) == "retired"


def test_a_retired_card_met_again_is_a_finding(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    muster("retire", "board:0322621001234", "--reason", "worn", "--yes")
    muster("ingest", muster.facts("b", observed_at="2026-12-31T00:00:00Z", node="gpu-99"))
    judged = muster("judge", *AS_OF, "--json")
    assert judged.code == 1
    (card,) = judged.json["cards"]
    assert (card["verdict"], card["node"]) == ("retire", "gpu-99")
    assert "retired-card-seen" in [f["rule"] for f in card["findings"]]


@pytest.mark.parametrize("target", ["GPU-1111", "card:GPU-1111", "node:gpu", "board:0322"])
def test_a_beginning_is_refused_where_something_is_written(muster: Program, target: str) -> None:
    muster("ingest", muster.facts("a"))
    ended = muster("quarantine", target, "--reason", "x", "--yes")
    assert ended.code == 2
    assert state(muster) == "enrolled"


def test_an_untyped_target_is_refused(muster: Program) -> None:
    ended = muster("retire", "gpu-17", "--reason", "x", "--yes")
    assert ended.code == 2
    assert "node:NAME" in ended.err


def test_without_yes_nothing_is_recorded_unless_a_person_agrees(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    ended = muster("retire", UUID, "--reason", "x")
    assert ended.code == 2
    assert "enrolled -> retired" in ended.err
    assert state(muster) == "enrolled"


def test_a_reason_is_required(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    assert muster("retire", UUID, "--yes").code == 2
    assert muster("retire", UUID, "--yes", "--reason", "  ").code == 2
    assert state(muster) == "enrolled"
