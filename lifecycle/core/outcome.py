"""From verdicts to the exit code that cron and scripts see (contract 6.2)."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.errors import Exit
from lifecycle.core.findings import Action, Verdicts


def exit_code(verdicts: Verdicts, *, incomplete: bool = False) -> Exit:
    """1 where anything asks for reset or more, else 3 where anything is unknown or was not read, else 0.

    `watch` alone is 0. Nothing judged at all is 3: an empty answer is not a healthy fleet.
    """
    worst = _worst(card.verdict for card in verdicts.cards)
    node_worst = _worst(node.verdict for node in verdicts.nodes)
    if max(worst, node_worst) >= Action.reset:
        return Exit.ACTION_NEEDED
    unknown = any(card.verdict == "unknown" for card in verdicts.cards) or any(
        node.verdict == "unknown" for node in verdicts.nodes
    )
    nothing = not verdicts.cards
    if unknown or nothing or incomplete:
        return Exit.INCOMPLETE
    return Exit.WELL


def _worst(names: Iterable[str]) -> Action:
    worst = Action.ok
    for name in names:
        # A verdict this program does not know is treated as quarantine (contract 6.3).
        action = Action.__members__.get(name, Action.quarantine)
        worst = max(worst, action)
    return worst
