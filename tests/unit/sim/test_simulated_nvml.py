"""The simulated NVML library, asked through the real pynvml."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import byref
from typing import Any

import pynvml
import pytest

from lifecycle.sim import nvml
from lifecycle.sim.plan import models

MIB = 1 << 20
Opener = Callable[[dict[str, Any]], None]


@pytest.fixture
def open_node() -> Iterator[Opener]:
    """Puts a described node below pynvml and opens it; afterwards pynvml is as it was."""
    before = pynvml.nvmlLib

    def opener(node: dict[str, Any]) -> None:
        pynvml._nvmlGetFunctionPointer_cache.clear()
        pynvml.nvmlLib = nvml.Library(node)
        pynvml.nvmlInit()

    yield opener
    pynvml.nvmlLib = before
    pynvml._nvmlGetFunctionPointer_cache.clear()


def node_of(*cards: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"driver": "580.105.08", "nvml": "13.580.105.08", "cuda": 13000, "cards": list(cards), **keys}


def model_card(model: str) -> dict[str, Any]:
    described = models()["models"][model]
    return {**described["card"], "uuid": "GPU-1", "serial": "1650000000001", "pci": described["pci"][0]}


# What the captures named in models.json show, written down a second time on purpose.
CAPTURED = {
    "h100": (
        "NVIDIA H100 80GB HBM3",
        "692-2G520-0200-000",
        (9, 0),
        0x233010DE,
        81559,
        700,
        2560,
        (95, 89, 87),
    ),
    "a100": (
        "NVIDIA A100-SXM4-80GB",
        "692-2G506-0212-002",
        (8, 0),
        0x20B210DE,
        81920,
        500,
        640,
        (92, 89, 85),
    ),
    "l40s": ("NVIDIA L40S", "900-2G133-A880-000", (8, 9), 0x26B910DE, 46068, 350, 192, (93, 90, 88)),
    "t4": ("Tesla T4", "900-2G183-A800-001", (7, 5), 0x1EB810DE, 15360, 70, None, (96, 93, 85)),
}


@pytest.mark.parametrize("model", CAPTURED)
def test_pynvml_reads_of_each_model_what_its_capture_shows(model: str, open_node: Opener) -> None:
    name, part, capability, pci_id, mebibytes, watts, banks, thresholds = CAPTURED[model]
    open_node(node_of(model_card(model)))
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)

    assert pynvml.nvmlDeviceGetName(handle) == name
    assert pynvml.nvmlDeviceGetBoardPartNumber(handle) == part
    assert pynvml.nvmlDeviceGetCudaComputeCapability(handle) == capability
    assert pynvml.nvmlDeviceGetPciInfo(handle).pciDeviceId == pci_id
    assert pynvml.nvmlDeviceGetMemoryInfo(handle).total == mebibytes * MIB
    assert pynvml.nvmlDeviceGetPowerManagementDefaultLimit(handle) == watts * 1000
    measured = tuple(pynvml.nvmlDeviceGetTemperatureThreshold(handle, which) for which in (0, 1, 3))
    assert measured == thresholds
    if banks is None:
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetRowRemapperHistogram(handle)
        assert pynvml.nvmlDeviceGetRetiredPages(handle, 0) == []
    else:
        assert pynvml.nvmlDeviceGetRowRemapperHistogram(handle).max == banks
        with pytest.raises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetRetiredPages(handle, 0)


def test_every_model_names_the_sources_of_its_values() -> None:
    for name, model in models()["models"].items():
        assert model["sources"], name


def test_nothing_answers_before_nvml_is_opened_or_after_it_is_closed(open_node: Opener) -> None:
    open_node(node_of())
    pynvml.nvmlShutdown()
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()


def test_a_card_is_found_by_index_by_uuid_and_by_both_forms_of_its_address(open_node: Opener) -> None:
    open_node(node_of({"uuid": "GPU-a", "pci": "0000:07:00.0"}, {"uuid": "GPU-b", "pci": "0000:0f:00.0"}))
    handles = [
        pynvml.nvmlDeviceGetHandleByIndex(1),
        pynvml.nvmlDeviceGetHandleByUUID("GPU-b"),
        pynvml.nvmlDeviceGetHandleByPciBusId("0000:0F:00.0"),
        pynvml.nvmlDeviceGetHandleByPciBusId("00000000:0f:00.0"),
    ]
    assert {pynvml.nvmlDeviceGetUUID(handle) for handle in handles} == {"GPU-b"}
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetHandleByIndex(2)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID("GPU-c")


def test_error_counters_are_told_apart_and_summed_up(open_node: Opener) -> None:
    open_node(node_of({"ecc": {"0": {"2": [3, 0], "7": [1, 0]}, "1": {"2": [50, 2], "7": [4, 1]}}}))
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlDeviceGetMemoryErrorCounter(handle, 0, 0, pynvml.NVML_MEMORY_LOCATION_DRAM) == 3
    assert pynvml.nvmlDeviceGetMemoryErrorCounter(handle, 1, 1, pynvml.NVML_MEMORY_LOCATION_SRAM) == 1
    assert pynvml.nvmlDeviceGetTotalEccErrors(handle, 0, 0) == 4
    assert pynvml.nvmlDeviceGetTotalEccErrors(handle, 1, 1) == 3
    fields = [pynvml.NVML_FI_DEV_ECC_SBE_AGG_TOTAL, pynvml.NVML_FI_DEV_ECC_DBE_AGG_DEV]
    values = pynvml.nvmlDeviceGetFieldValues(handle, fields)
    assert [value.value.ullVal for value in values] == [54, 2]


def test_fields_have_their_own_return_codes_signs_and_scopes(open_node: Opener) -> None:
    link = {"state": 1, "speed_mbps": 26562, "counters": [0, 0, 0, 0]}
    card = {"tlimits": [-8, -2, None, 0], "nvlink": [link, {**link, "speed_mbps": 13281}]}
    open_node(node_of(card))
    asked = [
        pynvml.NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT,
        pynvml.NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT,
        (pynvml.NVML_FI_DEV_NVLINK_GET_SPEED, 1),
    ]
    values = pynvml.nvmlDeviceGetFieldValues(pynvml.nvmlDeviceGetHandleByIndex(0), asked)
    assert [value.nvmlReturn for value in values] == [0, pynvml.NVML_ERROR_NOT_SUPPORTED, 0]
    assert values[0].value.siVal == -8
    assert values[2].value.ullVal == 13281


def test_a_field_given_by_number_wins_over_the_derived_one(open_node: Opener) -> None:
    open_node(node_of({"replays": 4, "fields": {"94": 9, "251": 1_000_000_000}}))
    values = pynvml.nvmlDeviceGetFieldValues(pynvml.nvmlDeviceGetHandleByIndex(0), [94, 251])
    assert [value.value.ullVal for value in values] == [9, 1_000_000_000]


def test_memory_counts_the_reserved_part_as_the_version_asked_for_does(open_node: Opener) -> None:
    open_node(node_of({"memory": {"total": 1000, "reserved": 100, "used": 50}}))
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    first, second = (
        pynvml.nvmlDeviceGetMemoryInfo(handle),
        pynvml.nvmlDeviceGetMemoryInfo(handle, pynvml.nvmlMemory_v2),
    )
    assert (first.total, first.used, first.free) == (1000, 150, 850)
    assert (second.reserved, second.used, second.free) == (100, 50, 850)


def test_structures_and_lists_are_filled(open_node: Opener) -> None:
    open_node(
        node_of(
            {
                "sram_status": {"aggregateCor": 7, "bThresholdExceeded": 1},
                "fabric": {"state": 3, "status": 0, "cliqueId": 5, "clusterUuid": list(range(16))},
                "margin": {"marginTemperature": -3},
                "temperature": {"0": 90},
                "processes": [{"pid": 41, "memory": 10}, {"pid": 42, "memory": 20}],
                "retired": {"0": [4096, 8192], "1": []},
                "violations": {"1": 77},
            }
        )
    )
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    sram, fabric = pynvml.c_nvmlEccSramErrorStatus_v1_t(), pynvml.c_nvmlGpuFabricInfo_v2_t()
    pynvml.nvmlDeviceGetSramEccErrorStatus(handle, byref(sram))
    pynvml.nvmlDeviceGetGpuFabricInfoV(handle, byref(fabric))

    assert (sram.aggregateCor, sram.bThresholdExceeded) == (7, 1)
    assert (fabric.state, fabric.cliqueId, bytes(fabric.clusterUuid)) == (3, 5, bytes(range(16)))
    assert pynvml.nvmlDeviceGetMarginTemperature(handle) == -3
    assert pynvml.nvmlDeviceGetTemperatureV(handle, pynvml.NVML_TEMPERATURE_GPU) == 90
    processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    assert [(process.pid, process.usedGpuMemory) for process in processes] == [(41, 10), (42, 20)]
    assert pynvml.nvmlDeviceGetRetiredPages(handle, 0) == [4096, 8192]
    assert pynvml.nvmlDeviceGetViolationStatus(handle, 1).violationTime == 77


def test_a_structure_of_a_version_the_library_does_not_know_is_refused(open_node: Opener) -> None:
    open_node(node_of({"sram_status": {}}))
    status = pynvml.c_nvmlEccSramErrorStatus_v1_t()
    status.version = 0x7000068
    with pytest.raises(pynvml.NVMLError_ArgumentVersionMismatch):
        pynvml.nvmlDeviceGetSramEccErrorStatus(pynvml.nvmlDeviceGetHandleByIndex(0), byref(status))


def test_a_corrupt_inforom_is_told_from_one_that_cannot_be_checked(open_node: Opener) -> None:
    open_node(node_of({"inforom_valid": False}, {"inforom_valid": True}, {}))
    with pytest.raises(pynvml.NVMLError_CorruptedInforom):
        pynvml.nvmlDeviceValidateInforom(pynvml.nvmlDeviceGetHandleByIndex(0))
    pynvml.nvmlDeviceValidateInforom(pynvml.nvmlDeviceGetHandleByIndex(1))
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceValidateInforom(pynvml.nvmlDeviceGetHandleByIndex(2))


def test_what_the_description_leaves_out_is_not_supported_and_never_zero(open_node: Opener) -> None:
    open_node(node_of({"uuid": "GPU-1"}))
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    for ask in (
        pynvml.nvmlDeviceGetEccMode,
        pynvml.nvmlDeviceGetRemappedRows,
        pynvml.nvmlDeviceGetPowerUsage,
        pynvml.nvmlDeviceGetUtilizationRates,
        pynvml.nvmlDeviceGetComputeRunningProcesses,
    ):
        with pytest.raises(pynvml.NVMLError_NotSupported):
            ask(handle)


def test_a_missing_function_is_one_the_driver_does_not_have(open_node: Opener) -> None:
    open_node(node_of({"module_id": 3}, missing_functions=["nvmlDeviceGetModuleId"]))
    with pytest.raises(pynvml.NVMLError_FunctionNotFound):
        pynvml.nvmlDeviceGetModuleId(pynvml.nvmlDeviceGetHandleByIndex(0))


def test_a_lost_card_is_counted_but_cannot_be_opened_and_spares_its_neighbour(open_node: Opener) -> None:
    open_node(node_of({"uuid": "GPU-a", "faults": {"lost": True}}, {"uuid": "GPU-b"}))
    assert pynvml.nvmlDeviceGetCount() == 2
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(1)) == "GPU-b"


def test_an_error_fault_answers_its_code_on_that_call_alone(open_node: Opener) -> None:
    open_node(node_of({"uuid": "GPU-a", "serial": "1", "faults": {"error": {"nvmlDeviceGetSerial": 4}}}))
    handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlDeviceGetUUID(handle) == "GPU-a"
    with pytest.raises(pynvml.NVMLError_NoPermission):
        pynvml.nvmlDeviceGetSerial(handle)


def test_opening_answers_the_code_the_node_gives(open_node: Opener) -> None:
    with pytest.raises(pynvml.NVMLError_LibRmVersionMismatch):
        open_node(node_of(init=18))
