"""The software beside the driver: installed NVIDIA packages with their holds, and services."""

import os
import re

from .files import exists, names, os_reason, read_raw, read_text
from .options import COMMAND_S, PACKAGE_BYTES_MAX
from .values import is_unread, unread

PATHS = ("services", "packages")

_NAMES = re.compile(r"nvidia|cuda|cudnn|nccl|datacenter-gpu")
_STATUS = "/var/lib/dpkg/status"
_HOLD_FILES = ("/etc/dnf/plugins/versionlock.list", "/etc/yum/pluginconf.d/versionlock.list")
_PACKAGES_MAX = 1000  # a full CUDA installation is about 150 packages

# unit, the name of its process as the kernel cuts it (15 characters), the packages that carry it
_SERVICES = (
    ("nvidia-fabricmanager", "nv-fabricmanage", ("nvidia-fabricmanager", "nvidia-fabric-manager")),
    ("nvidia-persistenced", "nvidia-persiste", ("nvidia-persistenced", "nvidia-compute-utils")),
    ("nvidia-dcgm", "nv-hostengine", ("datacenter-gpu-manager",)),
)


def worker(root):
    """The work of the child that reads packages and services."""

    def work(emit):
        packages = installed(root)
        emit({"packages": packages})
        emit({"services": services(root, packages)})

    return work


def run(command):
    """What a command prints, as text. Raises OSError, TimeoutError among them; bounded in time."""
    import subprocess  # only where systemd or rpm is asked

    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_S,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError("no answer within %.0f s" % COMMAND_S) from error
    return done.stdout.decode("utf-8", "replace")


def installed(root):
    """Installed packages of the NVIDIA set, from dpkg's status file or rpm; unread where there is neither."""
    try:
        return _from_dpkg(read_raw(root, _STATUS, PACKAGE_BYTES_MAX))
    except FileNotFoundError:
        pass
    except OSError as error:
        return os_reason(error, _STATUS)
    if root != "/" or not exists(root, "/var/lib/rpm"):
        return unread("no_data", "neither dpkg nor rpm keeps packages here")
    try:
        return _from_rpm(run(["rpm", "-qa", "--qf", "%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}\n"]), root)
    except OSError as error:
        return unread("timed_out" if isinstance(error, TimeoutError) else "unknown_error", "rpm: %s" % error)


def _from_dpkg(status):
    found = []
    for paragraph in status.split("\n\n"):
        name = paragraph[9 : paragraph.find("\n")] if paragraph.startswith("Package: ") else ""
        if not _NAMES.search(name):
            continue
        fields = dict(line.split(": ", 1) for line in paragraph.split("\n") if ": " in line)
        wanted, _, state = (fields.get("Status", "") + "  ").split(" ")[:3]
        if state == "installed" and "Version" in fields:
            found.append({"name": name, "version": fields["Version"], "held": wanted == "hold"})
    return found[:_PACKAGES_MAX]


def _from_rpm(listing, root):
    locked = ""
    for path in _HOLD_FILES:
        try:
            locked += read_raw(root, path)
        except OSError:
            continue
    found = []
    for line in sorted(listing.splitlines()):
        name, _, version = line.partition(" ")
        if version and _NAMES.search(name):
            held = re.search(r"^\s*(\d+:)?%s-" % re.escape(name), locked, re.MULTILINE) is not None
            version = version[2:] if version.startswith("0:") else version
            found.append({"name": name, "version": version, "held": held})
    return found[:_PACKAGES_MAX]


def services(root, packages):
    """The services with whether they run, as systemd says where it does, else as the process table says."""
    active = _by_systemd(root)
    if active is None:
        active = _by_processes(root)
    return [
        {"name": unit, "version": _version(packages, carriers), "active": active[unit]}
        for unit, _, carriers in _SERVICES
    ]


def _by_systemd(root):
    if root != "/" or not os.path.isdir("/run/systemd/system"):
        return None
    try:
        answers = run(["systemctl", "is-active"] + [unit for unit, _, _ in _SERVICES]).split()
    except OSError:
        return None
    if len(answers) != len(_SERVICES):
        return None
    return {service[0]: answers[i] == "active" for i, service in enumerate(_SERVICES)}


def _by_processes(root):
    pids = [name for name in names(root, "/proc") if name.isdigit()]
    if not pids:
        return {unit: unread("no_data", "no process table") for unit, _, _ in _SERVICES}
    running = {str(read_text(root, "/proc/%s/comm" % pid)) for pid in pids}
    return {unit: process in running for unit, process, _ in _SERVICES}


def _version(packages, carriers):
    if is_unread(packages):
        return packages
    for package in packages:
        if package["name"].startswith(carriers):
            return package["version"]
    return unread("no_data", "no package of that name")
