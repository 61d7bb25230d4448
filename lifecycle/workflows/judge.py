"""`muster judge`: verdicts from the ledger alone, and the way every verdict is answered."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from lifecycle import __version__
from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.settings import Settings
from lifecycle.core.findings import CardVerdict, NodeVerdict, PolicyStamp, Verdicts
from lifecycle.core.judge import judge_node
from lifecycle.core.outcome import exit_code
from lifecycle.core.policy import Policy
from lifecycle.core.quantities import WINDOW_MS
from lifecycle.core.records import Refusal, SweepRecord
from lifecycle.core.report import Report, SweepSummary, build_report
from lifecycle.core.times import iso
from lifecycle.render.as_json import verdicts_json
from lifecycle.render.as_text import render_text
from lifecycle.render.visible import sentence, visible
from lifecycle.workflows.answer import Answer
from lifecycle.workflows.ledger import as_of_ms, opened
from lifecycle.workflows.policies import policy_for


def judge_ledger(settings: Settings, *, policy: str | None, as_of: str | None) -> Answer:
    """Every card and node the ledger knows, judged at `as_of`."""
    at = as_of_ms(as_of)
    rules = policy_for(settings, policy)
    with opened(settings) as (ledger, taken):
        verdicts = judge_nodes(ledger, rules, as_of=at)
        report = report_of(ledger, verdicts)
    return verdict_answer(verdicts, report, refused=taken.refused)


def judge_nodes(
    ledger: Ledger, policy: Policy, *, as_of: int, only: Collection[str] | None = None
) -> Verdicts:
    """Judge the whole ledger, or the nodes named in `only`; a moved card is judged where it is now."""
    cards: list[CardVerdict] = []
    nodes: list[NodeVerdict] = []
    with _without_cycle_collection():
        for history in ledger.histories(as_of, heat_since=as_of - WINDOW_MS):
            if only is not None and history.node not in only:
                continue
            node, its_cards = judge_node(history, policy, as_of)
            nodes.append(node)
            cards += its_cards
    return Verdicts(
        schema="verdicts/1",
        as_of=iso(as_of),
        policy=PolicyStamp(policy.name, policy.sha256),
        engine=__version__,
        cards=cards,
        nodes=nodes,
    )


@contextmanager
def _without_cycle_collection() -> Iterator[None]:
    """Histories and verdicts hold no reference cycles; searching them for some took a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def report_of(ledger: Ledger, verdicts: Verdicts) -> Report:
    """The report document, with the newest sweep and the last complete one from the ledger."""
    newest, last = ledger.newest_sweep(), ledger.last_complete_sweep()
    return build_report(
        verdicts,
        generated_at=iso(now_ms()),
        sweep=summary_of(newest) if newest else None,
        last_complete=summary_of(last) if last else None,
    )


def summary_of(record: SweepRecord) -> SweepSummary:
    """A recorded sweep as the report shows it."""
    return SweepSummary(
        started_at=iso(record.started_at),
        ended_at=iso(record.ended_at),
        nodes_asked=record.nodes_asked,
        nodes_read=record.nodes_read,
        cards_read=record.cards_read,
        complete=record.complete,
        not_read=dict(record.not_read),
    )


def verdict_answer(
    verdicts: Verdicts, report: Report, *, incomplete: bool = False, refused: Sequence[Refusal] = ()
) -> Answer:
    """Text or `verdicts/1`, with the exit code cron sees. A refused document makes it incomplete."""

    return Answer(
        exit=exit_code(verdicts, incomplete=incomplete or bool(refused) or report.unproven_cards > 0),
        text=lambda style: render_text(report, width=style.width, colour=style.colour),
        json=lambda: verdicts_json(verdicts),
        notes=notes_of(refused),
    )


def notes_of(refused: Sequence[Refusal]) -> tuple[str, ...]:
    """A sentence for every document that could not be taken in; names and reasons made harmless."""
    return tuple(f"Refused {visible(one.origin)}: {sentence(one.why)}" for one in refused)
