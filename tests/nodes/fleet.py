"""Nodes together: started at once, written into an inventory with their host keys, ended at once."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.nodes.addresses import CROWD_NET, NODES_NET, loopback, unused_port
from tests.nodes.node import Node, NodeSpec, make_key, start_node, wait_until_up
from tests.nodes.tree import base_tree


@dataclass
class Fleet:
    """Nodes, the key that opens them, and what an Ansible or ssh client needs to reach them.

    hosts: inventory name → connection and other variables; change it, then call `write_inventory`.
    """

    home: Path
    nodes: list[Node]
    key: Path
    known_hosts: Path
    control_dir: Path
    hosts: dict[str, dict[str, object]] = field(default_factory=dict)

    def __getitem__(self, index: int) -> Node:
        return self.nodes[index]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    @property
    def inventory(self) -> Path:
        return self.home / "inventory.json"

    @property
    def ssh_arguments(self) -> list[str]:
        """For a bare `ssh`: the fleet's key and host keys, and nothing of the user's own configuration."""
        return ["-F", "none", "-i", str(self.key), *self._options()]

    def _options(self) -> list[str]:
        return [
            "-o",
            f"UserKnownHostsFile={self.known_hosts}",
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            "IdentitiesOnly=yes",
        ]

    def environment(self) -> dict[str, str]:
        """What makes Ansible keep its connection sockets here, so that a fleet starts cold."""
        return {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.control_dir)}

    def cool_down(self) -> None:
        """Close every connection that ssh keeps open for the next one."""
        for control in self.control_dir.iterdir():
            leave = ["ssh", "-F", "none", "-O", "exit", "-o", f"ControlPath={control}", "any"]
            subprocess.run(leave, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        shutil.rmtree(self.control_dir, ignore_errors=True)
        self.control_dir.mkdir()

    def write_inventory(self) -> Path:
        """An inventory of the group gpu_nodes with strict host key checking."""
        everyone = {
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.key),
            "ansible_ssh_common_args": " ".join(["-F none", *self._options()]),
        }
        document = {"gpu_nodes": {"hosts": self.hosts, "vars": everyone}}
        self.inventory.write_text(json.dumps(document, indent=1))
        return self.inventory

    def add_host(self, name: str, address: str, port: int, **variables: object) -> None:
        """Name one more host, real or not, in the inventory."""
        self.hosts[name] = {"ansible_host": address, "ansible_port": port, **variables}


@contextlib.contextmanager
def nodes(home: Path, wanted: int | Sequence[NodeSpec]) -> Iterator[Fleet]:
    """Real nodes on 127.0.1.1, 127.0.1.2 …, one sshd each, all gone at the end of the block.

    `wanted` is a number of plain nodes named node-01 …, or what each is to be.
    """
    specs = [NodeSpec(f"node-{n:02d}") for n in range(1, wanted + 1)] if isinstance(wanted, int) else wanted
    addresses = loopback(NODES_NET, len(specs))
    with unused_port(addresses) as port, _fleet(home) as fleet:
        for spec, address in zip(specs, addresses, strict=True):
            listen = f"ListenAddress {address}:{port}"
            _add(fleet, spec, listen=listen, address=address, port=port)
            fleet.add_host(spec.name, address, port, **spec.variables)
        _bring_up(fleet)
        yield fleet


@contextlib.contextmanager
def crowd(home: Path, count: int, spec: NodeSpec | None = None) -> Iterator[Fleet]:
    """`count` inventory hosts on 127.0.2.1 … that are one node: enough for a client's speed and memory.

    A socket can be bound to one address or to all; `rdomain lo` keeps «all» on the loopback interface.
    """
    addresses = loopback(CROWD_NET, count)
    with unused_port([""]) as port, _fleet(home) as fleet:
        listen = f"ListenAddress 0.0.0.0:{port} rdomain lo"
        one = _add(fleet, spec or NodeSpec("crowd"), listen=listen, address=addresses[0], port=port)
        for number, address in enumerate(addresses, start=1):
            fleet.add_host(f"seat-{number:04d}", address, port)
        _bring_up(fleet)
        fleet.known_hosts.write_text("".join(f"[{address}]:{port} {one.host_key}\n" for address in addresses))
        yield fleet


class SilentNode:
    """A port that takes connections and never speaks, like the sshd of a node whose disk has died."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._callers: list[socket.socket] = []
        self.address, self.port = server.getsockname()

    def wait_for_caller(self, deadline_s: float) -> None:
        """Return when somebody has connected, which is when a sweep is in the middle of reading."""
        self._server.settimeout(deadline_s)
        self._callers.append(self._server.accept()[0])

    def hang_up(self) -> None:
        for caller in self._callers:
            caller.close()


@contextlib.contextmanager
def silent_node(address: str) -> Iterator[SilentNode]:
    """A silent node at a free port of this loopback address."""
    with socket.create_server((address, 0), backlog=64) as server:
        node = SilentNode(server)
        try:
            yield node
        finally:
            node.hang_up()


@contextlib.contextmanager
def _fleet(home: Path) -> Iterator[Fleet]:
    home.mkdir(parents=True, exist_ok=True)
    # A Unix socket's path holds 107 bytes, ssh's own suffix included, so this directory has a short name.
    control_dir = Path(tempfile.mkdtemp(prefix="muster-cp-"))
    make_key(home / "key", comment="muster tests")
    fleet = Fleet(home, [], home / "key", home / "known_hosts", control_dir)
    try:
        yield fleet
    finally:
        for node in fleet:
            node.remove()
        shutil.rmtree(control_dir, ignore_errors=True)


def _add(fleet: Fleet, spec: NodeSpec, *, listen: str, address: str, port: int) -> Node:
    node = start_node(
        spec,
        base_tree(),
        fleet.home / "nodes" / spec.name,
        listen=listen,
        address=address,
        port=port,
        authorized_key=fleet.key.with_name("key.pub").read_text().strip(),
    )
    fleet.nodes.append(node)
    return node


def _bring_up(fleet: Fleet) -> None:
    for node in fleet:
        wait_until_up(node)
    fleet.known_hosts.write_text("".join(f"[{n.address}]:{n.port} {n.host_key}\n" for n in fleet))
    fleet.write_inventory()
