"""States and the verbs that only record."""

from __future__ import annotations

import pytest

from lifecycle.core.errors import BadArgument, Exit, Refused
from lifecycle.core.states import FINAL, LEADS_TO, STATES, Target, check_step, parse_target


def test_the_states_are_those_of_the_contract() -> None:
    assert STATES == (
        "enrolled", "in_service", "quarantined", "in_repair", "validating", "spare", "retired", "disposed",
    )  # fmt: skip


@pytest.mark.parametrize("to_state", sorted(LEADS_TO.values()))
@pytest.mark.parametrize("state", [s for s in STATES if s not in FINAL])
def test_every_recorded_step_is_allowed_from_every_state_that_is_not_final(to_state: str, state: str) -> None:
    assert check_step("card:GPU-1", state, to_state) is None


@pytest.mark.parametrize("to_state", sorted(LEADS_TO.values()))
@pytest.mark.parametrize("state", FINAL)
def test_nothing_leads_out_of_a_final_state(to_state: str, state: str) -> None:
    with pytest.raises(Refused, match=f"card:GPU-1 is {state}") as caught:
        check_step("card:GPU-1", state, to_state)
    assert caught.value.exit == Exit.MISUSE
    assert "Nothing was recorded" in caught.value.means


def test_a_board_step_must_not_seem_to_undo_the_end_of_one_of_its_cards() -> None:
    cards = {"GPU-1": "in_service", "GPU-2": "retired"}
    with pytest.raises(Refused, match="card:GPU-2 of board:7 is retired"):
        check_step("board:7", "enrolled", "in_service", cards)
    assert check_step("board:7", "enrolled", "retired", cards) is None


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("GPU-1234", Target("card", "GPU-1234")),
        ("card:GPU-1234", Target("card", "GPU-1234")),
        ("node:gpu-17", Target("node", "gpu-17")),
        ("board:0322518029277", Target("board", "0322518029277")),
    ],
)
def test_a_target_says_what_it_is(text: str, target: Target) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize("text", ["gpu-17", "1322621001234", "rack:7", "node:", ""])
def test_a_target_that_could_be_anything_is_refused(text: str) -> None:
    with pytest.raises(BadArgument, match="does not say what it is") as caught:
        parse_target(text)
    assert "board:SERIAL" in caught.value.remedy
