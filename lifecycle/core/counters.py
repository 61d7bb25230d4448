"""How many errors happened in a window, from counters that were only looked at now and then.

Contract 6.8: the window ends at as-of; an interval that straddles its start counts in proportion to
the overlap; a first observation counts nothing; a counter that went down starts anew and its first
value counts in full, from zero. A counter that went down within an interval that straddles the start
counts its first value in proportion too: when in the interval it grew is as unknown as for any other,
and to count all of it would charge the window with errors from before it. Less than a window is never
extrapolated. Aggregate counters (of the card's life) decide; volatile ones (since driver load) fill
only the time no aggregate reading covers. Times are epoch milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

# Values that mean «no value», whatever the field says: NVML_VALUE_NOT_AVAILABLE (-1) seen as 32 and
# 64 bit unsigned (nvml.h), and DCGM's blank, not found, not supported and not permissioned
# (dcgm_structs.h: DCGM_INT32_BLANK 0x7ffffff0, DCGM_INT64_BLANK 0x7ffffffffffffff0, each + 0 … 3).
SENTINELS = frozenset(
    {0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF}
    | {0x7FFFFFF0 + i for i in range(4)}
    | {0x7FFFFFFFFFFFFFF0 + i for i in range(4)}
)


class Point(NamedTuple):
    """One look at one counter. None where it was not read; boot tells driver loads apart."""

    at: int
    boot: str | None
    aggregate: int | None
    volatile: int | None


class Counted(NamedTuple):
    """Errors in a window, and how many milliseconds of it lie between two readings.

    amount is a Fraction where an interval counts in proportion, and else a whole number.
    """

    amount: Fraction | int
    covered_ms: int


class Counts(NamedTuple):
    """The six ECC counters of one look; None where one was not read."""

    dram_corrected: int | None
    dram_uncorrected: int | None
    sram_corrected: int | None
    sram_uncorrected: int | None
    total_corrected: int | None
    total_uncorrected: int | None


class Look(NamedTuple):
    """One look at the ECC counters of a card."""

    at: int
    boot: str | None
    aggregate: Counts
    volatile: Counts


class Errors(NamedTuple):
    """Errors of one kind in a window. unplaced: those that only the total shows, not DRAM or SRAM."""

    dram: Fraction | int
    sram: Fraction | int
    unplaced: Fraction | int
    covered_ms: int

    @property
    def amount(self) -> Fraction | int:
        return self.dram + self.sram + self.unplaced


CORRECTED = (0, 2, 4)
UNCORRECTED = (1, 3, 5)


class _Step(NamedTuple):
    """One look at a counter of one kind, already chosen: its value, and the driver load it belongs to."""

    at: int
    boot: str | None
    value: int


COUNTER_MAX = 2**63 - 1
"""NVML counts in 64 bits; what lies in the upper half is a sentinel or damage, never a count."""


def clean(value: object) -> int | None:
    """A reading as a count, or None where it is unread, negative, a sentinel or more than a counter holds."""
    if type(value) is not int or not 0 <= value <= COUNTER_MAX or value in SENTINELS:
        return None
    return value


def count(points: Iterable[Point], start: int, end: int) -> Counted:
    """Errors between start and end, from points in any order; points after end are ignored."""
    looks = _collapse(p for p in points if p.at <= end)
    aggregate = [_Step(p.at, None, p.aggregate) for p in looks if p.aggregate is not None]
    volatile = [_Step(p.at, p.boot, p.volatile) for p in looks if p.volatile is not None]
    if not aggregate:
        return _sum([volatile], start, end)
    before = [step for step in volatile if step.at <= aggregate[0].at]
    after = [step for step in volatile if step.at >= aggregate[-1].at]
    return _sum([before, aggregate, after], start, end)


def _collapse(points: Iterable[Point]) -> list[Point]:
    """Oldest first, one point per time; of two readings of the same time the higher counts."""
    merged: dict[int, Point] = {}
    for point in points:
        other = merged.get(point.at)
        if other is not None:
            point = Point(
                point.at,
                _one_boot(point.boot, other.boot),
                _higher(point.aggregate, other.aggregate),
                _higher(point.volatile, other.volatile),
            )
        merged[point.at] = point
    return [merged[at] for at in sorted(merged)]


def _one_boot(a: str | None, b: str | None) -> str | None:
    known = [boot for boot in (a, b) if boot is not None]
    return max(known) if known else None


def _higher(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)


def _sum(chains: Sequence[Sequence[_Step]], start: int, end: int) -> Counted:
    amount: Fraction | int = 0
    covered = 0
    for chain in chains:
        for old, new in pairwise(chain):
            if new.at <= start:
                continue
            covered += new.at - max(old.at, start)
            delta = _delta(old, new)
            if delta and old.at < start:
                amount += Fraction(delta * (new.at - start), new.at - old.at)
            else:
                amount += delta
    return Counted(amount, covered)


def _delta(old: _Step, new: _Step) -> int:
    restarted = old.boot is not None and new.boot is not None and old.boot != new.boot
    return new.value if restarted else _grown(old.value, new.value)


def errors(looks: Sequence[Look], kind: tuple[int, int, int], start: int, end: int) -> Errors:
    """Errors of one kind (CORRECTED or UNCORRECTED) between start and end.

    The greater of what DRAM and SRAM grew by together and what the total grew by; what only the total
    shows is `unplaced`. Every counter is compared with itself alone, never the total of one look with
    the parts of another: on a card whose total holds more than its parts, a look without the total would
    else make that surplus vanish and come back as new errors. A counter first read counts nothing, as any
    first observation. Where not all looks have all three, the time is cut at those that have, for there
    both ways of counting begin anew, and the greater of each stretch counts.
    """
    cuts = [at for at in _cuts(looks, kind) if start < at < end]
    dram: Fraction | int = 0
    sram: Fraction | int = 0
    unplaced: Fraction | int = 0
    covered = 0
    for low, high in pairwise([start, *cuts, end]):
        placed = [count(_points(looks, where), low, high) for where in kind[:2]]
        total = count(_points(looks, kind[2]), low, high)
        dram += placed[0].amount
        sram += placed[1].amount
        unplaced += max(0, total.amount - placed[0].amount - placed[1].amount)
        covered += max(total.covered_ms, *(one.covered_ms for one in placed))
    return Errors(dram, sram, unplaced, covered)


def _cuts(looks: Sequence[Look], kind: tuple[int, int, int]) -> list[int]:
    """Times of the looks with DRAM, SRAM and total beside one without all of them, oldest first.

    Between looks that all have all three nothing is cut: an error that falls between reading the parts
    and the total of one look would be counted in two stretches.
    """
    whole: dict[int, bool] = {}
    for look in looks:
        whole[look.at] = whole.get(look.at, False) or all(look.aggregate[w] is not None for w in kind)
    times = sorted(whole)
    beside = {at for pair in pairwise(times) if whole[pair[0]] != whole[pair[1]] for at in pair}
    return [at for at in times if whole[at] and at in beside]


def at_most(looks: Sequence[Look]) -> int | None:
    """A cheap upper bound of all errors the looks can show, in whatever window; newest or oldest first.

    None where some counter was not read, for then only `errors` can tell.
    """
    bound = 0
    for one, other in pairwise(looks):
        old, new = (one.aggregate, other.aggregate) if one.at < other.at else (other.aggregate, one.aggregate)
        if None in old or None in new:
            return None
        grown = [_grown(before or 0, after or 0) for before, after in zip(old, new, strict=True)]
        for dram, sram, total in (CORRECTED, UNCORRECTED):
            bound += max(grown[dram] + grown[sram], grown[total])
    return bound


def _grown(before: int, after: int) -> int:
    return after - before if after >= before else after


def _points(looks: Sequence[Look], where: int) -> list[Point]:
    return [Point(look.at, look.boot, look.aggregate[where], look.volatile[where]) for look in looks]
