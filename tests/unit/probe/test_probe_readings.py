"""What is read from a card: the real pynvml above a simulated library, the probe as a process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from gpu_probe import card as probe_card
from node_double import a_card, a_node, options_for, reason, run_probe

from lifecycle.core.facts import Card, Host


def read_card(tmp_path: Path, card: dict[str, Any], **node: Any) -> dict[str, Any]:
    answer = run_probe(options_for(tmp_path, a_node(card, **node)))
    only: dict[str, Any] = answer["cards"][0]
    return only


def leaves(kind: type[msgspec.Struct], prefix: str = "") -> set[str]:
    """Dotted paths of a structure's readings; groups are walked into, lists are one reading."""
    found = set()
    for field in msgspec.structs.fields(kind):
        inner = field.default
        if isinstance(inner, msgspec.Struct) and type(inner).__name__ != "Unread":
            found |= leaves(type(inner), f"{prefix}{field.name}.")
        else:
            found.add(prefix + field.name)
    return found


def test_every_reading_of_a_card_in_the_facts_document_is_asked_for() -> None:
    read_by_parent = {"read.outcome", "read.took_ms", "read.detail"}
    assert set(probe_card.PATHS) == leaves(Card) - read_by_parent


def test_a_sound_card_answers_every_reading_and_fits_the_facts_document(tmp_path: Path) -> None:
    raw = read_card(tmp_path, a_card())
    card = msgspec.convert(raw, Card)
    assert card.identity.uuid == "GPU-5a1e0000-0000-0000-0000-000000000001"
    assert card.identity.serial == "0322621001234"
    assert (card.identity.architecture, card.identity.compute_capability) == ("ampere", "8.0")
    assert card.seat.pci == "0000:07:00.0"
    assert card.firmware.inforom_ecc == "6.16"
    assert card.modes.ecc_current is True
    assert card.modes.mig_current is False
    assert (card.ecc.aggregate.dram_corrected, card.ecc.aggregate.total_corrected) == (5, 7)
    assert (card.ecc.aggregate.dram_uncorrected, card.ecc.aggregate.sram_corrected) == (1, 2)
    assert card.ecc.sram_threshold_exceeded is False
    assert (card.remap.correctable, card.remap.uncorrectable, card.remap.pending) == (1, 2, False)
    assert (card.remap.banks_max, card.remap.banks_partial) == (639, 1)
    assert (card.retired_pages.single_bit, card.retired_pages.double_bit) == (0, 1)
    assert (card.health.recovery, card.health.inforom_valid) == ("reboot", True)
    assert (card.temperature.gpu_c, card.temperature.memory_c, card.temperature.margin_c) == (55, 61, -3)
    assert (card.limits.temperature_slowdown_c, card.limits.power_min_w) == (89, 100)
    assert (card.power.draw_w, card.power.enforced_limit_w) == (61.234, 400)
    assert card.clocks.reasons == ["gpu_idle", "hw_thermal_slowdown"]
    assert (card.clocks.power_violation_us, card.clocks.hw_thermal_us) == (123, 6)
    assert (card.pcie.gen, card.pcie.replays, card.limits.pcie_gen_max) == (1, 3, 4)
    assert isinstance(card.nvlink, list)
    assert (card.nvlink[0].speed_mbps, card.nvlink[0].crc_flit) == (25781, 3)
    assert (card.fabric.state, card.fabric.status, card.fabric.clique) == ("completed", "success", "4")
    assert card.fabric.cluster == "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert (card.read.outcome, card.utilisation.gpu_pct) == ("ok", 12)


def test_a_sound_card_leaves_nothing_unread(tmp_path: Path) -> None:
    raw = read_card(tmp_path, a_card())

    def unread(value: Any, path: str = "") -> list[str]:
        if isinstance(value, dict):
            return (
                [path] if "unread" in value else [p for k in value for p in unread(value[k], f"{path}.{k}")]
            )
        return [p for item in value for p in unread(item, path)] if isinstance(value, list) else []

    assert unread(raw) == []


