"""Exit codes as cron sees them (contract 6.2)."""

from __future__ import annotations

import msgspec
import pytest

from lifecycle.core.errors import Exit
from lifecycle.core.findings import CardVerdict, Finding, NodeVerdict, PolicyStamp, Verdicts
from lifecycle.core.outcome import exit_code, unproven_nodes


def card(verdict: str) -> CardVerdict:
    raw = {
        "uuid": "GPU-1", "serial": None, "name": None, "node": "n", "pci": None, "state": "in_service",
        "observed_at": None, "stale": False, "complete": True, "missing": [], "findings": [],
    }  # fmt: skip
    return msgspec.convert({**raw, "verdict": verdict}, CardVerdict)


def verdicts(cards: list[str], nodes: list[str] = ()) -> Verdicts:  # type: ignore[assignment]
    return Verdicts(
        "verdicts/1",
        "2026-01-01T00:00:00Z",
        PolicyStamp("owner", "0"),
        "0",
        [card(v) for v in cards],
        [NodeVerdict(f"n{i}", v, []) for i, v in enumerate(nodes)],  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("cards", "nodes", "incomplete", "code"),
    [
        (["ok", "ok"], ["ok"], False, Exit.WELL),
        (["ok", "watch"], ["watch"], False, Exit.WELL),
        (["ok", "unknown"], [], False, Exit.INCOMPLETE),
        (["ok"], ["unknown"], False, Exit.INCOMPLETE),
        (["ok"], ["ok"], True, Exit.INCOMPLETE),
        ([], [], False, Exit.INCOMPLETE),
        (["unknown", "reset"], [], True, Exit.ACTION_NEEDED),
        (["ok"], ["reboot"], False, Exit.ACTION_NEEDED),
        (["retire"], [], False, Exit.ACTION_NEEDED),
    ],
)
def test_the_exit_code_follows_the_worst_verdict(
    cards: list[str], nodes: list[str], incomplete: bool, code: Exit
) -> None:
    assert exit_code(verdicts(cards, nodes), incomplete=incomplete) == code


def test_a_verdict_nobody_knows_is_treated_as_quarantine() -> None:
    strange = msgspec.structs.replace(
        verdicts(["ok"]), cards=[msgspec.structs.replace(card("ok"), verdict="melted")]
    )
    assert exit_code(strange) == Exit.ACTION_NEEDED


def finding(rule: str, action: str) -> Finding:
    raw = {
        "id": rule, "rule": rule, "enforce": "act", "action": action, "observed": 1, "threshold": 1,
        "unit": "", "since": None, "until": None, "reason": "", "remedy": "", "source": "",
    }  # fmt: skip
    return msgspec.convert(raw, Finding)


@pytest.mark.parametrize("rule", ["unread", "node-unread", "stale"])
def test_a_watched_node_of_which_something_is_unread_is_not_well(rule: str) -> None:
    node = NodeVerdict("n0", "watch", [finding("card-hung", "watch"), finding(rule, "unknown")])
    found = msgspec.structs.replace(verdicts(["ok"]), nodes=[node, NodeVerdict("n1", "ok", [])])
    assert unproven_nodes(found) == 1
    assert exit_code(found) == Exit.INCOMPLETE


def test_a_reset_is_asked_for_before_anything_unread() -> None:
    node = NodeVerdict("n0", "watch", [finding("unread", "unknown")])
    found = msgspec.structs.replace(verdicts(["reset"]), nodes=[node])
    assert (unproven_nodes(found), exit_code(found)) == (1, Exit.ACTION_NEEDED)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"complete": False}, Exit.INCOMPLETE),
        ({"stale": True}, Exit.INCOMPLETE),
        ({"complete": False, "state": "retired"}, Exit.WELL),
        ({"findings": [finding("unread", "unknown")]}, Exit.INCOMPLETE),
        ({}, Exit.WELL),
    ],
)
def test_a_watched_card_that_was_not_read_whole_is_not_well(changes: dict[str, object], code: Exit) -> None:
    one = msgspec.structs.replace(card("watch"), **changes)
    assert exit_code(msgspec.structs.replace(verdicts(["ok"]), cards=[one])) == code
