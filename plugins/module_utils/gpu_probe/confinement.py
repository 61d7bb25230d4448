"""Whether the reader sits in a job's cgroup. Such a group may keep device files, and so GPUs, from it."""

import re

from .files import exists, read_raw
from .values import unread

# Slurm's groups, which pam_slurm_adopt puts a login into as well: /slurm/uid_1000/job_42/step_extern with
# cgroup v1, /system.slice/slurmstepd.scope/job_42/step_extern/user with v2 (slurm.conf, cgroup.conf).
_JOB = re.compile(r"/job_\d+(?:/|$)|slurmstepd\.scope(?:/|$)")
# systemd's groups for logins and services. Containers live in scopes, or in groups below a service.
_OPEN = re.compile(
    r"/init\.scope|/user\.slice(?:/(?!.*(?:libpod|docker)).*)?|/system\.slice/(?:.*/)?[^/]+\.service"
)
_ALL_DEVICES = "a *:* rwm"  # devices.list of a group that is denied nothing (cgroup-v1/devices.rst)


def read(root):
    """True in a job's group or one with a list of devices, False where nothing hides any, or unread."""
    try:
        lines = read_raw(root, "/proc/self/cgroup").splitlines()
    except OSError:
        return unread("no_data", "no /proc/self/cgroup")
    groups = {}
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        groups.update(dict.fromkeys(controllers.split(","), path))
    if any(_JOB.search(path) for path in groups.values()):
        return True
    if "devices" in groups:
        return _by_device_list(root, groups["devices"])
    return _by_name(root, groups.get(""))


def _by_device_list(root, path):
    place = "/sys/fs/cgroup/devices%s/devices.list" % path.rstrip("/")
    try:
        return _ALL_DEVICES not in read_raw(root, place).splitlines()
    except OSError as error:
        return unread("no_data", "%s: %s" % (place, error.strerror))


def _by_name(root, path):
    """With cgroup v2 a program in the kernel decides about devices, so the group's name has to do."""
    if path is None:
        return unread("no_data", "/proc/self/cgroup names no group")
    # Every group but the machine's first has this file; a container sees its own group as "/".
    if path == "/" and not exists(root, "/sys/fs/cgroup/cgroup.events"):
        return False
    if _OPEN.fullmatch(path):
        return False
    return unread("no_data", ("the cgroup %s is neither a job's nor a login's" % path)[:200])
