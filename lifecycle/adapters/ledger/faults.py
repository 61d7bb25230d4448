"""Database errors turned into errors a person can act on. No password is ever part of a message."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from sqlalchemy import exc
from sqlalchemy.engine import URL

from lifecycle.core.errors import LedgerTooNew, LedgerUnavailable

_SECRET_KEYS = ("password", "passwd", "sslpassword", "passfile")


def shown_url(url: URL) -> str:
    """The URL with everything secret left out."""
    safe = url.difference_update_query(_SECRET_KEYS)
    return safe.render_as_string(hide_password=True)


def too_new(where: str, found: str, known: str) -> LedgerTooNew:
    return LedgerTooNew(
        f"The ledger {where} has format {found}; this program knows formats up to {known}.",
        means="A newer Muster wrote it. Nothing was read or changed.",
        remedy="Use the newer Muster (the one that wrote it), or name another ledger with --ledger.",
    )


def absent(where: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"There is no ledger at {where}.",
        means="Nothing has been taken in there yet, so there is nothing to look at.",
        remedy="Check --ledger and MUSTER_LEDGER, or run `muster sweep` or `muster ingest` first.",
    )


def foreign(where: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"The database {where} holds tables, but no ledger of Muster.",
        means="It belongs to something else. Nothing was changed.",
        remedy="Give the ledger a file or a database of its own.",
    )


@contextmanager
def translated(where: str, driver_error: type[Exception] = sqlite3.Error) -> Iterator[None]:
    """Run a piece of database work; what goes wrong leaves as LedgerUnavailable.

    driver_error: what the database's own driver raises where SQLAlchemy is not between (rows fetched raw).
    """
    try:
        yield
    except exc.DBAPIError as error:
        raise _from_database(where, error.orig) from error
    except driver_error as error:
        raise _from_database(where, error) from error
    except exc.SQLAlchemyError as error:
        raise _plain(where, type(error).__name__) from error
    except (msgspec.DecodeError, json.JSONDecodeError) as error:
        happened, means, remedy = _SPOILT
        raise LedgerUnavailable(f"The ledger {where} {happened}.", means=means, remedy=remedy) from error


_BUSY = (
    "is locked by another writer",
    "Another sweep or ingest has been writing for longer than this one waited. Nothing was changed.",
    "Wait for the other one to end and try again; facts documents stay in the spool until then.",
)
_FULL = (
    "cannot grow: the disk is full",
    "What was being written was taken back whole; everything written before is safe.",
    "Free space on that disk and run the same command again; facts documents stay in the spool.",
)
_READ_ONLY = (
    "cannot be written: it is read-only for this user",
    "Nothing was changed.",
    "Run as the user who owns the ledger, or correct the rights of the file and its directory.",
)
_CANNOT_OPEN = (
    "cannot be opened",
    "The file or its directory is missing, is not a file, or may not be read by this user.",
    "Check the path in --ledger or MUSTER_LEDGER and the rights of its directory.",
)
_DAMAGED = (
    "is not a readable database",
    "The file is something else than a ledger, or it is damaged. Nothing was changed.",
    "Check the path; if it was a ledger, keep the file, and restore the last backup beside it.",
)
_SPOILT = (
    "is damaged: one of its rows is not what the program wrote there",
    "Something else changed the database, or the disk did. Nothing was changed by this command.",
    "Keep the ledger as it is for whoever looks into it, and restore the last backup beside it.",
)
_DISK = (
    "could not be read or written by the disk",
    "The operating system reported an input/output error; the last write was taken back.",
    "Look at the kernel log and the file system, then run the same command again.",
)

# Primary result codes of SQLite (sqlite.org/rescode.html); the low byte of an extended code.
_SQLITE = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _CANNOT_OPEN,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_IOERR: _DISK,
}
_PRIMARY_CODE = 0xFF

# SQLSTATE codes (PostgreSQL manual, appendix A).
_SQLSTATE = {"53100": _FULL, "55P03": _BUSY, "25006": _READ_ONLY, "42501": _READ_ONLY, "57014": _BUSY}


def _from_database(where: str, error: BaseException | None) -> LedgerUnavailable:
    code = getattr(error, "sqlite_errorcode", None)
    text = _SQLITE.get(code & _PRIMARY_CODE) if code is not None else None
    text = text or _SQLSTATE.get(getattr(error, "sqlstate", None) or "")
    if text is None:
        return _plain(where, _first_line(error))
    happened, means, remedy = text
    return LedgerUnavailable(f"The ledger {where} {happened}.", means=means, remedy=remedy)


def _plain(where: str, why: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"The ledger {where} cannot be used: {why}.",
        means="The database refused or could not be reached. Nothing was changed.",
        remedy="Check --ledger or MUSTER_LEDGER, and that the database runs and lets this user in.",
    )


def _first_line(error: BaseException | None) -> str:
    text = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
