"""What the judge gets to see."""

from __future__ import annotations

import json
import random

import pytest
from ledger_papers import DAY, END, START, card_named, entry, nameless, node_named, paper, take

from lifecycle.adapters.ledger import Ledger
from lifecycle.core.history import HeatSample, Sample
from lifecycle.core.records import Claim

MINUTE = 60_000


def counts(samples: object) -> list[tuple[int, int]]:
    """(day, corrected DRAM errors) of samples."""
    assert isinstance(samples, list)
    return [
        ((s.at - START) // DAY, json.loads(s.memory)["ecc"]["aggregate"]["dram_corrected"]) for s in samples
    ]


def test_an_empty_ledger_has_no_histories(ledger: Ledger) -> None:
    assert list(ledger.histories(END)) == []


def test_nodes_come_in_the_order_of_their_names(ledger: Ledger) -> None:
    names = ["gpu-2", "gpu-10", "GPU-1", "über", "a.b"]
    take(ledger, *(paper(name, START) for name in names))
    assert [node.node for node in ledger.histories(END)] == sorted(names)


def test_chunks_leave_no_node_out(ledger: Ledger) -> None:
    take(ledger, *(paper(f"gpu-{n:04d}", START, [entry(f"{n}")]) for n in range(300)))
    found = list(ledger.histories(END))
    assert [node.node for node in found] == [f"gpu-{n:04d}" for n in range(300)]
    assert all(len(node.cards) == 1 for node in found)


def test_a_card_has_one_sample_per_observation_oldest_first(ledger: Ledger) -> None:
    for day, errors in ((0, 0), (1, 0), (2, 7)):
        take(ledger, paper("gpu-1", START + day * DAY, [entry("a", errors=errors)]))
    card = card_named(ledger, "a")
    assert counts(card.samples) == [(0, 0), (1, 0), (2, 7)]
    assert {sample.boot_id for sample in card.samples} == {"boot-gpu-1"}
    assert card.samples[0].memory is card.samples[1].memory
    assert (card.first_seen_at, card.last_seen_at, card.last_read_at) == (
        START,
        START + 2 * DAY,
        START + 2 * DAY,
    )
    assert (card.state, card.present, card.outcome, card.claimed_by) == ("enrolled", True, "ok", ())


def test_static_and_live_are_the_newest_bodies(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", firmware={"vbios": "1"}, pcie={"gen": 4})]))
    take(
        ledger,
        paper("gpu-1", START + DAY, [entry("b"), entry("a", firmware={"vbios": "2"}, pcie={"gen": 5})]),
    )
    card = card_named(ledger, "a")
    assert json.loads(card.static or "")["firmware"] == {"vbios": "2"}
    assert json.loads(card.live or "")["pcie"] == {"gen": 5}


def test_the_host_is_put_together_from_its_slow_and_its_live_keys(ledger: Ledger) -> None:
    host = {"kernel": "5.15", "boot_id": "b", "uptime_s": 12.5, "log": [{"text": "NVRM: Xid 79", "at": 1.0}]}
    take(ledger, paper("gpu-1", START, host=host))
    take(ledger, paper("gpu-1", START + DAY, reach="unreachable", reach_detail="no route", host={}))
    node = node_named(ledger, "gpu-1")
    assert node.host is not None
    assert (node.host.kernel, node.host.uptime_s) == ("5.15", 12.5)
    assert isinstance(node.host.log, list)
    assert node.host.log[0].text == "NVRM: Xid 79"
    assert (node.host_at, node.observed_at) == (START, START + DAY)
    assert (node.reach, node.reach_detail) == ("unreachable", "no route")


def test_as_of_hides_what_came_later(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]), paper("gpu-1", START + DAY, [entry("a", errors=3)]))
    take(ledger, paper("gpu-2", START + 2 * DAY, [entry("a", errors=4)]))
    then = list(ledger.histories(START + DAY - 1))
    assert [node.node for node in then] == ["gpu-1"]
    assert counts(then[0].cards[0].samples) == [(0, 0)]
    assert [node.node for node in ledger.histories(START - 1)] == []


