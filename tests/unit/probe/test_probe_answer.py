"""What a node answers is untrusted: nothing in it can do more than spoil the node's own record."""

from __future__ import annotations

import base64
import json
import os
import stat
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from gpu_probe import frame
from hypothesis import given, settings
from hypothesis import strategies as st
from node_double import CHECKOUT, imported


def controller_module(name: str) -> ModuleType:
    return imported(name, CHECKOUT / "plugins/plugin_utils" / f"{name}.py")


answer = controller_module("answer")
facts_document = controller_module("facts_document")
spool = controller_module("spool")

SOUND: dict[str, Any] = {
    "schema": "probe/1",
    "simulated": False,
    "probe": {"version": "0.1.0", "tier": "passive", "took_ms": 9},
    "host": {"nvml_state": "ok"},
    "cards": [{"identity": {"uuid": "GPU-1"}}],
}


def framed(document: Any) -> str:
    return frame.encode(document).decode()


def packed(body: bytes) -> str:
    return base64.b64encode(zlib.compress(body)).decode()


def refusal(stdout: str) -> str:
    with pytest.raises(answer.Unreadable) as caught:
        answer.parse(stdout)
    return str(caught.value)


def test_an_answer_is_found_between_banners_and_noise() -> None:
    noise = "Welcome to gpu-17\nMUSTER-ANSWER/1 is spoken here\n"
    assert answer.parse(noise + framed(SOUND) + "\nlogout\x07") == SOUND


def test_carriage_returns_of_a_terminal_do_not_matter() -> None:
    assert answer.parse(framed(SOUND).replace("\n", "\r\n")) == SOUND


def test_the_last_of_several_answers_is_taken() -> None:
    assert answer.parse(framed({**SOUND, "cards": []}) + framed(SOUND)) == SOUND


def test_no_answer_a_short_one_and_an_altered_one_are_told_apart() -> None:
    text = framed(SOUND)
    assert refusal("bash: python3: command not found") == "the node's output holds no answer"
    assert refusal(text[:-20]).startswith("the answer was cut off after")
    middle = len(text) // 2 + 30
    altered = text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1 :]
    assert refusal(altered) == "the answer was altered on its way"
    assert refusal("MUSTER-ANSWER/1 999999999 00000000\n") == "the answer is larger than 16777216 bytes"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", "not a probe/1 document"),
        (b"[]", "not a probe/1 document"),
        (b'"text"', "not a probe/1 document"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b'{"a": 1e999}', "beyond what a float can hold"),
        (b'{"a": 9223372036854775808}', "beyond 64 bits"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "beyond 64 bits"),
        (b'{"a": 1, "a": 2}', "a key twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (json.dumps({**SOUND, "cards": {}}).encode(), "cards is missing or of the wrong type"),
        (json.dumps({**SOUND, "host": None}).encode(), "host is missing or of the wrong type"),
        (json.dumps({**SOUND, "simulated": "no"}).encode(), "simulated is missing or of the wrong type"),
        (json.dumps({**SOUND, "cards": [[]]}).encode(), "a card in the answer is not an object"),
        (json.dumps({**SOUND, "cards": [{}] * 129}).encode(), "more than 128 cards"),
        (
            json.dumps({**SOUND, "host": {"a": json.loads("[" * 20 + "]" * 20)}}).encode(),
            "deeper than 12 levels",
        ),
    ],
)
def test_a_body_that_is_not_a_probe_document_is_refused(body: bytes, said: str) -> None:
    with pytest.raises(answer.Unreadable, match=said):
        answer.decode(packed(body))


def test_fifty_megabytes_are_not_unpacked() -> None:
    bomb = packed(b'{"a": "' + b"x" * 50_000_000 + b'"}')
    assert len(bomb) < 100_000
    with pytest.raises(answer.Unreadable, match="unpacks to more than 8388608 bytes"):
        answer.decode(bomb)


