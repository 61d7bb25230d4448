"""Reads a node's GPUs in one exec over whatever connection the inventory gives, and spools the facts.

The module of the same name only documents it. This file runs on the controller, in Ansible's own
Python, and imports nothing but the standard library and Ansible.
"""

from __future__ import annotations

import os
import time

from ansible import constants as C  # noqa: N812 - Ansible's own name for it
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.muster.gpu.plugins.module_utils.gpu_probe import VERSION, payload
from ansible_collections.muster.gpu.plugins.plugin_utils import answer as answers
from ansible_collections.muster.gpu.plugins.plugin_utils import (
    arguments,
    facts_document,
    last_read,
    limits,
    spool,
)

# Built when Ansible imports this plugin, which it does in its main process before it forks its workers:
# every worker of every play inherits it, none builds it again.
PAYLOAD = payload.build()
_TOO_MUCH = "the node sent more than an answer can be: it was cut off when it took %d MB of memory here" % (
    limits.MEMORY_MAX // 2**20
)


class ActionModule(ActionBase):
    """The action; see plugins/modules/gpu_facts.py for its options and results."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp=None, task_vars=None):
        """Read, spool, summarise. An unreachable node is spooled as such and then reported to Ansible."""
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        try:
            by_host = arguments.from_variables(task_vars, self._templar.template)
            chosen = arguments.checked({**by_host, **self._task.args})
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        node = task_vars["inventory_hostname"]
        if self._task.delegate_to not in (None, node):
            raise AnsibleActionFail(
                "gpu_facts cannot be delegated: it would record the cards of %s under the name %s."
                % (self._task.delegate_to, node)
            )
        started = time.time()
        epoch_ms = int(started * 1000)
        directory = spool.root(chosen["spool"], os.environ)
        shown = started if chosen["now"] is None else chosen["now"]
        unseen = last_read.since(directory, node, shown)
        if chosen["log_since"] is None:
            chosen["log_since"] = unseen
        known = facts_document.envelope(
            node, epoch_ms, chosen["expected_cards"], chosen["pool"], chosen["non_production"]
        )
        document, failure = self._document(chosen, known, task_vars)
        place = self._spooled(directory, document, epoch_ms)
        if chosen["log_since"] <= unseen and _has_log(document):
            self._note(directory, node, shown)
        if failure is not None:
            raise failure
        return _result(chosen, document, place, int((time.time() - started) * 1000))

    def _document(self, chosen, known, task_vars):
        """(facts/1 document, the failure that Ansible is to see or None)"""

        def unread(reach, detail):
            return facts_document.not_read(known, reach, detail, VERSION)

        try:
            with limits.deadline(chosen["timeout_s"], self._task.timeout), limits.memory():
                done = self._ask(chosen, task_vars)
        except AnsibleError as error:  # no connection, or no right to become the other user
            reach = "unreachable" if isinstance(error, AnsibleConnectionFailure) else "unreadable"
            return unread(reach, answers.excerpt(str(error))), error
        except limits.OutOfTime:
            limits.end_own_children()
            return unread("timed_out", "no answer within %d s" % chosen["timeout_s"]), None
        except limits.TooMuch:
            limits.end_own_children()
            return unread("unreadable", _TOO_MUCH), None
        except BaseException as error:  # the task's own `timeout` is not an Exception either
            if "Timeout" not in type(error).__name__:
                raise
            return unread(
                "timed_out", "no answer within the task's timeout of %s s" % self._task.timeout
            ), error
        if payload.NO_PYTHON in done["stderr"]:
            return unread("no_python", _no_python(done["stderr"])), None
        try:
            return facts_document.read(known, answers.parse(done["stdout"])), None
        except answers.Unreadable as error:
            said = answers.excerpt(done["stderr"])
            detail = "%s (exit status %s)%s" % (error, done["rc"], "; it said: " + said if said else "")
            return unread("unreadable", detail), None

    def _ask(self, chosen, task_vars):
        data = PAYLOAD.data(arguments.for_probe(chosen))
        interpreter = _interpreter(task_vars)
        become = getattr(self._connection, "become", None)
        wants_terminal = getattr(become, "require_tty", False) or not getattr(become, "pipelining", True)
        if self._connection.has_pipelining and not wants_terminal:
            self._keep_no_connection()
            done = self._low_level_execute_command(PAYLOAD.command(interpreter), in_data=data)
            if not (become and done["rc"] and "tty" in done["stderr"]):
                return done
        return self._ask_by_file(interpreter, data)

    def _keep_no_connection(self):
        """Take away the background ssh that Ansible keeps for a minute per node, for a task that never comes.

        At 500 nodes they would hold more memory than all the rest. Whoever chose ssh_args keeps them.
        """
        if self._connection.transport == "ssh":
            _, origin = self._connection.get_option_and_origin("ssh_args")
            if origin == "default":
                self._connection.set_option("ssh_args", "-o ControlMaster=no")

    def _ask_by_file(self, interpreter, data):
        """For connections that cannot feed a command's stdin, and for a sudo that insists on a terminal."""
        directory = self._make_tmp_path()
        try:
            path = self._connection._shell.join_path(directory, "probe")
            self._transfer_data(path, data)
            self._fixup_perms2((directory, path))
            return self._low_level_execute_command(PAYLOAD.command(interpreter, source=path))
        finally:
            self._remove_tmp_path(directory)

    def _spooled(self, directory, document, epoch_ms):
        try:
            return spool.write(directory, document, epoch_ms)
        except OSError as error:
            raise AnsibleActionFail(
                "The facts of %s could not be written to the spool %s: %s. They are lost; make room or "
                "give the spool to this user, and sweep again."
                % (document["node"], directory, error.strerror)
            ) from error

    def _note(self, directory, node, shown):
        try:
            last_read.note(directory, node, shown)
        except OSError as error:
            self._display.warning(
                "That the kernel log of %s was read could not be noted below %s: %s. The next sweep reads "
                "the same lines of it again." % (node, directory, error.strerror)
            )


def _has_log(document):
    """Whether the node's kernel log was read; one that was not is to be looked for again next time."""
    host = document.get("host")
    return isinstance(host, dict) and isinstance(host.get("log"), list)


def _result(chosen, document, place, took_ms):
    reach = document["reach"]
    result = {
        "changed": False,
        "spool_file": place,
        "reach": reach,
        "cards": len(document.get("cards", ())),
        "took_ms": took_ms,
    }
    if chosen["return_facts"]:
        result["facts"] = document
    if reach != "ok":
        result.update(failed=True, msg="%s: %s" % (reach, document["reach_detail"]))
    return result


def _interpreter(task_vars):
    """The interpreter's path where inventory or configuration names one; None where it is to be found."""
    named = C.config.get_config_value("INTERPRETER_PYTHON", variables=task_vars)
    return str(named) if named and "/" in str(named) else None


def _no_python(stderr):
    found = stderr.split(payload.NO_PYTHON, 1)[1].split()
    if not found or found[0] == "none":
        return "no python3 on the node; the probe needs Python 3.8 or later"
    return "the node's newest Python is %s; the probe needs 3.8 or later" % answers.printable(found[0])[:20]
