"""Facts about the node itself, from a root tree of plain files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from gpu_probe import devices, host, software
from node_double import a_node, a_root, options_for, reason, run_probe

from lifecycle.core.facts import Host


def emitted(work: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    work(facts.update)
    return facts


def test_every_fact_of_the_host_is_answered_or_unread_with_a_reason(tmp_path: Path) -> None:
    answer = run_probe(options_for(tmp_path, a_node()))["host"]
    fields = {field.name for field in msgspec.structs.fields(Host)}
    assert set(answer) == fields
    assert not [name for name, value in answer.items() if reason(value) == "not_read"]


def test_the_small_files_become_facts(tmp_path: Path) -> None:
    facts = emitted(host.worker(str(a_root(tmp_path)), 1_700_000_000))
    assert facts["claimed_hostname"] == "somebody"
    assert facts["boot_id"] == "3f0c6a52-0000-4000-8000-000000000000"
    assert facts["cmdline"] == "BOOT_IMAGE=/vmlinuz quiet iommu=pt"
    assert facts["os"] == "Debian GNU/Linux 12 (bookworm)"
    assert (facts["clock"], facts["uptime_s"]) == (1_700_000_000.0, 1000.5)


def test_a_name_with_terminal_escapes_arrives_without_them(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"proc/sys/kernel/hostname": "\x1b[31mevil\x07\n"})
    assert emitted(host.worker(str(root), None))["claimed_hostname"] == "[31mevil"


def test_the_module_version_is_found_in_proc_where_sysfs_has_none(tmp_path: Path) -> None:
    line = (
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build\nGCC version: 12\n"
    )
    root = a_root(tmp_path, **{"proc/driver/nvidia/version": line})
    (root / "sys/module/nvidia/version").unlink()
    assert host.module_version(str(root)) == "550.90.07"


def test_frequency_scaling_and_idle_states_are_read_and_their_absence_is_said(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu/"
    root = a_root(
        tmp_path,
        **{
            cpu + "cpu0/cpufreq/scaling_governor": "performance\n",
            cpu + "cpu1/cpufreq/scaling_governor": "powersave\n",
            cpu + "cpu0/cpufreq/scaling_driver": "intel_pstate\n",
            cpu + "cpuidle/current_driver": "intel_idle\n",
            cpu + "cpu0/cpuidle/state0/name": "POLL\n",
            cpu + "cpu0/cpuidle/state1/name": "C6\n",
            cpu + "cpu0/cpuidle/state1/disable": "1\n",
        },
    )
    facts = emitted(host.worker(str(root), None))
    assert facts["cpu.governor"] == "performance,powersave"
    assert facts["cpu.idle_states"] == ["POLL", "C6 (disabled)"]
    bare = emitted(host.worker(str(a_root(tmp_path / "bare")), None))
    assert reason(bare["cpu.governor"]) == reason(bare["cpu.idle_states"]) == "not_supported"


def test_only_nvidias_display_and_3d_controllers_are_gpus(tmp_path: Path) -> None:
    root = a_root(tmp_path, gpus=["0000:07:00.0", "0000:08:00.0", "0000:09:00.0"])
    (root / "sys/bus/pci/devices/0000:08:00.0/class").write_text("0x068000\n")  # an NVSwitch
    (root / "sys/bus/pci/devices/0000:09:00.0/vendor").write_text("0x1002\n")
    assert [gpu["pci"] for gpu in devices.pci_gpus(str(root))] == ["0000:07:00.0"]


def test_packages_of_the_set_are_listed_with_their_holds(tmp_path: Path) -> None:
    status = (
        "Package: bash\nStatus: install ok installed\nVersion: 5.2\n\n"
        "Package: nvidia-driver\nStatus: hold ok installed\nVersion: 535.261.03-1\nDescription: a\n b: c\n\n"
        "Package: libnccl2\nStatus: install ok installed\nVersion: 2.20.5-1+cuda12.4\n\n"
        "Package: cuda-toolkit-12-4\nStatus: deinstall ok config-files\nVersion: 12.4.1\n"
    )
    root = a_root(tmp_path, **{"var/lib/dpkg/status": status})
    assert software.installed(str(root)) == [
        {"name": "nvidia-driver", "version": "535.261.03-1", "held": True},
        {"name": "libnccl2", "version": "2.20.5-1+cuda12.4", "held": False},
    ]


def test_a_node_without_a_package_database_is_not_a_node_without_packages(tmp_path: Path) -> None:
    assert reason(software.installed(str(a_root(tmp_path)))) == "no_data"


def test_services_are_active_as_the_process_table_says_with_the_version_of_their_package(
    tmp_path: Path,
) -> None:
    packages = [{"name": "datacenter-gpu-manager", "version": "1:3.3.7", "held": False}]
    found = {entry["name"]: entry for entry in software.services(str(a_root(tmp_path)), packages)}
    assert found["nvidia-persistenced"]["active"] is True
    assert found["nvidia-dcgm"] == {"name": "nvidia-dcgm", "version": "1:3.3.7", "active": False}
    assert reason(found["nvidia-fabricmanager"]["version"]) == "no_data"


def test_the_machine_that_runs_this_test_is_read_for_real(tmp_path: Path) -> None:
    """No simulated files: whatever journal, packages and services this machine has, or lacks."""
    chosen = {"lock_path": str(tmp_path / "lock"), "nvml_library": str(tmp_path / "none.so")}
    raw = run_probe(chosen)["host"]
    here = msgspec.convert(raw, Host)
    assert here.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert here.cmdline == Path("/proc/cmdline").read_text().strip()
    assert isinstance(here.uptime_s, float)
    assert isinstance(here.services, list)
    assert (reason(raw["log"]) is None) == (reason(raw["log_source"]) is None)
