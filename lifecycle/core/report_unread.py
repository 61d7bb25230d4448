"""What could not be read, and how old the rest is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from lifecycle.core.errors import BadArgument
from lifecycle.core.findings import Action, CardVerdict, Finding, NodeVerdict, Verdicts
from lifecycle.core.report_model import Age, Gap, NotRead, Subject, SweepSummary
from lifecycle.core.times import parse_iso

MS_PER_SECOND = 1_000


def epoch_seconds(moment: str | None) -> int | None:
    """Whole seconds since 1970 of an ISO 8601 time; None where there is none or it cannot be read."""
    if moment is None:
        return None
    try:
        return parse_iso(moment, what="A time in the report") // MS_PER_SECOND
    except BadArgument:
        return None


def age_seconds(observed_at: str | None, as_of: str) -> int | None:
    """Whole seconds from a reading to as-of, None where either is unknown.

    A reading dated after as-of (clocks differ) is of age 0.
    """
    read, now = epoch_seconds(observed_at), epoch_seconds(as_of)
    return None if read is None or now is None else max(0, now - read)


def card_subject(card: CardVerdict) -> Subject:
    """The card in its seat."""
    return Subject("card", card.node, card.pci, card.uuid, card.serial, card.name)


def seat_order(card: CardVerdict) -> tuple[str, str, str]:
    """Sort key: node, PCI address, UUID."""
    return card.node, card.pci or "", card.uuid


def last_read(node: NodeVerdict | None, cards: Iterable[str | None]) -> str | None:
    """The newest good reading of a node: of its cards, or of the node itself where it was reached."""
    times = [*cards, node.observed_at if node and node.reach == "ok" else None]
    known = [(seconds, moment) for moment in times if (seconds := epoch_seconds(moment)) is not None]
    return max(known)[1] if known else None


def is_unproven(card: CardVerdict) -> bool:
    """Whether a needed reading is missing and nothing else asks for action: a hung card under watch, say."""
    return card.verdict == "unknown" or (not card.complete and Action[card.verdict] < Action.reset)


def unread_subjects(verdicts: Verdicts, sweep: SweepSummary | None) -> list[NotRead]:
    """Unread nodes first, then the unproven cards of nodes that were read.

    What the sweep did not read counts until a reading from after its start says otherwise.
    """
    judged = {node.node: node for node in verdicts.nodes}
    swept = _still_unread(judged, sweep)
    dark = {name for name, node in judged.items() if node.reach != "ok"} | set(swept)
    doubtful = {
        name for name, node in judged.items() if node.verdict == "unknown" or _unknown(node.findings)[0]
    }
    held: dict[str, list[CardVerdict]] = {name: [] for name in dark}
    lit: list[CardVerdict] = []
    for card in sorted(verdicts.cards, key=seat_order):
        if card.node in dark:
            held[card.node].append(card)
        elif is_unproven(card):
            lit.append(card)
    nodes = [
        _unread_node(name, judged.get(name), swept.get(name), held.get(name), verdicts.as_of)
        for name in sorted(dark | doubtful)
    ]
    return nodes + _unread_cards(lit, verdicts.as_of)


def _still_unread(judged: dict[str, NodeVerdict], sweep: SweepSummary | None) -> dict[str, str]:
    if sweep is None:
        return {}
    start = epoch_seconds(sweep.started_at)

    def read_since(node: NodeVerdict | None) -> bool:
        at = epoch_seconds(node.observed_at) if node and node.reach == "ok" else None
        return at is not None and start is not None and at >= start

    return {name: why for name, why in sweep.not_read.items() if not read_since(judged.get(name))}


def _unknown(findings: list[Finding]) -> tuple[list[str], str | None]:
    """Reasons and first remedy of the findings that say «not known»."""
    unknown = [finding for finding in findings if finding.action == "unknown"]
    return [finding.reason for finding in unknown], unknown[0].remedy if unknown else None


def _unread_node(
    name: str, node: NodeVerdict | None, swept: str | None, cards: list[CardVerdict] | None, as_of: str
) -> NotRead:
    """cards: those last known in a node that was not reached; None where it was, but says too little."""
    reasons, remedy = _unknown(node.findings) if node else ([], None)
    observed_at = last_read(node, [card.observed_at for card in cards or ()])
    reach = node.reach.replace("_", " ") if node else "not read"
    return NotRead(
        node=name,
        whole_node=cards is not None,
        cards=[card_subject(card) for card in cards or ()],
        reasons=reasons or [swept or reach],
        remedy=remedy,
        observed_at=observed_at,
        age_s=age_seconds(observed_at, as_of),
    )


def _unread_cards(cards: list[CardVerdict], as_of: str) -> list[NotRead]:
    """One entry per node, reasons and time, so that one cause does not fill a page with eight cards."""
    grouped: dict[tuple[str, tuple[str, ...], str | None, str | None], list[Subject]] = {}
    for card in cards:
        reasons, remedy = _unknown(card.findings)
        if card.verdict != "unknown":
            # It is listed as watched too; the finding there knows better what to do (or not to touch).
            remedy = None
        why = tuple(reasons or card.missing) or ("the last reading is too old" if card.stale else "not read",)
        grouped.setdefault((card.node, why, remedy, card.observed_at), []).append(card_subject(card))
    return [
        NotRead(node, False, subjects, list(why), remedy, seen, age_seconds(seen, as_of))
        for (node, why, remedy, seen), subjects in grouped.items()
    ]


def reading_gaps(cards: list[CardVerdict]) -> list[Gap]:
    """Missing readings that no entry and no finding speaks of, the most frequent first."""
    quiet = [card for card in cards if not is_unproven(card) and not _unknown(card.findings)[0]]
    found = Counter(reading for card in quiet for reading in set(card.missing))
    return [Gap(reading, n) for reading, n in sorted(found.items(), key=lambda item: (-item[1], item[0]))]


def reading_ages(verdicts: Verdicts) -> list[Age]:
    """One entry per node and moment of reading, the oldest first."""
    grouped: dict[tuple[str, str | None, bool], list[Subject]] = {}
    for card in sorted(verdicts.cards, key=seat_order):
        grouped.setdefault((card.node, card.observed_at, card.stale), []).append(card_subject(card))
    ages = [
        Age(node, observed_at, age_seconds(observed_at, verdicts.as_of), stale, cards)
        for (node, observed_at, stale), cards in grouped.items()
    ]
    return sorted(ages, key=lambda age: (age.age_s is not None, -(age.age_s or 0), age.node))
