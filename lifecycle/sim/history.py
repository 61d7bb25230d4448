"""A simulated node's past: the real probe, run above the simulated library at each moment.

The node's files stand in one directory that is brought from moment to moment; the probe's answer becomes a
facts document, as the sweep's action plugin would write it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lifecycle.core.errors import RunnerFailed
from lifecycle.core.facts import FACTS_SCHEMA
from lifecycle.sim.cards import Life, Moment, node_at
from lifecycle.sim.tree import Files, Link, root_at

PROBE_DIR = Path(__file__).resolve().parents[2] / "plugins" / "module_utils"
LIBRARY = Path(__file__).resolve().with_name("nvml.py")
_PROBE_TIMEOUT_S = 90
_DETAIL_MAX = 400  # characters of the probe's last words that an error shows


@dataclass
class NodeDirectory:
    """The files of one node: node.json for the library and a root for the probe."""

    path: Path
    written: Files = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.path / "node.json"

    @property
    def root(self) -> Path:
        return self.path / "root"

    def set_to(self, life: Life, node: str, moment: Moment) -> None:
        """Write what differs from the moment written before."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.data.write_text(json.dumps(node_at(life, node, moment), indent=1) + "\n", encoding="utf-8")
        wanted = root_at(life, node, moment)
        for name in self.written.keys() - wanted.keys():
            (self.root / name).unlink()
            _prune((self.root / name).parent)
        for name, content in wanted.items():
            if self.written.get(name) != content:
                _write(self.root / name, content)
        self.written = wanted


def _write(path: Path, content: str | Link) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if isinstance(content, Link):
        path.symlink_to(content.target)
    else:
        path.write_text(content, encoding="utf-8")


def _prune(directory: Path) -> None:
    """Take away directories that became empty: a card that is gone has no directory in sysfs."""
    while not any(directory.iterdir()):
        directory.rmdir()
        directory = directory.parent


def write_history(
    life: Life, node: str, now: int, place: NodeDirectory, history: Path, told: Callable[[str], None]
) -> None:
    """The facts documents of one node's past, one file each; `told` hears of each.

    Raises RunnerFailed where the probe does not answer or cannot open the library: a past with holes would
    look like one of a fleet that nobody could read.
    """
    for moment in life.moments(node, now):
        place.set_to(life, node, moment)
        answer = run_probe(place, moment.at)
        if answer["host"]["nvml_state"] != "ok":
            raise _no_answer(place, str(answer["host"].get("nvml_detail", "")), PROBE_DIR)
        document = as_document(answer, life, node, moment)
        name = f"{node}-{moment.at * 1000}.json"
        (history / name).write_text(
            json.dumps(document, separators=(",", ":"), sort_keys=True) + "\n", encoding="utf-8"
        )
        told(f"{node} {document['observed_at'][:10]}")


def run_probe(place: NodeDirectory, at: int, probe_dir: Path = PROBE_DIR) -> dict[str, Any]:
    """The probe's answer for a simulated node at a time. Raises RunnerFailed where it does not answer."""
    options = {
        "nvml_library": str(LIBRARY),
        "nvml_data": str(place.data),
        "root": str(place.root),
        "now": at,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gpu_probe", "--plain"],
            input=json.dumps(options),
            cwd=probe_dir,
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
            check=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stderr", None) or str(error)
        raise _no_answer(place, str(detail)[-_DETAIL_MAX:], probe_dir) from error
    return answer


def _no_answer(place: NodeDirectory, detail: str, probe_dir: Path) -> RunnerFailed:
    return RunnerFailed(
        f"The probe did not read the simulated node {place.path.name}: {detail}",
        means="The simulated fleet is incomplete and was not used; nothing else was changed.",
        remedy=f"Run the demo again; should it fail again, run the probe by hand in {probe_dir}.",
    )


def as_document(answer: dict[str, Any], life: Life, node: str, moment: Moment) -> dict[str, Any]:
    """The facts document around a probe's answer.

    How long reading took is measured and never twice the same; it is drawn instead, so that the same seed
    and time give the same bytes.
    """
    probe, host, cards = answer["probe"], dict(answer["host"]), [dict(card) for card in answer["cards"]]
    host["nvml_held_ms"] = life.draws.between(180, 420, "held", node, moment.at)
    for index, card in enumerate(cards):
        took = life.draws.between(15, 90, "took", node, moment.at, index)
        card["read"] = {**card.get("read", {}), "took_ms": took}
    return {
        "schema": FACTS_SCHEMA,
        "node": node,
        "observed_at": datetime.fromtimestamp(moment.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "reach": "ok",
        "simulated": bool(answer["simulated"]),
        "expected_cards": life.plan.nodes[node].cards,
        "pool": next(pool for pool, names in life.plan.pools.items() if node in names),
        "reader": {"name": "probe", "version": str(probe.get("version", "")), "tier": "passive"},
        "host": host,
        "cards": cards,
    }
