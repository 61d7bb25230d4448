"""Alembic's environment and one file per format of the ledger."""
