"""What a sweep was to read, what it reached, and a record of what it did not.

A node without an answer leaves an observation that says so: every later judgement then knows that it
was tried, not only the sweep that tried it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lifecycle.adapters import inventory as inventories
from lifecycle.adapters.ansible_env import ansible_env
from lifecycle.adapters.clock import now_ms
from lifecycle.adapters.inventory import Expectation
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.runner import PlayResult, failed
from lifecycle.adapters.settings import Settings
from lifecycle.core.errors import BadInventory
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming, SweepRecord
from lifecycle.core.unreached import READABLE, READER, unreached_document

if TYPE_CHECKING:
    from lifecycle.workflows.sweep import SweepRequest

# How ansible-playbook says that a limit left no node.
_NOBODY = "no hosts to target"

_DEADLINE = ("timed_out", "the sweep's deadline passed before this node was read")
_ANSIBLE_DIED = ("unreadable", "Ansible ended before it read this node")
# Ansible's own word on a node that left no document.
_NO_DOCUMENT = {
    "ok": ("unreadable", "the node answered, but its document did not reach the ledger"),
    "failed": ("unreadable", "the task failed on the controller before anything was spooled"),
    "unreachable": ("unreachable", "Ansible could not reach the node"),
}


@dataclass(frozen=True, slots=True)
class Roster:
    """The nodes that were to be read. known: False where the inventory could not be asked for them all."""

    nodes: Mapping[str, Expectation]
    known: bool = True


def roster(settings: Settings, request: SweepRequest, result: PlayResult, *, any_read: bool) -> Roster:
    """Ansible names all nodes at its own end; where it did not come to that, the inventory is asked.

    any_read: whether a document of this sweep reached the ledger, which Ansible may not have lived to tell.
    Raises BadInventory where there is no node at all, RunnerFailed where Ansible never got to one.
    """
    if result.no_hosts or any(_NOBODY in line for line in result.tail):
        matching = f" that matches «{request.limit}»." if request.limit else "."
        raise BadInventory(
            f"The inventory {request.inventory} has no node in group {inventories.GROUP}{matching}",
            means="Nothing was read.",
            remedy=f"Put your GPU servers into the group {inventories.GROUP}; see inventory/README.md.",
        )
    if result.finished and result.nodes:
        return Roster(dict.fromkeys(result.nodes, Expectation()))
    if not (result.nodes or result.cut_short or any_read):
        raise failed(result, request.inventory)
    try:
        env = ansible_env(settings.checkout, os.environ)
        named = inventories.nodes_of(request.inventory, limit=request.limit, env=env)
    except BadInventory:
        # Nodes were read: that is told, and the sweep counts as incomplete.
        return Roster(dict.fromkeys(result.nodes, Expectation()), known=False)
    return Roster({**dict.fromkeys(result.nodes, Expectation()), **named})


def note_unreached(ledger: Ledger, asked: Roster, result: PlayResult, started: int) -> None:
    """An observation for every asked node that left none since `started`."""
    seen = ledger.read_since(started)
    at = now_ms()
    waiting = []
    for node, expected in asked.nodes.items():
        if node not in seen:
            reach, detail = _why(node, result)
            document = unreached_document(
                node, at, reach, detail, pool=expected.pool, expected_cards=expected.cards
            )
            waiting.append(Incoming(READER, parse_document(document)))
    ledger.ingest(waiting, now=at)


def _why(node: str, result: PlayResult) -> tuple[str, str]:
    if node in result.nodes:
        reach, detail = _NO_DOCUMENT[result.nodes[node]]
        said = result.words.get(node)
        return reach, f"{detail}: {said}" if said else detail
    return _DEADLINE if result.cut_short else _ANSIBLE_DIED


def recorded_sweep(
    ledger: Ledger, asked: Roster, request: SweepRequest, started: int, policy_sha256: str
) -> SweepRecord:
    """What this sweep reached, as the ledger has it. Complete: the whole inventory, and all of it read.

    A sweep of a part (--limit) is never complete: it must not feed a dead man's switch.
    """
    seen = ledger.read_since(started)
    read = {node: seen[node] for node in asked.nodes if node in seen and seen[node].reach == READABLE}
    not_read = {
        node: seen[node].reach if node in seen else "unreadable"
        for node in sorted(set(asked.nodes) - set(read))
    }
    return SweepRecord(
        started_at=started,
        ended_at=now_ms(),
        nodes_asked=len(asked.nodes),
        nodes_read=len(read),
        cards_read=sum(one.cards for one in read.values()),
        complete=asked.known and not not_read and request.limit is None,
        not_read=not_read,
        policy_sha256=policy_sha256,
    )
