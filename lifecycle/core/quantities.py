"""Numbers with units as people write them in a policy: «88 °C», «15 min», «100 errors/30d»."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

MS_PER_SECOND = 1_000
MS_PER_MINUTE = 60 * MS_PER_SECOND
MS_PER_HOUR = 60 * MS_PER_MINUTE
MS_PER_DAY = 24 * MS_PER_HOUR

# The window of the owner's rules: contract 6.8, «the 30 days ending at as-of».
WINDOW_DAYS = 30
WINDOW_MS = WINDOW_DAYS * MS_PER_DAY

# GPU temperatures a card in service can have, in °C: above the first, up to the second. Anything else is
# what a broken sensor or driver prints (0, -40, 255, 65535, sentinels), and no reading. Below: NVIDIA's data
# centre cards are specified for 0 °C of air and more (NVIDIA A100 80GB PCIe product brief PB-10577-001,
# «Operating temperature»), and a powered chip is warmer than its air; exactly 0 is possible only there, and
# far more often a sensor without a value. Above: cards switch themselves off at 90 to 104 °C
# (shutdown thresholds in captures of V100 to H100 and GeForce); 150 leaves room for any model and stays
# below 255, a byte of ones.
PLAUSIBLE_CELSIUS = (0.0, 150.0)

_TEXT = re.compile(r"\s*(?P<number>[-+]?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(?P<unit>\S(?:.*\S)?)?\s*\Z")


@dataclass(frozen=True, slots=True)
class Unit:
    """A kind of quantity: the spellings it accepts, each with its factor to the plain number kept."""

    name: str
    example: str
    spellings: dict[str, float]


DURATION = Unit(
    "a duration",
    "15 min",
    {
        **dict.fromkeys(("s", "sec", "second", "seconds"), MS_PER_SECOND),
        **dict.fromkeys(("min", "minute", "minutes"), MS_PER_MINUTE),
        **dict.fromkeys(("h", "hour", "hours"), MS_PER_HOUR),
        **dict.fromkeys(("d", "day", "days"), MS_PER_DAY),
    },
)
CELSIUS = Unit("a temperature in °C", "88 °C", dict.fromkeys(("°C", "degC", "C"), 1))
ERROR_RATE = Unit("errors in 30 days", "100 errors/30d", dict.fromkeys(("errors/30d", "errors / 30 d"), 1))
EVENT_RATE = Unit("events in 30 days", "2 events/30d", dict.fromkeys(("events/30d", "events / 30 d"), 1))
ERRORS = Unit("a number of errors", "0 errors", dict.fromkeys(("errors", "error"), 1))
READINGS = Unit("a number of readings", "3 readings", dict.fromkeys(("readings", "reading"), 1))
CARDS = Unit("a number of cards", "3 cards", dict.fromkeys(("cards", "card"), 1))
SHARE = Unit("a share in percent", "50 %", dict.fromkeys(("%", "percent"), 0.01))


def plausible_celsius(value: float) -> bool:
    """Whether a GPU temperature in °C can be one: within PLAUSIBLE_CELSIUS, a number at all."""
    low, high = PLAUSIBLE_CELSIUS
    return low < value <= high


class BadQuantity(Exception):
    """A text that is not the quantity asked for; the message says why."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a rule expects of one of its numbers: the unit, and the range that can mean anything.

    low and high are in the plain number kept: milliseconds for durations, 0 to 1 for shares.
    """

    unit: Unit
    low: float
    high: float

    def parse(self, value: object) -> float:
        """The plain number behind «88 °C». Raises BadQuantity where it is none."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise BadQuantity(f"«{value}» has no unit")
        if not isinstance(value, str):
            raise BadQuantity(f"a {type(value).__name__} is not a number with a unit")
        match = _TEXT.match(value)
        if match is None:
            raise BadQuantity(f"«{value[:40]}» is not a number with a unit")
        if match["unit"] is None:
            raise BadQuantity(f"«{value[:40]}» has no unit")
        factor = self.unit.spellings.get(" ".join(match["unit"].split()))
        if factor is None:
            raise BadQuantity(f"«{match['unit'][:40]}» is not a unit of {self.unit.name}")
        number = float(match["number"]) * factor
        if not math.isfinite(number) or not self.low <= number <= self.high:
            raise BadQuantity(f"«{value[:40]}» is outside what {self.unit.name} can be here")
        return number
