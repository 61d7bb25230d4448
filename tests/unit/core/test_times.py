"""Times in and out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.core.errors import BadArgument
from lifecycle.core.times import iso, parse_iso


@given(st.integers(min_value=0, max_value=4_102_444_800_000))
def test_every_time_the_ledger_keeps_can_be_written_and_read_back(ms: int) -> None:
    assert parse_iso(iso(ms), what="time") == ms


def test_a_time_in_another_zone_is_the_same_moment() -> None:
    assert parse_iso("2026-11-30T01:00:00+01:00", what="--at") == parse_iso(
        "2026-11-30T00:00:00Z", what="--at"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("yesterday", "not an ISO 8601"),
        ("2026-11-30T00:00:00", "no time zone"),
        ("1969-12-31T23:59:59Z", "outside the years"),
        ("9999-12-31T23:59:59.999-12:00", "outside the years"),
        ("0001-01-01T00:00:00+14:00", "outside the years"),
    ],
)
def test_a_time_that_cannot_be_used_is_refused_with_an_example(text: str, why: str) -> None:
    with pytest.raises(BadArgument, match=why) as caught:
        parse_iso(text, what="--as-of")
    assert "--as-of" in caught.value.happened
    assert "2026-11-30T00:00:00Z" in caught.value.remedy