def test_the_host_of_a_sound_node_fits_the_facts_document(tmp_path: Path) -> None:
    answer = run_probe(options_for(tmp_path, a_node(a_card())))
    host = msgspec.convert(answer["host"], Host)
    assert (host.nvml_state, host.nvml_cards, host.nvml_detail) == ("ok", 1, "")
    assert (host.driver.cuda, host.driver.module, host.driver.userspace) == ("13.0", "580.65.06", "580.65.06")
    assert host.module_refcount_before == 17
    assert answer["simulated"] is True


def test_ecc_switched_off_makes_its_counters_disabled_and_not_zero(tmp_path: Path) -> None:
    ecc = read_card(tmp_path, a_card(ecc_mode=[0, 1]))["ecc"]
    assert reason(ecc["aggregate"]["dram_corrected"]) == "disabled"
    assert reason(ecc["volatile"]["total_uncorrected"]) == "disabled"
    assert reason(ecc["sram_threshold_exceeded"]) == "disabled"


def test_remapping_that_mig_hides_is_told_apart_from_a_card_without_it(tmp_path: Path) -> None:
    hidden = read_card(tmp_path, a_card(mig_mode=[1, 1], remapped=None, histogram=None))
    absent = read_card(tmp_path, a_card(remapped=None, histogram=None))
    assert reason(hidden["remap"]["failure"]) == reason(hidden["remap"]["banks_max"]) == "hidden_by_mig"
    assert reason(absent["remap"]["failure"]) == "not_supported"
    assert reason(hidden["memory"]["unaccounted_bytes"]) == "hidden_by_mig"


@pytest.mark.parametrize("serial", ["0", "0000000000000", "N/A", "[N/A]", ""])
def test_a_serial_that_is_none_is_no_data(tmp_path: Path, serial: str) -> None:
    assert reason(read_card(tmp_path, a_card(serial=serial))["identity"]["serial"]) == "no_data"


@pytest.mark.parametrize("sentinel", [0xFFFFFFFFFFFFFFFF, 9223372036854775794, 0xFFFFFFFF])
def test_a_sentinel_in_a_counter_is_no_data_and_never_a_count(tmp_path: Path, sentinel: int) -> None:
    card = a_card(ecc={"1": {"2": [sentinel, 0], "7": [0, 0]}, "0": {"2": [0, 0], "7": [0, 0]}})
    assert reason(read_card(tmp_path, card)["ecc"]["aggregate"]["dram_corrected"]) == "no_data"


@pytest.mark.parametrize(
    ("branch", "asked", "value"),
    [("550.90.07", 252, None), ("570.86.10", 252, None), ("580.65.06", 252, 9), ("590.44.01", 270, 9)],
)
def test_a_field_that_changed_its_number_is_asked_by_the_drivers_own(
    tmp_path: Path, branch: str, asked: int, value: int | None
) -> None:
    card = read_card(tmp_path, a_card(fields={str(asked): 9000}), driver=branch)
    answer = card["clocks"]["hw_thermal_us"]
    assert (answer if value else reason(answer)) == (value or "not_in_driver")


def test_a_field_that_answers_with_another_type_than_a_counter_is_not_believed(tmp_path: Path) -> None:
    card = read_card(tmp_path, a_card(fields={"251": -1}))
    assert reason(card["clocks"]["sw_thermal_us"]) == "not_in_driver"


def test_an_older_driver_is_asked_by_its_older_calls(tmp_path: Path) -> None:
    newer = [
        "nvmlDeviceGetMemoryInfo_v2",
        "nvmlDeviceGetComputeRunningProcesses_v3",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetViolationStatus",
    ]
    card = read_card(tmp_path, a_card(), missing_functions=newer, driver="515.105.01")
    assert card["temperature"]["gpu_c"] == 55
    assert card["clocks"]["reasons_raw"] == 0x41
    assert card["processes"][0]["pid"] == 4242
    assert card["memory"]["used_bytes"] == 509_000_000
    assert card["clocks"]["thermal_violation_us"] == 7
    assert reason(card["memory"]["reserved_bytes"]) == "not_in_driver"
    assert reason(card["memory"]["unaccounted_bytes"]) == "not_in_driver"
    assert card["fabric"]["state"] == "completed"
    assert reason(card["fabric"]["health_mask"]) == "not_in_driver"


