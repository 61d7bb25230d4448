"""Inventories that cannot be used are told apart from fleets that cannot be read."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.conftest import Program

HEALTHY = "gpu_nodes: {hosts: {n1: {ansible_connection: local}}}\n"


def test_a_limit_that_matches_nothing_is_misuse(muster: Program, tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(HEALTHY)
    ended = muster("sweep", "-i", str(tmp_path / "hosts.yml"), "--limit", "nosuch")
    assert ended.code == 2, ended.err
    assert "nosuch" in ended.err


def test_broken_yaml_is_shown_in_ansibles_own_words(muster: Program, tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("gpu_nodes: [broken\n")
    ended = muster("sweep", "-i", str(tmp_path / "hosts.yml"))
    assert ended.code in (2, 3), ended.err
    assert "hosts.yml" in ended.err
    assert "pars" in ended.err.lower()


def test_a_wrong_variable_is_named_in_the_report(muster: Program, tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(HEALTHY.replace("local}", "local, muster_expected_cards: eight}"))
    ended = muster("sweep", "-i", str(tmp_path / "hosts.yml"))
    assert ended.code == 3, ended.err
    assert "expected_cards" in " ".join(ended.out.split())
