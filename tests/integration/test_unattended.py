"""The sweep as cron runs it: quiet, never twice at once, ended in time, clean after a signal."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import PATIENCE_S, Muster
from tests.nodes import Fleet, SilentNode, gpu_node, healthy_cards, nodes, silent_node

pytestmark = pytest.mark.root


@pytest.fixture
def held_up(tmp_path: Path) -> Iterator[tuple[Fleet, SilentNode]]:
    """Two healthy nodes and one that holds a sweep up until somebody ends it."""
    specs = [gpu_node(f"gpu-{number:02d}", healthy_cards(number)) for number in (1, 2)]
    with nodes(tmp_path / "fleet", specs) as fleet, silent_node("127.0.1.203") as silent:
        # Only what the test does ends the wait for this node.
        patient = {"ansible_ssh_timeout": 600, "ansible_timeout": 600, "muster_timeout": 600}
        fleet.add_host("silent", silent.address, silent.port, **patient)
        fleet.write_inventory()
        yield fleet, silent


def under_way(muster: Muster, fleet: Fleet, silent: SilentNode, *arguments: str) -> subprocess.Popen[str]:
    """A sweep that has reached its nodes and waits for the silent one."""
    sweep = muster.start("sweep", "-i", str(fleet.inventory), *arguments)
    silent.wait_for_caller(PATIENCE_S)
    return sweep


def processes_of(fleet: Fleet) -> list[str]:
    """Command lines of ssh clients and playbooks that still work on this fleet."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        # ssh's own background connections end by themselves when the node does.
        if (
            any(str(fleet.home) in word for word in words)
            and "[mux]" not in words[0]
            and "unshare" not in words
        ):
            found.append(" ".join(words))
    return found


def test_quiet_prints_nothing_when_all_is_well(tmp_path, healthy_fleet):
    done = Muster(tmp_path, healthy_fleet).run("sweep", "--quiet", inventory=healthy_fleet.inventory)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_quiet_prints_the_whole_report_when_something_is_wrong(tmp_path):
    sick = [{**healthy_cards(1)[0], "remap_failure": 1}]
    with nodes(tmp_path / "fleet", [gpu_node("gpu-01", sick)]) as fleet:
        done = Muster(tmp_path, fleet).run("sweep", "--quiet", inventory=fleet.inventory)
    assert done.returncode == 1
    assert done.stderr == ""
    assert "row-remap-failure" in done.stdout
    assert "RMA" in done.stdout


def test_a_second_sweep_ends_at_once_and_names_the_holder(tmp_path, held_up):
    fleet, silent = held_up
    muster = Muster(tmp_path, fleet)
    first = under_way(muster, fleet, silent)
    try:
        second = muster.run("sweep", "--quiet", inventory=fleet.inventory)
        assert second.returncode == 75
        assert second.stdout == ""
        assert re.search(rf"\bprocess {first.pid}\b", second.stderr)
        assert "this one read and changed nothing" in second.stderr
        assert first.poll() is None, "the first is not disturbed"
    finally:
        first.terminate()
        first.wait(PATIENCE_S)


def test_other_commands_work_while_a_sweep_runs(tmp_path, held_up):
    fleet, silent = held_up
    muster = Muster(tmp_path, fleet)
    first = under_way(muster, fleet, silent)
    try:
        assert muster.run("nodes").returncode in (0, 3)
        assert muster.run("judge").returncode in (0, 3)
    finally:
        first.terminate()
        first.wait(PATIENCE_S)


def test_the_deadline_ends_a_sweep_and_names_what_it_did_not_reach(tmp_path, held_up):
    fleet, silent = held_up
    muster = Muster(tmp_path, fleet)
    sweep = under_way(muster, fleet, silent, "--deadline", "8", "--json")
    said, errors = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == 3, errors
    document = json.loads(said)
    assert [(node["node"], node["verdict"]) for node in document["nodes"]] == [
        ("gpu-01", "ok"),
        ("gpu-02", "ok"),
        ("silent", "unknown"),
    ]
    assert processes_of(fleet) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_leaves_things_clean(tmp_path, held_up, number):
    fleet, silent = held_up
    muster = Muster(tmp_path, fleet)
    sweep = under_way(muster, fleet, silent)
    sweep.send_signal(number)
    _, errors = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert processes_of(fleet) == []
    assert not (muster.spool / "runner").exists()
    assert not list((muster.spool / "tmp").glob("*"))

    after = muster.run("sweep", "--limit", "gpu-01,gpu-02", "--quiet", inventory=fleet.inventory)
    assert (after.returncode, after.stdout) == (0, ""), "the lock is free and what was read is not lost"


def test_a_killed_sweep_holds_no_lock(tmp_path, held_up):
    fleet, silent = held_up
    muster = Muster(tmp_path, fleet)
    sweep = under_way(muster, fleet, silent)
    sweep.kill()
    sweep.wait(PATIENCE_S)
    after = muster.run("sweep", "--limit", "gpu-01", "--quiet", inventory=fleet.inventory)
    assert (after.returncode, after.stderr) == (0, "")
