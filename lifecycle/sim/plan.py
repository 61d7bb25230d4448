"""The demo fleet's plan (fleet.json) and the models (models.json) as objects. Times are ages in months."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

_HERE = Path(__file__).parent
T = TypeVar("T")


class NodePlan(msgspec.Struct, frozen=True):
    """One node. `drivers` and `userspace` hold versions by age: the newest entry up to a time holds."""

    model: str
    cards: int
    drivers: dict[str, str]
    userspace: dict[str, str] = {}
    persistence: int = 1
    unreachable: bool = False
    missing_functions: list[str] = []


class Move(msgspec.Struct, frozen=True):
    """Two seats that exchanged their cards, or one whose card was replaced, at an age."""

    kind: str
    age: int
    seats: list[str]


class CardPlan(msgspec.Struct, frozen=True):
    """What befell one card, by age: increments of error counts, and states that hold from then on."""

    story: str
    corrected: dict[str, int] = {}
    uncorrected: dict[str, int] = {}
    remapped: dict[str, list[int]] = {}
    histogram: dict[str, dict[str, int]] = {}
    retired_single: dict[str, int] = {}
    recovery: dict[str, int] = {}


class SeatPlan(msgspec.Struct, frozen=True):
    """What is wrong with a seat now."""

    story: str
    faults: dict[str, Any] = {}
    absent: bool = False


class Heat(msgspec.Struct, frozen=True):
    """Slots of a node that are hot now and were in a series of readings `hours_ago`."""

    story: str
    node: str
    slots: list[int]
    celsius: tuple[int, int]
    hours_ago: float
    samples: int
    every_s: int


class LogEvent(msgspec.Struct, frozen=True):
    """A line of the kernel log."""

    node: str
    slot: int
    hours_ago: float
    text: str


class FleetPlan(msgspec.Struct, frozen=True):
    """Everything the generator is told."""

    months: int
    pools: dict[str, list[str]]
    nodes: dict[str, NodePlan]
    moves: list[Move]
    cards: dict[str, CardPlan]
    seats: dict[str, SeatPlan]
    heat: list[Heat]
    log: list[LogEvent]


@cache
def fleet_plan() -> FleetPlan:
    """The plan of the demo fleet."""
    return msgspec.json.decode((_HERE / "fleet.json").read_bytes(), type=FleetPlan)


@cache
def models() -> Mapping[str, Any]:
    """The content of models.json."""
    table: dict[str, Any] = json.loads((_HERE / "models.json").read_text(encoding="utf-8"))
    return table


def since(by_age: Mapping[str, T], age: int) -> T | None:
    """The newest entry at or before `age` months ago, or None where there is none yet."""
    passed = [int(key) for key in by_age if int(key) >= age]
    return by_age[str(min(passed))] if passed else None


def total(by_age: Mapping[str, int], age: int) -> int:
    """The sum of all increments up to `age` months ago."""
    return sum(count for key, count in by_age.items() if int(key) >= age)
