"""What the probe can be told, and the bounds it keeps whatever it is told."""

import json

DEFAULTS = {
    "nvml_library": None,
    "nvml_data": None,
    "root": "/",
    "card_deadline_s": 10.0,
    "deadline_s": 30.0,
    "log_since": None,
    "log_lines_max": 500,
    "lock_path": "/run/lock/muster-gpu.lock",
    "lock_wait_s": 2.0,
    "tier": "passive",
    "now": None,
}

CARDS_MAX = 128  # the largest single node NVIDIA describes holds 16 GPUs; a count above this is not a count
CHILD_BYTES_MAX = 2 * 1024 * 1024  # a card with 36 links and 1,000 processes answers in under 300 KB
FILE_BYTES_MAX = 64 * 1024  # every /proc and /sys file read here is smaller
PACKAGE_BYTES_MAX = 64 * 1024 * 1024  # dpkg's status file of a full desktop is about 10 MB
LOG_BYTES_MAX = 64 * 1024 * 1024  # read from the kernel log at most, so that a flood of lines has an end
LOG_BLOCK_BYTES = 256 * 1024  # of the log looked at together; a line that fills one is no kernel line
LOG_TEXT_MAX = 1000  # characters kept of a log line; the kernel cuts its own at 1,024 bytes
COMMAND_S = 5.0  # for one subprocess; systemctl, rpm and dmesg answer within a second on a sound node
LOG_COMMAND_S = 10.0  # for the journal of a month, which a slow disk may need
LINGER_S = 0.2  # how long a killed child is waited for before it is left to the kernel


def parse(raw):
    """The options from their JSON text, defaults filled in.

    Raises ValueError with a sentence that names the option where one is unknown or of the wrong type.
    """
    given = json.loads(raw or "{}")
    if not isinstance(given, dict):
        raise ValueError("the options are not a JSON object")
    unknown = sorted(set(given) - set(DEFAULTS))
    if unknown:
        raise ValueError("unknown option: " + ", ".join(unknown))
    merged = dict(DEFAULTS, **given)
    for name, default in DEFAULTS.items():
        if isinstance(default, (int, float)) and not _is_positive(merged[name]):
            raise ValueError("option %s must be a number of at least zero, not %r" % (name, merged[name]))
        if isinstance(default, str) and not isinstance(merged[name], str):
            raise ValueError("option %s must be text, not %r" % (name, merged[name]))
    return merged


def _is_positive(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0
