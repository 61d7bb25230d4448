"""The node's GPU lock: shared by readers, held alone by what resets or flashes a card."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gpu_probe import lock
from node_double import a_card, a_node, options_for, reason, run_probe

LOCK = "/run/lock/muster-gpu.lock"


def place(root: Path) -> Path:
    (root / "run/lock").mkdir(parents=True, exist_ok=True)
    return root / LOCK.lstrip("/")


def test_two_readers_hold_the_lock_at_once_and_a_reset_must_wait_for_both(tmp_path: Path) -> None:
    path = place(tmp_path)
    first, state, detail = lock.take(str(tmp_path), LOCK, 0)
    second, again, _ = lock.take(str(tmp_path), LOCK, 0)
    assert (state, again, detail) == ("held", "held", "")
    with path.open() as reset:
        for reader in (first, second):
            try:
                fcntl.flock(reset, fcntl.LOCK_EX | fcntl.LOCK_NB)
                raise AssertionError("a reset got the lock beside a reader")
            except BlockingIOError:
                os.close(reader)
        fcntl.flock(reset, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_node_being_reset_is_locked_and_its_nvml_is_not_opened(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node(a_card()), lock_wait_s=0)
    with place(tmp_path / "root").open("w") as reset:
        fcntl.flock(reset, fcntl.LOCK_EX)
        answer = run_probe(chosen)
    host = answer["host"]
    assert (host["nvml_state"], answer["cards"]) == ("locked", [])
    assert reason(host["nvml_cards"]) == "locked"
    assert reason(host["nvml_held_ms"]) == "not_read"
    assert "reset or a flash" in host["nvml_detail"]
    assert host["kernel"] == "6.1.0-26-amd64"


def test_a_reader_makes_the_lock_file_and_lets_go_of_it(tmp_path: Path) -> None:
    run_probe(options_for(tmp_path, a_node(a_card())))
    with place(tmp_path / "root").open() as reset:
        fcntl.flock(reset, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_without_a_place_for_the_lock_reading_goes_on_and_says_so(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node(a_card()), lock_path="/nowhere/gpu.lock")
    answer = run_probe(chosen)
    assert answer["cards"][0]["read"]["outcome"] == "ok"
    assert answer["host"]["nvml_detail"].startswith("read without the lock /nowhere/gpu.lock: ")


def test_a_lock_that_is_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("")
    place(tmp_path).symlink_to(victim)
    assert lock.take(str(tmp_path), LOCK, 0)[1] == "without"
