"""The real program in a process of its own, with a ledger and spool below the test's folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Ended:
    """How one run of muster ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Program:
    """Runs `muster` with its own state folder."""

    home: Path

    def __call__(self, *words: str, **env: str) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "lifecycle", *words], cwd=self.home, env=self.environment(env),
            capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The same, under way."""
        return subprocess.Popen(
            [sys.executable, "-m", "lifecycle", *words], cwd=self.home, env=self.environment({}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MUSTER_", "ANSIBLE_", "XDG_"))}
        return clean | {"XDG_STATE_HOME": str(self.home / "state"), "HOME": str(self.home), **more}

    def facts(self, name: str, **changes: Any) -> str:
        """A facts document of one healthy card on node gpu-17, with changes by dotted path."""
        document = healthy_document()
        for path, value in changes.items():
            place = document
            *parents, last = path.split("__")
            for parent in parents:
                place = place[int(parent)] if parent.isdigit() else place[parent]
            place[last] = value
        file = self.home / f"{name}.json"
        file.write_text(json.dumps(document))
        return str(file)


def healthy_document() -> dict[str, Any]:
    counts = {
        "dram_corrected": 0, "dram_uncorrected": 0, "sram_corrected": 0, "sram_uncorrected": 0,
        "total_corrected": 0, "total_uncorrected": 0,
    }  # fmt: skip
    return {
        "schema": "facts/1",
        "node": "gpu-17",
        "observed_at": "2026-11-29T23:40:00Z",
        "host": {"boot_id": "b1", "nvml_cards": 1, "nvml_state": "ok",
                 "driver": {"module": "550.90.07", "userspace": "550.90.07"}},
        "cards": [
            {
                "identity": {"uuid": "GPU-11111111-2222-3333-4444-555555555555", "serial": "0322621001234",
                             "name": "NVIDIA A100-SXM4-80GB", "architecture": "ampere"},
                "seat": {"pci": "0000:07:00.0"},
                "modes": {"ecc_current": True, "ecc_pending": True, "persistence": True},
                "limits": {"temperature_slowdown_c": 89},
                "ecc": {"volatile": counts, "aggregate": dict(counts), "sram_threshold_exceeded": False},
                "remap": {"correctable": 0, "uncorrectable": 0, "pending": False, "failure": False},
                "health": {"recovery": "none", "inforom_valid": True},
                "temperature": {"gpu_c": 41},
                "read": {"outcome": "ok"},
            }
        ],
    }  # fmt: skip


@pytest.fixture
def muster(tmp_path: Path) -> Program:
    return Program(tmp_path)
