"""Which nodes an inventory names, asked of Ansible itself so that every inventory plugin works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lifecycle.core.errors import BadInventory

GROUP = "gpu_nodes"
TIMEOUT_S = 120
"""A dynamic inventory asks some service; one that has not answered in two minutes will not."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the inventory says of a node, where it says it plainly (a template is not resolved here)."""

    pool: str | None = None
    cards: int | None = None


def check_exists(inventory: Path) -> None:
    """Refuse a path that is not there before anything is started."""
    if not inventory.exists():
        raise BadInventory(
            f"The inventory {inventory} does not exist.",
            means="No node was read; nothing was changed.",
            remedy="Name a file or folder with -i; inventory/example shows how one looks.",
        )


def nodes_of(inventory: Path, *, limit: str | None, env: Mapping[str, str]) -> dict[str, Expectation]:
    """The nodes of group `gpu_nodes`, after `limit`, in inventory order.

    Costs a start of Ansible (about a second), so it is asked only where a run did not tell by itself.
    """
    program = str(Path(sys.executable).parent / "ansible-inventory")
    command = [program, "-i", str(inventory), "--list"]
    if limit:
        command += ["--limit", limit]
    try:
        done = subprocess.run(
            command, env={**os.environ, **env}, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        listing = json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        raise _unreadable(inventory, error.stderr.strip()[-400:]) from error
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise _unreadable(inventory, str(error)[-400:]) from error
    variables = listing.get("_meta", {}).get("hostvars", {})
    return {node: _expectation(variables.get(node, {})) for node in _members(listing, GROUP, set())}


def _expectation(variables: Mapping[str, Any]) -> Expectation:
    pool, cards = variables.get("muster_pool"), variables.get("muster_expected_cards")
    plain = isinstance(pool, str) and "{{" not in pool
    return Expectation(pool if plain else None, cards if type(cards) is int else None)


def _members(listing: Mapping[str, dict[str, list[str]]], group: str, seen: set[str]) -> list[str]:
    if group in seen:
        return []
    seen.add(group)
    entry = listing.get(group, {})
    found = list(entry.get("hosts", []))
    for child in entry.get("children", []):
        found += [node for node in _members(listing, child, seen) if node not in found]
    return found


def _unreadable(inventory: Path, said: str) -> BadInventory:
    return BadInventory(
        f"Ansible cannot read the inventory {inventory}: {said}",
        means="It is not known which nodes should have been read.",
        remedy=f"Try: ansible-inventory -i {inventory} --list",
    )
