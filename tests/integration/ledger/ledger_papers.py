"""Small facts documents for the ledger's tests, and the shortest way to take them in."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import create_engine, func, select

from lifecycle.adapters.ledger import Ledger
from lifecycle.adapters.ledger.engine import parse_url
from lifecycle.adapters.ledger.schema import metadata
from lifecycle.core.history import CardHistory, NodeHistory
from lifecycle.core.ingest import parse_document
from lifecycle.core.records import Incoming, IngestReport

DAY = 24 * 60 * 60 * 1000
START = 1_767_225_600_000  # 2026-01-01T00:00:00Z
END = START + 3650 * DAY


def when(ms: int) -> str:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).isoformat()


def entry(
    name: str, *, errors: int = 0, pci: str = "0000:07:00.0", heat: float = 40.0, **groups: Any
) -> dict[str, Any]:
    """A card named GPU-<name>; `errors` are its corrected DRAM errors for life."""
    return {
        "identity": {"uuid": f"GPU-{name}", "serial": f"165-{name}", "name": "NVIDIA H100 80GB HBM3"},
        "seat": {"pci": pci},
        "ecc": {"aggregate": {"dram_corrected": errors, "total_corrected": errors}},
        "temperature": {"gpu_c": heat},
        **groups,
    }


def nameless(pci: str, outcome: str) -> dict[str, Any]:
    return {"seat": {"pci": pci}, "read": {"outcome": outcome, "detail": "no answer in 10 s"}}


def paper(node: str, at: int, cards: Sequence[Mapping[str, Any]] = (), **top: Any) -> dict[str, Any]:
    host = {"boot_id": f"boot-{node}", "kernel": "5.15", "clock": at / 1000}
    return {
        "schema": "facts/1", "node": node, "observed_at": when(at), "host": host, "cards": list(cards), **top,
    }  # fmt: skip


def encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode()


def incoming(*documents: Mapping[str, Any]) -> list[Incoming]:
    return [Incoming(f"{d['node']}@{d['observed_at']}", parse_document(encode(d))) for d in documents]


def take(ledger: Ledger, *documents: Mapping[str, Any]) -> IngestReport:
    return ledger.ingest(incoming(*documents), now=END)


def node_named(ledger: Ledger, name: str, as_of: int = END, heat_since: int | None = None) -> NodeHistory:
    return next(node for node in ledger.histories(as_of, heat_since) if node.node == name)


def card_named(ledger: Ledger, name: str, as_of: int = END) -> CardHistory:
    found = [card for node in ledger.histories(as_of) for card in node.cards if card.uuid == f"GPU-{name}"]
    assert len(found) == 1
    return found[0]


def row_counts(url: str) -> dict[str, int]:
    engine = create_engine(parse_url(url))
    try:
        with engine.connect() as connection:
            return {
                name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for name, table in metadata.tables.items()
            }
    finally:
        engine.dispose()
