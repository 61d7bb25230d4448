"""Writers that die, and writers that meet: nothing lost, nothing doubled, the ledger opens."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from ledger_papers import END, START, encode, entry, paper, row_counts, take

from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.spool import Spool
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming

FILES = 60
RUNS = int(os.environ.get("MUSTER_CRASH_RUNS", "200"))

# Takes a spool in, three documents to a transaction.
DRAIN = """
import sys
from pathlib import Path
from lifecycle.adapters.ledger import Ledger, intake
from lifecycle.adapters.spool import Spool
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming

def documents():
    for path in spool.pending():
        data = spool.read(path)
        if data is not None:
            yield Incoming(str(path), parse_document(data))

def settle(batch):
    for item in batch:
        spool.settle(Path(item.origin))

spool = Spool(Path(sys.argv[2]))
ledger = Ledger.open(sys.argv[1])
items = list(documents())
for start in range(0, len(items), 3):
    ledger.ingest(items[start:start + 3], now=0, committed=settle)
ledger.close()
"""


def fill(spool: Path, names: str, files: int = FILES) -> None:
    incoming = spool / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        cards = [entry(f"{names}{number}-{n}", errors=number) for n in range(4)]
        document = encode(paper(f"{names}-{number:03d}", START + number, cards))
        (incoming / f"{names}-{number:03d}.json").write_bytes(document)


def drain(url: str, spool: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", DRAIN, url, str(spool)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def counts_of(names: int) -> dict[str, int]:
    return {"nodes": FILES * names, "cards": 4 * FILES * names, "readings": 4 * FILES * names,
            "observations": FILES * names, "card_facts": 4 * FILES * names, "host_facts": FILES * names,
            "sweeps": 0, "transitions": 0}  # fmt: skip


@pytest.mark.crash
def test_a_writer_killed_anywhere_loses_and_doubles_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    spool = Spool(tmp_path / "spool")
    everything = {f"gpu-{number:03d}" for number in range(FILES)}
    fill(spool.root, "gpu")
    killed = fills = 0
    for run in range(RUNS):
        killed += _killed(lambda: _drain_here(url, spool), random.Random(run).uniform(0.0005, 0.15))
        with Ledger.open(url) as ledger:
            known = {node.node for node in ledger.histories(END)}
        waiting = {path.stem for path in spool.pending()}
        assert known | waiting == everything
        if not waiting:
            assert row_counts(url) == counts_of(1)
            fills += 1
            fill(spool.root, "gpu")
            # Every second time a new ledger, else the same files again: both ways of writing get killed.
            if fills % 2 == 0:
                (tmp_path / "ledger.db").unlink()
    _drain_here(url, spool)
    assert spool.pending() == []
    assert row_counts(url) == counts_of(1)
    assert killed > RUNS // 2
    assert not list(tmp_path.glob("*.db-journal"))


def _drain_here(url: str, spool: Spool) -> None:
    def settle(batch: Sequence[Incoming]) -> None:
        for item in batch:
            spool.settle(Path(item.origin))

    with Ledger.open(url) as ledger:
        items = [Incoming(str(path), parse_document(path.read_bytes())) for path in spool.pending()]
        for start in range(0, len(items), 3):
            ledger.ingest(items[start : start + 3], now=0, committed=settle)


def _killed(work: Callable[[], None], after_s: float) -> bool:
    """Do the work in a child that dies without warning after a time; whether it did die of that."""
    child = os.fork()
    if child == 0:
        try:
            # The default action of this signal ends the process on the spot, as SIGKILL would.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, after_s)
            work()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def test_two_processes_taking_in_the_same_files_double_nothing(url: str, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    fill(spool, "gpu")
    running = [drain(url, spool), drain(url, spool)]
    assert [(one.communicate()[1], one.returncode) for one in running] == [("", 0), ("", 0)]
    assert Spool(spool).pending() == []
    assert row_counts(url) == counts_of(1)


def test_two_processes_taking_in_different_files_lose_nothing(url: str, tmp_path: Path) -> None:
    running = []
    for names in ("left", "right"):
        fill(tmp_path / names, names)
        running.append(drain(url, tmp_path / names))
    assert [(one.communicate()[1], one.returncode) for one in running] == [("", 0), ("", 0)]
    assert row_counts(url) == counts_of(2)


def test_a_file_is_settled_only_when_its_document_is_committed(file_url: str, tmp_path: Path) -> None:
    fill(tmp_path, "gpu", files=1)
    spool = Spool(tmp_path)
    (path,) = spool.pending()
    item = Incoming(str(path), parse_document(path.read_bytes()))

    def die(_batch: object) -> None:
        raise KeyboardInterrupt

    with Ledger.open(file_url) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.ingest([item], now=0, committed=die)
        assert spool.pending() == [path]
        assert ledger.ingest([item], now=0).already_known == 1
        assert take(ledger, paper("gpu-1", START)).observations == 1
