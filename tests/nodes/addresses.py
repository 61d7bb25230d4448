"""Loopback addresses and ports that test nodes answer on."""

from __future__ import annotations

import socket
from collections.abc import Sequence

FIRST_PORT, LAST_PORT = 2200, 2999

# 127.0.1.x are nodes of their own, 127.0.2.x and on are the seats of a crowd.
NODES_NET, CROWD_NET = 1, 2


def loopback(third: int, count: int) -> list[str]:
    """`count` addresses from 127.0.<third>.1 upwards, .0 and .255 left out."""
    return [f"127.0.{third + n // 254}.{n % 254 + 1}" for n in range(count)]


def unused_port(addresses: Sequence[str]) -> int:
    """A port that nothing listens on at any of these addresses."""
    for port in range(FIRST_PORT, LAST_PORT):
        if all(_is_free(address, port) for address in addresses):
            return port
    raise RuntimeError(f"no port between {FIRST_PORT} and {LAST_PORT} is free on {addresses[0]}")


def _is_free(address: str, port: int) -> bool:
    try:
        with socket.create_server((address, port)):
            return True
    except OSError:
        return False
