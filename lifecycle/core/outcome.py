"""From verdicts to the exit code that cron and scripts see (contract 6.2)."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.errors import Exit
from lifecycle.core.findings import Action, CardVerdict, Finding, Verdicts
from lifecycle.core.states import FINAL


def exit_code(verdicts: Verdicts, *, incomplete: bool = False) -> Exit:
    """1 where anything asks for reset or more, else 3 where anything is unknown or was not read, else 0.

    `watch` alone is 0, but not where something was not read as well: a verdict is the worst finding, and
    `watch` is worse than `unknown`, so it would hide what nobody knows. Nothing judged at all is 3: an empty
    answer is not a healthy fleet.
    """
    worst = _worst(card.verdict for card in verdicts.cards)
    node_worst = _worst(node.verdict for node in verdicts.nodes)
    if max(worst, node_worst) >= Action.reset:
        return Exit.ACTION_NEEDED
    unknown = any(_unproven(card) for card in verdicts.cards) or unproven_nodes(verdicts) > 0
    nothing = not verdicts.cards
    if unknown or nothing or incomplete:
        return Exit.INCOMPLETE
    return Exit.WELL


def unproven_nodes(verdicts: Verdicts) -> int:
    """How many nodes have something unread (unread, node-unread, stale …), whatever else is wrong there."""
    return sum(1 for node in verdicts.nodes if node.verdict == "unknown" or _unknown(node.findings))


def _unproven(card: CardVerdict) -> bool:
    """A card not all needed readings of which are there and fresh; of an ended life nothing is needed."""
    lacking = card.state not in FINAL and (not card.complete or card.stale)
    return card.verdict == "unknown" or lacking or _unknown(card.findings)


def _unknown(findings: Iterable[Finding]) -> bool:
    return any(finding.action == "unknown" for finding in findings)


def _worst(names: Iterable[str]) -> Action:
    worst = Action.ok
    for name in names:
        # A verdict this program does not know is treated as quarantine (contract 6.3).
        action = Action.__members__.get(name, Action.quarantine)
        worst = max(worst, action)
    return worst
