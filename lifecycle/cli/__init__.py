"""The command line: parse, call one workflow, print, exit with its code (contract 6.1, 6.2)."""

from __future__ import annotations

import os
import signal
import sys

import click

from lifecycle import __version__
from lifecycle.cli import acting, asking, reading
from lifecycle.cli.shared import Context, settings_from
from lifecycle.core.errors import Exit, MusterError

# Set to anything, it lets a defect show its traceback.
TRACEBACK = "MUSTER_TRACEBACK"

# What a shell reports of a program that SIGINT ended.
INTERRUPTED = 128 + signal.SIGINT


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
    """Entry point of `muster`: whatever goes wrong becomes a text on stderr and its own exit code.

    1 means «a card asks for action», so nothing else may end with it: not a declined question (2), not a
    defect of this program (3, since nothing was proven).
    """
    try:
        code = muster.main(prog_name="muster", standalone_mode=False)
    except MusterError as error:
        click.echo(f"muster: {error}", err=True)
        code = int(error.exit)
    except click.ClickException as error:
        error.show()
        code = int(Exit.MISUSE)
    except KeyboardInterrupt:
        click.echo("muster: interrupted. What was read is in the spool; the next run takes it in.", err=True)
        code = INTERRUPTED
    except click.Abort:
        click.echo("muster: ended without an answer; nothing was recorded.", err=True)
        code = int(Exit.MISUSE)
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        click.echo(f"muster: {_defect(error)}", err=True)
        code = int(Exit.INCOMPLETE)
    sys.exit(code or 0)


def _defect(error: Exception) -> MusterError:
    return MusterError(
        f"Muster itself failed: {type(error).__name__}: {error}",
        means="Nothing was proven. What was read before is in the spool or the ledger.",
        remedy=f"Run the same command with {TRACEBACK}=1 in the environment and report what it prints.",
    )


__all__ = ["main", "muster", "settings_from"]
