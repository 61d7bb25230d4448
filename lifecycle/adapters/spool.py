"""The reading side of the spool: documents wait in incoming/ until the ledger has them.

A file leaves incoming/ only after its document is committed (`settle`) or because it can never be taken in
(`refuse`). Writers put files there by rename, so what has a name in incoming/ is complete.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from lifecycle.adapters.paths import full_path, state_directory
from lifecycle.core.bounds import MAX_BYTES
from lifecycle.core.errors import BadDocument, LedgerUnavailable

URL_DIGEST_HEX = 12
"""Twelve hexadecimal digits tell any number of ledgers one person has apart."""


DRAFT_ALIVE_MS = 24 * 60 * 60 * 1000
"""A document is written in well under a second. A day leaves room for a writer on a suspended machine or a
file server whose clock is off, and a day's drafts are few."""

REFUSED_DOCUMENTS = 100
"""A broken writer repeats itself: a hundred documents show how, and nobody reads more."""

REFUSED_BYTES = 100 * 1024 * 1024
"""Two hundred documents of the largest nodes (see MAX_BYTES); no disk that holds a ledger misses it."""

NAME_BYTES = 255
"""Longest name of a file on Linux (NAME_MAX in linux/limits.h)."""

_WHY = ".why"
_SUFFIX = ".json"


class Spool:
    """One spool directory. It need not exist to be read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.incoming = root / "incoming"
        self.refused = root / "refused"
        self.drafts = root / "tmp"

    def pending(self) -> list[Path]:
        """The files that wait, in the order of their names (node, then time).

        Raises LedgerUnavailable, as the other methods do, where the directory is there and cannot be used.
        """
        try:
            with os.scandir(self.incoming) as entries:
                names = [
                    e.name for e in entries if e.name.endswith(".json") and e.is_file(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise _blocked(self.incoming, error) from error
        return [self.incoming / name for name in sorted(names)]

    def read(self, path: Path) -> bytes | None:
        """The bytes of a waiting file; None where it is gone, because another process took it in.

        Raises BadDocument where it is too large or may not be read.
        """
        try:
            return read_bounded(path)
        except BadDocument as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            return None

    def settle(self, path: Path) -> None:
        """Remove a file whose document is committed. Another process may have done it already."""
        with _usable(path):
            path.unlink(missing_ok=True)

    def refuse(self, path: Path, why: str) -> Path:
        """Move a file that cannot be taken in to refused/, with the reason in a text beside it.

        Gives back its new path. A name too long to have one beside it is shortened.
        """
        target = self.refused / _short(path.name)
        with _usable(self.refused):
            self.refused.mkdir(parents=True, exist_ok=True, mode=0o700)
        reason = target.with_name(f"{target.name}{_WHY}")
        # The reason first: a file in refused/ without one would be a riddle.
        with _usable(reason):
            reason.write_text(f"{why}\n", encoding="utf-8", errors="backslashreplace")
        # Another process may have refused it at the same moment.
        with _usable(target), contextlib.suppress(FileNotFoundError):
            path.replace(target)
        return target

    def tidy(self, now: int) -> None:
        """Remove what nobody comes back for; `now` in epoch ms. What cannot be removed stays.

        In tmp/ that is the drafts of writers that were killed (older than DRAFT_ALIVE_MS). In refused/ the
        newest documents are kept, with their reasons, as long as there are at most REFUSED_DOCUMENTS of them
        with at most REFUSED_BYTES together; a document too large for that leaves its older neighbours room.
        """
        for path, at, _ in _files(self.drafts):
            if at < now - DRAFT_ALIVE_MS:
                _remove(path)
        kept = size = 0
        for group in _newest_first(_files(self.refused)):
            larger = size + sum(length for _, _, length in group)
            if kept < REFUSED_DOCUMENTS and larger <= REFUSED_BYTES:
                kept, size = kept + 1, larger
            else:
                for path, _, _ in group:
                    _remove(path)


_File = tuple[Path, int, int]
"""Path, time of the last change (epoch ms), size in bytes."""


def _short(name: str) -> str:
    """The name where it leaves room for the reason's; else its beginning and a hash of the whole."""
    whole = os.fsencode(name)
    room = NAME_BYTES - len(_WHY)
    if len(whole) <= room:
        return name
    tail = f"-{hashlib.sha256(whole).hexdigest()[:URL_DIGEST_HEX]}{_SUFFIX}"
    return whole[: room - len(tail)].decode(errors="ignore") + tail


