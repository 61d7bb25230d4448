"""What every command needs: the ledger option, common options, and how an answer is printed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from lifecycle.core.errors import OutputFailed
from lifecycle.workflows.answer import Answer, Style
from lifecycle.workflows.setup import Settings, read_settings

# A mail or a log has no width of its own.
UNKNOWN_WIDTH = 100

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(slots=True)
class Context:
    """The group's options, handed down by click."""

    ledger: str | None


def settings_from(context: click.Context) -> Settings:
    """Where ledger, spool and checkout are for this call."""
    found = context.find_object(Context)
    return read_settings(found.ledger if found else None, os.environ)


def style() -> Style:
    """Width and colour of standard output: colour only on a terminal, and never with NO_COLOR set."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((UNKNOWN_WIDTH, 24)).columns if terminal else UNKNOWN_WIDTH
    return Style(width=width, colour=terminal and "NO_COLOR" not in os.environ)


def finish(answer: Answer, *, as_json: bool) -> NoReturn:
    """Print the answer in the form asked for, and end with its exit code."""
    # A reader that has seen enough (`| head`) ends this program quietly, as it does any other.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for note in answer.notes:
        click.echo(f"muster: {note}", err=True)
    try:
        if as_json:
            sys.stdout.buffer.write(answer.json())
        elif text := answer.text(style()):
            click.echo(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputFailed(
            f"The answer could not be written: {error.strerror}.",
            means="What was done is done and recorded; only its report was lost.",
            remedy="Make room, or send the output elsewhere, then ask again with: muster judge",
        ) from error
    sys.exit(int(answer.exit))


def json_option() -> Decorator:
    return click.option("--json", "as_json", is_flag=True, help="Print the JSON document instead of text.")


def as_of_option() -> Decorator:
    return click.option("--as-of", metavar="ISO8601", help="Judge as if it were this time (default: now).")


def policy_option() -> Decorator:
    return click.option(
        "--policy", metavar="NAME|FILE", help="A policy's name under policy/, or a file (default: owner)."
    )


def inventory_options() -> Decorator:
    """`-i` and `--limit` as in Ansible."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.option("--limit", metavar="PATTERN", help="Only these nodes, as in Ansible.")(
            function
        )
        return click.option(
            "-i",
            "--inventory",
            envvar="ANSIBLE_INVENTORY",
            type=click.Path(path_type=Path),
            required=True,
            help="The inventory, as in Ansible ($ANSIBLE_INVENTORY is honoured).",
        )(function)

    return decorate
