"""The whole probe: what runs in which child, and how their pieces become one document.

The parent reads nothing that can hang: everything that touches NVML, sysfs of a device or another
program runs in a child with a deadline, so an answer always comes, with what there is.
"""

import sys
import time

from . import SCHEMA, VERSION, card, children, frame, host, kernel_log, lock, nvml, options, software
from .binding import pynvml
from .values import is_unread, text, unread

_DRIVER_PATHS = (
    "driver.module",
    "driver.userspace",
    "driver.nvml",
    "driver.cuda",
    "module_refcount_before",
)
_LIBRARY_DIRECTORIES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/wsl/lib",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
)
_NO_BINDING = "pynvml (nvidia-ml-py) is neither on the controller nor on this node"
# Reasons for which NVML may not open, as states of the node; other reasons are unknown_error.
_STATES = ("library_missing", "driver_not_loaded", "version_mismatch", "no_permission", "timed_out")


def main(raw, plain=False):
    """Answer the options in `raw` on stdout; exit 2 with a sentence on stderr where they are wrong."""
    try:
        chosen = options.parse(raw)
    except ValueError as error:
        sys.stderr.write("gpu_probe: %s\n" % error)
        sys.exit(2)
    try:
        answer = run(chosen)
    except OSError as error:  # no process or pipe to be had: the node is out of them
        sys.stderr.write("gpu_probe: cannot start a reader: %s\n" % error.strerror)
        sys.exit(1)
    if plain:
        import json

        sys.stdout.write(json.dumps(answer, separators=(",", ":"), allow_nan=False) + "\n")
    else:
        sys.stdout.buffer.write(frame.encode(answer))
    sys.stdout.flush()


def run(chosen):
    """The `probe/1` document for these options."""
    return _Probe(chosen).run()


class _Probe:
    def __init__(self, chosen):
        self.chosen = chosen
        self.root = chosen["root"]
        self.started = time.monotonic()
        self.crew = children.Crew(self.started + chosen["deadline_s"])
        self.host = {"log_detail": ""}
        self.cards = []
        self.scout = None
        self.nvml = {}
        self.simulated = str(chosen["nvml_library"] or "").endswith(".py")

    def run(self):
        parts = self._start_host()
        self.host["module_refcount_before"] = host.module_references(self.root)
        self.host["driver.module"] = host.module_version(self.root)
        wait_s = min(self.chosen["lock_wait_s"], self.chosen["deadline_s"])
        _kept, state, detail = lock.take(self.root, self.chosen["lock_path"], wait_s)
        if state == "busy":
            self.nvml = {"state": "locked", "reason": "locked", "detail": detail}
        else:
            self._start_scout()
        self.crew.run()
        self._finish_nvml(detail)
        self._finish_host(parts)
        return self._document()

    def _start_host(self):
        seconds = self.chosen["deadline_s"]
        works = (
            (host.PATHS, host.worker(self.root, self.chosen["now"])),
            (software.PATHS, software.worker(self.root)),
            (
                kernel_log.PATHS,
                kernel_log.worker(
                    self.root, self.chosen["log_since"], self.chosen["log_lines_max"], self.chosen["now"]
                ),
            ),
        )
        return [(paths, self.crew.start(work, seconds, self.host.update)) for paths, work in works]

    def _start_scout(self):
        if self.simulated and not self._load_simulated():
            return
        work = _scout(None if self.simulated else self.chosen["nvml_library"])
        self.scout = self.crew.start(work, self.chosen["card_deadline_s"], self._heard_scout)

    def _load_simulated(self):
        """A simulated library is plain Python: loading it once here spares every child the work."""
        try:
            nvml.load_simulated(self.chosen["nvml_library"], self.chosen["nvml_data"])
        except Exception as error:
            detail = "the simulated library: %s: %s" % (type(error).__name__, error)
            self.nvml = {"state": "library_missing", "reason": "library_missing", "detail": detail[:300]}
            return False
        return True

    def _heard_scout(self, piece):
        self.nvml.update(piece)
        if not is_unread(piece.get("count", unread("not_read"))):
            branch = nvml.branch_of(piece.get("driver"))
            for index in range(piece["count"]):
                self._start_card(index, branch)

    def _start_card(self, index, branch):
        entry = {"facts": {"identity.index": index}, "child": None}
        library = None if self.simulated else self.chosen["nvml_library"]
        work = card.worker(index, branch, self.root, library)
        entry["child"] = self.crew.start(work, self.chosen["card_deadline_s"], entry["facts"].update)
        self.cards.append(entry)

    def _held_ms(self):
        """How long NVML was open in any process, in milliseconds, or unread."""
        users = [child for child in [self.scout, *(entry["child"] for entry in self.cards)] if child]
        if not users:
            return unread("not_read", "NVML was not opened")
        ended = max(child.started + child.took_ms / 1000.0 for child in users)
        return int((ended - self.scout.started) * 1000)

    def _finish_nvml(self, lock_detail):
        """Settle how opening NVML went, from what the scout said before it ended."""
        if "state" not in self.nvml:
            outcome = self.scout.outcome
            reason = outcome if outcome in ("timed_out", "crashed") else "unknown_error"
            self.nvml.update(state=reason, reason=reason, detail=self.scout.detail)
        details = [self.nvml.get("detail", ""), lock_detail]
        self.host["nvml_state"] = self.nvml["state"]
        self.host["nvml_detail"] = "; ".join(dict.fromkeys(part for part in details if part))
        missing = unread(self.nvml.get("reason", "unknown_error"), self.nvml.get("detail", ""))
        self.host["nvml_cards"] = self.nvml.get("count", missing)
        self.host["driver.nvml"] = self.nvml.get("nvml", missing)
        self.host["driver.cuda"] = self.nvml.get("cuda", missing)
        # An open NVML has found the library and the module to agree, and names their version.
        named = self.nvml.get("driver", missing)
        self.host["driver.userspace"] = (
            nvml.library_version(self.root, _LIBRARY_DIRECTORIES) if is_unread(named) else named
        )

    def _finish_host(self, parts):
        self.host["nvml_held_ms"] = self._held_ms()
        for paths, child in parts:
            reason = child.outcome if child.outcome in ("timed_out", "crashed") else "not_read"
            for path in paths:
                self.host.setdefault(path, unread(reason, child.detail))

    def _document(self):
        cards = [_card(entry) for entry in self.cards]
        _seat_by_elimination(cards, self.host["pci_gpus"])
        took_ms = int((time.monotonic() - self.started) * 1000)
        return {
            "schema": SCHEMA,
            "simulated": self.simulated,
            "probe": {"version": VERSION, "tier": self.chosen["tier"], "took_ms": took_ms},
            "host": _nested(self.host),
            "cards": cards,
        }


