"""What a ledger holds, for comparing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming

TABLES = ("nodes", "cards", "host_facts", "card_facts", "readings", "observations")


def as_taken_in(file: Path, documents: Iterable[bytes] = ()) -> list[dict[str, Any]]:
    """Every document of a ledger, after `documents` were taken in."""
    with Ledger.open(f"sqlite:///{file}") as ledger:
        ledger.ingest((Incoming("a test", parse_document(one)) for one in documents), now=0)
        with closing(sqlite3.connect(file)) as connection:
            numbers = [number for (number,) in connection.execute("SELECT id FROM observations ORDER BY id")]
        return [json.loads(ledger.document(number)) for number in numbers]


def row_counts(file: Path) -> dict[str, int]:
    with closing(sqlite3.connect(file)) as connection:
        return {table: _count(connection, table) for table in TABLES}


def _count(connection: sqlite3.Connection, table: str) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - from TABLES
    return int(count)


def observed(file: Path) -> list[tuple[str, int]]:
    """(node, epoch ms) of every observation."""
    query = "SELECT name, observed_at FROM observations JOIN nodes ON nodes.id = node_id"
    with closing(sqlite3.connect(file)) as connection:
        return [(name, at) for name, at in connection.execute(query)]
