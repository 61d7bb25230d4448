"""The tables. Times are epoch milliseconds; bodies are JSON text; rows are only ever added.

`live` is the last column of observations and `memory` of readings: SQLite then reads the short columns
without touching the pages the long ones spill into. Unique keys begin with the digest, because that is
what a writer knows before it knows any row.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

REVISIONS = ("0001",)
"""Every revision of migrations/versions, oldest first; the last is what this program reads and writes."""

HEAD = REVISIONS[-1]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_N_label)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite numbers rows by itself only in a column declared INTEGER.
_Key = BigInteger().with_variant(Integer(), "sqlite")


def _id() -> Column[int]:
    return Column("id", _Key, primary_key=True, autoincrement=False)


def _ref(name: str, target: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, ForeignKey(target), nullable=nullable)


# Alembic's own table, declared here because writers lock its row and openers compare it.
version = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))

nodes = Table(
    "nodes",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("enrolled_at", BigInteger, nullable=False),
)

cards = Table(
    "cards",
    metadata,
    _id(),
    Column("uuid", Text, nullable=False, unique=True),
    Column("serial", Text),
    Column("name", Text),
    Column("board_part_number", Text),
    Column("enrolled_at", BigInteger, nullable=False),
    Index(None, "serial"),
)

host_facts = Table(
    "host_facts",
    metadata,
    _id(),
    _ref("node_id", "nodes.id"),
    Column("digest", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("digest", "node_id"),
)

card_facts = Table(
    "card_facts",
    metadata,
    _id(),
    _ref("card_id", "cards.id"),
    Column("digest", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("digest", "card_id"),
)

readings = Table(
    "readings",
    metadata,
    _id(),
    _ref("node_id", "nodes.id"),
    _ref("card_id", "cards.id"),
    Column("pci", Text),
    _ref("facts_id", "card_facts.id"),
    Column("digest", Text, nullable=False, unique=True),
    Column("memory", Text, nullable=False),
    Index(None, "node_id"),
    Index(None, "card_id", "node_id"),
)

observations = Table(
    "observations",
    metadata,
    _id(),
    _ref("node_id", "nodes.id"),
    Column("observed_at", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("reach", Text, nullable=False),
    Column("reach_detail", Text, nullable=False),
    Column("simulated", Boolean, nullable=False),
    Column("expected_cards", Integer),
    Column("pool", Text),
    Column("non_production", Boolean, nullable=False),
    Column("boot_id", Text),
    _ref("host_facts_id", "host_facts.id", nullable=True),
    Column("manifest", Text, nullable=False),
    Column("troubles", Text),
    Column("document_at", BigInteger),
    Column("ingested_at", BigInteger, nullable=False),
    Column("reader", Text, nullable=False),
    Column("live", Text, nullable=False),
    UniqueConstraint("digest", "node_id", "observed_at"),
    Index(None, "node_id", "observed_at", "digest"),
)

sweeps = Table(
    "sweeps",
    metadata,
    _id(),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger, nullable=False),
    Column("nodes_asked", Integer, nullable=False),
    Column("nodes_read", Integer, nullable=False),
    Column("cards_read", Integer, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("not_read", Text, nullable=False),
    Column("policy_sha256", Text),
    Index(None, "ended_at"),
)

transitions = Table(
    "transitions",
    metadata,
    _id(),
    Column("at", BigInteger, nullable=False),
    Column("target_kind", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("from_state", Text, nullable=False),
    Column("to_state", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Index(None, "target_kind", "target"),
)
