"""Where things are: read once from arguments and environment, then passed on as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lifecycle.adapters.paths import state_directory
from lifecycle.adapters.spool import default_spool

CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Settings:
    """Paths and URLs of one run.

    ledger_url: SQLAlchemy URL. spool: the folder facts documents wait in. checkout: the tree that holds
    playbooks/, policy/ and ansible.cfg.
    """

    ledger_url: str
    spool: Path
    checkout: Path = CHECKOUT

    @property
    def sweep_lock(self) -> Path:
        """One sweep per spool at a time."""
        return self.spool / "sweep.lock"

    @property
    def playbooks(self) -> Path:
        return self.checkout / "playbooks"

    @property
    def policies(self) -> Path:
        return self.checkout / "policy"


def read_settings(ledger: str | None, env: Mapping[str, str]) -> Settings:
    """Settings from `--ledger` (first), MUSTER_LEDGER, or the default SQLite file."""
    url = ledger or env.get("MUSTER_LEDGER") or f"sqlite:///{state_directory(env) / 'ledger.db'}"
    return Settings(ledger_url=url, spool=default_spool(url, env))
