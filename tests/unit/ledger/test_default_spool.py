"""Where the spool is when nobody names one: as in the table that the collection's tests read too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from lifecycle.adapters.settings import read_settings
from lifecycle.adapters.spool import default_spool

TABLE = Path(__file__).resolve().parents[2] / "cases" / "default_spool.yml"
CASES = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["cases"]
VARIABLES = ("MUSTER_SPOOL", "MUSTER_LEDGER", "XDG_STATE_HOME")


@pytest.fixture
def environment(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Mapping[str, str]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return os.environ


@pytest.mark.parametrize(
    ("environment", "spool"),
    [pytest.param(case["environment"], case["spool"], id=case["about"]) for case in CASES],
    indirect=["environment"],
)
def test_documents_wait_where_the_table_says(environment: Mapping[str, str], spool: str) -> None:
    expected = Path(spool.replace("<here>", str(Path.cwd())))
    assert default_spool(environment.get("MUSTER_LEDGER", ""), environment) == expected
    assert read_settings(None, environment).spool == expected


def test_the_table_has_a_case_of_every_kind() -> None:
    kinds = {
        (bool(case["environment"].get("MUSTER_SPOOL")), case["environment"].get("MUSTER_LEDGER", "")[:6])
        for case in CASES
    }
    assert kinds >= {(True, "sqlite"), (False, ""), (False, "sqlite"), (False, "postgr")}


@pytest.mark.parametrize("url", ["nonsense", "postgresql://[", "://", "sqlite:///~nobody-of-that-name/x"])
@pytest.mark.parametrize("environment", [{}], indirect=True)
def test_a_url_that_is_none_still_has_a_spool(environment: Mapping[str, str], url: str) -> None:
    assert default_spool(url, environment).is_absolute()


def test_finding_the_spool_loads_no_database_library() -> None:
    code = "import sys, lifecycle.adapters.spool; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
