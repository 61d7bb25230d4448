"""Making a ledger and bringing an older one up to date. Alembic is imported only when there is work."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger.engine import LOCK_WAIT_S, make_engine, reading, sqlite_file, writing
from lifecycle.adapters.ledger.faults import absent, foreign, shown_url, too_new, translated
from lifecycle.adapters.ledger.schema import HEAD, REVISIONS, version
from lifecycle.core.errors import LedgerUnavailable

DRAFT_ALIVE_MS = 60 * 60 * 1000
"""An empty ledger is made in about a second; a maker that has not finished in an hour is dead."""

_DRAFT_BYTES = 4


def make_file(url: URL, *, create: bool) -> None:
    """Make the file of an SQLite ledger that is not there yet; other databases are left alone.

    The file is built beside its place and linked there when complete, so that nobody ever opens half a
    ledger, whoever is killed and however many start at once. A link is followed, also to where nothing is
    yet. Raises LedgerUnavailable where something is there that is no regular file.
    """
    path = sqlite_file(url)
    if path is None:
        return
    try:
        path = path.resolve()
        size = _size(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise _cannot_open(url, getattr(error, "strerror", None) or str(error)) from error
    if create:
        _remove_leftovers(path)
    if size:
        return
    if not create:
        raise absent(shown_url(url))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(_DRAFT_BYTES)}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with translated(shown_url(url)):
            _fill(url.set(database=str(draft)))
        _put_in_place(draft, path)
    except OSError as error:
        raise _cannot_make(url, error) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _size(path: Path) -> int | None:
    """Bytes of a regular file, None where nothing is there. Raises OSError for everything else, because what
    follows would rename an ordinary file over it."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return status.st_size


def _remove_leftovers(path: Path) -> None:
    """Remove the drafts of makers that were killed, with the files SQLite had beside them.

    Looked for at every opening that may make a ledger: whoever finds one killed minutes ago takes it for
    alive and makes the ledger, and nobody makes it again.
    """
    draft = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * _DRAFT_BYTES}}}\.new(-journal|-wal|-shm)?")
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if draft.fullmatch(entry.name) is None:
                continue
            # Another process may be tidying up as well, or the directory may not be this user's.
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_mtime * 1000 < now_ms() - DRAFT_ALIVE_MS:
                    Path(entry.path).unlink()


def bring_up_to_date(engine: Engine, *, create: bool) -> None:
    """Compare the ledger's format with the program's; upgrade an older one, refuse a newer one."""
    where = shown_url(engine.url)
    with reading(engine) as connection:
        found = _format_of(connection)
    if found == HEAD:
        return
    if found is None and not create:
        raise absent(where)
    if found is not None and found not in REVISIONS:
        raise too_new(where, found, HEAD)
    try:
        with writing(engine) as connection:
            # Another process may have done it while this one waited for the write lock.
            if _format_of(connection) != HEAD:
                _migrate(connection)
    except DBAPIError:
        # Where a database has no lock to wait for yet, the slower of two makers fails on the other's tables.
        with reading(engine) as connection:
            if _format_of(connection) != HEAD:
                raise


def _format_of(connection: Connection) -> str | None:
    """The revision of the ledger, None where the database is empty."""
    # One question: between two, another process may have made the ledger.
    names = inspect(connection).get_table_names()
    if version.name in names:
        return connection.execute(select(version.c.version_num)).scalar_one_or_none()
    if names:
        raise foreign(shown_url(connection.engine.url))
    return None


def _fill(url: URL) -> None:
    engine = make_engine(url, LOCK_WAIT_S)
    try:
        with engine.connect() as connection:
            # Stays with the file: readers and one writer do not wait for each other.
            connection.connection.cursor().execute("PRAGMA journal_mode = WAL")
        with writing(engine) as connection:
            _migrate(connection)
    finally:
        engine.dispose()


def _put_in_place(draft: Path, path: Path) -> None:
    if _size(path) == 0:
        draft.replace(path)
    else:
        try:
            os.link(draft, path)
        except FileExistsError:
            return  # Another process was first; its ledger is as good.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _cannot_make(url: URL, error: OSError) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"The ledger {shown_url(url)} cannot be made: {error.strerror}.",
        means="There is no ledger yet, so nothing can be taken in. Documents in the spool stay there.",
        remedy="Make its directory writable for this user, or name another place with --ledger.",
    )


def _cannot_open(url: URL, why: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"The ledger {shown_url(url)} cannot be opened: {why}.",
        means="Nothing was read, and what is there was not changed.",
        remedy="Check the path in --ledger or MUSTER_LEDGER and the rights of its directory.",
    )
