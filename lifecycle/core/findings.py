"""Findings and verdicts: what the rules answer, and what the answers together mean.

The JSON shape is contract 6.3 (`verdicts/1`). A verdict is the worst action any finding asks for;
a missing reading never lowers it.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from typing import Literal

import msgspec

VERDICTS_SCHEMA = "verdicts/1"


class Action(IntEnum):
    """What a finding asks for, from nothing to the end; the order is the severity."""

    ok = 0
    unknown = 1
    watch = 2
    reset = 3
    reboot = 4
    quarantine = 5
    rma = 6
    retire = 7


ActionName = Literal["ok", "unknown", "watch", "reset", "reboot", "quarantine", "rma", "retire"]


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One rule's answer about one card or node.

    id: stable over time for the same rule and subject. observed and threshold share `unit`.
    since and until: ISO 8601, the time the evidence covers. source: where the threshold comes from.
    """

    id: str
    rule: str
    enforce: Literal["observe", "act"]
    action: ActionName
    observed: int | float | str | None
    threshold: int | float | str | None
    unit: str
    since: str | None
    until: str | None
    reason: str
    remedy: str
    source: str


class CardVerdict(msgspec.Struct, frozen=True, gc=False):
    """The verdict on one card; `missing` names needed readings that are unread, with their reasons."""

    uuid: str
    serial: str | None
    name: str | None
    node: str
    pci: str | None
    state: str
    verdict: ActionName
    observed_at: str | None
    stale: bool
    complete: bool
    missing: list[str]
    findings: list[Finding]
    simulated: bool = False


class NodeVerdict(msgspec.Struct, frozen=True, gc=False):
    """The verdict on a node: findings that belong to driver, kernel, cooling or reach, not to a card."""

    node: str
    verdict: ActionName
    findings: list[Finding]
    observed_at: str | None = None
    reach: str = "ok"
    pool: str | None = None
    simulated: bool = False


class PolicyStamp(msgspec.Struct, frozen=True):
    """Which policy judged: its name and the sha256 of its text."""

    name: str
    sha256: str


class Verdicts(msgspec.Struct, frozen=True):
    """The document `judge --json` prints."""

    schema: Literal["verdicts/1"]
    as_of: str
    policy: PolicyStamp
    engine: str
    cards: list[CardVerdict]
    nodes: list[NodeVerdict]


def finding_id(rule: str, subject: str) -> str:
    """A short stable id, so that the same trouble keeps its name from sweep to sweep."""
    return hashlib.sha256(f"{rule}\n{subject}".encode()).hexdigest()[:12]
