"""Sample fleets for the rendering tests: healthy, sick, hostile, empty, large. All made up."""

from __future__ import annotations

from lifecycle.core.findings import (
    ActionName,
    CardVerdict,
    Finding,
    NodeVerdict,
    PolicyStamp,
    Verdicts,
    finding_id,
)
from lifecycle.core.report import SweepSummary

AS_OF = "2026-11-30T00:00:00Z"
READ_AT = "2026-11-29T23:40:00Z"
GENERATED_AT = "2026-11-30T00:00:05Z"
POLICY = PolicyStamp("owner", "3f2a9c1d" * 8)
A100 = "NVIDIA A100-SXM4-80GB"
H100 = "NVIDIA H100 80GB HBM3"
L40S = "NVIDIA L40S"
T4 = "Tesla T4"


def finding(rule: str, action: ActionName, subject: str = "x", **changes: object) -> Finding:
    """A finding with plausible evidence; any field can be given."""
    values: dict[str, object] = {
        "id": finding_id(rule.encode("utf-8", "replace").decode(), subject),
        "rule": rule,
        "enforce": "act",
        "action": action,
        "observed": None,
        "threshold": None,
        "unit": "",
        "since": None,
        "until": READ_AT,
        "reason": f"{rule} found something",
        "remedy": "Look at it.",
        "source": "",
    }
    return Finding(**{**values, **changes})


ECC_MONTHLY = finding(
    "ecc-monthly",
    "retire",
    observed=137,
    threshold=100,
    unit="errors/30d",
    since="2026-10-31T00:00:00Z",
    until=AS_OF,
    reason="137 memory ECC errors in the 30 days to as-of (131 corrected, 6 uncorrected), more than 100.",
    remedy="Drain the node, take the card offline and propose it for retirement; a person confirms.",
    source="Owner's policy, policy/owner.yml. NVIDIA's own rules would ask for nothing yet.",
)
REMAP_FAILURE = finding(
    "row-remap-failure",
    "rma",
    observed="failure",
    reason="A row could not be remapped: the bank has no spare rows left.",
    remedy="Quarantine the card, run the field diagnostic and open an RMA case with its log.",
    source="NVIDIA GPU Memory Error Management, https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/",
)
REMAP_PENDING = finding(
    "row-remap-pending",
    "reset",
    observed="pending",
    since="2026-11-27T04:10:00Z",
    reason="Two rows wait for remapping since 27 November.",
    remedy="Drain the card and reset it; the remapping takes effect at the reset.",
    source="NVIDIA GPU Memory Error Management, https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/",
)
HOT = finding(
    "temperature-sustained",
    "watch",
    observed=91,
    threshold=88,
    unit="°C",
    since="2026-11-29T23:31:00Z",
    until=READ_AT,
    reason="91 °C, above 88 °C for 9 minutes; 15 minutes without a break would retire it.",
    remedy="Look at air flow, filters and fans of this seat.",
    source="Owner's policy, policy/owner.yml.",
)
MISMATCH = finding(
    "driver-mismatch",
    "reboot",
    observed="550.90.07",
    threshold="550.127.05",
    reason="The kernel runs module 550.90.07, the library is 550.127.05: NVML refuses to answer.",
    remedy="Drain and reboot the node, so that module and library come from the same package.",
    source="NVIDIA driver README, NVML_ERROR_LIB_RM_VERSION_MISMATCH.",
)
LOST = finding(
    "card-lost",
    "quarantine",
    observed=7,
    threshold=8,
    unit="cards",
    since="2026-11-29T21:02:00Z",
    reason="The card fell off the bus (Xid 79); NVML lists 7 of 8 cards.",
    remedy="Drain the node, power it off and on, reseat the card if it stays away.",
    source="NVIDIA Xid catalogue, Xid 79.",
)
UNREACHABLE = finding(
    "unread",
    "unknown",
    reason="The node did not answer SSH within 10 s.",
    remedy="Check power and network of the node, then sweep it again.",
)
ECC_TIMED_OUT = finding(
    "unread",
    "unknown",
    reason="NVML gave no answer for this card within 10 s.",
    remedy="Sweep the node again; if it repeats, drain it and look into its kernel log.",
)


def card(
    node: str, seat: int, name: str = A100, verdict: ActionName = "ok", **changes: object
) -> CardVerdict:
    """A card in a seat; its UUID and serial follow from node and seat."""
    digest = finding_id(node, str(seat))
    values: dict[str, object] = {
        "uuid": f"GPU-{digest[:8]}-{digest[8:12]}-4a5b-8c6d-{digest}",
        "serial": str(1_320_000_000_000 + int(digest[:8], 16)),
        "name": name,
        "node": node,
        "pci": f"0000:{7 + 16 * seat:02x}:00.0",
        "state": "in_service",
        "verdict": verdict,
        "observed_at": READ_AT,
        "stale": False,
        "complete": True,
        "missing": [],
        "findings": [],
    }
    return CardVerdict(**{**values, **changes})


def node(name: str, verdict: ActionName = "ok", **changes: object) -> NodeVerdict:
    values: dict[str, object] = {"node": name, "verdict": verdict, "findings": [], "observed_at": READ_AT}
    return NodeVerdict(**{**values, **changes})


def verdicts(cards: list[CardVerdict], nodes: list[NodeVerdict]) -> Verdicts:
    return Verdicts("verdicts/1", AS_OF, POLICY, "0.1.0", cards, nodes)


