"""render/visible.py: the gate that every outside text passes."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.render.visible import (
    HIDDEN,
    NAME_MAX,
    age,
    count,
    listed,
    measured,
    model,
    period,
    visible,
    when,
)

ANY_TEXT = st.text(alphabet=st.characters(), max_size=300)


@given(ANY_TEXT, st.integers(min_value=8, max_value=120))
def test_no_text_keeps_a_character_that_steers_or_exceeds_its_limit(text: str, limit: int):
    shown = visible(text, limit)
    assert len(shown) <= limit
    assert not any(unicodedata.category(char) in HIDDEN for char in shown)
    shown.encode()


@given(ANY_TEXT)
def test_what_was_made_visible_stays_as_it_is(text: str):
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gpu-17", "gpu-17"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("a\nb", "a\\x0ab"),
        ("\u202egnp", "\\u202egnp"),
        ("\U000e0041", "\\U000e0041"),
        ("\u00a0", "\\xa0"),
        ("Zürich µ°", "Zürich µ°"),
        ("", "-"),
        (None, "-"),
    ],
)
def test_a_character_without_a_glyph_is_spelt_out(text: str | None, shown: str):
    assert visible(text) == shown


def test_stacked_marks_are_spelt_out_after_the_second():
    assert visible("x" + "\u0323" * 4) == "x\u0323\u0323\\u0323\\u0323"


def test_long_names_that_differ_at_either_end_stay_different():
    long = "n" * 10_000
    assert len({visible(long + "a"), visible(long + "b"), visible("a" + long + "a")}) == 3
    assert len(visible(long)) == NAME_MAX


def test_an_escape_is_never_cut_in_two():
    assert visible("\x1b" * 100, 20) == "\\x1b\\x1b\\x1b...\\x1b"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, "never"), (0, "0 min"), (7_199, "119 min"), (7_200, "2 h"), (172_799, "47 h"), (172_800, "2 d")],
)
def test_an_age_is_told_in_its_largest_useful_unit(seconds: int | None, shown: str):
    assert age(seconds) == shown


def test_times_are_shown_in_utc_and_what_is_no_time_as_it_is():
    assert when("2026-11-30T01:00:00+01:00") == "2026-11-30 00:00 UTC"
    assert when(None) == "never"
    assert when("\x1bnow") == "\\x1bnow"


def test_a_period_names_the_ends_it_has():
    assert period(None, None) == ""
    assert period("2026-11-01T00:00:00Z", None) == "since 2026-11-01 00:00 UTC"
    assert period(None, "2026-11-01T00:00:00Z") == "until 2026-11-01 00:00 UTC"
    assert period("2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z") == "2026-11-01 00:00 UTC"


def test_a_measurement_is_shown_with_what_it_is_held_against():
    assert measured(137, 100, "errors/30d") == "137 errors/30d (threshold 100)"
    assert measured("550.90", "550.127", "") == "550.90 (expected 550.127)"
    assert measured(0.1 + 0.2, None, "°C") == "0.3 °C"
    assert measured("absent", "present", "presence") == "absent (expected present)"
    assert measured(None, 3, "x") == ""


def test_counts_and_lists_read_like_sentences():
    assert (count(1, "card"), count(0, "card"), count(1496, "card")) == ("1 card", "0 cards", "1,496 cards")
    assert (listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])) == (
        "", "a", "a and b", "a, b and c",
    )  # fmt: skip


def test_the_makers_name_is_left_out_of_models():
    assert (model("NVIDIA L40S"), model("Tesla T4"), model(None)) == ("L40S", "T4", "-")
