"""The lock: one holder, named; freed when the holder dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lifecycle.adapters.lock import hold
from lifecycle.core.errors import Exit, LedgerUnavailable, Locked

HOLDER = """
import sys
from pathlib import Path
from lifecycle.adapters.lock import hold
with hold(Path(sys.argv[1]), purpose="sweep", now_iso="2026-01-01T00:00:00Z"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "sweep.lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def test_a_second_run_is_refused_and_told_who_holds_the_lock(
    tmp_path: Path, holder: subprocess.Popen
) -> None:
    with pytest.raises(Locked) as caught, hold(tmp_path / "sweep.lock", purpose="sweep", now_iso="x"):
        pass
    assert f"process {holder.pid} on " in caught.value.happened
    assert "since 2026-01-01T00:00:00Z" in caught.value.happened
    assert caught.value.exit == Exit.LOCKED == 75


def test_a_killed_holder_does_not_keep_the_lock(tmp_path: Path, holder: subprocess.Popen) -> None:
    holder.kill()
    holder.wait()
    with hold(tmp_path / "sweep.lock", purpose="sweep", now_iso="2026-01-02T00:00:00Z"):
        assert "2026-01-02" in (tmp_path / "sweep.holder").read_text()
    assert not (tmp_path / "sweep.holder").exists()


def test_a_lock_that_cannot_be_made_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lock = tmp_path / "file" / "sweep.lock"
    with (
        pytest.raises(LedgerUnavailable, match="cannot be made or written") as caught,
        hold(lock, purpose="sweep", now_iso="x"),
    ):
        pass
    assert "MUSTER_SPOOL" in caught.value.remedy
