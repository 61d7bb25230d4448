"""A ledger of a whole fleet with months of history, and the statements that reading it takes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Engine, event

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming
from tests.bench import papers

CARDS_PER_NODE = 8
Statement = tuple[str, Sequence[Any]]


def fill(url: str, cards: int, months: int = 12, *, counting: bool = True) -> int:
    """Fill a ledger through its own ingest; returns the as-of (epoch ms) a judge would use.

    cards: 8 to a node. counting: every card's ECC counters move every month, so that every observation
    brings 8 new readings; without it they never do. The cards have no NVLinks, to save disk.
    """
    with Ledger.open(url) as ledger:
        ledger.ingest(_incoming(cards // CARDS_PER_NODE, months, counting), now=0)
    return int(papers.at(months - 1).timestamp() * 1000) + 24 * 60 * 60 * 1000


def _incoming(nodes: int, months: int, counting: bool) -> Iterator[Incoming]:
    first = [papers.document(node, 0, links=0) for node in range(nodes)]
    for month in range(months):
        errors = b"%d" % (month if counting else 0)
        for node, document in enumerate(first):
            data = document.replace(papers.stamp(0, node), papers.stamp(month, node))
            data = data.replace(b'_corrected":0', b'_corrected":' + errors)
            yield Incoming(f"{node}/{month}", parse_document(data))


def statements_of_histories(url: str, as_of: int, heat_since: int | None = None) -> list[Statement]:
    """The SELECT statements that `Ledger.histories` sends, with their parameters, in order."""
    sent: list[Statement] = []

    def note(
        _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool
    ) -> None:
        if statement.startswith("SELECT") and not many:
            sent.append((statement, parameters))

    with Ledger.open(url) as ledger:
        event.listen(Engine, "before_cursor_execute", note)
        try:
            for _ in ledger.histories(as_of, heat_since):
                pass
        finally:
            event.remove(Engine, "before_cursor_execute", note)
    return sent


def read_bare(file: str, statements: Sequence[Statement]) -> int:
    """Send the same statements through bare sqlite3, look at every row, and return their number."""
    connection = sqlite3.connect(file)
    rows = 0
    for statement, parameters in statements:
        for _row in connection.execute(statement, parameters):
            rows += 1
    connection.close()
    return rows
