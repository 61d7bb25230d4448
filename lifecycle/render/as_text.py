"""The report for terminals and mails.

Everything the layout itself prints is ASCII, since cron mails in the C locale; only names and reasons
may hold more. Colour repeats what signs and words already say.
"""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from lifecycle.core.findings import Action, ActionName, Finding
from lifecycle.core.report import SEVERITY, Age, NodeLine, NotRead, Pool, Report, Subject, Todo
from lifecycle.render.closing import closing
from lifecycle.render.palette import LOOKS
from lifecycle.render.terminal import Page
from lifecycle.render.text_lists import card_story, cards_table, ingest_summary, nodes_table
from lifecycle.render.visible import age, count, listed, measured, model, period, sentence, visible, when

__all__ = ["card_story", "cards_table", "ingest_summary", "nodes_table", "render_text"]

LIST_ALL_UP_TO = 40
"""Fleets up to this many nodes are listed in full: one terminal page of nodes with the rest of the report."""

SIGNS_MAX = 32
"""Most cards drawn in a node's line; the largest HGX systems hold 16."""

ENTRIES_MAX = 200
"""Most entries per list in a mail; what is left out is counted and the command that lists it is named."""

COLUMN_GAP = 2


def render_text(
    report: Report,
    *,
    width: int = 80,
    colour: bool = False,
    list_all_up_to: int = LIST_ALL_UP_TO,
    entries_max: int = ENTRIES_MAX,
) -> str:
    """The whole report as text, `width` columns wide (at least 40), without a last line end.

    In fleets of more than `list_all_up_to` nodes healthy nodes are counted, not listed.
    """
    page = Page(width, colour)
    _head(page, report)
    if report.pools:
        _map(page, report, list_all_up_to)
    _entries(page, "To do today", report.todo, entries_max, full=True)
    _entries(page, "Watched", report.watching, entries_max, full=False)
    _not_read(page, report, entries_max)
    page.put()
    page.hanging("", closing(report), 0, "bold")
    return page.text()


def _head(page: Page, report: Report) -> None:
    name = f" of {visible(report.fleet)}" if report.fleet else ""
    page.put(Text(f"GPU fleet report{name}, {when(report.as_of)}", style="bold"))
    if report.simulated:
        page.put(Text("SIMULATED: no real card was read for this report.", style="bold reverse"))
    policy = f"{visible(report.policy.name)} {visible(report.policy.sha256[:12])}"
    page.hanging("", f"Policy {policy}, engine {visible(report.engine)}", 0)
    page.hanging("", sweep_line(report), 0)
    page.put()
    page.hanging("Cards  ", _tally(report.card_counts), 0)
    page.hanging("Nodes  ", _tally(report.node_counts), 0)


def sweep_line(report: Report) -> str:
    """When the fleet was last read completely, and what the newest sweep reached."""
    newest, whole = report.sweep, report.last_complete
    if newest is None and whole is None:
        return "No sweep is recorded."
    parts = [f"Last complete sweep {when(whole.ended_at)}" if whole else "No sweep was complete yet"]
    if newest is not None:
        reached = f"{newest.nodes_read:,} of {count(newest.nodes_asked, 'node')}"
        which = "it read" if newest == whole else f"the newest, {when(newest.ended_at)}, read"
        parts.append(f"{which} {reached} and {count(newest.cards_read, 'card')}")
    return "; ".join(parts) + "."


def _tally(counts: dict[ActionName, int]) -> str:
    parts = [f"{counts[name]:,} {name}" for name in SEVERITY if counts[name]]
    return f"{sum(counts.values()):,}: {', '.join(parts)}" if parts else "none"


