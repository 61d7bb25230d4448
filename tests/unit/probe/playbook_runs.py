"""Runs of ansible-playbook over nodes that the local connection stands in for, judged by the spool."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import yaml
from node_double import CHECKOUT, a_node, options_for

from lifecycle.core.facts import FactsDocument
from lifecycle.core.ingest import parse_document

BIN = Path(sys.executable).parent

BY_FILE = """
from ansible.plugins.connection.local import Connection as Local
DOCUMENTATION = '''
name: by_file
short_description: The local connection, unable to feed a command's stdin
description: For tests.
options: {}
'''
class Connection(Local):
    transport = "by_file"
    has_pipelining = False
"""

NO_ROUTE = """
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase
DOCUMENTATION = '''
name: no_route
short_description: A connection that is never made
description: For tests.
options: {}
'''
class Connection(ConnectionBase):
    transport = "no_route"
    has_pipelining = True
    def _connect(self):
        return self
    def exec_command(self, cmd, in_data=None, sudoable=True):
        raise AnsibleConnectionFailure("No route to host\\x1b[31m")
    def put_file(self, in_path, out_path):
        raise AnsibleConnectionFailure("No route to host")
    def fetch_file(self, in_path, out_path):
        raise AnsibleConnectionFailure("No route to host")
    def close(self):
        pass
"""


def script(where: Path, body: str) -> str:
    """An executable that stands in for a node's Python."""
    where.write_text("#!/bin/sh\n" + body)
    where.chmod(0o755)
    return str(where)


def sweep(
    where: Path,
    hosts: dict[str, dict[str, Any]],
    *arguments: str,
    playbook: str | Path | None = None,
    within: tuple[str, ...] = (),
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run a playbook over `hosts` with the local connection; the spool is `where`/spool.

    `within`: a command line that runs the one it is followed by.
    """
    inventory = where / "inventory.yml"
    common = {"ansible_connection": "local", "muster_spool": str(where / "spool")}
    inventory.write_text(yaml.safe_dump({"gpu_nodes": {"vars": common, "hosts": hosts}}))
    plugins = where / "connection_plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "by_file.py").write_text(BY_FILE)
    (plugins / "no_route.py").write_text(NO_ROUTE)
    settings = {
        "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
        "ANSIBLE_CONNECTION_PLUGINS": str(plugins),
        "ANSIBLE_LOCAL_TEMP": str(where / "ansible"),
        "ANSIBLE_REMOTE_TMP": str(where / "remote"),
        "ANSIBLE_NOCOLOR": "1",
    }
    return subprocess.run(
        [
            *within,
            BIN / "ansible-playbook",
            "-i",
            inventory,
            playbook or CHECKOUT / "playbooks/sweep.yml",
            *arguments,
        ],
        capture_output=True,
        text=True,
        cwd=where,
        env={**os.environ, **settings, **environment},
        check=False,
    )


def documents(spool: Path) -> dict[str, FactsDocument]:
    """Every document in the spool by its node; the ledger's reader takes each of them."""
    found = {}
    for path in sorted((spool / "incoming").iterdir()):
        parse_document(path.read_bytes())
        document = msgspec.json.decode(path.read_bytes(), type=FactsDocument)
        found[document.node] = document
    return found


def simulated(where: Path, *cards: dict[str, Any]) -> dict[str, Any]:
    """Host variables of a node whose cards and files are simulated."""
    where.mkdir()
    chosen = options_for(where, a_node(*cards))
    return {
        "muster_probe_root": chosen["root"],
        "muster_nvml_library": chosen["nvml_library"],
        "muster_nvml_data": chosen["nvml_data"],
    }


def run_task(
    where: Path, task: dict[str, Any], *arguments: str, **host: Any
) -> subprocess.CompletedProcess[str]:
    play = {"hosts": "gpu_nodes", "gather_facts": False, "tasks": [task]}
    (where / "play.yml").write_text(yaml.safe_dump([play]))
    return sweep(where, {"one": host}, "-v", *arguments, playbook=where / "play.yml")
