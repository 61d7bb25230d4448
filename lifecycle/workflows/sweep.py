"""`muster sweep`: read all nodes through Ansible, take the spool in, judge, report.

Order matters. The lock comes first, so that two sweeps never overlap. What was read is in the spool
before it is believed, in the ledger before it is judged, and the sweep itself is recorded before the
report is made: killed at any point, the next run goes on from what is on disk. What a sweep reached is
asked of the ledger, so that it does not matter which process took a document in.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lifecycle.adapters import inventory as inventories
from lifecycle.adapters.ansible_env import ansible_env
from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.lock import hold
from lifecycle.adapters.runner import PlaybookRun
from lifecycle.adapters.settings import Settings
from lifecycle.core.times import iso
from lifecycle.workflows.answer import Answer
from lifecycle.workflows.interrupt import ended_by_signal
from lifecycle.workflows.policies import policy_for
from lifecycle.workflows.progress import Progress


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What the user asked for. deadline_s bounds the reading of nodes, not what follows it."""

    inventory: Path
    limit: str | None = None
    policy: str | None = None
    deadline_s: float = 3600.0
    forks: int | None = None


def sweep(settings: Settings, request: SweepRequest, progress: Progress) -> Answer:
    """One sweep from start to report.

    Raises Locked, BadPolicy, BadInventory, RunnerFailed or LedgerUnavailable.
    """
    inventories.check_exists(request.inventory)
    policy = policy_for(settings, request.policy)
    started = now_ms()
    with (
        hold(settings.sweep_lock, purpose="sweep", now_iso=iso(started)),
        ended_by_signal(),
        _start(settings, request, progress) as run,
    ):
        # Imported while Ansible starts: both take about as long.
        from lifecycle.workflows.judge import judge_nodes, report_of, verdict_answer
        from lifecycle.workflows.ledger import opened
        from lifecycle.workflows.reached import note_unreached, recorded_sweep, roster
        from lifecycle.workflows.spooled import drain, tidy

        with opened(settings) as (ledger, leftovers):
            result = run.wait(request.deadline_s)
            taken = drain(settings, ledger)
            asked = roster(settings, request, result, any_read=bool(ledger.read_since(started)))
            note_unreached(ledger, asked, result, started)
            record = recorded_sweep(ledger, asked, request, started, policy.sha256)
            ledger.record_sweep(record)
            tidy(settings)
            verdicts = judge_nodes(ledger, policy, as_of=now_ms(), only=set(asked.nodes))
            report = report_of(ledger, verdicts)
    refused = [*leftovers.refused, *taken.refused]
    incomplete = bool(record.not_read) or not asked.known
    return verdict_answer(verdicts, report, incomplete=incomplete, refused=refused)


def _start(settings: Settings, request: SweepRequest, progress: Progress) -> PlaybookRun:
    done: set[str] = set()

    def on_node(node: str, outcome: str) -> None:
        done.add(node)
        progress(len(done), None, f"Read {node}" if outcome == "ok" else f"{node}: {outcome}")

    return PlaybookRun(
        settings.playbooks / "sweep.yml",
        private_dir=settings.spool / "runner",
        inventory=request.inventory,
        env=ansible_env(settings.checkout, os.environ),
        # An extra variable outranks the inventory: this sweep drains this spool and no other.
        variables={"muster_spool": str(settings.spool)},
        forks=request.forks,
        limit=request.limit,
        on_node=on_node,
    )
