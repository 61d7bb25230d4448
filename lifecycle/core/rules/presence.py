"""Rules about a card being there: lost, hung, missing and retired cards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lifecycle.core.history import SeatTrouble
from lifecycle.core.quantities import EVENT_RATE, READINGS, Threshold
from lifecycle.core.rules.base import Rule, RuleSettings, Trouble
from lifecycle.core.rules.bodies import says
from lifecycle.core.rules.view import HUNG, CardView, NodeView
from lifecycle.core.rules.words import number, times, when
from lifecycle.core.states import FINAL

# States in which a card is expected to sit in the seat where it was last seen (contract 6.6).
SEATED_STATES = frozenset({"enrolled", "in_service", "quarantined", "validating"})
# A card whose life has ended is no longer judged, only recognised.
FINAL_STATES = frozenset(FINAL)

LADDER = (
    "Save an nvidia-bug-report and the kernel log (Xid 79, PCIe AER lines), drain the node and reboot it; "
    "if the card "
    "stays away, power the server off and on, reseat the card and its cables, then try it in another seat."
)
CGROUP = (
    "A job's cgroup can hide a sound card from the reader too: `cat /proc/self/cgroup` in the session that "
    "reads the node names the job (slurm, job_) where one confines it."
)


def _retired_card_seen(view: CardView, settings: RuleSettings) -> Trouble | None:
    card, history = view.card, view.node.history
    if card.state not in FINAL_STATES or card.non_production:
        return None
    seen = card.last_seen_at if card.last_seen_at is not None else card.last_read_at
    if seen is None and card.present:
        seen = history.host_at
    if card.state_since is not None and seen is not None and seen <= card.state_since:
        return None
    if not card.present and (seen is None or not _may_sit_there(view)):
        return None
    still = (
        ""
        if card.present
        else " NVML lists it no longer, but nothing shows that its seat was emptied or given to another card."
    )
    return Trouble(
        action=settings.action,
        observed=card.state,
        threshold=None,
        unit="state",
        since=card.state_since,
        until=seen,
        reason=f"This card is {card.state}{_dated(card.state_since)} and was met again on {when(seen)} in "
        f"seat {card.pci or 'unknown'} of {card.node}, which is a production seat.{still} A retired card "
        "never returns to service.",
        remedy="Take the card out of the server and find out how it came back. If this seat is a "
        "laboratory, declare that: `muster_non_production: true` in the node's inventory.",
    )


def _may_sit_there(view: CardView) -> bool:
    """Whether a card that is no longer listed may still be in its seat: the PCI bus does not deny it."""
    pci, node = view.card.pci, view.node
    if pci is None:
        return node.pci is None or bool(node.pci - node.seated)
    return pci.lower() not in node.seated and (node.pci is None or pci.lower() in node.pci)


def _dated(since: int | None) -> str:
    return "" if since is None else f" since {when(since)}"


def _card_lost(view: CardView, settings: RuleSettings) -> Trouble | None:
    if not _lost_now(view):
        return None
    losses = _losses(view)
    limit = settings.number("repeat")
    again = losses >= limit
    history = f"It was lost {times(losses, 'time')} in 30 days: rebooting does not cure it. " if again else ""
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
    return _hung(view.node, settings, tries, view.card.last_read_at)


def _hung(node: NodeView, settings: RuleSettings, tries: int, since: int | None, seat: str = "") -> Trouble:
    limit = settings.number("tries")
    enough = tries >= limit
    who = f"The card in seat {seat}" if seat else "The card"
    return Trouble(
        action=settings.action if enough else settings.actions["short"],
        observed=tries,
        threshold=number(limit),
        unit="readings in a row",
        since=since,
        until=node.history.observed_at,
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
            else f"and read the node again: `muster sweep --limit {node.history.node}`."
        ),
        subject=seat,
    )


def _card_missing(view: CardView, settings: RuleSettings) -> Trouble | None:
    card, node = view.card, view.node
    if card.present or view.trouble is not None or card.state not in SEATED_STATES or node.resting:
        return None
    absence = _absence(view)
    if absence is None:
        return None
    return Trouble(
        action=settings.actions["hidden"] if absence.hidden else settings.action,
        observed="absent",
        threshold="present",
        unit="presence",
        since=card.last_read_at,
        until=node.history.host_at or node.history.observed_at,
        reason=f"The card was last read in seat {card.pci or 'unknown'} of {card.node} on "
        f"{when(card.last_read_at)} and "
        f"is no longer listed there, nor has it been read on another node. {absence.why}",
        remedy="Read the node from outside the job, with a user and session that no job's cgroup confines "
        f"(`muster sweep --limit {card.node}`); only then can the card be judged."
        if absence.hidden
        else "If somebody moved or removed it, record that (`muster quarantine` or `retire` with a "
        f"reason). Otherwise: {LADDER[0].lower()}{LADDER[1:]}",
    )


class _Absence(NamedTuple):
    """Why a card is not listed, as a sentence; hidden where it may well be there."""

    hidden: bool
    why: str


def _absence(view: CardView) -> _Absence | None:
    """What is known of a card that is not listed; None where it may be there and merely unseen.

    NVML that sees no card at all says nothing about a card, nor does a list that is not whole. The PCI bus
    is hidden by no cgroup.
    """
    node, pci = view.node, view.card.pci
    if pci is not None and pci.lower() in node.seated:
        return _Absence(False, "Another card sits there now.")
    on_bus = None if node.pci is None or pci is None else pci.lower() in node.pci
    if on_bus is False:
        return _Absence(False, "The PCI bus does not list it either.")
    if not node.listed or node.seen == 0:
        return None
    bus = "The PCI bus still lists the seat" if on_bus else "Whether the PCI bus still lists it was not read"
    if node.confined:
        return _Absence(True, f"{bus}, and the reader sat in a job's cgroup, which hides other jobs' GPUs.")
    return _Absence(False, f"{bus}{', so the driver gave the card up' if on_bus else ''}. {CGROUP}")


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
        yield _hung(node, settings, trouble.tries, None, trouble.pci or "unknown")


def _loose(node: NodeView, outcomes: frozenset[str]) -> list[SeatTrouble]:
    return [trouble for trouble in node.loose if trouble.outcome in outcomes]


CARD_RULES = (
    Rule("retired-card-seen", card=_retired_card_seen),
    Rule("card-missing", card=_card_missing, actions=("hidden",)),
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
