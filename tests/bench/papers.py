"""Full-size facts documents as a sweep of 8-card servers leaves them, one month after another."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Any

START = datetime.datetime(2026, 1, 1, 2, 0, tzinfo=datetime.UTC)
MONTH = datetime.timedelta(days=30)
LINKS = 18  # NVLinks of an H100
PACKAGES = 60  # packages of the NVIDIA set on a node with CUDA and DCGM


def at(month: int, node: int = 0) -> datetime.datetime:
    """When a node was read in a month; the nodes of one sweep follow each other by milliseconds."""
    return START + month * MONTH + datetime.timedelta(milliseconds=37 * node)


def stamp(month: int, node: int = 0) -> bytes:
    """The same as ISO 8601 text."""
    return at(month, node).isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()


def uuid(node: int, card: int) -> str:
    return f"GPU-{node:08x}-{card:04x}-4000-8000-{node * 31 + card:012x}"


def document(node: int, month: int, *, cards: int = 8, counting: bool = True, links: int = LINKS) -> bytes:
    """The document of one node in one month. counting: whether every card's counters move each month."""
    errors = month if counting else 0
    return json.dumps(
        {
            "schema": "facts/1",
            "node": f"gpu-{node:05d}",
            "observed_at": stamp(month, node).decode(),
            "reach": "ok",
            "simulated": True,
            "reader": {"name": "probe", "version": "0.1.0", "tier": "passive"},
            "host": host(node, month),
            "cards": [card(node, number, month, errors, links) for number in range(cards)],
        },
        separators=(",", ":"),
    ).encode()


def host(node: int, month: int) -> dict[str, Any]:
    return {
        "claimed_hostname": f"gpu-{node:05d}",
        "boot_id": f"{node:08x}-0000-4000-8000-00000000000a",
        "machine_id": f"{node:032x}",
        "kernel": "5.15.0-119-generic",
        "os": "Ubuntu 22.04.4 LTS",
        "python": "3.10.12",
        "cmdline": "BOOT_IMAGE=/vmlinuz-5.15.0-119-generic root=/dev/mapper/vg-root ro iommu=pt quiet",
        "clock": at(month, node).timestamp(),
        "uptime_s": 86400.0 * 30 * month + 3600,
        "nvml_cards": 8,
        "nvml_state": "ok",
        "nvml_held_ms": 812,
        "driver": {"module": "550.90.07", "userspace": "550.90.07", "nvml": "550.90.07", "cuda": "12.4",
                   },
        "module_refcount_before": 4,
        "pci_gpus": [{"pci": f"0000:{16 * n + 7:02x}:00.0", "device": "0x2330", "driver": "nvidia",
                      "link_width_max": 16, "link_speed_max": "32.0 GT/s PCIe", "numa_node": n // 4}
                     for n in range(8)],
        "log": [{"text": "NVRM: Xid (PCI:0000:07:00): 13, pid=4711, name=python3, Graphics Exception",
                 "at": at(month, node).timestamp() - 60}],
        "log_source": "journal",
        "services": [{"name": name, "version": "550.90.07", "active": True}
                     for name in ("nvidia-persistenced", "nvidia-fabricmanager", "nvidia-dcgm")],
        "packages": [{"name": f"libnvidia-part-{n:02d}-550", "version": "550.90.07-0ubuntu1", "held": True}
                     for n in range(PACKAGES)],
        "cpu": {"governor": "performance", "scaling_driver": "acpi-cpufreq", "idle_driver": "acpi_idle",
                "idle_states": ["POLL", "C1", "C2"]},
    }  # fmt: skip


def card(node: int, number: int, month: int, errors: int, links: int) -> dict[str, Any]:
    counts = {"dram_corrected": errors, "dram_uncorrected": 0, "sram_corrected": 0, "sram_uncorrected": 0,
              "total_corrected": errors, "total_uncorrected": 0}  # fmt: skip
    return {
        "identity": {"uuid": uuid(node, number), "serial": f"165{node:07d}{number:02d}",
                     "name": "NVIDIA H100 80GB HBM3", "board_part_number": "692-2G520-0200-000",
                     "architecture": "Hopper", "compute_capability": "9.0", "module_id": number + 1,
                     "minor": number, "index": number},
        "seat": {"pci": f"0000:{16 * number + 7:02x}:00.0"},
        "firmware": {"vbios": "96.00.89.00.01", "inforom_image": "G520.0200.00.05", "inforom_oem": "2.1",
                     "inforom_ecc": "7.16", "inforom_power": {"unread": "not_supported"}, "gsp": "550.90.07"},
        "modes": {"persistence": True, "ecc_current": True, "ecc_pending": True, "mig_current": False,
                  "mig_pending": False, "compute": "default"},
        "limits": {"temperature_slowdown_c": 87.0, "temperature_shutdown_c": 92.0,
                   "temperature_gpu_max_c": 85.0, "temperature_memory_max_c": 95.0, "power_limit_w": 700.0,
                   "power_default_w": 700.0, "power_min_w": 200.0, "power_max_w": 700.0,
                   "clock_sm_max_mhz": 1980, "clock_memory_max_mhz": 2619, "pcie_gen_max": 5,
                   "pcie_width_max": 16, "memory_total_bytes": 85520809984},
        "ecc": {"volatile": counts, "aggregate": counts, "sram_threshold_exceeded": False},
        "remap": {"correctable": 0, "uncorrectable": 0, "pending": False, "failure": False, "banks_max": 2560,
                  "banks_high": 0, "banks_partial": 0, "banks_low": 0, "banks_none": 0},
        "retired_pages": {key: {"unread": "not_supported"}
                          for key in ("single_bit", "double_bit", "pending")},
        "health": {"recovery": "none", "inforom_valid": True},
        "temperature": {"gpu_c": 40.0 + number + month % 3, "memory_c": 45.0, "margin_c": 42.0},
        "power": {"draw_w": 118.2 + number, "enforced_limit_w": 700.0},
        "clocks": {"sm_mhz": 345, "memory_mhz": 2619, "reasons": ["gpu_idle"], "reasons_raw": 1,
                   "power_violation_us": 0, "thermal_violation_us": 0, "sw_thermal_us": 0, "hw_thermal_us": 0,
                   "hw_power_brake_us": 0, "sw_power_cap_us": 12},
        "pcie": {"gen": 5, "width": 16, "replays": 0},
        "nvlink": [{"link": link, "active": True, "speed_mbps": 26562, "replays": 0, "recoveries": 0,
                    "crc_flit": 0, "crc_data": 0} for link in range(links)],
        "fabric": {"state": "completed", "status": "success", "clique": "0",
                   "cluster": "00000000-0000-0000-0000-000000000000", "health_mask": 0},
        "memory": {"used_bytes": 571146240, "free_bytes": 84949663744, "reserved_bytes": 571146240,
                   "unaccounted_bytes": 0},
        "processes": [],
        "utilisation": {"gpu_pct": 0, "memory_pct": 0},
        "read": {"outcome": "ok", "took_ms": 41, "detail": ""},
    }  # fmt: skip


def fleet(nodes: int, months: int, *, cards: int = 8, counting: bool = True) -> Iterator[tuple[str, bytes]]:
    """(origin, document) of every node, month after month."""
    for month in range(months):
        for node in range(nodes):
            yield f"gpu-{node:05d}/{month}", document(node, month, cards=cards, counting=counting)
