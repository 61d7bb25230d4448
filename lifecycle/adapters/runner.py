"""One playbook run through ansible-runner: a playbook's path in, one outcome per node out."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from lifecycle.core.errors import RunnerFailed

# Lines of Ansible's own output kept for the error message when a run ends before any node did.
TAIL_LINES = 12

# Of one node's failure a few sentences tell enough; the text may come from the node.
WORDS_MAX = 500

# How long Ansible may take to end its workers once it was told to. It signals them and waits for none.
TERMINATION_GRACE_S = 10.0

HOST_KEY_VARIABLE = "ANSIBLE_HOST_KEY_CHECKING"

# Ansible's event names, and what they say about a node.
_NODE_EVENTS = {
    "runner_on_ok": "ok",
    "runner_on_failed": "failed",
    "runner_on_unreachable": "unreachable",
    "runner_on_skipped": "ok",
}


@dataclass(slots=True)
class PlayResult:
    """How a run went.

    nodes: node → ok, failed or unreachable, for every node Ansible finished with. finished: Ansible
    reached its own end, so `nodes` names all it was to do. cut_short: the run was stopped from here
    (deadline or signal). words: node → what Ansible said of its failure. rc: ansible-playbook's own exit
    code, None if killed. tail: the last lines Ansible printed.
    """

    nodes: dict[str, str] = field(default_factory=dict)
    finished: bool = False
    cut_short: bool = False
    words: dict[str, str] = field(default_factory=dict)
    rc: int | None = None
    no_hosts: bool = False
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))


class PlaybookRun:
    """A running ansible-playbook, started when made; the caller's own imports overlap with Ansible's.

    Owns its private folder and its thread; `wait` ends both, and so does leaving its `with` block.
    """

    def __init__(
        self,
        playbook: Path,
        *,
        private_dir: Path,
        inventory: Path,
        env: Mapping[str, str],
        forks: int | None = None,
        limit: str | None = None,
        variables: Mapping[str, str] | None = None,
        on_node: Callable[[str, str], None] | None = None,
    ) -> None:
        self._private_dir = private_dir
        self._on_node = on_node
        self._stop = threading.Event()
        self._ansible_pid: int | None = None
        self.result = PlayResult()
        # Left behind by a killed run: it holds the environment of that run, so it goes first.
        shutil.rmtree(private_dir, ignore_errors=True)
        _make_private(private_dir)
        arguments: dict[str, Any] = {
            "private_data_dir": str(private_dir),
            "playbook": str(playbook),
            "inventory": str(inventory.absolute()),
            "project_dir": str(playbook.parent),
            "envvars": {**env, "PATH": _path(), **_host_keys_checked()},
            "extravars": dict(variables or {}),
            "quiet": True,
            "suppress_env_files": True,
            "suppress_output_file": True,
            "event_handler": self._on_event,
            "cancel_callback": self._stop.is_set,
        }
        if forks is not None:
            arguments["forks"] = forks
        if limit is not None:
            arguments["limit"] = limit
        self._runner = _prepared(arguments)
        # Waited for instead of the thread: a signal that interrupts Thread.join makes Python 3.11 take the
        # thread for ended (python/cpython#90882).
        self._ended = threading.Event()
        threading.Thread(target=self._work, name="ansible-runner").start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended.is_set():
            self.stop()
        shutil.rmtree(self._private_dir, ignore_errors=True)

    def wait(self, seconds: float | None) -> PlayResult:
        """Wait for the end, at most `seconds`; past that the run is stopped and marked cut_short."""
        if not self._ended.wait(seconds):
            self.stop()
        shutil.rmtree(self._private_dir, ignore_errors=True)
        self.result.rc = self._runner.rc
        return self.result

    def stop(self) -> None:
        """End Ansible and its ssh children, and wait until they are gone.

        Ansible's workers lead sessions of their own, so only Ansible itself, asked by SIGTERM, ends them
        and their ssh clients; ansible-runner's own way, SIGKILL to Ansible's process group, would not.
        """
        self.result.cut_short = True
        if self._ansible_pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._ansible_pid, signal.SIGTERM)
            self._ended.wait(TERMINATION_GRACE_S)
        self._stop.set()
        self._ended.wait()

    def _work(self) -> None:
        try:
            self._runner.run()
        finally:
            self._ended.set()

    def _on_event(self, event: Mapping[str, Any]) -> bool:
        name = event.get("event")
        if name == "playbook_on_start":
            self._ansible_pid = event.get("pid")
        if line := event.get("stdout"):
            self.result.tail.extend(str(line).splitlines())
        if name == "playbook_on_stats":
            self.result.finished = True
        if name == "playbook_on_no_hosts_matched":
            self.result.no_hosts = True
        if name in _NODE_EVENTS:
            data = event.get("event_data", {})
            node = data.get("host")
            if node is not None:
                self.result.nodes[node] = _NODE_EVENTS[name]
                if _NODE_EVENTS[name] != "ok":
                    said = data.get("res", {}).get("msg", "")
                    self.result.words[node] = str(said)[:WORDS_MAX]
                if self._on_node is not None:
                    self._on_node(node, _NODE_EVENTS[name])
        return False  # nothing of it needs to stay on disk


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, mode=0o700)
    except OSError as error:
        raise RunnerFailed(
            f"The folder {folder} that Ansible runs in cannot be made: {error.strerror}.",
            means="Ansible was not started and no node was read.",
            remedy="Make room, make the spool writable for this user, or set MUSTER_SPOOL to another folder.",
        ) from error


def _host_keys_checked() -> dict[str, str]:
    """ansible-runner switches host key checking off unless the environment has a word on it."""
    return {} if HOST_KEY_VARIABLE in os.environ else {HOST_KEY_VARIABLE: "True"}


def _path() -> str:
    """PATH with this interpreter's neighbours first: the pinned ansible-playbook is the one that runs."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def _prepared(arguments: dict[str, Any]) -> Any:
    from ansible_runner.interface import init_runner

    return init_runner(**arguments)


def failed(result: PlayResult, inventory: Path) -> RunnerFailed:
    """The error for a run in which Ansible ended before it finished with any node."""
    said = "\n    ".join(line for line in result.tail if line.strip()) or "(nothing)"
    return RunnerFailed(
        f"Ansible ended with code {result.rc} before any node answered. Its last words:\n    {said}",
        means="No node was read; what the ledger knew before is unchanged.",
        remedy=f"Try: ansible-playbook -i {inventory} playbooks/sweep.yml -vv",
    )
