"""The probe on a real card, beside what nvidia-smi says of it. Run by hand: `pytest -m gpu tests/gpu`."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lifecycle.core.facts import Card, Host

PLUGINS = Path(__file__).resolve().parents[2] / "plugins" / "module_utils"

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no NVIDIA driver on this machine"),
]


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "gpu_probe", "--plain"],
        input="{}", capture_output=True, text=True, cwd=PLUGINS, timeout=120, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def smi(*fields: str) -> list[list[str]]:
    query = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    done = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60)
    return [[cell.strip() for cell in row] for row in csv.reader(done.stdout.splitlines())]


def test_the_answer_fits_the_facts_document(answer: dict[str, Any]) -> None:
    host = msgspec.convert(answer["host"], Host)
    assert host.nvml_state == "ok"
    assert host.nvml_cards == len(msgspec.convert(answer["cards"], list[Card]))
    assert answer["simulated"] is False


def test_identity_and_software_are_those_nvidia_smi_prints(answer: dict[str, Any]) -> None:
    rows = smi("uuid", "name", "vbios_version", "driver_version", "pci.bus_id", "memory.total")
    cards = {card.identity.uuid: card for card in msgspec.convert(answer["cards"], list[Card])}
    assert set(cards) == {row[0] for row in rows}
    for uuid, name, vbios, driver, bus, total in rows:
        card = cards[uuid]
        assert (card.identity.name, card.firmware.vbios) == (name, vbios)
        assert str(card.seat.pci).lower() == bus.lower()[-12:]
        assert answer["host"]["driver"]["userspace"] == driver
        assert int(card.limits.memory_total_bytes) // 2**20 == pytest.approx(int(total), rel=0.02)


def test_every_reading_the_default_policy_needs_was_read(answer: dict[str, Any]) -> None:
    for card in msgspec.convert(answer["cards"], list[Card]):
        assert isinstance(card.temperature.gpu_c, float)
        assert isinstance(card.health.recovery, str)
        if card.modes.ecc_current is True:
            assert isinstance(card.ecc.aggregate.total_uncorrected, int)
