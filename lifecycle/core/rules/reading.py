"""Rules about not knowing: nodes and cards that were not read, or not for too long."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.facts import Unread
from lifecycle.core.quantities import DURATION, MS_PER_DAY, Threshold, plausible_celsius
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.bodies import gpu_celsius, trouble_of
from lifecycle.core.rules.presence import SEATED_STATES
from lifecycle.core.rules.view import NOTHING_MISSING, CardView, Missing, NodeView
from lifecycle.core.rules.words import days, number, when

# What a policy can need of a card → the reading that is named where nothing of it was read.
NEEDS = {
    "ecc-mode": "modes.ecc_current",
    "ecc-counters": "ecc.aggregate",
    "memory-repair": "remap.failure",
    "gpu-temperature": "temperature.gpu_c",
    "recovery": "health.recovery",
}
# Reasons for which a reading does not exist on this card or driver. An older driver has no advice to
# give; that NVML answered at all then stands for it, since it refuses a card that must be reset.
_NONEXISTENT = frozenset({"not_supported", "not_in_driver"})


def missing(view: CardView) -> Missing:
    """What was not read of this card in the newest attempt; of a node out of service nothing is needed."""
    needs = view.node.needs
    if not expects_reading(view):
        return NOTHING_MISSING
    reason = _whole(view)
    newest = view.newest
    if reason is not None or newest is None:
        return Missing(
            [f"{reading}: {reason or 'not_read'}" for need, reading in NEEDS.items() if need in needs], ()
        )
    needed: list[str] = []
    has_ecc = True
    mode = view.static.modes.ecc_current
    if isinstance(mode, Unread):
        has_ecc = mode.unread != "not_supported" or any(reading.any_count for _, reading in view.backwards())
        if has_ecc and "ecc-mode" in needs:
            needed.append(f"{NEEDS['ecc-mode']}: {mode.unread}")
    if newest.missing:
        needed += [
            text for need, text in newest.missing.items() if need in needs and _counts(need, text, has_ecc)
        ]
    if "gpu-temperature" in needs:
        unread = _temperature(view)
        if unread is not None:
            needed.append(f"{NEEDS['gpu-temperature']}: {unread}")
    slowdown = trouble_of("limits.temperature_slowdown_c", view.static.limits.temperature_slowdown_c)
    return Missing(needed, newest.optional if slowdown is None else (*newest.optional, slowdown))


def _whole(view: CardView) -> str | None:
    """Why nothing of the card was read in the newest attempt; None where it was read."""
    if view.outcome != "ok":
        return view.outcome
    if not view.card.present:
        state = view.node.nvml_state
        return "not_read" if state == "ok" else state
    return None


def _counts(need: str, text: str, has_ecc: bool) -> bool:
    """Whether an unread need is truly missing, or does not exist on this card."""
    reason = text.rpartition(": ")[2]
    if need == "recovery":
        return reason not in _NONEXISTENT
    if need == "memory-repair":
        # Without ECC a card neither remaps rows nor retires pages.
        return has_ecc or reason not in _NONEXISTENT
    return has_ecc


def _temperature(view: CardView) -> str | None:
    """Why the newest attempt gave no temperature; None where it did. What no card can have is no data."""
    read_at = view.card.last_read_at
    for sample in reversed(view.card.heat):
        if read_at is None or sample.at < read_at:
            break
        if sample.at <= view.as_of and plausible_celsius(sample.celsius):
            return None
    celsius = gpu_celsius(view.card.live)
    if isinstance(celsius, Unread):
        return celsius.unread
    return None if plausible_celsius(celsius) else "no_data"


def _unread(view: CardView, settings: RuleSettings) -> Trouble | None:
    needed = view.missing.needed
    if not needed:
        return None
    return Trouble(
        action=settings.action,
        observed=len(needed),
        threshold=0,
        unit="needed readings unread",
        since=view.card.last_read_at,
        until=view.node.history.observed_at,
        reason=f"What the policy needs of this card was not read: {'; '.join(needed)}. Last read on "
        f"{when(view.card.last_read_at)}. Unread is not healthy.",
        remedy=_remedy(needed, view.node),
    )


def _remedy(needed: list[str], node: NodeView) -> str:
    reasons = {text.rpartition(": ")[2] for text in needed}
    if reasons & {"no_permission"}:
        return "Read the node as root (`become`), then sweep it again."
    if reasons & {"hidden_by_mig"}:
        return "MIG instances hide this reading: read the card when MIG is off, or waive it in the policy."
    if reasons & {"disabled"}:
        return "ECC is off, so memory errors go unseen: switch it on (`nvidia-smi -e 1`, then reset), or "
        "waive it."
    if reasons & {"locked"}:
        return "A reset or a flash holds the node's GPU lock: sweep the node again when it has ended."
    return _again(node)


def _again(node: NodeView) -> str:
    """What to do about something unread, in agreement with what card-hung and card-missing say."""
    sweep = f"weep the node again (`muster sweep --limit {node.history.node}`)"
    if node.hangs:
        return f"Do not run nvidia-smi on the node while a card does not answer. S{sweep}; see card-hung."
    if node.confined:
        return f"S{sweep} from a session that no job's cgroup confines."
    return f"S{sweep}; if it stays unread, run `nvidia-smi -q` there."


def _unread_seats(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    until = node.history.observed_at
    if node.resting:
        return
    for trouble in node.loose:
        seat = trouble.pci or "unknown"
        yield Trouble(
            action=settings.action,
            observed=trouble.outcome,
            threshold="ok",
            unit="outcome",
            since=None,
            until=until,
            reason=f"The card in seat {seat} was not read ({trouble.outcome}) and did not say who it is.",
            remedy=_again(node),
            subject=seat,
        )
    if node.history.reach == "ok" and not node.listed and node.nvml_state in ("locked", "not_read"):
        yield Trouble(
            action=settings.action,
            observed=node.nvml_state,
            threshold="ok",
            unit="NVML state",
            since=None,
            until=until,
            reason="A reset or a flash held the node's GPU lock, so no card was read."
            if node.nvml_state == "locked"
            else "The node answered, but nothing was read of its GPUs.",
            remedy="Sweep the node again when nothing else works on its GPUs.",
        )


def _stale(view: CardView, settings: RuleSettings) -> Trouble | None:
    if not expects_reading(view):
        return None
    return _old(view.card.last_read_at, view.as_of, settings, "card")


def expects_reading(view: CardView) -> bool:
    """Whether the card should be read from time to time: not in repair, nor in a node out of service."""
    return not view.node.resting and (view.card.present or view.card.state in SEATED_STATES)


def _stale_node(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    if node.history.observed_at is not None and not node.resting:
        old = _old(node.history.observed_at, node.as_of, settings, "node")
        if old is not None:
            yield old


def is_stale(read_at: int | None, as_of: int, settings: RuleSettings) -> bool:
    """Never read, or last read longer ago than the policy's `stale_after`."""
    return read_at is None or as_of - read_at > settings.number("stale_after")


