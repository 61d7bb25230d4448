"""What one node may cost the controller: time and memory. Ansible itself bounds neither.

Both bounds raise a BaseException that is no Exception, so that no connection plugin takes it for its own.
Signals reach the main thread only: elsewhere neither bound holds.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading

from ansible_collections.muster.gpu.plugins.plugin_utils.answer import PACKED_MAX

# Ansible holds a command's output several times over: in pieces, joined, as text, and as lines.
MEMORY_MAX = 16 * PACKED_MAX
_STEP_S = 0.02  # of this process's own CPU time; at 2 GB/s from a pipe, 40 MB between two looks
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage(2): bytes on macOS, kilobytes elsewhere


class OutOfTime(BaseException):
    """The action's own deadline passed."""


class TooMuch(BaseException):
    """Reading the node's output took more memory than any answer needs."""


@contextlib.contextmanager
def deadline(seconds, task_timeout):
    """Raise OutOfTime in the body after so many seconds; Ansible's own task timeout takes precedence."""
    if not seconds or task_timeout or not _in_main_thread():
        yield
        return

    def out_of_time(_signal, _frame):
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(int(seconds))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def memory(most=MEMORY_MAX):
    """Raise TooMuch in the body once this process has grown by more than `most` bytes.

    The timer counts CPU time, which only a node that goes on sending makes this process use: waiting for
    the others costs nothing, and SIGALRM stays free for the deadline and for Ansible.
    """
    if not _in_main_thread():
        yield
        return
    least = _peak()

    def look(_signal, _frame):
        if _peak() - least > most:
            raise TooMuch

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _STEP_S, _STEP_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def end_own_children():
    """End what the connection plugin started in this worker and left running, such as an ssh client."""
    for pid in _descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def _in_main_thread():
    return threading.current_thread() is threading.main_thread()


def _descendants(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as stream:
            children = [int(child) for child in stream.read().split()]
    except (OSError, ValueError):
        return []
    return children + [further for child in children for further in _descendants(child)]
