"""What the crash tests need: random points in time, everything a command started, and what a spool took."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import select
import signal
import struct
import subprocess
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

# From <sys/inotify.h>: a file was moved into the directory; the head of each event.
IN_MOVED_TO = 0x80
EVENT_HEAD = struct.Struct("iIII")
EVENTS_BYTES = 1 << 20

GONE_DEADLINE_S = 60.0

# log(1 / SHORTER) / log(LONGER) is about two: two kills to one run that ended first.
SHORTER, LONGER = 0.85, 1.08


@dataclass
class Kills:
    """Random points between nothing and a little more than a whole run takes, from a printed seed.

    within_s starts as a guess and follows the runs: longer after a kill, shorter after a run that ended
    before its point, so that about two runs in three are killed, however fast the machine is.
    """

    seed: int
    within_s: float
    random: random.Random = field(init=False)
    killed: int = 0
    finished: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def point(self) -> float:
        return self.random.uniform(0, self.within_s)

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.killed} killed, {self.finished} finished before their point"

    def kill_at_point(self, pid: int, *, tree: bool = False) -> None:
        """SIGKILL a process, or it and all that it started, at a random point, unless it ends before.

        Returns when all of it is gone, what outlived its parent included.
        """
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            ended = select.select([descriptor], [], [], self.point())[0]
            os.close(descriptor)
            family = [pid, *descendants(pid)]
            if ended:
                self.finished += 1
                self.within_s *= SHORTER
            else:
                self.killed += 1
                self.within_s *= LONGER
            with contextlib.ExitStack() as stack:
                held = [fd for one in family if (fd := _held(one, stack)) is not None]
                for one in family if tree else [pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)
                for one in held:
                    assert select.select([one], [], [], GONE_DEADLINE_S)[0], f"{self}: a process outlived it"


def _held(pid: int, stack: contextlib.ExitStack) -> int | None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    stack.callback(os.close, descriptor)
    return descriptor


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


class SpoolWatch:
    """Remembers, in the kernel, every document that was moved into a spool, however short it stayed."""

    def __init__(self, incoming: Path) -> None:
        incoming.mkdir(parents=True, exist_ok=True)
        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        watch = libc.inotify_add_watch(self._descriptor, os.fsencode(incoming), IN_MOVED_TO)
        if self._descriptor < 0 or watch < 0:
            raise OSError(ctypes.get_errno(), f"inotify cannot watch {incoming}")
        self.seen: set[tuple[str, int]] = set()

    def read(self) -> set[tuple[str, int]]:
        """(node, epoch ms) of every document that came since the watch began."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._descriptor, EVENTS_BYTES):
                self.seen.update(_document(name) for name in _names(data))
        return self.seen

    def close(self) -> None:
        os.close(self._descriptor)


def _names(data: bytes) -> Iterator[str]:
    while data:
        length = EVENT_HEAD.unpack_from(data)[3]
        yield data[EVENT_HEAD.size : EVENT_HEAD.size + length].rstrip(b"\0").decode()
        data = data[EVENT_HEAD.size + length :]


def _document(name: str) -> tuple[str, int]:
    """A spool file's name is <node, percent-encoded>-<epoch ms>-<digest>.json."""
    node, epoch_ms, _ = name.rsplit("-", 2)
    return urllib.parse.unquote(node), int(epoch_ms)


class Driver:
    """The process of crash_driver.py, one drain at a time."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def begin(self, ledger_url: str, spool: Path) -> int:
        """Start a drain; returns its process."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{ledger_url}\t{spool}\n")
        return int(self._line())

    def end(self) -> int:
        """The wait status of the drain that was begun last."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the crash driver has ended"
        return line

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(GONE_DEADLINE_S)