def test_a_card_missing_from_the_newest_readable_observation_is_not_present(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a"), entry("b")]), paper("gpu-1", START + DAY, [entry("a")]))
    node = node_named(ledger, "gpu-1")
    assert {card.uuid: card.present for card in node.cards} == {"GPU-a": True, "GPU-b": False}
    assert node.previous_cards == 2


def test_a_node_that_was_not_reached_keeps_its_cards_present(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]))
    take(ledger, paper("gpu-1", START + DAY, reach="timed_out", host={}))
    node = node_named(ledger, "gpu-1")
    assert [card.present for card in node.cards] == [True]
    assert node.previous_cards is None


def test_previous_cards_passes_over_observations_that_held_none(ledger: Ledger) -> None:
    for day, cards in enumerate([[entry("a"), entry("b")], [], [entry("a")]]):
        take(ledger, paper("gpu-1", START + day * DAY, cards))
    assert node_named(ledger, "gpu-1").previous_cards == 2


def test_what_the_inventory_said_comes_from_the_newest_observation(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, expected_cards=8, pool="train"))
    take(ledger, paper("gpu-1", START + DAY, expected_cards=4, pool="spare", reach="unreachable"))
    node = node_named(ledger, "gpu-1")
    assert (node.expected_cards, node.pool) == (4, "spare")


def test_failed_attempts_are_listed_since_the_last_good_one(ledger: Ledger) -> None:
    for day, outcome in enumerate(["timed_out", "ok", "timed_out", "lost"]):
        take(ledger, paper("gpu-1", START + day * DAY, [entry("a", read={"outcome": outcome})]))
    card = card_named(ledger, "a")
    assert card.outcome == "lost"
    assert list(card.failed) == [(START + 2 * DAY, "timed_out"), (START + 3 * DAY, "lost")]
    assert card.last_read_at == START + DAY


