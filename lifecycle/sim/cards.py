"""The life of the demo fleet's nodes: what the simulated NVML library of a node holds at a moment.

Pure: the same plan, draws and moment give the same description (see nvml.py for its keys).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lifecycle.sim.draws import Draws
from lifecycle.sim.plan import CardPlan, FleetPlan, Heat, NodePlan, models, since, total

MONTH_S = 30 * 86400
HOUR_S = 3600
_MIB = 1 << 20
_NS = 1_000_000_000
_GPU_IDLE, _SW_THERMAL = 0x1, 0x20  # clocks-event reasons
_MISMATCH = 18  # NVML_ERROR_LIB_RM_VERSION_MISMATCH
_EVENTLESS = CardPlan(story="nothing out of the ordinary")

# What this project chose to make the fleet look lived in.
_BUSY_PERCENT = 65
_REBOOT_PERCENT = 18
_STRAY_ERROR_PERCENT = 4
_STRAY_ERRORS_MAX = 3
_SPREAD_C = 4
_HOT_MEMORY_ABOVE_C = 3


@dataclass(frozen=True)
class Moment:
    """A time in the fleet's life: `at` in seconds since 1970, `age` in months before now.

    hot: the heat of the plan is on. now: the present, in which the seats' faults hold too.
    """

    at: int
    age: int
    hot: bool = False
    now: bool = False


@dataclass(frozen=True)
class Life:
    """A fleet with its plan and its draws."""

    plan: FleetPlan
    draws: Draws

    def moments(self, node: str, now: int) -> list[Moment]:
        """The times at which the node was read before now, oldest first: monthly, and through its heat."""
        monthly = [
            Moment(now - age * MONTH_S + self.draws.between(0, HOUR_S, "sweep", node, age), age)
            for age in range(self.plan.months, 0, -1)
        ]
        return monthly + [
            Moment(now - int(heat.hours_ago * HOUR_S) + turn * heat.every_s, 0, hot=True)
            for heat in self.plan.heat
            if heat.node == node
            for turn in range(heat.samples)
        ]

    def present(self, now: int) -> Moment:
        return Moment(now, 0, hot=True, now=True)

    def occupant(self, seat: str, age: int) -> str:
        """The key of the card in a seat: the seat it was built into, with +age if it replaced another."""
        held = seat
        for move in sorted(self.plan.moves, key=lambda move: -move.age):
            if move.age < age or seat not in move.seats:
                continue
            if move.kind == "replaced":
                held = f"{seat}+{move.age}"
            else:
                held = next(other for other in move.seats if other != seat)
        return held

    def sent_back(self, now: int) -> list[tuple[str, int]]:
        """UUID and time (epoch seconds) of every card that another one replaced."""
        return [
            (card_uuid(self, self.occupant(seat, move.age + 1)), now - move.age * MONTH_S)
            for move in self.plan.moves
            if move.kind == "replaced"
            for seat in move.seats
        ]

    def boot_age(self, node: str, age: int) -> int:
        """The age of the last boot at `age`: driver changes and moved cards need one, others happen."""
        moved = {move.age for move in self.plan.moves if any(s.startswith(node + "/") for s in move.seats)}
        changed = {int(key) for key in self.plan.nodes[node].drivers}
        for past in range(age, self.plan.months):
            chance = past > 0 and self.draws.chance(_REBOOT_PERCENT, "reboot", node, past)
            if past in moved or past in changed or chance:
                return past
        return self.plan.months

    def uptime(self, node: str, moment: Moment) -> int:
        """Seconds since the last boot, which came some hours before that month's reading."""
        boot = self.boot_age(node, moment.age)
        lead = self.draws.between(2 * HOUR_S, 9 * HOUR_S, "boot", node, boot)
        return max(HOUR_S, (boot - moment.age) * MONTH_S + lead)

    def busy(self, node: str, moment: Moment) -> bool:
        heated = moment.hot and any(heat.node == node for heat in self.plan.heat)
        return heated or self.draws.chance(_BUSY_PERCENT, "busy", node, moment.age)

    def heat(self, node: str, slot: int, moment: Moment) -> Heat | None:
        if not moment.hot:
            return None
        return next((heat for heat in self.plan.heat if heat.node == node and slot in heat.slots), None)


