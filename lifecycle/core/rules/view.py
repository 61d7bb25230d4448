"""What a rule sees: a card or node at as-of, with its evidence decoded when first asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lifecycle.core.facts import NOT_READ, Host, Unread
from lifecycle.core.history import CardHistory, HeatSample, NodeHistory, SeatTrouble
from lifecycle.core.quantities import WINDOW_MS
from lifecycle.core.rules import bodies
from lifecycle.core.rules.bodies import MemoryReading, Static
from lifecycle.core.states import FINAL

if TYPE_CHECKING:
    from lifecycle.core.rules.heat import NodeHeat

_at = attrgetter("at")

# Outcomes of reading a card (facts: CardRead) in which the card itself did not answer in time or at all.
HUNG = frozenset({"timed_out", "crashed"})
# States (contract 6.6) in which a node is out of service: not knowing about it is no news.
RESTING = frozenset({"in_repair", "spare", *FINAL})

# Looks one value up in a memory reading; None where it is unread. Flags are 0 and 1.
Reader = Callable[[MemoryReading], int | None]


class Flagged(NamedTuple):
    """The newest readable value of something latched, and when it was read."""

    value: int
    at: int
    reading: MemoryReading


class CardView:
    """One card at as-of. Samples after as-of do not exist for it.

    newest: what the newest memory body says, None where there is none. trouble: the seat's unnamed
    entry in the newest observation, where this card is the one that used to sit there. missing: what
    was not read, filled by the judge. calm: no flag, advice or volatile counter needs a closer look.
    """

    __slots__ = (
        "_static",
        "as_of",
        "calm",
        "card",
        "end",
        "missing",
        "newest",
        "newest_at",
        "node",
        "samples",
        "trouble",
    )

    def __init__(self, card: CardHistory, node: NodeView, trouble: SeatTrouble | None) -> None:
        self.card = card
        self.node = node
        self.as_of = node.as_of
        self.trouble = trouble
        samples = card.samples
        end = len(samples)
        if end and samples[-1].at > node.as_of:
            end = bisect_right(samples, node.as_of, key=_at)
        self.samples = samples
        self.end = end
        self.newest = bodies.memory(samples[end - 1].memory) if end else None
        self.newest_at = samples[end - 1].at if end else None
        self._static: Static | None = None
        self.missing = NOTHING_MISSING
        self.calm = self._is_calm()

    @property
    def static(self) -> Static:
        if self._static is None:
            self._static = bodies.static(self.card.static)
        return self._static

    @property
    def name(self) -> str | None:
        name = self.static.identity.name
        return name if isinstance(name, str) else None

    @property
    def outcome(self) -> str:
        """How the newest attempt to read this card went."""
        return self.trouble.outcome if self.trouble is not None else self.card.outcome

    @property
    def heat(self) -> Sequence[HeatSample]:
        """The GPU temperatures of the window, oldest first."""
        heat = self.card.heat
        if not heat:
            return heat
        low = bisect_left(heat, self.node.window_start, key=_at)
        high = len(heat) if heat[-1].at <= self.as_of else bisect_right(heat, self.as_of, key=_at)
        return heat[low:high]

    def backwards(self) -> Iterator[tuple[int, MemoryReading]]:
        """The samples from the newest to the oldest."""
        for index in range(self.end - 1, -1, -1):
            sample = self.samples[index]
            yield sample.at, bodies.memory(sample.memory)

    def latest(self, read: Reader) -> Flagged | None:
        """The newest value that `read` finds (anything but None); of one time, the highest.

        An unread sample hides nothing: what was last read still holds.
        """
        found: Flagged | None = None
        for at, reading in self.backwards():
            if found is not None and at < found.at:
                break
            value = read(reading)
            if value is not None and (found is None or value > found.value):
                found = Flagged(value, at, reading)
        return found

    def since(self, read: Reader, flag: Flagged) -> int:
        """When the flag was first read up, of the readings in a row that lead to it."""
        since = flag.at
        for at, reading in self.backwards():
            value = read(reading)
            if at > flag.at or value is None:
                continue
            if not value:
                break
            since = at
        return since

    def _is_calm(self) -> bool:
        newest = self.newest
        if newest is None:
            return True
        if newest.troubled or (self.end > 1 and self.samples[self.end - 2].at == self.newest_at):
            return False
        return newest.closed or not any(reading.troubled for _, reading in self.backwards())


class Missing(NamedTuple):
    """Unread readings as «name: reason»: what the policy needs, and what rules would also have used."""

    needed: list[str]
    optional: tuple[str, ...]


NOTHING_MISSING = Missing([], ())


class NodeView:
    """One node at as-of.

    loose: seat troubles that no card in service answers for. needs: what the policy must know of a card.
    heat: what the thermal rules work out once for all its cards. resting: nobody expects the node to be
    read, or to hold all its cards.
    """

    __slots__ = (
        "as_of",
        "cards",
        "heat",
        "history",
        "loose",
        "needs",
        "pci",
        "resting",
        "seated",
        "window_start",
    )

    def __init__(self, history: NodeHistory, as_of: int, needs: frozenset[str]) -> None:
        self.needs = needs
        self.history = history
        self.as_of = as_of
        self.window_start = as_of - WINDOW_MS
        self.heat: NodeHeat | None = None
        self.resting = history.state in RESTING
        self.pci = _pci_seats(history.host)
        self.seated = {c.pci.lower() for c in history.cards if c.present and c.pci}
        by_seat = {t.pci.lower(): t for t in history.troubles if t.pci}
        self.cards: list[CardView] = []
        used: set[str] = set()
        for card in history.cards:
            trouble = None
            if by_seat and card.state not in RESTING and self._left(card):
                seat = (card.pci or "").lower()
                trouble = by_seat.get(seat)
                if trouble is not None:
                    used.add(seat)
            self.cards.append(CardView(card, self, trouble))
        self.loose = [t for t in history.troubles if t.pci is None or t.pci.lower() not in used]

    def _left(self, card: CardHistory) -> bool:
        """The card is listed no longer, and no other card in its seat."""
        return not card.present and bool(card.pci) and (card.pci or "").lower() not in self.seated

    @property
    def nvml_state(self) -> str:
        host = self.history.host
        return host.nvml_state if host is not None else "not_read"

    @property
    def listed(self) -> bool:
        """In the newest readable observation the node's cards could be listed.

        Where NVML was asked and its number of cards is unread, no list is whole. A document that says
        nothing of that number (`not_read`) is taken by the cards it holds.
        """
        host = self.history.host
        if host is None:
            return False
        if isinstance(host.nvml_cards, Unread):
            return self.seen > 0 and host.nvml_cards.unread == NOT_READ.unread
        return self.nvml_state == "ok" or self.seen > 0

    @property
    def confined(self) -> bool:
        """The newest reader sat in a job's cgroup, which may have hidden cards from it."""
        host = self.history.host
        return host is not None and host.confined is True

    @property
    def hangs(self) -> bool:
        """Some card of the node did not answer, so tools that ask all cards may hang as well."""
        return any(view.outcome in HUNG for view in self.cards) or any(
            trouble.outcome in HUNG for trouble in self.history.troubles
        )

    @property
    def seen(self) -> int:
        """Cards in the newest readable observation, those without a name included."""
        return sum(1 for card in self.history.cards if card.present) + len(self.history.troubles)


def _pci_seats(host: Host | None) -> frozenset[str] | None:
    """The PCI addresses sysfs lists, None where that was not read."""
    if host is None or not isinstance(host.pci_gpus, list):
        return None
    return frozenset(gpu.pci.lower() for gpu in host.pci_gpus)
