"""The command line: parse, call one workflow, print, exit with its code (contract 6.1, 6.2)."""

from __future__ import annotations

import sys

import click

from lifecycle import __version__
from lifecycle.cli import acting, asking, reading
from lifecycle.cli.shared import Context, settings_from
from lifecycle.core.errors import MusterError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="muster")
@click.option(
    "--ledger",
    metavar="URL",
    help="The ledger, an SQLAlchemy URL (default: $MUSTER_LEDGER, else SQLite in the XDG state folder).",
)
@click.pass_context
def muster(context: click.Context, ledger: str | None) -> None:
    """Reads GPU servers, remembers what they said, judges every card, and says what to do.

    Exit codes: 0 all well, 1 something asks for action, 2 misuse, 3 incomplete, 4 an action failed and was
    stopped, 5 the outcome of an action is unknown, 75 another run holds the lock.
    """
    context.obj = Context(ledger=ledger)


for module in (reading, asking, acting):
    for command in module.COMMANDS:
        muster.add_command(command)


def main() -> None:
    """Entry point of `muster`: errors of ours become a text on stderr and their exit code."""
    try:
        muster.main(prog_name="muster", standalone_mode=True)
    except MusterError as error:
        click.echo(f"muster: {error}", err=True)
        sys.exit(int(error.exit))


__all__ = ["main", "muster", "settings_from"]
