"""The JSON documents other programs read: `verdicts/1` (contract 6.3), `cards/1` (6.6) and the lists.

Keys keep the order of the contract; lists are sorted, so that two runs over the same evidence give the
same bytes. What could steer a terminal is written as a JSON escape; the value stays what it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from lifecycle.core.findings import Action, Finding, Verdicts
from lifecycle.render.rows import CardRow, IngestOutcome, NodeRow, StoryEvent

CARDS_SCHEMA = "cards/1"
NODES_SCHEMA = "nodes/1"
CARD_SCHEMA = "card/1"
INGEST_SCHEMA = "ingest/1"

# DEL, C1 controls, soft hyphen, bidi and zero-width marks, line and paragraph separators, BOM, tags.
_STEERING = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def verdicts_json(verdicts: Verdicts) -> bytes:
    """`verdicts/1`: cards by node, seat and UUID; nodes by name; findings worst first."""
    cards = [
        msgspec.structs.replace(card, findings=_worst_first(card.findings))
        for card in sorted(verdicts.cards, key=lambda card: (card.node, card.pci or "", card.uuid))
    ]
    nodes = [
        msgspec.structs.replace(node, findings=_worst_first(node.findings))
        for node in sorted(verdicts.nodes, key=lambda node: node.node)
    ]
    return _document(msgspec.structs.replace(verdicts, cards=cards, nodes=nodes))


def cards_json(rows: Iterable[CardRow]) -> bytes:
    """`cards/1`: one entry per card, by node, seat and UUID."""
    ordered = sorted(rows, key=lambda row: (row.node or "", row.pci or "", row.uuid))
    return _document({"schema": CARDS_SCHEMA, "cards": ordered})


def nodes_json(rows: Iterable[NodeRow]) -> bytes:
    """`nodes/1`: one entry per node, by name."""
    return _document({"schema": NODES_SCHEMA, "nodes": sorted(rows, key=lambda row: row.node)})


def story_json(card: CardRow, events: Sequence[StoryEvent]) -> bytes:
    """`card/1`: the card's row and its events in the order given."""
    return _document({"schema": CARD_SCHEMA, "card": card, "events": list(events)})


def ingest_json(outcome: IngestOutcome) -> bytes:
    """`ingest/1`: what was stored, what was known, and what was refused and why."""
    refused = [{"document": name, "reason": why} for name, why in outcome.refused]
    notes = [{"document": name, "note": what} for name, what in outcome.notes]
    body = {
        "schema": INGEST_SCHEMA,
        "new": outcome.new,
        "known": outcome.known,
        "nodes": outcome.nodes,
        "cards": outcome.cards,
        "refused": refused,
        "notes": notes,
    }
    return _document(body)


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (-Action[finding.action], finding.rule, finding.id))


def _document(body: Any) -> bytes:
    """Indented by two, ending in a newline; a number that is not finite becomes null."""
    try:
        encoded = msgspec.json.encode(body)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_well_formed(body))
    indented = msgspec.json.format(encoded, indent=2)
    return (_STEERING.sub(_escaped, indented.decode()) + "\n").encode()


def _well_formed(body: Any) -> Any:
    """Lone surrogates (a name's undecodable bytes) become U+FFFD; strict readers refuse even their escape."""
    text = json.dumps(msgspec.to_builtins(body), ensure_ascii=False)
    return json.loads(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found.group())[1:-1]
