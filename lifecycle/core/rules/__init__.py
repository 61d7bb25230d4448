"""All rules, in the order in which findings of equal severity are shown."""

from __future__ import annotations

from lifecycle.core.rules import counting, driver, memory, presence, reading, thermal
from lifecycle.core.rules.base import Rule

RULES: tuple[Rule, ...] = (
    *presence.CARD_RULES,
    *memory.RULES,
    *thermal.CARD_RULES,
    *driver.CARD_RULES,
    *reading.CARD_RULES,
    *driver.NODE_RULES,
    *counting.NODE_RULES,
    *thermal.NODE_RULES,
    *reading.NODE_RULES,
)
BY_ID = {rule.id: rule for rule in RULES}
