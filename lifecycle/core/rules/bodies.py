"""Reading the encoded bodies of the ledger: typed, bounded to what rules ask, and remembered.

Most cards of a fleet share the same memory body (all zero), so what one body says is worked out once.
A body that does not decode is unread («unparseable»), never a crash and never a pass.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from lifecycle.core.counters import CORRECTED, UNCORRECTED, Counts, clean
from lifecycle.core.facts import NOT_READ, ErrorCounts, Flag, Number, Text, Unread
from lifecycle.core.history import MemoryFacts

# How many different bodies are remembered: a bound on memory (about 3 kB each), not on the fleet.
_REMEMBERED = 4096


class _Identity(msgspec.Struct, frozen=True):
    serial: Text = NOT_READ
    name: Text = NOT_READ


class _Modes(msgspec.Struct, frozen=True):
    ecc_current: Flag = NOT_READ


class _Limits(msgspec.Struct, frozen=True):
    temperature_slowdown_c: Number = NOT_READ


class Static(msgspec.Struct, frozen=True):
    """Of the static groups, what rules and verdicts ask."""

    identity: _Identity = _Identity()
    modes: _Modes = _Modes()
    limits: _Limits = _Limits()


class _Temperature(msgspec.Struct, frozen=True):
    gpu_c: Number = NOT_READ


class Live(msgspec.Struct, frozen=True):
    """Of the live groups, what rules ask."""

    temperature: _Temperature = _Temperature()


_MEMORY = msgspec.json.Decoder(MemoryFacts)
_STATIC = msgspec.json.Decoder(Static)
_LIVE = msgspec.json.Decoder(Live)

UNPARSEABLE = Unread("unparseable")
_SPOILT_MEMORY: dict[str, Any] = {
    group: {name: {"unread": UNPARSEABLE.unread} for name in names}
    for group, names in {
        "remap": ("pending", "failure"),
        "retired_pages": ("single_bit", "double_bit", "pending"),
        "health": ("recovery", "inforom_valid"),
    }.items()
}


class MemoryReading(msgspec.Struct, frozen=True):
    """What one memory body says.

    counted: every kind of ECC error has an aggregate value. answered: anything at all was read.
    closed: every flag, the advice and the volatile counters were read, so no older body can add to them.
    troubled: some of those asks a rule to look closer. missing: need → the reading and why it is unread,
    for needs not met here. optional: other readings a rule would have used, with why they are unread.
    """

    facts: MemoryFacts
    aggregate: Counts
    volatile: Counts
    counted: bool
    closed: bool
    any_count: bool
    answered: bool
    troubled: bool
    missing: dict[str, str]
    optional: tuple[str, ...]


@lru_cache(maxsize=_REMEMBERED)
def memory(body: bytes | str) -> MemoryReading:
    """What a memory body says; the same body is worked out once."""
    try:
        facts = _MEMORY.decode(body)
        spoilt = False
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        facts = msgspec.convert(_SPOILT_MEMORY, MemoryFacts)
        spoilt = True
    aggregate, volatile = _counts(facts.ecc.aggregate), _counts(facts.ecc.volatile)
    any_count = any(n is not None for n in aggregate + volatile)
    return MemoryReading(
        facts=facts,
        aggregate=aggregate,
        volatile=volatile,
        counted=_known(aggregate, CORRECTED) and _known(aggregate, UNCORRECTED),
        closed=_closed(facts, volatile),
        any_count=any_count,
        answered=any_count or isinstance(facts.remap.failure, bool) or isinstance(facts.health.recovery, str),
        troubled=_troubled(facts, volatile),
        missing=_missing(facts, aggregate, volatile, spoilt),
        optional=_optional(facts, aggregate, volatile),
    )


def static(body: bytes | str | None) -> Static:
    """The static groups, all unread where there is no body or it does not decode."""
    if body is None:
        return _NO_STATIC
    try:
        return _STATIC.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _SPOILT_STATIC


def gpu_celsius(body: bytes | str | None) -> Number:
    """The GPU temperature of a live body."""
    if body is None:
        return NOT_READ
    try:
        return _LIVE.decode(body).temperature.gpu_c
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return UNPARSEABLE


_NO_STATIC = Static()
_SPOILT_STATIC = Static(
    _Identity(serial=UNPARSEABLE, name=UNPARSEABLE), _Modes(ecc_current=UNPARSEABLE), _Limits(UNPARSEABLE)
)


def _counts(read: ErrorCounts) -> Counts:
    return Counts(
        clean(read.dram_corrected),
        clean(read.dram_uncorrected),
        clean(read.sram_corrected),
        clean(read.sram_uncorrected),
        clean(read.total_corrected),
        clean(read.total_uncorrected),
    )


def _known(counts: Counts, kind: tuple[int, int, int]) -> bool:
    dram, sram, total = (counts[where] for where in kind)
    return total is not None or (dram is not None and sram is not None)


def _troubled(facts: MemoryFacts, volatile: Counts) -> bool:
    recovery = facts.health.recovery
    return bool(
        facts.remap.failure is True
        or facts.remap.pending is True
        or facts.retired_pages.pending is True
        or facts.ecc.sram_threshold_exceeded is True
        or any(volatile[where] for where in UNCORRECTED)
        or (isinstance(recovery, str) and recovery.strip().lower() not in ("none", "0"))
        or _says(facts, "lost")
        or _says(facts, "reset_required")
    )


def _closed(facts: MemoryFacts, volatile: Counts) -> bool:
    pages = facts.retired_pages.pending
    return (
        isinstance(facts.remap.failure, bool)
        and isinstance(facts.remap.pending, bool)
        and (isinstance(pages, bool) or pages.unread == "not_supported")
        and isinstance(facts.ecc.sram_threshold_exceeded, bool)
        and isinstance(facts.health.recovery, str)
        and volatile.dram_uncorrected is not None
        and volatile.sram_uncorrected is not None
    )


def _says(facts: MemoryFacts, reason: str) -> bool:
    readings = (
        facts.health.recovery,
        facts.remap.failure,
        facts.remap.pending,
        facts.ecc.aggregate.dram_uncorrected,
        facts.ecc.aggregate.total_uncorrected,
        facts.ecc.volatile.dram_uncorrected,
        facts.ecc.volatile.total_uncorrected,
        facts.retired_pages.pending,
    )
    return any(isinstance(r, Unread) and r.unread == reason for r in readings)


def says(reading: MemoryReading, reason: str) -> bool:
    """True where NVML gave this reason for some memory reading."""
    return _says(reading.facts, reason)


_KINDS = (("corrected", CORRECTED), ("uncorrected", UNCORRECTED))


def _missing(facts: MemoryFacts, aggregate: Counts, volatile: Counts, spoilt: bool) -> dict[str, str]:
    missing: dict[str, str] = {}
    for name, kind in _KINDS:
        if not (
            _known(aggregate, kind) or _known(volatile, kind) or _dram_only(facts, aggregate, volatile, name)
        ):
            why = UNPARSEABLE.unread if spoilt else _count_reason(facts.ecc.aggregate, name)
            missing.setdefault("ecc-counters", f"ecc.aggregate.{name}: {why}")
    if not _repair_known(facts):
        missing["memory-repair"] = f"remap.failure: {_repair_reason(facts)}"
    recovery = facts.health.recovery
    if isinstance(recovery, Unread):
        missing["recovery"] = f"health.recovery: {recovery.unread}"
    elif not recovery.strip():
        missing["recovery"] = "health.recovery: no_data"
    return missing


# Reasons that say the card, driver or source has no such reading; nothing went wrong.
_NATURAL = frozenset({"not_read", "not_supported", "not_in_driver", "disabled"})


def trouble_of(name: str, value: object) -> str | None:
    """«name: reason» of a reading that is unread though it should be there, else None."""
    reason = _reason(value)
    return f"{name}: {reason}" if reason and reason not in _NATURAL else None


def _optional(facts: MemoryFacts, aggregate: Counts, volatile: Counts) -> tuple[str, ...]:
    """What rules ask besides the needs. A need that another reading fills names what was not read of it."""
    readings: list[tuple[str, object]] = [
        ("ecc.sram_threshold_exceeded", facts.ecc.sram_threshold_exceeded),
        ("health.inforom_valid", facts.health.inforom_valid),
    ]
    if _repair_known(facts):
        remap, pages = facts.remap, facts.retired_pages
        readings += [("remap.failure", remap.failure), ("remap.pending", remap.pending)]
        readings.append(("retired_pages.pending", pages.pending))
    sides = (("aggregate", facts.ecc.aggregate, aggregate), ("volatile", facts.ecc.volatile, volatile))
    for name, kind in _KINDS:
        known = [side for side in sides if _side_known(side[1], side[2], name, kind)]
        for side in sides:
            # Where neither is known the aggregate is a need, named as such.
            if side not in known and (known or side[0] == "volatile"):
                readings.append((f"ecc.{side[0]}.{name}", Unread(_count_reason(side[1], name))))
    return tuple(text for text in (trouble_of(name, value) for name, value in readings) if text)


def _side_known(read: ErrorCounts, counts: Counts, name: str, kind: tuple[int, int, int]) -> bool:
    return _known(counts, kind) or _dram_alone(read, counts, name)


def _dram_only(facts: MemoryFacts, aggregate: Counts, volatile: Counts, name: str) -> bool:
    """DRAM alone is enough where the card has no SRAM counter at all."""
    return _dram_alone(facts.ecc.aggregate, aggregate, name) or _dram_alone(
        facts.ecc.volatile, volatile, name
    )


def _dram_alone(read: ErrorCounts, counts: Counts, name: str) -> bool:
    where = CORRECTED[0] if name == "corrected" else UNCORRECTED[0]
    return counts[where] is not None and _reason(getattr(read, f"sram_{name}")) == "not_supported"


def _count_reason(read: ErrorCounts, name: str) -> str:
    reasons = [_reason(getattr(read, f"{place}_{name}")) for place in ("dram", "sram", "total")]
    return next((reason for reason in reasons if reason not in ("", "not_read")), "not_read")


def _repair_known(facts: MemoryFacts) -> bool:
    remap, pages = facts.remap, facts.retired_pages
    if isinstance(remap.failure, bool) and isinstance(remap.pending, bool):
        return True
    return clean(pages.double_bit) is not None and isinstance(pages.pending, bool)


def _repair_reason(facts: MemoryFacts) -> str:
    readings = (
        facts.remap.failure,
        facts.remap.pending,
        facts.retired_pages.double_bit,
        facts.retired_pages.pending,
    )
    reasons = [reason for reason in map(_reason, readings) if reason]
    telling = [reason for reason in reasons if reason not in ("not_read", "not_supported")]
    return (telling or reasons or ["no_data"])[0]


def _reason(value: object) -> str:
    """Why a reading is unread; empty for a value, `no_data` for a value that is a sentinel."""
    if isinstance(value, Unread):
        return value.unread
    return "no_data" if type(value) is int and clean(value) is None else ""
