"""Changes of state, finding a card, and its story."""

from __future__ import annotations

import pytest
from ledger_papers import DAY, END, START, card_named, entry, node_named, paper, take

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.errors import Exit, NotFound, Refused
from lifecycle.core.records import StoryEvent, TargetKind, Transition


def move(ledger: Ledger, kind: TargetKind, target: str, to: str, at: int = START + DAY) -> Transition:
    return ledger.record_transition(
        at=at, kind=kind, target=target, to_state=to, who="anna", reason="it hums"
    )


def test_a_transition_says_what_it_left(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    assert ledger.state_of("card", "GPU-a") == "enrolled"
    first = move(ledger, "card", "GPU-a", "quarantined")
    second = move(ledger, "card", "GPU-a", "in_service", START + 2 * DAY)
    assert (first.from_state, second.from_state) == ("enrolled", "quarantined")
    assert ledger.state_of("card", "GPU-a") == "in_service"
    card = card_named(ledger, "a")
    assert (card.state, card.state_since) == ("in_service", START + 2 * DAY)


def test_a_state_is_that_of_the_time_asked_for(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    move(ledger, "card", "GPU-a", "quarantined")
    assert card_named(ledger, "a", START + DAY - 1).state == "enrolled"
    assert card_named(ledger, "a", START + DAY).state == "quarantined"


@pytest.mark.parametrize("state", ["quarantined", "retired"])
def test_a_nodes_transition_is_the_nodes_from_its_time_on(ledger: Ledger, state: str) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]), paper("gpu-2", START, [entry("b")]))
    move(ledger, "node", "gpu-1", state)
    assert [node_named(ledger, name).state for name in ("gpu-1", "gpu-2")] == [state, "enrolled"]
    assert node_named(ledger, "gpu-1", START + DAY - 1).state == "enrolled"
    assert [row.state for row in ledger.nodes(END)] == [state, "enrolled"]
    assert ledger.state_of("node", "gpu-1") == state
    assert card_named(ledger, "a").state == "enrolled"


@pytest.mark.parametrize("to", ["in_service", "quarantined", "disposed"])
def test_nothing_leads_out_of_retired(ledger: Ledger, to: str) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    move(ledger, "card", "GPU-a", "retired")
    with pytest.raises(Refused, match="card:GPU-a is retired, and that is final") as caught:
        move(ledger, "card", "GPU-a", to, START + 2 * DAY)
    assert "Nothing was recorded" in caught.value.means
    assert caught.value.exit == Exit.MISUSE
    assert ledger.state_of("card", "GPU-a") == "retired"


@pytest.mark.parametrize(
    ("kind", "target"), [("card", "GPU-zz"), ("node", "gpu-9"), ("board", "999"), ("board", "165")]
)
def test_an_unknown_target_is_not_found(ledger: Ledger, kind: TargetKind, target: str) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    with pytest.raises(NotFound, match=f"The ledger knows no {kind} «{target}»") as caught:
        move(ledger, kind, target, "quarantined")
    assert caught.value.means == "Nothing was recorded."


CARDS = [
    entry("1234-a"),
    entry("1234-b"),
    entry("9-c", identity={"uuid": "GPU-9-c", "serial": "0322518029277"}),
]


@pytest.mark.parametrize(
    ("wanted", "uuid"),
    [
        ("GPU-1234-a", "GPU-1234-a"), ("1234-a", "GPU-1234-a"), ("GPU-9", "GPU-9-c"), ("9", "GPU-9-c"),
        ("165-1234-b", "GPU-1234-b"), ("0322", "GPU-9-c"),
    ],
)  # fmt: skip
def test_a_card_is_found_by_uuid_serial_or_a_beginning(ledger: Ledger, wanted: str, uuid: str) -> None:
    take(ledger, paper("gpu-1", START, CARDS))
    assert ledger.find_card(wanted) == uuid


@pytest.mark.parametrize("wanted", ["GPU-1234", "165", "1234", "GPU"])
def test_an_ambiguous_beginning_names_the_candidates(ledger: Ledger, wanted: str) -> None:
    take(ledger, paper("gpu-1", START, CARDS))
    with pytest.raises(NotFound, match=r"can be [23] cards: GPU-1234-a, GPU-1234-b") as caught:
        ledger.find_card(wanted)
    assert "Nothing was chosen" in caught.value.means
    assert "Give more of the UUID" in caught.value.remedy


def test_a_full_uuid_is_no_beginning_of_another(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("1"), entry("12")]))
    assert ledger.find_card("GPU-1") == "GPU-1"


@pytest.mark.parametrize("wanted", ["", "GPU-7", "%", "_", "165-%", "\x1b[2J", "'; DROP TABLE cards; --"])
def test_what_no_card_begins_with_is_not_found(ledger: Ledger, wanted: str) -> None:
    take(ledger, paper("gpu-1", START, CARDS))
    with pytest.raises(NotFound, match="The ledger knows no card «") as caught:
        ledger.find_card(wanted)
    assert "\x1b" not in str(caught.value)
    assert "`muster cards`" in caught.value.remedy


def test_a_serial_that_was_read_later_finds_the_card_too(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", identity={"uuid": "GPU-a"})]))
    with pytest.raises(NotFound):
        ledger.find_card("165-a")
    take(ledger, paper("gpu-1", START + DAY, [entry("a")]))
    assert ledger.find_card("165") == "GPU-a"
    assert ledger.card_story("165-a", END).serial == "165-a"
    move(ledger, "board", "165-a", "in_repair")
    assert card_named(ledger, "a").state == "in_repair"


def test_a_story_is_told_in_order(ledger: Ledger) -> None:
    for day, errors in enumerate([0, 0, 5]):
        take(ledger, paper("gpu-1", START + day * DAY, [entry("a", errors=errors)]))
    take(ledger, paper("gpu-2", START + 3 * DAY, [entry("a", errors=5, pci="0000:0b:00.0")]))
    move(ledger, "card", "GPU-a", "quarantined", START + DAY + 1)
    story = ledger.card_story("GPU-a", END)
    assert (story.uuid, story.name, story.state) == ("GPU-a", "NVIDIA H100 80GB HBM3", "quarantined")
    assert [_short(event) for event in story.events] == [
        ("first_seen", 0, None, "gpu-1"),
        ("reading", 0, 1, "gpu-1"),
        ("transition", 1, None, None),
        ("reading", 2, 2, "gpu-1"),
        ("moved", 3, None, "gpu-2"),
        ("reading", 3, 3, "gpu-2"),
    ]
    assert story.events[-1].memory is not None
    assert '"dram_corrected":5' in story.events[-1].memory


def _short(event: StoryEvent) -> tuple[str, int, int | None, str | None]:
    until = None if event.until is None else (event.until - START) // DAY
    return event.kind, (event.at - START) // DAY, until, event.node


def test_a_story_ends_at_the_time_asked_for(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]), paper("gpu-2", START + DAY, [entry("a")]))
    move(ledger, "card", "GPU-a", "retired", START + 2 * DAY)
    story = ledger.card_story("GPU-a", START)
    assert [event.kind for event in story.events] == ["first_seen", "reading"]
    assert story.state == "enrolled"


def test_a_document_that_is_not_there_is_not_found(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="no observation 7"):
        ledger.document(7)
