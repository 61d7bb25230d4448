"""Rules about what the driver says: its own advice per card, and whether it runs at all on the node."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.findings import Action
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.bodies import MemoryReading
from lifecycle.core.rules.presence import told
from lifecycle.core.rules.view import CardView, NodeView
from lifecycle.core.rules.words import times, when

# Values of NVML's recovery action (nvml.h, nvmlDeviceGpuRecoveryAction_t; field 230) by number, and
# the longer spellings in use, to the names a policy speaks of.
_NAMES = {
    "0": "none",
    "1": "reset",
    "2": "reboot",
    "3": "drain_p2p",
    "4": "drain_and_reset",
    "5": "recover_imex_domain",
    "6": "bus_reset",
    "7": "system_reboot",
    "gpu_reset": "reset",
    "gpu_reset_required": "reset",
    "node_reboot": "reboot",
    "node_reboot_required": "reboot",
    "os_reboot": "reboot",
    "recover_imex": "recover_imex_domain",
}
ADVICE = (
    "reset",
    "reboot",
    "drain_p2p",
    "drain_and_reset",
    "recover_imex_domain",
    "bus_reset",
    "system_reboot",
    "reset_required",
)

_REMEDIES = {
    "reset": "Start no new job on the card, drain it, reset it (`nvidia-smi -r -i {pci}`), and read it "
    "again: the advice must be none.",
    "reboot": "Drain the node, save an nvidia-bug-report, reboot it, and read it again: the advice must be "
    "none. One "
    "such advice is no reason for an RMA.",
    "quarantine": "Keep the card out of the scheduler, save an nvidia-bug-report, and look up the advice in "
    "NVIDIA's "
    "documentation of this driver. A person must decide.",
}


def advice_of(recovery: object) -> str | None:
    """The driver's advice under its policy name; None where it was not read."""
    if not isinstance(recovery, str) or not recovery.strip():
        return None
    key = "_".join(recovery.strip().lower().replace("-", " ").split())
    return _NAMES.get(key, key)


def _recovery_action(view: CardView, settings: RuleSettings) -> Trouble | None:
    if view.calm:
        return None

    def rank(reading: MemoryReading) -> int | None:
        advice = advice_of(reading.facts.health.recovery)
        return None if advice is None else Action[_action(settings, advice)].value

    found = view.latest(rank)
    required = told(view, "reset_required")
    if found is not None and found.value > Action.ok and (required is None or found.value >= Action.reset):
        advice = advice_of(found.reading.facts.health.recovery) or ""
        return _advised(view, settings, advice, found.at)
    if required is not None:
        return _advised(view, settings, "reset_required", required)
    return None


def _action(settings: RuleSettings, advice: str) -> str:
    return "ok" if advice == "none" else settings.actions.get(advice, settings.action)


def _advised(view: CardView, settings: RuleSettings, advice: str, at: int) -> Trouble:
    action = settings.actions.get(advice, settings.action)
    known = advice in settings.actions
    if advice == "reset_required":
        reason = f"NVML refuses to read the card until it is reset (asked on {when(at)})."
    else:
        reason = f"The driver itself advises «{advice.replace('_', ' ')}» for this card (read on {when(at)})."
    if not known:
        reason += (
            " This program does not know that advice, so the card is kept out until a person has looked."
        )
    if at != view.newest_at:
        reason += " The advice has not been readable since; what was last read still holds."
    return Trouble(
        action=action,
        observed=advice,
        threshold="none",
        unit="advice",
        since=None,
        until=at,
        reason=reason,
        remedy=_REMEDIES.get(action, _REMEDIES["quarantine"]).format(pci=view.card.pci or view.card.uuid),
    )


def _driver_mismatch(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    host = node.history.host
    if host is None:
        return
    module, userspace = host.driver.module, host.driver.userspace
    differ = isinstance(module, str) and isinstance(userspace, str) and module.strip() != userspace.strip()
    if not differ and host.nvml_state != "version_mismatch":
        return
    running = module if isinstance(module, str) else "another version"
    installed = userspace if isinstance(userspace, str) else "another version"
    yield Trouble(
        action=settings.action,
        observed=running,
        threshold=installed,
        unit="driver version",
        since=None,
        until=node.history.host_at,
        reason=f"The kernel runs the NVIDIA module {running}, the library on disk is {installed}: the "
        "driver was "
        "updated and not reloaded. Programs that start now fail or misread the cards. No card is at fault.",
        remedy="Drain the node and reboot it (or stop all users of the GPUs and reload the nvidia modules), "
        "then read it "
        "again. Hold the driver packages so that unattended upgrades cannot do this.",
    )


_STATES = {
    "driver_not_loaded": (
        "The NVIDIA kernel driver is not loaded.",
        "`modprobe nvidia` and look why it did not load",
    ),
    "library_missing": ("The node has no NVML library.", "install the driver's userspace packages"),
    "timed_out": ("NVML did not answer within the deadline.", "look for processes in state D and Xid lines"),
    "crashed": (
        "The reader died while it opened NVML.",
        "look at the kernel log and the driver's installation",
    ),
    "no_permission": (
        "The reader may not open NVML.",
        "read the node as root, or fix the rights of /dev/nvidia*",
    ),
}
# These states have rules of their own.
_ELSEWHERE = frozenset({"ok", "version_mismatch", "locked", "not_read"})


def _driver_absent(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    history, state = node.history, node.nvml_state
    if history.host is None or state in _ELSEWHERE or node.resting:
        return
    what, first = _STATES.get(
        state,
        (f"NVML cannot be used on this node («{state}»).", "run `nvidia-smi` there and read its message"),
    )
    if node.pci is None:
        bus = "What the PCI bus lists was not read."
    else:
        bus = f"The PCI bus lists {times(len(node.pci), 'NVIDIA GPU') if node.pci else 'no NVIDIA GPU'}."
    yield Trouble(
        action=settings.action,
        observed=state,
        threshold="ok",
        unit="NVML state",
        since=None,
        until=history.host_at,
        reason=f"{what} {bus} Nothing can be said about the cards; this is the state of the node, not of a "
        "card.",
        remedy=f"On the node: {first}; see `journalctl -k | grep -i nvrm`. Then read it again.",
    )


CARD_RULES = (Rule("recovery-action", card=_recovery_action, actions=ADVICE),)
NODE_RULES = (Rule("driver-absent", node=_driver_absent), Rule("driver-mismatch", node=_driver_mismatch))
