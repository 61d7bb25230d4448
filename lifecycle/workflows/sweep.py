"""`muster sweep`: read all nodes through Ansible, take the spool in, judge, report.

Order matters. The lock comes first, so that two sweeps never overlap. What was read is in the spool
before it is believed, in the ledger before it is judged, and the sweep itself is recorded before the
report is made: killed at any point, the next run goes on from what is on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lifecycle.adapters import inventory as inventories
from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.lock import hold
from lifecycle.adapters.runner import PlaybookRun, PlayResult, failed
from lifecycle.adapters.settings import Settings
from lifecycle.core.errors import BadInventory
from lifecycle.core.records import SweepRecord
from lifecycle.core.times import iso
from lifecycle.workflows.answer import Answer
from lifecycle.workflows.interrupt import ended_by_signal
from lifecycle.workflows.progress import Progress

if TYPE_CHECKING:
    from lifecycle.workflows.spooled import Taken


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What the user asked for. deadline_s bounds the reading of nodes, not what follows it."""

    inventory: Path
    limit: str | None = None
    policy: str | None = None
    deadline_s: float = 3600.0
    forks: int | None = None


def sweep(settings: Settings, request: SweepRequest, progress: Progress) -> Answer:
    """One sweep from start to report. Raises Locked, BadInventory, RunnerFailed, LedgerUnavailable."""
    inventories.check_exists(request.inventory)
    started = now_ms()
    with (
        hold(settings.sweep_lock, purpose="sweep", now_iso=iso(started)),
        ended_by_signal(),
        _start(settings, request, progress) as run,
    ):
        # Imported while Ansible starts: both take about as long.
        from lifecycle.workflows.judge import judge_nodes, report_of, summary_of, verdict_answer
        from lifecycle.workflows.ledger import opened, policy_for
        from lifecycle.workflows.spooled import drain

        policy = policy_for(settings, request.policy)
        with opened(settings) as ledger:
            result = run.wait(request.deadline_s)
            taken = drain(settings, ledger)
            asked = _asked(settings, request, result)
            record = _record(asked, result, taken, started, policy.sha256)
            ledger.record_sweep(record)
            verdicts = judge_nodes(ledger, policy, as_of=now_ms(), only=asked)
            report = report_of(ledger, verdicts, sweep=summary_of(record))
    return verdict_answer(verdicts, report, incomplete=not record.complete, refused=taken.refused)


def _start(settings: Settings, request: SweepRequest, progress: Progress) -> PlaybookRun:
    done: set[str] = set()

    def on_node(node: str, outcome: str) -> None:
        done.add(node)
        progress(len(done), None, f"Read {node}" if outcome == "ok" else f"{node}: {outcome}")

    return PlaybookRun(
        settings.playbooks / "sweep.yml",
        private_dir=settings.spool / "runner",
        inventory=request.inventory,
        env={"ANSIBLE_CONFIG": str(settings.checkout / "ansible.cfg")},
        # An extra variable outranks the inventory: this sweep drains this spool and no other.
        variables={"muster_spool": str(settings.spool)},
        forks=request.forks,
        limit=request.limit,
        on_node=on_node,
    )


def _asked(settings: Settings, request: SweepRequest, result: PlayResult) -> set[str]:
    """The nodes this sweep was to read. Ansible names them all at its end; cut short, it has to be asked."""
    if result.cut_short:
        env = {"ANSIBLE_CONFIG": str(settings.checkout / "ansible.cfg")}
        named = inventories.nodes_of(request.inventory, limit=request.limit, env=env)
        return set(result.nodes) | set(named)
    if result.no_hosts:
        matching = f" that matches «{request.limit}»." if request.limit else "."
        raise BadInventory(
            f"The inventory {request.inventory} has no node in group {inventories.GROUP}{matching}",
            means="Nothing was read.",
            remedy=f"Put your GPU servers into the group {inventories.GROUP}; see inventory/README.md.",
        )
    if not result.nodes:
        raise failed(result, request.inventory)
    return set(result.nodes)


def _record(
    asked: set[str], result: PlayResult, taken: Taken, started: int, policy_sha256: str
) -> SweepRecord:
    """What was reached; a node nobody read is named with the reason."""
    read = taken.cards_read_since(started)
    reach = taken.reach_since(started)
    not_read = {
        node: reach.get(node) or result.nodes.get(node) or "deadline" for node in sorted(asked - set(read))
    }
    return SweepRecord(
        started_at=started,
        ended_at=now_ms(),
        nodes_asked=len(asked),
        nodes_read=len(asked) - len(not_read),
        cards_read=sum(cards for node, cards in read.items() if node in asked),
        complete=not not_read,
        not_read=not_read,
        policy_sha256=policy_sha256,
    )
