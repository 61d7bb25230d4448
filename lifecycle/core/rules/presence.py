"""Rules about a card being there: lost, hung, missing and retired cards."""

from __future__ import annotations

from collections.abc import Iterable

from lifecycle.core.history import SeatTrouble
from lifecycle.core.quantities import EVENT_RATE, READINGS, Threshold
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.bodies import says
from lifecycle.core.rules.view import CardView, NodeView
from lifecycle.core.rules.words import number, times, when
from lifecycle.core.states import FINAL

# Outcomes of reading a card (facts: CardRead) in which the card itself did not answer in time or at all.
HUNG = frozenset({"timed_out", "crashed"})
# States in which a card is expected to sit in the seat where it was last seen (contract 6.6).
SEATED_STATES = frozenset({"enrolled", "in_service", "quarantined", "validating"})
# A card whose life has ended is no longer judged, only recognised.
FINAL_STATES = frozenset(FINAL)

LADDER = (
    "Save an nvidia-bug-report and the kernel log (Xid 79, PCIe AER lines), drain the node and reboot it; "
    "if the card "
    "stays away, power the server off and on, reseat the card and its cables, then try it in another seat."
)


def _retired_card_seen(view: CardView, settings: RuleSettings) -> Trouble | None:
    card, history = view.card, view.node.history
    if card.state not in FINAL_STATES or card.non_production or not card.present:
        return None
    seen = next(
        (at for at in (card.last_seen_at, card.last_read_at, history.host_at) if at is not None), None
    )
    if card.state_since is not None and seen is not None and seen <= card.state_since:
        return None
    return Trouble(
        action=settings.action,
        observed=card.state,
        threshold=None,
        unit="state",
        since=card.state_since,
        until=seen,
        reason=f"This card is {card.state}{_dated(card.state_since)} and was met again on {when(seen)} in "
        "seat "
        f"{card.pci or 'unknown'} of {card.node}, which is a production seat. A retired card never returns "
        "to service.",
        remedy="Take the card out of the server and find out how it came back. If this seat is a "
        "laboratory, declare it "
        "non-production in the inventory.",
    )


def _dated(since: int | None) -> str:
    return "" if since is None else f" since {when(since)}"


def _card_lost(view: CardView, settings: RuleSettings) -> Trouble | None:
    if not _lost_now(view):
        return None
    losses = _losses(view)
    limit = settings.number("repeat")
    again = losses >= limit
    history = f"It was lost {losses} times in 30 days: rebooting does not cure it. " if again else ""
    follow = "; show that the loss follows the card into another seat, then open an RMA." if again else ""
    return Trouble(
        action=settings.actions["repeated"] if again else settings.action,
        observed=losses,
        threshold=1 if not again else number(limit),
        unit="losses/30d",
        since=view.card.last_read_at,
        until=view.node.history.observed_at,
        reason=f"NVML says that the GPU is lost: it has fallen off the bus (last read on "
        f"{when(view.card.last_read_at)}). {history}Nothing on it can run.",
        remedy=LADDER[:-1] + follow if again else LADDER,
    )


def _lost_now(view: CardView) -> bool:
    """Lost in the newest attempt, or in one since anything was read of the card."""
    if view.outcome == "lost" or any(outcome == "lost" for _, outcome in view.card.failed):
        return True
    return told(view, "lost") is not None


def told(view: CardView, reason: str) -> int | None:
    """When NVML gave this reason in the newest reading, or in one since which nothing was read."""
    if view.calm:
        return None
    for at, reading in view.backwards():
        if says(reading, reason):
            return at
        if reading.answered:
            return None
    return None


def _losses(view: CardView) -> int:
    """How often the card was lost in the window: each run of lost readings is one loss."""
    attempts = [
        (at, says(reading, "lost")) for at, reading in view.backwards() if at >= view.node.window_start
    ]
    by_time = dict(reversed(attempts))
    by_time.update(
        (at, outcome == "lost") for at, outcome in view.card.failed if at >= view.node.window_start
    )
    ordered = [lost for _, lost in sorted(by_time.items())]
    runs = sum(1 for i, lost in enumerate(ordered) if lost and (i == 0 or not ordered[i - 1]))
    return max(runs, 1)


