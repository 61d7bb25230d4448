"""A facts document on its way in: split without loss, refused with a reason, never believed."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifecycle.core.bounds import MAX_BYTES, MAX_CARDS, MAX_DEPTH, compact
from lifecycle.core.errors import BadDocument, Exit
from lifecycle.core.facts import Card, FactsDocument
from lifecycle.core.ingest import DUPLICATE, Troubles, parse_document
from lifecycle.core.times import parse_iso

AT = "2026-01-01T00:00:00Z"
BASE: dict[str, Any] = {"schema": "facts/1", "node": "gpu-1", "observed_at": AT}


def encode(*cards: dict[str, Any], **top: Any) -> bytes:
    return json.dumps({**BASE, "cards": list(cards), **top}).encode()


def card(uuid: str = "GPU-a", **groups: Any) -> dict[str, Any]:
    return {"identity": {"uuid": uuid}, **groups}


def test_groups_go_where_they_change_together() -> None:
    entry = card(firmware={"vbios": "1"}, remap={"pending": False}, pcie={"gen": 5}, future={"x": [1.50]})
    parsed = parse_document(encode(entry))
    (only,) = parsed.cards
    assert only.static == '{"identity":{"uuid":"GPU-a"},"firmware":{"vbios":"1"}}'
    assert only.memory == '{"remap":{"pending":false}}'
    assert json.loads(parsed.live)["cards"] == [{"pcie": {"gen": 5}, "future": {"x": [1.50]}}]
    assert "1.5" in parsed.live


def test_live_keys_of_the_host_do_not_make_new_host_facts() -> None:
    first = parse_document(encode(host={"kernel": "5.15", "uptime_s": 1.0, "log": []}))
    second = parse_document(encode(host={"kernel": "5.15", "uptime_s": 9.0, "log": []}))
    assert first.host == second.host == '{"kernel":"5.15"}'
    assert first.host_digest == second.host_digest
    assert first.digest != second.digest


def test_a_document_without_host_has_no_host_facts() -> None:
    assert parse_document(encode(reach="unreachable")).host is None


def test_layout_and_time_and_node_are_not_content() -> None:
    document = {**BASE, "cards": [card()], "host": {"os": "a  b"}}
    other = {**document, "node": "gpu-2", "observed_at": "2026-02-01T00:00:00+01:00"}
    digests = {
        parse_document(json.dumps(document).encode()).digest,
        parse_document(json.dumps(document, indent=3).encode()).digest,
        parse_document(json.dumps(other, separators=(",", ":")).encode()).digest,
    }
    assert len(digests) == 1
    assert parse_document(json.dumps({**document, "host": {"os": "a b"}}).encode()).digest not in digests


@pytest.mark.parametrize("key", ["reach", "reach_detail", "reader", "simulated", "pool", "later_version"])
def test_everything_else_is_content(key: str) -> None:
    value = {"reader": {"name": "xml"}, "simulated": True, "reach": "no_python"}.get(key, "x")
    assert parse_document(encode(**{key: value})).digest != parse_document(encode()).digest


def test_readings_differ_by_node_card_seat_and_memory() -> None:
    def digest(
        node: str = "gpu-1", uuid: str = "GPU-a", pci: str = "0000:01:00.0", pending: bool = False
    ) -> str:
        entry = card(uuid, seat={"pci": pci}, remap={"pending": pending})
        return parse_document(encode(entry), node=node).cards[0].reading_digest

    same = {digest(), digest()}
    others = {digest(node="gpu-2"), digest(uuid="GPU-b"), digest(pci="0000:02:00.0"), digest(pending=True)}
    assert len(same) == 1
    assert len(others - same) == 4


def test_entries_that_did_not_read_well_are_listed_apart() -> None:
    parsed = parse_document(
        encode(
            {
                "seat": {"pci": "0000:01:00.0"},
                "read": {"outcome": "timed_out", "detail": "\x1b[2Jten seconds"},
            },
            card("GPU-a"),
            card("GPU-b", read={"outcome": "lost"}),
        )
    )
    assert [entry.uuid for entry in parsed.cards] == ["GPU-a", "GPU-b"]
    troubles = msgspec.json.decode(parsed.troubles or "", type=Troubles)
    assert troubles.cards == {"1": "lost"}
    assert troubles.seats == [("0000:01:00.0", "timed_out", "�[2Jten seconds")]
    assert list(json.loads(parsed.live)["unidentified"]) == ["0"]
    assert parse_document(encode(card())).troubles is None


def test_node_and_time_that_were_given_win_and_are_noted() -> None:
    given_at = parse_iso("2026-03-01T00:00:00Z", what="--at")
    parsed = parse_document(encode(), node="gpu-9", at=given_at)
    assert (parsed.node, parsed.at, parsed.document_at) == ("gpu-9", given_at, parse_iso(AT, what="t"))
    assert parsed.notes == (
        "the document says 2026-01-01T00:00:00Z; it was taken in as of 2026-03-01T00:00:00Z, as asked",
        "the document names node «gpu-1»; it was taken in as «gpu-9»",
    )
    plain = parse_document(encode())
    assert (plain.document_at, plain.notes) == (None, ())


def test_the_first_and_the_last_time_are_taken() -> None:
    for text in ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"):
        assert json.loads(parse_document(encode(observed_at=text)).live).get("document") is None


def test_numbers_up_to_the_bound_are_taken_and_digits_in_text_are_no_number() -> None:
    entry = card(
        pcie={"gen": 2**64 - 1, "width": 16},
        power={"draw_w": 1e15},
        later=[1.5e10, 1e-300, "9" * 400, ":1e99,1e99", {"7" * 30: 0}],
    )
    assert len(parse_document(encode(entry)).cards) == 1


def test_a_card_shown_twice_costs_only_its_second_entry() -> None:
    parsed = parse_document(
        encode(card("GPU-a"), card("GPU-b"), card("GPU-a", seat={"pci": "0000:03:00.0"}), card("GPU-c"))
    )
    assert [entry.uuid for entry in parsed.cards] == ["GPU-a", "GPU-b", "GPU-c"]
    assert [entry.pci for entry in parsed.cards] == [None] * 3
    troubles = msgspec.json.decode(parsed.troubles or "", type=Troubles)
    assert troubles.cards == {}
    assert troubles.seats == [("0000:03:00.0", DUPLICATE, "cards[0] has the same UUID GPU-a")]
    assert parsed.notes == ("cards[2] was not taken for a card: cards[0] has the same UUID GPU-a",)
    assert list(json.loads(parsed.live)["unidentified"]) == ["2"]


NO_ANSWER = [
    "",
    "0",
    "000000000",
    " ",
    "N/A",
    "[N/A]",
    "n/a ",
    "Unknown",
    "[Unknown Error]",
    "[Not Supported]",
]


@pytest.mark.parametrize("text", NO_ANSWER)
def test_a_serial_that_says_none_is_no_serial(text: str) -> None:
    entry = {"identity": {"uuid": "GPU-a", "serial": text}}
    (only,) = parse_document(encode(entry)).cards
    assert only.serial is None
    assert json.loads(only.static)["identity"]["serial"] == text


@pytest.mark.parametrize("text", [*NO_ANSWER, "GPU-00000000-0000-0000-0000-000000000000"])
def test_a_uuid_that_says_none_makes_the_entry_one_without_uuid(text: str) -> None:
    parsed = parse_document(encode(card(text), card(text), card("GPU-b")))
    assert [entry.uuid for entry in parsed.cards] == ["GPU-b"]
    assert list(json.loads(parsed.live)["unidentified"]) == ["0", "1"]
    assert parsed.notes == ()


def test_a_serial_that_only_looks_odd_is_kept() -> None:
    (only,) = parse_document(encode({"identity": {"uuid": "GPU-a", "serial": "0320-0"}})).cards
    assert only.serial == "0320-0"


DEEP = b'{"a":' * 40 + b"1" + b"}" * 40
REFUSED = [
    (b"", "it is not JSON"),
    (b"[]", "Expected `object`, got `array`"),
    (b"{}", "missing required field `schema`"),
    (b"\xff\xfe", "it is not UTF-8 at byte 0"),
    (encode() + b"}", "it is not JSON"),
    (encode(schema="facts/2"), "Invalid enum value 'facts/2'"),
    (encode(schema="\x1b[31mred"), r"Invalid enum value '\\x1b\[31mred'"),
    (b" " * (MAX_BYTES + 1), r"it has 8,388,609 bytes; 8,388,608 is the limit"),
    (encode(host={"x": json.loads(DEEP)}), f"it is nested more than {MAX_DEPTH} levels deep"),
    (b"[" * 5_000_000, "it does not fit|it is not JSON"),
    (b"[" * 100_000 + b"]" * 100_000, "nested more than"),
    (b'{"x":"' + b'\\"' * 1000 + b"[" * 1000 + b"}", "it is not JSON"),
    (encode(card(power={"draw_w": float("nan")})), "invalid character"),
    (encode(card(power={"draw_w": float("inf")})), "invalid character"),
    (encode(card(power={"draw_w": 7})).replace(b": 7", b": 1e999"), r"out of range - at `\$.cards\[0\]"),
    (encode(card(pcie={"gen": "4"})), r"got `str` - at `\$.cards\[0\].pcie.gen`"),
    (encode(card(pcie={"gen": True})), r"got `bool` - at `\$.cards\[0\].pcie.gen`"),
    (encode(card(pcie={"gen": 1.5})), r"got `float` - at `\$.cards\[0\].pcie.gen`"),
    (encode(card(pcie={"gen": 0})).replace(b'"gen": 0', b'"gen": ' + b"9" * 5000), "out of range"),
    (encode(card(health={"recovery": None})), r"got `null` - at `\$.cards\[0\].health.recovery`"),
    (encode(card(ecc=[])), r"got `array` - at `\$.cards\[0\].ecc`"),
    (encode(card(power={"draw_w": 10**16})), r"Expected `float` <= 1000000000000000.0 - at `.*power"),
    (encode(card(temperature={"gpu_c": -1e300})), r"Expected `float` >= -1000000000000000.0 - at `.*temp"),
    (encode(host={"log": [{"text": "Xid", "at": 2e15}]}), r"Expected `float` <= 1000000000000000.0"),
    (encode(card("GPU-\x1b[2J")), r"cards\[0\].identity.uuid «GPU-�\[2J» is not at most 128 printable"),
    (encode(card("G" * 129)), r"cards\[0\].identity.uuid «GGG"),
    (encode(card(seat={"pci": "a\nb"})), r"cards\[0\].seat.pci «a�b»"),
    (encode(card(read={"outcome": "\u202e"})), r"cards\[0\].read.outcome"),
    (encode({"identity": {"serial": "\0"}}), r"cards\[0\].identity.serial"),
    (encode(host={"boot_id": "\t"}), "boot_id «�»"),
    (encode(reach="x" * 200), "reach «xxx"),
    (encode(reach_detail="a\0b"), "reach_detail is longer than 4096 characters or holds a NUL"),
    (encode(reach_detail="a" * 5000), "reach_detail is longer"),
    (encode(*({} for _ in range(MAX_CARDS + 1))), "it lists 257 cards; 256 is the limit"),
    (encode(expected_cards=10**12), "expected_cards is 1000000000000, not 0 to 256"),
    (encode(expected_cards=-1), "expected_cards is -1"),
    (encode(node=""), "the node name «» is not 1 to 253 printable characters"),
    (encode(node="a" * 254), "the node name «aaa"),
    (encode(node="gpu\x07"), "the node name «gpu�»"),
    (encode(node=" gpu"), "the node name « gpu»"),
    (encode(node=7), r"got `int` - at `\$.node`"),
    (encode(observed_at="yesterday"), "its time «yesterday» is not ISO 8601 with a time zone"),
    (encode(observed_at="2026-01-01T00:00:00"), "is not ISO 8601 with a time zone"),
    (encode(observed_at="1969-12-31T23:59:59Z"), "from 1970 to 9999 in UTC"),
    (encode(observed_at="0001-01-01T00:00:00+23:59"), "from 1970 to 9999"),
    (encode(observed_at="9999-12-31T23:59:59.999-12:00"), "from 1970 to 9999"),
    (encode(observed_at="9999-12-31T23:59:59.999999-00:01"), "from 1970 to 9999"),
    (b'{"schema":"facts/1","node":"\\ud800","observed_at":"' + AT.encode() + b'"}', "it is not JSON"),
    (encode(host={"x": 0}).replace(b'"x": 0', b'"x": "\xff"'), "it is not UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "why"), REFUSED, ids=range(len(REFUSED)))
def test_a_document_that_cannot_be_believed_is_refused_with_its_place(data: bytes, why: str) -> None:
    with pytest.raises(BadDocument, match=why) as caught:
        parse_document(data)
    assert caught.value.happened.startswith("A facts document cannot be taken in: ")
    assert caught.value.happened.isprintable()
    assert "other documents are not affected" in caught.value.means
    assert caught.value.remedy.startswith("Read the node again")
    assert caught.value.exit == Exit.MISUSE


def test_a_name_given_on_the_command_line_is_checked_too() -> None:
    with pytest.raises(BadDocument, match="the node name"):
        parse_document(encode(), node="\x1b]0;owned\x07")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=25,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    return 0


@given(JSON, st.integers(min_value=0, max_value=25))
def test_depth_is_measured_without_parsing(value: object, extra: int) -> None:
    for level in range(extra):
        value = [value] if level % 2 else {'"[{\\': value}
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    if depth(value) > MAX_DEPTH:
        with pytest.raises(BadDocument, match="nested more than"):
            compact(data)
    else:
        assert json.loads(compact(data)) == json.loads(data)


@given(JSON, JSON, JSON, st.sampled_from(["host", "reader", "cards", "reach", "identity", "ecc", "new"]))
@settings(max_examples=300)
def test_whatever_a_node_sends_is_refused_or_kept_whole(one: Any, two: Any, three: Any, key: str) -> None:
    for document in (
        {**BASE, key: one, "more": two},
        {**BASE, "cards": [card(**{"x": one, key: two}), {key: three}]},
    ):
        data = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
        try:
            parsed = parse_document(data)
        except BadDocument:
            continue
        taken = msgspec.json.decode(data, type=FactsDocument)
        assert len(parsed.cards) + len(json.loads(parsed.live).get("unidentified", {})) == len(taken.cards)
        for entry in parsed.cards:
            msgspec.json.decode(entry.static, type=Card)
            msgspec.json.decode(entry.memory, type=Card)


@given(st.binary(max_size=300))
def test_bytes_that_are_no_document_are_refused(data: bytes) -> None:
    with pytest.raises(BadDocument):
        parse_document(data)


@given(st.data())
@settings(max_examples=150)
def test_a_document_damaged_anywhere_never_does_worse_than_be_refused(data: st.DataObject) -> None:
    whole = encode(card(ecc={"aggregate": {"total_corrected": 1}}), host={"kernel": "5"})
    position = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:position] + data.draw(st.binary(max_size=3)) + whole[position + 1 :]
    with contextlib.suppress(BadDocument):
        assert parse_document(damaged).size == len(damaged)
