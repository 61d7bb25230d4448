"""The demo fleet on disk: what the generator leaves, with the real probe above the simulated library."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from lifecycle.core.errors import Refused, RunnerFailed
from lifecycle.core.facts import FactsDocument, Unread
from lifecycle.sim.cards import Life, Moment
from lifecycle.sim.draws import Draws
from lifecycle.sim.fleet import Fleet, build
from lifecycle.sim.history import LIBRARY, NodeDirectory, run_probe
from lifecycle.sim.plan import FleetPlan, fleet_plan

NOW = 1_796_083_200  # 2026-12-01T00:00:00Z
AS_OF = NOW * 1000
SEED = 7
LIFE = Life(fleet_plan(), Draws(SEED))
PRESENT = LIFE.present(NOW)
A_MONTH_AGO = Moment(NOW - 30 * 86400, 1)


def small_plan(*names: str, months: int = 1) -> FleetPlan:
    """The demo's plan cut down to some of its nodes and to fewer months."""
    plan = fleet_plan()
    return msgspec.structs.replace(
        plan,
        months=months,
        nodes={name: node for name, node in plan.nodes.items() if name in names},
        pools={"pool": list(names)},
        heat=[heat for heat in plan.heat if heat.node in names],
    )


NODES = ("infer-l-02", "infer-l-03")
DOCUMENTS = 7 + 1 + 1


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fleet, list[tuple[int, int, str]]]:
    told: list[tuple[int, int, str]] = []
    fleet = build(
        tmp_path_factory.mktemp("fleet"), SEED, AS_OF, lambda *news: told.append(news), small_plan(*NODES)
    )
    return fleet, told


def contents(fleet: Fleet) -> dict[str, bytes | str]:
    """Every file and link by its path below the fleet, the inventory with its own place left out."""
    base = fleet.history.parent
    found: dict[str, bytes | str] = {}
    for path in sorted(base.rglob("*")):
        name = str(path.relative_to(base))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes().replace(str(base).encode(), b"BASE")
    return found


def documents(fleet: Fleet) -> Iterator[FactsDocument]:
    for path in sorted(fleet.history.glob("*.json")):
        yield msgspec.json.decode(path.read_bytes(), type=FactsDocument)


def test_the_same_seed_and_time_give_the_same_bytes(built: tuple[Fleet, Any], tmp_path: Path) -> None:
    again = build(tmp_path / "again", SEED, AS_OF, plan=small_plan(*NODES))
    assert contents(again) == contents(built[0])


def test_another_seed_gives_other_cards(built: tuple[Fleet, Any], tmp_path: Path) -> None:
    other = build(tmp_path / "other", SEED + 1, AS_OF, plan=small_plan("infer-l-03"))
    uuids = {entry.identity.uuid for document in documents(built[0]) for entry in document.cards}
    assert not uuids & {entry.identity.uuid for document in documents(other) for entry in document.cards}


def test_progress_is_told_once_per_document(built: tuple[Fleet, list[tuple[int, int, str]]]) -> None:
    fleet, told = built
    assert [(done, total) for done, total, _ in told] == [(n + 1, DOCUMENTS) for n in range(DOCUMENTS)]
    assert fleet.documents == DOCUMENTS == len(list(fleet.history.iterdir()))


def test_every_document_is_complete_and_labelled_as_simulated(built: tuple[Fleet, Any]) -> None:
    for document in documents(built[0]):
        assert document.simulated
        assert (document.reach, document.host.nvml_state, document.host.nvml_cards) == ("ok", "ok", 4)
        assert document.node in NODES
        assert (document.expected_cards, document.pool) == (4, "pool")
        assert [entry.read.outcome for entry in document.cards] == ["ok"] * 4
        for entry in document.cards:
            assert not isinstance(entry.ecc.aggregate.total_corrected, Unread)
            assert entry.remap.failure is False


