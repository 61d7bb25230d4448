"""The JSON Schemas of the documents that leave Muster, made from the types that read and write them."""

from __future__ import annotations

from typing import Any

import msgspec

from lifecycle.core.facts import FACTS_SCHEMA, FactsDocument
from lifecycle.core.findings import VERDICTS_SCHEMA, Verdicts

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DOCUMENTS: dict[str, type[msgspec.Struct]] = {FACTS_SCHEMA: FactsDocument, VERDICTS_SCHEMA: Verdicts}


def json_schemas() -> dict[str, dict[str, Any]]:
    """File name → schema of every published document (draft 2020-12); keys they do not name are allowed."""
    return {f"{name.replace('/', '-')}.json": _schema(name, kind) for name, kind in _DOCUMENTS.items()}


def _schema(name: str, kind: type[msgspec.Struct]) -> dict[str, Any]:
    (found,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return {"$schema": _DIALECT, "title": name, **found, "$defs": parts}
