"""The probe above a real shared library: the CDLL road that a node with a driver takes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.nvml_double import DATA_VARIABLE, NAME, build, card, write_data

PROBE_DIR = Path(__file__).resolve().parents[2] / "plugins" / "module_utils"

# A machine without a compiler is a supported place to run the other tests.
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is needed to build the NVML double")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("double"))


def probe(library: Path, data: Path, root: Path, **options: Any) -> dict[str, Any]:
    root.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "gpu_probe", "--plain"],
        input=json.dumps({"nvml_library": str(library), "root": str(root), **options}),
        cwd=PROBE_DIR,
        env={**os.environ, DATA_VARIABLE: str(data)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_double_is_named_as_nvidias_library_is(library: Path) -> None:
    assert library.name == NAME == "libnvidia-ml.so.1"


def test_the_probe_reads_through_the_library_what_the_data_file_says(library: Path, tmp_path: Path) -> None:
    data = write_data(
        tmp_path / "data",
        [
            card(
                "GPU-5f0c0a4e-0000-1111-2222-333344445555",
                serial="1650222012345",
                pci="0000:b7:00.0",
                minor=0,
                temperature=71,
                ecc_volatile_dram_corrected=3,
                ecc_aggregate_dram_corrected=17,
                ecc_aggregate_sram_uncorrected=1,
                remap_pending=1,
                field_230=1,
            )
        ],
        driver="580.105.08",
    )
    answer = probe(library, data, tmp_path / "root")
    entry = answer["cards"][0]

    assert answer["simulated"] is False
    assert answer["host"]["driver"]["userspace"] == "580.105.08"
    assert answer["host"]["driver"]["cuda"] == "12.8"
    assert entry["read"]["outcome"] == "ok"
    assert entry["identity"]["uuid"] == "GPU-5f0c0a4e-0000-1111-2222-333344445555"
    assert entry["identity"]["serial"] == "1650222012345"
    assert entry["identity"]["compute_capability"] == "8.0"
    assert entry["seat"]["pci"] == "0000:b7:00.0"
    assert entry["temperature"]["gpu_c"] == 71
    assert entry["limits"]["temperature_slowdown_c"] == 89
    assert entry["ecc"]["volatile"]["total_corrected"] == 3
    assert entry["ecc"]["aggregate"]["dram_corrected"] == 17
    assert entry["ecc"]["aggregate"]["total_uncorrected"] == 1
    assert (entry["remap"]["pending"], entry["remap"]["failure"]) == (True, False)
    assert entry["remap"]["banks_max"] == 640
    assert entry["health"] == {"recovery": "reset", "inforom_valid": True}
    assert entry["memory"]["reserved_bytes"] == 911212544
    assert entry["processes"] == []


def test_a_function_the_library_lacks_is_not_in_the_driver(library: Path, tmp_path: Path) -> None:
    entry = probe(library, write_data(tmp_path / "data", [card("GPU-a")]), tmp_path / "root")["cards"][0]
    assert entry["firmware"]["gsp"]["unread"] == "not_in_driver"
    assert entry["temperature"]["margin_c"]["unread"] == "not_in_driver"


def test_a_key_left_out_is_not_supported(library: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", [card("GPU-a", remap_correctable=None, power_mw=None)])
    entry = probe(library, data, tmp_path / "root")["cards"][0]
    assert entry["remap"]["failure"]["unread"] == "not_supported"
    assert entry["power"]["draw_w"]["unread"] == "not_supported"


def test_a_lost_a_hung_and_a_crashing_card_cost_only_their_own_readings(
    library: Path, tmp_path: Path
) -> None:
    cards = [
        card("GPU-a"),
        card("GPU-b", lost=1),
        card("GPU-c", hang="nvmlDeviceGetTemperature"),
        card("GPU-d", crash="nvmlDeviceGetRemappedRows"),
    ]
    data = write_data(tmp_path / "data", cards)
    answer = probe(library, data, tmp_path / "root", card_deadline_s=5)
    outcomes = [entry["read"]["outcome"] for entry in answer["cards"]]
    assert outcomes == ["ok", "lost", "timed_out", "crashed"]
    assert answer["cards"][2]["identity"]["uuid"] == "GPU-c"
    assert answer["cards"][2]["temperature"]["gpu_c"]["unread"] == "timed_out"


@pytest.mark.parametrize(("code", "state"), [(18, "version_mismatch"), (9, "driver_not_loaded")])
def test_opening_that_fails_is_a_state_of_the_node(
    library: Path, tmp_path: Path, code: int, state: str
) -> None:
    answer = probe(library, write_data(tmp_path / "data", [card("GPU-a")], init=code), tmp_path / "root")
    assert answer["host"]["nvml_state"] == state
    assert answer["cards"] == []


def test_opening_that_hangs_is_given_up(library: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", [card("GPU-a")], init="hang")
    answer = probe(library, data, tmp_path / "root", card_deadline_s=2)
    assert answer["host"]["nvml_state"] == "timed_out"


def test_a_data_file_with_a_line_that_is_none_is_refused_as_a_whole(library: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", [card("GPU-a")])
    data.write_text(data.read_text() + "no equals sign\n")
    assert probe(library, data, tmp_path / "root")["host"]["nvml_state"] == "driver_not_loaded"
