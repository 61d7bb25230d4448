"""The report document: verdicts arranged the way people read them.

Pure assembly: nothing is judged here and nothing is shortened or coloured (that is for `render/`).
A subject that asks for action appears in `todo` once, with all its findings; what could not be read
or proven appears in `not_read`; unread is never counted as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from lifecycle.core.findings import Action, ActionName, CardVerdict, Finding, NodeVerdict, Verdicts
from lifecycle.core.report_model import (
    SEVERITY,
    Age,
    CardCell,
    Gap,
    NodeLine,
    NotRead,
    Pool,
    Report,
    Subject,
    SweepSummary,
    Todo,
)
from lifecycle.core.report_unread import (
    age_seconds,
    card_subject,
    epoch_seconds,
    is_unproven,
    last_read,
    reading_ages,
    reading_gaps,
    seat_order,
    unread_subjects,
)
from lifecycle.core.states import FINAL

__all__ = [
    "SEVERITY",
    "Age",
    "CardCell",
    "Gap",
    "NodeLine",
    "NotRead",
    "Pool",
    "Report",
    "Subject",
    "SweepSummary",
    "Todo",
    "age_seconds",
    "build_report",
    "epoch_seconds",
]


def build_report(
    verdicts: Verdicts,
    *,
    generated_at: str,
    sweep: SweepSummary | None,
    last_complete: SweepSummary | None = None,
    pools: Mapping[str, str] | None = None,
    fleet: str | None = None,
) -> Report:
    """Arrange verdicts as a report.

    generated_at: ISO 8601. sweep: the newest sweep; last_complete defaults to it where it was complete.
    pools: node → pool, where it differs from the verdicts. fleet: a name for the title.
    """
    verdicts = _without_ended(verdicts)
    nodes = _node_lines(verdicts, pools or {})
    todo, watching = _due(verdicts)
    not_read = unread_subjects(verdicts, sweep)
    return Report(
        generated_at=generated_at,
        as_of=verdicts.as_of,
        fleet=fleet,
        policy=verdicts.policy,
        engine=verdicts.engine,
        simulated=any(card.simulated for card in verdicts.cards) or any(n.simulated for n in verdicts.nodes),
        card_counts=_counts(card.verdict for card in verdicts.cards),
        node_counts=_counts(line.worst for pool in nodes for line in pool.nodes),
        pools=nodes,
        todo=todo,
        watching=watching,
        not_read=not_read,
        unproven_cards=sum(1 for card in verdicts.cards if is_unproven(card)),
        gaps=reading_gaps(verdicts.cards),
        ages=reading_ages(verdicts),
        sweep=sweep,
        last_complete=last_complete or (sweep if sweep and sweep.complete else None),
    )


def _without_ended(verdicts: Verdicts) -> Verdicts:
    """Retired and disposed cards that nobody has seen again are history, not part of the fleet."""
    cards = [card for card in verdicts.cards if card.state not in FINAL or card.verdict != "ok"]
    return msgspec.structs.replace(verdicts, cards=cards)


def _counts(found: Iterable[ActionName]) -> dict[ActionName, int]:
    counted = Counter(found)
    return {name: counted[name] for name in SEVERITY}


def _node_lines(verdicts: Verdicts, pools: Mapping[str, str]) -> list[Pool]:
    """Nodes by pool and name; a node known only through its cards is `unknown` itself."""
    own = {node.node: node for node in verdicts.nodes}
    cells: dict[str, list[CardCell]] = {name: [] for name in own}
    for card in sorted(verdicts.cards, key=seat_order):
        cells.setdefault(card.node, []).append(_cell(card, verdicts.as_of))
    grouped: dict[str | None, list[NodeLine]] = {}
    for name in sorted(cells):
        node = own.get(name) or NodeVerdict(name, "unknown", [], reach="not_read")
        grouped.setdefault(pools.get(name, node.pool), []).append(_line(node, cells[name], verdicts.as_of))
    ordered = sorted(grouped, key=lambda pool: (pool is None, pool or ""))
    return [Pool(pool, grouped[pool]) for pool in ordered]


def _cell(card: CardVerdict, as_of: str) -> CardCell:
    age = age_seconds(card.observed_at, as_of)
    return CardCell(card_subject(card), card.verdict, card.state, card.observed_at, age, card.stale)


def _line(node: NodeVerdict, cells: list[CardCell], as_of: str) -> NodeLine:
    worst = SEVERITY[max(Action[v] for v in (node.verdict, *(cell.verdict for cell in cells)))]
    read = last_read(node, [cell.observed_at for cell in cells])
    return NodeLine(node.node, node.verdict, worst, node.reach, read, age_seconds(read, as_of), cells)


def _due(verdicts: Verdicts) -> tuple[list[Todo], list[Todo]]:
    """What asks for action, and what is only watched; both worst first, then by node and seat."""
    entries = [_entry(Subject("node", node.node), node.verdict, node.findings) for node in verdicts.nodes]
    entries += [_entry(card_subject(card), card.verdict, card.findings) for card in verdicts.cards]
    entries.sort(key=_urgency)
    todo = [entry for entry in entries if Action[entry.verdict] >= Action.reset]
    watching = [entry for entry in entries if Action[entry.verdict] < Action.reset and _is_watched(entry)]
    return todo, _together(watching)


def _together(entries: list[Todo]) -> list[Todo]:
    """One entry for the cards of a node that share every word, such as the six hot cards of a hot node."""
    grouped: dict[tuple[object, ...], list[Todo]] = {}
    for entry in entries:
        said = tuple((f.rule, f.action, f.enforce, f.reason, f.remedy) for f in entry.findings)
        grouped.setdefault((entry.verdict, entry.subject.node, entry.subject.kind, said), []).append(entry)
    return [
        msgspec.structs.replace(first, others=[entry.subject for entry in rest])
        for first, *rest in grouped.values()
    ]


def _entry(subject: Subject, verdict: ActionName, findings: list[Finding]) -> Todo:
    """The worst finding first, since it is the reason for the verdict; of equals the one that acts."""
    ranked = sorted(findings, key=lambda f: (-Action[f.action], f.enforce == "observe", f.rule, f.id))
    return Todo(subject, verdict, ranked)


def _urgency(entry: Todo) -> tuple[int, str, bool, str, str]:
    subject = entry.subject
    return (
        -Action[entry.verdict],
        subject.node,
        subject.kind == "card",
        subject.pci or "",
        subject.uuid or "",
    )


def _is_watched(entry: Todo) -> bool:
    return any(Action[finding.action] >= Action.watch for finding in entry.findings)