def _scout(library):
    """The work of the child that opens NVML first: versions and the number of cards."""

    def work(emit):
        if pynvml is None:
            emit({"state": "library_missing", "reason": "library_missing", "detail": _NO_BINDING})
            return
        try:
            nvml.load_library(library)
            nvml.open_nvml()
        except Exception as error:
            emit(_refused(error))
            return
        pieces = {"state": "ok"}
        for name, ask in (
            ("driver", pynvml.nvmlSystemGetDriverVersion),
            ("nvml", pynvml.nvmlSystemGetNVMLVersion),
        ):
            pieces[name] = _asked(ask, text)
        pieces["cuda"] = _asked(_cuda_version, text)
        pieces["count"] = _asked(pynvml.nvmlDeviceGetCount, _card_count)
        emit(pieces)
        nvml.close_quietly()

    return work


def _refused(error):
    if isinstance(error, OSError):
        return {"state": "library_missing", "reason": "library_missing", "detail": str(error)[:200]}
    reading = nvml.error_reading(error, "nvmlInit")
    reason = reading["unread"]
    state = reason if reason in _STATES else "unknown_error"
    return {"state": state, "reason": reason, "detail": reading.get("detail", "")}


def _asked(ask, form):
    try:
        return form(ask())
    except Exception as error:
        return nvml.error_reading(error, getattr(ask, "__name__", ""))


def _card_count(raw):
    if raw > options.CARDS_MAX:
        return unread("no_data", "NVML counts %d cards" % raw)
    return raw


def _cuda_version():
    """12.4 for NVML's 12040."""
    try:
        number = pynvml.nvmlSystemGetCudaDriverVersion_v2()
    except pynvml.NVMLError:
        number = pynvml.nvmlSystemGetCudaDriverVersion()
    return "%d.%d" % (number // 1000, number % 1000 // 10)


def _card(entry):
    """One card's facts; what did not arrive is unread for the reason for which it did not."""
    child, facts = entry["child"], entry["facts"]
    outcome = facts.pop("!outcome", child.outcome)
    reason = facts.pop("!reason", outcome if outcome in ("timed_out", "crashed") else "not_read")
    detail = facts.pop("!why", child.detail)
    for path in card.PATHS:
        facts.setdefault(path, unread(reason))
    facts.update({"read.outcome": outcome, "read.took_ms": child.took_ms, "read.detail": detail})
    return _nested(facts)


def _seat_by_elimination(cards, gpus):
    """A lost card cannot say where it sits; if it is the only one, the one seat left over is its own.

    A GPU that another driver holds, such as vfio-pci, is none of NVML's and leaves no seat over.
    """
    if is_unread(gpus):
        return
    silent = [entry for entry in cards if is_unread(entry["seat"]["pci"])]
    claimed = {str(entry["seat"]["pci"]) for entry in cards}
    free = [gpu["pci"] for gpu in gpus if gpu["driver"] == "nvidia" and gpu["pci"] not in claimed]
    if len(silent) == 1 and len(free) == 1:
        silent[0]["seat"]["pci"] = free[0]
        note = "the seat is the only one that no other card claims"
        silent[0]["read"]["detail"] = "; ".join(part for part in (silent[0]["read"]["detail"], note) if part)


def _nested(flat):
    """{"a.b": 1} as {"a": {"b": 1}}."""
    tree = {}
    for path, value in flat.items():
        place = tree
        *groups, name = path.split(".")
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = value
    return tree
