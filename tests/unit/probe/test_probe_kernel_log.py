"""Xid and SXid lines of the kernel log with their times."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from gpu_probe import kernel_log
from node_double import a_root, reason

NOW = 1_764_500_000.0
XID = "NVRM: Xid (PCI:0000:b5:00): 79, pid=1234, GPU has fallen off the bus."


def read(root: Path, since: float | None = None, most: int = 500) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    kernel_log.worker(str(root), since, most, NOW)(facts.update)
    return facts


def test_lines_in_the_form_of_dmesg_get_their_time_from_the_boot(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": f"[  12.000001] usb 1-1: new\n[  500.250000] {XID}\n"})
    facts = read(root)
    assert facts["log"] == [{"text": XID, "at": NOW - 1000.5 + 500.25}]
    assert facts["log_source"] == "/var/log/kern.log"


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2025-11-30T10:00:00.500000+01:00", 1_764_493_200.5),
        ("2025-11-30T09:00:00Z", 1_764_493_200.0),
        ("2025-11-30T09:00:00+0000", 1_764_493_200.0),
    ],
)
def test_lines_with_an_iso_time_keep_it(tmp_path: Path, stamp: str, at: float) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": f"{stamp} gpu-17 kernel: [ 77.000000] {XID}\n"})
    assert read(root)["log"] == [{"text": XID, "at": at}]


def test_lines_without_a_year_get_the_latest_year_that_is_not_in_the_future(tmp_path: Path) -> None:
    root = a_root(
        tmp_path,
        **{"var/log/kern.log": f"Nov 29 10:00:00 gpu-17 kernel: {XID}\nDec 24 10:00:00 gpu-17 kernel: {XID}"},
    )
    years = [datetime.fromtimestamp(line["at"]).year for line in read(root)["log"]]
    assert years == [2025, 2024]


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel",
        "NVRM: Xid: 154, GPU recovery action changed to 0x2 (Node Reboot Required)",
        "nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 61",
        "NVRM: GPU 0000:02:00.0: GPU has fallen off the bus.",
    ],
)
def test_every_form_of_the_drivers_reports_is_kept(tmp_path: Path, line: str) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": f"[ 1.000000] {line}\n[ 2.000000] maxid 3\n"})
    assert [entry["text"] for entry in read(root)["log"]] == [line]


def test_lines_before_the_last_sweep_are_left_out_and_the_newest_are_kept(tmp_path: Path) -> None:
    text = "".join(f"[ {second}.000000] NVRM: Xid (PCI:0000:01:00): {second}\n" for second in range(100, 200))
    root = a_root(tmp_path, **{"var/log/kern.log": text})
    boot = NOW - 1000.5
    kept = read(root, since=boot + 150, most=3)["log"]
    assert [entry["at"] - boot for entry in kept] == [197.0, 198.0, 199.0]
    assert len(read(root, since=boot + 150)["log"]) == 50


def test_a_long_line_with_escapes_is_cut_and_cleaned(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": f"[ 1.000000] Xid \x1b[2J {'x' * 5000}\n"})
    text = read(root)["log"][0]["text"]
    assert len(text) == 1000
    assert "\x1b" not in text


def test_a_line_without_a_time_is_kept_and_says_so(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": f"{XID}\n"})
    assert reason(read(root)["log"][0]["at"]) == "no_data"


def test_a_quiet_log_is_an_empty_list_and_a_missing_log_is_unread(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    assert read(root)["log"] == []
    (root / "var/log/kern.log").unlink()
    facts = read(root)
    assert reason(facts["log"]) == reason(facts["log_source"]) == "no_data"


def test_the_second_file_is_read_where_the_first_is_missing(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"var/log/messages": f"[ 1.000000] {XID}\n"})
    (root / "var/log/kern.log").unlink()
    assert read(root)["log_source"] == "/var/log/messages"


def test_binary_rubbish_in_the_log_does_not_stop_the_reading(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    (root / "var/log/kern.log").write_bytes(
        b"\xff\xfe\x00\n[ 1.000000] NVRM: Xid (PCI:0000:01:00): 48 \xff\n"
    )
    assert len(read(root)["log"]) == 1
