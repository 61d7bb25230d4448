"""Sweeps, and what the nodes answered since one began."""

from __future__ import annotations

from ledger_papers import DAY, START, entry, nameless, paper, take

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.records import NodeRead, SweepRecord


def test_no_sweep_has_been_complete_yet(ledger: Ledger) -> None:
    assert ledger.last_complete_sweep() is None
    ledger.record_sweep(
        SweepRecord(START, START + 1, 2, 1, 8, complete=False, not_read={"gpu-2": "unreachable"})
    )
    assert ledger.last_complete_sweep() is None


def test_the_last_complete_sweep_is_the_one_that_ended_last(ledger: Ledger) -> None:
    first = SweepRecord(START, START + 5, 2, 2, 16, complete=True, policy_sha256="ab")
    later = SweepRecord(START + DAY, START + DAY + 5, 2, 2, 16, complete=True)
    failed = SweepRecord(
        START + 2 * DAY, START + 2 * DAY + 5, 2, 0, 0, complete=False, not_read={"é": "\x1b"}
    )
    for sweep in (later, first, failed):
        ledger.record_sweep(sweep)
    assert ledger.last_complete_sweep() == later


def test_the_newest_sweep_may_be_incomplete(ledger: Ledger) -> None:
    assert ledger.newest_sweep() is None
    complete = SweepRecord(START, START + 5, 2, 2, 16, complete=True)
    failed = SweepRecord(
        START + DAY, START + DAY + 5, 2, 0, 0, complete=False, not_read={"é": "\x1b"}, policy_sha256="ab"
    )
    for sweep in (failed, complete):
        ledger.record_sweep(sweep)
    assert ledger.newest_sweep() == failed


def test_a_node_is_read_since_a_time_where_it_was_observed_then_or_later(ledger: Ledger) -> None:
    take(ledger, paper("gpu-3", START - 1, [entry("c")]), paper("gpu-2", START, [entry("b")]))
    take(ledger, paper("gpu-1", START + DAY, [entry("a"), entry("d")]))
    assert ledger.read_since(START) == {"gpu-1": NodeRead("ok", 2), "gpu-2": NodeRead("ok", 1)}
    assert list(ledger.read_since(START - 1)) == ["gpu-1", "gpu-2", "gpu-3"]
    assert ledger.read_since(START + DAY + 1) == {}


def test_a_readable_observation_wins_over_later_failures(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    take(ledger, paper("gpu-1", START + 1, [entry("a"), entry("b")]))
    take(ledger, paper("gpu-1", START + 2, reach="unreachable", host={}))
    assert ledger.read_since(START) == {"gpu-1": NodeRead("ok", 2)}
    assert ledger.read_since(START + 2) == {"gpu-1": NodeRead("unreachable", 0)}


def test_of_failures_alone_the_newest_counts_in_whatever_order_they_came(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START + 1, reach="timed_out", host={}))
    take(ledger, paper("gpu-1", START, reach="unreachable", host={}))
    assert ledger.read_since(START) == {"gpu-1": NodeRead("timed_out", 0)}


def test_cards_without_a_name_are_not_counted_and_unwell_ones_are(ledger: Ledger) -> None:
    lost = entry("b", read={"outcome": "lost"})
    take(ledger, paper("gpu-1", START, [entry("a"), lost, nameless("0000:0a:00.0", "timed_out")]))
    assert ledger.read_since(START) == {"gpu-1": NodeRead("ok", 2)}