def _card_hung(view: CardView, settings: RuleSettings) -> Trouble | None:
    tries = sum(1 for _, outcome in view.card.failed if outcome in HUNG)
    if view.outcome in HUNG:
        tries = max(tries, view.trouble.tries if view.trouble is not None else 1)
    if not tries:
        return None
    return _hung(settings, tries, view.card.last_read_at, view.node.history.observed_at)


def _hung(
    settings: RuleSettings, tries: int, since: int | None, until: int | None, seat: str = ""
) -> Trouble:
    limit = settings.number("tries")
    enough = tries >= limit
    who = f"The card in seat {seat}" if seat else "The card"
    return Trouble(
        action=settings.action if enough else settings.actions["short"],
        observed=tries,
        threshold=number(limit),
        unit="readings in a row",
        since=since,
        until=until,
        reason=f"{who} did not answer: {times(tries, 'reading')} in a row timed out or crashed its reader "
        "(last read "
        f"on {when(since)}). "
        + (
            "A card that hangs its reader hangs its jobs too."
            if enough
            else f"{number(limit)} in a row would be a sick card; fewer may be a busy or stuck driver."
        ),
        remedy="Do not run nvidia-smi on the node, it may hang as well. Count processes in state D, save "
        "the kernel log, "
        + (
            "then drain and reboot the node; quarantine the card if it hangs again."
            if enough
            else "and read the node again: `muster sweep --limit <node>`."
        ),
        subject=seat,
    )


def _card_missing(view: CardView, settings: RuleSettings) -> Trouble | None:
    card, node = view.card, view.node
    if card.present or view.trouble is not None or card.state not in SEATED_STATES:
        return None
    bus = _gone(view)
    if bus is None:
        return None
    return Trouble(
        action=settings.action,
        observed="absent",
        threshold="present",
        unit="presence",
        since=card.last_read_at,
        until=node.history.host_at or node.history.observed_at,
        reason=f"The card was last read in seat {card.pci or 'unknown'} of {card.node} on "
        f"{when(card.last_read_at)} and "
        f"is no longer listed there, nor has it been read on another node. {bus}",
        remedy="If somebody moved or removed it, record that (`muster quarantine` or `retire` with a "
        "reason). "
        f"Otherwise: {LADDER[0].lower()}{LADDER[1:]}",
    )


def _gone(view: CardView) -> str | None:
    """What the PCI bus adds, as a sentence; None where the card may be there and merely unseen.

    NVML that sees no card at all says nothing about a card: a job's cgroup hides cards from a session.
    """
    node, pci = view.node, view.card.pci
    if node.pci is not None and pci is not None:
        if pci.lower() not in node.pci:
            return "The PCI bus does not list it either."
        if pci.lower() in node.seated:
            return "Another card sits there now."
    if not node.listed or node.seen == 0:
        return None
    if node.pci is None or pci is None:
        return "Whether the PCI bus still lists it was not read."
    return "The PCI bus still lists the seat, so the driver gave the card up."


def _lost_seats(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    for trouble in _loose(node, frozenset({"lost"})):
        seat = trouble.pci or "unknown"
        yield Trouble(
            action=settings.action,
            observed=1,
            threshold=1,
            unit="losses/30d",
            since=None,
            until=node.history.observed_at,
            reason=f"The card in seat {seat} is lost and did not say who it is: it has fallen off the bus.",
            remedy=LADDER,
            subject=seat,
        )


def _hung_seats(node: NodeView, settings: RuleSettings) -> Iterable[Trouble]:
    for trouble in _loose(node, HUNG):
        yield _hung(settings, trouble.tries, None, node.history.observed_at, trouble.pci or "unknown")


def _loose(node: NodeView, outcomes: frozenset[str]) -> list[SeatTrouble]:
    return [trouble for trouble in node.loose if trouble.outcome in outcomes]


CARD_RULES = (
    Rule("retired-card-seen", card=_retired_card_seen),
    Rule("card-missing", card=_card_missing),
    Rule(
        "card-lost",
        card=_card_lost,
        node=_lost_seats,
        thresholds={"repeat": Threshold(EVENT_RATE, 1, 10_000)},
        actions=("repeated",),
    ),
    Rule(
        "card-hung",
        card=_card_hung,
        node=_hung_seats,
        thresholds={"tries": Threshold(READINGS, 1, 1000)},
        actions=("short",),
    ),
)
