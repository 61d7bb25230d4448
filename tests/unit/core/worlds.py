"""Small worlds for the judge: a node and its cards, healthy unless the test says otherwise."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from lifecycle.adapters.policy_file import load_policy
from lifecycle.core.facts import Host
from lifecycle.core.history import CardHistory, HeatSample, NodeHistory, Sample, SeatTrouble
from lifecycle.core.quantities import MS_PER_DAY, MS_PER_MINUTE
from lifecycle.core.times import parse_iso

POLICY = load_policy()
AS_OF_TEXT = "2026-11-30T00:00:00Z"


def ms(text: str) -> int:
    return parse_iso(text, what="The time")


AS_OF = ms(AS_OF_TEXT)
READ_AT = ms("2026-11-29T23:40:00Z")

COUNTS = dict.fromkeys(
    (
        "dram_corrected",
        "dram_uncorrected",
        "sram_corrected",
        "sram_uncorrected",
        "total_corrected",
        "total_uncorrected",
    ),
    0,
)
NOT_SUPPORTED = {"unread": "not_supported"}
MEMORY: dict[str, Any] = {
    "ecc": {"volatile": dict(COUNTS), "aggregate": dict(COUNTS), "sram_threshold_exceeded": False},
    "remap": {"correctable": 0, "uncorrectable": 0, "pending": False, "failure": False},
    "retired_pages": {"single_bit": NOT_SUPPORTED, "double_bit": NOT_SUPPORTED, "pending": NOT_SUPPORTED},
    "health": {"recovery": "none", "inforom_valid": True},
}
STATIC: dict[str, Any] = {
    "identity": {"serial": "1322621001234", "name": "NVIDIA A100-SXM4-80GB"},
    "modes": {"ecc_current": True, "ecc_pending": True, "mig_current": False},
    "limits": {"temperature_slowdown_c": 89},
}
HOST: dict[str, Any] = {
    "nvml_state": "ok",
    "driver": {"module": "550.90.07", "userspace": "550.90.07"},
}


def merged(base: Mapping[str, Any], over: Mapping[str, Any] | None) -> dict[str, Any]:
    """base with over laid upon it, group by group; `{unread: reason}` on a group spoils all its readings."""
    result = copy.deepcopy(dict(base))
    for key, value in (over or {}).items():
        below = result.get(key)
        if isinstance(value, Mapping) and isinstance(below, dict) and "unread" not in below:
            result[key] = spoilt(below, value) if "unread" in value else merged(below, value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def spoilt(group: Mapping[str, Any], unread: Mapping[str, Any]) -> dict[str, Any]:
    """The group with every reading unread, however deep."""
    return {
        key: spoilt(value, unread) if isinstance(value, dict) and "unread" not in value else dict(unread)
        for key, value in group.items()
    }


def memory(over: Mapping[str, Any] | None = None) -> str:
    return json.dumps(merged(MEMORY, over))


def counted(corrected: int = 0, uncorrected: int = 0, **more: int) -> dict[str, Any]:
    """Memory overrides with DRAM aggregate counts and the totals that belong to them."""
    aggregate = {**COUNTS, "dram_corrected": corrected, "dram_uncorrected": uncorrected, **more}
    aggregate["total_corrected"] = aggregate["dram_corrected"] + aggregate["sram_corrected"]
    aggregate["total_uncorrected"] = aggregate["dram_uncorrected"] + aggregate["sram_uncorrected"]
    return {"ecc": {"aggregate": aggregate}}


def card(number: int = 1, **said: Any) -> CardHistory:
    """A card from the keys a case file may give; see tests/cases/rules."""
    readings = said.pop("readings", None)
    if readings is None:
        readings = [
            {"at": "2026-10-30T23:40:00Z"},
            {"at": "2026-11-29T23:40:00Z", "memory": said.pop("memory", None)},
        ]
    said.pop("memory", None)
    samples = [Sample(ms(r["at"]), memory(r.get("memory")), r.get("boot", "boot-1")) for r in readings]
    heat = [
        HeatSample(ms(at), celsius) for at, celsius in said.pop("heat", [(r["at"], 41) for r in readings])
    ]
    for hot in said.pop("hot", []):
        start, step = ms(hot["from"]), int(hot.get("every_s", 60)) * 1000
        steps = range(0, int(hot["minutes"] * MS_PER_MINUTE) + 1, step)
        heat += [HeatSample(start + passed, hot["celsius"]) for passed in steps]
    known: dict[str, Any] = {
        "uuid": f"GPU-{number}",
        "node": "gpu-17",
        "pci": f"0000:{6 + number:02x}:00.0",
        "state": "in_service",
        "present": True,
        "outcome": "ok",
        "last_read_at": samples[-1].at if samples else None,
        "static": json.dumps(merged(STATIC, said.pop("static", None))),
    }
    for key in ("last_read_at", "last_seen_at", "state_since"):
        if isinstance(said.get(key), str):
            said[key] = ms(said[key])
    if "failed" in said:
        said["failed"] = [(ms(at), outcome) for at, outcome in said["failed"]]
    if isinstance(said.get("live"), Mapping):
        said["live"] = json.dumps(said["live"])
    return CardHistory(**{**known, **said}, samples=samples, heat=sorted(heat, key=lambda sample: sample.at))


def node(cards: list[CardHistory], host: Mapping[str, Any] | None = None, **said: Any) -> NodeHistory:
    """A node with these cards; its host lists them on the PCI bus unless told otherwise."""
    here = [one for one in cards if one.present]
    listed = {"pci_gpus": [{"pci": one.pci} for one in here if one.pci], "nvml_cards": len(here)}
    known: dict[str, Any] = {
        "node": "gpu-17",
        "observed_at": READ_AT,
        "reach": "ok",
        "reach_detail": "",
        "simulated": False,
        "host": msgspec.convert(merged({**HOST, **listed}, host), Host),
        "host_at": READ_AT,
    }
    for key in ("observed_at", "host_at"):
        if isinstance(said.get(key), str):
            said[key] = ms(said[key])
    said["troubles"] = [SeatTrouble(**{"detail": "", **one}) for one in said.get("troubles", [])]
    return NodeHistory(**{**known, **said}, cards=cards)


def monthly(values: list[dict[str, Any] | None], first: int = AS_OF - 11 * 30 * MS_PER_DAY) -> list[Sample]:
    """One sample per 30 days from `first` on, with these memory overrides."""
    return [Sample(first + i * 30 * MS_PER_DAY, memory(over), "boot-1") for i, over in enumerate(values)]
