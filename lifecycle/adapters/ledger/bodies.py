"""The long columns a chunk of histories needs: newest slow groups, newest live bodies, temperatures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection

from lifecycle.adapters.ledger import chunks
from lifecycle.adapters.ledger.schema import card_facts, host_facts, observations
from lifecycle.adapters.ledger.seats import Life, newest_host
from lifecycle.core.facts import Temperature


class LiveParts(msgspec.Struct, gc=False):
    """A live body cut up: live host keys, and the live groups per entry of the manifest."""

    host: msgspec.Raw = msgspec.Raw(b"{}")
    cards: list[msgspec.Raw] = []


class _Heat(msgspec.Struct, gc=False):
    temperature: Temperature = Temperature()


class _LiveHeat(msgspec.Struct, gc=False):
    cards: list[_Heat] = []


_live_parts = msgspec.json.Decoder(LiveParts).decode
_live_heat = msgspec.json.Decoder(_LiveHeat).decode


@dataclass(slots=True)
class Bodies:
    """The bodies a chunk needs. live: observation id → its parts; heat: observation id → °C per entry."""

    static: Mapping[int, str]
    hosts: Mapping[int, str]
    live: Mapping[int, LiveParts]
    heat: Mapping[int, list[float | None]]


def load_bodies(connection: Connection, lives: Mapping[int, Life], heat_since: int) -> Bodies:
    """What the histories of these nodes need beside samples; temperatures from heat_since (epoch ms) on."""
    newest: set[int] = set()
    hot: set[int] = set()
    hosts: set[int] = set()
    static: set[int] = set()
    for life in lives.values():
        newest.update(life.observations[last[0]].id for last in life.last.values())
        hot.update(one.id for one in life.observations if one.at >= heat_since and one.manifest != "[]")
        readable = newest_host(life)
        if readable is not None and readable.host_facts_id is not None:
            newest.add(readable.id)
            hosts.add(readable.host_facts_id)
        static.update(last[3] for last in life.last.values())
    live, heat = _load_live(connection, newest, hot)
    return Bodies(
        static=chunks.bodies(connection, card_facts.c.id, card_facts.c.body, sorted(static)),
        hosts=chunks.bodies(connection, host_facts.c.id, host_facts.c.body, sorted(hosts)),
        live=live,
        heat=heat,
    )


def _load_live(
    connection: Connection, newest: set[int], hot: set[int]
) -> tuple[dict[int, LiveParts], dict[int, list[float | None]]]:
    """Only the newest bodies are kept; of the others nothing but temperatures stays in memory."""
    live: dict[int, LiveParts] = {}
    heat: dict[int, list[float | None]] = {}
    o = observations.c
    for number, body in chunks.rows(connection, (o.id, o.live), sorted(newest | hot)):
        if number in newest:
            live[number] = _live_parts(body)
        heat[number] = [_celsius(one.temperature) for one in _live_heat(body).cards]
    return live, heat


def _celsius(temperature: Temperature) -> float | None:
    return temperature.gpu_c if isinstance(temperature.gpu_c, float) else None
