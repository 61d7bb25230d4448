"""Rules about which cards a node has: against the PCI bus, the inventory and other nodes."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.facts import PciGpu
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.presence import CGROUP, LADDER
from lifecycle.core.rules.view import NodeView
from lifecycle.core.rules.words import times


def _pci_count(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    host = node.history.host
    if host is None or not isinstance(host.pci_gpus, list) or not (node.listed or node.nvml_state == "ok"):
        return
    on_bus = sum(1 for gpu in host.pci_gpus if not _given_away(gpu))
    count = host.nvml_cards if isinstance(host.nvml_cards, int) else node.seen
    if count >= on_bus:
        return
    listed = count if node.listed else None
    case, why = _why_fewer(node, listed)
    yield Trouble(
        action=settings.actions[case] if case else settings.action,
        observed=listed,
        threshold=on_bus,
        unit="cards",
        since=None,
        until=node.history.host_at,
        reason=f"The PCI bus lists {times(on_bus, 'NVIDIA GPU')}, NVML lists "
        f"{'an unread number' if listed is None else listed or 'none'}. {why}",
        remedy=_outside(node)
        if case
        else f"Compare `lspci -d 10de:` with {_driver_list(node)}, look for «RmInitAdapter failed» in the "
        "kernel log, save an nvidia-bug-report, then drain and power the server off and on.",
    )


def _why_fewer(node: NodeView, listed: int | None) -> tuple[str, str]:
    """The special case, empty where there is none, and what it means."""
    if listed is None:
        return "none_listed", "So the cards cannot be counted."
    if listed == 0:
        return "none_listed", (
            "That NVML sees none says nothing about the cards: a scheduler's cgroup may hide them from this "
            "session."
        )
    if node.confined:
        return "hidden", "The reader sat in a job's cgroup, which hides the GPUs of other jobs from it."
    return "", f"NVML leaves out a card whose initialisation failed, without a word. {CGROUP}"


def _outside(node: NodeView) -> str:
    return (
        "Read the node with a user and session that no job's cgroup confines "
        f"(`muster sweep --limit {node.history.node}`)."
    )


def _driver_list(node: NodeView) -> str:
    """What shows the driver's own list: nvidia-smi waits for every card, so not beside one that hangs."""
    return "`ls /proc/driver/nvidia/gpus`" if node.hangs else "`nvidia-smi -L`"


def _given_away(gpu: PciGpu) -> bool:
    """Bound to vfio-pci the GPU belongs to a guest, and the host's NVML rightly does not list it."""
    return gpu.driver == "vfio-pci"


def _card_count(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    expected, seen = node.history.expected_cards, node.seen
    if node.resting or not (node.listed or node.nvml_state == "ok"):
        return
    if expected is None:
        if seen == 0 and not node.pci:
            yield _not_seen(node, settings)
    elif seen > expected:
        yield _other_count(node, settings, expected, "")
    elif seen < expected and (seen == 0 or not node.listed):
        yield _not_seen(node, settings)
    elif seen < expected:
        yield _other_count(node, settings, expected, "hidden" if node.confined else "")


def _other_count(node: NodeView, settings: RuleSettings, expected: int, case: str) -> Trouble:
    history, seen = node.history, node.seen
    before = (
        "" if history.previous_cards is None else f" The observation before listed {history.previous_cards}."
    )
    hidden = " The reader sat in a job's cgroup, which hides the GPUs of other jobs from it." if case else ""
    return Trouble(
        action=settings.actions[case] if case else settings.action,
        observed=seen,
        threshold=expected,
        unit="cards",
        since=None,
        until=history.observed_at,
        reason=f"{times(seen, 'card')} {'was' if seen == 1 else 'were'} read on this node, the inventory "
        f"expects {expected}.{before}{hidden}",
        remedy=_outside(node)
        if case
        else LADDER
        if seen < expected
        else "Find out which card is new here (`muster cards`) and correct the inventory or the server.",
    )


def _not_seen(node: NodeView, settings: RuleSettings) -> Trouble:
    """No card was listed, or how many there are was not read: neither is a fault of a card."""
    expected = node.history.expected_cards
    if node.listed:
        found = "no NVIDIA GPU was found on it: a cgroup can hide all of them from a session"
    else:
        found = "how many GPUs NVML lists was not: unread is not zero"
    if node.pci is None:
        bus = "What the PCI bus lists was not read."
    else:
        bus = f"The PCI bus lists {times(len(node.pci), 'NVIDIA GPU') if node.pci else 'none'}."
    wanted = (
        "How many it should have is not in the inventory."
        if expected is None
        else f"The inventory expects {expected}."
    )
    return Trouble(
        action=settings.actions["none_seen"],
        observed=node.seen if node.listed else None,
        threshold=expected,
        unit="cards",
        since=None,
        until=node.history.observed_at,
        reason=f"The node was read, and {found}. {bus} {wanted}",
        remedy=f"Look at `lspci -d 10de:` on the node. {_outside(node)} If it is no GPU server, take "
        "it out of the group gpu_nodes; else let the inventory say how many cards it should have.",
    )


def _uuid_claimed(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    for card in node.history.cards:
        if not card.claimed_by:
            continue
        others = ", ".join(sorted(card.claimed_by))
        yield Trouble(
            action=settings.action,
            observed=1 + len(card.claimed_by),
            threshold=1,
            unit="nodes",
            since=None,
            until=node.history.observed_at,
            reason=f"The card {card.uuid} is shown by this node and by {others} at practically the same "
            "time. "
            "A card has one seat, so one of them shows what is not there; each is judged by its own "
            "readings alone.",
            remedy="Look at the card's serial number on both servers. A cloned virtual machine, a GPU "
            "passed through to "
            "a guest that is also in the inventory, or a node that lies can be behind this.",
            subject=card.uuid,
        )


NODE_RULES = (
    Rule("pci-count", node=_pci_count, actions=("none_listed", "hidden")),
    Rule("uuid-claimed", node=_uuid_claimed),
    Rule("card-count", node=_card_count, actions=("none_seen", "hidden")),
)
