"""The node's GPU lock: shared by readers, held alone by what resets or flashes a card."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from gpu_probe import lock
from node_double import a_card, a_node, options_for, reason, run_probe

LOCK = "/run/lock/muster-gpu.lock"
NOBODY = 65534
SOMEBODY = 12345


def place(root: Path) -> Path:
    (root / "run/lock").mkdir(parents=True, exist_ok=True)
    return root / LOCK.lstrip("/")


def lock_file(root: Path, mode: int = 0o600, owner: int | None = None) -> Path:
    path = place(root)
    path.touch()
    path.chmod(mode)
    if owner is not None:
        os.chown(path, owner, owner)
    return path


def is_free(path: Path) -> bool:
    """Whether a reset could have the lock now."""
    with path.open() as reset:
        try:
            fcntl.flock(reset, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def rights(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_uid, about.st_mode & 0o7777


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    groups, group = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def test_two_readers_hold_the_lock_at_once_and_a_reset_must_wait_for_both(tmp_path: Path) -> None:
    path = lock_file(tmp_path)
    first, state, detail = lock.take(str(tmp_path), LOCK, 0)
    second, again, _ = lock.take(str(tmp_path), LOCK, 0)
    assert (state, again, detail) == ("held", "held", "")
    for reader in (first, second):
        assert not is_free(path)
        os.close(reader)
    assert is_free(path)


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


def test_a_reader_lets_go_of_the_lock(tmp_path: Path) -> None:
    run_probe(options_for(tmp_path, a_node(a_card())))
    assert is_free(place(tmp_path / "root"))


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


def test_a_lock_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(place(tmp_path))
    assert lock.take(str(tmp_path), LOCK, 600)[1:] == (
        "without",
        f"read without the lock {LOCK}: it is not a file",
    )


@pytest.mark.root
def test_root_makes_a_lock_that_no_other_user_may_open(tmp_path: Path) -> None:
    path = place(tmp_path)
    before = os.umask(0)
    try:
        descriptor, state, _ = lock.take(str(tmp_path), LOCK, 0)
    finally:
        os.umask(before)
    os.close(descriptor)
    assert (state, rights(path)) == ("held", (0, 0o600))


@pytest.mark.root
@pytest.mark.parametrize(("mode", "left"), [(0o644, 0o640), (0o666, 0o660), (0o640, 0o640)])
def test_root_takes_the_rights_of_others_off_the_lock_and_leaves_those_of_a_group(
    tmp_path: Path, mode: int, left: int
) -> None:
    path = lock_file(tmp_path, mode)
    os.close(lock.take(str(tmp_path), LOCK, 0)[0])
    assert rights(path) == (0, left)


@pytest.mark.root
def test_root_puts_its_own_lock_in_the_place_of_one_that_is_somebody_elses(tmp_path: Path) -> None:
    path = lock_file(tmp_path, 0o644, owner=SOMEBODY)
    descriptor, state, detail = lock.take(str(tmp_path), LOCK, 0)
    assert (state, detail, rights(path)) == ("held", "", (0, 0o600))
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert not is_free(path)
    os.close(descriptor)
    assert is_free(path)


@pytest.mark.root
def test_a_lock_that_is_somebody_elses_stays_while_somebody_holds_it_and_that_is_said(tmp_path: Path) -> None:
    chosen = options_for(tmp_path, a_node(a_card()), lock_wait_s=0)
    path = lock_file(tmp_path / "root", 0o644, owner=SOMEBODY)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        answer = run_probe(chosen)
    assert rights(path) == (SOMEBODY, 0o644)
    assert answer["cards"][0]["read"]["outcome"] == "ok"
    assert answer["host"]["nvml_detail"] == (
        f"read without the lock {LOCK}: it belongs to user {SOMEBODY}, and somebody holds it"
    )


@pytest.mark.root
@pytest.mark.parametrize(
    ("mode", "owner", "said"),
    [
        (None, None, "No such file or directory"),
        (0o640, 0, "Permission denied"),
        (0o644, SOMEBODY, f"it belongs to user {SOMEBODY}"),
    ],
)
def test_a_user_makes_no_lock_and_takes_none_but_roots(
    public_directory: Path, mode: int | None, owner: int | None, said: str
) -> None:
    path = place(public_directory)
    path.parent.chmod(0o777)
    if mode is not None:
        lock_file(public_directory, mode, owner)
    with as_nobody():
        outcome = lock.take(str(public_directory), LOCK, 0)
    assert outcome == (None, "without", f"read without the lock {LOCK}: {said}")
    assert path.exists() == (mode is not None)


@pytest.mark.root
def test_a_user_shares_a_lock_that_root_lets_them_open(public_directory: Path) -> None:
    path = lock_file(public_directory, 0o640)
    os.chown(path, 0, NOBODY)
    with as_nobody():
        descriptor, state, _ = lock.take(str(public_directory), LOCK, 0)
    os.close(descriptor)
    assert (state, rights(path)) == ("held", (0, 0o640))
