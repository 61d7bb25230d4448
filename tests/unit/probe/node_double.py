"""What the probe's tests stand on: a simulated card and node, a root tree, and the probe as a process."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[3]
MODULE_UTILS = CHECKOUT / "plugins" / "module_utils"
SIMULATED = CHECKOUT / "lifecycle" / "sim" / "nvml.py"

A100: dict[str, Any] = {
    "uuid": "GPU-5a1e0001-0000-0000-0000-000000000001",
    "serial": "0322621001234",
    "name": "NVIDIA A100-SXM4-80GB",
    "board_part_number": "692-2G506-0212-002",
    "vbios": "92.00.36.00.02",
    "inforom_image": "G506.0212.00.02",
    "inforom": {"0": "2.0", "1": "6.16", "2": "1.0"},
    "gsp": "580.65.06",
    "pci": "0000:07:00.0",
    "module_id": 1,
    "minor": 0,
    "architecture": 7,
    "compute_capability": [8, 0],
    "persistence": 1,
    "ecc_mode": [1, 1],
    "mig_mode": [0, 0],
    "compute_mode": 0,
    "ecc": {"0": {"2": [1, 0], "7": [0, 0]}, "1": {"2": [5, 1], "7": [2, 0]}},
    "sram_status": {"bThresholdExceeded": 0},
    "remapped": [1, 2, 0, 0],
    "histogram": {"max": 639, "high": 0, "partial": 1, "low": 0, "none": 0},
    "retired": {"0": [], "1": [4096]},
    "retired_pending": 0,
    "temperature": {"0": 55},
    "memory_temperature": 61,
    "margin": {"marginTemperature": -3},
    "thresholds": {"0": 92, "1": 89, "2": 95, "3": 85},
    "power_mw": 61234,
    "enforced_limit_mw": 400000,
    "limit_mw": 400000,
    "default_limit_mw": 400000,
    "limit_range_mw": [100000, 400000],
    "clocks": {"1": 210, "2": 1593},
    "max_clocks": {"1": 1410, "2": 1593},
    "reasons": 0x41,
    "violations": {"0": 123456, "1": 7000},
    "fields": {"251": 5000, "252": 6000, "253": 7000},
    "pcie_gen": 1,
    "pcie_gen_max": 4,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "replays": 3,
    "nvlink": {"0": {"state": 1, "speed_mbps": 25781, "counters": [1, 2, 3, 4]}},
    "fabric": {
        "state": 3,
        "status": 0,
        "cliqueId": 4,
        "clusterUuid": list(range(16)),
        "healthMask": 2,
    },
    "memory": {"total": 85_899_345_920, "reserved": 500_000_000, "used": 9_000_000},
    "processes": [{"pid": 4242, "memory": 6_000_000}],
    "utilisation": {"gpu": 12, "memory": 3},
    "inforom_valid": True,
    "recovery": 2,
}


def a_card(position: int = 0, **changes: Any) -> dict[str, Any]:
    """An A100 as lifecycle/sim/nvml.py describes one; None as a change takes the key away."""
    card = copy.deepcopy(A100)
    card["uuid"] = f"GPU-5a1e000{position}-0000-0000-0000-000000000001"
    card["pci"] = f"0000:{7 + position:02x}:00.0"
    card.update(changes)
    return {key: value for key, value in card.items() if value is not None}


def a_node(*cards: dict[str, Any], **changes: Any) -> dict[str, Any]:
    node = {"driver": "580.65.06", "nvml": "13.580.65.06", "cuda": 13000, "cards": list(cards)}
    node.update(changes)
    return node


def a_root(where: Path, gpus: list[str] | None = None, **files: str) -> Path:
    """A root tree with what a sound node has; `files` adds or replaces, "__" standing for a slash."""
    written = {
        "proc/sys/kernel/hostname": "somebody\n",
        "proc/sys/kernel/osrelease": "6.1.0-26-amd64\n",
        "proc/sys/kernel/random/boot_id": "3f0c6a52-0000-4000-8000-000000000000\n",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz quiet iommu=pt\n",
        "proc/uptime": "1000.50 8000.00\n",
        "proc/1/comm": "systemd\n",
        "proc/self/cgroup": "0::/user.slice/user-0.slice/session-1.scope\n",
        "proc/77/comm": "nvidia-persiste\n",
        "proc/4242/comm": "python3\n",
        "proc/4242/cgroup": "0::/system.slice/slurmstepd.scope/job_991/step_0/user/task_0\n",
        "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
        "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        "sys/module/nvidia/version": "580.65.06\n",
        "sys/module/nvidia/refcnt": "17\n",
        "run/lock/muster-gpu.lock": "",
        "var/log/kern.log": "",
    }
    written.update({name.replace("__", "/"): text for name, text in files.items()})
    for name, text in written.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for address in gpus or []:
        device = where / "sys/bus/pci/devices" / address
        device.mkdir(parents=True)
        for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("device", "0x20b2")):
            (device / name).write_text(text + "\n")
        (device / "max_link_width").write_text("16\n")
        (device / "numa_node").write_text("-1\n")
        (device / "driver").symlink_to("../../../../bus/pci/drivers/nvidia")
    return where


def options_for(directory: Path, node: dict[str, Any] | None, **changes: Any) -> dict[str, Any]:
    """The probe's options for a simulated node with a sound root below `directory`."""
    chosen: dict[str, Any] = {"root": str(directory / "root"), "card_deadline_s": 30.0, "deadline_s": 60.0}
    if not (directory / "root").exists():
        a_root(directory / "root")
    if node is not None:
        data = directory / "node.json"
        data.write_text(json.dumps(node))
        chosen.update(nvml_library=str(SIMULATED), nvml_data=str(data))
    chosen.update(changes)
    return chosen


def run_probe(chosen: dict[str, Any], python: str = sys.executable, **environment: str) -> dict[str, Any]:
    """The probe as a process of its own, its answer as plain JSON."""
    done = subprocess.run(
        [python, "-m", "gpu_probe", "--plain"],
        input=json.dumps(chosen).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(MODULE_UTILS), **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def imported(name: str, path: Path) -> ModuleType:
    """The Python file at `path` as a module, for files that lie in no package of this checkout."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pynvml looks itself up there while it is loaded
    spec.loader.exec_module(module)
    return module


def reason(value: Any) -> str | None:
    """Why a reading is unread, or None where it has a value."""
    return value.get("unread") if isinstance(value, dict) else None
