"""The readings of one node beside its cards."""

from __future__ import annotations

from lifecycle.core.facts.reading import NOT_READ, Count, Flag, Group, Number, Text, Unread


class Driver(Group, frozen=True):
    """`module` is what the kernel runs, `userspace` what the library is; a difference needs a reboot."""

    module: Text = NOT_READ
    userspace: Text = NOT_READ
    nvml: Text = NOT_READ
    cuda: Text = NOT_READ


class PciGpu(Group, frozen=True):
    """A display or 3D controller of vendor 0x10de as sysfs lists it, driver or not.

    `link_width_max` and `link_speed_max` are what the slot and card could do; the width and generation
    in use follow the load and are read through NVML.
    """

    pci: str
    device: Text = NOT_READ
    driver: Text = NOT_READ
    link_width_max: Count = NOT_READ
    link_speed_max: Text = NOT_READ
    numa_node: Count = NOT_READ


class LogLine(Group, frozen=True):
    """One Xid or SXid line of the kernel log. `at` is the log's own time in seconds since 1970."""

    text: str
    at: Number = NOT_READ


class Service(Group, frozen=True):
    """A service beside the driver: `active` as systemd or the process table says."""

    name: str
    version: Text = NOT_READ
    active: Flag = NOT_READ


class Package(Group, frozen=True):
    name: str
    version: str
    held: Flag = NOT_READ


class Cpu(Group, frozen=True):
    governor: Text = NOT_READ
    scaling_driver: Text = NOT_READ
    idle_driver: Text = NOT_READ
    idle_states: list[str] | Unread = NOT_READ


class Host(Group, frozen=True):
    """Facts about the node. `claimed_hostname` is what the node calls itself; it identifies nothing.

    `module_refcount_before`: users of the nvidia module before NVML was opened; at zero, opening it
    initialised the GPUs and closing it let their volatile state go. `nvml_detail`: why NVML did not
    open, or that it was opened without the node's lock. `confined`: whether the reader sat in a job's
    cgroup, which may hide GPUs from it; what it did not see may then be there. `log_detail`: how the log
    falls short of the time that was asked for; empty where it covers it.
    """

    claimed_hostname: Text = NOT_READ
    boot_id: Text = NOT_READ
    machine_id: Text = NOT_READ
    kernel: Text = NOT_READ
    os: Text = NOT_READ
    python: Text = NOT_READ
    cmdline: Text = NOT_READ
    clock: Number = NOT_READ
    uptime_s: Number = NOT_READ
    nvml_cards: Count = NOT_READ
    nvml_state: str = "not_read"
    nvml_detail: str = ""
    nvml_held_ms: Count = NOT_READ
    module_refcount_before: Count = NOT_READ
    confined: Flag = NOT_READ
    driver: Driver = Driver()
    pci_gpus: list[PciGpu] | Unread = NOT_READ
    log: list[LogLine] | Unread = NOT_READ
    log_source: Text = NOT_READ
    log_detail: str = ""
    services: list[Service] | Unread = NOT_READ
    packages: list[Package] | Unread = NOT_READ
    cpu: Cpu = Cpu()


HOST_LIVE_KEYS = (
    "clock",
    "uptime_s",
    "nvml_held_ms",
    "nvml_detail",
    "module_refcount_before",
    "confined",
    "log",
    "log_detail",
)
