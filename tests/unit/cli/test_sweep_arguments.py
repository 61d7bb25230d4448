"""What `muster sweep` refuses before it reads anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifecycle.adapters.lock import hold
from tests.unit.cli.conftest import Program


@pytest.mark.parametrize("words", [["--help"], ["sweep", "--help"], ["judge", "-h"], ["--version"]])
def test_help_is_quick_and_well(muster: Program, words: list[str]) -> None:
    ended = muster(*words)
    assert ended.code == 0
    assert "muster" in ended.out


def test_a_sweep_without_an_inventory_is_misuse(muster: Program) -> None:
    assert muster("sweep").code == 2


def test_a_missing_inventory_is_misuse(muster: Program) -> None:
    ended = muster("sweep", "-i", "inventory/nowhere")
    assert ended.code == 2
    assert "inventory/example" in ended.err


def test_an_inventory_without_gpu_nodes_reads_nothing_and_says_so(muster: Program, tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("all: {hosts: {web-1: {}}}\n")
    ended = muster("sweep", "-i", str(tmp_path / "hosts.yml"))
    assert ended.code == 2
    assert "gpu_nodes" in ended.err


def test_a_sweep_never_overlaps_another(muster: Program, tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("gpu_nodes: {hosts: {n: {ansible_connection: local}}}\n")
    lock = tmp_path / "state" / "muster" / "spool" / "sweep.lock"
    with hold(lock, purpose="sweep", now_iso="2026-01-01T00:00:00Z"):
        ended = muster("sweep", "-i", str(tmp_path / "hosts.yml"))
    assert ended.code == 75
    assert "Another run holds" in ended.err
    assert "since 2026-01-01T00:00:00Z" in ended.err


def test_a_bad_ledger_url_is_misuse_and_shows_no_password(muster: Program) -> None:
    ended = muster("--ledger", "nonsense://user:secret@host/db", "judge")
    assert ended.code == 2
    assert "secret" not in ended.out + ended.err


def test_an_unknown_option_is_misuse(muster: Program) -> None:
    assert muster("judge", "--frobnicate").code == 2
