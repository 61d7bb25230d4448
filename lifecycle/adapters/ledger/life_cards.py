"""The life of each card of one node, from the rows of its chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from lifecycle.adapters.ledger import seats
from lifecycle.adapters.ledger.bodies import Bodies
from lifecycle.adapters.ledger.seats import Life, Observation
from lifecycle.adapters.ledger.standing import Standing
from lifecycle.core.history import CardHistory, HeatSample, Sample
from lifecycle.core.ingest import Troubles


class _Names(msgspec.Struct, gc=False):
    uuid: str


class _Who(msgspec.Struct, gc=False):
    identity: _Names


_who = msgspec.json.Decoder(_Who).decode
_troubles = msgspec.json.Decoder(Troubles).decode


@dataclass(slots=True)
class Around:
    """What lies around one node: all loaded lives by node id, and the cards that ever moved."""

    lives: Mapping[int, Life]
    moved: set[int]
    bodies: Bodies
    standing: Standing


def card_histories(life: Life, around: Around) -> list[CardHistory]:
    """The cards last seen at this node, in the order of seats."""
    heat = _heat(life, around.bodies)
    newest = life.newest_readable()
    found = []
    for card, last in life.last.items():
        others = seats.at_other_nodes(card, life, around.lives) if card in around.moved else []
        if not others or seats.belongs(card, life, others):
            history = _history(life, card, others, around)
            history.present = newest is not None and last[0] >= newest
            history.heat = heat.get(card, ())
            found.append(history)
    found.sort(key=lambda history: (history.pci or "", history.uuid))
    return found


def troubles_of(one: Observation) -> Troubles:
    """The entries of an observation that did not read well."""
    return _troubles(one.troubles) if one.troubles is not None else Troubles()


def _history(life: Life, card: int, others: Sequence[Life], around: Around) -> CardHistory:
    index, reading_id, pci, facts_id = life.last[card]
    one = life.observations[index]
    position = life.held[index].index(reading_id)
    static = around.bodies.static[facts_id]
    # Every reading has a UUID, or it would be no card's.
    uuid = _who(static).identity.uuid
    samples = seats.joined_samples(card, life, others) if others else life.samples[card]
    outcome = _outcome(one, position)
    failed = _failed(life, card) if outcome != seats.READABLE else []
    state, since = around.standing.card(uuid)
    return CardHistory(
        uuid=uuid,
        node=life.name,
        pci=pci,
        state=state,
        present=False,
        outcome=outcome,
        last_read_at=_last_read(samples, failed),
        samples=samples,
        static=static,
        live=bytes(around.bodies.live[one.id].cards[position]),
        non_production=life.observations[-1].non_production,
        failed=failed,
        state_since=since,
        first_seen_at=samples[0].at,
        last_seen_at=one.at,
        claimed_by=tuple(rival.name for rival in seats.questioned_by(card, life, others)),
    )


def _outcome(one: Observation, position: int) -> str:
    return troubles_of(one).cards.get(str(position), seats.READABLE)


def _failed(life: Life, card: int) -> list[tuple[int, str]]:
    """The attempts since the last one that read the card, oldest first."""
    failed: list[tuple[int, str]] = []
    for index in range(len(life.observations) - 1, -1, -1):
        position = seats.find(life, index, card)
        if position is None:
            continue
        outcome = _outcome(life.observations[index], position)
        if outcome == seats.READABLE:
            break
        failed.append((life.observations[index].at, outcome))
    failed.reverse()
    return failed


def _last_read(samples: Sequence[Sample], failed: Sequence[tuple[int, str]]) -> int | None:
    if not failed:
        return samples[-1].at
    return max((sample.at for sample in samples if sample.at < failed[0][0]), default=None)


def _heat(life: Life, bodies: Bodies) -> dict[int, list[HeatSample]]:
    """Card id → temperatures at this node, oldest first."""
    found: dict[int, list[HeatSample]] = {}
    for one, held in zip(life.observations, life.held, strict=True):
        for number, celsius in zip(held, bodies.heat.get(one.id, ()), strict=False):
            if celsius is not None:
                found.setdefault(life.card_of[number], []).append(HeatSample(one.at, celsius))
    return found
