"""How each verdict looks: a sign, two pairs of colours, a terminal style.

The sign alone tells verdicts apart (mail, print, colour-blind readers). From watch to retire colours go
from light to dark in the light scheme and from dark to light in the dark one, so that their order
survives every kind of colour vision. Tests hold them to WCAG 2.2, 1.4.3: contrast of at least 4.5 to 1.
"""

from __future__ import annotations

from typing import NamedTuple

from lifecycle.core.findings import ActionName


class Look(NamedTuple):
    """sign: one ASCII character. light and dark: (background, ink) as #rrggbb. style: for rich."""

    sign: str
    light: tuple[str, str]
    dark: tuple[str, str]
    style: str


LOOKS: dict[ActionName, Look] = {
    "ok": Look(".", ("#d5e8e1", "#1f5a49"), ("#1d3b34", "#9fd3c3"), "green"),
    "unknown": Look("?", ("#ffffff", "#3d4654"), ("#12161d", "#c3cbd6"), "bold"),
    "watch": Look("w", ("#fbe69a", "#4a3a00"), ("#5c4a08", "#ffe9a3"), "yellow"),
    "reset": Look("r", ("#f6b25e", "#3f2200"), ("#8a4b0b", "#ffe8d1"), "yellow"),
    "reboot": Look("b", ("#df7b3c", "#1d0d00"), ("#d27d45", "#1d0d00"), "yellow"),
    "quarantine": Look("Q", ("#c2452d", "#ffffff"), ("#f08c75", "#2b0600"), "red"),
    "rma": Look("M", ("#8c2163", "#ffffff"), ("#f2a7d3", "#3a0626"), "bold magenta"),
    "retire": Look("X", ("#2a1838", "#ffffff"), ("#f4effa", "#2a1838"), "bold reverse red"),
}

PAGE: dict[str, tuple[str, str]] = {
    "page": ("#fbfbfa", "#12161d"),
    "raised": ("#ffffff", "#181d26"),
    "ink": ("#1b222c", "#e6e9ee"),
    "quiet": ("#545e6c", "#a3adba"),
    "line": ("#dde1e6", "#2b323d"),
    "link": ("#1f4e79", "#9cc7f0"),
    "banner": ("#6b4a00", "#f5d58a"),
    "on-banner": ("#fff6dd", "#2b1e00"),
}
"""Colours of the page itself, (light, dark); ink, quiet and link are read on page and on raised."""
