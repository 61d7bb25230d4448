"""Where things are: read once from arguments and environment, then passed on as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

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


def state_dir() -> Path:
    """The XDG state directory of Muster."""
    return Path(platformdirs.user_state_dir("muster"))


def default_ledger_url() -> str:
    return f"sqlite:///{state_dir() / 'ledger.db'}"


def read_settings(ledger: str | None, env: Mapping[str, str]) -> Settings:
    """Settings from `--ledger` (first), MUSTER_LEDGER, or the default SQLite file."""
    from lifecycle.adapters.spool import default_spool

    url = ledger or env.get("MUSTER_LEDGER") or default_ledger_url()
    return Settings(ledger_url=url, spool=default_spool(url, env))
