"""`muster cards`, `nodes`, `card`: what the ledger knows, with the verdict it leads to."""

from __future__ import annotations

from typing import cast

from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.settings import Settings
from lifecycle.core import records
from lifecycle.core.errors import Exit, NotFound
from lifecycle.core.findings import Action, ActionName, CardVerdict
from lifecycle.core.times import iso
from lifecycle.render.as_json import cards_json, nodes_json, story_json
from lifecycle.render.rows import CardRow, NodeRow, StoryEvent
from lifecycle.render.text_lists import card_story, cards_table, nodes_table
from lifecycle.workflows.answer import Answer
from lifecycle.workflows.judge import judge_nodes, notes_of
from lifecycle.workflows.ledger import as_of_ms, opened
from lifecycle.workflows.policies import policy_for
from lifecycle.workflows.story import events_of


def list_cards(settings: Settings, *, policy: str | None, as_of: str | None) -> Answer:
    """Where every card is, its state and its verdict. Exits 0 whatever the verdicts: it only lists."""
    at, rules = as_of_ms(as_of), policy_for(settings, policy)
    with opened(settings) as (ledger, taken):
        judged = judge_nodes(ledger, rules, as_of=at)
        # Two nodes may claim the same UUID; each claim has a verdict of its own.
        verdicts = {(card.uuid, card.node): card for card in judged.cards}
        rows = [_card_row(row, verdicts.get((row.uuid, row.node))) for row in ledger.cards(at)]
    return Answer(
        exit=Exit.WELL,
        text=lambda style: cards_table(rows, width=style.width, colour=style.colour),
        json=lambda: cards_json(rows),
        notes=notes_of(taken.refused),
    )


def list_nodes(settings: Settings, *, policy: str | None, as_of: str | None) -> Answer:
    """Every node, when it was last read, and its verdict."""
    at, rules = as_of_ms(as_of), policy_for(settings, policy)
    with opened(settings) as (ledger, taken):
        judged = judge_nodes(ledger, rules, as_of=at)
        verdicts = {node.node: node for node in judged.nodes}
        worst: dict[str, Action] = {}
        for card in judged.cards:
            worst[card.node] = max(worst.get(card.node, Action.ok), Action[card.verdict])
        rows = [
            NodeRow(
                node=row.node,
                state=row.state,
                verdict=verdicts[row.node].verdict if row.node in verdicts else None,
                worst_card=_action_name(worst.get(row.node)),
                reach=row.reach,
                cards=row.cards,
                first_seen=_iso(row.first_seen),
                last_seen=_iso(row.last_read),
            )
            for row in ledger.nodes(at)
        ]
    return Answer(
        exit=Exit.WELL,
        text=lambda style: nodes_table(rows, width=style.width, colour=style.colour),
        json=lambda: nodes_json(rows),
        notes=notes_of(taken.refused),
    )


def tell_card(settings: Settings, wanted: str, *, policy: str | None, as_of: str | None) -> Answer:
    """One card's life in order, ending with its findings. Raises NotFound for an unknown or ambiguous id."""
    at, rules = as_of_ms(as_of), policy_for(settings, policy)
    with opened(settings) as (ledger, taken):
        uuid = ledger.find_card(wanted)
        row = _row_of(ledger, uuid, at)
        verdicts = judge_nodes(ledger, rules, as_of=at, only={row.node})
        verdict = next((card for card in verdicts.cards if card.uuid == uuid), None)
        events: list[StoryEvent] = events_of(ledger.card_story(uuid, at), verdict)
    card = _card_row(row, verdict)
    return Answer(
        exit=Exit.WELL,
        text=lambda style: card_story(card, events, width=style.width, colour=style.colour),
        json=lambda: story_json(card, events),
        notes=notes_of(taken.refused),
    )


def _row_of(ledger: Ledger, uuid: str, at: int) -> records.CardRow:
    for row in ledger.cards(at):
        if row.uuid == uuid:
            return row
    raise NotFound(
        f"The card {uuid} was not known yet on {iso(at)}.",
        means="It was first seen later, so there is no story to tell up to that time.",
        remedy="Leave --as-of out, or give a later time.",
    )


def _card_row(row: records.CardRow, verdict: CardVerdict | None) -> CardRow:
    return CardRow(
        uuid=row.uuid,
        serial=row.serial,
        name=row.name,
        node=row.node,
        pci=row.pci,
        state=row.state,
        verdict=verdict.verdict if verdict else None,
        first_seen=_iso(row.first_seen),
        last_seen=_iso(row.last_seen),
    )


def _action_name(action: Action | None) -> ActionName | None:
    return None if action is None else cast("ActionName", action.name)


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)
