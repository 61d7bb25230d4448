"""Rules about which cards a node has: against the PCI bus, the inventory and other nodes."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.facts import PciGpu
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.presence import LADDER
from lifecycle.core.rules.view import NodeView
from lifecycle.core.rules.words import times


def _pci_count(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    host = node.history.host
    if host is None or not isinstance(host.pci_gpus, list) or not node.listed:
        return
    on_bus = sum(1 for gpu in host.pci_gpus if not _given_away(gpu))
    listed = host.nvml_cards if isinstance(host.nvml_cards, int) else node.seen
    if listed >= on_bus:
        return
    none = listed == 0
    yield Trouble(
        action=settings.actions["none_listed"] if none else settings.action,
        observed=listed,
        threshold=on_bus,
        unit="cards",
        since=None,
        until=node.history.host_at,
        reason=f"The PCI bus lists {times(on_bus, 'NVIDIA GPU')}, NVML lists {listed or 'none'}. "
        + (
            "That NVML sees none says nothing about the cards: a scheduler's cgroup may hide them from this "
            "session."
            if none
            else "NVML leaves out a card whose initialisation failed, without a word."
        ),
        remedy="Read the node with a user and session that no job's cgroup confines (`muster sweep --limit "
        "<node>`)."
        if none
        else "Compare `lspci -d 10de:` with `nvidia-smi -L`, look for «RmInitAdapter failed» in the kernel "
        "log, save an "
        "nvidia-bug-report, then drain and power the server off and on.",
    )


def _given_away(gpu: PciGpu) -> bool:
    """Bound to vfio-pci the GPU belongs to a guest, and the host's NVML rightly does not list it."""
    return gpu.driver == "vfio-pci"


def _card_count(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    history = node.history
    if not node.listed:
        return
    expected, seen = history.expected_cards, node.seen
    if expected is None:
        if seen == 0 and not node.pci:
            yield _no_card(node, settings)
        return
    if seen == expected:
        return
    fewer = seen < expected
    before = (
        "" if history.previous_cards is None else f" The observation before listed {history.previous_cards}."
    )
    yield Trouble(
        action=settings.action,
        observed=seen,
        threshold=expected,
        unit="cards",
        since=None,
        until=history.observed_at,
        reason=f"{times(seen, 'card')} {'was' if seen == 1 else 'were'} read on this node, the inventory "
        "expects "
        f"{expected}.{before}",
        remedy=LADDER
        if fewer
        else "Find out which card is new here (`muster cards`) and correct the inventory or the server.",
    )


def _no_card(node: NodeView, settings: RuleSettings) -> Trouble:
    return Trouble(
        action=settings.actions["none_seen"],
        observed=0,
        threshold=None,
        unit="cards",
        since=None,
        until=node.history.observed_at,
        reason="The node was read, and no NVIDIA GPU was found on it; how many it should have is not in the "
        "inventory.",
        remedy="If it is no GPU server, take it out of the group gpu_nodes. Otherwise look at `lspci -d "
        "10de:`, and give "
        "the inventory the number of cards it should have.",
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
    Rule("pci-count", node=_pci_count, actions=("none_listed",)),
    Rule("uuid-claimed", node=_uuid_claimed),
    Rule("card-count", node=_card_count, actions=("none_seen",)),
)
