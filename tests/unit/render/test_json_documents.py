"""render/as_json.py: the documents other programs read."""

from __future__ import annotations

import json

import msgspec
import pytest

from lifecycle.core.findings import Verdicts
from lifecycle.render.as_json import cards_json, ingest_json, nodes_json, story_json, verdicts_json
from lifecycle.render.rows import CardRow, IngestOutcome, NodeRow, StoryEvent
from tests.unit.render import samples

# Contract 6.3 and 6.6, key by key. What a document has beyond these may only follow them.
DOCUMENT_KEYS = ["schema", "as_of", "policy", "engine", "cards", "nodes"]
CARD_KEYS = [
    "uuid", "serial", "name", "node", "pci", "state", "verdict", "observed_at", "stale", "complete",
    "missing", "findings",
]  # fmt: skip
FINDING_KEYS = [
    "id", "rule", "enforce", "action", "observed", "threshold", "unit", "since", "until", "reason", "remedy",
    "source",
]  # fmt: skip
CARDS_KEYS = ["uuid", "serial", "name", "node", "pci", "state", "verdict", "first_seen", "last_seen"]


def card_row(text: str) -> CardRow:
    return CardRow(text, text, text, text, text, "in_service", "ok", None, None)


def test_verdicts_have_the_keys_of_the_contract_in_its_order():
    document = json.loads(verdicts_json(samples.sick()))
    assert list(document) == DOCUMENT_KEYS
    assert document["schema"] == "verdicts/1"
    assert list(document["policy"]) == ["name", "sha256"]
    card = next(card for card in document["cards"] if card["findings"])
    assert list(card)[: len(CARD_KEYS)] == CARD_KEYS
    assert list(card["findings"][0]) == FINDING_KEYS
    assert list(document["nodes"][0])[:3] == ["node", "verdict", "findings"]


def test_verdicts_read_back_as_what_they_were_but_sorted():
    again = msgspec.json.decode(verdicts_json(samples.sick()), type=Verdicts)
    assert sorted(again.cards, key=lambda card: card.uuid) == sorted(
        (
            msgspec.structs.replace(card, findings=sorted_findings(card.findings))
            for card in samples.sick().cards
        ),
        key=lambda card: card.uuid,
    )
    assert [(card.node, card.pci) for card in again.cards] == sorted(
        (card.node, card.pci) for card in samples.sick().cards
    )


def sorted_findings(findings: list) -> list:
    worst_first = ["retire", "rma", "quarantine", "reboot", "reset", "watch", "unknown", "ok"]
    return sorted(findings, key=lambda finding: worst_first.index(finding.action))


def test_the_order_of_what_comes_in_does_not_change_a_byte():
    verdicts = samples.sick()
    turned = msgspec.structs.replace(verdicts, cards=verdicts.cards[::-1], nodes=verdicts.nodes[::-1])
    assert verdicts_json(turned) == verdicts_json(verdicts)


def test_findings_come_worst_first():
    card = samples.card("n", 0, verdict="retire", findings=[samples.HOT, samples.ECC_MONTHLY])
    document = json.loads(verdicts_json(samples.verdicts([card], [])))
    assert [finding["action"] for finding in document["cards"][0]["findings"]] == ["retire", "watch"]


def test_cards_have_exactly_the_keys_of_the_contract():
    document = json.loads(cards_json([card_row("b"), card_row("a")]))
    assert list(document) == ["schema", "cards"]
    assert document["schema"] == "cards/1"
    assert list(document["cards"][0]) == CARDS_KEYS
    assert [card["uuid"] for card in document["cards"]] == ["a", "b"]


def test_the_other_lists_carry_their_schema():
    row = NodeRow("n", None, "ok", "watch", "ok", 8, None, None)
    assert json.loads(nodes_json([row]))["schema"] == "nodes/1"
    story = json.loads(story_json(card_row("a"), [StoryEvent("2026-01-01T00:00:00Z", "run", "x")]))
    assert (story["schema"], story["card"]["uuid"], story["events"][0]["kind"]) == ("card/1", "a", "run")
    ingest = json.loads(ingest_json(IngestOutcome(1, 2, [("f", "why")], [("g", "what")])))
    assert ingest["refused"] == [{"document": "f", "reason": "why"}]
    assert ingest["notes"] == [{"document": "g", "note": "what"}]


@pytest.mark.parametrize("text", [text for text in samples.HOSTILE if "\ud800" not in text])
def test_a_hostile_name_comes_back_unchanged_and_steers_no_terminal(text: str):
    encoded = cards_json([card_row(text)])
    assert json.loads(encoded)["cards"][0]["node"] == text
    steering = [char for char in encoded.decode() if not char.isprintable() and char != "\n"]
    assert steering == []


def test_a_name_that_is_not_unicode_does_not_stop_the_document():
    assert json.loads(cards_json([card_row("n\ud800")]))["cards"][0]["node"].startswith("n\ufffd")


def test_a_number_that_is_not_finite_is_null():
    finding = samples.finding("r", "watch", observed=float("nan"), threshold=float("inf"))
    document = json.loads(verdicts_json(samples.verdicts([samples.card("n", 0, findings=[finding])], [])))
    assert document["cards"][0]["findings"][0]["observed"] is None
    assert document["cards"][0]["findings"][0]["threshold"] is None