def card_uuid(life: Life, key: str) -> str:
    """The UUID of the card with this key."""
    return "GPU-" + life.draws.uuid("uuid", key)


def driver_of(plan: NodePlan, age: int) -> str:
    """The version of the kernel module at `age`."""
    return since(plan.drivers, age) or min(plan.drivers.values())


def userspace_of(plan: NodePlan, moment: Moment) -> str:
    """The version of the installed library; where it differs from the module, NVML does not open."""
    newer = since(plan.userspace, moment.age) if moment.now else None
    return newer or driver_of(plan, moment.age)


def slots_of(life: Life, node: str, moment: Moment) -> Iterator[int]:
    """The occupied slots of a node."""
    for slot in range(life.plan.nodes[node].cards):
        seat = life.plan.seats.get(f"{node}/{slot}")
        if not (moment.now and seat and seat.absent):
            yield slot


def node_at(life: Life, node: str, moment: Moment) -> dict[str, Any]:
    """The description that the simulated library of this node reads."""
    plan = life.plan.nodes[node]
    userspace = userspace_of(plan, moment)
    cuda = models()["models"][plan.model]["cuda"][userspace.split(".")[0]]
    described: dict[str, Any] = {
        "about": "simulated: invented serial numbers, identifiers and counts",
        "driver": userspace,
        "nvml": f"{cuda // 1000}.{userspace}",
        "cuda": cuda,
        "missing_functions": list(plan.missing_functions),
        "cards": [card_at(life, node, slot, moment) for slot in slots_of(life, node, moment)],
    }
    if userspace != driver_of(plan, moment.age):
        described["init"] = _MISMATCH
    return described


def card_at(life: Life, node: str, slot: int, moment: Moment) -> dict[str, Any]:
    """One card of the description."""
    plan = life.plan.nodes[node]
    model = models()["models"][plan.model]
    key = life.occupant(f"{node}/{slot}", moment.age)
    card = dict(model["card"])
    card.update(_identity(life, key, slot, model))
    card.update(_errors(life, node, key, moment))
    card.update(_links(life, model, node))
    card.update(_condition(life, node, slot, moment, model))
    branch = int(driver_of(plan, moment.age).split(".")[0])
    card["gsp"] = driver_of(plan, moment.age)
    card["persistence"] = plan.persistence
    if branch >= models()["recovery_action_since_branch"]:
        story = life.plan.cards.get(key, _EVENTLESS)
        card["recovery"] = since(story.recovery, moment.age) or 0
    seat = life.plan.seats.get(f"{node}/{slot}")
    if moment.now and seat:
        card["faults"] = seat.faults
    return card


def _identity(life: Life, key: str, slot: int, model: dict[str, Any]) -> dict[str, Any]:
    return {
        "uuid": card_uuid(life, key),
        "serial": "165" + life.draws.digits(10, "serial", key),
        "pci": model["pci"][slot],
        "minor": slot,
        "module_id": slot + 1,
    }


def _corrected(life: Life, key: str, age: int) -> int:
    story = life.plan.cards.get(key, _EVENTLESS)
    stray = sum(
        life.draws.between(1, _STRAY_ERRORS_MAX, "stray", key, past)
        for past in range(age, life.plan.months + 1)
        if life.draws.chance(_STRAY_ERROR_PERCENT, "stray?", key, past)
    )
    return total(story.corrected, age) + stray


