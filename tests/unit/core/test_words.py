"""Numbers and counts in reasons are right and in good English."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lifecycle.core.quantities import MS_PER_DAY
from lifecycle.core.rules.words import above, counted, days, times


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 cards"), (1, "1 card"), (1.5, "1.5 cards"), (2, "2 cards")]
)
def test_one_is_singular_and_everything_else_plural(count: float, said: str) -> None:
    assert times(count, "card") == said


@pytest.mark.parametrize(("passed", "said"), [(1, "1 day"), (2, "2 days"), (24.14, "24.1 days")])
def test_days_have_at_most_one_decimal_place(passed: float, said: str) -> None:
    assert days(int(passed * MS_PER_DAY)) == said


def test_what_is_above_a_limit_is_never_shown_as_the_limit() -> None:
    assert above(88.04, 88) == 88.04
    assert above(Fraction(1001, 10), 100) == 100.1
    assert above(137, 100) == 137
    assert above(88.01, 87.96) == 88.01


@pytest.mark.parametrize(
    ("value", "limit", "said"),
    [
        (165, 100, "165"),
        (Fraction(1651, 10), 100, "about 165"),
        (Fraction(1004, 10), 100, "about 100.4"),
        (Fraction(150, 1), 100, "about 150"),
    ],
)
def test_a_number_in_proportion_is_about_and_a_whole_one_exact(
    value: Fraction | int, limit: float, said: str
) -> None:
    assert counted(value, limit) == said
