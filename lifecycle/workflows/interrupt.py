"""SIGTERM ends a workflow the way Ctrl-C does, so that locks, children and folders are put in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """While inside, SIGTERM raises SystemExit(128 + 15) in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
