"""Commands that record a change of state. They touch no node; draining is a playbook's work."""

from __future__ import annotations

import click

from lifecycle.cli.shared import finish, json_option, settings_from

_HELP = {
    "quarantine": "Record that TARGET is out of service until further notice.",
    "retire": "Record that TARGET is retired: final, it never returns to production.",
    "release": "Record that TARGET may serve again. A retired card is refused.",
}
_TARGET = "TARGET is a full card UUID, card:UUID, node:NAME or board:SERIAL."


def _recording(verb: str) -> click.Command:
    @click.command(verb, help=f"{_HELP[verb]} {_TARGET}")
    @click.argument("target")
    @click.option("--reason", required=True, metavar="TEXT", help="Why; it stays in the ledger.")
    @click.option("--yes", is_flag=True, help="Do not ask.")
    @json_option()
    @click.pass_context
    def command(context: click.Context, target: str, reason: str, yes: bool, as_json: bool) -> None:
        from lifecycle.workflows.transition import plan_transition, record_transition

        settings = settings_from(context)
        plan = plan_transition(settings, verb, target, reason)
        if not yes:
            click.echo(plan.sentence, err=True)
            click.confirm("Record this?", abort=True, err=True)
        finish(record_transition(settings, plan), as_json=as_json)

    return command


COMMANDS: tuple[click.Command, ...] = tuple(_recording(verb) for verb in _HELP)
