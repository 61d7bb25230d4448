"""ingest, judge, cards, nodes, card, report and metrics as scripts meet them (contract 6)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Program

UUID = "GPU-11111111-2222-3333-4444-555555555555"
AS_OF = ("--as-of", "2026-11-30T00:00:00Z")


def test_a_healthy_card_is_taken_in_once_and_judged_well(muster: Program) -> None:
    file = muster.facts("a")
    first, again = muster("ingest", file, "--json"), muster("ingest", file, "--json")
    assert (first.code, again.code) == (0, 0)
    assert (first.json["new"], first.json["known"]) == (1, 0)
    assert (again.json["new"], again.json["known"]) == (0, 1)
    judged = muster("judge", *AS_OF, "--json")
    assert judged.code == 0, judged.err
    (card,) = judged.json["cards"]
    assert judged.json["schema"] == "verdicts/1"
    assert (card["verdict"], card["complete"], card["missing"], card["stale"]) == ("ok", True, [], False)
    assert (card["uuid"], card["serial"], card["node"], card["pci"]) == (
        UUID,
        "0322621001234",
        "gpu-17",
        "0000:07:00.0",
    )
    assert judged.json["nodes"][0]["node"] == "gpu-17"


def test_more_than_a_hundred_errors_in_thirty_days_ask_for_retirement(muster: Program) -> None:
    files = [
        muster.facts("a", observed_at="2026-10-31T00:00:00Z"),
        muster.facts(
            "b",
            cards__0__ecc__aggregate__dram_corrected=101,
            cards__0__ecc__aggregate__total_corrected=101,
            observed_at="2026-11-29T00:00:00Z",
        ),
    ]
    assert muster("ingest", *files).code == 0
    judged = muster("judge", *AS_OF, "--json")
    assert judged.code == 1
    (finding,) = [f for f in judged.json["cards"][0]["findings"] if f["rule"] == "ecc-monthly"]
    assert (finding["action"], finding["observed"], finding["threshold"]) == ("retire", 101, 100)
    assert finding["unit"] == "errors/30d"
    text = muster("judge", *AS_OF)
    assert text.code == 1
    assert "To do today" in text.out


def test_judging_again_gives_the_same_answer(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    assert muster("judge", *AS_OF, "--json").out == muster("judge", *AS_OF, "--json").out


def test_an_empty_ledger_is_incomplete_and_never_well(muster: Program) -> None:
    assert muster("judge").code == 3


def test_an_old_last_reading_is_stale_and_unknown(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    judged = muster("judge", "--as-of", "2027-02-01T00:00:00Z", "--json")
    assert judged.code == 3
    assert (judged.json["cards"][0]["stale"], judged.json["cards"][0]["verdict"]) == (True, "unknown")


def test_node_and_at_win_over_what_the_document_says(muster: Program) -> None:
    file = muster.facts("a")
    assert muster("ingest", file).code == 0
    other = muster("ingest", file, "--node", "gpu-18", "--at", "2026-11-30T23:00:00Z", "--json")
    assert other.json["new"] == 1
    assert [note for note in other.json["notes"] if "2026-11-29T23:40:00Z" in str(note)]
    (card,) = muster("cards", "--as-of", "2026-12-01T00:00:00Z", "--json").json["cards"]
    assert card["node"] == "gpu-18"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "facts/1"),
        (b"\x00\xff\x00", "facts/1"),
        (b'{"schema": "facts/2", "node": "a", "observed_at": "2026-01-01T00:00:00Z"}', "facts/1"),
        (b'{"schema": "facts/1", "node": "a"}', "observed_at"),
        (b"[" * 100_000, "deep"),
        (
            b'{"schema": "facts/1", "node": "a", "observed_at": "2026-01-01T00:00:00Z", "cards": NaN}',
            "facts/1",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_nothing_is_changed(
    muster: Program, tmp_path: Path, content: bytes, why: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    ended = muster("ingest", muster.facts("good"), str(bad))
    assert ended.code == 2
    assert "bad.json" in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err
    assert muster("cards", "--json").json["cards"] == []


def test_a_missing_file_is_misuse(muster: Program) -> None:
    ended = muster("ingest", "nowhere.json")
    assert ended.code == 2
    assert "nowhere.json" in ended.out + ended.err


def test_an_unknown_policy_names_the_nearest(muster: Program) -> None:
    ended = muster("judge", "--policy", "onwer")
    assert ended.code == 2
    assert "owner" in ended.err


def test_cards_and_nodes_list_what_the_ledger_knows(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    cards, nodes = muster("cards", *AS_OF, "--json"), muster("nodes", *AS_OF, "--json")
    assert (cards.code, nodes.code) == (0, 0)
    assert cards.json["schema"] == "cards/1"
    (card,) = cards.json["cards"]
    assert set(card) >= {
        "uuid",
        "serial",
        "name",
        "node",
        "pci",
        "state",
        "verdict",
        "first_seen",
        "last_seen",
    }
    assert (card["state"], card["verdict"], card["last_seen"]) == ("enrolled", "ok", "2026-11-29T23:40:00Z")
    assert nodes.json["nodes"][0]["node"] == "gpu-17"
    assert "A100" in muster("cards", *AS_OF).out
    assert "gpu-17" in muster("nodes", *AS_OF).out


@pytest.mark.parametrize("wanted", [UUID, "GPU-1111", "0322621001234", "03226"])
def test_a_card_is_found_by_uuid_serial_or_the_beginning_of_either(muster: Program, wanted: str) -> None:
    muster("ingest", muster.facts("a"))
    told = muster("card", wanted, *AS_OF)
    assert told.code == 0, told.err
    assert "first seen" in told.out


def test_a_card_nobody_knows_is_misuse_with_a_remedy(muster: Program) -> None:
    ended = muster("card", "GPU-9999")
    assert ended.code == 2
    assert "What to do" in ended.err


def test_the_html_report_is_written_whole(muster: Program, tmp_path: Path) -> None:
    muster("ingest", muster.facts("a"))
    ended = muster("report", "--html", str(tmp_path / "r.html"), *AS_OF)
    assert ended.code == 0, ended.err
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "gpu-17" in page
    refused = muster("report", "--html", str(tmp_path / "no" / "r.html"))
    assert refused.code == 2
    assert "cannot be written" in refused.err


def test_metrics_name_the_last_complete_sweep(muster: Program, tmp_path: Path) -> None:
    muster("ingest", muster.facts("a"))
    ended = muster("metrics", "--textfile", str(tmp_path / "muster.prom"))
    assert ended.code == 0, ended.err
    assert "muster_cards{" in (tmp_path / "muster.prom").read_text()


def test_an_untouched_ledger_url_is_honoured(muster: Program, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    assert muster("--ledger", url, "ingest", muster.facts("a")).code == 0
    assert muster("judge", *AS_OF, MUSTER_LEDGER=url).code == 0
    assert muster("judge", *AS_OF).code == 3


def test_documents_left_in_the_spool_by_a_plain_playbook_are_not_overlooked(
    muster: Program, tmp_path: Path
) -> None:
    incoming = tmp_path / "state" / "muster" / "spool" / "incoming"
    incoming.mkdir(parents=True)
    Path(muster.facts("gpu-17-1-abc")).rename(incoming / "gpu-17-1-abc.json")
    (incoming / "hostile.json").write_text("{")
    judged = muster("judge", *AS_OF, "--json")
    assert len(judged.json["cards"]) == 1
    assert list(incoming.iterdir()) == []
    assert (incoming.parent / "refused" / "hostile.json.why").read_text().strip()
    assert judged.code == 3, "a document that was refused is never a pass"
    assert "Refused" in judged.err
    assert "hostile.json" in judged.err


def test_a_refused_answer_of_a_node_is_remembered_as_unreadable(muster: Program, tmp_path: Path) -> None:
    muster("ingest", muster.facts("a"))
    incoming = tmp_path / "state" / "muster" / "spool" / "incoming"
    incoming.mkdir(parents=True)
    bad = Path(muster.facts("bad", cards__0__temperature__gpu_c="hot"))
    bad.rename(incoming / "gpu-17-1796083200000-0123456789ab.json")
    assert "Refused" in muster("cards").err
    judged = muster("judge", "--as-of", "2026-12-05T00:00:00Z", "--json")
    assert judged.code == 3
    assert judged.json["nodes"][0]["reach"] == "unreadable"
    assert judged.json["nodes"][0]["verdict"] == "unknown"


def test_files_still_lying_in_the_spool_can_be_named(muster: Program, tmp_path: Path) -> None:
    incoming = tmp_path / "state" / "muster" / "spool" / "incoming"
    incoming.mkdir(parents=True)
    file = Path(muster.facts("a")).rename(incoming / "gpu-17-1-abc.json")
    assert muster("ingest", str(file), "--json").json["new"] == 1


def test_a_relative_ledger_keeps_its_spool_beside_it(muster: Program, tmp_path: Path) -> None:
    assert muster("--ledger", "sqlite:///rel.db", "ingest", muster.facts("a")).code == 0
    assert (tmp_path / "rel.db").exists()


def test_a_card_asked_for_before_it_was_known_is_a_clear_answer(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    ended = muster("card", UUID, "--as-of", "2020-01-01T00:00:00Z")
    assert ended.code == 2
    assert "not known yet" in ended.err


def test_an_answer_that_cannot_be_written_is_no_traceback(muster: Program, tmp_path: Path) -> None:
    muster("ingest", muster.facts("a"))
    command = f"{sys.executable} -m lifecycle judge --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], env=muster.environment({}), capture_output=True, text=True)
    assert done.returncode == 3
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(muster: Program) -> None:
    muster("ingest", muster.facts("a"))
    command = f"{sys.executable} -m lifecycle judge --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], env=muster.environment({}), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("{", "")
