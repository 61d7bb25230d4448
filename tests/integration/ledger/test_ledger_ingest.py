"""Taking documents in: exactly once, one row for nothing new, everything given back."""

from __future__ import annotations

import json

import msgspec
import pytest
from ledger_papers import DAY, END, START, encode, entry, incoming, nameless, paper, row_counts, take

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.errors import NotFound
from lifecycle.core.facts import FactsDocument
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Claim, Incoming
from tests.bench import papers

EIGHT = [entry(f"{number}", pci=f"0000:{number:02x}:00.0") for number in range(8)]


def test_a_first_observation_of_eight_cards_adds_its_rows(url: str, ledger: Ledger) -> None:
    report = take(ledger, paper("gpu-1", START, EIGHT))
    assert (report.observations, report.new_nodes, report.new_cards, report.new_readings) == (1, 1, 8, 8)
    assert row_counts(url) == {
        "nodes": 1, "cards": 8, "host_facts": 1, "card_facts": 8, "readings": 8, "observations": 1,
        "sweeps": 0, "transitions": 0,
    }  # fmt: skip


def test_an_unchanged_observation_of_eight_cards_adds_exactly_one_row(url: str, ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, EIGHT))
    before = row_counts(url)
    warmer = [{**card, "temperature": {"gpu_c": 71.5}} for card in EIGHT]
    report = take(ledger, paper("gpu-1", START + DAY, warmer))
    assert (report.observations, report.new_readings) == (1, 0)
    assert row_counts(url) == {**before, "observations": 2}


def test_a_counter_that_moved_adds_one_reading(url: str, ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, EIGHT))
    before = row_counts(url)
    take(ledger, paper("gpu-1", START + DAY, [entry("0", errors=5, pci="0000:00:00.0"), *EIGHT[1:]]))
    assert row_counts(url) == {**before, "observations": 2, "readings": 9}


