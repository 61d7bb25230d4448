"""`muster ingest`: documents that came another way than a sweep (a spool copied over, a mailed file)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.settings import Settings
from lifecycle.adapters.spool import read_bounded
from lifecycle.core.errors import BadDocument, Exit
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming, IngestReport, Refusal
from lifecycle.core.times import parse_iso
from lifecycle.render.as_json import ingest_json
from lifecycle.render.rows import IngestOutcome
from lifecycle.render.text_lists import ingest_summary
from lifecycle.workflows.answer import Answer


def ingest_files(settings: Settings, files: Sequence[Path], *, node: str | None, at: str | None) -> Answer:
    """Take files in: all of them, or, where one cannot be used, none (exit 2 changes nothing)."""
    at_ms = parse_iso(at, what="--at") if at is not None else None
    report = IngestReport()
    nodes: set[str] = set()
    source = _Files()

    def documents() -> Iterator[Incoming]:
        for path in files:
            document = parse_document(source.read(path), node=node, at=at_ms)
            nodes.add(document.node)
            yield Incoming(str(path), document)

    report.refused.extend(_refusals(source, files, node, at_ms))
    if not report.refused:
        # Not `opened`: it would drain the spool, and these files may be lying in it.
        with Ledger.open(settings.ledger_url) as ledger:
            ledger.ingest(documents(), now=now_ms(), report=report)
    outcome = IngestOutcome(
        new=report.observations,
        known=report.already_known,
        refused=[(one.origin, one.why) for one in report.refused],
        notes=_notes(report),
        nodes=len(nodes),
        cards=report.new_cards,
    )
    return Answer(
        exit=Exit.MISUSE if report.refused else Exit.WELL,
        text=lambda style: ingest_summary(outcome, width=style.width, colour=style.colour),
        json=lambda: ingest_json(outcome),
    )


class _Files:
    """Reads each file once for every time it is asked, but a pipe only the first time: it has no second."""

    def __init__(self) -> None:
        self._pipes: dict[Path, bytes] = {}

    def read(self, path: Path) -> bytes:
        if path in self._pipes:
            return self._pipes[path]
        data = read_bounded(path)
        if not path.is_file():
            self._pipes[path] = data
        return data


def _refusals(
    source: _Files, files: Sequence[Path], node: str | None, at_ms: int | None
) -> Iterator[Refusal]:
    """A first look at every file; they are parsed again when taken in, so that memory stays small."""
    for path in files:
        try:
            parse_document(source.read(path), node=node, at=at_ms)
        except BadDocument as error:
            yield Refusal(str(path), error.happened)


def _notes(report: IngestReport) -> list[tuple[str, str]]:
    notes = [("", note) for note in report.notes]
    notes += [
        (claim.uuid, f"shown by {claim.node} and {claim.other} at the same time: one of them is wrong")
        for claim in report.claims
    ]
    return notes
