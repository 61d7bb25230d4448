"""Loopback addresses and ports that test nodes answer on."""

from __future__ import annotations

import contextlib
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

FIRST_PORT, LAST_PORT = 2200, 2999

# 127.0.1.x are nodes of their own, 127.0.2.x and on are the seats of a crowd.
NODES_NET, CROWD_NET = 1, 2


def loopback(third: int, count: int) -> list[str]:
    """`count` addresses from 127.0.<third>.1 upwards, .0 and .255 left out."""
    return [f"127.0.{third + n // 254}.{n % 254 + 1}" for n in range(count)]


@contextlib.contextmanager
def unused_port(addresses: Sequence[str]) -> Iterator[int]:
    """A port that nothing listens on at any of these addresses; no other test run takes it meanwhile."""
    for port in range(FIRST_PORT, LAST_PORT):
        lock = FileLock(Path(tempfile.gettempdir()) / f"muster-test-port-{port}.lock", blocking=False)
        try:
            lock.acquire()
        except Timeout:
            continue
        try:
            if all(_is_free(address, port) for address in addresses):
                yield port
                return
        finally:
            lock.release()
    raise RuntimeError(f"no port between {FIRST_PORT} and {LAST_PORT} is free on {addresses[0]}")


def _is_free(address: str, port: int) -> bool:
    try:
        with socket.create_server((address, port)):
            return True
    except OSError:
        return False