POOLS = {
    "train": [f"gpu-a100-0{n}" for n in range(1, 5)] + [f"gpu-h100-0{n}" for n in range(1, 4)],
    "infer": [f"gpu-l40s-0{n}" for n in range(1, 4)],
    "dev": ["gpu-t4-01", "gpu-t4-02"],
}
MODELS = {"a100": (A100, 8), "h100": (H100, 8), "l40s": (L40S, 4), "t4": (T4, 2)}
POOL_OF = {name: pool for pool, names in POOLS.items() for name in names}


def healthy() -> Verdicts:
    """Twelve nodes, three pools, every card well."""
    names = sorted(POOL_OF)
    cards = [
        card(name, seat, model)
        for name in names
        for model, seats in [MODELS[name.split("-")[1]]]
        for seat in range(seats)
    ]
    return verdicts(cards, [node(name) for name in names])


def sick(*, simulated: bool = False) -> Verdicts:
    """The same fleet with worn, hot, lost, unread and stale cards."""
    changes: dict[tuple[str, int], dict[str, object]] = {
        ("gpu-a100-01", 5): {"verdict": "retire", "findings": [REMAP_PENDING, ECC_MONTHLY]},
        ("gpu-a100-01", 7): {"verdict": "watch", "findings": [HOT]},
        ("gpu-a100-02", 2): {"verdict": "reset", "findings": [REMAP_PENDING]},
        ("gpu-a100-04", 0): {"verdict": "quarantine", "findings": [LOST], "state": "quarantined"},
        ("gpu-h100-02", 3): {"verdict": "rma", "findings": [REMAP_FAILURE]},
        ("gpu-h100-03", 1): {
            "verdict": "unknown",
            "complete": False,
            "findings": [ECC_TIMED_OUT],
            "missing": ["ecc: timed_out", "temperature: timed_out"],
        },
        ("gpu-l40s-02", 1): {"missing": ["power.enforced_limit_w: not_supported"]},
        ("gpu-l40s-02", 2): {"missing": ["power.enforced_limit_w: not_supported"]},
    }
    cards = []
    for base in healthy().cards:
        seat = (int((base.pci or "")[5:7], 16) - 7) // 16
        given = dict(changes.get((base.node, seat), {}))
        if base.node == "gpu-l40s-03":
            given |= {"verdict": "unknown", "stale": True, "complete": False}
            given["observed_at"] = "2026-10-20T08:00:00Z"
        cards.append(
            card(
                base.node,
                seat,
                base.name or A100,
                **{"verdict": "ok", "simulated": simulated, **given},
            )
        )
    special = {
        "gpu-l40s-03": node(
            "gpu-l40s-03", "unknown", findings=[UNREACHABLE], reach="unreachable", observed_at=None
        ),
        "gpu-l40s-01": node("gpu-l40s-01", "reboot", findings=[MISMATCH]),
    }
    return verdicts(cards, [special.get(name, node(name, simulated=simulated)) for name in sorted(POOL_OF)])


SWEEP = SweepSummary(
    started_at="2026-11-29T23:39:00Z",
    ended_at="2026-11-29T23:40:30Z",
    nodes_asked=12,
    nodes_read=12,
    cards_read=72,
    complete=True,
)
PARTIAL_SWEEP = SweepSummary(
    started_at="2026-11-29T23:39:00Z",
    ended_at="2026-11-29T23:42:30Z",
    nodes_asked=13,
    nodes_read=11,
    cards_read=68,
    complete=False,
    not_read={"gpu-l40s-03": "unreachable", "gpu-new-01": "the deadline of 600 s passed before it was asked"},
)

HOSTILE = (
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "</style><img src=x onerror=alert(1)>",
    "[red]markup[/red] [link=file:///etc/passwd]x[/link]",
    "{{ 7*7 }}{% raw %}",
    "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "line\nbreak\r\nContent-Type: text/html\ttab\0nul",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "a" + "\u0301" * 500,
    "n" * 10_000,
    "\ud800 lone",
    "javascript:alert(1)",
    "<!--", "]]>", "&lt;b&gt;", 'x"\\', "--", "",
)  # fmt: skip


def hostile() -> Verdicts:
    """Every free text of the document filled with text that wants to be code."""
    cards, nodes = [], []
    for number, text in enumerate(HOSTILE):
        evil = finding(text, "retire", reason=text, remedy=text, source=text, unit=text, observed=text,
                       threshold=text, since=text, until=text)  # fmt: skip
        name = f"{text}{number}"
        cards.append(
            CardVerdict(text, text, text, name, text, text, "retire", text, True, False, [text], [evil])
        )
        cards.append(
            CardVerdict(text, text, text, name, text, text, "unknown", text, True, False, [text], [])
        )
        cards.append(CardVerdict(text, text, text, name, text, text, "ok", text, False, True, [text], []))
        nodes.append(NodeVerdict(name, "unknown", [evil], text, text))
    return Verdicts("verdicts/1", AS_OF, PolicyStamp(HOSTILE[0], HOSTILE[5]), HOSTILE[1], cards, nodes)


def empty() -> Verdicts:
    return verdicts([], [])


def large(nodes: int = 1_000, seats: int = 8) -> Verdicts:
    """Many nodes of eight cards; one in forty has a card that asks for something."""
    kinds = (ECC_MONTHLY, REMAP_FAILURE, REMAP_PENDING, HOT, LOST)
    cards, judged = [], []
    for number in range(nodes):
        name = f"gpu-r{number // 20:02d}-{number % 20:02d}"
        judged.append(node(name))
        for seat in range(seats):
            if number % 40 == 7 and seat == number % seats:
                found = kinds[number // 40 % len(kinds)]
                cards.append(card(name, seat, H100, found.action, findings=[found]))
            else:
                cards.append(card(name, seat, H100))
    return verdicts(cards, judged)
