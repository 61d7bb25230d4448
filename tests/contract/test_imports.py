"""Imports point one way: cli → workflows → adapters | render → core; core and render touch no world."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lifecycle"

# room → the rooms it may import from
ALLOWED = {
    "core": {"core"},
    "render": {"render", "core"},
    "adapters": {"adapters", "core"},
    "sim": {"sim", "core"},
    "workflows": {"workflows", "adapters", "render", "sim", "core"},
    "cli": {"cli", "workflows", "core"},
    "__main__": {"cli"},
}

# What core and render must never import: anything that can touch the world.
WORLD = {
    "os", "sys", "pathlib", "shutil", "tempfile", "glob", "sqlite3", "subprocess", "socket", "ssl", "http",
    "urllib", "time", "random", "secrets", "logging", "threading", "multiprocessing", "asyncio", "signal",
    "platform", "sqlalchemy", "alembic", "ansible", "ansible_runner", "pynvml", "click", "filelock",
    "platformdirs", "yaml",
}  # fmt: skip

# third party → the only places that may import it
HOMES = {
    "sqlalchemy": "adapters/ledger",
    "alembic": "adapters/ledger",
    "ansible_runner": "adapters/runner.py",
    "yaml": ("adapters/", "sim/"),
    "filelock": "adapters/lock.py",
    "click": "cli",
    "jinja2": "render/",
    "pynvml": (),
}


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if "migrations/versions" not in p.as_posix())


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide their room"
            module = node.module or ""
            # `from lifecycle.adapters import lock` names a module too
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_module_imports_only_from_the_rooms_below_it(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    assert room in ALLOWED, f"{path} stands in no known room"
    for line, name in imported(path):
        parts = name.split(".")
        assert parts[0] not in {"plugins", "ansible_collections", "tests"}, f"{path}:{line} imports {name}"
        if parts[0] == "lifecycle" and len(parts) > 1 and parts[1] != "__version__":
            assert parts[1] in ALLOWED[room], f"{path}:{line}: {room} must not import {name}"


PURE = [path for path in modules() if room_of(path) in {"core", "render"}]


@pytest.mark.parametrize("path", PURE, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_core_and_render_touch_no_world(path: Path) -> None:
    for line, name in imported(path):
        assert name.split(".")[0] not in WORLD, f"{path}:{line} imports {name}"
    calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    for call in calls:
        name = ast.unparse(call.func)
        assert name not in {"open", "print", "input", "exec", "eval"}, f"{path}:{call.lineno} calls {name}"
        assert not name.endswith((".now", ".utcnow", ".today")), f"{path}:{call.lineno} asks for the time"


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_a_library_is_imported_only_where_it_lives(path: Path) -> None:
    where = path.relative_to(PACKAGE).as_posix()
    for line, name in imported(path):
        home = HOMES.get(name.split(".")[0])
        if home is not None:
            homes = (home,) if isinstance(home, str) else home
            assert where.startswith(homes), f"{path}:{line} imports {name}, whose place is {homes}"


def test_plugins_never_import_the_lifecycle_package() -> None:
    files = sorted((ROOT / "plugins").rglob("*.py"))
    assert files, "there are plugins to look at"
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [n for n in names if n.split(".")[0] == "lifecycle"], f"{path}:{node.lineno}"


def test_no_module_is_longer_than_300_lines() -> None:
    files = [*modules(), *sorted((ROOT / "plugins").rglob("*.py"))]
    long = {p.relative_to(ROOT).as_posix(): n for p in files if (n := len(p.read_text().splitlines())) > 300}
    assert long == {}


def test_no_function_is_longer_than_50_lines() -> None:
    long = {}
    for path in [*modules(), *sorted((ROOT / "plugins").rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > 50:
                    long[f"{path.relative_to(ROOT)}:{node.name}"] = length
    assert long == {}
