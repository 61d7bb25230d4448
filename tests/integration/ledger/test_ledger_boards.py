"""A board's cards are those that ever showed its serial, and what is decided about it holds for them."""

from __future__ import annotations

from typing import Any

import pytest
from ledger_papers import DAY, END, START, card_named, entry, node_named, paper, row_counts, take

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.errors import Exit, NotFound, Refused
from lifecycle.core.records import TargetKind, Transition

UNREAD = {"unread": "no_data"}


def move(ledger: Ledger, kind: TargetKind, target: str, to: str, at: int = START + DAY) -> Transition:
    return ledger.record_transition(
        at=at, kind=kind, target=target, to_state=to, who="anna", reason="it hums"
    )


def with_serial(name: str, serial: Any) -> dict[str, Any]:
    return entry(name, identity={"uuid": f"GPU-{name}", "serial": serial})


def test_a_boards_transition_holds_for_its_cards_only(ledger: Ledger) -> None:
    two = {"identity": {"uuid": "GPU-b", "serial": "165-a"}}
    take(ledger, paper("gpu-1", START, [entry("a"), two, entry("c")]))
    move(ledger, "board", "165-a", "in_repair")
    assert [card_named(ledger, name).state for name in "abc"] == ["in_repair", "in_repair", "enrolled"]
    assert ledger.state_of("card", "GPU-b") == "in_repair"
    move(ledger, "card", "GPU-b", "spare", START + 2 * DAY)
    assert [card_named(ledger, name).state for name in "ab"] == ["in_repair", "spare"]


def test_a_card_of_a_retired_board_cannot_be_released(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    move(ledger, "board", "165-a", "retired")
    with pytest.raises(Refused, match="card:GPU-a is retired"):
        move(ledger, "card", "GPU-a", "in_service")


@pytest.mark.parametrize("later", [UNREAD, "222", "111222"])
def test_a_retired_board_stays_retired_whatever_its_card_shows_next(ledger: Ledger, later: Any) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", "111")]))
    move(ledger, "board", "111", "retired")
    take(ledger, paper("gpu-1", START + 2 * DAY, [with_serial("a", later)]))
    card = card_named(ledger, "a")
    assert (card.state, card.state_since) == ("retired", START + DAY)
    assert ledger.state_of("card", "GPU-a") == "retired"
    story = ledger.card_story("GPU-a", END)
    assert story.state == "retired"
    assert [event.transition.target for event in story.events if event.transition] == ["111"]
    with pytest.raises(Refused, match="card:GPU-a is retired"):
        move(ledger, "card", "GPU-a", "in_service", START + 3 * DAY)


@pytest.mark.parametrize("first", [UNREAD, "222"])
def test_a_card_that_shows_its_boards_serial_late_belongs_to_it_from_the_beginning(
    ledger: Ledger, first: Any
) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", first)]))
    take(ledger, paper("gpu-1", START + DAY, [with_serial("a", "111")]))
    move(ledger, "board", "111", "retired", START + 2 * DAY)
    assert card_named(ledger, "a").state == "retired"
    assert ledger.state_of("card", "GPU-a") == "retired"


def test_a_card_with_two_serials_is_of_both_boards(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", "111"), with_serial("b", "222")]))
    take(ledger, paper("gpu-1", START + DAY, [with_serial("a", "222"), with_serial("b", "222")]))
    move(ledger, "board", "111", "in_repair", START + DAY)
    move(ledger, "board", "222", "quarantined", START + 2 * DAY)
    assert [card_named(ledger, name).state for name in "ab"] == ["quarantined", "quarantined"]
    assert card_named(ledger, "a", START + DAY).state == "in_repair"


def test_a_card_belongs_to_the_boards_it_had_shown_by_the_time_asked_for(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", UNREAD), with_serial("b", "111")]))
    move(ledger, "board", "111", "quarantined")
    take(ledger, paper("gpu-1", START + 3 * DAY, [with_serial("a", "111"), with_serial("b", "111")]))
    earlier = {card.uuid: card.state for card in node_named(ledger, "gpu-1", START + 2 * DAY).cards}
    assert earlier == {"GPU-a": "enrolled", "GPU-b": "quarantined"}
    assert ledger.card_story("GPU-a", START + 2 * DAY).state == "enrolled"
    assert card_named(ledger, "a").state == "quarantined"


@pytest.mark.parametrize("to", ["in_service", "quarantined"])
@pytest.mark.parametrize("how", [("card", "GPU-b"), ("board", "222")])
def test_a_board_with_a_card_in_a_final_state_is_left_as_it_is(
    ledger: Ledger, url: str, how: tuple[TargetKind, str], to: str
) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", "111"), with_serial("b", "222")]))
    take(ledger, paper("gpu-1", START + 1, [with_serial("a", "111"), with_serial("b", "111")]))
    move(ledger, *how, "retired")
    before = row_counts(url)
    for attempt in (
        lambda: ledger.state_before("board", "111", to),
        lambda: move(ledger, "board", "111", to, START + 2 * DAY),
    ):
        with pytest.raises(Refused, match="card:GPU-b of board:111 is retired, and that is final") as caught:
            attempt()
        assert caught.value.exit == Exit.MISUSE
        assert "Nothing was recorded" in caught.value.means
    assert row_counts(url) == before
    assert [card_named(ledger, name).state for name in "ab"] == ["enrolled", "retired"]


def test_a_board_can_be_retired_after_one_of_its_cards(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", "111"), with_serial("b", "111")]))
    move(ledger, "card", "GPU-b", "retired")
    assert move(ledger, "board", "111", "retired", START + 2 * DAY).from_state == "enrolled"
    assert [card_named(ledger, name).state for name in "ab"] == ["retired", "retired"]
    with pytest.raises(Refused, match=r"^board:111 is retired"):
        move(ledger, "board", "111", "retired", START + 3 * DAY)


def test_asking_for_the_state_before_a_step_records_nothing(ledger: Ledger, url: str) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", "111")]))
    assert ledger.state_before("board", "111", "in_service") == "enrolled"
    assert row_counts(url)["transitions"] == 0
    with pytest.raises(NotFound, match="knows no board «11»"):
        ledger.state_before("board", "11", "in_service")


def test_a_board_shown_only_later_in_its_cards_life_is_known(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [with_serial("a", UNREAD)]))
    take(ledger, paper("gpu-1", START + DAY, [with_serial("a", "111")]))
    assert ledger.state_of("board", "111") == "enrolled"
