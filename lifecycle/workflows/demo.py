"""`muster demo`: a simulated fleet, its year of history, one real sweep of it, and the report."""

from __future__ import annotations

import shutil
from pathlib import Path

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.settings import Settings
from lifecycle.adapters.spool import read_bounded
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming
from lifecycle.sim.fleet import Fleet, build
from lifecycle.workflows.answer import Style
from lifecycle.workflows.progress import Progress
from lifecycle.workflows.report import write_html
from lifecycle.workflows.sweep import SweepRequest, sweep

# Any number does; the same one gives the same fleet to everyone who compares reports.
SEED = 2026


def run_demo(directory: Path, progress: Progress, style: Style) -> tuple[str, Path]:
    """Build, sweep and report under `directory`. Returns the text report and the HTML report's path."""
    directory = directory.absolute()
    fleet = build(directory, SEED, now_ms(), progress)
    settings = Settings(ledger_url=f"sqlite:///{directory / 'ledger.db'}", spool=directory / "spool")
    for old in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (directory / old).unlink(missing_ok=True)
    shutil.rmtree(directory / "spool", ignore_errors=True)
    with Ledger.open(settings.ledger_url) as ledger:
        documents = (
            Incoming(str(file), parse_document(read_bounded(file))) for file in fleet.history.iterdir()
        )
        ledger.ingest(documents, now=now_ms())
        _accept(ledger, fleet)
    answer = sweep(settings, SweepRequest(inventory=fleet.inventory), progress)
    report = directory / "report.html"
    write_html(settings, report, policy=None, as_of=None)
    return answer.text(style), report


def _accept(ledger: Ledger, fleet: Fleet) -> None:
    """The decisions people took in that year: cards accepted when they came, and some sent back."""
    for card in ledger.cards(now_ms()):
        _decide(ledger, card.uuid, card.first_seen or 0, "in_service", "accepted (simulated)")
    for uuid, at in fleet.sent_back:
        _decide(ledger, uuid, at, "retired", "sent back under warranty (simulated)")


def _decide(ledger: Ledger, uuid: str, at: int, state: str, reason: str) -> None:
    ledger.record_transition(at=at, kind="card", target=uuid, to_state=state, who="demo", reason=reason)
