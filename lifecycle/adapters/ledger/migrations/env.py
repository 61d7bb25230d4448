"""Run by Alembic. The connection, with its transaction open, comes from `ledger.upgrade`."""

from alembic import context

from lifecycle.adapters.ledger.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite cannot alter most of a table in place; batch mode copies it, and is harmless elsewhere.
    render_as_batch=True,
)
context.run_migrations()
