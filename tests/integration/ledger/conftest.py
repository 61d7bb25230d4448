"""Every ledger test runs on SQLite, and on PostgreSQL where MUSTER_TEST_POSTGRES_URL names a server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url
from sqlalchemy.schema import CreateSchema, DropSchema

from lifecycle.adapters.ledger import Ledger

SERVER = os.environ.get("MUSTER_TEST_POSTGRES_URL", "")


@pytest.fixture(params=["sqlite", "postgresql"] if SERVER else ["sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database of the test's own."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'ledger.db'}"
        return
    engine = create_engine(SERVER)
    name = f"muster_{uuid.uuid4().hex[:12]}"
    with engine.begin() as connection:
        connection.execute(CreateSchema(name))
    own = make_url(SERVER).update_query_dict({"options": f"-csearch_path={name}"})
    yield own.render_as_string(hide_password=False)
    with engine.begin() as connection:
        connection.execute(DropSchema(name, cascade=True))
    engine.dispose()


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with Ledger.open(url) as opened:
        yield opened


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    """An SQLite ledger that is not there yet."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"
