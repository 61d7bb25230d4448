"""Metrics for the textfile collector of node_exporter, in the Prometheus text format 0.0.4.

Cardinality: a fixed handful of series, and two per card, labelled by UUID and node only; beyond
`cards_max` cards none of the per-card series is written and `muster_cards_without_series` says so.
A time that is not known has no sample: zero would be a lie, and `absent()` can be alerted on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lifecycle.core.findings import Action
from lifecycle.core.report import SEVERITY, CardCell, Report, SweepSummary, epoch_seconds
from lifecycle.render.visible import visible

CARDS_MAX = 20_000
"""Most cards with series of their own: 40,000 series. Prometheus keeps a few kB per series in memory
(https://prometheus.io/docs/prometheus/latest/storage/), so this stays well below a gigabyte."""

LABEL_MAX = 128
"""Longest label value in characters; DNS names of cluster nodes and GPU UUIDs (40) fit."""

Sample = tuple[Mapping[str, str], int]


def render_prometheus(report: Report, *, cards_max: int = CARDS_MAX) -> str:
    """All metrics of the report, ending in a newline."""
    families = [*_sweeps(report), *_fleet(report), *_cards(report, cards_max)]
    return "".join(_family(name, about, samples) for name, about, samples in families)


Family = tuple[str, str, Iterable[Sample]]


def _sweeps(report: Report) -> Iterator[Family]:
    newest, whole = report.sweep, report.last_complete
    yield (
        "muster_last_complete_sweep_timestamp_seconds",
        "End of the last sweep that read every node; absent before the first one.",
        _moment(whole),
    )
    yield (
        "muster_last_sweep_timestamp_seconds",
        "End of the last sweep, complete or not; absent before the first one.",
        _moment(newest),
    )
    states = {"asked": newest.nodes_asked, "read": newest.nodes_read} if newest else {}
    yield (
        "muster_sweep_nodes",
        "Nodes the last sweep was to read and did read.",
        [({"state": state}, number) for state, number in states.items()],
    )
    yield (
        "muster_sweep_cards_read",
        "Cards the last sweep read.",
        [({}, newest.cards_read)] if newest else [],
    )


def _moment(sweep: SweepSummary | None) -> list[Sample]:
    ended = epoch_seconds(sweep.ended_at) if sweep else None
    return [] if ended is None else [({}, ended)]


def _fleet(report: Report) -> Iterator[Family]:
    judged = epoch_seconds(report.as_of)
    yield (
        "muster_judged_timestamp_seconds",
        "The time the verdicts were formed for.",
        [] if judged is None else [({}, judged)],
    )
    yield (
        "muster_policy_info",
        "Policy and engine behind the verdicts.",
        [
            (
                {
                    "policy": report.policy.name,
                    "sha256": report.policy.sha256,
                    "engine": report.engine,
                    "simulated": str(report.simulated).lower(),
                },
                1,
            )
        ],
    )
    yield (
        "muster_cards",
        "Cards by verdict.",
        [({"verdict": name}, report.card_counts[name]) for name in SEVERITY],
    )
    yield (
        "muster_nodes",
        "Nodes by the worst verdict of the node and its cards.",
        [({"verdict": name}, report.node_counts[name]) for name in SEVERITY],
    )
    unread = sum(1 for entry in report.not_read if entry.is_node)
    yield "muster_nodes_not_read", "Nodes that could not be read or proven.", [({}, unread)]


def _cards(report: Report, cards_max: int) -> Iterator[Family]:
    """One series per UUID and node; where these repeat, the worst verdict and the oldest reading stand."""
    cells: dict[tuple[str, str], list[CardCell]] = {}
    for cell in (cell for line in report.nodes for cell in line.cards):
        cells.setdefault((_shown(cell.subject.uuid), _shown(cell.subject.node)), []).append(cell)
    fits = len(cells) <= cards_max
    series = [({"uuid": uuid, "node": node}, same) for (uuid, node), same in cells.items()] if fits else []
    verdicts = [(labels, max(Action[cell.verdict] for cell in same)) for labels, same in series]
    oldest = [(labels, _oldest(same)) for labels, same in series]
    moments = [(labels, moment) for labels, moment in oldest if moment is not None]
    scale = ", ".join(f"{int(Action[name])} {name}" for name in SEVERITY)
    yield "muster_card_verdict", f"Verdict on a card: {scale}.", verdicts
    yield (
        "muster_card_last_read_timestamp_seconds",
        "Last good reading of a card; no sample for a card that was never read.",
        moments,
    )
    yield (
        "muster_cards_without_series",
        "Cards left out of the per-card series because there are too many of them.",
        [({}, 0 if fits else len(cells))],
    )


def _oldest(cells: list[CardCell]) -> int | None:
    times = [epoch_seconds(cell.observed_at) for cell in cells]
    known = [moment for moment in times if moment is not None]
    return min(known) if len(known) == len(times) else None


def _family(name: str, about: str, samples: Iterable[Sample]) -> str:
    """HELP, TYPE and samples; a family without a sample is left out, as the format asks for at least one."""
    lines = [f"{name}{_labels(labels)} {int(value)}\n" for labels, value in samples]
    return f"# HELP {name} {about}\n# TYPE {name} gauge\n{''.join(lines)}" if lines else ""


def _labels(labels: Mapping[str, str]) -> str:
    pairs = [f'{name}="{_escaped(_shown(value))}"' for name, value in labels.items()]
    return f"{{{','.join(pairs)}}}" if pairs else ""


def _shown(value: str | None) -> str:
    return visible(value, LABEL_MAX, absent="")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
