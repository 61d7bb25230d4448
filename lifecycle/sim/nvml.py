"""A Python object in the place of libnvidia-ml, below the real pynvml.

pynvml looks a C function up by name on `pynvml.nvmlLib` and calls it with ctypes arguments, so any object
with attributes of these names can answer. `library(path)` builds one from a JSON description of a node.
This file is executed by its path on a node, away from its package: it needs Python 3.8 or later, the
standard library, and the two files beside it (nvml_answers.py, nvml_calls.json).

The description
---------------
Node: `driver`, `nvml` (text), `cuda` (NVML's number: 12040 is 12.4), `cards` (a list), and optionally
`init` ("hang", or the NVML error code that opening answers) and `missing_functions` (C names that this
library does not have, as in an older driver).

Card: the keys that nvml_calls.json names, and `pci`, `pci_device_id`, `pci_subsystem_id`, `inforom`,
`retired` (page addresses by cause), `violations` (ns by policy), `memory` (total, reserved, used),
`processes` (pid, memory), `inforom_valid`. Inner keys are NVML's own enumeration numbers: "ecc":
{"1": {"2": [5, 0]}} is aggregate, DRAM, five corrected and no uncorrected error. Units are NVML's:
milliwatts, MHz, degrees Celsius, bytes, nanoseconds. A key that is absent or null answers NOT_SUPPORTED.
`fields` holds values by field number and wins over what the table derives from other keys.

Card faults (`faults`): {"lost": true}: every call on it answers GPU_IS_LOST, only the count still has it.
{"hang": ["nvml…"]}: those calls never return. {"crash": ["nvml…"]}: they end the process by SIGSEGV.
{"error": {"nvml…": code}}: that call answers the code. A lone name stands for a list of one.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

_HANG_S = 3600  # one turn of a sleep without end


def _answers() -> Any:
    """The module beside this file, whether or not the package around it can be imported."""
    place = Path(__file__).with_name("nvml_answers.py")
    spec = importlib.util.spec_from_file_location("muster_nvml_answers", str(place))
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} is missing beside {__file__}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


nvml = _answers()


def _hang() -> NoReturn:
    while True:
        time.sleep(_HANG_S)


def _crash() -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)


def _named(fault: Any) -> tuple[str, ...]:
    return (fault,) if isinstance(fault, str) else tuple(fault)


def _apply_faults(name: str, faults: dict[str, Any]) -> None:
    if faults.get("lost"):
        raise nvml.NvmlError(nvml.GPU_IS_LOST)
    if name in _named(faults.get("hang", ())):
        _hang()
    if name in _named(faults.get("crash", ())):
        _crash()
    if name in faults.get("error", {}):
        raise nvml.NvmlError(int(faults["error"][name]))


class Library:
    """Answers as libnvidia-ml would for the described node; its attributes are the C functions."""

    def __init__(self, node: dict[str, Any]) -> None:
        self._node = node
        self._cards: list[dict[str, Any]] = [dict(card, index=i) for i, card in enumerate(node["cards"])]
        self._missing = frozenset(node.get("missing_functions", ()))
        self._clients = 0
        self._system: dict[str, Callable[..., int]] = {
            "nvmlShutdown": self._shutdown,
            "nvmlSystemGetDriverVersion": self._text("driver"),
            "nvmlSystemGetNVMLVersion": self._text("nvml"),
            "nvmlSystemGetCudaDriverVersion": self._cuda,
            "nvmlSystemGetCudaDriverVersion_v2": self._cuda,
            "nvmlDeviceGetCount_v2": self._count,
            "nvmlDeviceGetHandleByIndex_v2": self._by_index,
            "nvmlDeviceGetHandleByUUID": self._by_uuid,
            "nvmlDeviceGetHandleByPciBusId_v2": self._by_pci,
        }

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in self._missing:
            raise AttributeError(name)
        if name in ("nvmlInitWithFlags", "nvmlInit_v2"):
            return lambda *_: self._init()
        if name == "nvmlErrorString":
            return lambda code: b"simulated NVML error %d" % nvml.plain(code)
        if name in self._system:
            return lambda *args: self._guarded(self._system[name], args)
        if name in nvml.CALLS:
            return lambda *args: self._guarded(self._card_call, (name, *args))
        raise AttributeError(name)

    def _guarded(self, call: Callable[..., int], args: tuple[Any, ...]) -> int:
        if not self._clients:
            return int(nvml.UNINITIALIZED)
        try:
            return call(*args)
        except nvml.NvmlError as refusal:
            return int(refusal.code)

    def _init(self) -> int:
        trouble = self._node.get("init")
        if trouble == "hang":
            _hang()
        if trouble:
            return int(trouble)
        self._clients += 1
        return int(nvml.SUCCESS)

    def _shutdown(self) -> int:
        self._clients -= 1
        return int(nvml.SUCCESS)

    def _text(self, key: str) -> Callable[[Any, Any], int]:
        return lambda buffer, size: int(
            nvml.write_text(buffer, str(nvml.at(self._node, key)), nvml.plain(size))
        )

    def _cuda(self, output: Any) -> int:
        nvml.target(output).value = nvml.at(self._node, "cuda")
        return int(nvml.SUCCESS)

    def _count(self, output: Any) -> int:
        nvml.target(output).value = len(self._cards)
        return int(nvml.SUCCESS)

    def _by_index(self, index: Any, output: Any) -> int:
        if nvml.plain(index) >= len(self._cards):
            return int(nvml.INVALID_ARGUMENT)
        return self._hand_out(nvml.plain(index), "nvmlDeviceGetHandleByIndex_v2", output)

    def _by_uuid(self, wanted: Any, output: Any) -> int:
        text = (wanted.value or b"").decode("utf-8", "replace")
        for index, card in enumerate(self._cards):
            if card.get("uuid") == text:
                return self._hand_out(index, "nvmlDeviceGetHandleByUUID", output)
        return int(nvml.NOT_FOUND)

    def _by_pci(self, wanted: Any, output: Any) -> int:
        """Takes 0000:07:00.0 and the long form 00000000:07:00.0, in either case, as NVML does."""
        text = (wanted.value or b"").decode("utf-8", "replace").lower()
        for index, card in enumerate(self._cards):
            if str(card.get("pci")).lower() in (text, text[4:]):
                return self._hand_out(index, "nvmlDeviceGetHandleByPciBusId_v2", output)
        return int(nvml.NOT_FOUND)

    def _hand_out(self, index: int, name: str, output: Any) -> int:
        """A handle is a pointer whose address is the card's position plus one: never null, never read."""
        _apply_faults(name, self._cards[index].get("faults", {}))
        slot = ctypes.cast(ctypes.byref(nvml.target(output)), ctypes.POINTER(ctypes.c_void_p))
        slot[0] = index + 1
        return int(nvml.SUCCESS)

    def _card_call(self, name: str, handle: Any, *args: Any) -> int:
        position = ctypes.cast(handle, ctypes.c_void_p).value
        if not position or position > len(self._cards):
            return int(nvml.INVALID_ARGUMENT)
        card = self._cards[position - 1]
        _apply_faults(name, card.get("faults", {}))
        return int(nvml.CALLS[name](card, *args))


def library(data_path: str) -> Library:
    """The simulated library for the node described in the JSON file at data_path."""
    return Library(json.loads(Path(data_path).read_text(encoding="utf-8")))
