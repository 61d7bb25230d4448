"""Tests of this project need no patches: what a function depends on is handed in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(path for path in TESTS.rglob("test_*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(TESTS).as_posix())
def test_no_test_patches_our_own_code(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
            assert not [name for name in names if name.split(".")[-1] == "mock"], f"{path}:{node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = ast.unparse(node.func.value)
            assert not (owner == "monkeypatch" and node.func.attr in {"setattr", "delattr"}), (
                f"{path}:{node.lineno}"
            )


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(TESTS).as_posix())
def test_every_test_asserts_something(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    helpers = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("test_") and asserts(node, set())
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert asserts(node, helpers), f"{path}:{node.lineno}: {node.name} cannot fail"


def asserts(function: ast.FunctionDef, helpers: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            last = name.split(".")[-1]
            if name == "pytest.raises" or last in helpers or last.startswith(("assert_", "check", "expect")):
                return True
    return False
