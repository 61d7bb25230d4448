"""render/as_text.py: the report in a terminal and in a mail."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from lifecycle.core.findings import CardVerdict, NodeVerdict, Verdicts
from lifecycle.core.report import Report, SweepSummary, build_report
from lifecycle.render.as_text import render_text
from lifecycle.render.palette import LOOKS
from tests.unit.render import samples

FLEETS = {
    "healthy": samples.healthy,
    "sick": samples.sick,
    "hostile": samples.hostile,
    "empty": samples.empty,
}
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def report(verdicts: Verdicts, sweep: SweepSummary | None = None) -> Report:
    return build_report(
        verdicts, generated_at=samples.GENERATED_AT, sweep=sweep, pools=samples.POOL_OF, fleet="demo"
    )


def sick_text(**options: int) -> str:
    return render_text(report(samples.sick(), samples.PARTIAL_SWEEP), **options)


def section(text: str, title: str) -> str:
    return next(part for part in text.split("\n\n") if part.startswith(title))


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize("width", [40, 80, 132])
def test_no_line_is_wider_than_the_page(name: str, width: int):
    lines = render_text(report(FLEETS[name]()), width=width).split("\n")
    assert [line for line in lines if cell_len(line) > width] == []


@pytest.mark.parametrize("name", FLEETS)
def test_a_mail_has_no_control_characters_and_no_blanks_at_line_ends(name: str):
    text = render_text(report(FLEETS[name]()))
    assert [char for char in text if not char.isprintable() and char != "\n"] == []
    assert [line for line in text.split("\n") if line != line.rstrip()] == []


def test_the_layout_itself_is_ascii():
    assert render_text(report(samples.healthy(), samples.SWEEP)).isascii()


@pytest.mark.parametrize("name", FLEETS)
def test_colour_adds_nothing_but_colour(name: str):
    coloured = render_text(report(FLEETS[name]()), colour=True)
    assert ANSI.search(coloured)
    unstyled = [line.rstrip() for line in ANSI.sub("", coloured).split("\n")]
    assert unstyled == render_text(report(FLEETS[name]())).split("\n")


def test_every_card_has_its_sign_and_every_sign_is_explained():
    text = sick_text()
    assert "  gpu-a100-01  retire      .....X.w  20 min     A100-SXM4-80GB" in text.split("\n")
    assert "  gpu-l40s-03  unknown     ????      40 d       L40S" in text.split("\n")
    assert ". ok  ? unknown  w watch  r reset  b reboot  Q quarantine  M rma  X retire" in text


def test_an_entry_says_what_why_and_what_to_do_with_its_evidence():
    todo = section(sick_text(), "To do today (5)")
    assert todo.split("\n")[1:13] == [
        "  RETIRE     gpu-a100-01  0000:57:00.0  A100-SXM4-80GB",
        "    Card  GPU-4fb53fd9  S/N 1321337278425",
        "    Why   137 memory ECC errors in the 30 days to as-of (131 corrected, 6",
        "          uncorrected), more than 100.",
        "    Do    Drain the node, take the card offline and propose it for retirement; a",
        "          person confirms.",
        "    Rule  ecc-monthly, 137 errors/30d (threshold 100), 2026-10-31 00:00 UTC to",
        "          2026-11-30 00:00 UTC",
        "    From  Owner's policy, policy/owner.yml. NVIDIA's own rules would ask for",
        "          nothing yet.",
        "    Also  reset: Two rows wait for remapping since 27 November.",
        "          [row-remap-pending]",
    ]


def test_what_only_observes_is_marked():
    observed = samples.finding("new-rule", "watch", enforce="observe")
    verdicts = samples.verdicts(
        [samples.card("n", 0, verdict="watch", findings=[observed])], [samples.node("n")]
    )
    assert "new-rule found something (observed only) [new-rule]" in render_text(report(verdicts))


def test_cards_of_which_the_same_is_said_share_an_entry():
    hot = [samples.card("n", seat, verdict="watch", findings=[samples.HOT]) for seat in range(3)]
    text = render_text(report(samples.verdicts(hot, [samples.node("n")])))
    assert section(text, "Watched (1)").split("\n")[1:3] == [
        "  watch      n  3 cards",
        "    Cards 0000:07:00.0, 0000:17:00.0, 0000:27:00.0",
    ]
    assert text.endswith("3 subjects watched.")


def test_not_read_says_why_since_when_and_what_to_do():
    unread = section(sick_text(), "Not read (3)")
    assert "gpu-l40s-03 (node, with its 4 cards)" in unread
    assert "Last  40 d ago, 2026-10-20 08:00 UTC" in unread
    assert "gpu-new-01 (node)" in unread
    assert "Last  never read" in unread
    assert "2 cards without power.enforced_limit_w: not_supported (judged all the same)" in unread
    assert "4 cards with a stale last reading; the oldest, on gpu-l40s-03, is 40 d old" in unread


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("healthy", "All 72 cards on 12 nodes were read and nothing asks for action."),
        ("empty", "Nothing was read: no card is known yet."),
    ],
)
def test_the_last_line_is_what_it_all_comes_to(name: str, sentence: str):
    assert render_text(report(FLEETS[name]())).split("\n")[-1] == sentence


def test_the_closing_sentence_names_both_what_asks_and_what_is_unproven():
    closing = "4 cards and 1 node ask for action; 2 nodes and 5 cards could not be read or proven."
    assert sick_text(width=100).endswith(closing)


def test_a_fleet_with_an_unread_node_is_never_called_well():
    verdicts = samples.verdicts(
        [samples.card("n", 0)], [samples.node("n"), samples.node("m", reach="unreachable")]
    )
    assert render_text(report(verdicts)).endswith(
        "Nothing asks for action; 1 node could not be read or proven."
    )


def test_a_fleet_with_an_incomplete_card_is_never_called_well():
    incomplete = samples.card("n", 0, complete=False, missing=["ecc.aggregate: timed_out"])
    text = render_text(report(samples.verdicts([incomplete], [samples.node("n")])))
    assert text.endswith("Nothing asks for action; 1 card could not be read or proven.")


def test_watched_cards_are_mentioned_where_all_else_is_well():
    hot = samples.card("n", 0, verdict="watch", findings=[samples.HOT])
    text = render_text(report(samples.verdicts([hot], [samples.node("n")])))
    assert (
        text.split("\n")[-1]
        == "All 1 card on 1 node were read and nothing asks for action; 1 subject watched."
    )


def test_simulated_facts_are_announced_at_the_top():
    announced = "SIMULATED: no real card was read for this report."
    assert render_text(report(samples.sick(simulated=True))).split("\n")[1] == announced
    assert "SIMULATED" not in sick_text()


def test_the_sweeps_are_told_apart():
    assert "No sweep was complete yet; the newest, 2026-11-29 23:42 UTC, read 11 of 13 nodes" in sick_text()
    whole = render_text(report(samples.healthy(), samples.SWEEP), width=100)
    assert "Last complete sweep 2026-11-29 23:40 UTC; it read 12 of 12 nodes and 72 cards." in whole
    assert "No sweep is recorded." in render_text(report(samples.healthy()))


def test_a_large_fleet_lists_only_nodes_that_are_not_well():
    text = render_text(report(samples.large(nodes=2_000)))
    fleet_map = section(text, "Node ")
    assert "1,950 more nodes" in fleet_map
    assert "gpu-r00-07" in fleet_map
    assert "gpu-r00-08" not in text


def test_up_to_the_threshold_every_node_is_listed():
    verdicts = samples.large(nodes=12)
    assert "gpu-r00-08" in render_text(report(verdicts), list_all_up_to=12)
    assert "gpu-r00-08" not in render_text(report(verdicts), list_all_up_to=11)


def test_a_list_that_is_cut_says_how_much_it_left_out_and_where_it_is():
    todo = section(sick_text(entries_max=2), "To do today (5)")
    assert todo.split("\n")[-1] == "  ... and 3 more: muster judge --json lists them all."
    assert "gpu-a100-04" not in todo


def test_markup_in_names_is_shown_not_obeyed():
    assert "[red]markup[/red] [link=file:///etc/passwd]x[/link]" in render_text(
        report(samples.hostile()), width=132
    )


def test_a_node_with_absurdly_many_cards_keeps_its_line():
    cards = [samples.card("n", 0, pci=str(number)) for number in range(10_000)]
    text = render_text(report(samples.verdicts(cards, [samples.node("n")])))
    assert "." * 32 + " +9,968" in text


def test_signs_differ_and_are_single_ascii_characters():
    signs = [look.sign for look in LOOKS.values()]
    assert len(set(signs)) == len(signs)
    assert all(len(sign) == 1 and sign.isascii() for sign in signs)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=80), st.integers(min_value=40, max_value=120))
def test_no_name_or_reason_breaks_the_page(text: str, width: int):
    evil = samples.finding("r", "rma", reason=text, remedy=text, source=text, unit=text, observed=text)
    card = CardVerdict(text, text, text, text, text, text, "rma", text, True, False, [text], [evil])
    node = NodeVerdict(text, "unknown", [], text, text)
    page = render_text(report(samples.verdicts([card], [node])), width=width)
    assert all(char.isprintable() or char == "\n" for char in page)
    assert max(cell_len(line) for line in page.split("\n")) <= width
