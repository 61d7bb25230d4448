"""Every place that raises an error of ours says what happened, what it means and what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lifecycle.core import errors

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.MusterError)
}


def raised() -> list[tuple[str, ast.Call]]:
    """Every call that makes one of our errors, with its place."""
    found = []
    for path in sorted((ROOT / "lifecycle").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
                found.append((f"{path.relative_to(ROOT)}:{node.lineno}", node))
    return found


@pytest.mark.parametrize(("place", "call"), [pytest.param(p, c, id=p) for p, c in raised()])
def test_an_error_is_made_of_three_sentences(place: str, call: ast.Call) -> None:
    assert len(call.args) == 1, f"{place} says what happened"
    said = {keyword.arg: keyword.value for keyword in call.keywords}
    assert set(said) == {"means", "remedy"}, place
    for value in said.values():
        if isinstance(value, ast.Constant):
            assert isinstance(value.value, str), place
            assert len(value.value.split()) >= 3, f"{place}: «{value.value}» is no sentence"


def test_there_are_errors_to_look_at() -> None:
    assert len(raised()) > 20
