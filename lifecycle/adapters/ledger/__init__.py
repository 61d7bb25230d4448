"""The ledger: every observation ever taken in, append-only, in SQLite or any database SQLAlchemy speaks."""

from lifecycle.adapters.ledger.ledger import Ledger

__all__ = ["Ledger"]
