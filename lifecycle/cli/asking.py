"""Commands that ask the ledger: judge, cards, nodes, card, report, metrics. They touch no node."""

from __future__ import annotations

from pathlib import Path

import click

from lifecycle.cli.shared import as_of_option, finish, json_option, policy_option, settings_from


@click.command()
@as_of_option()
@policy_option()
@json_option()
@click.pass_context
def judge(context: click.Context, as_of: str | None, policy: str | None, as_json: bool) -> None:
    """Verdicts from the ledger alone: same evidence, same policy, same verdict."""
    from lifecycle.workflows.judge import judge_ledger

    finish(judge_ledger(settings_from(context), policy=policy, as_of=as_of), as_json=as_json)


@click.command()
@as_of_option()
@policy_option()
@json_option()
@click.pass_context
def cards(context: click.Context, as_of: str | None, policy: str | None, as_json: bool) -> None:
    """Where every card is, its state and its last verdict."""
    from lifecycle.workflows.lookup import list_cards

    finish(list_cards(settings_from(context), policy=policy, as_of=as_of), as_json=as_json)


@click.command()
@as_of_option()
@policy_option()
@json_option()
@click.pass_context
def nodes(context: click.Context, as_of: str | None, policy: str | None, as_json: bool) -> None:
    """Every node, when it was last read and its last verdict."""
    from lifecycle.workflows.lookup import list_nodes

    finish(list_nodes(settings_from(context), policy=policy, as_of=as_of), as_json=as_json)


@click.command()
@click.argument("card_id", metavar="ID")
@as_of_option()
@policy_option()
@json_option()
@click.pass_context
def card(context: click.Context, card_id: str, as_of: str | None, policy: str | None, as_json: bool) -> None:
    """One card's life story. ID is its UUID, its serial, or an unambiguous beginning of either."""
    from lifecycle.workflows.lookup import tell_card

    finish(tell_card(settings_from(context), card_id, policy=policy, as_of=as_of), as_json=as_json)


@click.command()
@click.option("--html", "html_file", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Write one self-contained page there.")  # fmt: skip
@as_of_option()
@policy_option()
@json_option()
@click.pass_context
def report(
    context: click.Context, html_file: Path, as_of: str | None, policy: str | None, as_json: bool
) -> None:
    """A page for people: fleet map, what to do today, what could not be read."""
    from lifecycle.workflows.report import write_html

    finish(write_html(settings_from(context), html_file, policy=policy, as_of=as_of), as_json=as_json)


@click.command()
@click.option("--textfile", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Write there for node_exporter's textfile collector (atomically).")  # fmt: skip
@policy_option()
@json_option()
@click.pass_context
def metrics(context: click.Context, textfile: Path, policy: str | None, as_json: bool) -> None:
    """Metrics for Prometheus, with the time of the last complete sweep as a dead man's switch."""
    from lifecycle.workflows.report import write_metrics

    finish(write_metrics(settings_from(context), textfile, policy=policy), as_json=as_json)


COMMANDS = (judge, cards, nodes, card, report, metrics)
