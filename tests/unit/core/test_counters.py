"""Errors in a window: against a brute-force oracle, and the contract's sentences one by one."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.core.counters import (
    CORRECTED,
    SENTINELS,
    UNCORRECTED,
    Counts,
    Look,
    Point,
    at_most,
    clean,
    count,
    errors,
)

values = st.none() | st.integers(0, 50)
points = st.lists(
    st.builds(Point, st.integers(0, 60), st.sampled_from([None, "a", "b"]), values, values),
    max_size=8,
    unique_by=lambda point: point.at,
)


def cells(steps: list[tuple[int, str | None, int]]) -> dict[int, Fraction]:
    """Unit cell of time → errors in it, each interval's spread evenly over its cells."""
    found: dict[int, Fraction] = {}
    steps = sorted(steps, key=lambda step: step[0])
    for i in range(1, len(steps)):
        (t0, boot0, v0), (t1, boot1, v1) = steps[i - 1], steps[i]
        new_load = boot0 is not None and boot1 is not None and boot0 != boot1
        grown = v1 if new_load or v1 < v0 else v1 - v0
        for cell in range(t0, t1):
            found[cell] = Fraction(grown, t1 - t0)
    return found


def oracle(looks: list[Point], start: int, end: int) -> tuple[Fraction, int]:
    """(errors, cells observed): aggregate cells; volatile ones only where no aggregate interval lies."""
    seen = [look for look in looks if look.at <= end]
    aggregate = [(p.at, None, p.aggregate) for p in seen if p.aggregate is not None]
    volatile = [(p.at, p.boot, p.volatile) for p in seen if p.volatile is not None]
    by_cell = cells(aggregate)
    if aggregate:
        first, last = min(t for t, _, _ in aggregate), max(t for t, _, _ in aggregate)
        by_cell |= cells([step for step in volatile if step[0] <= first])
        by_cell |= cells([step for step in volatile if step[0] >= last])
    else:
        by_cell = cells(volatile)
    inside = {cell: errs for cell, errs in by_cell.items() if start <= cell < end}
    return sum(inside.values(), Fraction(0)), len(inside)


@given(points, st.integers(0, 60), st.integers(0, 30))
def test_the_count_is_that_of_the_oracle(looks: list[Point], start: int, length: int) -> None:
    counted = count(looks, start, start + length)
    assert (counted.amount, counted.covered_ms) == oracle(looks, start, start + length)


@given(points, st.integers(0, 60), st.randoms(use_true_random=False))
def test_order_and_duplicates_change_nothing(looks: list[Point], start: int, rng: random.Random) -> None:
    shuffled = looks + looks
    rng.shuffle(shuffled)
    assert count(shuffled, start, start + 30) == count(looks, start, start + 30)


@given(points, st.integers(0, 60), st.integers(0, 60))
def test_a_point_that_was_not_read_changes_nothing(looks: list[Point], start: int, at: int) -> None:
    assert count([*looks, Point(at, "c", None, None)], start, start + 30) == count(looks, start, start + 30)


def agg(at: int, value: int | None, volatile: int | None = None, boot: str | None = None) -> Point:
    return Point(at, boot, value, volatile)


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([agg(5, 900)], 0),
        ([agg(0, 10), agg(30, 110)], 100),
        ([agg(-30, 0), agg(30, 200)], 100),
        ([agg(-30, 0), agg(0, 200), agg(30, 201)], 1),
        ([agg(1, 5000), agg(20, 120)], 120),
        ([agg(1, 10), agg(10, None), agg(20, 50)], 40),
        ([agg(1, None, 50, "a"), agg(20, None, 60, "b")], 60),
        ([agg(1, None, 50, "a"), agg(20, None, 60, "a")], 10),
        ([agg(1, None, 50, None), agg(20, None, 60, "a")], 10),
        # Aggregate readable, then not, then again: counted once, by the aggregate.
        ([agg(1, 100, 5, "a"), agg(10, None, 25, "a"), agg(20, 130, 35, "a")], 30),
        # Aggregate readable only at first: the rest by the volatile counter.
        ([agg(1, 100, 5, "a"), agg(10, 120, 25, "a"), agg(20, None, 40, "a")], 35),
    ],
)
def test_a_window_from_0_to_30_holds(looks: list[Point], expected: int) -> None:
    assert count(looks, 0, 30).amount == expected


def test_a_look_at_the_same_time_counts_once_and_the_higher_value() -> None:
    assert count([agg(1, 0), agg(9, 5), agg(9, 7)], 0, 30).amount == 7


