"""The files of a simulated node that the probe reads below its root: /proc, /sys, /etc, logs, packages.

Pure: paths relative to the root, with their content. A `Link` is a symbolic link, as sysfs has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from lifecycle.sim.cards import HOUR_S, MONTH_S, Life, Moment, driver_of, pid_of, slots_of, userspace_of
from lifecycle.sim.plan import models

_KERNEL = "5.15.0-126-generic"
_CPUS = 4
_IDLE_STATES = ("POLL", "C1", "C1E", "C6")
_LINK_SPEEDS = {3: "8.0 GT/s PCIe", 4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe"}
_CUDA_TOOLKIT = "12.4.1-1"
_DCGM = "1:4.2.3-2"
_FIRST_UID = 2000


@dataclass(frozen=True)
class Link:
    """The target of a symbolic link."""

    target: str


Files = dict[str, str | Link]


def root_at(life: Life, node: str, moment: Moment) -> Files:
    """Every file of the node's root at a moment."""
    files: Files = {}
    files.update(_system(life, node, moment))
    files.update(_driver(life, node, moment))
    files.update(_processors())
    files.update(_processes(life, node, moment))
    for slot in slots_of(life, node, moment):
        files.update(_pci(life, node, slot))
    files["var/lib/dpkg/status"] = _packages(life, node, moment)
    files["var/log/kern.log"] = _log(life, node, moment)
    files["run/lock/muster-gpu.lock"] = ""
    return files


def _system(life: Life, node: str, moment: Moment) -> Files:
    uptime = life.uptime(node, moment)
    boot = life.draws.uuid("boot", node, life.boot_age(node, moment.age))
    return {
        "etc/hostname": node + "\n",
        "etc/machine-id": life.draws.hexadecimal("machine", node)[:32] + "\n",
        "etc/os-release": 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\n',
        "proc/cmdline": f"BOOT_IMAGE=/vmlinuz-{_KERNEL} root=/dev/md0 ro quiet iommu=pt\n",
        "proc/version": f"Linux version {_KERNEL} (simulated) #136-Ubuntu SMP\n",
        "proc/uptime": f"{uptime}.00 {uptime * _CPUS}.00\n",
        "proc/self/cgroup": "0::/user.slice/user-0.slice/session-1.scope\n",
        "proc/sys/kernel/hostname": node + "\n",
        "proc/sys/kernel/osrelease": _KERNEL + "\n",
        "proc/sys/kernel/random/boot_id": boot + "\n",
    }


def _driver(life: Life, node: str, moment: Moment) -> Files:
    version = driver_of(life.plan.nodes[node], moment.age)
    library = f"libnvidia-ml.so.{userspace_of(life.plan.nodes[node], moment)}"
    clients = 3 if life.plan.nodes[node].persistence else 0
    return {
        f"usr/lib/x86_64-linux-gnu/{library}": "",
        "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": Link(library),
        "sys/module/nvidia/version": version + "\n",
        "sys/module/nvidia/refcnt": f"{clients}\n",
        "proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}"
        "  Release Build  (dvs-builder@U16-I1)\nGCC version:  gcc version 11.4.0\n",
    }


def _processors() -> Files:
    base = "sys/devices/system/cpu"
    files: Files = {
        f"{base}/cpuidle/current_driver": "intel_idle\n",
        f"{base}/online": f"0-{_CPUS - 1}\n",
    }
    for cpu in range(_CPUS):
        files[f"{base}/cpu{cpu}/cpufreq/scaling_governor"] = "performance\n"
        files[f"{base}/cpu{cpu}/cpufreq/scaling_driver"] = "intel_pstate\n"
        for number, name in enumerate(_IDLE_STATES):
            files[f"{base}/cpu{cpu}/cpuidle/state{number}/name"] = name + "\n"
            files[f"{base}/cpu{cpu}/cpuidle/state{number}/disable"] = "0\n"
    return files


