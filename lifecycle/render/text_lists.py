"""The list commands as text: cards, nodes, one card's story, an ingest's outcome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from lifecycle.core.findings import ActionName
from lifecycle.core.report import epoch_seconds
from lifecycle.render.palette import LOOKS
from lifecycle.render.rows import CardRow, IngestOutcome, NodeRow, StoryEvent
from lifecycle.render.terminal import Page
from lifecycle.render.visible import count, model, sentence, visible, when

SHORT_MAX = 22
"""Longest node name or serial in a table, in characters."""


def cards_table(rows: Iterable[CardRow], *, width: int = 80, colour: bool = False) -> str:
    """Where every card is, its state and last verdict; sorted by node and seat."""
    ordered = sorted(rows, key=lambda row: (row.node or "", row.pci or "", row.uuid))
    cells = [
        (
            visible(row.node, SHORT_MAX),
            visible(row.pci, SHORT_MAX),
            visible("-".join(row.uuid.split("-")[:2]), SHORT_MAX),
            visible(row.serial, SHORT_MAX),
            _verdict(row.verdict),
            visible(row.state, SHORT_MAX),
            model(row.name),
        )
        for row in ordered
    ]
    titles = ("Node", "Seat", "UUID", "Serial", "Verdict", "State", "Model")
    return _table(titles, cells, "No card is known yet.", count(len(ordered), "card"), width, colour)


def nodes_table(rows: Iterable[NodeRow], *, width: int = 80, colour: bool = False) -> str:
    """Every node with its reach, verdict, cards and last reading; sorted by name."""
    ordered = sorted(rows, key=lambda row: row.node)
    cells = [
        (
            visible(row.node, SHORT_MAX * 2),
            _verdict(row.verdict),
            _verdict(row.worst_card),
            visible(row.reach, SHORT_MAX).replace("_", " "),
            f"{row.cards:,}",
            when(row.last_seen),
        )
        for row in ordered
    ]
    titles = ("Node", "Verdict", "Worst card", "Reach", "Cards", "Last read")
    return _table(titles, cells, "No node is known yet.", count(len(ordered), "node"), width, colour)


def card_story(card: CardRow, events: Sequence[StoryEvent], *, width: int = 80, colour: bool = False) -> str:
    """One card's life, oldest event first; events without a readable time come last."""
    page = Page(width, colour)
    page.put(Text(visible(card.uuid), style="bold"))
    page.hanging("", f"{model(card.name)}, serial {visible(card.serial, absent='not read')}", 0)
    seat = f"{visible(card.node, absent='no node')} {visible(card.pci, absent='(seat unknown)')}"
    page.hanging("", f"{seat}, {visible(card.state)}, verdict {card.verdict or 'not formed'}", 0)
    page.hanging("", f"First seen {when(card.first_seen)}, last seen {when(card.last_seen)}", 0)
    page.put()
    for event in sorted(events, key=lambda event: (epoch_seconds(event.at) is None, epoch_seconds(event.at))):
        place = " ".join(visible(part) for part in (event.node, event.pci) if part)
        who = f" ({visible(event.who)})" if event.who else ""
        said = f"{sentence(event.text)}{who}" + (f" [{place}]" if place else "")
        page.hanging(f"{when(event.at)}  {visible(event.kind, 11):<11}  ", said, 0)
    if not events:
        page.put("Nothing is recorded about this card.")
    return page.text()


def ingest_summary(outcome: IngestOutcome, *, width: int = 80, colour: bool = False) -> str:
    """What was stored, what was there already, and what was refused and why."""
    page = Page(width, colour)
    about = f" of {count(outcome.nodes, 'node')}" if outcome.nodes else ""
    cards = f"; {count(outcome.cards, 'card')} seen for the first time" if outcome.cards else ""
    page.hanging(
        "", f"{count(outcome.new, 'new observation')}{about}, {outcome.known:,} known already{cards}.", 0
    )
    for lead, style, remarks in (("Refused  ", "red", outcome.refused), ("Note     ", "", outcome.notes)):
        for name, what in remarks:
            page.hanging(lead, f"{visible(name)}: {sentence(what)}" if name else sentence(what), 0, style)
    return page.text()


def _verdict(verdict: ActionName | None) -> Text:
    return Text("-") if verdict is None else Text(verdict, style=LOOKS[verdict].style)


def _table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    empty: str,
    total: str,
    width: int,
    colour: bool,
) -> str:
    page = Page(width, colour)
    if not rows:
        page.put(empty)
        return page.text()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold", header_style="")
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    page.put(table)
    page.put()
    page.put(f"{total}.")
    return page.text()
