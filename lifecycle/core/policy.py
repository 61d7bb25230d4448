"""The policy: which rules judge, with which numbers, what they ask for, and where the numbers come from.

A policy is checked whole when it is read: a misspelt key, an unknown rule, a number without its unit
or in another unit is an error that names the place and the nearest right name. Nothing is guessed and
nothing has a default in code: a rule the policy does not name is an error too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from lifecycle.core.errors import BadPolicy
from lifecycle.core.findings import Action, ActionName, PolicyStamp
from lifecycle.core.quantities import BadQuantity, Threshold
from lifecycle.core.rules import BY_ID, RULES
from lifecycle.core.rules.base import CardCheck, Enforce, NodeCheck, Rule, RuleSettings, Sourced, model_key
from lifecycle.core.rules.reading import NEEDS

POLICY_SCHEMA = "policy/1"
# Rules that still look at a card whose life has ended (retired, disposed).
_FINAL_RULES = frozenset({"retired-card-seen"})


@dataclass(frozen=True, slots=True)
class Policy:
    """A checked policy, compiled: rules by id, and the enabled ones paired with their checks, in order."""

    name: str
    sha256: str
    title: str
    needs: frozenset[str]
    rules: Mapping[str, RuleSettings]
    card_rules: tuple[tuple[RuleSettings, CardCheck], ...]
    final_rules: tuple[tuple[RuleSettings, CardCheck], ...]
    node_rules: tuple[tuple[RuleSettings, NodeCheck], ...]

    def enabled(self, rule: str) -> RuleSettings | None:
        settings = self.rules[rule]
        return settings if settings.enabled else None

    @property
    def stamp(self) -> PolicyStamp:
        return PolicyStamp(name=self.name, sha256=self.sha256)


def parse_policy(mapping: object, *, name: str, sha256: str) -> Policy:
    """Check and compile a policy as read from YAML. name: what errors call it. Raises BadPolicy."""
    reader = _Reader(name)
    top = reader.table(mapping, "", ("schema", "name", "title", "needs", "rules"))
    reader.one_of(top.get("schema"), "schema", (POLICY_SCHEMA,))
    wanted = reader.table(top.get("rules"), "rules", tuple(BY_ID))
    rules: dict[str, RuleSettings] = {}
    for rule in RULES:
        if rule.id not in wanted:
            reader.bad(
                "rules",
                f"the rule «{rule.id}» is not there",
                "Add it, with `enabled: false` to switch it off.",
            )
        rules[rule.id] = _rule(reader, rule, wanted[rule.id])
    cards = [
        (rules[rule.id], rule.card) for rule in RULES if rule.card is not None and rules[rule.id].enabled
    ]
    nodes = [
        (rules[rule.id], rule.node) for rule in RULES if rule.node is not None and rules[rule.id].enabled
    ]
    return Policy(
        name=reader.text(top.get("name"), "name"),
        sha256=sha256,
        title=reader.text(top.get("title", ""), "title"),
        needs=_needs(reader, top.get("needs")),
        rules=rules,
        card_rules=tuple(cards),
        final_rules=tuple(pair for pair in cards if pair[0].rule in _FINAL_RULES),
        node_rules=tuple(nodes),
    )


def _needs(reader: _Reader, value: object) -> frozenset[str]:
    table = reader.table(value, "needs", ("readings", "source"))
    reader.source(table.get("source"), "needs")
    readings = table.get("readings")
    if not isinstance(readings, list):
        reader.bad("needs.readings", "it is not a list", f"List some of: {', '.join(NEEDS)}.")
    return frozenset(reader.one_of(reading, "needs.readings", tuple(NEEDS)) for reading in readings)


_ACTIONS = tuple(action.name for action in Action if action is not Action.ok)


def _rule(reader: _Reader, rule: Rule, value: object) -> RuleSettings:
    place = f"rules.{rule.id}"
    keys = ("enabled", "enforce", "action", "source", "thresholds", "actions", "models")
    table = reader.table(value, place, keys)
    enabled = table.get("enabled", True)
    if not isinstance(enabled, bool):
        reader.bad(
            f"{place}.enabled", f"«{str(enabled)[:40]}» is neither true nor false", "Write true or false."
        )
    source = reader.source(table.get("source"), place)
    numbers = _numbers(reader, rule, table.get("thresholds", {}), f"{place}.thresholds", source)
    for key in rule.thresholds:
        if key not in numbers:
            example = rule.thresholds[key].unit.example
            reader.bad(f"{place}.thresholds", f"«{key}» is not there", f"Add it, like «{key}: {example}».")
    return RuleSettings(
        rule=rule.id,
        enabled=enabled,
        enforce=cast("Enforce", reader.one_of(table.get("enforce"), f"{place}.enforce", ("observe", "act"))),
        action=cast("ActionName", reader.one_of(table.get("action"), f"{place}.action", _ACTIONS)),
        source=source,
        numbers=numbers,
        actions=_actions(reader, rule, table.get("actions", {}), f"{place}.actions"),
        models=_models(reader, rule, table.get("models", []), f"{place}.models"),
    )


def _numbers(reader: _Reader, rule: Rule, value: object, place: str, source: str) -> dict[str, Sourced]:
    table = reader.table(value, place, tuple(rule.thresholds))
    return {key: _number(reader, rule.thresholds[key], table[key], f"{place}.{key}", source) for key in table}


def _number(reader: _Reader, threshold: Threshold, value: object, place: str, source: str) -> Sourced:
    if isinstance(value, Mapping):
        table = reader.table(value, place, ("value", "source"))
        value, source = table.get("value"), reader.source(table.get("source"), place)
    try:
        return Sourced(threshold.parse(value), source)
    except BadQuantity as bad:
        unit = threshold.unit
        reader.bad(place, str(bad), f"Give {unit.name}, like «{unit.example}».")


def _actions(reader: _Reader, rule: Rule, value: object, place: str) -> dict[str, ActionName]:
    table = reader.table(value, place, rule.actions)
    for key in rule.actions:
        if key not in table:
            reader.bad(
                place, f"«{key}» is not there", f"Say which action it asks for: {', '.join(_ACTIONS)}."
            )
    return {key: cast("ActionName", reader.one_of(table[key], f"{place}.{key}", _ACTIONS)) for key in table}


def _models(reader: _Reader, rule: Rule, value: object, place: str) -> dict[str, Mapping[str, Sourced]]:
    if not isinstance(value, list):
        reader.bad(
            place, "it is not a list", "Give a list of entries with `names`, `thresholds` and `source`."
        )
    models: dict[str, Mapping[str, Sourced]] = {}
    for index, entry in enumerate(value):
        here = f"{place}[{index}]"
        table = reader.table(entry, here, ("names", "thresholds", "source"))
        names = table.get("names")
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            reader.bad(f"{here}.names", "it is not a list of card names", "Name the models as NVML does.")
        source = reader.source(table.get("source"), here)
        numbers = _numbers(reader, rule, table.get("thresholds"), f"{here}.thresholds", source)
        for name in names:
            key = model_key(name)
            if key in models:
                reader.bad(f"{here}.names", f"«{name}» is named twice", "Name each model once.")
            models[key] = numbers
    return models


class _Reader:
    """Checks values of one policy; every complaint names the policy and the place in it."""

    def __init__(self, policy: str) -> None:
        self.policy = policy

    def bad(self, place: str, what: str, remedy: str) -> NoReturn:
        at = f", {place}" if place else ""
        raise BadPolicy(
            f"Policy «{self.policy}»{at}: {what}.",
            means="The policy was not loaded and nothing was judged.",
            remedy=remedy,
        )

    def table(self, value: object, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            found = "it is not there" if value is None else f"it is a {type(value).__name__}, not a mapping"
            self.bad(place, found, f"Give a mapping with the keys {_listed(keys)}.")
        for key in value:
            if key not in keys:
                self.unknown(place, str(key), keys)
        return value

    def unknown(self, place: str, word: str, known: tuple[str, ...]) -> NoReturn:
        self.bad(place, f"«{word[:60]}» is not known here", _suggest(word, known))

    def one_of(self, value: object, place: str, known: tuple[str, ...]) -> str:
        if value is None:
            self.bad(place, "it is not there", f"Write one of: {_listed(known)}.")
        if not isinstance(value, str) or value not in known:
            self.unknown(place, str(value), known)
        return value

    def text(self, value: object, place: str) -> str:
        if not isinstance(value, str):
            self.bad(
                place, "it is not text" if value is not None else "it is not there", "Write a line of text."
            )
        return value

    def source(self, value: object, place: str) -> str:
        if not isinstance(value, str) or not value.strip():
            self.bad(
                f"{place}.source",
                "it is not there",
                "Say where the number or the action comes from: a document, a capture, or who decided it.",
            )
        return " ".join(value.split())


def _suggest(word: str, known: Iterable[str]) -> str:
    names = tuple(known)
    if not names:
        return "Nothing can be set here: take it out."
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.5)
    return (f"Did you mean «{near[0]}»? " if near else "") + f"Known here: {_listed(names)}."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
