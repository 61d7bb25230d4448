"""How much slower is judging a fleet than reading its rows from SQLite? Prints the ratio for growing fleets.

    python -m tests.bench.judge [--small] [--cards 1000 10000 100000] [--months 12] [--turns 3]

Fills a ledger through its own ingest, then measures in turns, each time in a fresh process: `judge_nodes`,
which is what `muster judge` does before it prints, and the SELECT statements it sends, through bare
sqlite3. Both sides are one thread on a warm cache, so CPU seconds are measured: what a quiet machine's clock
would show. The best of the turns counts on either side. Writes build/bench/judge.json and exits 1
where a target is missed; `--small` only shows that it runs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.policy_file import load_policy
from lifecycle.core.quantities import WINDOW_MS
from lifecycle.workflows.judge import judge_nodes
from tests.bench import fleet_ledger

CHECKOUT = Path(__file__).resolve().parents[2]
RESULT = CHECKOUT / "build" / "bench" / "judge.json"

# From the issue that asks for the bench. Linear: seconds per card of the largest fleet against those of the
# next smaller one; the allowance is for the noise of a shared machine, not for growth.
RATIO_TARGET = 4.0
MEMORY_TARGET_MB = 1000.0
GROWTH_TARGET = 1.5


@dataclass(frozen=True)
class Measured:
    """One fleet size: seconds, the judge's peak memory in MB, and what it judged."""

    cards: int
    judge: float
    bare: float
    rows: int
    peak_mb: float
    unwell: int

    @property
    def ratio(self) -> float:
        return self.judge / self.bare

    @property
    def microseconds(self) -> float:
        return self.judge / self.cards * 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if options.measure:
        file, number = Path(options.ledger), options.number
        if options.measure == "fill":
            done = {"as_of": fleet_ledger.fill(f"sqlite:///{file}", number, options.months)}
        else:
            done = _measure_here(options.measure, file, number)
        print(json.dumps(done))
        return 0
    sizes = [80, 400] if options.small else sorted(options.cards)
    turns = 1 if options.small else options.turns
    results = []
    for cards in sizes:
        results.append(_measure(cards, options.months, turns))
        print(_line(results[-1]), flush=True)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps([asdict(one) for one in results], indent=1), encoding="utf-8")
    missed = [] if options.small else _missed(results)
    for sentence in missed:
        print(f"missed: {sentence}")
    return 1 if missed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="few cards, once, no target")
    parser.add_argument("--cards", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--measure", choices=("fill", "judge", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--ledger", help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)  # cards to fill in, or as-of
    return parser.parse_args(arguments)


def _measure(cards: int, months: int, turns: int) -> Measured:
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as directory:
        file = Path(directory) / "ledger.db"
        # A process starts with the peak memory of the one that made it, so this one must stay small.
        filled = _in_fresh_process("fill", file, cards, "--months", str(months))
        as_of = int(filled["as_of"])
        judged, read = [], []
        for _ in range(turns):
            read.append(_in_fresh_process("bare", file, as_of))
            judged.append(_in_fresh_process("judge", file, as_of))
    best = min(judged, key=lambda one: one["seconds"])
    return Measured(
        cards=int(best["cards"]),
        judge=best["seconds"],
        bare=min(one["seconds"] for one in read),
        rows=int(read[0]["rows"]),
        peak_mb=max(one["peak_mb"] for one in judged),
        unwell=int(best["unwell"]),
    )


def _in_fresh_process(what: str, file: Path, number: int, *more: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.judge", "--measure", what]
    command += ["--ledger", str(file), "--number", str(number), *more]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _measure_here(what: str, file: Path, as_of: int) -> dict[str, float]:
    url = f"sqlite:///{file}"
    if what == "bare":
        statements = fleet_ledger.statements_of_histories(url, as_of, as_of - WINDOW_MS)
        began = time.process_time()
        rows = fleet_ledger.read_bare(str(file), statements)
        return {"seconds": time.process_time() - began, "rows": rows}
    policy = load_policy()
    with Ledger.open(url) as ledger:
        began = time.process_time()
        verdicts = judge_nodes(ledger, policy, as_of=as_of)
        seconds = time.process_time() - began
    return {
        "seconds": seconds,
        "cards": len(verdicts.cards),
        "unwell": sum(card.verdict != "ok" for card in verdicts.cards),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }


def _line(one: Measured) -> str:
    return (
        f"{one.cards:7,} cards ({one.rows:,} rows, {one.unwell} unwell): judge {one.judge:.2f} s, bare "
        f"{one.bare:.2f} s, ratio {one.ratio:.2f} (target {RATIO_TARGET}), {one.microseconds:.0f} µs a card, "
        f"peak {one.peak_mb:.0f} MB"
    )


def _missed(results: Sequence[Measured]) -> list[str]:
    largest = results[-1]
    missed = []
    if largest.ratio > RATIO_TARGET:
        missed.append(f"judge / bare is {largest.ratio:.2f} at {largest.cards:,} cards, not {RATIO_TARGET}")
    if largest.peak_mb > MEMORY_TARGET_MB:
        missed.append(f"peak memory is {largest.peak_mb:.0f} MB, not {MEMORY_TARGET_MB:.0f}")
    if len(results) > 1 and largest.microseconds > GROWTH_TARGET * results[-2].microseconds:
        before = results[-2]
        missed.append(f"{largest.microseconds:.0f} µs a card, {before.microseconds:.0f} at {before.cards:,}")
    return missed


if __name__ == "__main__":
    sys.exit(main())
