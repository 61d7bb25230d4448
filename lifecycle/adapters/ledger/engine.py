"""How to reach a database: URL checks, and what SQLite needs to be told on every connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, make_url

from lifecycle.adapters.ledger.faults import shown_url
from lifecycle.adapters.paths import full_path
from lifecycle.core.errors import BadArgument

LOCK_WAIT_S = 30.0
"""A batch of documents is written in well under a second; thirty leaves room for a slow disk."""

_WRITES = "muster_writes"
_PLAIN_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
# SQLite's WAL gives a reader one picture by itself; elsewhere it has to be asked for.
_ONE_PICTURE = {"postgresql": "REPEATABLE READ"}


def parse_url(text: str) -> URL:
    """The ledger's URL, or BadArgument (which never repeats what may hold a password).

    The file of an SQLite ledger is made absolute (`full_path`), so that it stays the same file whatever
    directory the program works in later.
    """
    try:
        url = make_url(text)
    except exc.ArgumentError:
        raise _bad_url("it is not a database URL") from None
    except ValueError:
        raise _bad_url("its port is not a number") from None
    file = sqlite_file(url)
    if file is not None:
        return url.set(database=str(full_path(str(file))))
    return url.set(drivername=_PLAIN_DRIVERS.get(url.drivername, url.drivername))


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite URL; None for other databases, for memory and for SQLite's own file: URLs."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    if url.database == ":memory:" or url.database.startswith("file:"):
        return None
    return Path(url.database)


def make_engine(url: URL, lock_wait_s: float) -> Engine:
    """An engine for the URL. Raises BadArgument where its dialect or its driver is not installed."""
    sqlite = url.get_backend_name() == "sqlite"
    try:
        engine = create_engine(url, connect_args={"timeout": lock_wait_s} if sqlite else {})
    except exc.NoSuchModuleError:
        raise _bad_url(f"«{url.drivername}» is no database this program knows") from None
    except ImportError as error:
        raise BadArgument(
            f"The ledger {shown_url(url)} needs the Python package «{error.name}», which is not installed.",
            means="Nothing was read or changed.",
            remedy="Install it beside Muster (for PostgreSQL: pip install 'muster[postgresql]').",
        ) from None
    if sqlite:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state of the ledger, however long it takes."""
    level = _ONE_PICTURE.get(engine.dialect.name)
    with engine.connect() as connection:
        if level is not None:
            connection = connection.execution_options(isolation_level=level)
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that is written whole or not at all; SQLite's write lock is taken at once."""
    with engine.connect() as connection:
        connection = connection.execution_options(**{_WRITES: True})
        with connection.begin():
            yield connection


def _prepare_sqlite(raw: sqlite3.Connection, _record: Any) -> None:
    # sqlite3 would open transactions by itself, later than it must; `_begin_sqlite` does it instead.
    raw.isolation_level = None
    cursor = raw.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    # In WAL mode NORMAL may lose the last commits at power loss; a reading is believed safe once committed.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _bad_url(why: str) -> BadArgument:
    return BadArgument(
        f"The ledger URL cannot be used: {why}.",
        means="Nothing was read or changed.",
        remedy="Write it like sqlite:////var/lib/muster/ledger.db or postgresql://user@host/muster.",
    )
