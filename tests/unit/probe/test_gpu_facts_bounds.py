"""What one node may cost the controller, and how far back its kernel log is read, in real playbooks."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from node_double import CHECKOUT, a_card, imported
from playbook_runs import documents, script, simulated, sweep

LAST_READ = imported("gpu_facts_last_read", CHECKOUT / "plugins/plugin_utils/last_read.py")
MONTH_S = 31 * 86400.0


def test_a_node_that_sends_without_end_costs_the_controller_a_bounded_amount_of_memory(
    tmp_path: Path,
) -> None:
    peak = tmp_path / "peak"
    measure = (
        "import pathlib, resource, subprocess, sys; status = subprocess.call(sys.argv[2:]); "
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss; "
        "pathlib.Path(sys.argv[1]).write_text(str(peak)); sys.exit(status)"
    )
    # Two gigabytes are without end here: what would take them all does not harm the machine of the tests.
    endless = script(tmp_path / "endless.sh", "head -c 2000000000 /dev/zero; exec sleep 600")
    hosts = {
        "endless": {"ansible_python_interpreter": endless},
        "sound": simulated(tmp_path / "sound", a_card()),
    }
    done = sweep(tmp_path, hosts, within=(sys.executable, "-c", measure, str(peak)))
    assert done.returncode == 2, done.stdout + done.stderr
    found = documents(tmp_path / "spool")
    assert (found["sound"].reach, len(found["sound"].cards)) == ("ok", 1)
    assert (found["endless"].reach, found["endless"].reach_detail) == (
        "unreadable",
        "the node sent more than an answer can be: it was cut off when it took 256 MB of memory here",
    )
    assert int(peak.read_text()) * 1024 < 600 * 2**20


def test_the_kernel_log_is_taken_up_where_the_last_sweep_left_it(tmp_path: Path) -> None:
    now = 1_764_500_000
    host = {**simulated(tmp_path / "node", a_card()), "muster_now": now}
    log = Path(host["muster_probe_root"]) / "var/log/kern.log"

    def line(at: float, xid: int) -> str:
        stamp = datetime.fromtimestamp(at, UTC).isoformat()
        return f"{stamp} gpu-17 kernel: NVRM: Xid (PCI:0000:07:00): {xid}\n"

    def swept(**more: Any) -> list[str]:
        shutil.rmtree(tmp_path / "spool/incoming", ignore_errors=True)
        done = sweep(tmp_path, {"one": {**host, **more}})
        assert done.returncode == 0, done.stdout
        lines = documents(tmp_path / "spool")["one"].host.log
        assert isinstance(lines, list)
        return [entry.text.rsplit(" ", 1)[1] for entry in lines]

    log.write_text(line(now - 40 * 86400, 1) + line(now - 20 * 86400, 79))
    assert swept(muster_log_since=now) == []  # which leaves out what nobody has seen, so it is not noted
    assert swept() == ["79"]
    log.write_text(log.read_text() + line(now - 1800, 48) + line(now + 86400, 13))
    assert swept(muster_now=now + 2 * 86400) == ["48", "13"]
    assert swept(muster_now=now + 3 * 86400) == []


@pytest.mark.parametrize("node", ["gpu-17", "..", ".", "a/../b", "ü" * 80, "n" * 250])
def test_every_name_has_a_note_of_its_own_inside_the_spool(tmp_path: Path, node: str) -> None:
    LAST_READ.note(str(tmp_path), node, 5_000_000.25)
    LAST_READ.note(str(tmp_path), node + "x", 6_000_000)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2
    assert len(list((tmp_path / "last_read").iterdir())) == 2
    assert LAST_READ.since(str(tmp_path), node, 9_000_000) == 5_000_000.25 - 3600


@pytest.mark.parametrize("content", [None, "", "soon", "nan", "-5", "1e999x"])
def test_a_note_that_is_missing_or_damaged_costs_a_longer_look_back(
    tmp_path: Path, content: str | None
) -> None:
    (tmp_path / "last_read").mkdir()
    if content is not None:
        (tmp_path / "last_read/one").write_text(content)
    assert LAST_READ.since(str(tmp_path), "one", 9_000_000.0) == 9_000_000.0 - MONTH_S


def test_a_note_from_the_future_does_not_hide_what_happens_until_then(tmp_path: Path) -> None:
    LAST_READ.note(str(tmp_path), "one", 9_999_999)
    assert LAST_READ.since(str(tmp_path), "one", 9_000_000.0) == 9_000_000.0 - 3600
