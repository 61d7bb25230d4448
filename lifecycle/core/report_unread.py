"""What could not be read, and how old the rest is."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from lifecycle.core.findings import CardVerdict, Finding, NodeVerdict, Verdicts
from lifecycle.core.report_model import Age, Gap, NotRead, Subject, SweepSummary


def epoch_seconds(moment: str | None) -> int | None:
    """Seconds since 1970 of an ISO 8601 time; None where there is none or it cannot be read.

    A time without an offset is taken as UTC.
    """
    if moment is None:
        return None
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp())


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


def unread_subjects(verdicts: Verdicts, sweep: SweepSummary | None) -> list[NotRead]:
    """Unread nodes first, then the unknown cards of nodes that were read.

    A node that a later observation read is not listed, whatever an older sweep said of it.
    """
    judged = {node.node: node for node in verdicts.nodes}
    swept = {name: why for name, why in (sweep.not_read if sweep else {}).items() if not _read(judged, name)}
    dark = {name for name, node in judged.items() if node.reach != "ok"} | set(swept)
    doubtful = {name for name, node in judged.items() if node.verdict == "unknown"}
    held: dict[str, list[Subject]] = {name: [] for name in dark}
    lit: list[CardVerdict] = []
    for card in sorted(verdicts.cards, key=seat_order):
        if card.node in dark:
            held[card.node].append(card_subject(card))
        elif card.verdict == "unknown":
            lit.append(card)
    nodes = [
        _unread_node(judged.get(name), name, swept.get(name), held.get(name, []), verdicts.as_of)
        for name in sorted(dark | doubtful)
    ]
    return nodes + _unread_cards(lit, verdicts.as_of)


def _read(judged: dict[str, NodeVerdict], name: str) -> bool:
    return name in judged and judged[name].reach == "ok"


def _unknown(findings: list[Finding]) -> tuple[list[str], str | None]:
    """Reasons and first remedy of the findings that say «not known»."""
    unknown = [finding for finding in findings if finding.action == "unknown"]
    return [finding.reason for finding in unknown], unknown[0].remedy if unknown else None


def _unread_node(
    node: NodeVerdict | None, name: str, swept: str | None, cards: list[Subject], as_of: str
) -> NotRead:
    reasons, remedy = _unknown(node.findings) if node else ([], None)
    observed_at = node.observed_at if node else None
    reach = node.reach.replace("_", " ") if node else "never read"
    return NotRead(
        node=name,
        whole_node=True,
        cards=cards,
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
        if card.stale and not reasons:
            reasons = ["the last reading is too old"]
        why = tuple(reasons + card.missing) or ("not read",)
        grouped.setdefault((card.node, why, remedy, card.observed_at), []).append(card_subject(card))
    return [
        NotRead(node, False, subjects, list(why), remedy, seen, age_seconds(seen, as_of))
        for (node, why, remedy, seen), subjects in grouped.items()
    ]


def reading_gaps(cards: list[CardVerdict]) -> list[Gap]:
    """Missing readings of cards that are judged all the same, the most frequent first."""
    found = Counter(reading for card in cards if card.verdict != "unknown" for reading in set(card.missing))
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
