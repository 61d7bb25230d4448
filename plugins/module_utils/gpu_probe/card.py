"""Reading one card, inside its own child: the table, then what is a list or needs two calls together.

Facts are emitted as they are read, {path: value}, so that a hang loses only what comes after it.
"""

from . import fabric, holders, links
from .nvml import Device, Lost, close_quietly, error_reading, load_library, open_nvml
from .readings import READINGS
from .values import is_unread, unread

PATHS = (
    *(path for reading in READINGS for path in reading.paths),
    "nvlink",
    *fabric.PATHS,
    *holders.PATHS,
)


def worker(index, branch, root, library=None):
    """The work of the child that reads the card with this NVML index; `library` as for load_library."""

    def work(emit):
        load_library(library)
        open_nvml()
        try:
            read(index, branch, root, emit)
        finally:
            close_quietly()

    return work


def read(index, branch, root, emit):
    """Emit every fact of one card; {"!outcome": …} where it could not be read to the end."""
    try:
        device = Device(index, branch)
    except Exception as error:
        reading = error_reading(error, "nvmlDeviceGetHandleByIndex")
        outcome = "lost" if reading["unread"] == "lost" else "not_opened"
        emit({"!outcome": outcome, "!reason": reading["unread"], "!why": reading.get("detail", "")})
        return
    try:
        known = _read_table(device, emit)
        mig_on = known.get("modes.mig_current") is True
        emit({"nvlink": links.read(device)})
        emit(fabric.read(device))
        holders.read(device, root, mig_on, emit)
    except Lost as lost:
        emit({"!outcome": "lost", "!reason": "lost", "!why": str(lost)})


def _read_table(device, emit):
    known = {}
    for reading in READINGS:
        facts = _facts(reading, device, known)
        known.update(facts)
        emit(facts)
    return known


def _facts(reading, device, known):
    """{path: value} for one row of the table."""
    if reading.needs_ecc and known.get("modes.ecc_current") is False:
        return {path: unread("disabled", "ECC is off") for path in reading.paths}
    raw = device.ask(reading.attempts)
    if is_unread(raw):
        if reading.mig_hides and raw["unread"] == "not_supported" and known.get("modes.mig_current") is True:
            raw = unread("hidden_by_mig", raw.get("detail", ""))
        return {path: raw for path in reading.paths}
    if len(reading.paths) == 1:
        return {reading.paths[0]: reading.form(raw)}
    forms = reading.form if isinstance(reading.form, tuple) else (reading.form,) * len(reading.paths)
    return {path: forms[i](raw[i]) for i, path in enumerate(reading.paths)}
