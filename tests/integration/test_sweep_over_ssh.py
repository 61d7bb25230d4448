"""The sweep end to end over real SSH: probe, spool, ledger, verdicts, and the same by plain Ansible."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Muster
from tests.nodes import Fleet, gpu_node, healthy_cards, nodes

pytestmark = pytest.mark.root

# What a second reading of the same node cannot help changing.
TIMES = {"observed_at", "document_at", "ingested_at", "first_seen_at", "first_seen", "last_seen", "at"}


@pytest.fixture
def muster(tmp_path: Path, healthy_fleet: Fleet) -> Muster:
    return Muster(tmp_path, healthy_fleet)


def rows(file: Path, table: str, *columns: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(file)
    try:
        return sorted(connection.execute(f"SELECT {', '.join(columns)} FROM {table}"))  # noqa: S608 - names from this file
    finally:
        connection.close()


def content(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What the ledger holds of nodes and cards, without times and readings that never stand still."""
    return {
        "nodes": rows(file, "nodes", "name"),
        "cards": rows(file, "cards", "uuid", "serial", "name", "board_part_number"),
        "host_facts": rows(file, "host_facts", "digest"),
        "card_facts": rows(file, "card_facts", "digest", "body"),
        "readings": rows(file, "readings", "pci", "memory", "digest"),
        "observations": rows(file, "observations", "reach", "reach_detail", "simulated"),
    }


def test_a_sweep_reads_every_card_and_finds_all_well(muster, healthy_fleet):
    done = muster.run("sweep", inventory=healthy_fleet.inventory)
    assert (done.returncode, done.stderr) == (0, "")
    assert "All 6 cards on 3 nodes were read" in done.stdout

    cards = muster.answer("cards")["cards"]
    assert {(card["uuid"], card["node"]) for card in cards} == {
        (str(card["uuid"]), f"gpu-{number:02d}") for number in (1, 2, 3) for card in healthy_cards(number)
    }
    assert {card["verdict"] for card in cards} == {"ok"}
    assert muster.documents() == [], "what is in the ledger has left the spool"


def test_its_json_is_the_verdicts_document(muster, healthy_fleet):
    document = muster.answer("sweep", inventory=healthy_fleet.inventory)
    assert document["schema"] == "verdicts/1"
    assert [node["node"] for node in document["nodes"]] == ["gpu-01", "gpu-02", "gpu-03"]
    assert [card["verdict"] for card in document["cards"]] == ["ok"] * 6
    assert all(card["complete"] for card in document["cards"])


def test_the_facts_are_those_of_the_node_and_its_library(muster, healthy_fleet):
    assert muster.playbook(healthy_fleet.inventory, "--limit", "gpu-02").returncode == 0
    (document,) = muster.documents()
    assert document["node"] == "gpu-02"
    assert document["reach"] == "ok"
    assert document["simulated"] is False, "the double is loaded as NVIDIA's own library is"
    assert document["host"]["claimed_hostname"] == "gpu-02"
    assert document["host"]["driver"]["module"] == "570.148.08"
    assert [card["identity"]["uuid"] for card in document["cards"]] == [
        card["uuid"] for card in healthy_cards(2)
    ]
    assert document["cards"][0]["ecc"]["aggregate"]["dram_corrected"] == 0
    assert "unread" in document["cards"][0]["fabric"]["state"]


def test_plain_ansible_leaves_the_same_ledger_behind(tmp_path, healthy_fleet):
    swept, played = Muster(tmp_path / "swept", healthy_fleet), Muster(tmp_path / "played", healthy_fleet)
    for muster in (swept, played):
        muster.home.mkdir()
    assert swept.run("sweep", inventory=healthy_fleet.inventory).returncode == 0
    done = played.playbook(healthy_fleet.inventory)
    assert done.returncode == 0, done.stdout
    assert len(played.documents()) == 3
    assert not played.ledger_file.exists(), "a playbook reads; taking in is a muster command's work"

    assert played.run("nodes").returncode == 0
    assert played.documents() == []
    assert content(played.ledger_file) == content(swept.ledger_file)
    assert without_times(played.answer("judge")) == without_times(swept.answer("judge"))


