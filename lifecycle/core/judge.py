"""Judging one node and its cards: every rule of the policy over what the ledger remembers.

Same evidence, same policy, same as-of → same verdict: nothing here asks for the time or the world.
"""

from __future__ import annotations

from functools import lru_cache

from lifecycle.core.findings import CardVerdict, Finding, NodeVerdict
from lifecycle.core.history import NodeHistory
from lifecycle.core.policy import Policy
from lifecycle.core.rules import heat
from lifecycle.core.rules.presence import FINAL_STATES
from lifecycle.core.rules.reading import expects_reading, is_stale, missing
from lifecycle.core.rules.view import CardView, NodeView
from lifecycle.core.times import iso
from lifecycle.core.verdict import finding_of, ordered, worst

# Cards of one node share their times; a node has seldom more than a few.
_iso = lru_cache(maxsize=1024)(iso)


def judge_node(history: NodeHistory, policy: Policy, as_of: int) -> tuple[NodeVerdict, list[CardVerdict]]:
    """The verdict on a node and on each of its cards, in the order of the history.

    as_of: epoch ms; what was read after it does not count. Never raises for what a node said: a body
    that does not decode is unread.
    """
    node = NodeView(history, as_of, policy.needs)
    node.heat = heat.assess(node, policy.rules["thermal-sustained"], policy.enabled("node-cooling"))
    findings: list[Finding] = []
    # Of a node whose life has ended nothing is asked any more, as of such a card.
    for settings, rule in () if history.state in FINAL_STATES else policy.node_rules:
        findings += [finding_of(trouble, settings, history.node) for trouble in rule(node, settings)]
    verdict = NodeVerdict(
        node=history.node,
        verdict=worst(findings),
        findings=ordered(findings),
        observed_at=_time(history.observed_at),
        reach=history.reach,
        pool=history.pool,
        simulated=history.simulated,
    )
    judged = [_judge_card(view, policy) for view in node.cards]
    # The views refer to each other; undone, they are freed at once and need no search for cycles.
    node.cards.clear()
    return verdict, judged


def _judge_card(view: CardView, policy: Policy) -> CardVerdict:
    card = view.card
    final = card.state in FINAL_STATES
    if not final:
        view.missing = missing(view)
    findings: list[Finding] = []
    for settings, rule in policy.final_rules if final else policy.card_rules:
        trouble = rule(view, settings)
        if trouble is not None:
            findings.append(finding_of(trouble, settings, card.uuid))
    identity = view.static.identity
    lacking = view.missing
    stale = not final and _stale(view, policy)
    verdict = worst(findings) if findings else "ok"
    if verdict == "ok" and (lacking.needed or stale):
        # Also where the policy switches off the rules that would say so: not knowing is never a pass.
        verdict = "unknown"
    return CardVerdict(
        uuid=card.uuid,
        serial=identity.serial if isinstance(identity.serial, str) else None,
        name=identity.name if isinstance(identity.name, str) else None,
        node=card.node,
        pci=card.pci,
        state=card.state,
        verdict=verdict,
        observed_at=_time(card.last_read_at),
        stale=stale,
        complete=not lacking.needed,
        missing=[*lacking.needed, *lacking.optional],
        findings=ordered(findings) if findings else [],
        simulated=view.node.history.simulated,
    )


def _stale(view: CardView, policy: Policy) -> bool:
    return expects_reading(view) and is_stale(view.card.last_read_at, view.as_of, policy.rules["stale"])


def _time(ms: int | None) -> str | None:
    return None if ms is None else _iso(ms)
