"""Every rule is whole: code, a page, three cases, a place in the default policy, and sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from lifecycle.adapters.policy_file import load_policy
from lifecycle.core.rules import BY_ID, RULES
from lifecycle.core.rules.base import Rule

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "rules"
CASES = ROOT / "tests" / "cases" / "rules"
SECTIONS = ("What it sees", "Why it matters", "How to confirm", "What to do", "Source")
OWNER = yaml.safe_load((ROOT / "policy" / "owner.yml").read_text(encoding="utf-8"))


def test_rule_ids_are_unique_and_readable() -> None:
    assert len(BY_ID) == len(RULES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id) for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_looks_at_a_card_or_a_node(rule: Rule) -> None:
    assert rule.card is not None or rule.node is not None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_has_a_page_with_all_sections(rule: Rule) -> None:
    text = (PAGES / f"{rule.id}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {rule.id}: ")
    parts = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n?)*)", text, flags=re.MULTILINE))
    assert tuple(parts) == SECTIONS
    assert all(len(body.strip()) > 10 for body in parts.values())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_page_names_every_threshold_and_special_case(rule: Rule) -> None:
    text = (PAGES / f"{rule.id}.md").read_text(encoding="utf-8")
    named = list(rule.thresholds) + [name for name in rule.actions if rule.id != "recovery-action"]
    assert [name for name in named if f"`{name}`" not in text] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_has_a_case_that_fires_one_that_is_silent_and_one_unread(rule: Rule) -> None:
    stems = [path.stem for path in (CASES / rule.id).glob("*.yml")]
    for kind in ("fires", "silent", "unread"):
        assert any(stem.startswith(kind) for stem in stems), f"no case «{kind}»"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_default_policy_gives_every_number_its_own_source(rule: Rule) -> None:
    entry = OWNER["rules"][rule.id]
    assert len(entry["source"]) > 20
    for name, number in entry.get("thresholds", {}).items():
        assert isinstance(number, dict), f"{name} is a bare number"
        assert len(number["source"]) > 20
    for model in entry.get("models", []):
        assert len(model["source"]) > 20


def test_no_page_and_no_case_is_left_over() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(BY_ID)
    assert {path.name for path in CASES.iterdir()} == set(BY_ID)


def test_the_default_policy_is_the_owners_and_loads_by_its_name() -> None:
    policy = load_policy()
    assert policy.name == "owner"
    assert re.fullmatch(r"[0-9a-f]{64}", policy.sha256)
    assert policy.rules["ecc-monthly"].number("errors") == 100
    assert policy.rules["thermal-sustained"].number("limit") == 88
    assert all(settings.enabled for settings in policy.rules.values())
