"""The NVML double: a small libnvidia-ml.so.1 built with gcc, for tests of the real CDLL road.

    library = build(directory)                    # once; copy the file to every test node
    write_data(path, [card("GPU-…", serial="1650…", temperature=41)], driver="580.105.08")

At run time the library reads the file that the environment variable MUSTER_DOUBLE_DATA names, or else
/etc/muster-double.conf, so that each test node has its own cards. The file is read when NVML is opened.

Node keys: driver, nvml, cuda (12040 is 12.4), init (an NVML error code, or "hang").

Card keys (one that is absent answers NOT_SUPPORTED):
uuid serial name board_part_number vbios inforom_image pci pci_device_id pci_subsystem_id minor module_id
architecture cc_major cc_minor persistence compute_mode ecc_current ecc_pending mig_current mig_pending
ecc_{volatile,aggregate}_{dram,sram}_{corrected,uncorrected} remap_{correctable,uncorrectable,pending,failure}
banks_{max,high,partial,low,none} retired_pending temperature shutdown slowdown memory_max gpu_max power_mw
limit_mw enforced_limit_mw default_limit_mw limit_min_mw limit_max_mw clock_{graphics,sm,memory}
clock_{graphics,sm,memory}_max reasons pcie_gen pcie_gen_max pcie_width pcie_width_max replays
memory_{total,reserved,used} process_pid process_memory util_gpu util_memory inforom_valid field_<number>

Faults of a card: lost (any value), hang and crash (the name of the C function that does so).
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

SOURCE = Path(__file__).with_name("double.c")
DATA_VARIABLE = "MUSTER_DOUBLE_DATA"
DATA_PATH = "/etc/muster-double.conf"
NAME = "libnvidia-ml.so.1"
_GCC = ("gcc", "-shared", "-fPIC", "-O1", "-std=gnu11", "-Wall", "-Wextra", f"-Wl,-soname,{NAME}")

# An A100 as `nvidia-smi -q` shows one; see lifecycle/sim/models.json for the captures behind the numbers.
HEALTHY: Mapping[str, str | int] = {
    "name": "NVIDIA A100-SXM4-80GB",
    "board_part_number": "692-2G506-0212-002",
    "vbios": "92.00.36.00.02",
    "inforom_image": "G506.0212.00.01",
    "inforom_valid": 1,
    "pci_device_id": 0x20B210DE,
    "architecture": 7,
    "cc_major": 8,
    "cc_minor": 0,
    "persistence": 1,
    "compute_mode": 0,
    "ecc_current": 1,
    "ecc_pending": 1,
    "mig_current": 0,
    "mig_pending": 0,
    **{
        f"ecc_{counter}_{place}_{kind}": 0
        for counter in ("volatile", "aggregate")
        for place in ("dram", "sram")
        for kind in ("corrected", "uncorrected")
    },
    "remap_correctable": 0,
    "remap_uncorrectable": 0,
    "remap_pending": 0,
    "remap_failure": 0,
    "banks_max": 640,
    "banks_high": 0,
    "banks_partial": 0,
    "banks_low": 0,
    "banks_none": 0,
    "temperature": 34,
    "shutdown": 92,
    "slowdown": 89,
    "memory_max": 95,
    "gpu_max": 85,
    "power_mw": 67030,
    "limit_mw": 500000,
    "enforced_limit_mw": 500000,
    "default_limit_mw": 500000,
    "limit_min_mw": 100000,
    "limit_max_mw": 500000,
    "clock_sm": 1275,
    "clock_memory": 1593,
    "clock_sm_max": 1410,
    "clock_memory_max": 1593,
    "reasons": 1,
    "pcie_gen": 4,
    "pcie_gen_max": 4,
    "pcie_width": 16,
    "pcie_width_max": 16,
    "replays": 0,
    "memory_total": 85899345920,
    "memory_reserved": 911212544,
    "memory_used": 0,
    "util_gpu": 0,
    "util_memory": 0,
    "field_230": 0,  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: none
}


def build(target_dir: Path) -> Path:
    """Compile the double into target_dir/libnvidia-ml.so.1. It needs nothing but libc where it runs."""
    target = target_dir / NAME
    target_dir.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [*_GCC, "-o", str(target), str(SOURCE)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"gcc could not build the NVML double:\n{done.stderr}")
    return target


def card(uuid: str, **values: str | int | None) -> dict[str, str | int]:
    """A healthy A100 with this UUID; `values` replace or add keys, None takes one away."""
    merged = {**HEALTHY, "uuid": uuid, **values}
    return {key: value for key, value in merged.items() if value is not None}


def write_data(path: Path, cards: Iterable[Mapping[str, str | int]], **node: str | int) -> Path:
    """Write the data file for a node with these cards; `node` gives node keys, with a driver by default."""
    node = {"driver": "570.148.08", "nvml": "12.570.148.08", "cuda": 12080, **node}
    lines = [f"{key}={value}" for key, value in node.items()]
    for entry in cards:
        lines += ["", "[card]", *(f"{key}={value}" for key, value in entry.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