def test_new_firmware_adds_one_set_of_card_facts(url: str, ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", firmware={"vbios": "1"})]))
    before = row_counts(url)
    take(ledger, paper("gpu-1", START + DAY, [entry("a", firmware={"vbios": "2"})]))
    assert row_counts(url) == {**before, "observations": 2, "card_facts": 2, "readings": 2}


def test_the_same_document_again_changes_nothing(url: str, ledger: Ledger) -> None:
    document = paper("gpu-1", START, EIGHT)
    take(ledger, document)
    before = row_counts(url)
    report = take(ledger, document, document)
    assert (report.observations, report.already_known) == (0, 2)
    assert row_counts(url) == before


def test_the_same_document_twice_in_one_batch_is_taken_once(url: str, ledger: Ledger) -> None:
    document = paper("gpu-1", START, EIGHT)
    report = take(ledger, document, document)
    assert (report.observations, report.already_known) == (1, 1)
    assert row_counts(url)["observations"] == 1


def test_another_layout_of_the_same_document_is_the_same_document(url: str, ledger: Ledger) -> None:
    document = paper("gpu-1", START, EIGHT)
    take(ledger, document)
    spread = json.dumps(document, indent=4).encode()
    report = ledger.ingest([Incoming("spread", parse_document(spread))], now=END)
    assert (report.observations, report.already_known) == (0, 1)


def test_two_nodes_read_at_the_same_time_with_the_same_content_are_two_observations(ledger: Ledger) -> None:
    content = {"host": {"kernel": "5.15"}}
    report = take(ledger, paper("gpu-1", START, **content), paper("gpu-2", START, **content))
    assert report.observations == 2


def test_committed_is_told_every_document_once_it_is_safe(url: str, ledger: Ledger) -> None:
    seen: list[tuple[str, int]] = []

    def committed(batch: object) -> None:
        assert isinstance(batch, list)
        seen.extend((item.origin, row_counts(url)["observations"]) for item in batch)

    documents = incoming(paper("gpu-1", START), paper("gpu-2", START), paper("gpu-1", START))
    ledger.ingest(documents, now=END, committed=committed)
    assert [origin for origin, _ in seen] == [item.origin for item in documents]
    assert {rows for _, rows in seen} == {2}


def test_more_documents_than_a_batch_are_all_taken(url: str, ledger: Ledger) -> None:
    report = take(ledger, *(paper(f"gpu-{n}", START, [entry(f"{n}")]) for n in range(300)))
    assert report.observations == 300
    assert row_counts(url)["cards"] == 300


def test_a_card_in_another_seat_of_its_node_is_no_new_card(url: str, ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", pci="0000:01:00.0")]))
    report = take(ledger, paper("gpu-1", START + DAY, [entry("a", pci="0000:02:00.0")]))
    assert (report.new_cards, report.moved_cards, report.new_readings) == (0, 0, 1)
    assert row_counts(url)["cards"] == 1


def test_a_card_at_another_node_is_counted_as_moved_once(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    first = take(ledger, paper("gpu-1", START + DAY), paper("gpu-2", START + DAY, [entry("a")]))
    again = take(ledger, paper("gpu-2", START + 2 * DAY, [entry("a", errors=1)]))
    assert (first.new_cards, first.moved_cards, first.claims) == (0, 1, [])
    assert again.moved_cards == 0


def test_a_card_two_nodes_show_at_once_is_reported_as_claimed(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    report = take(ledger, paper("evil", START + 1000, [entry("a", errors=10**6)]))
    assert report.claims == [Claim("GPU-a", "evil", "gpu-1")]


def test_every_document_is_given_back_with_what_the_program_does_not_know(ledger: Ledger) -> None:
    document = paper(
        "gpu-1",
        START,
        [
            entry(
                "a", future={"deep": [1, {"x": None}]}, ecc={"aggregate": {"dram_corrected": 3}, "new": "é"}
            ),
            nameless("0000:0a:00.0", "timed_out"),
            entry("b", pci="0000:0b:00.0", processes=[{"pid": 1, "name": "x\u0000y"}]),
        ],
        reach="ok",
        reach_detail="all well",
        simulated=True,
        non_production=True,
        pool="train",
        expected_cards=3,
        reader={"name": "probe", "version": "9", "flavour": "new"},
        switches=[{"serial": 1.50}],
    )
    document["host"]["rack"] = {"u": 17}
    take(ledger, document)
    (number,) = ledger.observation_ids("gpu-1")
    assert json.loads(ledger.document(number)) == document


def test_a_full_size_document_is_given_back_as_it_means(ledger: Ledger) -> None:
    data = papers.document(7, 3)
    ledger.ingest([Incoming("full", parse_document(data))], now=END)
    (number,) = ledger.observation_ids("gpu-00007")
    decode = msgspec.json.Decoder(FactsDocument).decode
    assert decode(ledger.document(number)) == decode(data)
    assert json.loads(data).items() <= json.loads(ledger.document(number)).items()


def test_a_document_taken_under_another_name_and_time_is_given_back_as_it_was(ledger: Ledger) -> None:
    document = paper("claimed", START, [entry("a")])
    parsed = parse_document(encode(document), node="gpu-9", at=START + DAY)
    report = ledger.ingest([Incoming("mail.json", parsed)], now=END)
    assert len(report.notes) == 2
    assert all(note.startswith("mail.json: ") for note in report.notes)
    (number,) = ledger.observation_ids("gpu-9")
    given = json.loads(ledger.document(number))
    assert (given["node"], given["observed_at"]) == ("claimed", document["observed_at"])


def test_the_same_file_under_another_name_or_time_is_another_observation(ledger: Ledger) -> None:
    data = encode(paper("gpu-1", START, [entry("a")]))
    ways = [parse_document(data), parse_document(data, node="gpu-2"), parse_document(data, at=START + DAY)]
    report = ledger.ingest([Incoming(str(n), way) for n, way in enumerate(ways)], now=END)
    assert report.observations == 3


def test_a_card_shown_twice_leaves_its_neighbours_and_comes_back_whole(ledger: Ledger) -> None:
    twice = paper("gpu-1", START, [EIGHT[0], {**EIGHT[0], "seat": {"pci": "0000:99:00.0"}}, EIGHT[1]])
    report = take(ledger, twice)
    assert (report.new_cards, len(report.refused)) == (2, 0)
    assert report.notes == [
        f"gpu-1@{twice['observed_at']}: cards[1] was not taken for a card: cards[0] has the same UUID GPU-0"
    ]
    (node,) = ledger.histories(END)
    assert [card.uuid for card in node.cards] == ["GPU-0", "GPU-1"]
    assert [(one.pci, one.outcome) for one in node.troubles] == [("0000:99:00.0", "duplicate")]
    (number,) = ledger.observation_ids("gpu-1")
    assert json.loads(ledger.document(number))["cards"] == twice["cards"]


def test_cards_without_a_serial_of_their_own_share_no_board(ledger: Ledger) -> None:
    cards = [{**EIGHT[n], "identity": {"uuid": f"GPU-{n}", "serial": "N/A"}} for n in range(2)]
    take(ledger, paper("gpu-1", START, cards))
    assert [row.serial for row in ledger.cards(END)] == [None, None]
    assert ledger.card_story("GPU-0", END).serial is None
    for missing in (lambda: ledger.find_card("N/A"), lambda: ledger.state_of("board", "N/A")):
        with pytest.raises(NotFound, match="The ledger knows no"):
            missing()
