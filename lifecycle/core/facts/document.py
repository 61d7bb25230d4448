"""The document `facts/1`."""

from __future__ import annotations

from typing import Literal

import msgspec

from lifecycle.core.facts.card import Card
from lifecycle.core.facts.host import Host
from lifecycle.core.facts.reading import Group

FACTS_SCHEMA = "facts/1"


class Reader(Group, frozen=True):
    """Who read the node: `probe`, `xml` …, its version and its tier."""

    name: str = "probe"
    version: str = ""
    tier: str = "passive"


class FactsDocument(msgspec.Struct, frozen=True):
    """One node, one time. `node` comes from the inventory, never from the node itself.

    `reach` is ok, unreachable, timed_out, no_python or unreadable; where it is not ok, `reach_detail`
    says why and there may be no host and no cards. `simulated` marks facts from the simulated library.
    `expected_cards`, `pool` and `non_production` are what the inventory says of the node
    (`muster_expected_cards`, `muster_pool`, `muster_non_production`) at that time; None and False where it
    says nothing.
    """

    schema: Literal["facts/1"]
    node: str
    observed_at: str
    reach: str = "ok"
    reach_detail: str = ""
    simulated: bool = False
    expected_cards: int | None = None
    pool: str | None = None
    non_production: bool = False
    reader: Reader = Reader()
    host: Host = Host()
    cards: list[Card] = []
