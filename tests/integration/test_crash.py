"""kill -9 at random points: nothing that reached the spool is lost or doubled, and the ledger opens.

MUSTER_CRASH_RUNS is the number of kills in all; MUSTER_CRASH_SEED repeats a run's points.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifecycle.adapters.clock import now_ms
from lifecycle.sim.fleet import build
from tests.bench import papers
from tests.integration.conftest import CHECKOUT, PATIENCE_S, Muster
from tests.integration.crashes import Driver, Kills, SpoolWatch
from tests.integration.ledger_content import as_taken_in, observed, row_counts

pytestmark = pytest.mark.crash

RUNS = int(os.environ.get("MUSTER_CRASH_RUNS", "200"))
SEED = int(os.environ.get("MUSTER_CRASH_SEED", random.randrange(2**32)))
# A sweep costs seconds, a drain a tenth of one: most kills are drains, but each kind has its share.
SWEEP_RUNS = max(2, RUNS * 12 // 100)
INGEST_RUNS = max(2, RUNS * 8 // 100)
DRAIN_RUNS = max(2, RUNS - SWEEP_RUNS - INGEST_RUNS)
DRAINS_PER_LEDGER, KILLS_WHILE_MADE = 12, 3
NODES = 5


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver([sys.executable, "-m", "tests.integration.crash_driver"], CHECKOUT)
    yield driver
    driver.close()


def to_spool(spool: Path, document: bytes, number: int) -> None:
    """As the action plugin does it: whole, by rename."""
    for name in ("tmp", "incoming"):
        (spool / name).mkdir(parents=True, exist_ok=True)
    draft = spool / "tmp" / f"{number}"
    draft.write_bytes(document)
    draft.rename(spool / "incoming" / f"node-{number:05d}-0123456789ab.json")


def month(number: int) -> list[bytes]:
    return [papers.document(node, number, cards=4, links=2) for node in range(NODES)]


def assert_whole(muster_home: Path, documents: list[bytes], kills: Kills) -> None:
    """The ledger opens, and holds each document once and as it was, in no more rows than without a kill."""
    ledger = muster_home / "ledger.db"
    connection = sqlite3.connect(ledger)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], kills
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == [], kills
    connection.close()
    taken = as_taken_in(ledger)
    given = [json.loads(one) for one in documents]
    assert Counter(map(key, taken)) == Counter(map(key, given)), kills
    assert {key(one): one["cards"] for one in taken} == {key(one): one["cards"] for one in given}, kills

    untouched = muster_home / "untouched.db"
    untouched.unlink(missing_ok=True)
    clean = as_taken_in(untouched, documents)
    assert {key(one): one for one in taken} == {key(one): one for one in clean}, kills
    assert row_counts(ledger) == row_counts(untouched), kills


def key(document: dict[str, Any]) -> tuple[str, str]:
    return document["node"], document["observed_at"]


def test_draining_the_spool_survives_kills_at_any_point(tmp_path, driver):
    # The first kills of a ledger meet it while it is being made, which takes longer.
    making, kills = Kills(SEED, within_s=1.0), Kills(SEED, within_s=0.2)
    for first in range(0, DRAIN_RUNS, DRAINS_PER_LEDGER):
        home = tmp_path / f"ledger-{first}"
        documents: list[bytes] = []
        for number in range(first, min(first + DRAINS_PER_LEDGER, DRAIN_RUNS)):
            for node, document in enumerate(month(number - first)):
                to_spool(home / "spool", document, number * NODES + node)
                documents.append(document)
            pid = driver.begin(url(home), home / "spool")
            (making if number - first < KILLS_WHILE_MADE else kills).kill_at_point(pid)
            driver.end()
        assert drain(home, driver) == 0, kills
        assert not list((home / "spool" / "incoming").iterdir()), kills
        assert not (home / "spool" / "refused").exists(), kills
        assert_whole(home, documents, kills)
    print(f"drains while the ledger is made, {making}")
    print(f"drains, {kills}")
    assert kills.killed + making.killed > DRAIN_RUNS // 3, kills


def url(home: Path) -> str:
    return f"sqlite:///{home / 'ledger.db'}"


def drain(home: Path, driver: Driver) -> int:
    driver.begin(url(home), home / "spool")
    return driver.end()


def test_muster_ingest_survives_kills_at_any_point(tmp_path):
    muster = Muster(tmp_path)
    files = []
    for number in range(4):
        for node, document in enumerate(month(number)):
            files.append(tmp_path / f"{number}-{node}.json")
            files[-1].write_bytes(document)
    names = [str(file) for file in files]
    kills = Kills(SEED, within_s=1.0)
    for _ in range(INGEST_RUNS):
        process = muster.start("ingest", *names)
        kills.kill_at_point(process.pid)
        process.communicate(timeout=PATIENCE_S)
    done = muster.run("ingest", *names)
    assert done.returncode == 0, f"{kills}\n{done.stderr}"
    print(f"ingests, {kills}")
    assert_whole(tmp_path, [file.read_bytes() for file in files], kills)


def test_sweeps_survive_kills_at_any_point(tmp_path):
    """Local connections and the simulated library; every other kill takes all it started along."""
    fleet = build(tmp_path / "fleet", SEED % 1000, now_ms())
    muster = Muster(tmp_path)
    limit = ("sweep", "--limit", ",".join(fleet.node_names[:3]), "-i", str(fleet.inventory))
    kills = Kills(SEED, within_s=4.0)
    watch = SpoolWatch(muster.spool / "incoming")
    for number in range(SWEEP_RUNS):
        process = muster.start(*limit)
        kills.kill_at_point(process.pid, tree=number % 2 == 0)
        process.communicate(timeout=PATIENCE_S)
    last = muster.run(*limit)
    assert last.returncode in (0, 1, 3), f"{kills}\n{last.stderr}"
    assert not muster.documents(), kills
    assert not (muster.spool / "refused").exists(), kills

    reached = watch.read()
    watch.close()
    print(f"sweeps, {kills}; {len(reached)} documents reached the spool")
    connection = sqlite3.connect(muster.ledger_file)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], kills
    connection.close()
    held = Counter(observed(muster.ledger_file))
    assert not reached - set(held), f"{kills}: lost"
    assert max(held.values()) == 1, f"{kills}: doubled"
    few = len(fleet.node_names[:3])
    assert len(reached) > few or SWEEP_RUNS < 10, f"{kills}: no killed sweep came as far as the spool"
