"""render/as_html.py: the page for people, and what hostile names cannot do to it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle.core.findings import CardVerdict, NodeVerdict, PolicyStamp, Verdicts
from lifecycle.core.report import SweepSummary, build_report
from lifecycle.render.as_html import render_html
from tests.unit.render import samples

VOID = {"meta", "br"}
ATTRIBUTES = {
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "a": {"href", "class", "title", "rel"},
    "span": {"class", "title", "aria-hidden"},
    "p": {"class", "role"},
    "bdi": {"title"},
    "code": {"title"},
    "nav": {"aria-label"},
    "section": {"aria-labelledby"},
    "ol": {"class", "aria-label"},
    "li": {"class", "id"},
    "h2": {"id", "class"},
    "div": {"class"},
    "details": {"class"},
    "dl": {"class"},
    "time": {"datetime"},
    "table": {"class"},
    "th": {"scope", "class"},
    "td": {"class"},
    "b": {"class"},
}
PLAIN = {
    "head", "title", "style", "body", "header", "main", "footer", "h1", "h3", "dt", "dd", "thead", "tbody",
    "tr", "strong", "summary", "br",
}  # fmt: skip


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, texts, and whether every element was closed."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.declarations: list[str] = []
        self.comments: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} is given twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_decl(self, decl: str) -> None:
        self.declarations.append(decl)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def closed(self) -> bool:
        return not self._open

    def every(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def page_of(verdicts: Verdicts, sweep: SweepSummary | None = samples.SWEEP, **options: int) -> str:
    report = build_report(
        verdicts, generated_at=samples.GENERATED_AT, sweep=sweep, pools=samples.POOL_OF, fleet="demo"
    )
    return render_html(report, **options)


def assert_nothing_was_injected(page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag in PLAIN or tag in ATTRIBUTES, f"<{tag}> is no element of ours"
        assert set(attributes) <= ATTRIBUTES.get(tag, set()), f"<{tag}> has {set(attributes)}"
    for link in page.every("a"):
        assert re.match(r"#[a-z0-9-]+$|https://", link["href"] or ""), link
    assert page.closed
    assert page.comments == []
    assert page.declarations == ["DOCTYPE html"]


FLEETS = {
    "healthy": samples.healthy,
    "sick": samples.sick,
    "hostile": samples.hostile,
    "empty": samples.empty,
}


@pytest.mark.parametrize("name", FLEETS)
def test_the_page_holds_only_elements_of_ours(name: str):
    assert_nothing_was_injected(Page(page_of(FLEETS[name](), samples.PARTIAL_SWEEP)))


@pytest.mark.parametrize("name", FLEETS)
def test_every_link_within_the_page_arrives(name: str):
    page = Page(page_of(FLEETS[name](), samples.PARTIAL_SWEEP))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    targets = {link["href"] for link in page.every("a") if (link["href"] or "").startswith("#")}
    assert targets <= {f"#{name}" for name in ids}
    labelled = {attributes["aria-labelledby"] for attributes in page.every("section")}
    assert labelled <= set(ids)


def filled_with(text: str) -> Verdicts:
    """One card of each kind of place on the page, every free text replaced."""
    evil = samples.finding(
        text, "retire", reason=text, remedy=text, source=text, unit=text, observed=text, threshold=text,
        since=text, until=text, id=text,
    )  # fmt: skip
    card = CardVerdict(text, text, text, text, text, text, "retire", text, True, False, [text], [evil, evil])
    dark = CardVerdict(text, text, text, "n2", text, text, "unknown", text, True, False, [text], [])
    watched = CardVerdict(text, text, text, "n3", text, text, "watch", text, False, True, [text], [evil])
    nodes = [
        NodeVerdict(text, "unknown", [evil], text, text, simulated=True),
        NodeVerdict("n2", "ok", [], text),
    ]
    return Verdicts("verdicts/1", text, PolicyStamp(text, text), text, [card, dark, watched], nodes)


def structure(page: str) -> Counter[tuple[str, tuple[str, ...]]]:
    return Counter((tag, tuple(attributes)) for tag, attributes in Page(page).elements)


def filled_page(text: str) -> str:
    report = build_report(
        filled_with(text),
        generated_at=text,
        sweep=SweepSummary(text, text, 2, 1, 1, False, {text: text, "n4": text}),
        pools={text: text, "n2": "pool"},
        fleet=text,
    )
    return render_html(report)


@pytest.mark.parametrize("text", [text for text in samples.HOSTILE if text])
def test_hostile_text_gives_the_same_elements_and_attributes_as_plain_text(text: str):
    assert structure(filled_page(text)) == structure(filled_page("plain"))


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("<>&\"'`=/{}%!-[]\n\x1b")), min_size=1))
def test_no_text_can_add_an_element_an_attribute_or_a_link(text: str):
    page = filled_page(text)
    assert_nothing_was_injected(Page(page))
    page.encode()
    assert all(char.isprintable() or char == "\n" for char in page)


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "{{ 7*7 }}", "&lt;b&gt;", "a\"b'c"])
def test_hostile_text_is_shown_as_it_is(text: str):
    assert text in Page(filled_page(text)).text


def test_only_the_pages_own_style_sheet_is_allowed():
    page = page_of(samples.sick())
    policy = next(
        meta["content"]
        for meta in Page(page).every("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style.group(1).encode()).digest()).decode()
    assert policy == (f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")


def test_the_page_needs_no_network_and_no_script():
    page = page_of(samples.sick())
    assert not re.search(r"url\(|@import|@font-face|<script|<link|<img|\bsrc=|\son\w+=|\sstyle=", page)


def test_an_https_source_is_a_link_and_nothing_else_is():
    links = [link["href"] for link in Page(page_of(samples.sick())).every("a")]
    assert "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/" in links
    for source in ("javascript:alert(1)", "http://example.org/", "data:text/html,x", 'https://"onclick='):
        card = samples.card("n", 0, verdict="rma", findings=[samples.finding("r", "rma", source=source)])
        page = Page(page_of(samples.verdicts([card], [samples.node("n")])))
        assert [link for link in page.every("a") if not (link["href"] or "").startswith("#")] == []


def test_what_stands_between_backticks_is_code_and_still_escaped():
    found = samples.finding("r", "rma", remedy="Run `dcgmi <b>` and `x` now, not `this")
    card = samples.card("n", 0, verdict="rma", findings=[found])
    page = page_of(samples.verdicts([card], [samples.node("n")]))
    assert "Run <code>dcgmi &lt;b&gt;</code> and <code>x</code> now, not `this</span>" in page


def test_cards_of_which_the_same_is_said_share_an_entry_that_all_their_cells_lead_to():
    hot = [samples.card("n", seat, verdict="watch", findings=[samples.HOT]) for seat in range(6)]
    page = Page(page_of(samples.verdicts(hot, [samples.node("n")])))
    cells = [link["href"] for link in page.every("a") if link.get("class") == "cell watch"]
    assert cells == ["#watched-1"] * 6
    assert "n 6 cards 0000:07:00.0 0000:17:00.0" in page.text


@pytest.mark.parametrize("simulated", [True, False])
def test_the_banner_is_there_exactly_when_a_verdict_is_simulated(simulated: bool):
    page = Page(page_of(samples.sick(simulated=simulated)))
    assert ("SIMULATED" in page.text) is simulated
    assert ("(simulated)" in page.text) is simulated


def test_the_page_names_its_language_time_policy_and_engine():
    page = Page(page_of(samples.sick()))
    assert page.every("html") == [{"lang": "en"}]
    assert "GPU fleet demo" in page.text
    assert "As of 2026-11-30 00:00 UTC" in page.text
    assert f"sha256:{samples.POLICY.sha256}" in page.text
    assert "muster 0.1.0" in page.text


def test_headings_leave_out_no_level():
    levels = [int(tag[1]) for tag, _ in Page(page_of(samples.sick())).elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_card_is_a_cell_with_its_verdict_as_class_sign_and_title():
    page = Page(page_of(samples.sick()))
    cells = [a for tag, a in page.elements if tag in ("a", "span") and "S/N" in (a.get("title") or "")]
    assert Counter((cell["class"] or "").removeprefix("cell ") for cell in cells) == {
        "ok": 62, "unknown": 5, "watch": 1, "reset": 1, "quarantine": 1, "rma": 1, "retire": 1,
    }  # fmt: skip
    assert all(
        (cell["title"] or "").startswith((cell["class"] or "").removeprefix("cell ")) for cell in cells
    )


def test_a_cell_that_is_not_ok_leads_to_its_explanation():
    page = page_of(samples.sick(), samples.PARTIAL_SWEEP)
    cell = next(link for link in Page(page).every("a") if link.get("class") == "cell retire")
    assert cell["href"] == "#todo-1"
    entry = page[page.index('<li id="todo-1"') : page.index('<li id="todo-2"')]
    for part in (
        "gpu-a100-01", "0000:57:00.0", "GPU-4fb53fd9", "1321337278425", "A100-SXM4-80GB",
        "137 memory ECC errors", "Drain the node, take the card offline", "ecc-monthly",
        "137 errors/30d (threshold 100)", "2026-10-31 00:00 UTC to 2026-11-30 00:00 UTC", "policy/owner.yml",
        "Also reset: Two rows wait",
    ):  # fmt: skip
        assert part in entry


def test_what_could_not_be_read_says_why_and_since_when():
    text = Page(page_of(samples.sick(), samples.PARTIAL_SWEEP)).text
    assert "gpu-l40s-03 the whole node, 4 cards The node did not answer SSH within 10 s." in text
    assert "Last read 40 d ago, 2026-10-20 08:00 UTC" in text
    assert "gpu-new-01 the node itself the deadline of 600 s passed before it was asked" in text


def test_an_empty_fleet_is_not_called_well():
    text = Page(page_of(samples.empty(), None)).text
    assert "Nothing was read: no card is known yet." in text
    assert "Nothing asks for action" not in text
    assert "Everything the policy needs was read" not in text


def test_a_thousand_nodes_fit_into_three_megabytes_with_the_healthy_ones_folded():
    page = page_of(samples.large(nodes=1_000))
    assert len(page.encode()) < 3_000_000
    assert "975 more nodes, 7,800 cards: all ok" in Page(page).text
    assert page.count('class="node"') == 1_000


def test_a_thousand_sick_nodes_fit_into_three_megabytes_and_say_what_was_left_out():
    cards = [
        samples.card(f"gpu-{number:04d}", seat, verdict="retire", findings=[samples.ECC_MONTHLY] * 3)
        for number in range(1_000)
        for seat in range(8)
    ]
    page = page_of(samples.verdicts(cards, [samples.node(f"gpu-{number:04d}") for number in range(1_000)]))
    assert len(page.encode()) < 3_000_000
    assert "retire ecc-monthly 7,700" in Page(page).text


def test_lists_that_are_cut_say_how_much_is_missing():
    text = Page(page_of(samples.sick(), samples.PARTIAL_SWEEP, entries_max=2)).text
    assert "quarantine card-lost 1" in text
    assert "and 1 more; muster judge --json has them all." in text
