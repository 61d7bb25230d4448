"""What each C function of libnvidia-ml answers for a simulated card.

Loaded by path beside nvml.py, on nodes too: Python 3.8 or later, standard library only. Every answer takes
the card (see nvml.py for its keys) and the ctypes arguments that follow the handle, fills the outputs and
returns the NVML code, or raises NvmlError with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
CORRUPTED_INFOROM = 14
GPU_IS_LOST = 15
ARGUMENT_VERSION_MISMATCH = 25

_LOCATIONS = ("2", "7")  # NVML_MEMORY_LOCATION_DRAM and _SRAM: the two that NVML sums up since Ampere
_DOUBLE, _UNSIGNED, _SIGNED = 0, 3, 4  # nvmlValueType_t: double, unsigned long long, signed long long
_TEMPERATURE_V1 = 0x100000C  # nvmlTemperature_v1
_NO_INSTANCE = 0xFFFFFFFF  # what NVML writes for a process outside any MIG instance
_TOTAL_FIELDS = {3: (0, 0), 4: (1, 0), 5: (0, 1), 6: (1, 1)}  # NVML_FI_DEV_ECC_*_TOTAL: kind, counter
_RETIRED_FIELDS = {29: "0", 30: "1"}  # NVML_FI_DEV_RETIRED_*: page retirement cause
_TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("nvml_calls.json").read_text(encoding="utf-8"))


class NvmlError(Exception):
    """The NVML return code with which a call ends early."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def at(card: dict[str, Any], path: str, selectors: tuple[int, ...] = ()) -> Any:
    """The value at a dotted path. Raises NvmlError(NOT_SUPPORTED) where there is none."""
    value: Any = card
    for step in path.format(*selectors).split("."):
        if isinstance(value, list):
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = value.get(step)
        if value is None:
            raise NvmlError(NOT_SUPPORTED)
    return value


def plain(argument: Any) -> int:
    """The integer in a ctypes scalar, or the integer itself."""
    return int(getattr(argument, "value", argument))


def target(argument: Any) -> Any:
    """What a by-reference argument points to; arrays are passed as they are."""
    return getattr(argument, "_obj", argument)


def write_text(buffer: Any, text: str, size: int) -> int:
    """Writes text and its terminator into a buffer of `size` bytes."""
    raw = text.encode("utf-8")
    if len(raw) >= size:
        return INSUFFICIENT_SIZE
    target(buffer).value = raw
    return SUCCESS


def _text(path: str, selectors: int = 0) -> Callable[..., int]:
    def answer(card: dict[str, Any], *args: Any) -> int:
        buffer = args[selectors]
        chosen = tuple(plain(argument) for argument in args[:selectors])
        size = plain(args[selectors + 1]) if len(args) > selectors + 1 else len(target(buffer))
        return write_text(buffer, str(at(card, path, chosen)), size)

    return answer


def _numbers(selectors: int, paths: list[str]) -> Callable[..., int]:
    def answer(card: dict[str, Any], *args: Any) -> int:
        chosen = tuple(plain(argument) for argument in args[:selectors])
        values = [at(card, path, chosen) for path in paths]
        for position, value in enumerate(values, start=selectors):
            target(args[position]).value = value
        return SUCCESS

    return answer


def _fill(struct: Any, members: dict[str, Any]) -> None:
    known = {field[0] for field in struct._fields_}
    for name, value in members.items():
        if name in known and isinstance(value, list):
            getattr(struct, name)[:] = value
        elif name in known:
            setattr(struct, name, value)


def _struct(path: str, versions: list[int]) -> Callable[..., int]:
    def answer(card: dict[str, Any], argument: Any) -> int:
        struct = target(argument)
        if versions and struct.version not in versions:
            return ARGUMENT_VERSION_MISMATCH
        _fill(struct, at(card, path))
        return SUCCESS

    return answer


def _pci(card: dict[str, Any], argument: Any) -> int:
    address = str(at(card, "pci"))
    domain, bus, rest = address.split(":")
    members = {
        "busIdLegacy": address.encode(),
        "busId": ("0000" + address).encode(),
        "domain": int(domain, 16),
        "bus": int(bus, 16),
        "device": int(rest.split(".")[0], 16),
        "pciDeviceId": card.get("pci_device_id", 0),
        "pciSubSystemId": card.get("pci_subsystem_id", 0),
    }
    _fill(target(argument), members)
    return SUCCESS


def _ecc_total(card: dict[str, Any], kind: int, counter: int) -> int:
    locations = at(card, f"ecc.{counter}")
    return sum(int(locations[place][kind]) for place in _LOCATIONS if locations.get(place) is not None)


def _total_ecc(card: dict[str, Any], kind: Any, counter: Any, output: Any) -> int:
    target(output).value = _ecc_total(card, plain(kind), plain(counter))
    return SUCCESS


