"""The tutorial is run: every `$` line of its console blocks, and the lines shown after it must appear."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def steps() -> list[tuple[str, list[str]]]:
    """(command, lines that must appear) in the order of the page."""
    found: list[tuple[str, list[str]]] = []
    for block in CONSOLE.findall((ROOT / "docs" / "tutorial.md").read_text()):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has been run as the page says."""
    home = tmp_path_factory.mktemp("tutorial")
    done = subprocess.run(
        [sys.executable, "-m", "lifecycle", "demo"],
        cwd=home, env=environment(home), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.splitlines()[-1]) == home / "demo" / "report.html"
    assert "SIMULATED" in (home / "demo" / "report.html").read_text()
    (home / "demo.out").write_text(done.stdout)
    return home


def environment(home: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **os.environ,
        "PATH": path,
        "MUSTER_LEDGER": "sqlite:///demo/ledger.db",
        "HOME": str(home),
        "XDG_STATE_HOME": str(home),
    }


def words(text: str) -> str:
    """Text without the line breaks and columns that a width gives it."""
    return " ".join(text.split())


def test_the_demo_prints_what_the_page_shows(place: Path) -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```", (ROOT / "docs" / "tutorial.md").read_text(), re.M | re.S)
    printed = [words(line) for line in (place / "demo.out").read_text().splitlines()]
    for line in shown.splitlines():
        assert line == "…" or words(line) in printed, line


def test_every_command_of_the_tutorial_does_what_the_page_says(place: Path) -> None:
    assert len(steps()) >= 6
    script = "\n".join(f"{command}\necho '--- end of step'" for command, _ in steps())
    script = script.replace(
        "\necho '--- end of step'\necho $?", "\ncode=$?\necho '--- end of step'\necho $code"
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=place, env=environment(place),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
    )  # fmt: skip
    outputs = done.stdout.split("--- end of step\n")
    for (command, lines), output in zip(steps(), outputs, strict=False):
        for line in lines:
            assert words(line) in words(output), f"«{line}» is not what «{command}» prints:\n{output}"
