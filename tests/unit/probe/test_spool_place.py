"""Where a plain playbook leaves its documents: where the program looks for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from node_double import CHECKOUT

CASES = yaml.safe_load((CHECKOUT / "tests/cases/default_spool.yml").read_text())["cases"]
SPOOL = CHECKOUT / "plugins/plugin_utils/spool.py"
PRINT_ROOT = "import os, runpy, sys; print(runpy.run_path(sys.argv[1])['root'](sys.argv[2], os.environ))"


def place(where: Path, chosen: str = "", **environment: str) -> str:
    """What the collection answers in a process with this environment and directory."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT_ROOT, SPOOL, chosen],
        capture_output=True,
        text=True,
        cwd=where,
        env={"PATH": os.environ["PATH"], **environment},
        check=True,
    )
    return done.stdout.rstrip("\n")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["about"]))
def test_the_collection_writes_where_the_program_reads(case: dict[str, Any], tmp_path: Path) -> None:
    expected = case["spool"].replace("<here>", str(tmp_path))
    assert place(tmp_path, **case["environment"]) == expected


def test_the_spool_that_a_task_names_wins_and_is_made_absolute(tmp_path: Path) -> None:
    environment = {"HOME": "/home/ada", "MUSTER_SPOOL": "/elsewhere", "MUSTER_LEDGER": "sqlite:////srv/a.db"}
    assert place(tmp_path, "~/mine", **environment) == "/home/ada/mine"
    assert place(tmp_path, "here/it/is", **environment) == f"{tmp_path}/here/it/is"
