"""Nodes as NVIDIA cards make them look: the NVML double, and what driver and PCI bus show beside it."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tests import nvml_double
from tests.nodes.addresses import CROWD_NET, loopback
from tests.nodes.node import FileContent, NodeSpec

DRIVER = "570.148.08"
SEAT_SHELL = "/usr/local/bin/seat-shell"
LIBRARY = f"/usr/lib/{nvml_double.NAME}"

Card = Mapping[str, str | int]


def healthy_cards(node_number: int, count: int = 2) -> list[Card]:
    """Cards nobody else in the fleet has: UUID, serial and PCI address follow from node and place."""
    return [
        nvml_double.card(
            f"GPU-{node_number:08x}-0000-4000-8000-{place:012x}",
            serial=f"16500{node_number:04d}{place:04d}",
            pci=pci_address(place),
            minor=place,
        )
        for place in range(count)
    ]


def pci_address(place: int) -> str:
    return f"0000:{place * 4 + 7:02x}:00.0"


def gpu_node(
    name: str,
    cards: Iterable[Card],
    *,
    files: Mapping[str, FileContent] | None = None,
    node_keys: Mapping[str, str | int] | None = None,
    variables: Mapping[str, object] | None = None,
) -> NodeSpec:
    """A node whose driver, library and bus agree about `cards`; `files` adds to it or overrides it."""
    cards = list(cards)
    with tempfile.TemporaryDirectory() as directory:
        data = nvml_double.write_data(Path(directory) / "cards.conf", cards, **(node_keys or {})).read_bytes()
    shown: dict[str, FileContent] = {
        LIBRARY: _library(),
        nvml_double.DATA_PATH: data,
        "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}\n",
        "/sys/module/nvidia/version": f"{DRIVER}\n",
        "/sys/module/nvidia/refcnt": "4\n",
    }
    for card in cards:
        shown |= _on_the_bus(str(card["pci"]))
    return NodeSpec(name, files={**shown, **(files or {})}, variables=variables or {})


def gpu_crowd(count: int, cards_per_node: int, tree: Path) -> NodeSpec:
    """One node for `crowd`, with cards of its own for each of its addresses.

    root's shell points the double at the cards of the address that the connection came in on.
    """
    shown: dict[str, FileContent] = {
        SEAT_SHELL: f"#!/bin/sh\nwords=${{SSH_CONNECTION% *}}\n"
        f'export {nvml_double.DATA_VARIABLE}="/etc/seats/${{words##* }}.conf"\nexec /bin/sh "$@"\n',
        "/etc/passwd": (tree / "etc/passwd").read_text().replace("/root:/bin/bash", f"/root:{SEAT_SHELL}"),
    }
    with tempfile.TemporaryDirectory() as directory:
        for number, address in enumerate(loopback(CROWD_NET, count), start=1):
            data = nvml_double.write_data(
                Path(directory) / "cards.conf", healthy_cards(number, cards_per_node)
            )
            shown[f"/etc/seats/{address}.conf"] = data.read_bytes()
    spec = gpu_node("crowd", healthy_cards(0, cards_per_node), files=shown)
    return replace(spec, executable=frozenset({SEAT_SHELL}))


def _on_the_bus(pci: str) -> dict[str, FileContent]:
    device = f"/sys/bus/pci/devices/{pci}"
    return {f"{device}/vendor": "0x10de\n", f"{device}/device": "0x20b2\n", f"{device}/class": "0x030200\n"}


@functools.cache
def _library() -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        return nvml_double.build(Path(directory)).read_bytes()
