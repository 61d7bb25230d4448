"""Wrapping what a node answered into a `facts/1` document under the name that the inventory gives it."""

from __future__ import annotations

from datetime import datetime, timezone

SCHEMA = "facts/1"


def moment(epoch_ms):
    """2026-11-30T00:00:00.000Z for milliseconds since 1970."""
    seconds, milliseconds = divmod(epoch_ms, 1000)
    stamp = datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return "%s.%03dZ" % (stamp, milliseconds)


def envelope(node, epoch_ms, expected_cards=None, pool=None, non_production=False):
    """What the controller knows of a node at one time: nothing of it comes from the node.

    epoch_ms: milliseconds since 1970 on the controller's clock. The others are what the inventory says, or
    None and False.
    """
    return {
        "schema": SCHEMA,
        "node": node,
        "observed_at": moment(epoch_ms),
        "expected_cards": expected_cards,
        "pool": pool,
        "non_production": non_production,
    }


def read(known, answer):
    """The document for a node that answered, `known` being its envelope; only
    the parts named here are taken from the answer.
    """
    probe = answer["probe"]
    return {
        **known,
        "reach": "ok",
        "reach_detail": "",
        "simulated": answer["simulated"],
        "reader": {
            "name": "probe",
            "version": str(probe.get("version", ""))[:40],
            "tier": str(probe.get("tier", ""))[:40],
        },
        "host": answer["host"],
        "cards": answer["cards"],
    }


def not_read(known, reach, detail, version):
    """The document for a node that could not be read: why, and no host and no cards."""
    return {
        **known,
        "reach": reach,
        "reach_detail": detail,
        "simulated": False,
        "reader": {"name": "probe", "version": version, "tier": "passive"},
    }
