"""The facts document of a node nobody got an answer from: unread is a fact too, with its reason."""

from __future__ import annotations

import msgspec

from lifecycle.core.facts import FactsDocument, Reader
from lifecycle.core.times import iso

READER = "sweep"

# The reach of a document that brought readings; any other word says why there are none.
READABLE = "ok"


def unreached_document(
    node: str, at: int, reach: str, detail: str, *, pool: str | None = None, expected_cards: int | None = None
) -> bytes:
    """`facts/1` with a reach and no cards. at: epoch ms. reach: timed_out, unreachable or unreadable."""
    document = FactsDocument(
        schema="facts/1",
        node=node,
        observed_at=iso(at),
        reach=reach,
        reach_detail=detail,
        expected_cards=expected_cards,
        pool=pool,
        reader=Reader(name=READER),
    )
    body = msgspec.to_builtins(document)
    return msgspec.json.encode({key: body[key] for key in body if key not in ("host", "cards")})
