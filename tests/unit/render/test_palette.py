"""render/palette.py: readable by everyone, in light and dark."""

from __future__ import annotations

import pytest

from lifecycle.core.report import SEVERITY
from lifecycle.render.palette import LOOKS, PAGE

SCHEMES = (0, 1)
CONTRAST_AA = 4.5
"""WCAG 2.2, success criterion 1.4.3: text of normal size."""


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2, definition of «relative luminance»)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_black_on_white_has_the_contrast_the_standard_says():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_every_verdict_has_a_look():
    assert tuple(LOOKS) == SEVERITY


@pytest.mark.parametrize("verdict", LOOKS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sign_can_be_read_on_its_colour(verdict: str, scheme: int):
    look = next(look for name, look in LOOKS.items() if name == verdict)
    assert contrast(*(look.light, look.dark)[scheme]) >= CONTRAST_AA


@pytest.mark.parametrize("ground", ["page", "raised"])
@pytest.mark.parametrize("ink", ["ink", "quiet", "link"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_can_be_read_on_the_page(ink: str, ground: str, scheme: int):
    assert contrast(PAGE[ink][scheme], PAGE[ground][scheme]) >= CONTRAST_AA


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_banner_can_be_read(scheme: int):
    assert contrast(PAGE["on-banner"][scheme], PAGE["banner"][scheme]) >= CONTRAST_AA


@pytest.mark.parametrize("scheme", SCHEMES)
def test_lightness_alone_orders_the_verdicts_from_watch_to_retire(scheme: int):
    fills = [
        (look.light, look.dark)[scheme][0] for name, look in LOOKS.items() if name not in ("ok", "unknown")
    ]
    steps = [luminance(fill) for fill in fills]
    assert steps == sorted(steps, reverse=scheme == 0)
    assert len(set(steps)) == len(steps)
