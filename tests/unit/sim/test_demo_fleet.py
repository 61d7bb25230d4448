"""The demo fleet: what has happened in it, and what the generator leaves on disk."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from lifecycle.sim.cards import Life, Moment, node_at
from lifecycle.sim.draws import Draws
from lifecycle.sim.plan import fleet_plan
from lifecycle.sim.tree import Link, root_at

NOW = 1_796_083_200  # 2026-12-01T00:00:00Z
AS_OF = NOW * 1000
SEED = 7
HOT_C = 88
LIFE = Life(fleet_plan(), Draws(SEED))
PRESENT = LIFE.present(NOW)

Card = dict[str, Any]


def at_age(age: int) -> Moment:
    return Moment(NOW - age * 30 * 86400, age)


def card(seat: str, moment: Moment = PRESENT) -> Card:
    node, slot = seat.split("/")
    return node_at(LIFE, node, moment)["cards"][int(slot)]


def corrected(seat: str, moment: Moment = PRESENT) -> int:
    return card(seat, moment)["ecc"]["1"]["2"][0]


def test_the_fleet_has_twelve_nodes_in_three_pools_of_four_models() -> None:
    plan = fleet_plan()
    assert len(plan.nodes) == 12
    assert sorted(name for names in plan.pools.values() for name in names) == sorted(plan.nodes)
    assert len(plan.pools) == 3
    assert {node.model for node in plan.nodes.values()} == {"h100", "a100", "l40s", "t4"}


def test_one_card_wears_out_past_a_hundred_corrected_errors_in_its_last_month_only() -> None:
    counts = [corrected("train-a-01/2", at_age(age)) for age in range(12, 0, -1)]
    months = [later - earlier for earlier, later in pairwise(counts)]
    assert max(months) <= 100 < corrected("train-a-01/2") - counts[-1]


def test_one_card_had_a_storm_long_ago_and_is_quiet_now() -> None:
    assert corrected("train-h-01/5") > 4000
    assert corrected("train-h-01/5") - corrected("train-h-01/5", at_age(1)) <= 3


def test_remaps_wait_on_one_card_and_have_failed_on_another() -> None:
    assert card("train-h-02/3")["remapped"][2:] == [1, 0]
    assert card("train-h-02/3")["recovery"] == 1
    assert card("train-a-02/6")["remapped"][2:] == [0, 1]


def test_a_card_is_lost_one_hangs_and_one_is_gone_only_now() -> None:
    assert card("train-h-02/7")["faults"] == {"lost": True}
    assert "nvmlDeviceGetTemperature" in card("infer-l-02/3")["faults"]["hang"]
    assert len(node_at(LIFE, "batch-t-01", PRESENT)["cards"]) == 3
    assert len(node_at(LIFE, "batch-t-01", at_age(1))["cards"]) == 4
    assert not any("faults" in entry for entry in node_at(LIFE, "train-h-02", at_age(1))["cards"])


def test_a_card_that_is_gone_left_the_bus_too() -> None:
    before, now = root_at(LIFE, "batch-t-01", at_age(1)), root_at(LIFE, "batch-t-01", PRESENT)
    assert {path for path in before.keys() - now.keys() if path.endswith("/class")} == {
        "sys/bus/pci/devices/0000:d8:00.0/class"
    }


def test_one_card_is_hot_alone_and_one_node_is_hot_for_the_most_part() -> None:
    hot = {
        name: sum(entry["temperature"]["0"] > HOT_C for entry in node_at(LIFE, name, PRESENT)["cards"])
        for name in fleet_plan().nodes
    }
    assert {name: count for name, count in hot.items() if count} == {"infer-l-02": 1, "train-h-03": 6}


def test_the_heat_was_read_often_enough_to_count_as_sustained() -> None:
    times = [moment.at for moment in LIFE.moments("infer-l-02", NOW) if moment.hot]
    assert all(later - earlier <= 300 for earlier, later in pairwise(times))
    assert times[-1] - times[0] >= 15 * 60
    for moment in LIFE.moments("infer-l-02", NOW):
        assert (card("infer-l-02/1", moment)["temperature"]["0"] > HOT_C) is moment.hot


def test_two_cards_changed_places_and_one_was_replaced() -> None:
    before, after = at_age(7), at_age(5)
    assert card("train-h-01/4", before)["uuid"] == card("train-h-04/6", after)["uuid"]
    assert card("train-h-04/6", before)["uuid"] == card("train-h-01/4", after)["uuid"]
    old, new = card("train-h-04/0", at_age(5)), card("train-h-04/0", at_age(4))
    assert (old["uuid"], old["serial"]) != (new["uuid"], new["serial"])
    assert old["remapped"][3] == 1
    assert new["ecc"]["1"]["2"][1] == 0


def test_one_node_runs_an_older_module_than_its_library() -> None:
    described, root = node_at(LIFE, "train-a-03", PRESENT), root_at(LIFE, "train-a-03", PRESENT)
    assert described["init"] == 18
    assert root["sys/module/nvidia/version"] == "570.148.08\n"
    assert root["usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"] == Link("libnvidia-ml.so.570.172.08")
    assert "init" not in node_at(LIFE, "train-a-03", at_age(1))


def test_most_cards_have_nothing_wrong_with_them() -> None:
    cards = [entry for name in fleet_plan().nodes for entry in node_at(LIFE, name, PRESENT)["cards"]]
    sound = [
        entry
        for entry in cards
        if not entry.get("faults")
        and entry["temperature"]["0"] <= HOT_C
        and not any(entry.get("remapped", [0, 0, 0, 0])[1:])
    ]
    assert len(sound) > len(cards) * 0.8


def test_identities_are_unique_and_lifetime_counters_never_go_down() -> None:
    seen: dict[str, list[int]] = defaultdict(list)
    serials = {}
    for age in range(12, -1, -1):
        for name in fleet_plan().nodes:
            for entry in node_at(LIFE, name, at_age(age))["cards"]:
                seen[entry["uuid"]].append(sum(entry["ecc"]["1"]["2"]))
                assert serials.setdefault(entry["serial"], entry["uuid"]) == entry["uuid"]
                assert all(count >= 0 for count in entry["ecc"]["0"]["2"])
    assert len(seen) == sum(node.cards for node in fleet_plan().nodes.values()) + 1
    assert all(counts == sorted(counts) for counts in seen.values())


def test_a_kernel_log_names_seats_that_exist_and_is_in_order_of_time() -> None:
    log = root_at(LIFE, "train-h-02", PRESENT)["var/log/kern.log"]
    assert isinstance(log, str)
    lines = log.splitlines()
    assert [line.split("): ")[1].split(",")[0] for line in lines if "Xid" in line] == [
        "48",
        "63",
        "154",
        "79",
    ]
    assert "PCI:0000:db:00): 79" in lines[-1]
    stamps = [line.split(" ")[0] for line in lines]
    assert stamps == sorted(stamps)
