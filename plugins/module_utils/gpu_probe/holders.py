"""Memory and who holds it: compute processes by pid, owner, short name and job; never their arguments."""

import os
import re

from .attempts import Call
from .binding import pynvml
from .files import exists, read_raw, read_text, under
from .values import count, is_unread, unread

PATHS = (
    "memory.used_bytes",
    "memory.free_bytes",
    "memory.reserved_bytes",
    "memory.unaccounted_bytes",
    "limits.memory_total_bytes",
    "processes",
)
# A card holds at most 128 compute contexts of its own (MPS: 60 clients); more is not a process list.
_PROCESSES_MAX = 1024
# Slurm's cgroup paths: /slurm/uid_1000/job_42/… and, with cgroup v2, …/slurmstepd.scope/job_42/…
_JOB = re.compile(r"/job_(\d+)(?:/|$)")

COMPUTE = (Call("nvmlDeviceGetComputeRunningProcesses_v3"), Call("nvmlDeviceGetComputeRunningProcesses_v2"))
GRAPHICS = (
    Call("nvmlDeviceGetGraphicsRunningProcesses_v3"),
    Call("nvmlDeviceGetGraphicsRunningProcesses_v2"),
)


def read(device, root, mig_on, emit):
    """Emit the memory readings and the list of compute processes."""
    compute = device.ask(COMPUTE)
    emit({"processes": compute if is_unread(compute) else [_process(p, root) for p in _bounded(compute)]})
    memory = _memory(device)
    emit(memory)
    graphics = device.ask(GRAPHICS)
    if is_unread(graphics) and graphics["unread"] in ("not_supported", "not_in_driver"):
        graphics = []  # a card or driver without graphics has no graphics processes
    emit({"memory.unaccounted_bytes": _unaccounted(memory, compute, graphics, root, mig_on)})


def _bounded(processes):
    return processes[:_PROCESSES_MAX]


def _memory(device):
    """Version 2 of the structure keeps the driver's own reserve out of `used`; version 1 counts it in."""
    info = device.ask((Call("nvmlDeviceGetMemoryInfo", pynvml.nvmlMemory_v2),))
    reserved = unread("not_in_driver", "the driver does not tell reserved memory apart")
    if not is_unread(info):
        reserved = count(info.reserved)
    elif info["unread"] in ("not_in_driver", "not_supported"):
        info = device.ask((Call("nvmlDeviceGetMemoryInfo"),))
    if is_unread(info):
        return dict.fromkeys([path for path in PATHS if path.endswith("_bytes")], info)
    return {
        "memory.used_bytes": count(info.used),
        "memory.free_bytes": count(info.free),
        "memory.reserved_bytes": reserved,
        "limits.memory_total_bytes": count(info.total),
    }


def _process(entry, root):
    proc = "/proc/%d" % entry.pid
    return {
        "pid": entry.pid,
        "uid": _owner(root, proc),
        "name": read_text(root, proc + "/comm"),
        "job": _job(root, proc),
        "memory_bytes": _held(entry),
    }


def _held(entry):
    if entry.usedGpuMemory is None:
        return unread("no_data", "NVML does not say how much this process holds")
    return count(entry.usedGpuMemory)


def _owner(root, proc):
    try:
        return os.stat(under(root, proc)).st_uid
    except OSError:
        return unread("no_data", "no " + proc)


def _job(root, proc):
    try:
        match = _JOB.search(read_raw(root, proc + "/cgroup"))
    except OSError:
        return unread("no_data", "no %s/cgroup" % proc)
    return match.group(1) if match else unread("no_data", "not in a Slurm job's cgroup")


def _unaccounted(memory, compute, graphics, root, mig_on):
    """Used memory less what living processes hold, in bytes; unread where any part of that is unread."""
    if mig_on:
        return unread("hidden_by_mig", "memory is accounted per MIG instance")
    used = memory["memory.used_bytes"]
    for part in (used, memory["memory.reserved_bytes"], compute, graphics):
        if is_unread(part):
            return part
    # Without sight of process 1 (hidepid, another pid namespace) a process that cannot be seen may live.
    sees_all = exists(root, "/proc/1")
    held = {}
    for entry in list(compute) + list(graphics):
        if sees_all and not exists(root, "/proc/%d" % entry.pid):
            continue
        amount = _held(entry)
        if is_unread(amount):
            return amount
        held[entry.pid] = max(amount, held.get(entry.pid, 0))  # one process may be in both lists
    return max(0, used - sum(held.values()))
