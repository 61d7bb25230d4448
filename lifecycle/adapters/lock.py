"""One run at a time, with the holder named. The kernel drops the lock when its holder dies."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lifecycle.core.errors import LedgerUnavailable, Locked


@contextmanager
def hold(path: Path, *, purpose: str, now_iso: str) -> Iterator[None]:
    """Hold the lock file `path` or raise Locked at once, saying who holds it.

    The holder's note lies beside the lock; it is trusted only while the lock is held.
    """
    note = path.with_suffix(".holder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(path, timeout=0)
        lock.acquire()
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "since": now_iso}
        note.write_text(json.dumps(holder), encoding="utf-8")
    except Timeout:
        raise _locked(path, note) from None
    except OSError as error:
        raise LedgerUnavailable(
            f"The lock file {path} cannot be made or written: {error.strerror}.",
            means="Without it two sweeps could overlap, so nothing was started.",
            remedy=f"Make {path.parent} writable for this user, or set MUSTER_SPOOL to a folder that is.",
        ) from error
    try:
        yield
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def _locked(path: Path, note: Path) -> Locked:
    try:
        holder = json.loads(note.read_text(encoding="utf-8"))
        who = f"process {holder['pid']} on {holder['host']} ({holder['purpose']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        who = "another process that left no note"
    return Locked(
        f"Another run holds {path}: {who}.",
        means="Two sweeps must not overlap; this one read and changed nothing.",
        remedy="Wait for it to end. If that process hangs, end it; the lock frees itself.",
    )
