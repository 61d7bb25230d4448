"""Xid and SXid lines of the kernel log with their times."""

from __future__ import annotations

import gzip
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from gpu_probe import kernel_log, log_sources
from gpu_probe.options import LOG_BYTES_MAX
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


DAY_S = 86_400.0
BOOT = NOW - 1000.5
NUMBERED = "NVRM: Xid (PCI:0000:01:00): {}"


def iso(at: float, text: str) -> str:
    return f"{datetime.fromtimestamp(at).astimezone().isoformat()} gpu-17 kernel: {text}\n"


def test_what_the_last_boot_left_in_the_log_is_read_since_the_last_sweep(tmp_path: Path) -> None:
    text = iso(NOW - 40 * DAY_S, NUMBERED.format(1)) + iso(NOW - 20 * DAY_S, XID)
    root = a_root(tmp_path, **{"var/log/kern.log": text})
    assert [entry["text"] for entry in read(root, since=NOW - 31 * DAY_S)["log"]] == [XID]


def test_the_rotated_parts_that_reach_into_the_time_are_read_and_older_ones_are_not(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": iso(NOW - DAY_S, NUMBERED.format(4))})
    log = root / "var/log"
    (log / "kern.log.1").write_text(iso(NOW - 9 * DAY_S, NUMBERED.format(3)))
    (log / "kern.log.2.gz").write_bytes(gzip.compress(iso(NOW - 16 * DAY_S, NUMBERED.format(2)).encode()))
    (log / "kern.log.3.gz").write_bytes(b"of no interest, and no gzip")
    for name, days in (("kern.log.1", 8), ("kern.log.2.gz", 15), ("kern.log.3.gz", 22)):
        os.utime(log / name, (NOW, NOW - days * DAY_S))
    facts = read(root, since=NOW - 18 * DAY_S)
    assert [entry["text"] for entry in facts["log"]] == [NUMBERED.format(n) for n in (2, 3, 4)]
    assert facts["log_detail"] == ""


def test_a_rotated_part_that_is_damaged_costs_itself_only_and_is_named(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": iso(NOW - DAY_S, XID)})
    (root / "var/log/kern.log.1.gz").write_bytes(gzip.compress(b"whole")[:-4])
    facts = read(root, since=NOW - 5 * DAY_S)
    assert len(facts["log"]) == 1
    assert facts["log_detail"] == "/var/log/kern.log.1.gz: damaged"


def test_of_a_file_that_is_too_long_the_end_is_read_and_that_is_said(tmp_path: Path) -> None:
    root = a_root(tmp_path, **{"var/log/kern.log": iso(NOW - 3 * DAY_S, NUMBERED.format(1))})
    with (root / "var/log/kern.log").open("r+b") as stream:
        stream.seek(LOG_BYTES_MAX + 1000)
        stream.write(b"\n" + iso(NOW - DAY_S, XID).encode())
    facts = read(root, since=NOW - 5 * DAY_S)
    assert [entry["text"] for entry in facts["log"]] == [XID]
    assert facts["log_detail"] == "/var/log/kern.log: only its last 64 MB were read"


def test_more_lines_than_asked_for_are_cut_from_the_old_end_and_that_is_said(tmp_path: Path) -> None:
    text = "".join(iso(NOW - DAY_S + second, NUMBERED.format(second)) for second in range(20))
    root = a_root(tmp_path, **{"var/log/kern.log": text})
    facts = read(root, since=NOW - 5 * DAY_S, most=3)
    assert [entry["text"] for entry in facts["log"]] == [NUMBERED.format(n) for n in (17, 18, 19)]
    assert facts["log_detail"] == "/var/log/kern.log: more than 3 lines; the newest are here"
    assert read(root, since=NOW - DAY_S + 18, most=3)["log_detail"] == ""


def journalctl(where: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """Puts a program of that name first on the path; it notes what it was asked in the file returned."""
    asked = where / "asked"
    program = where / "bin/journalctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$*" >> {shlex.quote(str(asked))}\n{body}')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return asked


def line(at: int, text: str) -> str:
    return f"echo '{at}.500000 gpu-17 kernel: {text}'\n"


def test_the_journal_is_read_backwards_over_all_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = journalctl(tmp_path, monkeypatch, line(200, XID) + line(150, "usb 1-1") + line(100, XID))
    taken = log_sources.journal(50.7, 500, runs=str(tmp_path), kept=str(tmp_path))
    assert [text.split(".")[0] for text in taken.lines] == ["100", "200"]
    assert (taken.detail, taken.reaches_back) == ("", True)
    words = asked.read_text().split()
    assert {"_TRANSPORT=kernel", "--since=@50", "-r", "short-unix"} <= set(words)
    assert not {"-k", "--dmesg", "-b", "--boot"} & set(words)


def test_a_journal_without_end_is_cut_and_its_newest_lines_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journalctl(tmp_path, monkeypatch, line(200, XID) + "exec yes '100.5 gpu-17 kernel: usb 1-1: noise'\n")
    taken = log_sources.journal(50, 500, runs=str(tmp_path))
    assert [text.split(".")[0] for text in taken.lines] == ["200"]
    assert taken.detail == "not read beyond 64 MB"


def test_a_storm_of_reports_is_cut_at_the_lines_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journalctl(tmp_path, monkeypatch, line(200, XID) + f"exec yes '100.5 gpu-17 kernel: {XID}'\n")
    taken = log_sources.journal(50, 3, runs=str(tmp_path))
    assert [text.split(".")[0] for text in taken.lines] == ["100", "100", "200"]
    assert taken.detail == "more than 3 lines; the newest are here"


def test_what_a_slow_program_said_in_its_time_counts() -> None:
    program = ["sh", "-c", line(200, XID) + "exec sleep 600"]
    lines, size, detail = log_sources.command(program, 1.0, 500, newest_first=True)
    assert (len(lines), size > 0, detail) == (1, True, "not read to its end within 1 s")


def test_a_program_that_says_nothing_in_its_time_is_no_quiet_log() -> None:
    with pytest.raises(log_sources.Unreadable, match="not read to its end within 1 s"):
        log_sources.command(["sleep", "600"], 1.0, 500)


def test_a_program_that_fails_is_no_quiet_log() -> None:
    with pytest.raises(log_sources.Unreadable, match="sh ended with status 3"):
        log_sources.command(["sh", "-c", line(200, XID) + "exit 3"], 60, 500)


def test_a_quiet_journal_is_told_from_one_that_may_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = 'case "$*" in *"-n 1"*) ' + line(10, "Linux version 6.1").strip() + ";; esac\n"
    journalctl(tmp_path, monkeypatch, f"[ -e {tmp_path}/silent ] && exit 0\n{quiet}")
    assert log_sources.journal(50, 500, runs=str(tmp_path)).lines == []
    (tmp_path / "silent").touch()
    with pytest.raises(log_sources.Unreadable, match="permission may be missing"):
        log_sources.journal(50, 500, runs=str(tmp_path))


def test_where_the_journal_knows_the_present_boot_only_the_files_tell_what_was_before(tmp_path: Path) -> None:
    text = iso(BOOT - DAY_S, XID) + iso(BOOT + 60, NUMBERED.format(2))
    root = a_root(tmp_path, **{"var/log/messages": text})
    (root / "var/log/kern.log").unlink()
    recent = f"{BOOT + 60} gpu-17 kernel: {NUMBERED.format(2)}"
    taken = log_sources.Taken("journal", [recent], "", False)
    clock = kernel_log.Clock(str(root), NOW)
    facts = kernel_log.facts(str(root), NOW - 31 * DAY_S, 500, clock, taken)
    assert [entry["text"] for entry in facts["log"]] == [XID, NUMBERED.format(2)]
    assert (facts["log_source"], facts["log_detail"]) == ("journal and /var/log/messages", "")
    since_boot = kernel_log.facts(str(root), BOOT + 1, 500, clock, taken)
    assert (len(since_boot["log"]), since_boot["log_source"]) == (1, "journal")


def test_where_nothing_tells_what_was_before_the_boot_that_is_said(tmp_path: Path) -> None:
    root = a_root(tmp_path)
    (root / "var/log/kern.log").unlink()
    taken = log_sources.Taken("kmsg", [], "", False)
    facts = kernel_log.facts(str(root), NOW - 31 * DAY_S, 500, kernel_log.Clock(str(root), NOW), taken)
    assert facts["log"] == []
    assert facts["log_detail"].startswith("nothing before the present boot: /var/log/kern.log: No such file")