def _pci(life: Life, node: str, slot: int) -> Files:
    plan = life.plan.nodes[node]
    model = models()["models"][plan.model]
    card, base = model["card"], f"sys/bus/pci/devices/{model['pci'][slot]}"
    return {
        f"{base}/class": "0x030200\n",
        f"{base}/vendor": "0x10de\n",
        f"{base}/device": f"0x{card['pci_device_id'] >> 16:04x}\n",
        f"{base}/driver": Link("../../../../bus/pci/drivers/nvidia"),
        f"{base}/max_link_speed": _LINK_SPEEDS[card["pcie_gen"]] + "\n",
        f"{base}/max_link_width": f"{card['pcie_width']}\n",
        f"{base}/numa_node": f"{int(slot >= plan.cards // 2)}\n",
    }


def _process(name: str, uid: int, cgroup: str) -> Files:
    return {
        "comm": name + "\n",
        "status": f"Name:\t{name}\nState:\tS (sleeping)\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n",
        "cgroup": f"0::{cgroup}\n",
    }


def _processes(life: Life, node: str, moment: Moment) -> Files:
    """The daemons beside the driver, and a Slurm job's processes where the node is busy."""
    plan = life.plan.nodes[node]
    running = {811: _process("nvidia-persiste", 114, "/system.slice/nvidia-persistenced.service")}
    running[1207] = _process("nv-hostengine", 0, "/system.slice/nvidia-dcgm.service")
    if models()["models"][plan.model]["links"]:
        running[1190] = _process("nv-fabricmanage", 0, "/system.slice/nvidia-fabricmanager.service")
    if life.busy(node, moment):
        job = life.draws.between(40_000, 99_000, "job", node, moment.age)
        uid = _FIRST_UID + life.draws.between(1, 40, "user", node, moment.age)
        for slot in slots_of(life, node, moment):
            group = f"/system.slice/slurmstepd.scope/job_{job}/step_0/user/task_{slot}"
            running[pid_of(life, node, slot, moment)] = _process("python3", uid, group)
    return {
        f"proc/{pid}/{name}": text for pid, files in sorted(running.items()) for name, text in files.items()
    }


def _packages(life: Life, node: str, moment: Moment) -> str:
    plan = life.plan.nodes[node]
    driver = userspace_of(plan, moment)
    branch, built = driver.split(".")[0], driver + "-0ubuntu1"
    held = {
        f"nvidia-dkms-{branch}-open": built,
        f"nvidia-driver-{branch}-open": built,
        f"libnvidia-compute-{branch}": built,
        f"nvidia-compute-utils-{branch}": built,
        f"nvidia-utils-{branch}": built,
    }
    if models()["models"][plan.model]["links"]:
        held[f"nvidia-fabricmanager-{branch}"] = driver + "-1"
    free = {
        "cuda-toolkit-12-4": _CUDA_TOOLKIT,
        "datacenter-gpu-manager-4-core": _DCGM,
        "openssh-server": "1:8.9p1-3",
    }
    return "".join(
        _stanza(name, version, "hold" if name in held else "install")
        for name, version in sorted({**held, **free}.items())
    )


def _stanza(name: str, version: str, wanted: str) -> str:
    return f"Package: {name}\nStatus: {wanted} ok installed\nArchitecture: amd64\nVersion: {version}\n\n"


def _log(life: Life, node: str, moment: Moment) -> str:
    """The kernel log of the last month, oldest line first, with the times the plan counts back from now."""
    model = models()["models"][life.plan.nodes[node].model]
    booted = moment.at - life.uptime(node, moment)
    version = driver_of(life.plan.nodes[node], moment.age)
    lines = [(booted, f"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {version}")]
    if moment.age == 0:
        lines += [
            (moment.at - int(event.hours_ago * HOUR_S), event.text.format(pci=model["pci"][event.slot][:-2]))
            for event in life.plan.log
            if event.node == node and moment.now
        ]
    recent = sorted((line for line in lines if line[0] > moment.at - MONTH_S), key=lambda line: line[0])
    return "".join(_line(node, at, booted, text) for at, text in recent)


def _line(node: str, at: int, booted: int, text: str) -> str:
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000+00:00")
    return f"{stamp} {node} kernel: [{at - booted:12.6f}] {text}\n"
