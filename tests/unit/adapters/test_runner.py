"""Playbook runs through the real ansible-runner on local connections."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lifecycle.adapters.runner import PlaybookRun, failed
from lifecycle.core.errors import Exit

PLAY = """
- name: A play
  hosts: gpu_nodes
  gather_facts: false
  tasks:
    - name: Say
      {module}
"""


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.yml"
    nodes = "".join(
        f"    n{i}: {{ansible_connection: local, ansible_python_interpreter: {sys.executable}}}\n"
        for i in (1, 2)
    )
    path.write_text(f"gpu_nodes:\n  hosts:\n{nodes}")
    return path


def run(tmp_path: Path, inventory: Path, module: str, **more: object) -> PlaybookRun:
    playbook = tmp_path / "play.yml"
    playbook.write_text(PLAY.format(module=module))
    return PlaybookRun(playbook, private_dir=tmp_path / "private", inventory=inventory, env={}, **more)


def test_every_node_ends_with_its_own_outcome(tmp_path: Path, inventory: Path) -> None:
    seen: list[tuple[str, str]] = []
    play = run(
        tmp_path, inventory,
        "ansible.builtin.assert: {that: inventory_hostname == 'n1'}",
        on_node=lambda node, outcome: seen.append((node, outcome)),
    )  # fmt: skip
    result = play.wait(120)
    assert result.nodes == {"n1": "ok", "n2": "failed"}
    assert sorted(seen) == [("n1", "ok"), ("n2", "failed")]
    assert (result.rc, result.cut_short) == (2, False)


def test_a_run_past_its_deadline_is_stopped_and_leaves_nothing_behind(
    tmp_path: Path, inventory: Path
) -> None:
    result = run(tmp_path, inventory, "ansible.builtin.command: sleep 300").wait(4)
    assert result.cut_short
    assert result.nodes == {}
    assert not (tmp_path / "private").exists()


def test_the_private_folder_of_a_killed_run_is_removed_first(tmp_path: Path, inventory: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret").write_text("of an earlier run")
    result = run(tmp_path, inventory, "ansible.builtin.debug: {msg: hi}").wait(120)
    assert result.nodes == {"n1": "ok", "n2": "ok"}
    assert not (tmp_path / "private").exists()


def test_no_matching_node_is_told_apart_from_a_failure(tmp_path: Path, inventory: Path) -> None:
    inventory.write_text("gpu_nodes:\n  hosts: {}\n")
    result = run(tmp_path, inventory, "ansible.builtin.debug: {msg: hi}").wait(120)
    assert result.no_hosts
    assert result.nodes == {}


def test_a_limit_reaches_ansible(tmp_path: Path, inventory: Path) -> None:
    assert run(tmp_path, inventory, "ansible.builtin.debug: {msg: hi}", limit="n2").wait(120).nodes == {
        "n2": "ok"
    }


def test_a_run_that_never_started_repeats_ansibles_words(tmp_path: Path, inventory: Path) -> None:
    result = run(tmp_path, inventory, "no.such.module: {}").wait(120)
    error = failed(result, inventory)
    assert error.exit == Exit.INCOMPLETE
    assert "no.such.module" in error.happened
    assert "unchanged" in error.means
    assert "-vv" in error.remedy
