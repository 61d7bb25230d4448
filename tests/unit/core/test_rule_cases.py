"""Every case under tests/cases/rules: a small world in a file, and what the judge must say about it.

A case says `about` (why it exists), the world (`host`, `node`, `cards`, `as_of`) and what it expects:
`verdicts` by card or `node`, `findings` field by field (`says` and `does` are parts of reason and remedy),
`silent` (rules that must not speak) and `missing` by card.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import worlds
import yaml

from lifecycle.core.findings import Finding
from lifecycle.core.judge import judge_node

CASES = Path(__file__).resolve().parents[2] / "cases" / "rules"
FILES = sorted(CASES.glob("*/*.yml"))


def judged(case: dict[str, Any]) -> tuple[dict[str, str], list[tuple[str, Finding]], dict[str, list[str]]]:
    cards = [worlds.card(i, **said) for i, said in enumerate(case.get("cards", [{}]), start=1)]
    history = worlds.node(cards, host=case.get("host"), **case.get("node", {}))
    if case.get("host", {}) is None:
        history.host = None
    node, found = judge_node(history, worlds.POLICY, worlds.ms(case.get("as_of", worlds.AS_OF_TEXT)))
    verdicts = {"node": node.verdict, **{one.uuid: one.verdict for one in found}}
    findings = [("node", finding) for finding in node.findings]
    findings += [(one.uuid, finding) for one in found for finding in one.findings]
    for one in found:
        named = {text.split(":")[0] for text in one.missing}
        # These are also named where volatile counters, or page retirement, stand in for them.
        assert not named & NEEDED - STOOD_IN_FOR or not one.complete, "complete and missing agree"
        assert one.complete or named & NEEDED, "complete and missing agree"
    for _, finding in findings:
        assert not BADLY_SAID.search(f"{finding.reason} {finding.remedy}"), finding
    return verdicts, findings, {one.uuid: one.missing for one in found}


# A blank left for the reader to fill in, or one of something in the plural.
BADLY_SAID = re.compile(
    r"<[a-z]+>|(?<![\d.:/-])1 (uncorrected |memory )?(ECC )?(cards|errors|days|times|NVIDIA GPUs)\b"
)


STOOD_IN_FOR = {"ecc.aggregate.corrected", "ecc.aggregate.uncorrected", "remap.failure"}
NEEDED = {
    "modes.ecc_current",
    "ecc.aggregate",
    *STOOD_IN_FOR,
    "temperature.gpu_c",
    "health.recovery",
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_judge_says_what_the_case_expects(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    expect = case["expect"]
    verdicts, findings, missing = judged(case)
    for subject, verdict in expect["verdicts"].items():
        assert verdicts[subject] == verdict, findings
    for wanted in expect.get("findings", []):
        check(wanted, findings)
    spoke = {finding.rule for _, finding in findings}
    assert not spoke & set(expect.get("silent", [])), findings
    for subject, names in expect.get("missing", {}).items():
        assert missing[subject] == names


def check(wanted: dict[str, Any], findings: list[tuple[str, Finding]]) -> None:
    matching = [f for whose, f in findings if whose == wanted["whose"] and f.rule == wanted["rule"]]
    assert matching, f"{wanted['rule']} did not speak on {wanted['whose']}: {findings}"
    finding = matching[0]
    for key, value in wanted.items():
        if key in ("whose", "says", "does"):
            continue
        assert getattr(finding, key) == value, finding
    for part in wanted.get("says", []):
        assert part in finding.reason
    for part in wanted.get("does", []):
        assert part in finding.remedy
    assert finding.source


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_tests_the_rule_it_is_filed_under(path: Path) -> None:
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert case["about"].endswith(".")
    rule, expect = path.parent.name, case["expect"]
    if path.stem.startswith("fires"):
        assert rule in [finding["rule"] for finding in expect["findings"]]
    elif path.stem.startswith("silent"):
        assert rule in expect["silent"]
    else:
        assert path.stem.startswith("unread"), "a case fires, stays silent, or lacks the reading"
        assert rule in expect.get("silent", []) or rule in [f["rule"] for f in expect["findings"]]
