"""Access to NVML: loading the library, asking a reading's attempts in turn, and what an error means.

pynvml is imported by the parent, so that its children need not compile it again, and initialised only
in children.
"""

import ctypes
import os

from .binding import pynvml
from .values import from_code, is_unread, unread

# Field numbers that moved between driver branches: {name: ((first branch, id), …)}, None where the
# branch has no such field. The same number means another quantity in other branches (251 to 253 are
# power smoothing in 570 and again from 590 on), so neither the binding's number nor a fixed one is safe.
# Source: the NVML_FI_* constants of nvidia-ml-py 570.86, 575.51, 580.65, 590.44 and 615.71.
MOVING_FIELDS = {
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN": ((0, None), (575, 251), (590, 269)),
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN": ((0, None), (575, 252), (590, 270)),
    "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN": ((0, None), (575, 253), (590, 271)),
}


class Lost(Exception):
    """The card is gone: nothing further need be asked of it."""


def load_simulated(path, data):
    """Put the object that `library(data)` in the Python file at `path` returns below pynvml."""
    import importlib.util  # only the simulation needs it

    spec = importlib.util.spec_from_file_location("muster_simulated_nvml", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pynvml.nvmlLib = module.library(data)


def load_library(path):
    """Load the library at `path` below pynvml; None leaves pynvml to its own search."""
    if path:
        pynvml.nvmlLib = ctypes.CDLL(path)


def open_nvml():
    """Initialise NVML in this process. Raises what pynvml raises."""
    pynvml.nvmlInit()


def close_quietly():
    """Let go of NVML; a library that is already gone has nothing to let go."""
    try:
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return


def error_reading(error, where=""):
    """The unread reading that any exception from pynvml means."""
    code = getattr(error, "value", None)
    if isinstance(error, pynvml.NVMLError):
        return from_code(code, where)
    if isinstance(error, pynvml.NVMLLibraryMismatchError):
        return unread("not_in_driver", where)
    if isinstance(error, (UnicodeDecodeError, ValueError, ctypes.ArgumentError)):
        return unread("unparseable", "%s: %s" % (where, type(error).__name__))
    return unread("unknown_error", "%s: %s" % (where, type(error).__name__))


def constant(value):
    """NVML_… names stand for pynvml's number of that name; anything else for itself."""
    if isinstance(value, str) and value.startswith("NVML_"):
        return getattr(pynvml, value)
    return value


class Device:
    """One opened card: asks calls and fields of it. `branch` is the driver's major version."""

    def __init__(self, index, branch):
        self.handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        self.branch = branch

    def ask(self, attempts):
        """The raw answer of the first attempt that this driver knows, or unread with the last reason.

        Raises Lost when the card says that it is gone.
        """
        answer = unread("not_read")
        for attempt in attempts:
            answer = self._try(attempt)
            if not (is_unread(answer) and answer["unread"] in ("not_in_driver", "not_supported")):
                return answer
        return answer

    def _try(self, attempt):
        where = attempt.name
        try:
            return attempt.ask(self)
        except AttributeError as error:
            return unread("not_in_driver", "the binding has no " + str(error).rsplit(" ", 1)[-1].strip("'"))
        except Exception as error:
            reading = error_reading(error, where)
            if reading["unread"] == "lost":
                raise Lost(reading.get("detail", "")) from error
            return reading


def field_number(name, branch):
    """(number, whether it moves) of a field for a driver branch; number None where it has none.

    Raises AttributeError where the binding does not know the field.
    """
    if name not in MOVING_FIELDS:
        return getattr(pynvml, name), False
    if branch is None:
        return None, True
    number = None
    for first, candidate in MOVING_FIELDS[name]:
        if branch >= first:
            number = candidate
    return number, True


def branch_of(version):
    """580 for driver version 580.65.06; None where it is not a version."""
    head = str(version).split(".", 1)[0]
    return int(head) if head.isdigit() else None


def library_version(root, directories):
    """The userspace version from the library's file name, or unread."""
    for directory in directories:
        where = os.path.join(root, directory.lstrip("/"))
        try:
            target = os.path.realpath(os.path.join(where, "libnvidia-ml.so.1"))
            candidates = [os.path.basename(target), *sorted(os.listdir(where), reverse=True)]
        except OSError:
            continue
        for name in candidates:
            if name.startswith("libnvidia-ml.so.") and name.count(".") > 2:
                return name[len("libnvidia-ml.so.") :]
    return unread("library_missing", "no libnvidia-ml.so in the usual directories")
