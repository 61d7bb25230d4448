"""Rules about the card's memory: ECC errors over time, row remapping, page retirement, SRAM."""

from __future__ import annotations

from fractions import Fraction

from lifecycle.core.counters import CORRECTED, UNCORRECTED, Errors, Look, at_most, errors
from lifecycle.core.quantities import ERROR_RATE, ERRORS, MS_PER_DAY, WINDOW_DAYS, WINDOW_MS, Threshold
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.bodies import MemoryReading, memory
from lifecycle.core.rules.view import CardView, Flagged, Reader
from lifecycle.core.rules.words import above, counted, number, times, when

# Ranges that catch a slip of the pen, not opinions about health: no card counts beyond 64 bits.
_ANY_COUNT = 2.0**64


def _ecc_monthly(view: CardView, settings: RuleSettings) -> Trouble | None:
    looks = _looks(view)
    if len(looks) < 2:
        return None
    limit = settings.for_model("errors", view.name if settings.models else None)
    bound = at_most(looks)
    if bound is not None and bound <= limit.number:
        return None
    start, end = view.node.window_start, view.as_of
    corrected = errors(looks, CORRECTED, start, end)
    uncorrected = errors(looks, UNCORRECTED, start, end)
    amount = corrected.amount + uncorrected.amount
    if amount <= limit.number:
        return None
    return Trouble(
        action=settings.action,
        observed=above(amount, limit.number),
        threshold=number(limit.number),
        unit="errors/30d",
        since=start,
        until=end,
        reason=_ecc_reason(view, corrected, uncorrected, amount, limit.number),
        remedy=_ecc_remedy(uncorrected),
        source=limit.source,
    )


def _looks(view: CardView) -> list[Look]:
    """The looks a window needs, newest first: back to a reading before it of each counter that was read.

    Empty where nothing changed between complete looks, the case of almost every card.
    """
    start = view.node.window_start
    newest = view.newest
    if newest is None:
        return []
    looks: list[Look] = []
    changed = False
    before: frozenset[int] = frozenset()
    for index in range(view.end - 1, -1, -1):
        sample = view.samples[index]
        reading = newest if index == view.end - 1 else memory(sample.memory)
        if reading is not newest:
            changed = changed or reading.aggregate != newest.aggregate
        if not reading.counted:
            changed = True
        if reading.any_count:
            looks.append(Look(sample.at, sample.boot_id, reading.aggregate, reading.volatile))
        if sample.at > start:
            continue
        if reading is newest and reading.counted:
            break
        before |= _read(reading)
        if reading.counted and all(_read(look) <= before for look in looks):
            break
    return looks if changed else []


def _read(look: Look | MemoryReading) -> frozenset[int]:
    """Which of the six aggregate counters were read."""
    return frozenset(where for where, value in enumerate(look.aggregate) if value is not None)


def _ecc_reason(
    view: CardView, corrected: Errors, uncorrected: Errors, amount: Fraction | int, limit: float
) -> str:
    covered = max(corrected.covered_ms, uncorrected.covered_ms)
    parts = [
        f"{counted(amount, limit)} memory ECC {'error' if amount == 1 else 'errors'} in the {WINDOW_DAYS} "
        f"days to {when(view.as_of)} "
        f"({_kind('corrected', corrected)}; {_kind('uncorrected', uncorrected)}); "
        f"the policy allows {number(limit)}.",
        f"{number(min(covered, WINDOW_MS) / MS_PER_DAY)} of {WINDOW_DAYS} days observed.",
    ]
    if uncorrected.amount:
        parts.append(
            "NVIDIA's own policy asks for a reset after uncorrected errors and for an RMA only once row "
            "remapping fails and the field diagnostic confirms it; the owner's rule is stricter and decides."
        )
    else:
        parts.append(
            "Only corrected errors drive this: NVIDIA's own policy alone would not act on them; "
            "the owner's rule is stricter and decides."
        )
    return " ".join(parts)


def _kind(name: str, found: Errors) -> str:
    text = f"{name}: {counted(found.dram)} DRAM, {counted(found.sram)} SRAM"
    return f"{text}, {counted(found.unplaced)} not placed" if found.unplaced else text


def _ecc_remedy(uncorrected: Errors) -> str:
    retest = (
        "Take the card out of service now. Before a person confirms the retirement: drain it, reset it, run "
        "`dcgmi diag -r 3` with the memory test, and look whether the count grows again under load"
    )
    if uncorrected.amount:
        return (
            f"{retest}. Look for Xid 48, 63, 64, 94 or 95 in the kernel log and ask for the field diagnostic."
        )
    return f"{retest}; corrected errors that stay away after the reset are worth a second opinion."


def _failure(reading: MemoryReading) -> int | None:
    return _flag(reading.facts.remap.failure)


def _remap_pending(reading: MemoryReading) -> int | None:
    return _flag(reading.facts.remap.pending)


def _pages_pending(reading: MemoryReading) -> int | None:
    return _flag(reading.facts.retired_pages.pending)