def _map(page: Page, report: Report, list_all_up_to: int) -> None:
    page.put()
    everything = len(report.nodes) <= list_all_up_to
    rows = [row for pool in report.pools for row in _pool_rows(pool, everything)]
    titles = ("Node", "Verdict", "Cards", "Last read", "Model")
    longest = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    verdict, cards, last = longest[1:4]
    room = page.width - verdict - cards - last - 4 * COLUMN_GAP
    node = min(longest[0], room - room // 3)
    table = Table(box=None, pad_edge=False, padding=(0, COLUMN_GAP, 0, 0), show_edge=False)
    for title, width in zip(titles, (node, verdict, cards, last, room - node), strict=True):
        table.add_column(title, width=width, no_wrap=True, overflow="crop", header_style="")
    for name, *cells, models in rows:
        table.add_row(_cut(name, node), *cells, _cut(models, room - node))
    page.put(table)
    page.put()
    page.hanging("", "  ".join(f"{LOOKS[name].sign} {name}" for name in SEVERITY), 0)


def _cut(text: Text, width: int) -> Text:
    return Text(visible(text.plain, width, absent=""), style=text.style)


def _pool_rows(pool: Pool, everything: bool) -> list[tuple[Text, Text, Text, Text, Text]]:
    """The pool's title, its nodes, and a line for the healthy ones that are only counted."""
    lead, nothing = ("" if pool.name is None else "  "), Text()
    rows = [] if pool.name is None else [(Text(visible(pool.name), "bold"), *(nothing,) * 4)]
    shown = [node for node in pool.nodes if everything or not _healthy(node)]
    for node in shown:
        worst = Text(node.worst, LOOKS[node.worst].style)
        name, last = Text(lead + visible(node.node)), Text(age(node.age_s))
        rows.append((name, worst, _signs(node), last, Text(_models(node))))
    healthy = len(pool.nodes) - len(shown)
    if healthy:
        cards = sum(len(node.cards) for node in pool.nodes) - sum(len(node.cards) for node in shown)
        name = Text(f"{lead}{healthy:,} more {'node' if healthy == 1 else 'nodes'}")
        rows.append((name, Text("ok", LOOKS["ok"].style), Text(count(cards, "card")), nothing, nothing))
    return rows


def _healthy(node: NodeLine) -> bool:
    return node.worst == "ok"


def _signs(node: NodeLine) -> Text:
    signs = Text()
    for cell in node.cards[:SIGNS_MAX]:
        look = LOOKS[cell.verdict]
        signs.append(look.sign, style=look.style)
    if len(node.cards) > SIGNS_MAX:
        signs.append(f" +{len(node.cards) - SIGNS_MAX:,}")
    return signs if node.cards else Text("none")


def _models(node: NodeLine) -> str:
    names = sorted({model(cell.subject.model) for cell in node.cards})
    return listed(names) if len(names) < 3 else f"{len(names)} models"


def subject_line(subject: Subject) -> str:
    """Where it is and what it is: node, PCI address, model."""
    if subject.kind == "node":
        return f"{visible(subject.node)} (node)"
    parts = [visible(subject.node), visible(subject.pci, absent="seat unknown"), model(subject.model)]
    return "  ".join(parts)


def _who(entry: Todo) -> str:
    if not entry.others:
        return subject_line(entry.subject)
    return f"{visible(entry.subject.node)}  {count(1 + len(entry.others), 'card')}"


def _card_line(page: Page, entry: Todo) -> None:
    subject = entry.subject
    if entry.others:
        seats = [visible(card.pci, absent="seat unknown") for card in (subject, *entry.others)]
        page.hanging("Cards ", ", ".join(seats[:SIGNS_MAX]), 4)
    elif subject.kind == "card":
        page.hanging("Card  ", _identity(subject), 4)


def _identity(card: Subject) -> str:
    return f"{visible(card.short_uuid)}  S/N {visible(card.serial, absent='not read')}"


def _entries(page: Page, title: str, entries: list[Todo], entries_max: int, *, full: bool) -> None:
    if not entries and not full:
        return
    page.heading(f"{title} ({len(entries):,})")
    if not entries:
        page.put("  Nothing.")
    for entry in entries[:entries_max]:
        style = LOOKS[entry.verdict].style if Action[entry.verdict] >= Action.reset else ""
        lead = f"{entry.verdict.upper() if full else entry.verdict:<11}"
        page.hanging(lead, _who(entry), 2, style)
        _card_line(page, entry)
        for number, finding in enumerate(entry.findings):
            _finding(page, finding, first=number == 0, full=full)
    _rest(page, len(entries) - entries_max)


def _finding(page: Page, finding: Finding, *, first: bool, full: bool) -> None:
    """The first finding of an entry that asks for action with its evidence, the others in short."""
    note = " (observed only)" if finding.enforce == "observe" else ""
    rule = visible(finding.rule)
    if not first:
        page.hanging("Also  ", f"{finding.action}{note}: {sentence(finding.reason)} [{rule}]", 4)
        return
    page.hanging("Why   ", f"{sentence(finding.reason)}{note}" + ("" if full else f" [{rule}]"), 4)
    page.hanging("Do    ", sentence(finding.remedy), 4)
    if not full:
        return
    seen = measured(finding.observed, finding.threshold, finding.unit)
    evidence = [rule, seen, period(finding.since, finding.until)]
    page.hanging("Rule  ", ", ".join(part for part in evidence if part), 4)
    if finding.source:
        page.hanging("From  ", sentence(finding.source), 4)


def _rest(page: Page, left_out: int) -> None:
    if left_out > 0:
        page.put(f"  ... and {left_out:,} more: muster judge --json lists them all.")


def _not_read(page: Page, report: Report, entries_max: int) -> None:
    stale = [entry for entry in report.ages if entry.stale]
    if not (report.not_read or report.gaps or stale):
        return
    page.heading(f"Not read ({len(report.not_read):,})")
    for entry in report.not_read[:entries_max]:
        _unread(page, entry)
    _rest(page, len(report.not_read) - entries_max)
    for gap in report.gaps[:entries_max]:
        page.hanging(
            "", f"{count(gap.cards, 'card')} without {sentence(gap.reading)} (judged all the same)", 2
        )
    if stale:
        _stale(page, stale)


def _unread(page: Page, entry: NotRead) -> None:
    if entry.is_node:
        with_cards = f", with its {count(len(entry.cards), 'card')}" if entry.cards else ""
        name = f"{visible(entry.node)} (node{with_cards})"
    elif len(entry.cards) == 1:
        name = subject_line(entry.cards[0])
    else:
        name = f"{visible(entry.node)}  {count(len(entry.cards), 'card')}"
    page.hanging(f"{'unread':<11}", name, 2)
    if not entry.is_node and len(entry.cards) == 1:
        page.hanging("Card  ", _identity(entry.cards[0]), 4)
    page.hanging("Why   ", "; ".join(sentence(reason) for reason in entry.reasons), 4)
    if entry.remedy:
        page.hanging("Do    ", sentence(entry.remedy), 4)
    last = age(entry.age_s) + (f" ago, {when(entry.observed_at)}" if entry.age_s is not None else "")
    page.hanging("Last  ", last if last != "never" else "never read", 4)


def _stale(page: Page, stale: list[Age]) -> None:
    cards = sum(len(entry.cards) for entry in stale)
    oldest = max(stale, key=lambda entry: entry.age_s or 0)
    text = f"{count(cards, 'card')} with a stale last reading"
    if oldest.age_s is not None:
        text += f"; the oldest, on {visible(oldest.node)}, is {age(oldest.age_s)} old"
    page.hanging("", text, 2)
