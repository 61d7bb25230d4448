"""The report as one self-contained page: no script, no network, no file beside it.

Everything shown passes two gates: `visible` (the template environment's finalizer) and Jinja's
autoescape. The page's policy allows its one style sheet by hash and nothing else, so that even markup
that got through could not load or run anything.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lifecycle.core.findings import ActionName
from lifecycle.core.report import SEVERITY, CardCell, NodeLine, Report, Subject, Todo
from lifecycle.render import visible as words
from lifecycle.render.closing import closing
from lifecycle.render.palette import LOOKS, PAGE

LIST_ALL_UP_TO = 60
"""Fleets up to this many nodes are drawn in full; a desktop screen holds about as many. Above it the
healthy nodes of a pool are folded away."""

ENTRIES_MAX = 300
"""Most entries per list; an entry takes up to 3 kB, and the page is to stay below 3 MB."""

CELLS_MAX = 64
"""Most cards drawn per node, four times those of the largest HGX systems."""

FINDINGS_MAX = 12
"""Most findings spelt out per card or node; the whole catalogue has few rules that can hold at once."""

AGES_MAX = 2_000
"""Most rows in the table of ages, one per node and moment of reading."""

AGES_OPEN = 8
"""How many of the oldest readings are shown without unfolding the rest."""

_URL = re.compile(r"(https://[A-Za-z0-9._~:/?#@!$&()*+,;=%-]*[A-Za-z0-9/_=%-])")
_CODE = re.compile(r"`([^`]+)`")


def render_html(
    report: Report, *, list_all_up_to: int = LIST_ALL_UP_TO, entries_max: int = ENTRIES_MAX
) -> str:
    """The whole page. It holds no lone surrogate, so that it can be written as UTF-8."""
    css = _style_sheet()
    anchors = _anchors(report, entries_max)
    return _TEMPLATES.get_template("report.html.j2").render(
        report=report,
        css=css,
        css_hash=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        severity=SEVERITY,
        closing=closing(report),
        everything=len(report.nodes) <= list_all_up_to,
        entries_max=entries_max,
        cells_max=CELLS_MAX,
        ages_open=AGES_OPEN,
        findings_max=FINDINGS_MAX,
        ages_max=AGES_MAX,
        anchor=anchors.get,
        node_anchor=lambda name: anchors.get(Subject("node", name)),
        rest_by_rule=_by_rule(report.todo[entries_max:]),
    )


def _style_sheet() -> str:
    """Palette as custom properties, then the rules; the dark half only where the reader asks for dark."""
    sheet = _LOADER.get_source(_TEMPLATES, "report.css")[0]
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{_properties(1)}}}\n"
    return f"\n{_properties(0)}{dark}{sheet}"


def _properties(scheme: int) -> str:
    page = "".join(f"--{name}:{pair[scheme]};" for name, pair in PAGE.items())
    looks = [
        f".{name}{{--fill:{pair[0]};--sign:{pair[1]}}}\n"
        for name, look in LOOKS.items()
        for pair in [look.dark if scheme else look.light]
    ]
    return f":root{{{page}}}\n{''.join(looks)}"


def _anchors(report: Report, entries_max: int) -> dict[Subject, str]:
    """Where on the page a card or node of the map is explained; the most urgent place wins."""
    found: dict[Subject, str] = {}
    for number, unread in enumerate(report.not_read[:entries_max], 1):
        for subject in (Subject("node", unread.node), *unread.cards):
            found[subject] = f"unread-{number}"
    for prefix, entries in (("watched", report.watching), ("todo", report.todo)):
        for number, entry in enumerate(entries[:entries_max], 1):
            found.update(dict.fromkeys((entry.subject, *entry.others), f"{prefix}-{number}"))
    return found


def _by_rule(entries: list[Todo]) -> list[tuple[str, str, int]]:
    """(verdict, rule, how many) of entries that are only counted, worst first."""
    counted = Counter((entry.verdict, entry.findings[0].rule if entry.findings else "-") for entry in entries)
    order = sorted(counted, key=lambda key: (-SEVERITY.index(key[0]), key[1]))
    return [(verdict, rule, counted[verdict, rule]) for verdict, rule in order]


def _linked(text: str) -> Markup:
    """A source with its https addresses as links; all else is text."""
    link = Markup('<a href="{0}" rel="noreferrer noopener">{0}</a>')
    return _marked(text, _URL, link)


def _prose(text: str) -> Markup:
    """A reason or remedy with what stands between backticks as code."""
    return _marked(text, _CODE, Markup("<code>{0}</code>"))


def _marked(text: str, pattern: re.Pattern[str], markup: Markup) -> Markup:
    """Made harmless, escaped piece by piece, the first group of each match put into the markup."""
    shown, parts, end = words.sentence(text), [], 0
    for found in pattern.finditer(shown):
        parts += [Markup.escape(shown[end : found.start()]), markup.format(found.group(1))]
        end = found.end()
    return Markup("").join([*parts, Markup.escape(shown[end:])])


def _sign(verdict: ActionName) -> str:
    """The verdict's sign; «ok» is a dot in the middle, as type allows it here."""
    return "·" if verdict == "ok" else LOOKS[verdict].sign


def _cell_title(cell: CardCell) -> str:
    """What hovering over a card says."""
    subject = cell.subject
    parts = [
        words.visible(subject.pci, absent="seat unknown"),
        words.model(subject.model),
        words.visible(subject.short_uuid),
        f"S/N {words.visible(subject.serial, absent='not read')}",
    ]
    last = "never read" if cell.age_s is None else f"read {words.age(cell.age_s)} ago"
    stale = ", stale" if cell.stale else ""
    return f"{cell.verdict}: {', '.join(parts)}; {last}{stale}"


def _cells_summary(line: NodeLine) -> str:
    """What a screen reader says before it spells out the cards of a node."""
    counted = Counter(cell.verdict for cell in line.cards)
    tally = ", ".join(f"{counted[name]} {name}" for name in SEVERITY if counted[name])
    return f"{words.count(len(line.cards), 'card')}: {tally}" if line.cards else "no cards"


def _harmless(value: object) -> object:
    """The last gate before autoescape: whatever a template prints is on one line and stays in order."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return words.visible(value, words.TEXT_MAX, absent="")
    return value


_LOADER = PackageLoader("lifecycle.render")
_TEMPLATES = Environment(
    loader=_LOADER,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_harmless,
)
_TEMPLATES.filters.update(
    age=words.age,
    cell_title=_cell_title,
    cells_summary=_cells_summary,
    linked=_linked,
    model=words.model,
    name=words.visible,
    noun=words.count,
    prose=_prose,
    period=lambda finding: words.period(finding.since, finding.until),
    measured=lambda finding: words.measured(finding.observed, finding.threshold, finding.unit),
    sentence=words.sentence,
    sign=_sign,
    when=words.when,
)