def test_a_call_that_the_driver_lacks_altogether_is_not_in_driver(tmp_path: Path) -> None:
    card = read_card(tmp_path, a_card(), missing_functions=["nvmlDeviceGetRowRemapperHistogram"])
    assert reason(card["remap"]["banks_none"]) == "not_in_driver"
    assert card["remap"]["correctable"] == 1


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (2, "not_in_driver"),
        (3, "not_supported"),
        (4, "no_permission"),
        (10, "timed_out"),
        (13, "not_in_driver"),
        (16, "reset_required"),
        (17, "no_permission"),
        (21, "no_data"),
        (25, "not_in_driver"),
        (26, "not_in_driver"),
        (999, "unknown_error"),
        (12345, "unknown_error"),
    ],
)
def test_an_nvml_error_becomes_its_reason(tmp_path: Path, code: int, expected: str) -> None:
    card = a_card(faults={"error": {"nvmlDeviceGetPowerUsage": code}})
    assert reason(read_card(tmp_path, card)["power"]["draw_w"]) == expected


def test_a_corrupted_inforom_is_a_value_and_not_an_unread_reading(tmp_path: Path) -> None:
    assert read_card(tmp_path, a_card(inforom_valid=False))["health"]["inforom_valid"] is False


def test_sram_errors_come_from_the_status_structure_where_the_location_is_not_supported(
    tmp_path: Path,
) -> None:
    card = a_card(
        ecc={"0": {"2": [0, 0]}, "1": {"2": [0, 0]}},
        sram_status={
            "aggregateUncParity": 3,
            "aggregateUncSecDed": 4,
            "aggregateCor": 5,
            "bThresholdExceeded": 1,
        },
    )
    ecc = read_card(tmp_path, card)["ecc"]
    assert (ecc["aggregate"]["sram_uncorrected"], ecc["aggregate"]["sram_corrected"]) == (7, 5)
    assert ecc["sram_threshold_exceeded"] is True


def test_sram_errors_of_an_older_card_are_the_sum_of_its_memories(tmp_path: Path) -> None:
    places = {"2": [0, 0], "0": [1, 0], "1": [2, 0], "3": [4, 0]}
    ecc = read_card(tmp_path, a_card(ecc={"0": places, "1": places}, sram_status=None))["ecc"]
    assert ecc["volatile"]["sram_corrected"] == 7


def test_memory_that_no_living_process_holds_is_found(tmp_path: Path) -> None:
    living = read_card(tmp_path, a_card())["memory"]["unaccounted_bytes"]
    dead = a_card(processes=[{"pid": 4242, "memory": 6_000_000}, {"pid": 5555, "memory": 1_000_000}])
    assert living == 3_000_000
    assert read_card(tmp_path, dead)["memory"]["unaccounted_bytes"] == 3_000_000


def test_memory_of_a_process_that_nvml_cannot_size_leaves_the_sum_unread(tmp_path: Path) -> None:
    card = a_card(processes=[{"pid": 4242, "memory": 0xFFFFFFFFFFFFFFFF}])
    raw = read_card(tmp_path, card)
    assert reason(raw["processes"][0]["memory_bytes"]) == "no_data"
    assert reason(raw["memory"]["unaccounted_bytes"]) == "no_data"


def test_a_process_is_named_with_its_job_and_never_with_its_arguments(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node(a_card()))
    (tmp_path / "root/proc/4242/cmdline").write_text("python3\0--token=hunter2\0")
    (tmp_path / "root/proc/4242/environ").write_text("SLURM_JOB_ID=7\0TOKEN=hunter2\0")
    answer = run_probe(chosen)
    process = answer["cards"][0]["processes"][0]
    assert (process["name"], process["job"], process["memory_bytes"]) == ("python3", "991", 6_000_000)
    assert "hunter2" not in str(answer)


def test_a_card_without_nvlink_is_not_supported_and_an_inactive_link_is_a_fact(tmp_path: Path) -> None:
    assert reason(read_card(tmp_path, a_card(nvlink=None))["nvlink"]) == "not_supported"
    down = {"0": {"state": 0, "counters": [0, 0, 0, 0]}}
    link = read_card(tmp_path, a_card(nvlink=down))["nvlink"][0]
    assert link["active"] is False
    assert reason(link["speed_mbps"]) == "not_supported"
