"""render/text_lists.py: cards, nodes, one card's story, an ingest's outcome."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from lifecycle.render.rows import CardRow, IngestOutcome, NodeRow, StoryEvent
from lifecycle.render.text_lists import card_story, cards_table, ingest_summary, nodes_table
from tests.unit.render import samples

CARD = CardRow(
    uuid="GPU-4fb53fd9-c37e-4a5b-8c6d-4fb53fd9c37e",
    serial="1321337278425",
    name=samples.A100,
    node="gpu-17",
    pci="0000:57:00.0",
    state="in_service",
    verdict="retire",
    first_seen="2025-12-01T00:00:00Z",
    last_seen=samples.READ_AT,
)
BARE = CardRow("GPU-0", None, None, None, None, "enrolled", None, None, None)


def test_cards_are_listed_by_node_and_seat_with_what_is_unknown_marked():
    lines = cards_table([CARD, BARE], width=120).split("\n")
    assert lines[0].split() == ["Node", "Seat", "UUID", "Serial", "Verdict", "State", "Model"]
    assert lines[1].split() == ["-", "-", "GPU-0", "-", "-", "enrolled", "-"]
    assert lines[2].split() == [
        "gpu-17", "0000:57:00.0", "GPU-4fb53fd9", "1321337278425", "retire", "in_service", "A100-SXM4-80GB",
    ]  # fmt: skip
    assert lines[-1] == "2 cards."


def test_nodes_are_listed_by_name():
    rows = [
        NodeRow("b", None, "ok", "ok", "ok", 8, None, samples.READ_AT),
        NodeRow("a", None, None, None, "timed_out", 0, None, None),
    ]
    lines = nodes_table(rows).split("\n")
    assert lines[1].split() == ["a", "-", "-", "timed", "out", "0", "never"]
    assert lines[2].split() == ["b", "ok", "ok", "ok", "8", "2026-11-29", "23:40", "UTC"]


def test_empty_lists_say_so():
    assert cards_table([]) == "No card is known yet."
    assert nodes_table([]) == "No node is known yet."


def test_a_story_is_told_from_its_beginning():
    events = [
        StoryEvent("2026-11-01T00:00:00Z", "transition", "in_service to quarantined", who="anna"),
        StoryEvent("2025-12-01T00:00:00Z", "first_seen", "first seen", node="gpu-17", pci="0000:57:00.0"),
    ]
    assert card_story(CARD, events, width=100).split("\n") == [
        "GPU-4fb53fd9-c37e-4a5b-8c6d-4fb53fd9c37e",
        "A100-SXM4-80GB, serial 1321337278425",
        "gpu-17 0000:57:00.0, in_service, verdict retire",
        "First seen 2025-12-01 00:00 UTC, last seen 2026-11-29 23:40 UTC",
        "",
        "2025-12-01 00:00 UTC  first_seen   first seen [gpu-17 0000:57:00.0]",
        "2026-11-01 00:00 UTC  transition   in_service to quarantined (anna)",
    ]


def test_a_card_without_a_past_says_so():
    told = card_story(BARE, [])
    assert "serial not read" in told
    assert told.endswith("Nothing is recorded about this card.")


def test_events_without_a_readable_time_come_last():
    events = [StoryEvent("?", "run", "later"), StoryEvent("2026-11-01T00:00:00Z", "run", "sooner")]
    told = card_story(CARD, events)
    assert told.index("sooner") < told.index("later")


def test_an_ingest_says_what_was_new_known_and_refused():
    outcome = IngestOutcome(3, 1, refused=[("a.json", "not JSON")], notes=[("", "a note")], nodes=2, cards=16)
    assert ingest_summary(outcome, width=100).split("\n") == [
        "3 new observations of 2 nodes, 1 known already; 16 cards seen for the first time.",
        "Refused  a.json: not JSON",
        "Note     a note",
    ]
    assert ingest_summary(IngestOutcome(0, 4)) == "0 new observations, 4 known already."


@pytest.mark.parametrize("text", samples.HOSTILE)
@pytest.mark.parametrize("width", [40, 80])
def test_hostile_names_stay_on_their_page(text: str, width: int):
    card = CardRow(text, text, text, text, text, text, "rma", text, text)
    pages = [
        cards_table([card], width=width),
        nodes_table([NodeRow(text, text, "ok", "ok", text, 1, text, text)], width=width),
        card_story(card, [StoryEvent(text, text, text, text, text, text)], width=width),
        ingest_summary(IngestOutcome(0, 0, [(text, text)], [(text, text)]), width=width),
    ]
    for page in pages:
        assert all(char.isprintable() or char == "\n" for char in page)
        assert max(cell_len(line) for line in page.split("\n")) <= width
