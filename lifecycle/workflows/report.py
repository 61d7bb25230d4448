"""`muster report --html` and `muster metrics --textfile`: files for people and for Prometheus."""

from __future__ import annotations

from pathlib import Path

from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.files import write_atomically
from lifecycle.adapters.settings import Settings
from lifecycle.core.errors import Exit
from lifecycle.core.report import Report
from lifecycle.render.as_html import render_html
from lifecycle.render.as_notice import written_json
from lifecycle.render.as_prometheus import render_prometheus
from lifecycle.workflows.answer import Answer
from lifecycle.workflows.judge import judge_nodes, report_of
from lifecycle.workflows.ledger import as_of_ms, opened
from lifecycle.workflows.policies import policy_for


def write_html(settings: Settings, file: Path, *, policy: str | None, as_of: str | None) -> Answer:
    """Write the page; exits 0 once it is written, whatever it says."""
    write_atomically(file, render_html(_report(settings, policy, as_of_ms(as_of))))
    return _written(file)


def write_metrics(settings: Settings, file: Path, *, policy: str | None) -> Answer:
    """Write the metrics file the way the textfile collector wants it: whole or not at all."""
    write_atomically(file, render_prometheus(_report(settings, policy, now_ms())), mode=0o644)
    return _written(file)


def _report(settings: Settings, policy: str | None, as_of: int) -> Report:
    rules = policy_for(settings, policy)
    with opened(settings) as (ledger, _taken):
        return report_of(ledger, judge_nodes(ledger, rules, as_of=as_of))


def _written(file: Path) -> Answer:
    return Answer(
        exit=Exit.WELL,
        text=lambda _style: f"Wrote {file}",
        json=lambda: written_json(str(file)),
    )
