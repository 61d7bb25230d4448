"""How much slower is an ingest than SQLite itself? Prints the ratio; exits 1 where it misses its target.

    python tests/bench/ledger.py [NODES]

Both sides write the same rows with the same keys and the same durability, in turns, in one run: the ledger
from the documents' bytes (check, split, look up, write, commit), bare sqlite3 with `executemany` from
tuples that are ready in memory. Times are wall times; the best of the turns counts on either side.
"""

from __future__ import annotations

import gc
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming
from tests.bench import papers

NODES = 1000
TURNS = 3
TARGET = 3.0
TABLES = ("nodes", "cards", "host_facts", "card_facts", "readings", "observations")


def main(nodes: int) -> int:
    documents = list(papers.fleet(nodes, 1))
    print(f"{nodes} documents of {len(documents[0][1]):,} bytes, 8 cards each")
    with tempfile.TemporaryDirectory() as directory:
        ratio = _compare(Path(directory), documents)
        _print_unchanged(Path(directory), documents)
    print(f"ingest / bare executemany: {ratio:.2f} (target: at most {TARGET})")
    return 0 if ratio <= TARGET else 1


def _compare(directory: Path, documents: list[tuple[str, bytes]]) -> float:
    ledger_times, bare_times = [], []
    for turn in range(TURNS):
        file = directory / f"ledger-{turn}.db"
        Ledger.open(f"sqlite:///{file}").close()
        ledger_times.append(_timed(partial(_ingest, file, documents)))
        ddl, rows = _everything(file)
        bare_file = directory / f"bare-{turn}.db"
        bare = _bare(bare_file, ddl)
        bare_times.append(_timed(partial(_write, bare, rows)))
        bare.close()
    for table in TABLES:
        print(f"  {table}: {len(rows[table]):,} rows")
    print(f"  database: {file.stat().st_size / 1e6:.1f} MB, bare {bare_file.stat().st_size / 1e6:.1f} MB")
    print(f"  ledger {min(ledger_times):.3f} s, bare {min(bare_times):.3f} s")
    return min(ledger_times) / min(bare_times)


def _print_unchanged(directory: Path, documents: list[tuple[str, bytes]]) -> None:
    """The same documents again, and the same readings a minute later: what repetition costs."""
    file = directory / "ledger-0.db"
    before = {table: len(rows) for table, rows in _everything(file)[1].items()}
    print(f"  same documents again: {_timed(partial(_ingest, file, documents)):.3f} s")
    later = [(origin, data.replace(b"T02:00:", b"T02:01:", 1)) for origin, data in documents]
    print(f"  unchanged readings, another time: {_timed(partial(_ingest, file, later)):.3f} s")
    after = {table: len(rows) for table, rows in _everything(file)[1].items()}
    grown = {table: after[table] - before[table] for table in TABLES if after[table] != before[table]}
    print(f"  rows that added: {grown}")


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _ingest(file: Path, documents: list[tuple[str, bytes]]) -> None:
    with Ledger.open(f"sqlite:///{file}") as ledger:
        ledger.ingest((Incoming(origin, parse_document(data)) for origin, data in documents), now=0)


def _everything(file: Path) -> tuple[list[str], dict[str, list[tuple[object, ...]]]]:
    """The statements that make the tables and keys, and all rows."""
    connection = sqlite3.connect(file)
    ddl = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}  # noqa: S608 - names from TABLES
    connection.close()
    return ddl, rows


def _bare(file: Path, ddl: list[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    for statement in ddl:
        connection.execute(statement)
    return connection


def _write(connection: sqlite3.Connection, rows: dict[str, list[tuple[object, ...]]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for table in TABLES:
        marks = ",".join("?" * len(rows[table][0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows[table])  # noqa: S608 - names from TABLES
    connection.execute("COMMIT")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else NODES))
