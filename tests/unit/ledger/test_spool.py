"""The reading side of the spool."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lifecycle.adapters.spool import Spool, read_bounded
from lifecycle.core.errors import BadDocument, LedgerUnavailable


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    (tmp_path / "incoming").mkdir()
    return Spool(tmp_path)


def test_a_spool_that_is_not_there_has_nothing_waiting(tmp_path: Path) -> None:
    assert Spool(tmp_path / "none").pending() == []


def test_files_wait_in_the_order_of_their_names(spool: Spool) -> None:
    for name in ("b-2.json", "a-9.json", "a-1.json", "a-1.json.part", "notes.txt"):
        (spool.incoming / name).touch()
    (spool.incoming / "dir.json").mkdir()
    (spool.incoming / "link.json").symlink_to("/etc/passwd")
    assert [path.name for path in spool.pending()] == ["a-1.json", "a-9.json", "b-2.json"]


def test_a_settled_file_is_gone_and_may_be_settled_again(spool: Spool) -> None:
    path = spool.incoming / "a.json"
    path.write_text("{}")
    spool.settle(path)
    spool.settle(path)
    assert spool.pending() == []


def test_a_refused_file_is_kept_with_the_reason_beside_it(spool: Spool) -> None:
    path = spool.incoming / "a.json"
    path.write_text("not json")
    kept = spool.refuse(path, "it is not JSON")
    assert spool.pending() == []
    assert kept == spool.refused / "a.json"
    assert kept.read_text() == "not json"
    assert (spool.refused / "a.json.why").read_text() == "it is not JSON\n"
    assert spool.refused.stat().st_mode & 0o077 == 0


def test_refusing_what_another_process_refused_is_no_error(spool: Spool) -> None:
    path = spool.incoming / "a.json"
    path.write_text("x")
    assert spool.refuse(path, "one") == spool.refuse(path, "two")


@pytest.mark.parametrize("name", ["a" * 250 + ".json", "a" * 246 + ".json", "ä" * 124 + "a.json"])
def test_a_name_that_leaves_no_room_for_its_reason_is_shortened(spool: Spool, name: str) -> None:
    path, other = spool.incoming / name, spool.incoming / f"{name[:-6]}b.json"
    path.write_text("one")
    other.write_text("two")
    kept = spool.refuse(path, "why one")
    assert spool.refuse(other, "why two") != kept
    assert kept.read_text() == "one"
    assert kept.name.endswith(".json")
    assert kept.with_name(f"{kept.name}.why").read_text() == "why one\n"
    assert spool.pending() == []
    spool.tidy(0)
    assert len(names(spool.refused)) == 4


def test_a_name_and_a_reason_that_are_not_text_are_kept(spool: Spool) -> None:
    path = spool.incoming / "a\udcff.json"
    path.write_text("x")
    kept = spool.refuse(path, f"{path} is no document")
    assert kept.read_text() == "x"
    assert "a\\udcff.json is no document" in kept.with_name(f"{kept.name}.why").read_text()


def refuse_where_a_file_is(spool: Spool) -> None:
    spool.refused.touch()
    spool.refuse(spool.incoming / "a.json", "why")


def refuse_where_a_directory_has_the_name(spool: Spool) -> None:
    (spool.refused / "a.json").mkdir(parents=True)
    (spool.incoming / "a.json").touch()
    spool.refuse(spool.incoming / "a.json", "why")


def refuse_where_a_directory_has_the_name_of_the_reason(spool: Spool) -> None:
    (spool.refused / "a.json.why").mkdir(parents=True)
    spool.refuse(spool.incoming / "a.json", "why")


def settle_what_cannot_be_removed(spool: Spool) -> None:
    (spool.incoming / "a.json").mkdir()
    spool.settle(spool.incoming / "a.json")


def look_where_a_file_is(spool: Spool) -> None:
    spool.incoming.rmdir()
    spool.incoming.touch()
    spool.pending()


def look_where_no_path_leads(spool: Spool) -> None:
    Spool(spool.root / "a\0b").pending()


@pytest.mark.parametrize(
    ("work", "why"),
    [
        (refuse_where_a_file_is, "refused: File exists"),
        (refuse_where_a_directory_has_the_name, r"refused/a\.json: Is a directory"),
        (refuse_where_a_directory_has_the_name_of_the_reason, r"a\.json\.why: Is a directory"),
        (settle_what_cannot_be_removed, r"incoming/a\.json: (Is a directory|Operation not permitted)"),
        (look_where_a_file_is, "incoming: Not a directory"),
        (look_where_no_path_leads, "incoming: embedded null byte"),
    ],
)
def test_a_spool_that_cannot_be_used_is_named(spool: Spool, work: Callable[[Spool], None], why: str) -> None:
    with pytest.raises(LedgerUnavailable, match=f"The spool cannot be used: .*{why}") as caught:
        work(spool)
    assert "what the ledger has is safe" in caught.value.means
    assert "MUSTER_SPOOL" in caught.value.remedy
    assert str(spool.root) in caught.value.happened


def test_tidying_a_spool_whose_places_are_files_does_nothing(spool: Spool) -> None:
    spool.refused.touch()
    spool.drafts.touch()
    spool.tidy(NOW)
    assert names(spool.root) == {"incoming", "refused", "tmp"}


def test_a_file_another_process_took_in_reads_as_nothing(spool: Spool) -> None:
    assert spool.read(spool.incoming / "gone.json") is None


def test_a_file_is_read_up_to_its_bound_and_no_further(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"x" * 10)
    assert read_bounded(path, 10) == b"x" * 10
    with pytest.raises(BadDocument, match="holds more than 9 bytes") as caught:
        read_bounded(path, 9)
    assert "broken or hostile" in caught.value.remedy


def test_a_device_is_not_read() -> None:
    with pytest.raises(
        BadDocument, match="/dev/zero cannot be read: it is neither a regular file nor a pipe"
    ):
        read_bounded(Path("/dev/zero"))


def test_a_named_pipe_nobody_writes_to_is_empty_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_bounded(tmp_path / "pipe") == b""


def test_a_pipe_is_read_to_its_end_however_late_that_comes(tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from lifecycle.adapters.spool import read_bounded\n"
    script += "print('ready', flush=True); print(len(read_bounded(Path('/dev/stdin'))))"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as it:
        assert it.stdin is not None
        assert it.stdout is not None
        assert it.stdout.readline() == b"ready\n"
        for _ in range(3):
            it.stdin.write(b"x" * 100_000)
            it.stdin.flush()
        it.stdin.close()
        assert it.stdout.read() == b"300000\n"


def test_an_endless_pipe_does_not_fill_memory() -> None:
    receive, send = os.pipe()
    os.write(send, b"x" * 100)
    with pytest.raises(BadDocument, match="holds more than 99 bytes"):
        read_bounded(Path(f"/dev/fd/{receive}"), 99)
    os.close(receive)
    os.close(send)


def test_a_name_with_a_nul_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadDocument, match="cannot be read: embedded null byte"):
        read_bounded(tmp_path / "a\0b")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadDocument, match=r"none\.json cannot be read: No such file or directory") as caught:
        read_bounded(tmp_path / "none.json")
    assert caught.value.means == "Nothing was taken in from there, and nothing was changed."
    with pytest.raises(BadDocument, match="cannot be read: Is a directory"):
        read_bounded(tmp_path)


NOW = 1_767_225_600_000
DAY = 24 * 60 * 60 * 1000


def put(directory: Path, name: str, at: int, size: int = 1) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    with path.open("wb") as file:
        file.truncate(size)
    os.utime(path, (at / 1000, at / 1000))
    return path


def refused_document(spool: Spool, name: str, at: int, size: int = 1) -> None:
    # The reason is written when the document is refused; the document itself can be older.
    put(spool.refused, name, NOW - 300 * DAY, size)
    put(spool.refused, f"{name}.why", at)


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_tidying_removes_the_drafts_of_writers_that_died(spool: Spool) -> None:
    put(spool.drafts, "a.json.12", NOW - DAY - 1000)
    put(spool.drafts, "b.json.13", NOW - DAY + 1000)
    (spool.drafts / "dir").mkdir()
    os.utime(spool.drafts / "dir", (0, 0))
    put(spool.incoming, "c.json", NOW - 30 * DAY)
    spool.tidy(NOW)
    assert names(spool.drafts) == {"b.json.13", "dir"}
    assert names(spool.incoming) == {"c.json"}


def test_tidying_keeps_the_newest_hundred_refused_documents_with_their_reasons(spool: Spool) -> None:
    for number in range(103):
        refused_document(spool, f"{number:03d}.json", NOW - number * DAY)
    spool.tidy(NOW)
    kept = {f"{number:03d}.json" for number in range(100)}
    assert names(spool.refused) == kept | {f"{name}.why" for name in kept}


def test_tidying_keeps_a_hundred_megabytes_of_refused_documents(spool: Spool) -> None:
    megabyte = 1024 * 1024
    for number, size in enumerate([60, 500, 39, 2, 1]):
        refused_document(spool, f"{number}.json", NOW - number * DAY, size * megabyte - 1)
    spool.tidy(NOW)
    kept = {"0.json", "2.json", "4.json"}
    assert names(spool.refused) == kept | {f"{name}.why" for name in kept}


def test_a_reason_whose_document_is_gone_is_tidied_like_a_document(spool: Spool) -> None:
    put(spool.refused, "old.json.why", NOW - 400 * DAY)
    for number in range(100):
        refused_document(spool, f"{number}.json", NOW - number * DAY)
    spool.tidy(NOW)
    assert "old.json.why" not in names(spool.refused)
    assert len(names(spool.refused)) == 200


def test_tidying_a_spool_that_is_not_there_does_nothing(tmp_path: Path) -> None:
    Spool(tmp_path / "none").tidy(NOW)
    assert names(tmp_path) == set()


def test_tidying_follows_no_link(spool: Spool, tmp_path: Path) -> None:
    target = put(tmp_path, "precious", 0)
    spool.drafts.mkdir()
    (spool.drafts / "link").symlink_to(target)
    os.utime(spool.drafts / "link", (0, 0), follow_symlinks=False)
    spool.tidy(NOW)
    assert names(spool.drafts) == set()
    assert target.exists()
