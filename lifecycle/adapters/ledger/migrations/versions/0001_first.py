"""The first format: nodes, cards, their facts and readings, observations, sweeps and transitions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# SQLite numbers rows by itself only in a column declared INTEGER.
_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "cards",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("uuid", sa.Text(), nullable=False),
        sa.Column("serial", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("board_part_number", sa.Text(), nullable=True),
        sa.Column("enrolled_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cards")),
        sa.UniqueConstraint("uuid", name=op.f("uq_cards_uuid")),
    )
    op.create_index(op.f("ix_cards_serial"), "cards", ["serial"], unique=False)
    op.create_table(
        "nodes",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("enrolled_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
        sa.UniqueConstraint("name", name=op.f("uq_nodes_name")),
    )
    op.create_table(
        "sweeps",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("nodes_asked", sa.Integer(), nullable=False),
        sa.Column("nodes_read", sa.Integer(), nullable=False),
        sa.Column("cards_read", sa.Integer(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("not_read", sa.Text(), nullable=False),
        sa.Column("policy_sha256", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweeps")),
    )
    op.create_index(op.f("ix_sweeps_ended_at"), "sweeps", ["ended_at"], unique=False)
    op.create_table(
        "transitions",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("target_kind", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("from_state", sa.Text(), nullable=False),
        sa.Column("to_state", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_transitions")),
    )
    op.create_index(
        op.f("ix_transitions_target_kind_transitions_target"),
        "transitions",
        ["target_kind", "target"],
        unique=False,
    )
    op.create_table(
        "card_facts",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("card_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["card_id"], ["cards.id"], name=op.f("fk_card_facts_card_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_card_facts")),
        sa.UniqueConstraint("digest", "card_id", name=op.f("uq_card_facts_digest_card_id")),
    )
    op.create_table(
        "host_facts",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("node_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_host_facts_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_host_facts")),
        sa.UniqueConstraint("digest", "node_id", name=op.f("uq_host_facts_digest_node_id")),
    )
    op.create_table(
        "observations",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("node_id", sa.BigInteger(), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("reach", sa.Text(), nullable=False),
        sa.Column("reach_detail", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("expected_cards", sa.Integer(), nullable=True),
        sa.Column("pool", sa.Text(), nullable=True),
        sa.Column("non_production", sa.Boolean(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=True),
        sa.Column("host_facts_id", sa.BigInteger(), nullable=True),
        sa.Column("manifest", sa.Text(), nullable=False),
        sa.Column("troubles", sa.Text(), nullable=True),
        sa.Column("document_at", sa.BigInteger(), nullable=True),
        sa.Column("ingested_at", sa.BigInteger(), nullable=False),
        sa.Column("reader", sa.Text(), nullable=False),
        sa.Column("live", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["host_facts_id"], ["host_facts.id"], name=op.f("fk_observations_host_facts_id")
        ),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_observations_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_observations")),
        sa.UniqueConstraint(
            "digest", "node_id", "observed_at", name=op.f("uq_observations_digest_node_id_observed_at")
        ),
    )
    op.create_index(
        op.f("ix_observations_node_id_observations_observed_at_observations_digest"),
        "observations",
        ["node_id", "observed_at", "digest"],
        unique=False,
    )
    op.create_table(
        "readings",
        sa.Column("id", _KEY, autoincrement=False, nullable=False),
        sa.Column("node_id", sa.BigInteger(), nullable=False),
        sa.Column("card_id", sa.BigInteger(), nullable=False),
        sa.Column("pci", sa.Text(), nullable=True),
        sa.Column("facts_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("memory", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["card_id"], ["cards.id"], name=op.f("fk_readings_card_id")),
        sa.ForeignKeyConstraint(["facts_id"], ["card_facts.id"], name=op.f("fk_readings_facts_id")),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_readings_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_readings")),
        sa.UniqueConstraint("digest", name=op.f("uq_readings_digest")),
    )
    op.create_index(
        op.f("ix_readings_card_id_readings_node_id"), "readings", ["card_id", "node_id"], unique=False
    )
    op.create_index(op.f("ix_readings_node_id"), "readings", ["node_id"], unique=False)
