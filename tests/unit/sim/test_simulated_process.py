"""The simulated NVML library loaded by its path in a process of its own, as the probe loads it on a node."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lifecycle.sim import nvml

PATIENCE_S = 1  # a call that answers does so within milliseconds of the line before it


def node_of(*cards: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"driver": "580.105.08", "nvml": "13.580.105.08", "cuda": 13000, "cards": list(cards), **keys}


# Loads the file by its path alone, as the probe does on a node, and asks card 0 for its temperature.
PROGRAM = """
import importlib.util, pynvml, sys
spec = importlib.util.spec_from_file_location("simulated", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
pynvml.nvmlLib = module.library(sys.argv[2])
print("opening", flush=True)
pynvml.nvmlInit()
print("asking", flush=True)
print(pynvml.nvmlDeviceGetTemperature(pynvml.nvmlDeviceGetHandleByIndex(0), 0), flush=True)
"""


def start(tmp_path: Path, node: dict[str, Any]) -> subprocess.Popen[str]:
    data = tmp_path / "node.json"
    data.write_text(json.dumps(node), encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, nvml.__file__, str(data)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path, text=True
    )


def test_the_library_works_away_from_its_package(tmp_path: Path) -> None:
    with start(tmp_path, node_of({"temperature": {"0": 41}})) as process:
        printed, _ = process.communicate()
    assert (process.returncode, printed.split()) == (0, ["opening", "asking", "41"])


def test_a_crashing_call_ends_the_process_by_a_signal(tmp_path: Path) -> None:
    node = node_of({"temperature": {"0": 41}, "faults": {"crash": "nvmlDeviceGetTemperature"}})
    with start(tmp_path, node) as process:
        printed, _ = process.communicate()
    assert (process.returncode, printed.split()) == (-signal.SIGSEGV, ["opening", "asking"])


@pytest.mark.parametrize(
    ("node", "reached"),
    [
        (node_of({"faults": {"hang": ["nvmlDeviceGetTemperature"]}}), ["opening", "asking"]),
        (node_of(init="hang"), ["opening"]),
    ],
)
def test_a_hanging_call_does_not_return(tmp_path: Path, node: dict[str, Any], reached: list[str]) -> None:
    with start(tmp_path, node) as process:
        assert process.stdout is not None
        assert [process.stdout.readline().strip() for _ in reached] == reached
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=PATIENCE_S)
        process.kill()
        printed, _ = process.communicate()
    assert printed == ""
