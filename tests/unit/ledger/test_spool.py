"""The reading side of the spool, and where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifecycle.adapters.spool import Spool, default_spool, read_bounded
from lifecycle.core.errors import BadDocument


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


def test_a_file_another_process_took_in_reads_as_nothing(spool: Spool) -> None:
    assert spool.read(spool.incoming / "gone.json") is None


def test_a_file_is_read_up_to_its_bound_and_no_further(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"x" * 10)
    assert read_bounded(path, 10) == b"x" * 10
    with pytest.raises(BadDocument, match="holds more than 9 bytes") as caught:
        read_bounded(path, 9)
    assert "broken or hostile" in caught.value.remedy


def test_an_endless_file_does_not_fill_memory(tmp_path: Path) -> None:
    with pytest.raises(BadDocument, match="holds more than 8,388,608 bytes"):
        read_bounded(Path("/dev/zero"))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadDocument, match=r"none\.json cannot be read: No such file or directory") as caught:
        read_bounded(tmp_path / "none.json")
    assert caught.value.means == "Nothing was taken in from there, and nothing was changed."
    with pytest.raises(BadDocument, match="cannot be read: Is a directory"):
        read_bounded(tmp_path)


STATE = {"XDG_STATE_HOME": "/state"}


@pytest.mark.parametrize(
    ("url", "env", "place"),
    [
        ("sqlite:////state/muster/ledger.db", STATE, "/state/muster/spool"),
        ("sqlite:////srv/fleet.db", STATE, "/srv/fleet.db.spool"),
        ("sqlite:///fleet.db", STATE, "fleet.db.spool"),
        ("sqlite+pysqlite:///file:/srv/fleet.db?mode=ro&uri=true", STATE, "/srv/fleet.db.spool"),
        ("sqlite:////srv/fleet.db", {**STATE, "MUSTER_SPOOL": "/spool"}, "/spool"),
    ],
)
def test_the_spool_goes_with_its_ledger(url: str, env: dict[str, str], place: str) -> None:
    assert default_spool(url, env) == Path(place)


def test_the_spool_of_a_server_is_named_by_its_url_without_the_password() -> None:
    one = default_spool("postgresql://me:secret@db/muster", STATE)
    other = default_spool("postgresql://me:changed@db/muster", STATE)
    assert one == other
    assert one.parent == Path("/state/muster")
    assert one.name.startswith("spool-")
    assert len(one.name) == len("spool-") + 12
    assert default_spool("postgresql+psycopg://me@db/muster?password=p@ss", STATE) == one
    assert default_spool("postgresql://me:secret@db/other", STATE) != one
    assert default_spool("postgresql://you:secret@db/muster", STATE) != one


@pytest.mark.parametrize("url", ["nonsense", "", "sqlite://", "sqlite:///:memory:", "postgresql://["])
def test_a_url_that_is_none_still_has_a_spool(url: str) -> None:
    assert default_spool(url, STATE).name.startswith("spool-")


def test_without_xdg_the_platform_decides() -> None:
    assert default_spool("sqlite://", {}).name.startswith("spool-")
