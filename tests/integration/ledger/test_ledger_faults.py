"""When the database cannot do what it should: what a person reads, and that nothing was half done."""

from __future__ import annotations

import os
import socket
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from ledger_papers import END, START, entry, incoming, paper, row_counts, take
from sqlalchemy import text

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.errors import BadArgument, Exit, LedgerUnavailable
from lifecycle.core.records import SweepRecord

NOBODY = 65534
SECRET = "hunter2"  # noqa: S105 - what must never be printed


def test_a_ledger_locked_by_another_writer_is_waited_for_and_then_named(
    file_url: str, tmp_path: Path
) -> None:
    Ledger.open(file_url).close()
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Ledger.open(file_url, lock_wait_s=0.05) as ledger:
        with pytest.raises(LedgerUnavailable, match="is locked by another writer") as caught:
            take(ledger, paper("gpu-1", START))
        assert "Nothing was changed" in caught.value.means
        assert "stay in the spool" in caught.value.remedy
        other.execute("ROLLBACK")
        assert take(ledger, paper("gpu-1", START)).observations == 1
    other.close()


def test_a_reader_is_not_kept_waiting_by_a_writer(file_url: str, tmp_path: Path) -> None:
    with Ledger.open(file_url, lock_wait_s=0.0) as ledger:
        take(ledger, paper("gpu-1", START))
        other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert [node.node for node in ledger.histories(END)] == ["gpu-1"]
        other.close()


def test_a_reader_sees_one_state_while_others_write(url: str, ledger: Ledger) -> None:
    take(ledger, *(paper(f"gpu-{n:03d}", START, [entry(f"{n}")]) for n in range(200)))
    reading = ledger.histories(END)
    first = next(reading)
    with Ledger.open(url) as other:
        take(other, *(paper(f"gpu-{n:03d}", START + 1, [entry(f"{n}", errors=9)]) for n in range(200)))
    assert {len(node.cards[0].samples) for node in (first, *reading)} == {1}


def test_a_full_disk_takes_the_batch_back_whole(file_url: str) -> None:
    with Ledger.open(file_url) as ledger:
        take(ledger, paper("gpu-0", START, [entry("a")]))
        before = row_counts(file_url)
        with ledger._writing() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
            connection.execute(text(f"PRAGMA max_page_count = {pages + 2}"))
        committed: list[object] = []
        large = paper("gpu-1", START, [entry(f"{n}", future="x" * 20_000) for n in range(8)])
        with pytest.raises(LedgerUnavailable, match="cannot grow: the disk is full") as caught:
            _take(ledger, large, committed)
        assert "taken back whole" in caught.value.means
        assert "Free space" in caught.value.remedy
        assert committed == []
        assert row_counts(file_url) == before
        assert [node.node for node in ledger.histories(END)] == ["gpu-0"]


def _take(ledger: Ledger, document: dict[str, object], committed: list[object]) -> None:
    ledger.ingest(incoming(document), now=END, committed=committed.append)


def test_a_read_only_ledger_can_be_read_and_says_so_when_written(file_url: str, tmp_path: Path) -> None:
    with Ledger.open(file_url) as ledger:
        take(ledger, paper("gpu-1", START, [entry("a")]))
        read_only = f"sqlite:///file:{tmp_path / 'ledger.db'}?mode=ro&uri=true"
        with Ledger.open(read_only) as other:
            assert [node.node for node in other.histories(END)] == ["gpu-1"]
            with pytest.raises(LedgerUnavailable, match="it is read-only for this user") as caught:
                take(other, paper("gpu-2", START))
            assert caught.value.means == "Nothing was changed."
            assert "rights" in caught.value.remedy


def _let_others_in(path: Path) -> None:
    """Open the test's own folders for another user; the system's temporary folder is not ours to change."""
    while path != Path(tempfile.gettempdir()) and path.owner() == "root" and path != path.parent:
        path.chmod(0o755)
        path = path.parent


