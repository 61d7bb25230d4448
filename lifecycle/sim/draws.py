"""Numbers that look random and are the same for the same seed on every machine and Python."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Draws:
    """A source of draws: each is named, and its value depends on the seed and the name alone."""

    seed: int

    def hexadecimal(self, *name: object) -> str:
        """64 hexadecimal digits."""
        return hashlib.sha256("/".join(map(str, (self.seed, *name))).encode()).hexdigest()

    def between(self, low: int, high: int, *name: object) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.hexadecimal(*name)[:15], 16) % (high - low + 1)

    def chance(self, percent: int, *name: object) -> bool:
        """True in `percent` of a hundred names."""
        return self.between(0, 99, *name) < percent

    def uuid(self, *name: object) -> str:
        """Eight, four, four, four and twelve hexadecimal digits."""
        raw = self.hexadecimal(*name)
        return "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:32]))

    def digits(self, count: int, *name: object) -> str:
        """So many decimal digits."""
        return str(int(self.hexadecimal(*name), 16))[:count]
