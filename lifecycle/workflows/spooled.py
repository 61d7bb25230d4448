"""Taking the spool into the ledger: a file leaves the spool only after its document is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.settings import Settings
from lifecycle.adapters.spool import Spool
from lifecycle.core.errors import BadDocument
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming, IngestReport, Refusal

# A document with this reach brought readings; any other says why there are none.
READ_WELL = "ok"


@dataclass(slots=True)
class Taken:
    """What one drain took in. reads: (node, time in epoch ms, reach, cards) of every document."""

    report: IngestReport
    reads: list[tuple[str, int, str, int]] = field(default_factory=list)

    @property
    def refused(self) -> Sequence[Refusal]:
        return self.report.refused

    def cards_read_since(self, started: int) -> dict[str, int]:
        """node → number of cards read, for the nodes that were reached at or after `started`."""
        return {node: cards for node, at, reach, cards in self.reads if reach == READ_WELL and at >= started}

    def reach_since(self, started: int) -> dict[str, str]:
        """node → why it was not reached, from documents that say so."""
        return {node: reach for node, at, reach, _ in self.reads if reach != READ_WELL and at >= started}


def drain(settings: Settings, ledger: Ledger) -> Taken:
    """Take every waiting document in, exactly once. A document that cannot be used is set aside, named."""
    spool = Spool(settings.spool)
    taken = Taken(IngestReport())

    def settle(batch: Sequence[Incoming]) -> None:
        for one in batch:
            spool.settle(Path(one.origin))

    ledger.ingest(_documents(spool, taken), now=now_ms(), committed=settle, report=taken.report)
    return taken


def _documents(spool: Spool, taken: Taken) -> Iterator[Incoming]:
    for path in spool.pending():
        try:
            data = spool.read(path)
            if data is None:
                continue
            document = parse_document(data)
        except BadDocument as error:
            spool.refuse(path, str(error))
            taken.report.refused.append(Refusal(str(path), error.happened))
            continue
        taken.reads.append((document.node, document.at, document.reach, len(document.cards)))
        yield Incoming(str(path), document)
