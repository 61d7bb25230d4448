"""A process that drains spools over and over, each time in a child that a test may kill at any moment.

    python -m tests.integration.crash_driver

For each line `LEDGER-URL<tab>SPOOL` on stdin it forks a child that drains that spool, and prints the child's
PID, then its wait status. Everything is imported once, so that a kill meets the draining and not imports.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lifecycle.adapters.settings import Settings
from lifecycle.workflows.ledger import opened


def main() -> None:
    for line in sys.stdin:
        url, spool = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            _drain(Settings(ledger_url=url, spool=Path(spool)))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(status, flush=True)


def _drain(settings: Settings) -> None:
    """Opening the ledger, and making it where there is none, is where every command begins."""
    code = 1
    try:
        with opened(settings):
            code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
