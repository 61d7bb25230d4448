"""The small documents of commands that answer with one sentence."""

from __future__ import annotations

import msgspec

from lifecycle.core.records import Transition
from lifecycle.core.times import iso


def transition_json(step: Transition) -> bytes:
    """`transition/1`: what was recorded."""
    fields = {
        "target": f"{step.target_kind}:{step.target}",
        "from": step.from_state,
        "to": step.to_state,
        "at": iso(step.at),
        "who": step.who,
        "reason": step.reason,
    }
    return _document("transition/1", fields)


def written_json(file: str) -> bytes:
    """`written/1`: the file that was written."""
    return _document("written/1", {"file": file})


def _document(schema: str, fields: dict[str, str]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"schema": schema, **fields}), indent=1) + b"\n"
