"""The one sentence a report ends with."""

from __future__ import annotations

from lifecycle.core.report import Report
from lifecycle.render.visible import count, listed


def closing(report: Report) -> str:
    """What all of it comes to; never says «well» of a fleet that was not read in full."""
    cards, nodes = sum(report.card_counts.values()), sum(report.node_counts.values())
    if not cards:
        return "Nothing was read: no card is known yet."
    asking = _asking(report)
    unproven = _unproven(report)
    if not asking and not unproven:
        watching = sum(1 + len(entry.others) for entry in report.watching)
        watched = f"; {count(watching, 'subject')} watched" if watching else ""
        fleet = f"All {count(cards, 'card')} on {count(nodes, 'node')} were read"
        return f"{fleet} and nothing asks for action{watched}."
    parts = [
        asking or "Nothing asks for action",
        *([f"{unproven} could not be read or proven"] if unproven else []),
    ]
    return "; ".join(parts) + "."


def _asking(report: Report) -> str:
    nodes = sum(1 for entry in report.todo if entry.subject.kind == "node")
    cards = len(report.todo) - nodes
    parts = [count(n, noun) for n, noun in ((cards, "card"), (nodes, "node")) if n]
    verb = "asks" if len(report.todo) == 1 else "ask"
    return f"{listed(parts)} {verb} for action" if parts else ""


def _unproven(report: Report) -> str:
    nodes = sum(1 for entry in report.not_read if entry.is_node)
    cards = report.unproven_cards
    return listed([count(n, noun) for n, noun in ((nodes, "node"), (cards, "card")) if n])
