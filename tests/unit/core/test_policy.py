"""A policy is checked whole: each mistake is named with its place and the nearest right name."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from lifecycle.adapters.policy_file import load_policy, policy_directory
from lifecycle.core.errors import BadPolicy
from lifecycle.core.policy import Policy, parse_policy
from lifecycle.core.rules.base import model_key

OWNER: dict[str, Any] = yaml.safe_load((policy_directory() / "owner.yml").read_text(encoding="utf-8"))


def parse(mapping: object) -> Policy:
    return parse_policy(mapping, name="site", sha256="0" * 64)


def changed(place: str = "", value: object = None) -> dict[str, Any]:
    """The owner's policy with one value set at a dotted place."""
    mapping = copy.deepcopy(OWNER)
    if place:
        *path, last = place.split(".")
        table: Any = mapping
        for key in path:
            table = table[key]
        table[last] = value
    return mapping


def refusal(mapping: object) -> str:
    with pytest.raises(BadPolicy) as caught:
        parse(mapping)
    assert "nothing was judged" in str(caught.value)
    return str(caught.value)


ECC = "rules.ecc-monthly.thresholds.errors"
HEAT = "rules.thermal-sustained.thresholds."


def test_numbers_are_compiled_to_milliseconds_and_degrees() -> None:
    policy = parse(OWNER)
    heat = policy.rules["thermal-sustained"]
    assert (heat.number("limit"), heat.number("period"), heat.number("gap")) == (88, 900_000, 300_000)
    assert policy.rules["stale"].number("stale_after") == 35 * 86_400_000
    assert policy.rules["node-cooling"].number("share") == 0.5
    assert policy.stamp.name == "owner"


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (ECC, 100, ["rules.ecc-monthly.thresholds.errors", "«100» has no unit", "like «100 errors/30d»"]),
        (ECC, "100", ["«100» has no unit"]),
        (ECC, "100 errors/7d", ["«errors/7d» is not a unit of errors in 30 days", "«100 errors/30d»"]),
        (ECC, "-1 errors/30d", ["outside what errors in 30 days can be here"]),
        (ECC, "many errors/30d", ["is not a number with a unit"]),
        (ECC, True, ["a bool is not a number with a unit"]),
        (ECC, {"value": "100 errors/30d"}, ["thresholds.errors.source", "Say where the number"]),
        (HEAT + "limit", "190 °F", ["«°F» is not a unit of a temperature in °C", "like «88 °C»"]),
        (HEAT + "limit", "300 °C", ["outside what a temperature in °C can be here"]),
        (HEAT + "period", "15 °C", ["«°C» is not a unit of a duration", "like «15 min»"]),
        (HEAT + "period", "15 m", ["«m» is not a unit of a duration"]),
        (HEAT + "perod", "15 min", ["«perod» is not known here", "Did you mean «period»?"]),
        ("rules.ecc-montly", {}, ["Policy «site», rules", "Did you mean «ecc-monthly»?"]),
        ("rules.ecc-monthly.acton", "retire", ["«acton» is not known here", "Did you mean «action»?"]),
        ("rules.ecc-monthly.action", "retyre", ["rules.ecc-monthly.action", "Did you mean «retire»?"]),
        ("rules.ecc-monthly.action", "ok", ["«ok» is not known here"]),
        ("rules.ecc-monthly.enforce", "acts", ["Did you mean «act»?", "observe, act"]),
        ("rules.ecc-monthly.enabled", "yes please", ["neither true nor false"]),
        ("rules.ecc-monthly.source", " ", ["rules.ecc-monthly.source", "Say where the number"]),
        ("rules.ecc-monthly", None, ["it is not there"]),
        ("rules.card-lost.actions", {}, ["«repeated» is not there"]),
        ("rules.card-lost.actions.again", "rma", ["«again» is not known here"]),
        ("rules.card-missing.thresholds", {"days": "1 day"}, ["Nothing can be set here"]),
        ("rules.stale.thresholds", {}, ["«stale_after» is not there", "like «stale_after: 15 min»"]),
        ("needs.readings", ["ecc_counters"], ["Did you mean «ecc-counters»?"]),
        ("needs.readings", "recovery", ["needs.readings: it is not a list"]),
        ("schema", "policy/2", ["Did you mean «policy/1»?"]),
        ("name", 7, ["name: it is not text"]),
        ("thresholds", {}, ["«thresholds» is not known here"]),
    ],
)
def test_a_mistake_is_named_with_its_place_and_the_way_out(
    place: str, value: object, said: list[str]
) -> None:
    mapping = changed(place, value)
    text = refusal(mapping)
    assert [part for part in said if part not in text] == []


