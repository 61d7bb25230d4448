"""Commands that bring facts in: sweep, ingest, demo."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lifecycle.cli.shared import (
    finish,
    inventory_options,
    json_option,
    policy_option,
    settings_from,
)
from lifecycle.workflows.progress import Progress, silent

WEEK_S = 7 * 24 * 3600
"""A sweep that may take longer than a week is not one anybody waits for."""


@contextmanager
def progress_bar(title: str, *, wanted: bool) -> Iterator[Progress]:
    """A bar on stderr where a person is watching; nothing in cron, pipes and with --quiet."""
    if not wanted or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def show(done: int, total: int | None, text: str) -> None:
            bar.update(task, completed=done, total=total, description=text)

        yield show


@click.command()
@inventory_options()
@policy_option()
@json_option()
@click.option("--quiet", is_flag=True, help="Print nothing when all is well (for cron).")
@click.option("--deadline", type=click.IntRange(1, WEEK_S), metavar="SECONDS", default=3600,
              show_default=True, help="End by then; nodes not reached are unread.")  # fmt: skip
@click.option(
    "--forks", type=click.IntRange(min=1), help="Nodes read at the same time (default: ansible.cfg's)."
)
@click.pass_context
def sweep(
    context: click.Context,
    inventory: Path,
    limit: str | None,
    policy: str | None,
    as_json: bool,
    quiet: bool,
    deadline: int,
    forks: int | None,
) -> None:
    """Read all nodes, remember, judge, report. Safe from cron: never overlaps itself, ends in time."""
    from lifecycle.workflows.sweep import SweepRequest, sweep

    request = SweepRequest(inventory=inventory, limit=limit, policy=policy, deadline_s=deadline, forks=forks)
    with progress_bar("Reading nodes", wanted=not quiet) as progress:
        answer = sweep(settings_from(context), request, progress)
    if quiet and answer.exit == 0:
        return
    finish(answer, as_json=as_json)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option("--node", metavar="NAME", help="File the documents under this node, whatever they say.")
@click.option("--at", metavar="ISO8601", help="The time of the reading, whatever the documents say.")
@json_option()
@click.pass_context
def ingest(
    context: click.Context, files: tuple[Path, ...], node: str | None, at: str | None, as_json: bool
) -> None:
    """Take in facts documents (spool files). The same document again changes nothing."""
    from lifecycle.workflows.ingest import ingest_files

    finish(ingest_files(settings_from(context), files, node=node, at=at), as_json=as_json)


@click.command()
@click.option("--directory", type=click.Path(path_type=Path), default=Path("demo"), show_default=True,
              help="Where the simulated fleet, its ledger and the report go.")  # fmt: skip
def demo(directory: Path) -> None:
    """Sweep a simulated fleet of twelve nodes. Needs no GPU; every result is labelled simulated."""
    from lifecycle.cli.shared import style
    from lifecycle.workflows.demo import run_demo

    with progress_bar("Building", wanted=True) as progress:
        text, report = run_demo(directory, progress, style())
    click.echo(text)
    click.echo(str(report))


COMMANDS = (sweep, ingest, demo)