@contextlib.contextmanager
def _usable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise _blocked(path, error) from error


def _blocked(path: Path, error: Exception) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"The spool cannot be used: {path}: {_reason(error)}.",
        means="Documents that were not taken in yet stay where they are; what the ledger has is safe.",
        remedy="Correct that path or its rights, or name another spool in MUSTER_SPOOL, and try again.",
    )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _files(directory: Path) -> list[_File]:
    found: list[_File] = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISDIR(status.st_mode):
                    found.append((Path(entry.path), status.st_mtime_ns // 1_000_000, status.st_size))
    return found


def _newest_first(files: Sequence[_File]) -> list[list[_File]]:
    """Documents with their reasons. The reason is written when a document is refused, so it tells when."""
    groups: dict[str, list[_File]] = {}
    for file in files:
        groups.setdefault(file[0].name.removesuffix(_WHY), []).append(file)
    ages = {name: (max(at for _, at, _ in group), name) for name, group in groups.items()}
    return [groups[name] for name in sorted(groups, key=ages.__getitem__, reverse=True)]


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def read_bounded(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file or, up to its end, of a pipe. Raises BadDocument where it is anything
    else, cannot be read, or holds more than `limit` bytes, of which it reads no more.

    A named pipe that nobody has open for writing is empty.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            _check_kind(os.fstat(handle).st_mode)
            # Opening must not wait for a writer; reading from one that is there must.
            os.set_blocking(handle, True)
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(data) > limit:
        raise BadDocument(
            f"{path} holds more than {limit:,} bytes.",
            means="No node has that much to say. Nothing of it was read further or stored.",
            remedy="Look at the node that sent it; it may be broken or hostile.",
        )
    return data


def default_spool(ledger_url: str, env: Mapping[str, str]) -> Path:
    """Where documents for this ledger wait; the same place as the collection finds by itself.

    The rule, with its examples in tests/cases/default_spool.yml (empty variables count as not set):

    1. MUSTER_SPOOL, where it is set.
    2. Muster's state directory is `muster` in XDG_STATE_HOME where absolute, else in `~/.local/state`.
    3. For `sqlite[+driver]:///FILE[?query]`, FILE percent-decoded and without a leading `file:`: the spool is
       `FILE.spool`. For the default ledger, which is `ledger.db` in the state directory, and where no URL
       is given, it is `spool` in that directory.
    4. For any other URL (and for SQLite in memory) it is `spool-` and the first twelve hexadecimal digits of
       the SHA-256 of the URL, in the state directory. `+driver`, `:password` before the first `@`, and the
       parameters `password=…` are left out of it first, so that a changed password loses sight of nothing.

    All paths are made absolute as in `full_path`.
    """
    if env.get("MUSTER_SPOOL"):
        return full_path(env["MUSTER_SPOOL"])
    state = state_directory(env)
    scheme, separator, rest = ledger_url.partition("://")
    place, _, query = _PASSWORD.sub(r"\1@", rest).partition("?")
    backend = scheme.partition("+")[0]
    file = unquote(place).removeprefix("/").removeprefix("file:")
    if not ledger_url or (backend == "sqlite" and full_path(file) == state / "ledger.db"):
        return state / "spool"
    if backend == "sqlite" and file not in ("", ":memory:"):
        return Path(f"{full_path(file)}.spool")
    kept = "&".join(pair for pair in query.split("&") if not pair.startswith("password="))
    name = f"{backend}{separator}{place}{'?' if kept else ''}{kept}"
    return state / f"spool-{hashlib.sha256(name.encode()).hexdigest()[:URL_DIGEST_HEX]}"


# No name of a user holds «:» or «/»; the password ends at the first «@», as SQLAlchemy reads it.
_PASSWORD = re.compile(r"^([^:/]*):[^@]*@")


def _check_kind(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise OSError(errno.EINVAL, "it is neither a regular file nor a pipe")


def _unreadable(path: Path, error: Exception) -> BadDocument:
    return BadDocument(
        f"{path} cannot be read: {_reason(error)}.",
        means="Nothing was taken in from there, and nothing was changed.",
        remedy="Check the path and its rights, then run the same command again.",
    )
