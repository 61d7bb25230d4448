"""A card's recorded life, told in sentences."""

from __future__ import annotations

import msgspec

from lifecycle.core.facts import ErrorCounts
from lifecycle.core.findings import CardVerdict
from lifecycle.core.history import MemoryFacts
from lifecycle.core.records import CardStory
from lifecycle.core.records import StoryEvent as Recorded
from lifecycle.core.times import iso
from lifecycle.render.rows import StoryEvent
from lifecycle.render.visible import when

_MEMORY = msgspec.json.Decoder(MemoryFacts)


def events_of(story: CardStory, verdict: CardVerdict | None) -> list[StoryEvent]:
    """Everything recorded, oldest first, then what today's rules find."""
    events = [_told(event) for event in story.events]
    if verdict is not None:
        for finding in verdict.findings:
            at = finding.until or verdict.observed_at or ""
            events.append(StoryEvent(at=at, kind="finding", text=f"{finding.action}: {finding.reason}"))
    return events


def _told(event: Recorded) -> StoryEvent:
    at = iso(event.at)
    if event.transition is not None:
        step = event.transition
        text = f"{step.target_kind}:{step.target} {step.from_state} -> {step.to_state}: {step.reason}"
        return StoryEvent(at=at, kind="transition", text=text, who=step.who)
    if event.kind == "reading":
        return StoryEvent(at=at, kind="reading", text=_counters(event), node=event.node, pci=event.pci)
    text = "first seen" if event.kind == "first_seen" else "seen in another seat"
    return StoryEvent(at=at, kind=event.kind, text=text, node=event.node, pci=event.pci)


def _counters(event: Recorded) -> str:
    memory = _MEMORY.decode(event.memory or "{}")
    parts = [
        f"ECC for life {_counts(memory.ecc.aggregate)}",
        f"since driver load {_counts(memory.ecc.volatile)}",
    ]
    remap = memory.remap
    parts.append(f"rows remapped {_word(remap.correctable)} + {_word(remap.uncorrectable)}")
    for name, flag in (("remap pending", remap.pending), ("remap failure", remap.failure)):
        if flag is True:
            parts.append(name)
    until = f", unchanged until {when(iso(event.until))}" if event.until and event.until != event.at else ""
    return ", ".join(parts) + until


def _counts(counts: ErrorCounts) -> str:
    return f"{_word(counts.total_corrected)} corrected, {_word(counts.total_uncorrected)} uncorrected"


def _word(value: object) -> str:
    return str(value) if isinstance(value, int) else "unread"
