"""How much memory a command and everything it starts takes, at its highest, sampled while it runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

INTERVAL_S = 0.25
MB = 1_000_000


@dataclass
class Peak:
    """Highest sums over the process tree, in MB.

    rss counts pages that processes share once for each of them, so it overstates forks; pss shares them
    out, so it is what the machine really gives. largest: the largest single process, by rss.
    """

    rss: float = 0.0
    pss: float = 0.0
    largest: float = 0.0
    processes: int = 0
    samples: int = 0

    def take(self, pids: set[int]) -> None:
        sizes = [size for size in map(_sizes, pids) if size is not None]
        if not sizes:
            return
        self.rss = max(self.rss, sum(rss for rss, _ in sizes) / MB)
        self.pss = max(self.pss, sum(pss for _, pss in sizes) / MB)
        self.largest = max(self.largest, max(rss for rss, _ in sizes) / MB)
        self.processes = max(self.processes, len(sizes))
        self.samples += 1


def peak_of(command: list[str], environment: Mapping[str, str], marker: str) -> Peak:
    """Run the command to its end. A process belongs to it as its child, however deep, or by `marker` in its
    arguments, which finds the connections that ssh keeps open in the background."""
    peak, done = Peak(), threading.Event()
    # A session of its own, so that what it starts and leaves can be told from this process's own children.
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def sample() -> None:
        while not done.wait(INTERVAL_S):
            peak.take(_tree(process.pid) | set(_with_argument(marker)))

    watcher = threading.Thread(target=sample)
    watcher.start()
    try:
        process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    finally:
        done.set()
        watcher.join()
    return peak


def _tree(root: int) -> set[int]:
    parents = {pid: parent for pid in _pids() if (parent := _parent(pid)) is not None}
    tree, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in tree} - tree
        tree |= more
        grown = bool(more)
    return tree


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _parent(pid: int) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        # The command's name stands in brackets and may hold anything.
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def _with_argument(marker: str) -> Iterator[int]:
    for pid in _pids():
        with contextlib.suppress(OSError):
            if marker.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                yield pid


def _sizes(pid: int) -> tuple[int, int] | None:
    """(rss, pss) in bytes, or None where the process has gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:] if line.endswith("kB")}
    if "Rss" not in kilobytes:
        return None
    return kilobytes["Rss"] * 1024, kilobytes["Pss"] * 1024