def test_a_file_without_write_permission_is_read_only(file_url: str, tmp_path: Path) -> None:
    with Ledger.open(file_url) as ledger:
        take(ledger, paper("gpu-1", START))
    (tmp_path / "ledger.db").chmod(0o444)
    _let_others_in(tmp_path)
    told = _as_nobody(lambda: Ledger.open(file_url).record_sweep(SweepRecord(0, 1, 1, 1, 1, True)))
    assert "read-only for this user" in told or "cannot be opened" in told
    assert "What to do:" in told


def _as_nobody(work: Callable[[], object]) -> str:
    """What the work says to a user without rights, as the text of its error."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
        except LedgerUnavailable as error:
            os.write(send, str(error).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, encoding="utf-8") as stream:
        told = stream.read()
    os.waitpid(child, 0)
    return told


def test_a_file_that_is_no_database_is_named_and_kept(file_url: str, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"Dear diary, " * 500)
    with pytest.raises(LedgerUnavailable, match="is not a readable database") as caught:
        Ledger.open(file_url)
    assert "Nothing was changed" in caught.value.means
    assert (tmp_path / "ledger.db").read_bytes().startswith(b"Dear diary")


def test_a_damaged_ledger_is_named_when_its_rows_are_read(file_url: str, tmp_path: Path) -> None:
    with Ledger.open(file_url) as ledger:
        take(ledger, *(paper(f"gpu-{n:03d}", START, [entry(f"{n}")]) for n in range(200)))
    file = tmp_path / "ledger.db"
    bare = sqlite3.connect(file)
    (page,) = bare.execute("SELECT rootpage FROM sqlite_master WHERE name = 'readings'").fetchone()
    (size,) = bare.execute("PRAGMA page_size").fetchone()
    bare.close()
    with file.open("r+b") as stream:
        stream.seek((page - 1) * size)
        stream.write(b"\x5a" * size)
    with Ledger.open(file_url) as ledger, pytest.raises(LedgerUnavailable) as caught:
        list(ledger.histories(END))
    assert "is not a readable database" in caught.value.happened
    assert "restore the last backup" in caught.value.remedy


@pytest.mark.parametrize("body", ["[1,", "[[1]]", "nothing"])
def test_a_manifest_somebody_changed_is_a_damaged_ledger(file_url: str, tmp_path: Path, body: str) -> None:
    with Ledger.open(file_url) as ledger:
        take(ledger, paper("gpu-1", START, [entry("a")]))
    bare = sqlite3.connect(tmp_path / "ledger.db")
    bare.execute("UPDATE observations SET manifest = ?", (body,))
    bare.commit()
    bare.close()
    with Ledger.open(file_url) as ledger:
        with pytest.raises(LedgerUnavailable, match="is damaged: one of its rows") as caught:
            list(ledger.histories(END))
        assert "restore the last backup" in caught.value.remedy
        if body != "[[1]]":
            with pytest.raises(LedgerUnavailable, match="is damaged"):
                ledger.read_since(START)


def no_ledger(place: Path, kind: str) -> Path:
    """Something that is there and no regular file, at `place` or behind a link there."""
    if kind.startswith("link to "):
        place.symlink_to(no_ledger(place.with_name("target"), kind.removeprefix("link to ")))
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(place))
    elif kind == "directory":
        place.mkdir()
    else:
        return Path("/dev/null")
    return place


KINDS = ["device", "pipe", "socket", "directory"]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("kind", [*KINDS, *(f"link to {kind}" for kind in KINDS)])
def test_what_is_no_regular_file_is_no_ledger_and_stays(tmp_path: Path, kind: str, create: bool) -> None:
    place = no_ledger(tmp_path / "ledger.db", kind)
    before = (place.lstat(), place.stat(), sorted(tmp_path.iterdir()))
    with pytest.raises(LedgerUnavailable, match=r"cannot be opened: it is not a regular file\.") as caught:
        Ledger.open(f"sqlite:///{place}", create=create)
    assert "was not changed" in caught.value.means
    assert "--ledger" in caught.value.remedy
    after = (place.lstat(), place.stat(), sorted(tmp_path.iterdir()))
    assert [(one.st_mode, one.st_ino) for one in after[:2]] == [(o.st_mode, o.st_ino) for o in before[:2]]
    assert after[2] == before[2]


def test_a_link_to_a_ledger_or_to_nothing_is_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "ledger.db"
    link.symlink_to("disk/real.db")
    for expected in (0, 1):
        with Ledger.open(f"sqlite:///{link}") as ledger:
            assert len(list(ledger.histories(END))) == expected
            take(ledger, paper("gpu-1", START))
    assert link.is_symlink()
    assert (tmp_path / "disk" / "real.db").stat().st_size > 0
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["real.db"]


@pytest.mark.parametrize(
    ("name", "why"),
    [("a" * 300, "File name too long"), ("a\0b", "null byte"), ("loop/x", "[Ss]ymlink loop|levels")],
)
def test_a_path_nothing_can_have_is_named(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(LedgerUnavailable, match=f"cannot be opened: .*({why})"):
        Ledger.open(f"sqlite:///{tmp_path}/{name}")


def test_a_path_behind_a_closed_door_is_named(tmp_path: Path) -> None:
    _let_others_in(tmp_path)
    (tmp_path / "closed").mkdir(mode=0o700)
    told = _as_nobody(lambda: Ledger.open(f"sqlite:///{tmp_path}/closed/ledger.db"))
    if os.geteuid() == 0:
        assert "cannot be opened: Permission denied" in told
    else:
        assert told == ""


def test_a_place_under_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(LedgerUnavailable, match="cannot be opened: Not a directory"):
        Ledger.open(f"sqlite:///{tmp_path / 'file' / 'ledger.db'}")


def test_a_place_where_nothing_can_be_made_is_named() -> None:
    # The kernel lets nobody make a directory there.
    with pytest.raises(LedgerUnavailable, match="cannot be made: No such file or directory") as caught:
        Ledger.open("sqlite:////proc/none/ledger.db")
    assert "in the spool stay there" in caught.value.means


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (f"/var/lib/{SECRET}", "it is not a database URL"),
        (f"gopher://me:{SECRET}@host/ledger", "«gopher» is no database this program knows"),
        (f"postgresql://me:{SECRET}@host:port/ledger", "its port is not a number|it is not a database URL"),
        ("", "it is not a database URL"),
    ],
)
def test_a_url_that_cannot_be_used_is_misuse_and_keeps_its_secret(bad: str, why: str) -> None:
    with pytest.raises(BadArgument, match=why) as caught:
        Ledger.open(bad)
    assert caught.value.exit == Exit.MISUSE
    assert "postgresql://user@host/muster" in caught.value.remedy
    assert SECRET not in str(caught.value)


def test_a_missing_driver_is_named_with_the_way_to_get_it() -> None:
    with pytest.raises(BadArgument, match="needs the Python package «MySQLdb»") as caught:
        Ledger.open(f"mysql+mysqldb://me:{SECRET}@host/ledger")
    assert "Install it beside Muster" in caught.value.remedy
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("url", [
    f"postgresql://me:{SECRET}@127.0.0.1:1/ledger",
    f"postgresql://me@127.0.0.1:1/ledger?password={SECRET}",
])  # fmt: skip
def test_a_server_that_does_not_answer_is_named_without_the_password(url: str) -> None:
    with pytest.raises(LedgerUnavailable, match=r"127\.0\.0\.1:1/ledger.* cannot be used") as caught:
        Ledger.open(url)
    assert "the database runs and lets this user in" in caught.value.remedy
    shown = str(caught.value) + repr(caught.value) + str(caught.value.__context__ or "")
    assert SECRET not in shown
