"""The demo fleet on disk: an inventory, the nodes' files and twelve months of facts documents.

    <directory>/inventory/hosts.yml     the inventory a sweep reads
    <directory>/nodes/<name>/           node.json and root/: what the node holds now
    <directory>/history/*.json          facts/1 documents of the past, for `muster ingest`

Everything in it is invented and labelled as simulated. The same seed and time give the same bytes, but for
the absolute paths in the inventory.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lifecycle.core.errors import Refused
from lifecycle.sim.cards import Life
from lifecycle.sim.draws import Draws
from lifecycle.sim.history import LIBRARY, NodeDirectory, write_history
from lifecycle.sim.plan import FleetPlan, NodePlan, fleet_plan

Progress = Callable[[int, int, str], None]
_WORKERS_MAX = 4
_MARK = ".muster-demo"
_PARTS = ("inventory", "nodes", "history")
_CLOSED_PORT = 1  # tcpmux: nothing listens there, so the connection is refused at once


@dataclass(frozen=True)
class Fleet:
    """Where the built fleet stands, and how much it holds.

    sent_back: UUID and time (epoch milliseconds) of the cards that were exchanged under warranty.
    """

    inventory: Path
    nodes: Path
    history: Path
    node_names: tuple[str, ...]
    documents: int
    sent_back: tuple[tuple[str, int], ...] = ()


def build(
    directory: Path, seed: int, as_of: int, progress: Progress | None = None, plan: FleetPlan | None = None
) -> Fleet:
    """Build a fleet, by default the demo's, below `directory` as it stands at `as_of` (epoch milliseconds).

    What an earlier build left is replaced. `progress(done, total, text)` is called once per facts document,
    from one thread at a time. Raises RunnerFailed where the probe does not answer, and Refused where the
    directory holds a fleet's names that no build left there.
    """
    life, now = Life(plan or fleet_plan(), Draws(seed)), as_of // 1000
    fleet = _prepare(directory.resolve(), life, now)
    counter = _Counter(fleet.documents, progress)
    with ThreadPoolExecutor(max_workers=min(_WORKERS_MAX, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(_build_node, life, name, now, fleet, counter) for name in fleet.node_names]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    _write_inventory(fleet, life.plan)
    return fleet


def _prepare(directory: Path, life: Life, now: int) -> Fleet:
    names = tuple(life.plan.nodes)
    _refuse_what_is_not_ours(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / _MARK).write_text(
        "The simulated demo fleet; may be deleted at any time.\n", encoding="utf-8"
    )
    places = {part: directory / part for part in _PARTS}
    for place in places.values():
        if place.exists():
            shutil.rmtree(place)
        place.mkdir()
    return Fleet(
        inventory=places["inventory"] / "hosts.yml",
        nodes=places["nodes"],
        history=places["history"],
        node_names=names,
        documents=sum(len(life.moments(name, now)) for name in names),
        sent_back=tuple((uuid, moment * 1000) for uuid, moment in life.sent_back(now)),
    )


def _refuse_what_is_not_ours(directory: Path) -> None:
    found = [part for part in _PARTS if (directory / part).exists()]
    if found and not (directory / _MARK).exists():
        raise Refused(
            f"{directory} already holds {', '.join(found)}, and no demo fleet was built there.",
            means="Building the demo fleet would replace them; nothing was changed.",
            remedy="Name an empty directory, or one that an earlier demo used.",
        )


class _Counter:
    """Counts finished documents over all workers."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._lock = threading.Lock()
        self._done, self._total, self._progress = 0, total, progress

    def told(self, text: str) -> None:
        with self._lock:
            self._done += 1
            if self._progress:
                self._progress(self._done, self._total, text)


def _build_node(life: Life, name: str, now: int, fleet: Fleet, counter: _Counter) -> None:
    place = NodeDirectory(fleet.nodes / name)
    write_history(life, name, now, place, fleet.history, counter.told)
    place.set_to(life, name, life.present(now))


def _write_inventory(fleet: Fleet, plan: FleetPlan) -> None:
    pools = {
        pool: {
            "vars": {"muster_pool": pool},
            "hosts": {name: _host(plan.nodes[name], fleet.nodes / name) for name in names},
        }
        for pool, names in plan.pools.items()
    }
    group = {
        "vars": {
            "ansible_connection": "local",
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
            "muster_nvml_library": str(LIBRARY),
        },
        "children": pools,
    }
    text = yaml.safe_dump({"all": {"children": {"gpu_nodes": group}}}, sort_keys=False)
    head = "# The simulated demo fleet; built anew by every `make demo`.\n"
    fleet.inventory.write_text(head + text, encoding="utf-8")


def _host(plan: NodePlan, path: Path) -> dict[str, Any]:
    place = NodeDirectory(path)
    host: dict[str, Any] = {
        "muster_nvml_data": str(place.data),
        "muster_probe_root": str(place.root),
        "muster_expected_cards": plan.cards,
    }
    if plan.unreachable:
        host.update(ansible_connection="ssh", ansible_host="127.0.0.1", ansible_port=_CLOSED_PORT)
    return host
