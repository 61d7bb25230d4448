"""The reading side of the spool: documents wait in incoming/ until the ledger has them.

A file leaves incoming/ only after its document is committed (`settle`) or because it can never be taken in
(`refuse`). Writers put files there by rename, so what has a name in incoming/ is complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from lifecycle.core.bounds import MAX_BYTES
from lifecycle.core.errors import BadDocument

URL_DIGEST_HEX = 12
"""Twelve hexadecimal digits tell any number of ledgers one person has apart."""


class Spool:
    """One spool directory. It need not exist to be read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.incoming = root / "incoming"
        self.refused = root / "refused"

    def pending(self) -> list[Path]:
        """The files that wait, in the order of their names (node, then time)."""
        try:
            with os.scandir(self.incoming) as entries:
                names = [
                    e.name for e in entries if e.name.endswith(".json") and e.is_file(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(self.incoming, error) from error
        return [self.incoming / name for name in sorted(names)]

    def read(self, path: Path) -> bytes | None:
        """The bytes of a waiting file; None where it is gone, because another process took it in.

        Raises BadDocument where it is too large or may not be read.
        """
        try:
            return read_bounded(path)
        except BadDocument:
            if path.exists():
                raise
            return None

    def settle(self, path: Path) -> None:
        """Remove a file whose document is committed. Another process may have done it already."""
        path.unlink(missing_ok=True)

    def refuse(self, path: Path, why: str) -> Path:
        """Move a file that cannot be taken in to refused/, with the reason in a text beside it."""
        self.refused.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = self.refused / path.name
        # The reason first: a file in refused/ without one would be a riddle.
        target.with_name(f"{path.name}.why").write_text(f"{why}\n", encoding="utf-8")
        # Another process may have refused it at the same moment.
        with contextlib.suppress(FileNotFoundError):
            path.replace(target)
        return target


def read_bounded(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file. Raises BadDocument where it cannot be read, or holds more than `limit` bytes,
    of which it reads no more."""
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(data) > limit:
        raise BadDocument(
            f"{path} holds more than {limit:,} bytes.",
            means="No node has that much to say. Nothing of it was read further or stored.",
            remedy="Look at the node that sent it; it may be broken or hostile.",
        )
    return data


def default_spool(ledger_url: str, env: Mapping[str, str]) -> Path:
    """Where documents for this ledger wait.

    MUSTER_SPOOL wins. The default ledger has `spool` in Muster's state directory, any other SQLite ledger
    a directory beside its file, and a ledger on a server one in the state directory named by its URL.
    """
    if env.get("MUSTER_SPOOL"):
        return Path(env["MUSTER_SPOOL"])
    state = state_directory(env)
    backend, _, rest = ledger_url.partition("://")
    if backend.partition("+")[0] == "sqlite":
        file = Path(rest.partition("?")[0].removeprefix("/").removeprefix("file:"))
        if file == state / "ledger.db":
            return state / "spool"
        if file.name and file.name != ":memory:":
            return file.with_name(f"{file.name}.spool")
    name = _without_secrets(ledger_url)
    return state / f"spool-{hashlib.sha256(name.encode()).hexdigest()[:URL_DIGEST_HEX]}"


def _without_secrets(url: str) -> str:
    """The URL without password and driver: a changed password must not lose sight of what waits."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""  # Opening the ledger will say what is wrong with its URL.
    login, at, host = parts.netloc.rpartition("@")
    user = login.partition(":")[0]
    query = "&".join(pair for pair in parts.query.split("&") if not pair.startswith("password="))
    return f"{parts.scheme.partition('+')[0]}://{user}{at}{host}{parts.path}?{query}"


def state_directory(env: Mapping[str, str]) -> Path:
    """Muster's own state directory: XDG_STATE_HOME where it is set, else as the platform has it."""
    if env.get("XDG_STATE_HOME"):
        return Path(env["XDG_STATE_HOME"]) / "muster"
    return Path(platformdirs.user_state_dir("muster"))


def _unreadable(path: Path, error: OSError) -> BadDocument:
    return BadDocument(
        f"{path} cannot be read: {error.strerror}.",
        means="Nothing was taken in from there, and nothing was changed.",
        remedy="Check the path and its rights, then run the same command again.",
    )
