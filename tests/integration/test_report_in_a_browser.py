"""The report opened in a real browser: it draws, asks the network for nothing and runs no script."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lifecycle.core.report import build_report
from lifecycle.render.as_html import render_html
from tests.unit.render import samples

CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed"),
]


def chromium(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
    profile = f"--user-data-dir={page.parent / 'profile'}"
    return subprocess.run(
        [str(CHROMIUM), *quiet, profile, *options, f"file://{page}"],
        capture_output=True, text=True, timeout=180, check=True,
    )  # fmt: skip


class Shown(HTMLParser):
    """The text of a page, and whether anything in it could run or load."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        if tag in {"script", "iframe", "object", "embed", "img", "link"} or any(
            n.startswith("on") for n in names
        ):
            self.active.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    report = build_report(samples.hostile(), generated_at="2026-11-30T00:00:00Z", sweep=None)
    path = tmp_path / "report.html"
    path.write_text(render_html(report), encoding="utf-8")
    return path


def test_a_hostile_fleet_is_drawn_and_stays_harmless(page: Path) -> None:
    shown = Shown()
    shown.feed(chromium(page, "--dump-dom").stdout)
    assert "To do today" in "".join(shown.text)
    assert shown.active == []


def test_the_page_is_not_blank(page: Path) -> None:
    picture = page.with_suffix(".png")
    chromium(page, f"--screenshot={picture}", "--window-size=800,600")
    # A blank page of this size compresses to a few kilobytes.
    assert picture.stat().st_size > 10_000
