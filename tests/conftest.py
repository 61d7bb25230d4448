"""What every test run does: without root, tests that need it are left out and named."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.geteuid() == 0:
        return
    left_out = [item for item in items if item.get_closest_marker("root")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("root")]
        config.hook.pytest_deselected(items=left_out)
        config.stash[LEFT_OUT] = sorted({item.nodeid.split("::")[0] for item in left_out})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(LEFT_OUT, [])
    if left_out:
        terminalreporter.write_line(f"left out, they need root (make integration): {', '.join(left_out)}")


LEFT_OUT = pytest.StashKey[list[str]]()
