"""Taking documents in: one batch, one transaction, each document exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection, select

from lifecycle.adapters.ledger import claims
from lifecycle.adapters.ledger.keys import Row, add, known, known_pairs, numbers, slices
from lifecycle.adapters.ledger.schema import card_facts, cards, host_facts, nodes, observations, readings
from lifecycle.core.ingest import CardEntry, ParsedDocument
from lifecycle.core.records import Incoming, IngestReport

BATCH_DOCUMENTS = 256
BATCH_BYTES = 16 * 1024 * 1024
"""One commit costs one flush to disk (a few ms); at these sizes that is lost in the work of a batch, a
batch takes well under a second, and its documents fit in memory many times over."""


def batches(items: Iterable[Incoming]) -> Iterator[list[Incoming]]:
    """The documents in portions of one transaction each."""
    batch: list[Incoming] = []
    size = 0
    for item in items:
        batch.append(item)
        size += item.document.size
        if len(batch) >= BATCH_DOCUMENTS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def take_in(connection: Connection, batch: Sequence[Incoming], *, now: int, report: IngestReport) -> None:
    """Write what is new of a batch and count it in the report once the rows are in the transaction."""
    documents = [item.document for item in batch]
    node_ids, new_nodes = _nodes(connection, documents, now)
    fresh = _unknown(connection, documents, node_ids)
    card_ids, new_cards = _cards(connection, fresh, now)
    host_ids = _hosts(connection, fresh, node_ids)
    reading_ids, added, before = _readings(connection, fresh, node_ids, card_ids, set(new_cards))
    _observations(connection, fresh, node_ids, host_ids, reading_ids, now)
    moves, found = claims.of_batch(connection, added, before)
    report.observations += len(fresh)
    report.already_known += len(documents) - len(fresh)
    report.new_nodes += new_nodes
    report.new_cards += len(new_cards)
    report.moved_cards += moves
    report.new_readings += len(added)
    report.claims += found
    report.notes += [f"{item.origin}: {note}" for item in batch for note in item.document.notes]


def _nodes(
    connection: Connection, documents: Sequence[ParsedDocument], now: int
) -> tuple[dict[str, int], int]:
    names = list(dict.fromkeys(document.node for document in documents))
    ids = known(connection, nodes.c.name, names)
    missing = [name for name in names if name not in ids]
    if missing:
        ids.update(zip(missing, numbers(connection, nodes), strict=False))
        add(connection, nodes, [(ids[name], name, now) for name in missing])
    return ids, len(missing)


def _unknown(
    connection: Connection, documents: Sequence[ParsedDocument], node_ids: dict[str, int]
) -> list[ParsedDocument]:
    seen: set[tuple[str, int, int]] = set()
    o = observations.c
    for part in slices([document.digest for document in documents]):
        query = select(o.digest, o.node_id, o.observed_at).where(o.digest.in_(part))
        seen.update((digest, node, at) for digest, node, at in connection.execute(query))
    fresh = []
    for document in documents:
        key = (document.digest, node_ids[document.node], document.at)
        if key not in seen:
            seen.add(key)
            fresh.append(document)
    return fresh


def _cards(
    connection: Connection, documents: Sequence[ParsedDocument], now: int
) -> tuple[dict[str, int], list[int]]:
    entries = {entry.uuid: entry for document in documents for entry in document.cards}
    ids = known(connection, cards.c.uuid, list(entries))
    missing = [entry for uuid, entry in entries.items() if uuid not in ids]
    if missing:
        ids.update(zip((entry.uuid for entry in missing), numbers(connection, cards), strict=False))
        add(connection, cards, [_card_row(ids[entry.uuid], entry, now) for entry in missing])
    return ids, [ids[entry.uuid] for entry in missing]


def _card_row(number: int, entry: CardEntry, now: int) -> Row:
    return (number, entry.uuid, entry.serial, entry.name, entry.board_part_number, now)


def _hosts(
    connection: Connection, documents: Sequence[ParsedDocument], node_ids: dict[str, int]
) -> dict[tuple[int, str], int]:
    bodies = {
        (node_ids[document.node], document.host_digest): document.host
        for document in documents
        if document.host_digest is not None
    }
    ids = known_pairs(connection, host_facts.c.node_id, bodies)
    missing = [key for key in bodies if key not in ids]
    if missing:
        ids.update(zip(missing, numbers(connection, host_facts), strict=False))
        add(connection, host_facts, [(ids[key], *key, bodies[key]) for key in missing])
    return ids


def _readings(
    connection: Connection,
    documents: Sequence[ParsedDocument],
    node_ids: dict[str, int],
    card_ids: dict[str, int],
    new_cards: set[int],
) -> tuple[dict[str, int], list[claims.Added], claims.Places]:
    entries = {
        entry.reading_digest: (node_ids[document.node], document, entry)
        for document in documents
        for entry in document.cards
    }
    # A card that is new in this transaction has no rows to look for.
    old = [digest for digest, (_, _, entry) in entries.items() if card_ids[entry.uuid] not in new_cards]
    ids = known(connection, readings.c.digest, old)
    missing = [digest for digest in entries if digest not in ids]
    if not missing:
        return ids, [], {}
    changed = {card_ids[entries[digest][2].uuid] for digest in missing}
    before = claims.places(connection, list(changed - new_cards))
    facts = _card_facts(connection, [entries[digest][2] for digest in missing], card_ids, new_cards)
    ids.update(zip(missing, numbers(connection, readings), strict=False))
    rows: list[Row] = []
    added: list[claims.Added] = []
    for digest in missing:
        node, document, entry = entries[digest]
        card = card_ids[entry.uuid]
        static = facts[card, entry.static_digest]
        rows.append((ids[digest], node, card, entry.pci, static, digest, entry.memory))
        added.append(claims.Added(card, entry.uuid, node, document.node, document.at))
    add(connection, readings, rows)
    return ids, added, before


def _card_facts(
    connection: Connection, entries: Sequence[CardEntry], card_ids: dict[str, int], new_cards: set[int]
) -> dict[tuple[int, str], int]:
    bodies = {(card_ids[entry.uuid], entry.static_digest): entry.static for entry in entries}
    ids = known_pairs(connection, card_facts.c.card_id, [key for key in bodies if key[0] not in new_cards])
    missing = [key for key in bodies if key not in ids]
    if missing:
        ids.update(zip(missing, numbers(connection, card_facts), strict=False))
        add(connection, card_facts, [(ids[key], *key, bodies[key]) for key in missing])
    return ids


def _observations(
    connection: Connection,
    documents: Sequence[ParsedDocument],
    node_ids: dict[str, int],
    host_ids: dict[tuple[int, str], int],
    reading_ids: dict[str, int],
    now: int,
) -> None:
    rows: list[Row] = []
    fresh = numbers(connection, observations)
    for document in documents:
        node = node_ids[document.node]
        manifest = ",".join([str(reading_ids[entry.reading_digest]) for entry in document.cards])
        host = host_ids[node, document.host_digest] if document.host_digest is not None else None
        rows.append(
            (
                next(fresh),
                node,
                document.at,
                document.digest,
                document.reach,
                document.reach_detail,
                document.simulated,
                document.expected_cards,
                document.pool,
                document.non_production,
                document.boot_id,
                host,
                f"[{manifest}]",
                document.troubles,
                document.document_at,
                now,
                document.reader,
                document.live,
            )
        )
    add(connection, observations, rows)
