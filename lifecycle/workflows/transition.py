"""`muster quarantine`, `retire`, `release`: record a change of state. No node is touched."""

from __future__ import annotations

import getpass
from dataclasses import dataclass

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.settings import Settings
from lifecycle.core.errors import BadArgument, Exit
from lifecycle.core.states import LEADS_TO, Target, parse_target
from lifecycle.core.times import iso
from lifecycle.render.as_notice import transition_json
from lifecycle.render.visible import when
from lifecycle.workflows.answer import Answer
from lifecycle.workflows.ledger import opened


@dataclass(frozen=True, slots=True)
class TransitionPlan:
    """What would be recorded, shown before it is."""

    target: Target
    from_state: str
    to_state: str
    reason: str

    @property
    def sentence(self) -> str:
        final = " This is final." if self.to_state == "retired" else ""
        return f"{self.target}: {self.from_state} -> {self.to_state}, because: {self.reason}.{final}"


def plan_transition(settings: Settings, verb: str, target_text: str, reason: str) -> TransitionPlan:
    """Raises BadArgument, NotFound or Refused before anything is written."""
    target = parse_target(target_text)
    if not reason.strip() or not reason.isprintable():
        raise BadArgument(
            "The reason is empty or holds characters that cannot be printed.",
            means="Nothing was recorded.",
            remedy="Say why with --reason: whoever asks in a year finds only that.",
        )
    to_state = LEADS_TO[verb]
    with opened(settings) as (ledger, _taken):
        state = ledger.state_before(target.kind, target.name, to_state)
    return TransitionPlan(target, state, to_state, reason.strip())


def record_transition(settings: Settings, plan: TransitionPlan) -> Answer:
    """Record the plan. The ledger checks the step again, in the same transaction that writes it."""
    with opened(settings) as (ledger, _taken):
        step = ledger.record_transition(
            at=now_ms(),
            kind=plan.target.kind,
            target=plan.target.name,
            to_state=plan.to_state,
            who=getpass.getuser(),
            reason=plan.reason,
        )
    text = (
        f"Recorded at {when(iso(step.at))}: {plan.target} {step.from_state} -> {step.to_state} ({step.who})."
    )
    return Answer(exit=Exit.WELL, text=lambda _style: text, json=lambda: transition_json(step))