def without_times(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: without_times(value) for key, value in document.items() if key not in TIMES | {"as_of"}}
    return [without_times(one) for one in document] if isinstance(document, list) else document


def test_sweeping_unchanged_nodes_again_adds_one_row_a_node(muster, healthy_fleet):
    muster.run("sweep", inventory=healthy_fleet.inventory)
    before = content(muster.ledger_file)
    muster.run("sweep", inventory=healthy_fleet.inventory)
    after = content(muster.ledger_file)
    assert len(after["observations"]) == len(before["observations"]) + 3
    assert {table: rows for table, rows in after.items() if table != "observations"} == {
        table: rows for table, rows in before.items() if table != "observations"
    }


def test_limit_reads_only_the_nodes_it_names(muster, healthy_fleet):
    document = muster.answer("sweep", "--limit", "gpu-01,gpu-03", inventory=healthy_fleet.inventory)
    assert [node["node"] for node in document["nodes"]] == ["gpu-01", "gpu-03"]
    assert rows(muster.ledger_file, "observations", "reach") == [("ok",)] * 2


def test_one_fork_reads_what_many_read(muster, healthy_fleet):
    document = muster.answer("sweep", "--forks", "1", inventory=healthy_fleet.inventory)
    assert [card["verdict"] for card in document["cards"]] == ["ok"] * 6


def test_a_node_that_shows_another_host_key_is_not_read(tmp_path):
    specs = [gpu_node("gpu-01", healthy_cards(1)), gpu_node("gpu-02", healthy_cards(2))]
    with nodes(tmp_path / "fleet", specs) as fleet:
        one, two = fleet
        keys = f"[{one.address}]:{one.port} {two.host_key}\n[{two.address}]:{two.port} {two.host_key}\n"
        fleet.known_hosts.write_text(keys)
        muster = Muster(tmp_path, fleet)
        assert muster.playbook(fleet.inventory).returncode == 4
        read = {document["node"]: document for document in muster.documents()}
        assert {node: document["reach"] for node, document in read.items()} == {
            "gpu-01": "unreachable",
            "gpu-02": "ok",
        }
        document = muster.answer("sweep", inventory=fleet.inventory)
    assert {card["node"] for card in document["cards"]} == {"gpu-02"}
    assert [(node["node"], node["verdict"]) for node in document["nodes"]] == [
        ("gpu-01", "unknown"),
        ("gpu-02", "ok"),
    ]


def test_a_sweep_leaves_no_connection_open(muster, healthy_fleet):
    healthy_fleet.cool_down()
    assert muster.run("sweep", inventory=healthy_fleet.inventory).returncode == 0
    assert list(healthy_fleet.control_dir.iterdir()) == []


def test_become_reads_what_root_alone_may_read(tmp_path):
    keeper = {"ansible_user": "keeper"}
    root_only = {"/etc/muster-root-only": "x"}
    specs = [
        gpu_node("as-root", healthy_cards(1), variables={**keeper, "ansible_become": True}, files=root_only),
        gpu_node("as-keeper", healthy_cards(2), variables=keeper, files=root_only),
    ]
    with nodes(tmp_path / "fleet", specs) as fleet:
        muster = Muster(tmp_path, fleet)
        assert muster.playbook(fleet.inventory).returncode == 0
        read = {document["node"]: document for document in muster.documents()}
    assert {node: document["reach"] for node, document in read.items()} == {
        "as-root": "ok",
        "as-keeper": "ok",
    }
    assert all(len(document["cards"]) == 2 for document in read.values())
    assert "unread" not in read["as-root"]["host"]["log"]
    assert read["as-keeper"]["host"]["log"]["unread"] == "no_permission"


def test_reading_leaves_nothing_on_a_node(tmp_path):
    with nodes(tmp_path / "fleet", [gpu_node("gpu-01", healthy_cards(1))]) as fleet:
        node = fleet[0]
        everything = (
            "find",
            "/root",
            "/etc",
            "/usr",
            "/var",
            "/tmp",
            "/home",
            "-xdev",
            "-newer",
            "/etc/hostname",
        )
        before = node.run(*everything)
        assert Muster(tmp_path, fleet).run("sweep", inventory=fleet.inventory).returncode == 0
        assert node.run(*everything) == before
