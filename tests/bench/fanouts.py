"""The three ways of reading a fleet that the sweep bench compares, each as one call that does all of it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.nodes import Fleet

CHECKOUT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
STOCK_PLAYBOOK = Path(__file__).with_name("stock.yml")
PAYLOAD_PROGRAM = CHECKOUT / "plugins" / "module_utils" / "gpu_probe" / "payload.py"
ANSWER_MARK = "MUSTER-ANSWER/1"


class NotRead(Exception):
    """A way of reading left nodes out, so its time means nothing."""


@dataclass(frozen=True)
class Bare:
    """`xargs -P … ssh … < payload`: the probe and ssh, and nothing else."""

    fleet: Fleet
    work: Path
    forks: int

    def prepare(self) -> None:
        make = [sys.executable, str(PAYLOAD_PROGRAM)]
        self.work.mkdir()
        _checked([*make, "--write", str(self.work / "payload")], os.environ)
        boot = subprocess.run([*make, "--command"], capture_output=True, text=True, check=True).stdout.strip()
        (self.work / "boot").write_text(boot)

    def __call__(self) -> None:
        port = next(iter(self.fleet.hosts.values()))["ansible_port"]
        ssh = shlex.join(["ssh", *self.fleet.ssh_arguments, "-p", str(port)])
        one = f'{ssh} "root@$1" "$2" < payload > "answer-$1"'
        boot = (self.work / "boot").read_text()
        addresses = "\n".join(str(host["ansible_host"]) for host in self.fleet.hosts.values())
        subprocess.run(
            ["xargs", "-P", str(self.forks), "-I{}", "sh", "-c", one, "sh", "{}", boot],
            input=addresses,
            text=True,
            cwd=self.work,
            check=True,
        )

    def check(self) -> None:
        answers = [path for path in self.work.glob("answer-*") if ANSWER_MARK in path.read_text()]
        _all_read(len(answers), len(self.fleet.hosts), "the bare fan-out")


@dataclass(frozen=True)
class Sweep:
    """`muster sweep`, from an empty ledger to the report."""

    fleet: Fleet
    work: Path
    forks: int

    def prepare(self) -> None:
        self.work.mkdir()

    @property
    def command(self) -> list[str]:
        return [str(BIN / "muster"), "sweep", "-i", str(self.fleet.inventory), "--forks", str(self.forks)]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **self.fleet.environment(),
            "MUSTER_LEDGER": f"sqlite:///{self.work / 'ledger.db'}",
            "MUSTER_SPOOL": str(self.work / "spool"),
        }

    def __call__(self) -> None:
        for leftover in self.work.glob("ledger.db*"):
            leftover.unlink()
        _checked(self.command, self.environment)

    def check(self) -> None:
        nodes = [str(BIN / "muster"), "nodes", "--json"]
        said = subprocess.run(nodes, env=self.environment, capture_output=True, text=True, check=True).stdout
        _all_read(said.count('"reach": "ok"'), len(self.fleet.hosts), "muster sweep")


@dataclass(frozen=True)
class Stock:
    """A playbook of ten stock tasks that gathers the same facts."""

    fleet: Fleet
    work: Path
    forks: int

    def prepare(self) -> None:
        self.work.mkdir()

    def __call__(self) -> None:
        environment = {
            **os.environ,
            **self.fleet.environment(),
            "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        }
        playbook = [str(BIN / "ansible-playbook"), "-i", str(self.fleet.inventory), "-f", str(self.forks)]
        _checked([*playbook, str(STOCK_PLAYBOOK)], environment)

    def check(self) -> None:
        """ansible-playbook's exit code, already checked, says that every task ran on every node."""


def _checked(command: list[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise NotRead(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _all_read(read: int, wanted: int, who: str) -> None:
    if read != wanted:
        raise NotRead(f"{who} read {read} of {wanted} nodes")
