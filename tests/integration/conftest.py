"""What integration tests share: a fleet of healthy nodes, and Muster called as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.nodes import Fleet, gpu_node, healthy_cards, nodes

CHECKOUT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
# Long enough for a slow machine, short enough that a hang shows.
PATIENCE_S = 240


@dataclass
class Muster:
    """The command with a ledger and a spool of its own."""

    home: Path
    fleet: Fleet | None = None
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def ledger_file(self) -> Path:
        return self.home / "ledger.db"

    @property
    def spool(self) -> Path:
        return self.home / "spool"

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **(self.fleet.environment() if self.fleet else {}),
            "MUSTER_LEDGER": f"sqlite:///{self.ledger_file}",
            "MUSTER_SPOOL": str(self.spool),
            "NO_COLOR": "1",
            **self.extra,
        }

    def run(self, *arguments: str, inventory: Path | None = None) -> subprocess.CompletedProcess[str]:
        """The command to its end, whatever its exit code."""
        return subprocess.run(
            [str(BIN / "muster"), *arguments, *(["-i", str(inventory)] if inventory else [])],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The command under way, leading a process group of its own."""
        return subprocess.Popen(
            [str(BIN / "muster"), *arguments],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def playbook(self, inventory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The sweep as plain Ansible runs it, from the checkout."""
        return subprocess.run(
            [str(BIN / "ansible-playbook"), "-i", str(inventory), "playbooks/sweep.yml", *arguments],
            env=self.environment,
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def answer(self, *arguments: str, inventory: Path | None = None) -> dict[str, Any]:
        """The JSON document that a command prints."""
        done = self.run(*arguments, "--json", inventory=inventory)
        assert done.stdout, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def documents(self) -> list[dict[str, Any]]:
        """The facts documents that wait in the spool."""
        return [json.loads(path.read_bytes()) for path in sorted((self.spool / "incoming").glob("*.json"))]


@pytest.fixture
def muster(tmp_path: Path) -> Muster:
    return Muster(tmp_path)


@pytest.fixture(scope="session")
def healthy_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Three nodes with two healthy cards each. Tests read them and leave them as they are."""
    specs = [gpu_node(f"gpu-{number:02d}", healthy_cards(number)) for number in (1, 2, 3)]
    with nodes(tmp_path_factory.mktemp("healthy") / "fleet", specs) as fleet:
        yield fleet