def test_document_names_carry_the_time_that_stands_inside(built: tuple[Fleet, Any]) -> None:
    for path in built[0].history.iterdir():
        document = json.loads(path.read_text(encoding="utf-8"))
        at = int(path.stem.rsplit("-", 1)[1]) // 1000
        assert document["observed_at"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
        assert document["host"]["clock"] == at < NOW


def test_the_inventory_names_every_node_with_its_library_and_what_is_expected(
    built: tuple[Fleet, Any],
) -> None:
    group = yaml.safe_load(built[0].inventory.read_text(encoding="utf-8"))["all"]["children"]["gpu_nodes"]
    assert group["vars"]["ansible_connection"] == "local"
    assert group["vars"]["muster_nvml_library"] == str(LIBRARY)
    assert group["children"]["pool"]["vars"] == {"muster_pool": "pool"}
    hosts = group["children"]["pool"]["hosts"]
    assert set(hosts) == set(NODES)
    for host in hosts.values():
        assert host["muster_expected_cards"] == 4
        assert Path(host["muster_nvml_data"]).is_file()
        assert (Path(host["muster_probe_root"]) / "proc/uptime").is_file()


def test_the_unreachable_node_is_asked_for_on_a_closed_port_of_this_machine(
    built: tuple[Fleet, Any],
) -> None:
    group = yaml.safe_load(built[0].inventory.read_text(encoding="utf-8"))["all"]["children"]["gpu_nodes"]
    host = group["children"]["pool"]["hosts"]["infer-l-03"]
    assert (host["ansible_connection"], host["ansible_host"]) == ("ssh", "127.0.0.1")
    assert host["ansible_port"] == 1


def test_a_lost_card_costs_only_its_own_readings(tmp_path: Path) -> None:
    place = NodeDirectory(tmp_path / "train-h-02")
    place.set_to(LIFE, "train-h-02", PRESENT)
    answer = run_probe(place, NOW)
    assert [entry["read"]["outcome"] for entry in answer["cards"]] == ["ok"] * 7 + ["lost"]
    assert answer["host"]["nvml_cards"] == len(answer["host"]["pci_gpus"]) == 8
    assert [line["text"].split("): ")[1][:2] for line in answer["host"]["log"]][-1] == "79"


def test_an_old_driver_leaves_holes_with_a_reason(tmp_path: Path) -> None:
    place = NodeDirectory(tmp_path / "batch-t-02")
    place.set_to(LIFE, "batch-t-02", PRESENT)
    entry = run_probe(place, NOW)["cards"][0]
    assert entry["firmware"]["gsp"]["unread"] == "not_in_driver"
    assert entry["temperature"]["margin_c"]["unread"] == "not_in_driver"
    assert entry["temperature"]["gpu_c"] > 0


def test_going_from_one_moment_to_the_next_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    moved, fresh = NodeDirectory(tmp_path / "moved"), NodeDirectory(tmp_path / "fresh")
    moved.set_to(LIFE, "batch-t-01", A_MONTH_AGO)
    moved.set_to(LIFE, "batch-t-01", PRESENT)
    fresh.set_to(LIFE, "batch-t-01", PRESENT)
    listing = [
        sorted(str(path.relative_to(place.path)) for path in place.path.rglob("*"))
        for place in (moved, fresh)
    ]
    assert listing[0] == listing[1]


def test_a_directory_with_someone_elses_inventory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "hosts.yml").write_text("mine\n")
    with pytest.raises(Refused) as refusal:
        build(tmp_path, SEED, AS_OF, plan=small_plan("infer-l-03"))
    assert str(refusal.value) == (
        f"{tmp_path} already holds inventory, and no demo fleet was built there.\n"
        "  What it means: Building the demo fleet would replace them; nothing was changed.\n"
        "  What to do:    Name an empty directory, or one that an earlier demo used."
    )
    assert (tmp_path / "inventory" / "hosts.yml").read_text() == "mine\n"


def test_a_probe_that_does_not_answer_is_said_with_its_last_words(tmp_path: Path) -> None:
    place = NodeDirectory(tmp_path / "train-h-01")
    with pytest.raises(RunnerFailed) as failure:
        run_probe(place, NOW, probe_dir=tmp_path)
    assert failure.value.happened.startswith("The probe did not read the simulated node train-h-01: ")
    assert "No module named gpu_probe" in failure.value.happened
    assert (
        failure.value.means == "The simulated fleet is incomplete and was not used; nothing else was changed."
    )
    assert failure.value.remedy == (
        f"Run the demo again; should it fail again, run the probe by hand in {tmp_path}."
    )


def test_a_past_that_cannot_be_read_ends_the_build(tmp_path: Path) -> None:
    plan = small_plan("train-a-03")
    shut = msgspec.structs.replace(plan.nodes["train-a-03"], missing_functions=["nvmlInitWithFlags"])
    with pytest.raises(RunnerFailed, match="did not read the simulated node train-a-03"):
        build(tmp_path, SEED, AS_OF, plan=msgspec.structs.replace(plan, nodes={"train-a-03": shut}))
    assert not (tmp_path / "inventory" / "hosts.yml").exists()
