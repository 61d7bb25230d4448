"""`muster cards`, `nodes`, `card`: what the ledger knows, with the verdict it leads to."""

from __future__ import annotations

from lifecycle.adapters.settings import Settings
from lifecycle.core import records
from lifecycle.core.errors import Exit
from lifecycle.core.findings import CardVerdict
from lifecycle.core.times import iso
from lifecycle.render.as_json import cards_json, nodes_json, story_json
from lifecycle.render.rows import CardRow, NodeRow, StoryEvent
from lifecycle.render.text_lists import card_story, cards_table, nodes_table
from lifecycle.workflows.answer import Answer
from lifecycle.workflows.judge import judge_nodes
from lifecycle.workflows.ledger import as_of_ms, opened, policy_for
from lifecycle.workflows.story import events_of


def list_cards(settings: Settings, *, policy: str | None, as_of: str | None) -> Answer:
    """Where every card is, its state and its verdict. Exits 0 whatever the verdicts: it only lists."""
    at = as_of_ms(as_of)
    with opened(settings) as ledger:
        judged = judge_nodes(ledger, policy_for(settings, policy), as_of=at)
        # Two nodes may claim the same UUID; each claim has a verdict of its own.
        verdicts = {(card.uuid, card.node): card for card in judged.cards}
        rows = [_card_row(row, verdicts.get((row.uuid, row.node))) for row in ledger.cards(at)]
    return Answer(
        exit=Exit.WELL,
        text=lambda style: cards_table(rows, width=style.width, colour=style.colour),
        json=lambda: cards_json(rows),
    )


def list_nodes(settings: Settings, *, policy: str | None, as_of: str | None) -> Answer:
    """Every node, when it was last read, and its verdict."""
    at = as_of_ms(as_of)
    with opened(settings) as ledger:
        judged = judge_nodes(ledger, policy_for(settings, policy), as_of=at)
        verdicts = {node.node: node for node in judged.nodes}
        rows = [
            NodeRow(
                node=row.node,
                state=row.state,
                verdict=verdicts[row.node].verdict if row.node in verdicts else None,
                reach=row.reach,
                cards=row.cards,
                first_seen=None,
                last_seen=_iso(row.last_read),
            )
            for row in ledger.nodes(at)
        ]
    return Answer(
        exit=Exit.WELL,
        text=lambda style: nodes_table(rows, width=style.width, colour=style.colour),
        json=lambda: nodes_json(rows),
    )


def tell_card(settings: Settings, wanted: str, *, policy: str | None, as_of: str | None) -> Answer:
    """One card's life in order, ending with its findings. Raises NotFound for an unknown or ambiguous id."""
    at = as_of_ms(as_of)
    with opened(settings) as ledger:
        uuid = ledger.find_card(wanted)
        row = next(row for row in ledger.cards(at) if row.uuid == uuid)
        verdicts = judge_nodes(ledger, policy_for(settings, policy), as_of=at, only={row.node})
        verdict = next((card for card in verdicts.cards if card.uuid == uuid), None)
        events: list[StoryEvent] = events_of(ledger.card_story(uuid, at), verdict)
    card = _card_row(row, verdict)
    return Answer(
        exit=Exit.WELL,
        text=lambda style: card_story(card, events, width=style.width, colour=style.colour),
        json=lambda: story_json(card, events),
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


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)