def _sram(reading: MemoryReading) -> int | None:
    return _flag(reading.facts.ecc.sram_threshold_exceeded)


def _flag(value: object) -> int | None:
    return value if isinstance(value, bool) else None


def _row_remap_failure(view: CardView, settings: RuleSettings) -> Trouble | None:
    flag = _raised(view, _failure)
    if flag is None:
        return None
    remap = flag.reading.facts.remap
    return _flag_trouble(
        settings,
        view,
        (_failure, flag),
        f"Row remapping has failed on this card (failure flag read on {when(flag.at)}; "
        f"rows remapped: {_rows(remap.correctable)} for corrected errors, {_rows(remap.uncorrectable)} for "
        "uncorrected ones): a bank has no spare row left for an uncorrected error.",
        "Quarantine the card now: stop its jobs, keep it out of the scheduler. Save an nvidia-bug-report, "
        "reset "
        "the card, run NVIDIA's field diagnostic; if it confirms, open an RMA with the serial of the board.",
    )


def _row_remap_pending(view: CardView, settings: RuleSettings) -> Trouble | None:
    for read, what in ((_remap_pending, "A row remapping"), (_pages_pending, "A page retirement")):
        flag = _raised(view, read)
        if flag is not None:
            return _flag_trouble(
                settings,
                view,
                (read, flag),
                f"{what} waits for a reset (pending flag read on {when(flag.at)}): "
                "the faulty memory stays in use until then.",
                "Drain the card at the next good moment, reset it "
                f"(`nvidia-smi -r -i {view.card.pci or view.card.uuid}`, or reboot the node), and read it "
                "again: the pending flag must be gone. This is no reason for an RMA.",
            )
    return None


def _sram_threshold(view: CardView, settings: RuleSettings) -> Trouble | None:
    flag = _raised(view, _sram)
    if flag is None:
        return None
    return _flag_trouble(
        settings,
        view,
        (_sram, flag),
        f"The card says that its SRAM error threshold is exceeded (flag read on {when(flag.at)}): several "
        "different uncorrected errors in one SRAM bank. Nothing can be remapped there.",
        "Quarantine the card, save an nvidia-bug-report and run NVIDIA's field diagnostic; a confirmed "
        "fault is an RMA.",
    )


def _volatile_dram(reading: MemoryReading) -> int | None:
    return reading.volatile.dram_uncorrected


def _volatile_sram(reading: MemoryReading) -> int | None:
    return reading.volatile.sram_uncorrected


def _volatile_total(reading: MemoryReading) -> int | None:
    return reading.volatile.total_uncorrected


_VOLATILE = (_volatile_dram, _volatile_sram, _volatile_total)


def _ecc_uncorrectable(view: CardView, settings: RuleSettings) -> Trouble | None:
    if view.calm:
        return None
    found = [view.latest(read) for read in _VOLATILE]
    dram, sram, total = (flag.value if flag is not None else 0 for flag in found)
    amount = max(dram + sram, total)
    limit = settings.for_model("errors", view.name)
    if amount <= limit.number:
        return None
    at = max(flag.at for flag in found if flag is not None)
    return Trouble(
        action=settings.action,
        observed=amount,
        threshold=number(limit.number),
        unit="errors since driver load",
        since=None,
        until=at,
        reason=f"{times(amount, 'uncorrected ECC error')} since the driver was loaded ({dram} DRAM, "
        f"{sram} SRAM; read on {when(at)}). Data was lost, and a job on this card may have died "
        "or computed on with wrong numbers.",
        remedy="Drain the card, save the kernel log (Xid 48, 63, 64, 94, 95), reset it, then read it again: "
        "the "
        "volatile count must be 0 and row remapping neither pending nor failed. If it returns, run the field "
        "diagnostic.",
        source=limit.source,
    )


def _raised(view: CardView, read: Reader) -> Flagged | None:
    """The flag where its newest readable value is up."""
    if view.calm:
        return None
    flag = view.latest(read)
    return flag if flag is not None and flag.value else None


def _flag_trouble(
    settings: RuleSettings, view: CardView, found: tuple[Reader, Flagged], reason: str, remedy: str
) -> Trouble:
    read, flag = found
    if flag.at != view.newest_at:
        reason = f"{reason} It has not been readable since; what was last read still holds."
    return Trouble(
        action=settings.action,
        observed=1,
        threshold=1,
        unit="flag",
        since=view.since(read, flag),
        until=flag.at,
        reason=reason,
        remedy=remedy,
    )


def _rows(value: object) -> str:
    return str(value) if isinstance(value, int) else "an unread number"


RULES = (
    Rule("row-remap-failure", card=_row_remap_failure),
    Rule("ecc-monthly", card=_ecc_monthly, thresholds={"errors": Threshold(ERROR_RATE, 0, _ANY_COUNT)}),
    Rule("sram-threshold", card=_sram_threshold),
    Rule("row-remap-pending", card=_row_remap_pending),
    Rule(
        "ecc-uncorrectable", card=_ecc_uncorrectable, thresholds={"errors": Threshold(ERRORS, 0, _ANY_COUNT)}
    ),
)
