"""The action's options: their types, defaults and bounds, and what of them goes to the node."""

from __future__ import annotations

import difflib
import math

from ansible.module_utils.parsing.convert_bool import boolean

# name: (type, default, least, greatest); documented in plugins/modules/gpu_facts.py
SPEC = {
    "spool": (str, None, None, None),
    "return_facts": (bool, False, None, None),
    "expected_cards": (int, None, 0, 128),
    "pool": (str, None, None, None),
    "non_production": (bool, False, None, None),
    "timeout_s": (int, None, 0, 86400),
    "deadline_s": (float, 30.0, 1, 3600),
    "card_deadline_s": (float, 10.0, 0.1, 3600),
    "log_since": (float, None, 0, None),
    "log_lines_max": (int, 500, 0, 10000),
    "lock_path": (str, "/run/lock/muster-gpu.lock", None, None),
    "lock_wait_s": (float, 2.0, 0, 600),
    "root": (str, "/", None, None),
    "nvml_library": (str, None, None, None),
    "nvml_data": (str, None, None, None),
    "now": (float, None, 0, None),
}
# Inventory variables that stand in for options a task does not give. The action reads them itself: a
# template per option in the playbook costs the controller about a fifth of all its work per node.
VARIABLES = {
    "spool": "muster_spool",
    "expected_cards": "muster_expected_cards",
    "pool": "muster_pool",
    "non_production": "muster_non_production",
    "timeout_s": "muster_timeout",
    "deadline_s": "muster_node_deadline",
    "card_deadline_s": "muster_card_deadline",
    "log_since": "muster_log_since",
    "log_lines_max": "muster_log_lines_max",
    "lock_path": "muster_lock_path",
    "lock_wait_s": "muster_lock_wait",
    "root": "muster_probe_root",
    "nvml_library": "muster_nvml_library",
    "nvml_data": "muster_nvml_data",
    "now": "muster_now",
}
_FOR_ACTION = ("spool", "return_facts", "expected_cards", "pool", "non_production", "timeout_s")
# Between the probe's own deadline and giving the node up: logging in, the way there and back, and the
# start of Python on a node that is slow enough to use its deadline.
MARGIN_S = 30


def from_variables(variables, render):
    """Options that the host's variables give; `render` resolves a value that is a template."""
    found = {}
    for option, variable in VARIABLES.items():
        if variable in variables:
            value = variables[variable]
            found[option] = render(value) if isinstance(value, str) and "{" in value else value
    return found


def checked(given):
    """Every option with its value. Raises ValueError with a sentence for the user."""
    for name in given:
        if name not in SPEC:
            near = difflib.get_close_matches(name, SPEC, n=1)
            hint = " Did you mean %s?" % near[0] if near else " It knows: %s." % ", ".join(sorted(SPEC))
            raise ValueError("gpu_facts has no option %s.%s" % (name, hint))
    chosen = {name: _value(name, given.get(name)) for name in SPEC}
    if chosen["timeout_s"] is None:
        chosen["timeout_s"] = math.ceil(chosen["deadline_s"]) + MARGIN_S
    if 0 < chosen["timeout_s"] <= chosen["deadline_s"]:
        raise ValueError(
            "gpu_facts: timeout_s (muster_timeout, %d) must be longer than deadline_s (muster_node_deadline, "
            "%g): a node that needs its deadline would be given up just before it answers."
            % (chosen["timeout_s"], chosen["deadline_s"])
        )
    return chosen


def for_probe(chosen):
    """The options that the probe on the node is given."""
    return {name: value for name, value in chosen.items() if name not in _FOR_ACTION}


def _value(name, given):
    kind, default, least, greatest = SPEC[name]
    if given is None or (given == "" and default is None):
        return default
    try:
        value = boolean(given) if kind is bool else kind(given)
    except (TypeError, ValueError) as error:
        words = {bool: "yes or no", int: "a whole number", float: "a number", str: "text"}
        raise ValueError("gpu_facts: %s must be %s, not %r." % (name, words[kind], given)) from error
    if least is not None and value < least:
        raise ValueError("gpu_facts: %s must be at least %s, not %s." % (name, least, value))
    if greatest is not None and value > greatest:
        raise ValueError("gpu_facts: %s must be at most %s, not %s." % (name, greatest, value))
    return value
