"""Work in child processes that may hang or crash without harming their parent.

A child runs in its own session with its standard streams on /dev/null, so that one that is stuck in the
driver cannot hold an SSH channel open. It answers through a pipe, one JSON line per piece, and what
arrived before a hang or a crash is kept. At its deadline it is killed, with the programs that it
started, and never waited for endlessly.
"""

import json
import os
import select
import signal
import time

from .options import CHILD_BYTES_MAX, LINGER_S


class Child:
    """One child: `outcome` is "" while it runs, then ok, timed_out or crashed, with `detail`."""

    def __init__(self, pid, pipe, deadline, on_line):
        self.pid = pid
        self.pipe = pipe
        self.deadline = deadline
        self.on_line = on_line
        self.started = time.monotonic()
        self.took_ms = 0
        self.outcome = ""
        self.detail = ""
        self.done = False
        self.size = 0
        self.rest = b""


class Crew:
    """The children of one probe, all bound by one deadline (monotonic seconds)."""

    def __init__(self, deadline):
        self.deadline = deadline
        self.open = {}

    def start(self, work, seconds, on_line):
        """Run `work(emit)` in a child for at most `seconds`; each dict it emits reaches `on_line` here."""
        deadline = min(self.deadline, time.monotonic() + seconds)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            _be_child(work, reader, writer, seconds)
        os.close(writer)
        os.set_blocking(reader, False)
        child = Child(pid, reader, deadline, on_line)
        self.open[reader] = child
        return child

    def run(self):
        """Serve the children until every one has ended or run out of time."""
        while self.open:
            poller = select.poll()
            for pipe in self.open:
                poller.register(pipe, select.POLLIN)
            soonest = min(child.deadline for child in self.open.values())
            wait = max(0.0, soonest - time.monotonic())
            for pipe, _ in poller.poll(int(wait * 1000) + 1):
                self._receive(self.open[pipe])
            now = time.monotonic()
            for child in [c for c in self.open.values() if c.deadline <= now]:
                self._end(child, "timed_out")

    def _receive(self, child):
        chunk = os.read(child.pipe, 65536)
        child.size += len(chunk)
        if not chunk:
            self._end(child, "ok" if child.done else "crashed")
        elif child.size > CHILD_BYTES_MAX:
            self._end(child, "crashed", "answered more than %d bytes" % CHILD_BYTES_MAX)
        else:
            lines = (child.rest + chunk).split(b"\n")
            child.rest = lines.pop()
            for line in lines:
                _deliver(child, line)

    def _end(self, child, outcome, detail=""):
        del self.open[child.pipe]
        os.close(child.pipe)
        child.took_ms = int((time.monotonic() - child.started) * 1000)
        if outcome != "ok":
            _kill(child.pid)
        status = _reap(child.pid)
        child.outcome = outcome
        child.detail = detail or child.detail or _describe(child, outcome, status)


def _be_child(work, reader, writer, seconds):
    """Never returns: the child's whole life."""
    status = 1
    try:
        os.setsid()
        os.close(reader)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        # Should the parent be killed, nobody else is left to end a hung child.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds) + 2)

        def emit(piece):
            data = json.dumps(piece, separators=(",", ":"), allow_nan=False).encode("utf-8") + b"\n"
            while data:
                data = data[os.write(writer, data) :]

        try:
            work(emit)
        except Exception as error:
            emit({"!failed": "%s: %s" % (type(error).__name__, str(error)[:200])})
        else:
            emit({"!done": True})
            status = 0
    finally:
        os._exit(status)


def _deliver(child, line):
    try:
        piece = json.loads(line)
    except ValueError:
        piece = {"!failed": "a line that is not JSON"}
    child.done = child.done or bool(piece.pop("!done", False))
    child.detail = piece.pop("!failed", child.detail)
    if piece:
        child.on_line(piece)


def _kill(pid):
    """End the child and what it started: it leads a session, so its group bears its own number."""
    # One that has not come to setsid yet leads no group, and has started nothing.
    for end in (os.killpg, os.kill):
        try:
            end(pid, signal.SIGKILL)
        except OSError:
            continue


def _reap(pid):
    """The child's wait status, or None where it has not ended within a moment of its kill."""
    end = time.monotonic() + LINGER_S
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() >= end:
            return None
        time.sleep(0.002)


def _describe(child, outcome, status):
    seconds = child.deadline - child.started
    if outcome == "ok":
        return ""
    if status is None:
        return "no answer within %.1f s; process %d does not end and may be stuck in the driver" % (
            seconds,
            child.pid,
        )
    if outcome == "timed_out":
        return "no answer within %.1f s; process %d was ended" % (seconds, child.pid)
    if os.WIFSIGNALED(status):
        return "process %d ended by signal %d" % (child.pid, os.WTERMSIG(status))
    return "process %d ended early with status %d" % (child.pid, os.WEXITSTATUS(status))