def _errors(life: Life, node: str, key: str, moment: Moment) -> dict[str, Any]:
    """Counters of the card's life, and since the last driver load; remaps and retired pages."""
    story, age, boot = life.plan.cards.get(key, _EVENTLESS), moment.age, life.boot_age(node, moment.age)
    corrected, uncorrected = _corrected(life, key, age), total(story.uncorrected, age)
    recent = [corrected - _corrected(life, key, boot), uncorrected - total(story.uncorrected, boot)]
    card: dict[str, Any] = {
        "ecc": {"0": {"2": recent, "7": [0, 0]}, "1": {"2": [corrected, uncorrected], "7": [0, 0]}}
    }
    for name, by_age in (("remapped", story.remapped), ("histogram", story.histogram)):
        value = since(by_age, age)
        if value is not None:
            card[name] = value
    pages = total(story.retired_single, age)
    if pages:
        card["retired"] = {"0": [0x1000 * (page + 7) for page in range(pages)], "1": []}
    if life.plan.nodes[node].model != "t4":
        card["sram_status"] = {"aggregateCor": 0, "volatileCor": 0, "bThresholdExceeded": 0}
    return card


def _links(life: Life, model: dict[str, Any], node: str) -> dict[str, Any]:
    links: dict[str, Any] = {}
    if model["links"]:
        link = {"state": 1, "speed_mbps": model["link_mbps"], "counters": [0, 0, 0, 0]}
        links["nvlink"] = [link] * model["links"]
    if model["fabric"]:
        cluster = list(bytes.fromhex(life.draws.hexadecimal("cluster", node)[:32]))
        links["fabric"] = {"state": 3, "status": 0, "cliqueId": 0, "clusterUuid": cluster, "healthMask": 0}
    return links


def _condition(life: Life, node: str, slot: int, moment: Moment, model: dict[str, Any]) -> dict[str, Any]:
    """What changes from reading to reading: heat, power, clocks, memory, processes."""
    busy, heat = life.busy(node, moment), life.heat(node, slot, moment)
    state, at = model["load" if busy else "idle"], (node, slot, moment.at)
    celsius = state["celsius"] + life.draws.between(-_SPREAD_C, _SPREAD_C, "celsius", *at)
    if heat:
        celsius = life.draws.between(*heat.celsius, "hot", *at)
    condition: dict[str, Any] = {
        "temperature": {"0": celsius},
        "power_mw": state["milliwatts"] + 10 * life.draws.between(-900, 900, "power", *at),
        "clocks": {"0": state["sm_mhz"], "1": state["sm_mhz"], "2": state["memory_mhz"]},
        "reasons": _SW_THERMAL if heat else 0 if busy else _GPU_IDLE,
        "utilisation": {
            "gpu": life.draws.between(83, 100, "util", *at) if busy else 0,
            "memory": life.draws.between(30, 60, "memory", *at) if busy else 0,
        },
        "replays": life.draws.between(0, 3, "replays", node, slot),
        "processes": [],
    }
    if state["memory_celsius"] is not None:
        above = _HOT_MEMORY_ABOVE_C if heat else state["memory_celsius"] - state["celsius"]
        condition["memory_temperature"] = celsius + above
    if model["margin_from_c"] is not None:
        condition["margin"] = {"marginTemperature": model["margin_from_c"] - celsius}
    condition.update(_throttling(life, node, moment, heat))
    if busy:
        used = model["card"]["memory"]["total"] * life.draws.between(55, 90, "used", *at) // 100
        used -= used % _MIB
        condition["memory"] = {**model["card"]["memory"], "used": used}
        condition["processes"] = [{"pid": pid_of(life, node, slot, moment), "memory": used}]
    return condition


def _throttling(life: Life, node: str, moment: Moment, heat: Heat | None) -> dict[str, Any]:
    plan, hours = life.plan.nodes[node], life.uptime(node, moment) // HOUR_S
    thermal = heat.samples * heat.every_s * _NS if heat else 0
    numbers = models()["reason_counters"]["by_branch"].get(driver_of(plan, moment.age).split(".")[0], [])
    return {
        "violations": {"0": hours * life.draws.between(0, 9, "capped", node) * _NS, "1": thermal},
        "fields": dict(zip(map(str, numbers), (thermal, 0, 0), strict=False)),
    }


def pid_of(life: Life, node: str, slot: int, moment: Moment) -> int:
    """The process that works on a busy card."""
    return life.draws.between(20_000, 60_000, "pid", node, moment.age) + slot
