"""Whole sweeps over the local connection, above the simulated library: what they record and how they end."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from lifecycle.adapters.clock import now_ms
from lifecycle.sim.fleet import build
from lifecycle.sim.plan import fleet_plan
from tests.unit.cli.conftest import Program

NODES = ("batch-t-01", "batch-t-02")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two healthy simulated nodes of four cards; the folder that holds them."""
    whole = fleet_plan()
    plan = msgspec.structs.replace(
        whole, months=1, pools={"batch": list(NODES)}, nodes={name: whole.nodes[name] for name in NODES},
        moves=[], cards={}, seats={}, heat=[], log=[],
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("fleet")
    build(folder, 7, now_ms(), plan=plan)
    return folder


@pytest.fixture
def inventory(fleet: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    path = tmp_path / "hosts.yml"
    path.write_text((fleet / "inventory" / "hosts.yml").read_text())
    return path


def change(inventory: Path, node: str, **variables: Any) -> None:
    listing = yaml.safe_load(inventory.read_text())
    hosts = listing["all"]["children"]["gpu_nodes"]["children"]["batch"]["hosts"]
    hosts.setdefault(node, {}).update(variables)
    inventory.write_text(yaml.safe_dump(listing))


def sweeps(muster: Program) -> list[dict[str, Any]]:
    connection = sqlite3.connect(muster.home / "state" / "muster" / "ledger.db")
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute("SELECT * FROM sweeps ORDER BY id")]
    finally:
        connection.close()


def test_a_sweep_reads_every_card_and_is_complete(muster: Program, inventory: Path) -> None:
    ended = muster("sweep", "-i", str(inventory), "--json")
    assert ended.code == 0, ended.out + ended.err
    assert sorted({card["node"] for card in ended.json["cards"]}) == list(NODES)
    assert len(ended.json["cards"]) == 8
    assert {card["verdict"] for card in ended.json["cards"]} == {"ok"}
    assert all(card["simulated"] for card in ended.json["cards"])
    (sweep,) = sweeps(muster)
    assert (sweep["nodes_asked"], sweep["nodes_read"], sweep["cards_read"], sweep["complete"]) == (2, 2, 8, 1)
    assert not (muster.home / "state" / "muster" / "spool" / "runner").exists()


def test_quiet_prints_nothing_when_all_is_well(muster: Program, inventory: Path) -> None:
    ended = muster("sweep", "-i", str(inventory), "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_a_second_unchanged_sweep_adds_one_row_per_node(muster: Program, inventory: Path) -> None:
    def rows() -> dict[str, int]:
        connection = sqlite3.connect(muster.home / "state" / "muster" / "ledger.db")
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        counted = {n: connection.execute(f"SELECT count(*) FROM {n}").fetchone()[0] for n in names}  # noqa: S608 - names of our own tables
        connection.close()
        return counted

    muster("sweep", "-i", str(inventory))
    before = rows()
    muster("sweep", "-i", str(inventory))
    grown = {name: count - before[name] for name, count in rows().items() if count != before[name]}
    assert grown == {"observations": 2, "sweeps": 1}


def test_a_limited_sweep_never_counts_as_complete(muster: Program, inventory: Path, tmp_path: Path) -> None:
    ended = muster("sweep", "-i", str(inventory), "--limit", NODES[0])
    assert ended.code == 0, ended.out + ended.err
    assert [(s["nodes_asked"], s["complete"]) for s in sweeps(muster)] == [(1, 0)]
    muster("metrics", "--textfile", str(tmp_path / "m.prom"))
    text = (tmp_path / "m.prom").read_text()
    assert "\nmuster_last_sweep_timestamp_seconds " in text
    assert "\nmuster_last_complete_sweep_timestamp_seconds " not in text


def test_a_node_that_cannot_be_reached_makes_the_sweep_incomplete(
    muster: Program, inventory: Path, tmp_path: Path
) -> None:
    change(inventory, "gone", ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=1)
    ended = muster("sweep", "-i", str(inventory), "--json")
    assert ended.code == 3, ended.out + ended.err
    assert {n["node"]: n["verdict"] for n in ended.json["nodes"]}["gone"] == "unknown"
    (sweep,) = sweeps(muster)
    assert (sweep["complete"], json.loads(sweep["not_read"])) == (0, {"gone": "unreachable"})
    muster("metrics", "--textfile", str(tmp_path / "m.prom"))
    assert 'muster_sweep_nodes{state="asked"} 3' in (tmp_path / "m.prom").read_text()
    assert 'muster_sweep_nodes{state="read"} 2' in (tmp_path / "m.prom").read_text()


def test_what_the_deadline_left_unread_is_remembered_by_the_ledger(muster: Program, inventory: Path) -> None:
    muster("sweep", "-i", str(inventory))
    for node in NODES:
        change(inventory, node, muster_nvml_library=str(inventory.with_name("slow.py")))
    inventory.with_name("slow.py").write_text("import time\ntime.sleep(60)\n")
    ended = muster("sweep", "-i", str(inventory), "--deadline", "6", "--forks", "1")
    assert ended.code == 3, ended.out + ended.err
    newest = sweeps(muster)[-1]
    assert (newest["nodes_asked"], newest["nodes_read"], newest["complete"]) == (2, 0, 0)
    judged = muster("judge", "--json")
    assert judged.code == 3
    assert {node["node"]: node["verdict"] for node in judged.json["nodes"]} == dict.fromkeys(NODES, "unknown")
    assert {node["node"]: node["pool"] for node in judged.json["nodes"]} == dict.fromkeys(NODES, "batch")


def ansible_below(pid: int) -> int | None:
    """The process id of the ansible-playbook that muster `pid` started, once it runs."""
    for entry in Path("/proc").iterdir():
        try:
            status = (entry / "status").read_text()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if f"PPid:\t{pid}\n" in status and b"ansible-playbook" in command:
            return int(entry.name)
    return None


def test_an_ansible_that_dies_on_the_way_is_no_complete_sweep(muster: Program, inventory: Path) -> None:
    muster("sweep", "-i", str(inventory))
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections and never says a word
    port = silent.getsockname()[1]
    change(inventory, NODES[1], ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=port)
    running = muster.start("sweep", "-i", str(inventory), "--forks", "1")
    incoming = muster.home / "state" / "muster" / "spool" / "incoming"
    until = time.monotonic() + 60
    while not list(incoming.glob("batch-t-01-*")):
        assert time.monotonic() < until, "the first node is read within a minute"
        assert running.poll() is None, running.communicate()
        os.sched_yield()
    child = ansible_below(running.pid)
    assert child is not None
    os.kill(child, 9)
    running.communicate(timeout=90)
    silent.close()
    assert running.returncode == 3
    newest = sweeps(muster)[-1]
    assert (newest["nodes_asked"], newest["nodes_read"], newest["complete"]) == (2, 1, 0)


def test_another_command_during_a_sweep_takes_nothing_from_its_record(
    muster: Program, inventory: Path
) -> None:
    running = muster.start("sweep", "-i", str(inventory))
    while running.poll() is None:
        assert muster("cards").code == 0
    assert running.returncode == 0, running.communicate()
    (sweep,) = sweeps(muster)
    assert (sweep["nodes_read"], sweep["cards_read"], sweep["complete"]) == (2, 8, 1)


def test_a_bad_policy_stops_a_sweep_before_anything_is_read(muster: Program, inventory: Path) -> None:
    ended = muster("sweep", "-i", str(inventory), "--policy", "onwer")
    assert ended.code == 2
    assert not (muster.home / "state" / "muster" / "ledger.db").exists()