def _old(read_at: int | None, as_of: int, settings: RuleSettings, noun: str) -> Trouble | None:
    if not is_stale(read_at, as_of, settings):
        return None
    after = days(int(settings.number("stale_after")))
    ago = (
        "was never read"
        if read_at is None
        else f"was last read on {when(read_at)}, {days(as_of - read_at)} ago"
    )
    return Trouble(
        action=settings.action,
        observed=None if read_at is None else number((as_of - read_at) / MS_PER_DAY),
        threshold=number(settings.number("stale_after") / MS_PER_DAY),
        unit="days",
        since=read_at,
        until=as_of,
        reason=f"The {noun} {ago}; the policy lets a reading stand for {after}. An old result is not a pass.",
        remedy="Sweep it, or record where it is now if it left service.",
    )


_REACH = {
    "unreachable": "The node could not be reached",
    "timed_out": "The node did not answer within the deadline",
    "no_python": "The node has no Python the probe can run with",
    "unreadable": "The node answered with something that is not a facts document",
}


def _node_unread(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    history = node.history
    if node.resting or (history.reach == "ok" and history.observed_at is not None):
        return
    what = _REACH.get(history.reach, f"The node was not read («{history.reach}»)")
    if history.observed_at is None and history.reach == "ok":
        what = "The node was never read"
    detail = f" ({history.reach_detail.strip()})" if history.reach_detail.strip() else ""
    yield Trouble(
        action=settings.action,
        observed=history.reach,
        threshold="ok",
        unit="reach",
        since=history.host_at,
        until=history.observed_at,
        reason=f"{what}{detail}. It was last read on {when(history.host_at)}; its cards stand as they were "
        "then.",
        remedy=f"Try `ansible {history.node} -m ping`. The node is unread, not faulty: nothing else follows "
        "from this.",
    )


CARD_RULES = (
    Rule("unread", card=_unread, node=_unread_seats),
    Rule(
        "stale",
        card=_stale,
        node=_stale_node,
        thresholds={"stale_after": Threshold(DURATION, MS_PER_DAY, 3660 * MS_PER_DAY)},
    ),
)
NODE_RULES = (Rule("node-unread", node=_node_unread),)
