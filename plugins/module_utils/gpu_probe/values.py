"""Turning raw answers into facts: a value, or unread with its reason.

The one place where NVML's return codes become reasons and where sentinels that only look like
values are recognised. Codes and their meaning: nvml.h, enum nvmlReturn_t.
"""

# nvmlReturn_t -> (reason, name without NVML_ERROR_)
RETURN_CODES = {
    1: ("unknown_error", "UNINITIALIZED"),
    2: ("not_in_driver", "INVALID_ARGUMENT"),  # an enumeration or field that this driver does not know
    3: ("not_supported", "NOT_SUPPORTED"),
    4: ("no_permission", "NO_PERMISSION"),
    5: ("unknown_error", "ALREADY_INITIALIZED"),
    6: ("no_data", "NOT_FOUND"),
    7: ("unknown_error", "INSUFFICIENT_SIZE"),
    8: ("unknown_error", "INSUFFICIENT_POWER"),
    9: ("driver_not_loaded", "DRIVER_NOT_LOADED"),
    10: ("timed_out", "TIMEOUT"),
    11: ("unknown_error", "IRQ_ISSUE"),
    12: ("library_missing", "LIBRARY_NOT_FOUND"),
    13: ("not_in_driver", "FUNCTION_NOT_FOUND"),
    14: ("unknown_error", "CORRUPTED_INFOROM"),
    15: ("lost", "GPU_IS_LOST"),
    16: ("reset_required", "RESET_REQUIRED"),
    17: ("no_permission", "OPERATING_SYSTEM"),  # a cgroup or the device file's mode stands in the way
    18: ("version_mismatch", "LIB_RM_VERSION_MISMATCH"),
    19: ("unknown_error", "IN_USE"),
    20: ("unknown_error", "MEMORY"),
    21: ("no_data", "NO_DATA"),
    22: ("not_supported", "VGPU_ECC_NOT_SUPPORTED"),
    23: ("unknown_error", "INSUFFICIENT_RESOURCES"),
    24: ("not_supported", "FREQ_NOT_SUPPORTED"),
    25: ("not_in_driver", "ARGUMENT_VERSION_MISMATCH"),
    26: ("not_in_driver", "DEPRECATED"),
    27: ("no_data", "NOT_READY"),
    28: ("lost", "GPU_NOT_FOUND"),
    29: ("no_data", "INVALID_STATE"),
    30: ("not_supported", "RESET_TYPE_NOT_SUPPORTED"),
    999: ("unknown_error", "UNKNOWN"),
}

# Integers that mean "no value": NVML_VALUE_NOT_AVAILABLE in 32 and 64 bits, and from 0x7FFFFFFFFFFFFFF0
# on the blanks of DCGM (dcgm_structs.h, DCGM_INT64_BLANK), which reach NVML users as 9223372036854775794.
_BLANKS_32 = (0xFFFFFFFF,)
_BLANK_64 = 0x7FFFFFFFFFFFFFF0
_EMPTY_TEXTS = ("", "n/a", "[n/a]", "not available", "unknown", "unknown error", "[unknown error]")
TEXT_MAX = 4096  # no name, version or command line here is longer; the kernel's own limit for /proc/cmdline


def unread(reason, detail=""):
    """A reading without a value, in the form of the facts document."""
    return {"unread": reason, "detail": detail} if detail else {"unread": reason}


def is_unread(value):
    return isinstance(value, dict) and "unread" in value


def from_code(code, where=""):
    """The unread reading that a return code of NVML means; `where` is the call that answered it."""
    reason, name = RETURN_CODES.get(code, ("unknown_error", "code %s" % code))
    return unread(reason, (where + ": " + name) if where else name)


def text(raw):
    """Printable text; empty and N/A are no data."""
    if isinstance(raw, bytes):
        raw = raw.decode("utf-8", "replace")
    if not isinstance(raw, str):
        return unread("unparseable", repr(raw)[:80])
    plain = "".join(c if c.isprintable() else " " for c in raw[:TEXT_MAX]).strip()
    if plain.lower() in _EMPTY_TEXTS:
        return unread("no_data", "answered %r" % plain)
    return plain


def serial(raw):
    """A serial stays text: leading zeros count. All zeros is no serial."""
    plain = text(raw)
    if isinstance(plain, str) and not plain.strip("0"):
        return unread("no_data", "answered %r" % plain)
    return plain


def count(raw):
    """A whole number of at least zero; sentinels are no data."""
    if isinstance(raw, bool) or not isinstance(raw, int):
        return unread("unparseable", repr(raw)[:80])
    if raw in _BLANKS_32 or raw >= _BLANK_64:
        return unread("no_data", "answered %#x" % raw)
    if raw < 0:
        return unread("unparseable", "answered %d" % raw)
    return raw


def signed(raw):
    """A number that may be below zero, such as a temperature margin."""
    if isinstance(raw, float):
        return raw if raw - raw == 0 else unread("no_data", repr(raw))
    if isinstance(raw, int) and raw < 0:
        return float(raw)
    return number(raw)


def number(raw):
    whole = count(raw)
    return whole if is_unread(whole) else float(whole)


def flag(raw):
    """NVML's enable states: 0 and 1, nothing else."""
    whole = count(raw)
    if is_unread(whole):
        return whole
    return bool(whole) if whole in (0, 1) else unread("unparseable", "answered %d" % whole)


def scaled(divisor):
    """A form that divides a whole number: milliwatts to watts by 1000.0."""

    def form(raw):
        whole = count(raw)
        return whole if is_unread(whole) else whole / divisor

    return form


def whole_scaled(divisor):
    """A form that divides and stays whole: nanoseconds to microseconds by 1000."""

    def form(raw):
        whole = count(raw)
        return whole if is_unread(whole) else whole // divisor

    return form


def pci_address(domain, bus, device, function=0):
    """0000:07:00.0"""
    return "%04x:%02x:%02x.%x" % (domain, bus, device, function)
