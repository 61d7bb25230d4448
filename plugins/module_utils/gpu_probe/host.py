"""Facts about the node itself, from small files below the root."""

import os
import sys
import time

from . import confinement
from .devices import pci_gpus
from .files import exists, names, os_reason, read_raw, read_text
from .values import is_unread, text, unread

_FILES = (
    ("claimed_hostname", "/proc/sys/kernel/hostname"),
    ("boot_id", "/proc/sys/kernel/random/boot_id"),
    ("machine_id", "/etc/machine-id"),
    ("kernel", "/proc/sys/kernel/osrelease"),
    ("cmdline", "/proc/cmdline"),
)
_CPUS_MAX = 8192  # NR_CPUS_MAXSMP of the largest distribution kernels
PATHS = (
    *(name for name, _ in _FILES),
    "os",
    "python",
    "clock",
    "uptime_s",
    "confined",
    "pci_gpus",
    "cpu.governor",
    "cpu.scaling_driver",
    "cpu.idle_driver",
    "cpu.idle_states",
)


def worker(root, now):
    """The work of the child that reads the node; sysfs of a dead device can hang, so it comes last."""

    def work(emit):
        emit({name: read_text(root, path) for name, path in _FILES})
        emit(
            {
                "os": _os_name(root),
                "python": sys.version.split()[0],
                "clock": float(time.time() if now is None else now),
                "uptime_s": uptime(root),
                "confined": confinement.read(root),
            }
        )
        emit(_cpu(root))
        emit({"pci_gpus": pci_gpus(root)})

    return work


def uptime(root):
    """Seconds since boot, or unread."""
    try:
        return float(read_raw(root, "/proc/uptime").split()[0])
    except OSError as error:
        return os_reason(error, "/proc/uptime")
    except (ValueError, IndexError):
        return unread("unparseable", "/proc/uptime")


def module_version(root):
    """The version of the nvidia module that the kernel runs, or unread."""
    version = read_text(root, "/sys/module/nvidia/version")
    if not is_unread(version):
        return version
    try:
        words = read_raw(root, "/proc/driver/nvidia/version").split("\n")[0].split()
    except OSError:
        return unread("driver_not_loaded", "no /sys/module/nvidia/version")
    numbers = [word for word in words if word.count(".") >= 1 and word.replace(".", "").isdigit()]
    return numbers[0] if numbers else unread("unparseable", "/proc/driver/nvidia/version")


def module_references(root):
    """How many users the nvidia module has, or unread."""
    answer = read_text(root, "/sys/module/nvidia/refcnt")
    if is_unread(answer):
        return unread("driver_not_loaded", "no /sys/module/nvidia/refcnt")
    return int(answer) if answer.isdigit() else unread("unparseable", answer[:40])


def _os_name(root):
    try:
        lines = read_raw(root, "/etc/os-release").splitlines()
    except OSError as error:
        return os_reason(error, "/etc/os-release")
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    return text(fields.get("PRETTY_NAME", fields.get("NAME", "")).strip("\"'"))


def _cpu(root):
    base = "/sys/devices/system/cpu"
    cpus = [name for name in names(root, base) if name[3:].isdigit() and name.startswith("cpu")][:_CPUS_MAX]
    return {
        "cpu.governor": _same(root, base, cpus, "scaling_governor"),
        "cpu.scaling_driver": _same(root, base, cpus[:1], "scaling_driver"),
        "cpu.idle_driver": read_text(root, base + "/cpuidle/current_driver"),
        "cpu.idle_states": _idle_states(root, base + "/cpu0/cpuidle"),
    }


def _same(root, base, cpus, name):
    """The one value that all CPUs have; several, comma-separated, where they differ."""
    seen = set()
    for cpu in cpus:
        value = read_text(root, "%s/%s/cpufreq/%s" % (base, cpu, name))
        if not is_unread(value):
            seen.add(value)
    if seen:
        return ",".join(sorted(seen))
    return unread("not_supported", "no cpufreq: a virtual machine, or frequency scaling is off")


def _idle_states(root, base):
    """Names of the idle states of CPU 0; those switched off are marked."""
    if not exists(root, base):
        return unread("not_supported", "no " + base)
    states = []
    for name in names(root, base):
        state = read_text(root, os.path.join(base, name, "name"))
        if is_unread(state):
            continue
        off = read_text(root, os.path.join(base, name, "disable")) == "1"
        states.append(state + " (disabled)" if off else state)
    return states