@pytest.mark.parametrize("text", ["!!!", "AAAA", "", "ÄÖÜ"])
def test_text_that_is_not_packed_is_refused(text: str) -> None:
    with pytest.raises(answer.Unreadable):
        answer.decode(text)


def test_escapes_and_lone_surrogates_are_taken_out_of_keys_and_values() -> None:
    body = json.dumps({**SOUND, "host": {"\x1b[2J": "\x1b]0;owned\x07", "b": "\ud800"}}).encode()
    cleaned = answer.decode(packed(body))
    assert cleaned["host"] == {"\ufffd[2J": "\ufffd]0;owned\ufffd", "b": "\ufffd"}


def test_what_a_node_says_on_stderr_is_short_and_harmless() -> None:
    said = answer.excerpt("line\n\x1b[31mred\x1b[0m\u202e " * 10_000)
    assert len(said) <= 500
    assert said.isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None)
@given(
    st.fixed_dictionaries({}, optional={name: JSON | st.just(SOUND[name]) for name in SOUND} | {"node": JSON})
)
def test_whatever_json_a_node_answers_yields_a_document_of_its_own_or_a_refusal(said: dict[str, Any]) -> None:
    try:
        parsed = answer.decode(packed(json.dumps(said).encode()))
    except answer.Unreadable:
        return
    document = facts_document.read(facts_document.envelope("gpu-17", 1_700_000_000_123), parsed)
    assert (document["node"], document["observed_at"]) == ("gpu-17", "2023-11-14T22:13:20.123Z")
    assert set(document) == {
        "schema", "node", "observed_at", "reach", "reach_detail", "simulated", "reader", "host", "cards",
        "expected_cards", "pool", "non_production",
    }  # fmt: skip
    json.dumps(document, allow_nan=False, ensure_ascii=False).encode("utf-8")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_whatever_bytes_a_node_prints_end_in_an_answer_or_a_refusal(
    noise: bytes, start: int, length: int
) -> None:
    text = framed(SOUND)
    stdout = text[:start] + noise.decode("utf-8", "replace") + text[start + length :]
    try:
        parsed = answer.parse(stdout)
    except answer.Unreadable:
        return
    assert parsed == SOUND


def test_a_document_is_written_durably_and_for_its_owner_alone(tmp_path: Path) -> None:
    known = facts_document.envelope("rack/7 ü", 1_700_000_000_123, 8, "train")
    document = facts_document.not_read(known, "unreachable", "no route", "0.1.0")
    path = Path(spool.write(str(tmp_path / "spool"), document, 1_700_000_000_123))
    assert path.parent == tmp_path / "spool/incoming"
    assert path.name.startswith("rack%2F7%20%C3%BC-1700000000123-")
    assert json.loads(path.read_text()) == document
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700
    assert os.listdir(tmp_path / "spool/tmp") == []


@pytest.mark.parametrize("node", ["../../etc/passwd", "..", "a" * 400, "-rf", "\x00"])
def test_a_hostile_node_name_stays_inside_the_spool(tmp_path: Path, node: str) -> None:
    document = facts_document.not_read(facts_document.envelope(node, 0), "unreachable", "", "0.1.0")
    path = Path(spool.write(str(tmp_path), document, 0))
    assert path.resolve().parent == (tmp_path / "incoming").resolve()


@pytest.mark.parametrize(
    ("chosen", "environment", "expected"),
    [
        ("/a", {"MUSTER_SPOOL": "/b"}, "/a"),
        (None, {"MUSTER_SPOOL": "/b", "XDG_STATE_HOME": "/c"}, "/b"),
        (None, {"XDG_STATE_HOME": "/c"}, "/c/muster/spool"),
    ],
)
def test_the_spool_is_the_chosen_one_then_the_environments(
    chosen: str | None, environment: dict[str, str], expected: str
) -> None:
    assert spool.root(chosen, environment) == expected