@pytest.mark.parametrize("value", [*sorted(SENTINELS), -1, None, True, 1.0, "7"])
def test_what_is_no_count_is_none(value: object) -> None:
    assert clean(value) is None


def test_a_large_count_is_a_count() -> None:
    assert clean(54_731_746_511) == 54_731_746_511


NONE = Counts(None, None, None, None, None, None)


def look(at: int, counts: Counts) -> Look:
    return Look(at, None, counts, NONE)


def test_dram_and_sram_add_up_and_the_total_is_not_counted_again() -> None:
    looks = [look(0, Counts(0, 0, 0, 0, 0, 0)), look(30, Counts(60, 4, 30, 3, 90, 7))]
    found = errors(looks, CORRECTED, 0, 30)
    assert (found.dram, found.sram, found.unplaced, found.amount) == (60, 30, 0, 90)
    assert errors(looks, UNCORRECTED, 0, 30).amount == 7


def test_a_total_without_its_parts_counts_as_not_placed() -> None:
    looks = [look(0, Counts(None, None, None, None, 10, 0)), look(30, Counts(None, None, None, None, 150, 0))]
    found = errors(looks, CORRECTED, 0, 30)
    assert (found.unplaced, found.amount) == (140, 140)


def test_parts_that_were_read_only_at_times_are_completed_by_the_total() -> None:
    looks = [
        look(0, Counts(10, 0, 0, 0, 10, 0)),
        look(10, Counts(None, 0, 0, 0, 60, 0)),
        look(30, Counts(70, 0, 5, 0, 75, 0)),
    ]
    found = errors(looks, CORRECTED, 0, 30)
    assert (found.dram, found.sram, found.unplaced, found.amount) == (60, 5, 0, 65)


def corrected(at: int, parts: int | None, total: int | None) -> Look:
    return look(at, Counts(parts, 0, None if parts is None else 0, 0, total, 0))


@pytest.mark.parametrize(
    ("looks", "amount"),
    [
        # Only the total counts: the parts stay at 0.
        ([corrected(0, 0, 0), corrected(30, 0, 5000)], 5000),
        # One look has the parts, the other the total: neither has grown against itself.
        ([corrected(0, 0, None), corrected(30, None, 5000)], 0),
        ([corrected(0, None, 5000), corrected(30, 0, None)], 0),
        # A surplus of the total that is not always read is never new.
        ([corrected(0, 0, 5000), corrected(10, 0, None), corrected(30, 0, 5000)], 0),
        # The parts tell the first half, the total the second.
        ([corrected(0, 0, None), corrected(10, 60, 60), corrected(30, None, 120)], 120),
        # An error between reading the parts and the total of one look is one error.
        ([corrected(0, 0, 0), corrected(10, 10, 11), corrected(30, 11, 11)], 11),
    ],
)
def test_parts_and_total_together_lose_nothing_and_invent_nothing(looks: list[Look], amount: int) -> None:
    assert errors(looks, CORRECTED, 0, 30).amount == amount
    bound = at_most(looks)
    assert bound is None or bound >= amount


counts = st.builds(
    lambda dc, du, sc, su: Counts(dc, du, sc, su, dc + sc, du + su), *[st.integers(0, 9) for _ in range(4)]
)


@given(
    st.lists(st.builds(look, st.integers(0, 60), counts), max_size=6, unique_by=lambda one: one.at),
    st.integers(0, 60),
    st.booleans(),
)
def test_the_bound_is_never_below_the_errors(looks: list[Look], start: int, reverse: bool) -> None:
    looks.sort(key=lambda one: one.at, reverse=reverse)
    bound = at_most(looks)
    found = [errors(looks, kind, start, 60).amount for kind in (CORRECTED, UNCORRECTED)]
    assert bound is not None
    assert bound >= sum(found)


def test_there_is_no_bound_where_a_counter_was_not_read() -> None:
    whole, part = Counts(0, 0, 0, 0, 0, 0), Counts(0, 0, None, 0, 0, 0)
    assert at_most([look(0, whole), look(30, part)]) is None


def test_coverage_is_what_two_readings_enclose() -> None:
    looks = [look(6, Counts(0, 0, 0, 0, 0, 0)), look(30, Counts(1, 0, 0, 0, 1, 0))]
    assert errors(looks, CORRECTED, 0, 30).covered_ms == 24
    assert errors(looks[:1], CORRECTED, 0, 30).covered_ms == 0