def test_a_card_never_read_well_has_no_last_reading(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", read={"outcome": "lost"})]))
    assert card_named(ledger, "a").last_read_at is None


def test_nameless_seats_in_trouble_are_counted_back(ledger: Ledger) -> None:
    seat = "0000:0a:00.0"
    take(ledger, paper("gpu-1", START, [nameless("0000:0b:00.0", "lost")]))
    take(ledger, paper("gpu-1", START + DAY, [entry("a"), nameless(seat, "timed_out")]))
    take(ledger, paper("gpu-1", START + 2 * DAY, reach="unreachable", host={}))
    take(ledger, paper("gpu-1", START + 3 * DAY, [entry("a"), nameless(seat, "crashed")]))
    (trouble,) = node_named(ledger, "gpu-1").troubles
    assert (trouble.pci, trouble.outcome, trouble.tries) == (seat, "crashed", 2)
    assert trouble.detail == "no answer in 10 s"


def test_heat_comes_from_observations_since_the_time_asked_for(ledger: Ledger) -> None:
    for day, heat in enumerate([50.0, 60.0, 70.0]):
        take(ledger, paper("gpu-1", START + day * DAY, [entry("b"), entry("a", heat=heat)]))
    node = node_named(ledger, "gpu-1", heat_since=START + DAY)
    card = next(card for card in node.cards if card.uuid == "GPU-a")
    assert list(card.heat) == [HeatSample(START + DAY, 60.0), HeatSample(START + 2 * DAY, 70.0)]


def test_an_unread_temperature_is_no_heat_sample(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", temperature={"gpu_c": {"unread": "timed_out"}})]))
    assert list(card_named(ledger, "a").heat) == []


def test_a_moved_card_belongs_to_its_last_node_and_keeps_its_samples(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", errors=1), entry("b")]))
    take(ledger, paper("gpu-2", START, [entry("c")]))
    take(
        ledger, paper("gpu-1", START + DAY, [entry("b")]), paper("gpu-2", START + DAY, [entry("a", errors=2)])
    )
    card = card_named(ledger, "a")
    assert (card.node, card.present, card.claimed_by) == ("gpu-2", True, ())
    assert counts(card.samples) == [(0, 1), (1, 2)]
    assert [sample.boot_id for sample in card.samples] == ["boot-gpu-1", "boot-gpu-2"]
    assert card.first_seen_at == START
    assert [c.uuid for c in node_named(ledger, "gpu-1").cards] == ["GPU-b"]


def test_a_card_that_moved_while_its_old_node_was_not_read_has_moved(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]), paper("gpu-2", START + DAY, [entry("a")]))
    assert card_named(ledger, "a").node == "gpu-2"


def test_a_card_that_came_back_has_the_samples_of_its_absence_too(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", errors=1)]))
    take(ledger, paper("gpu-1", START + DAY), paper("gpu-2", START + DAY, [entry("a", errors=2)]))
    take(ledger, paper("gpu-2", START + 2 * DAY), paper("gpu-1", START + 2 * DAY, [entry("a", errors=3)]))
    card = card_named(ledger, "a")
    assert card.node == "gpu-1"
    assert counts(card.samples) == [(0, 1), (1, 2), (2, 3)]


def test_two_nodes_that_show_one_card_at_once_each_keep_their_own_claim(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", errors=1)]))
    take(ledger, paper("gpu-1", START + DAY, [entry("a", errors=2)]))
    take(ledger, paper("evil", START + DAY + MINUTE, [entry("a", errors=10**6)]))
    claims = {node.node: node.cards[0] for node in ledger.histories(END)}
    assert counts(claims["gpu-1"].samples) == [(0, 1), (1, 2)]
    assert counts(claims["evil"].samples) == [(1, 10**6)]
    assert (claims["gpu-1"].claimed_by, claims["evil"].claimed_by) == ((), ("gpu-1",))


def test_two_nodes_that_came_with_one_card_put_each_other_in_doubt(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]), paper("evil", START + MINUTE, [entry("a")]))
    claims = {node.node: node.cards[0].claimed_by for node in ledger.histories(END)}
    assert claims == {"gpu-1": ("evil",), "evil": ("gpu-1",)}


def test_a_claim_as_far_apart_as_readings_of_one_sweep_takes_no_card_over(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", errors=1)]))
    take(ledger, paper("gpu-1", START + DAY, [entry("a", errors=2)]))
    report = take(ledger, paper("evil", START + DAY + 55 * MINUTE, [entry("a", errors=10**6)]))
    claims = {node.node: node.cards[0] for node in ledger.histories(END)}
    assert counts(claims["gpu-1"].samples) == [(0, 1), (1, 2)]
    assert counts(claims["evil"].samples) == [(1, 10**6)]
    assert (claims["gpu-1"].claimed_by, claims["evil"].claimed_by) == ((), ("gpu-1",))
    assert report.claims == [Claim("GPU-a", "evil", "gpu-1")]
    rows = [(row.uuid, row.node, tuple(row.claimed_by)) for row in ledger.cards(END)]
    assert rows == [("GPU-a", "evil", ("gpu-1",)), ("GPU-a", "gpu-1", ())]


def test_a_card_seen_elsewhere_a_day_later_has_moved(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a", errors=1)]))
    report = take(ledger, paper("gpu-2", START + DAY, [entry("a", errors=2)]))
    (card,) = [card for node in ledger.histories(END) for card in node.cards]
    assert (card.node, card.claimed_by, counts(card.samples)) == ("gpu-2", (), [(0, 1), (1, 2)])
    assert (report.moved_cards, report.claims) == (1, [])
    assert [(row.node, tuple(row.claimed_by)) for row in ledger.cards(END)] == [("gpu-2", ())]


def test_three_nodes_that_claim_one_card_make_one_row_each_at_most(ledger: Ledger) -> None:
    for number in range(3):
        take(ledger, paper(f"gpu-{number}", START + number * 50 * MINUTE, [entry("a", errors=number)]))
    rows = [(row.uuid, row.node) for row in ledger.cards(END)]
    assert rows == [("GPU-a", "gpu-1"), ("GPU-a", "gpu-2")]


def test_a_false_claim_of_old_leaves_no_trace_at_the_node_that_held_the_card(ledger: Ledger) -> None:
    for day in range(3):
        take(ledger, paper("gpu-1", START + day * DAY, [entry("a", errors=day)]))
    before = node_named(ledger, "gpu-1")
    take(ledger, paper("evil", START + DAY + DAY // 2, [entry("a", errors=10**6)]))
    assert node_named(ledger, "gpu-1") == before
    assert node_named(ledger, "evil").cards == []


def test_the_order_of_ingest_does_not_matter(
    ledger: Ledger, tmp_path_factory: pytest.TempPathFactory
) -> None:
    documents = []
    for day in range(6):
        for number in range(3):
            cards = [entry(f"{number}{n}", errors=day // 2, pci=f"0000:0{n}:00.0") for n in range(3)]
            if day >= 3 and number == 0:
                cards.pop()
            if day >= 3 and number == 1:
                cards.append(entry("02", errors=day, pci="0000:09:00.0"))
            documents.append(paper(f"gpu-{number}", START + day * DAY + number, cards))
    documents.append(paper("gpu-2", START + 2, [entry("other")], reader={"name": "xml"}))
    documents.append(paper("gpu-1", START + 5 * DAY + 9, reach="unreachable", host={}))
    take(ledger, *documents)
    expected = list(ledger.histories(END, START))
    for seed in range(5):
        order = documents[:]
        random.Random(seed).shuffle(order)
        with Ledger.open(f"sqlite:///{tmp_path_factory.mktemp('shuffled') / 'ledger.db'}") as other:
            for document in order:
                take(other, document)
            assert list(other.histories(END, START)) == expected


def test_a_reading_held_by_several_observations_makes_a_sample_of_each(ledger: Ledger) -> None:
    for day, errors in enumerate([0, 1, 0, 1]):
        take(ledger, paper("gpu-1", START + day * DAY, [entry("a", errors=errors)]))
    assert counts(card_named(ledger, "a").samples) == [(0, 0), (1, 1), (2, 0), (3, 1)]


def test_listings_follow_from_the_histories(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, [entry("a")]), paper("gpu-2", START, reach="unreachable", host={}))
    (card,) = ledger.cards(END)
    assert (card.uuid, card.serial, card.node, card.state) == ("GPU-a", "165-a", "gpu-1", "enrolled")
    assert (card.first_seen, card.last_seen) == (START, START)
    nodes = list(ledger.nodes(END))
    assert [(node.node, node.reach, node.cards) for node in nodes] == [
        ("gpu-1", "ok", 1),
        ("gpu-2", "unreachable", 0),
    ]
    assert [(node.last_tried, node.last_read) for node in nodes] == [(START, START), (START, None)]


def test_a_node_was_first_seen_when_it_was_first_read(ledger: Ledger) -> None:
    take(ledger, paper("gpu-1", START, reach="unreachable", host={}))
    (row,) = ledger.nodes(END)
    assert row.first_seen is None
    take(ledger, paper("gpu-1", START + 2 * DAY), paper("gpu-1", START + DAY))
    assert [row.first_seen for row in ledger.nodes(END)] == [START + DAY]
    assert [row.first_seen for row in ledger.nodes(START)] == [None]


def test_samples_are_small_objects_without_garbage_collection() -> None:
    import gc

    assert not gc.is_tracked(Sample(1, "{}"))
