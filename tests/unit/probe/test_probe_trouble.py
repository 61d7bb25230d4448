"""Sick cards, sick drivers and no driver at all: each costs only its own readings and has a clear fact."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import pytest
from gpu_probe import children
from node_double import a_card, a_node, a_root, options_for, reason, run_probe

from lifecycle.core.facts import Card, Host

# Long enough for a healthy card on a busy machine; every hanging test waits this long.
QUICK_S = 3.0


def ends(pid: int) -> bool:
    """Whether the process is gone, or dead and waiting to be collected."""
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] in "ZX"


def test_a_card_that_hangs_keeps_what_it_said_and_its_neighbours_are_whole(tmp_path: Path) -> None:
    hung = a_card(1, faults={"hang": "nvmlDeviceGetPowerUsage"})
    chosen = options_for(tmp_path, a_node(a_card(0), hung, a_card(2)), card_deadline_s=QUICK_S)
    first, second, third = run_probe(chosen)["cards"]
    assert first["read"]["outcome"] == third["read"]["outcome"] == "ok"
    assert third["power"]["draw_w"] == 61.234
    assert second["read"]["outcome"] == "timed_out"
    assert second["identity"]["serial"] == "0322621001234"
    assert second["ecc"]["aggregate"]["total_corrected"] == 7
    assert reason(second["power"]["draw_w"]) == reason(second["nvlink"]) == "timed_out"
    pid = int(re.search(r"process (\d+)", second["read"]["detail"]).group(1))
    assert ends(pid)


def test_a_card_that_crashes_its_reader_is_crashed_from_there_on(tmp_path: Path) -> None:
    crashing = a_card(0, faults={"crash": "nvmlDeviceGetRemappedRows"})
    first, second = run_probe(options_for(tmp_path, a_node(crashing, a_card(1))))["cards"]
    assert first["read"]["outcome"] == "crashed"
    assert "signal 11" in first["read"]["detail"]
    assert first["seat"]["pci"] == "0000:07:00.0"
    assert reason(first["remap"]["pending"]) == "crashed"
    assert second["read"]["outcome"] == "ok"


def test_a_lost_card_is_lost_in_every_reading_and_keeps_its_place(tmp_path: Path) -> None:
    node = a_node(a_card(0), a_card(1, faults={"lost": True}))
    answer = run_probe(options_for(tmp_path, node))
    lost = msgspec.convert(answer["cards"][1], Card)
    assert answer["host"]["nvml_cards"] == 2
    assert lost.read.outcome == "lost"
    assert lost.identity.index == 1
    assert reason(answer["cards"][1]["identity"]["uuid"]) == "lost"
    assert reason(answer["cards"][1]["ecc"]["aggregate"]["dram_corrected"]) == "lost"


def test_a_card_lost_while_it_is_read_keeps_what_it_said(tmp_path: Path) -> None:
    node = a_node(a_card(0, faults={"error": {"nvmlDeviceGetPowerUsage": 15}}))
    card = run_probe(options_for(tmp_path, node))["cards"][0]
    assert card["read"]["outcome"] == "lost"
    assert card["temperature"]["gpu_c"] == 55
    assert reason(card["power"]["draw_w"]) == reason(card["clocks"]["sm_mhz"]) == "lost"


def test_a_card_that_may_not_be_opened_says_why(tmp_path: Path) -> None:
    node = a_node(a_card(0, faults={"error": {"nvmlDeviceGetHandleByIndex_v2": 4}}))
    card = run_probe(options_for(tmp_path, node))["cards"][0]
    assert card["read"]["outcome"] == "not_opened"
    assert reason(card["identity"]["uuid"]) == "no_permission"


def test_the_seat_of_the_one_lost_card_is_the_one_left_over(tmp_path: Path) -> None:
    a_root(tmp_path / "root", gpus=["0000:07:00.0", "0000:0f:00.0"])
    node = a_node(a_card(0), a_card(1, faults={"lost": True}))
    lost = run_probe(options_for(tmp_path, node))["cards"][1]
    assert lost["seat"]["pci"] == "0000:0f:00.0"
    assert "no other card claims" in lost["read"]["detail"]


def test_a_gpu_that_another_driver_holds_is_no_seat_left_over(tmp_path: Path) -> None:
    a_root(tmp_path / "root", gpus=["0000:07:00.0", "0000:0f:00.0", "0000:1f:00.0"])
    bound = tmp_path / "root/sys/bus/pci/devices/0000:1f:00.0/driver"
    node = a_node(a_card(0), a_card(1, faults={"lost": True}))
    seats = {}
    for driver in ("vfio-pci", None, "nvidia"):
        bound.unlink(missing_ok=True)
        if driver:
            bound.symlink_to(f"../../../../bus/pci/drivers/{driver}")
        seats[driver] = run_probe(options_for(tmp_path, node))["cards"][1]["seat"]["pci"]
    assert seats["vfio-pci"] == seats[None] == "0000:0f:00.0"
    assert reason(seats["nvidia"]) == "lost"  # two seats are left over


def test_the_seats_of_two_lost_cards_are_not_guessed(tmp_path: Path) -> None:
    a_root(tmp_path / "root", gpus=["0000:07:00.0", "0000:08:00.0", "0000:09:00.0"])
    lost = {"lost": True}
    node = a_node(a_card(0), a_card(1, faults=lost), a_card(2, faults=lost))
    cards = run_probe(options_for(tmp_path, node))["cards"]
    assert [reason(card["seat"]["pci"]) for card in cards] == [None, "lost", "lost"]


def test_a_gpu_on_the_bus_that_nvml_does_not_list_is_no_card_and_stays_on_the_bus(tmp_path: Path) -> None:
    a_root(tmp_path / "root", gpus=["0000:07:00.0", "0000:0f:00.0"])
    answer = run_probe(options_for(tmp_path, a_node(a_card(0))))
    assert [card["seat"]["pci"] for card in answer["cards"]] == ["0000:07:00.0"]
    host = msgspec.convert(answer["host"], Host)
    assert isinstance(host.pci_gpus, list)
    assert [gpu.pci for gpu in host.pci_gpus] == ["0000:07:00.0", "0000:0f:00.0"]
    assert (host.pci_gpus[1].driver, host.pci_gpus[1].link_width_max) == ("nvidia", 16)
    assert reason(answer["host"]["pci_gpus"][1]["numa_node"]) == "no_data"


def test_nvml_that_hangs_while_it_opens_is_timed_out(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node(a_card(), init="hang"), card_deadline_s=QUICK_S)
    answer = run_probe(chosen)
    assert answer["host"]["nvml_state"] == "timed_out"
    assert answer["cards"] == []
    assert reason(answer["host"]["nvml_cards"]) == "timed_out"
    assert answer["host"]["kernel"] == "6.1.0-26-amd64"


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (9, "driver_not_loaded"),
        (12, "library_missing"),
        (18, "version_mismatch"),
        (4, "no_permission"),
        (999, "unknown_error"),
    ],
)
def test_an_nvml_that_does_not_open_says_why(tmp_path: Path, code: int, state: str) -> None:
    host = run_probe(options_for(tmp_path, a_node(init=code)))["host"]
    assert host["nvml_state"] == state
    assert host["nvml_detail"].startswith("nvmlInit: ")
    assert reason(host["nvml_cards"]) == reason(host["driver"]["nvml"]) == state


def test_a_mismatch_shows_both_the_module_and_the_library(tmp_path: Path) -> None:
    a_root(tmp_path / "root", **{"sys/module/nvidia/version": "550.54.15\n"})
    directory = tmp_path / "root/usr/lib/x86_64-linux-gnu"
    directory.mkdir(parents=True)
    (directory / "libnvidia-ml.so.550.90.07").touch()
    (directory / "libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.550.90.07")
    host = run_probe(options_for(tmp_path, a_node(init=18)))["host"]
    assert (host["driver"]["module"], host["driver"]["userspace"]) == ("550.54.15", "550.90.07")


def test_a_node_without_driver_and_gpu_is_read_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "root/sys/bus/pci/devices").mkdir(parents=True)
    chosen = options_for(tmp_path, None, nvml_library=str(tmp_path / "libnvidia-ml.so.1"))
    answer = run_probe(chosen)
    host = msgspec.convert(answer["host"], Host)
    assert (host.nvml_state, host.pci_gpus, answer["cards"]) == ("library_missing", [], [])
    assert reason(answer["host"]["driver"]["module"]) == "driver_not_loaded"
    assert reason(answer["host"]["driver"]["userspace"]) == "library_missing"
    assert reason(answer["host"]["module_refcount_before"]) == "driver_not_loaded"
    assert reason(answer["host"]["boot_id"]) == "no_data"


def test_a_library_that_is_no_library_is_missing(tmp_path: Path) -> None:
    library = tmp_path / "libnvidia-ml.so.1"
    library.write_text("not an ELF file")
    host = run_probe(options_for(tmp_path, None, nvml_library=str(library)))["host"]
    assert host["nvml_state"] == "library_missing"
    assert "libnvidia-ml.so.1" in host["nvml_detail"]


def test_simulation_data_that_cannot_be_read_is_said_and_not_a_traceback(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node())
    Path(chosen["nvml_data"]).write_text("{")
    host = run_probe(chosen)["host"]
    assert host["nvml_state"] == "library_missing"
    assert "simulated library" in host["nvml_detail"]


def test_the_whole_probe_answers_within_its_deadline_with_what_it_has(tmp_path: Path) -> None:
    hung = a_card(0, faults={"hang": "nvmlDeviceGetPowerUsage"})
    chosen = options_for(tmp_path, a_node(hung), card_deadline_s=600, deadline_s=QUICK_S)
    answer = run_probe(chosen)
    assert answer["cards"][0]["read"]["outcome"] == "timed_out"
    assert answer["host"]["nvml_state"] == "ok"


def test_a_child_that_outlives_the_probe_does_not_hold_its_output_open(tmp_path: Path) -> None:
    library = tmp_path / "hangs_unkillably.py"
    library.write_text(
        "import json, os, time\n"
        "class Library:\n"
        "    def nvmlInitWithFlags(self, flags):\n"
        "        if os.fork():\n"
        "            os._exit(1)\n"
        "        streams = [os.readlink('/proc/self/fd/%d' % n) for n in (0, 1, 2)]\n"
        "        open(os.environ['WITNESS'], 'w').write(json.dumps([os.getpid(), streams]))\n"
        "        time.sleep(3600)\n"
        "def library(data):\n"
        "    return Library()\n"
    )
    witness = tmp_path / "witness"
    chosen = options_for(tmp_path, None, nvml_library=str(library), card_deadline_s=QUICK_S)
    answer = run_probe(chosen, WITNESS=str(witness))
    pid, streams = json.loads(witness.read_text())
    os.kill(pid, signal.SIGKILL)
    assert answer["host"]["nvml_state"] == "timed_out"
    assert streams == ["/dev/null"] * 3


def test_a_program_that_a_late_child_started_ends_with_it(tmp_path: Path) -> None:
    witness = tmp_path / "pid"
    opened = []

    def work(emit: object) -> None:
        program = subprocess.Popen(["sleep", "3600"])
        witness.write_text(str(program.pid))
        emit({"started": program.pid})
        program.wait()

    def heard(piece: dict[str, int]) -> None:
        opened.append(os.pidfd_open(piece["started"]))

    crew = children.Crew(time.monotonic() + 600)
    child = crew.start(work, QUICK_S, heard)
    crew.run()
    assert child.outcome == "timed_out"
    ended, _, _ = select.select(opened, [], [], 30)
    os.close(opened[0])
    if not ended:
        os.kill(int(witness.read_text()), signal.SIGKILL)
    assert ended


def test_a_count_that_is_no_count_of_cards_starts_no_thousand_processes(tmp_path: Path) -> None:
    library = tmp_path / "boasts.py"
    library.write_text(
        "class Library:\n"
        "    def __getattr__(self, name):\n"
        "        return lambda *arguments: 0\n"
        "    def nvmlDeviceGetCount_v2(self, count):\n"
        "        count._obj.value = 4000000000\n"
        "        return 0\n"
        "def library(data):\n"
        "    return Library()\n"
    )
    answer = run_probe(options_for(tmp_path, None, nvml_library=str(library)))
    assert len(answer["cards"]) <= 128
    assert reason(answer["host"]["nvml_cards"]) == "no_data"


def test_a_library_that_crashes_while_it_opens_is_crashed_and_the_node_is_read(tmp_path: Path) -> None:
    library = tmp_path / "crashes.py"
    library.write_text(
        "import os, signal\n"
        "class Library:\n"
        "    def nvmlInitWithFlags(self, flags):\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "def library(data):\n"
        "    return Library()\n"
    )
    host = run_probe(options_for(tmp_path, None, nvml_library=str(library)))["host"]
    assert host["nvml_state"] == reason(host["nvml_cards"]) == "crashed"
    assert "signal 11" in host["nvml_detail"]
    assert host["kernel"] == "6.1.0-26-amd64"
