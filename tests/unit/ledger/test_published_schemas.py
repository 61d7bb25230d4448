"""The schemas in schemas/ are those of the program, and say what the program does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lifecycle.core.findings import CardVerdict, NodeVerdict, PolicyStamp, Verdicts
from lifecycle.core.schemas import json_schemas
from tests.bench import papers

PUBLISHED = Path(__file__).resolve().parents[3] / "schemas"


def validator(name: str) -> Any:
    schema = json.loads((PUBLISHED / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_published_schemas_are_fresh() -> None:
    published = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in PUBLISHED.glob("*.json")}
    assert published == json_schemas(), "run: python -m schemas.generate"


def test_a_full_facts_document_fits_its_schema() -> None:
    document = json.loads(papers.document(1, 1))
    document["later"] = document["cards"][0]["later"] = {"unknown": 1}
    validator("facts-1.json").validate(document)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("pcie", {"gen": "4"}),
        ("identity", {"uuid": 7}),
        ("ecc", []),
        ("power", {"draw_w": {"detail": "no reason"}}),
    ],
)
def test_a_wrong_type_does_not_fit(place: str, value: object) -> None:
    document = json.loads(papers.document(1, 1))
    document["cards"][0][place] = value
    assert not validator("facts-1.json").is_valid(document)


def test_verdicts_fit_their_schema() -> None:
    import msgspec

    verdicts = Verdicts(
        schema="verdicts/1",
        as_of="2026-11-30T00:00:00Z",
        policy=PolicyStamp("owner", "0" * 64),
        engine="0.1.0",
        cards=[
            CardVerdict(
                uuid="GPU-a", serial=None, name=None, node="gpu-1", pci=None, state="enrolled", verdict="ok",
                observed_at=None, stale=False, complete=True, missing=[], findings=[],
            )
        ],
        nodes=[NodeVerdict("gpu-1", "ok", [])],
    )  # fmt: skip
    document = json.loads(msgspec.json.encode(verdicts))
    validator("verdicts-1.json").validate(document)
    document["cards"][0]["verdict"] = "fine"
    assert not validator("verdicts-1.json").is_valid(document)