def _retired(card: dict[str, Any], cause: Any, count: Any, pages: Any, times: Any = None) -> int:
    addresses = at(card, f"retired.{plain(cause)}")
    room, target(count).value = plain(target(count)), len(addresses)
    if pages is None or room < len(addresses):
        return INSUFFICIENT_SIZE if addresses else SUCCESS
    for position, address in enumerate(addresses):
        pages[position] = address
        if times is not None:
            times[position] = 0
    return SUCCESS


def _temperature_struct(card: dict[str, Any], argument: Any) -> int:
    struct = target(argument)
    if struct.version != _TEMPERATURE_V1:
        return ARGUMENT_VERSION_MISMATCH
    struct.temperature = at(card, "temperature.{0}", (struct.sensorType,))
    return SUCCESS


def _violation(card: dict[str, Any], policy: Any, argument: Any) -> int:
    struct = target(argument)
    struct.violationTime = at(card, "violations.{0}", (plain(policy),))
    struct.referenceTime = card.get("reference_time", 0)
    return SUCCESS


def _memory(card: dict[str, Any], argument: Any) -> int:
    """Version 1 counts the reserved memory as used; version 2 shows it apart."""
    struct, memory = target(argument), at(card, "memory")
    total, reserved, used = memory["total"], memory["reserved"], memory["used"]
    struct.total, struct.free = total, total - reserved - used
    if hasattr(struct, "reserved"):
        struct.reserved, struct.used = reserved, used
    else:
        struct.used = reserved + used
    return SUCCESS


def _processes(card: dict[str, Any], count: Any, array: Any) -> int:
    processes = at(card, "processes")
    room, target(count).value = plain(target(count)), len(processes)
    if array is None or room < len(processes):
        return INSUFFICIENT_SIZE if processes else SUCCESS
    for position, process in enumerate(processes):
        slot = array[position]
        slot.pid, slot.usedGpuMemory = process["pid"], process["memory"]
        slot.gpuInstanceId = slot.computeInstanceId = _NO_INSTANCE
    return SUCCESS


def _inforom_valid(card: dict[str, Any]) -> int:
    return SUCCESS if at(card, "inforom_valid") else CORRUPTED_INFOROM


def _field_value(card: dict[str, Any], field: int, scope: int) -> Any:
    explicit = card.get("fields", {}).get(str(field))
    if explicit is not None:
        return explicit
    if field in _TOTAL_FIELDS:
        return _ecc_total(card, *_TOTAL_FIELDS[field])
    if field in _RETIRED_FIELDS:
        return len(at(card, "retired." + _RETIRED_FIELDS[field]))
    if str(field) not in _TABLES["fields"]:
        raise NvmlError(NOT_SUPPORTED)
    return at(card, _TABLES["fields"][str(field)], (scope,))


def _field_values(card: dict[str, Any], _count: Any, argument: Any) -> int:
    """Each field has its own return code; the call as a whole succeeds, as in the real library."""
    for slot in target(argument):
        try:
            value = _field_value(card, slot.fieldId, slot.scopeId)
        except NvmlError as refusal:
            slot.nvmlReturn = refusal.code
            continue
        slot.nvmlReturn = SUCCESS
        if isinstance(value, float):
            slot.valueType, slot.value.dVal = _DOUBLE, value
        else:
            slot.valueType = _SIGNED if value < 0 else _UNSIGNED
            slot.value.sllVal = value
    return SUCCESS


CALLS: dict[str, Callable[..., int]] = {
    "nvmlDeviceGetInforomVersion": _text("inforom.{0}", 1),
    "nvmlDeviceGetPciInfo_v3": _pci,
    "nvmlDeviceGetTotalEccErrors": _total_ecc,
    "nvmlDeviceGetRetiredPages": _retired,
    "nvmlDeviceGetRetiredPages_v2": _retired,
    "nvmlDeviceGetTemperatureV": _temperature_struct,
    "nvmlDeviceGetViolationStatus": _violation,
    "nvmlDeviceGetMemoryInfo": _memory,
    "nvmlDeviceGetMemoryInfo_v2": _memory,
    "nvmlDeviceGetComputeRunningProcesses_v2": _processes,
    "nvmlDeviceGetComputeRunningProcesses_v3": _processes,
    "nvmlDeviceValidateInforom": _inforom_valid,
    "nvmlDeviceGetFieldValues": _field_values,
}
CALLS.update({name: _text(path) for name, path in _TABLES["texts"].items()})
CALLS.update({name: _numbers(row["selectors"], row["from"]) for name, row in _TABLES["numbers"].items()})
CALLS.update({name: _struct(row["from"], row["versions"]) for name, row in _TABLES["structs"].items()})