def test_a_rule_that_is_not_named_is_an_error_because_nothing_is_guessed() -> None:
    mapping = changed()
    del mapping["rules"]["unread"]
    assert "the rule «unread» is not there" in refusal(mapping)


@pytest.mark.parametrize("mapping", [None, [], "rules", 3, {}])
def test_what_is_no_policy_is_refused(mapping: object) -> None:
    assert "Policy «site»" in refusal(mapping)


def test_a_model_has_its_own_number_however_its_name_is_written() -> None:
    heat = parse(OWNER).rules["thermal-sustained"]
    assert heat.for_model("limit", "GeForce RTX 3090").number == 93
    assert "93 °C in captures" in heat.for_model("limit", "NVIDIA GeForce RTX 3090").source
    assert heat.for_model("limit", "NVIDIA GeForce RTX 3090 Ti").number == 88
    assert heat.for_model("limit", None).number == 88
    assert model_key("Tesla V100-SXM2-32GB") == "v100 sxm2 32gb"


def test_a_model_named_twice_is_refused() -> None:
    mapping = changed()
    models = mapping["rules"]["thermal-sustained"]["models"]
    models.append({"names": ["Geforce RTX-3090"], "thresholds": {"limit": "91 °C"}, "source": "A capture."})
    assert "«Geforce RTX-3090» is named twice" in refusal(mapping)


def test_a_number_without_a_source_of_its_own_has_the_rules() -> None:
    mapping = changed(ECC, "50 errors/30d")
    sourced = parse(mapping).rules["ecc-monthly"].numbers["errors"]
    assert sourced.number == 50
    assert sourced.source.startswith("The owner's rule")


def test_a_rule_that_is_switched_off_is_not_run() -> None:
    policy = parse(changed("rules.ecc-monthly.enabled", False))
    assert "ecc-monthly" not in [settings.rule for settings, _ in policy.card_rules]
    assert policy.enabled("ecc-monthly") is None


def test_a_policy_is_found_by_name_or_path(tmp_path: Path) -> None:
    (tmp_path / "strict.yml").write_text(yaml.safe_dump({**OWNER, "name": "strict"}), encoding="utf-8")
    assert load_policy("strict", tmp_path).name == "strict"
    assert load_policy(str(tmp_path / "strict.yml")).name == "strict"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("owners", ["There is no policy named «owners»", "Did you mean «owner»?"]),
        ("./none.yml", ["There is no policy file ./none.yml", "one of the names: owner"]),
    ],
)
def test_a_policy_that_is_not_there_is_named(name: str, said: list[str]) -> None:
    with pytest.raises(BadPolicy) as caught:
        load_policy(name)
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", "line 1"),
        ("name: x\nname: y\n", "the key «name» is given twice"),
        ("a: &a [1]\nb: [*a, *a]\n", "aliases are not allowed here"),
        ("!!python/object/apply:os.system ['true']", "not YAML that can be used"),
        ("\x00", "not YAML that can be used"),
        ("[" * 5000, "not YAML that can be used"),
    ],
)
def test_yaml_that_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "p.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadPolicy) as caught:
        load_policy(str(path))
    assert said in str(caught.value)


def test_a_file_too_large_for_a_policy_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.yml"
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(BadPolicy, match="larger than 1000000 bytes"):
        load_policy(str(path))
