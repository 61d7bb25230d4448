"""Taking the spool into the ledger: a file leaves the spool only after its document is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.settings import Settings
from lifecycle.adapters.spool import Spool
from lifecycle.core.errors import BadDocument
from lifecycle.core.ingest import ParsedDocument, parse_document
from lifecycle.core.records import Incoming, IngestReport, Refusal
from lifecycle.core.unreached import unreached_document


@dataclass(slots=True)
class Taken:
    """What one drain took in, and what it could not."""

    report: IngestReport

    @property
    def refused(self) -> Sequence[Refusal]:
        return self.report.refused


def drain(settings: Settings, ledger: Ledger) -> Taken:
    """Take every waiting document in, exactly once. A document that cannot be used is set aside, named."""
    spool = Spool(settings.spool)
    taken = Taken(IngestReport())
    refused: dict[str, str] = {}

    def settle(batch: Sequence[Incoming]) -> None:
        for one in batch:
            if one.origin in refused:
                spool.refuse(Path(one.origin), refused[one.origin])
            else:
                spool.settle(Path(one.origin))

    documents = _documents(spool, taken.report, refused)
    ledger.ingest(documents, now=now_ms(), committed=settle, report=taken.report)
    return taken


def tidy(settings: Settings) -> None:
    """Remove drafts nobody will finish, and keep the refused documents within bounds."""
    Spool(settings.spool).tidy(now_ms())


def _documents(spool: Spool, report: IngestReport, refused: dict[str, str]) -> Iterator[Incoming]:
    for path in spool.pending():
        try:
            data = spool.read(path)
            if data is not None:  # None: another process took it in meanwhile
                yield Incoming(str(path), parse_document(data))
        except BadDocument as error:
            report.refused.append(Refusal(str(path), error.happened))
            instead = _instead(path, error)
            if instead is None:
                spool.refuse(path, str(error))
                continue
            refused[str(path)] = str(error)
            yield Incoming(str(path), instead)


def _instead(path: Path, error: BadDocument) -> ParsedDocument | None:
    """What is remembered of a node whose document is refused: that it was asked, and answered nonsense.

    The name of the file is the controller's own (node, epoch ms, hash); a file of any other name is
    nobody's answer.
    """
    parts = path.name.removesuffix(".json").rsplit("-", 2)
    try:
        node, at = unquote(parts[0]), int(parts[1])
        return parse_document(unreached_document(node, at, "unreadable", error.happened))
    except (IndexError, ValueError, OverflowError, BadDocument):
        return None
