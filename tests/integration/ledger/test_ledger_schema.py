"""The tables, their migrations, and what opening costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from ledger_papers import END, START, entry, paper, row_counts, take
from sqlalchemy import create_engine, insert, make_url, text, update

import lifecycle.adapters.ledger as package
from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.ledger.engine import parse_url
from lifecycle.adapters.ledger.schema import HEAD, REVISIONS, metadata, version
from lifecycle.core.errors import LedgerTooNew, LedgerUnavailable

HOUR_S = 60 * 60

OPEN_AND_TELL = """
import sys
from lifecycle.adapters.ledger import Ledger
Ledger.open(sys.argv[1]).close()
print([name for name in sys.modules if name.split(".")[0] in ("alembic", "mako")])
"""


def test_the_suite_ran_on_postgresql_too() -> None:
    if "MUSTER_TEST_POSTGRES_URL" not in os.environ:
        pytest.skip("MUSTER_TEST_POSTGRES_URL names no PostgreSQL server; `.ci/run` starts one")
    assert make_url(os.environ["MUSTER_TEST_POSTGRES_URL"]).get_backend_name() == "postgresql"


def test_migrations_make_the_tables_the_program_uses(url: str, ledger: Ledger) -> None:
    engine = create_engine(parse_url(url))
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), metadata)
    engine.dispose()
    # Alembic's own table is declared beside the metadata, so it counts as surplus; nothing else may.
    assert [op for op in found if op[0] != "remove_table"] == []
    assert [op[1].name for op in found if op[0] == "remove_table"] in ([], [version.name])


def test_the_revisions_are_those_of_the_migration_files() -> None:
    scripts = ScriptDirectory(str(Path(package.__file__).with_name("migrations")))
    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == REVISIONS


def test_opening_an_up_to_date_ledger_does_not_import_alembic(url: str, ledger: Ledger) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_AND_TELL, url], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_making_one_does(file_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_AND_TELL, file_url], capture_output=True, text=True, check=True
    )
    assert "'alembic'" in done.stdout


def test_many_at_once_may_make_the_same_ledger(url: str) -> None:
    code = "import sys; from lifecycle.adapters.ledger import Ledger; Ledger.open(sys.argv[1]).close()"
    running = [subprocess.Popen([sys.executable, "-c", code, url], stderr=subprocess.PIPE) for _ in range(4)]
    ends = [(one.communicate()[1], one.returncode) for one in running]
    assert ends == [(b"", 0)] * 4
    with Ledger.open(url, create=False) as ledger:
        assert take(ledger, paper("gpu-1", START)).observations == 1


def test_an_sqlite_ledger_keeps_readings_through_a_power_loss(file_url: str, tmp_path: Path) -> None:
    with Ledger.open(file_url) as ledger, ledger._writing() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db"]


def test_an_empty_file_becomes_a_ledger(file_url: str, tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    with Ledger.open(file_url) as ledger:
        assert take(ledger, paper("gpu-1", START, [entry("a")])).observations == 1


def leave_draft(file: Path, age_s: float) -> None:
    file.write_bytes(b"half a ledger")
    then = time.time() - age_s
    os.utime(file, (then, then))


@pytest.mark.parametrize("made", [False, True])
def test_drafts_of_makers_that_died_are_removed(file_url: str, tmp_path: Path, made: bool) -> None:
    if made:
        Ledger.open(file_url).close()
    for ending in ("", "-wal", "-shm", "-journal"):
        leave_draft(tmp_path / f".ledger.db.0123abcd.new{ending}", HOUR_S + 60)
    others = [".ledger.db.89ab4567.new", ".other.db.0123abcd.new", ".ledger.db.mine.new", "ledger.db.bak"]
    leave_draft(tmp_path / others[0], HOUR_S - 600)
    for name in others[1:]:
        leave_draft(tmp_path / name, 30 * 24 * HOUR_S)
    Ledger.open(file_url).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "ledger.db"])


def test_reading_a_ledger_removes_nothing(file_url: str, tmp_path: Path) -> None:
    Ledger.open(file_url).close()
    leave_draft(tmp_path / ".ledger.db.0123abcd.new", 2 * HOUR_S)
    Ledger.open(file_url, create=False).close()
    assert (tmp_path / ".ledger.db.0123abcd.new").exists()


def test_a_relative_ledger_stays_the_same_file_wherever_the_program_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Ledger.open("sqlite:///fleet.db") as ledger:
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert take(ledger, paper("gpu-1", START)).observations == 1
        assert ledger.name == f"sqlite:///{tmp_path / 'fleet.db'}"
    assert not list((tmp_path / "elsewhere").iterdir())
    with Ledger.open("sqlite:///../fleet.db", create=False) as ledger:
        assert [node.node for node in ledger.histories(END)] == ["gpu-1"]


def test_a_ledger_under_the_home_directory_may_be_written_with_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    Ledger.open("sqlite:///~/fleet.db").close()
    assert (tmp_path / "fleet.db").is_file()


def test_a_ledger_of_a_newer_program_is_left_alone(url: str, ledger: Ledger) -> None:
    _set_version(url, "9999")
    before = row_counts(url)
    with pytest.raises(LedgerTooNew) as caught:
        Ledger.open(url)
    assert f"has format 9999; this program knows formats up to {HEAD}" in caught.value.happened
    assert caught.value.means == "A newer Muster wrote it. Nothing was read or changed."
    assert caught.value.remedy.startswith("Use the newer Muster")
    assert row_counts(url) == before


def test_a_ledger_that_became_newer_while_open_is_not_written(url: str, ledger: Ledger) -> None:
    _set_version(url, "9999")
    with pytest.raises(LedgerTooNew):
        take(ledger, paper("gpu-1", START))
    assert row_counts(url)["observations"] == 0


def test_a_database_of_something_else_is_left_alone(url: str) -> None:
    engine = create_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE recipes (name TEXT)"))
    with pytest.raises(LedgerUnavailable, match="holds tables, but no ledger") as caught:
        Ledger.open(url)
    assert "Nothing was changed" in caught.value.means
    with engine.connect() as connection:
        names = connection.dialect.get_table_names(connection)
    engine.dispose()
    assert names == ["recipes"]


def test_where_nothing_was_ever_taken_in_there_is_nothing_to_read(url: str, tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="There is no ledger at") as caught:
        Ledger.open(url, create=False)
    assert "`muster sweep` or `muster ingest`" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def _set_version(url: str, number: str) -> None:
    engine = create_engine(parse_url(url))
    with engine.begin() as connection:
        if connection.execute(update(version).values(version_num=number)).rowcount == 0:
            connection.execute(insert(version).values(version_num=number))
    engine.dispose()


def test_the_program_reads_what_it_wrote_before_it_closed(url: str) -> None:
    with Ledger.open(url) as ledger:
        take(ledger, paper("gpu-1", START, [entry("a", errors=4)]))
    with Ledger.open(url, create=False) as ledger:
        assert [node.node for node in ledger.histories(END)] == ["gpu-1"]
