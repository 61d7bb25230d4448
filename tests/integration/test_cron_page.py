"""docs/howto/cron.md: what it tells people to install is checked by the tools that will read it."""

from __future__ import annotations

import getpass
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lifecycle.cli import muster as command
from tests.integration.conftest import CHECKOUT, Muster

PAGE = (CHECKOUT / "docs/howto/cron.md").read_text(encoding="utf-8")
EXIT_CODES_ROW = re.compile(r"^\| (\d+) \|", re.MULTILINE)


def block(language: str, containing: str) -> str:
    """The page's code block in this language that holds these words."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return next(one for one in blocks if containing in one)


def options_of(line: str) -> set[str]:
    return set(re.findall(r"--[a-z-]+", line.split("muster sweep", 1)[1]))


def test_every_option_on_the_page_exists():
    known = {option for parameter in command.commands["sweep"].params for option in parameter.opts}
    lines = [line for line in PAGE.splitlines() if "muster sweep --" in line]
    assert len(lines) >= 2
    for line in lines:
        assert options_of(line.replace("`", " ")) <= known


def test_the_crontab_line_has_five_times_a_user_and_a_command():
    lines = block("crontab", "muster sweep").splitlines()
    settings = [line for line in lines if re.match(r"[A-Z_]+=", line)]
    (job,) = [line for line in lines if line not in settings]
    *times, user, program = job.split(maxsplit=6)
    assert times == ["0", "5", "1", "*", "*"]
    assert user == "muster"
    assert program.startswith("cd /opt/muster && .venv/bin/muster sweep ")
    assert "%" not in program, "cron makes a newline of it"
    assert "--quiet" in program


def test_the_exit_codes_are_those_of_the_contract():
    assert EXIT_CODES_ROW.findall(PAGE) == ["0", "1", "2", "3", "75"]


@pytest.mark.root
def test_systemd_accepts_the_units(tmp_path):
    """systemd-analyze looks the program and the user up, so both exist here under names that do."""
    assert shutil.which("systemd-analyze"), "the package systemd is needed; .ci/run installs it"
    service = block("ini", "ExecStart=").replace("/opt/muster/.venv/bin/muster", "/bin/true")
    (tmp_path / "muster-sweep.service").write_text(
        service.replace("User=muster", f"User={getpass.getuser()}")
    )
    (tmp_path / "muster-sweep.timer").write_text(block("ini", "OnCalendar="))
    units = [str(tmp_path / f"muster-sweep.{kind}") for kind in ("timer", "service")]
    verify = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.root
def test_the_timer_fires_on_the_first_of_a_month():
    calendar = re.search(r"OnCalendar=(.*)", PAGE)
    assert calendar
    done = subprocess.run(
        ["systemd-analyze", "calendar", "--base-time=2026-11-30 12:00:00 UTC", calendar[1]],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "2026-12-01 05:00:00" in done.stdout


@pytest.mark.root
def test_the_alert_watches_a_metric_that_exists(tmp_path, healthy_fleet):
    muster = Muster(tmp_path, healthy_fleet)
    assert muster.run("sweep", inventory=healthy_fleet.inventory).returncode == 0
    assert muster.run("metrics", "--textfile", str(tmp_path / "muster.prom")).returncode == 0
    metrics = (tmp_path / "muster.prom").read_text()
    rules = block("yaml", "alert: MusterSweepMissing")
    (watched,) = set(re.findall(r"muster_\w+", rules))
    assert re.search(rf"^{watched} \d", metrics, re.MULTILINE)
    (tmp_path / "rules.yml").write_text(rules)
    check_with_promtool(tmp_path, metrics)


def check_with_promtool(directory: Path, metrics: str) -> None:
    assert shutil.which("promtool"), "the package prometheus is needed; .ci/run installs it"
    subprocess.run(
        ["promtool", "check", "rules", str(directory / "rules.yml")], check=True, capture_output=True
    )
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=metrics, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
