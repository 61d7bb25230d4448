"""From findings to a verdict: the worst action any of them asks for (contract 6.3)."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.findings import Action, ActionName, Finding, finding_id
from lifecycle.core.rules.base import RuleSettings, Trouble
from lifecycle.core.times import iso

SEVERITY: dict[str, int] = {action.name: action.value for action in Action}


def finding_of(trouble: Trouble, settings: RuleSettings, subject: str) -> Finding:
    """The finding a rule's trouble becomes. subject: the card's UUID or the node's name."""
    whom = f"{subject} {trouble.subject}" if trouble.subject else subject
    return Finding(
        id=finding_id(settings.rule, whom),
        rule=settings.rule,
        enforce=settings.enforce,
        action=trouble.action,
        observed=trouble.observed,
        threshold=trouble.threshold,
        unit=trouble.unit,
        since=None if trouble.since is None else iso(trouble.since),
        until=None if trouble.until is None else iso(trouble.until),
        reason=trouble.reason,
        remedy=trouble.remedy,
        source=trouble.source or settings.source,
    )


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first; of equal severity by rule, then by id."""
    return sorted(findings, key=lambda finding: (-SEVERITY[finding.action], finding.rule, finding.id))


def worst(findings: Iterable[Finding]) -> ActionName:
    """`ok` without findings. An unread need is itself a finding («unread»), so it never passes as ok."""
    verdict: ActionName = "ok"
    for finding in findings:
        if SEVERITY[finding.action] > SEVERITY[verdict]:
            verdict = finding.action
    return verdict
