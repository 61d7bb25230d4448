"""How much slower is a sweep than ssh itself? Side by side, on real sshd nodes, over cold connections.

    python -m tests.bench.sweep [--small] [--nodes 50] [--crowd 500] [--forks 50] [--repetitions 3]

Writes build/bench/sweep.json and exits 1 where a target is missed; `--small` only shows that it runs.
Needs root: it makes the nodes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.bench.fanouts import CHECKOUT, Bare, Stock, Sweep
from tests.bench.memory import Peak, peak_of
from tests.nodes import Fleet, base_tree, crowd, gpu_crowd, gpu_node, healthy_cards, nodes

RESULT = CHECKOUT / "build" / "bench" / "sweep.json"

# From the issue that asks for the bench.
RATIO_TARGET, RATIO_GOAL = 2.0, 1.5
STOCK_TARGET = 8.0
MEMORY_TARGET_MB = 600


@dataclass
class Measured:
    """Wall seconds of each repetition at one fleet size."""

    nodes: int
    bare: list[float] = field(default_factory=list)
    sweep: list[float] = field(default_factory=list)
    stock: list[float] = field(default_factory=list)
    peak: Peak | None = None

    @property
    def ratio(self) -> float:
        return statistics.median(self.sweep) / statistics.median(self.bare)

    @property
    def stock_ratio(self) -> float | None:
        return statistics.median(self.stock) / statistics.median(self.sweep) if self.stock else None


@dataclass(frozen=True)
class Plan:
    nodes: int
    crowd: int
    forks: int
    repetitions: int
    cards: int


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    plan = Plan(options.nodes, options.crowd, options.forks, options.repetitions, options.cards)
    if options.small:
        plan = Plan(nodes=4, crowd=12, forks=8, repetitions=1, cards=options.cards)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as directory:
        work = Path(directory)
        specs = [gpu_node(f"gpu-{n:03d}", healthy_cards(n, plan.cards)) for n in range(1, plan.nodes + 1)]
        own = _measure(nodes(work / "own", specs), work / "own-runs", plan, stock=True, memory=False)
        seats = gpu_crowd(plan.crowd, plan.cards, base_tree())
        many = _measure(
            crowd(work / "many", plan.crowd, seats), work / "many-runs", plan, stock=False, memory=True
        )
    _write(plan, own, many)
    missed = [] if options.small else _missed(own, many)
    print(_table(plan, own, many))
    for sentence in missed:
        print(f"missed: {sentence}")
    return 1 if missed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="few nodes, once, no target")
    parser.add_argument("--nodes", type=int, default=50, help="nodes of their own")
    parser.add_argument("--crowd", type=int, default=500, help="addresses on one sshd")
    parser.add_argument("--forks", type=int, default=50, help="nodes read at the same time, on either side")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--cards", type=int, default=2, help="cards of each node")
    return parser.parse_args(arguments)


def _measure(
    fleet_block: AbstractContextManager[Fleet], work: Path, plan: Plan, *, stock: bool, memory: bool
) -> Measured:
    with fleet_block as fleet:
        work.mkdir()
        measured = Measured(len(fleet.hosts))
        bare = Bare(fleet, work / "bare", plan.forks)
        sweep = Sweep(fleet, work / "sweep", plan.forks)
        contenders = [(bare, measured.bare), (sweep, measured.sweep)]
        for contender, _ in contenders:
            contender.prepare()
        for repetition in range(plan.repetitions):
            # In turns and in changing order, so that a slow minute of the machine falls on both.
            for contender, times in contenders if repetition % 2 == 0 else reversed(contenders):
                times.append(_timed(fleet, contender))
        if stock:
            slow = Stock(fleet, work / "stock", plan.forks)
            slow.prepare()
            measured.stock.append(_timed(fleet, slow))
        if memory:
            fleet.cool_down()
            measured.peak = peak_of(sweep.command, sweep.environment, str(fleet.control_dir))
    return measured


def _timed(fleet: Fleet, contender: Bare | Sweep | Stock) -> float:
    fleet.cool_down()
    began = time.perf_counter()
    contender()
    took = time.perf_counter() - began
    contender.check()
    print(f"  {type(contender).__name__.lower():6} {len(fleet.hosts):4} nodes {took:8.2f} s", flush=True)
    return took


def _missed(own: Measured, many: Measured) -> list[str]:
    sentences = [
        f"a sweep of {one.nodes} nodes takes {one.ratio:.2f} × the bare fan-out, target ≤ {RATIO_TARGET}"
        for one in (own, many)
        if one.ratio > RATIO_TARGET
    ]
    if own.stock_ratio is not None and own.stock_ratio < STOCK_TARGET:
        sentences.append(
            f"ten stock tasks take {own.stock_ratio:.1f} × a sweep, target at least {STOCK_TARGET}"
        )
    if many.peak is not None and many.peak.pss > MEMORY_TARGET_MB:
        sentences.append(f"the controller takes {many.peak.pss:.0f} MB, target at most {MEMORY_TARGET_MB}")
    return sentences


def _table(plan: Plan, own: Measured, many: Measured) -> str:
    lines = [
        "",
        f"Cold connections, {plan.forks} at a time, {plan.cards} cards a node, "
        f"medians of {plan.repetitions} in turns:",
        f"{'nodes':>6} {'bare fan-out':>14} {'muster sweep':>14} {'ratio':>7}  "
        f"target ≤ {RATIO_TARGET} (goal {RATIO_GOAL})",
    ]
    for one in (own, many):
        bare, sweep = statistics.median(one.bare), statistics.median(one.sweep)
        lines.append(f"{one.nodes:6} {bare:12.2f} s {sweep:12.2f} s {one.ratio:7.2f}")
    if own.stock_ratio is not None:
        lines.append(
            f"Ten stock tasks, {own.nodes} nodes: {own.stock[0]:.2f} s, {own.stock_ratio:.1f} × the sweep "
            f"(target ≥ {STOCK_TARGET:.0f})"
        )
    if many.peak is not None:
        peak = many.peak
        lines.append(
            f"Controller at {many.nodes} nodes: {peak.pss:.0f} MB shared out (target ≤ {MEMORY_TARGET_MB}), "
            f"{peak.rss:.0f} MB as the sum of RSS, largest process {peak.largest:.0f} MB, "
            f"{peak.processes} processes"
        )
    return "\n".join(lines)


def _write(plan: Plan, own: Measured, many: Measured) -> None:
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    sizes = [{**asdict(one), "ratio": one.ratio, "stock_ratio": one.stock_ratio} for one in (own, many)]
    RESULT.write_text(json.dumps({"plan": asdict(plan), "sizes": sizes}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
