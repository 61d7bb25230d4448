"""Finding the row that is already there, and adding the ones that are not.

Rows get their numbers here: every writer holds the ledger's write lock (see `Ledger._writing`), so the
largest number in use cannot change meanwhile, and plain `executemany` needs no answer from the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Table, func, insert, select

MAX_PARAMETERS = 5000
"""Values in one IN list. SQLite allows 32,766 parameters in a statement, PostgreSQL 65,535."""

K = TypeVar("K")
Row = tuple[int | str | bool | None, ...]


def slices(values: Sequence[K]) -> Iterator[Sequence[K]]:
    """The values in pieces that fit one statement."""
    for start in range(0, len(values), MAX_PARAMETERS):
        yield values[start : start + MAX_PARAMETERS]


def known(connection: Connection, key: Column[Any], values: Sequence[Any]) -> dict[Any, int]:
    """key → id of the rows that have one of the values."""
    found: dict[Any, int] = {}
    for part in slices(values):
        query = select(key, key.table.c.id).where(key.in_(part))
        found.update((value, number) for value, number in connection.execute(query))
    return found


def known_pairs(
    connection: Connection, owner: Column[int], wanted: Iterable[tuple[int, str]]
) -> dict[tuple[int, str], int]:
    """(owner id, digest) → id of the rows of the owner column's table, which is unique in that pair."""
    table = owner.table
    found: dict[tuple[int, str], int] = {}
    digests = list({digest for _, digest in wanted})
    for part in slices(digests):
        query = select(owner, table.c.digest, table.c.id).where(table.c.digest.in_(part))
        found.update(((one, digest), number) for one, digest, number in connection.execute(query))
    return found


def numbers(connection: Connection, table: Table) -> Iterator[int]:
    """Numbers for new rows of a table, valid until the end of this write transaction."""
    last = connection.execute(select(func.max(table.c.id))).scalar_one()
    return count((last or 0) + 1)


def add(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows given as tuples in the order of the table's columns.

    SQLAlchemy words the statement; the rows go to the driver as they are, because naming and checking
    every parameter again would take as long as the insert itself. All columns are of types that drivers
    take as they are: integers, text, booleans and None.
    """
    if not rows:
        return
    compiled = insert(table).compile(dialect=connection.dialect, column_keys=table.columns.keys())
    if compiled.positional:
        connection.exec_driver_sql(str(compiled), list(rows))
    else:
        names = table.columns.keys()
        connection.exec_driver_sql(str(compiled), [dict(zip(names, row, strict=True)) for row in rows])
