"""What a rule is: code that looks at one card or node and answers with a trouble, or with silence.

A rule holds no number. Its thresholds, actions and their sources come from the policy as
`RuleSettings`; the rule only declares which it needs, so that the policy can be checked on load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from lifecycle.core.findings import ActionName
from lifecycle.core.quantities import Threshold

if TYPE_CHECKING:
    from lifecycle.core.rules.view import CardView, NodeView

Enforce = Literal["observe", "act"]
Observed = int | float | str | None


class Sourced(NamedTuple):
    """A plain number of the policy and where it comes from."""

    number: float
    source: str


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """One rule as the policy sets it, compiled to plain numbers (milliseconds, °C, 0 to 1).

    actions: what the rule asks for in named special cases. models: numbers of single card models, by
    `model_key`.
    """

    rule: str
    enabled: bool
    enforce: Enforce
    action: ActionName
    source: str
    numbers: Mapping[str, Sourced]
    actions: Mapping[str, ActionName] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Sourced]] = field(default_factory=dict)

    def number(self, name: str) -> float:
        return self.numbers[name].number

    def for_model(self, name: str, model: str | None) -> Sourced:
        """The number for one card model (its NVML name), or the general one."""
        if self.models and model is not None:
            override = self.models.get(model_key(model))
            if override is not None and name in override:
                return override[name]
        return self.numbers[name]


class Trouble(NamedTuple):
    """A rule's answer before it becomes a finding. since and until are epoch ms; subject refines the id."""

    action: ActionName
    observed: Observed
    threshold: Observed
    unit: str
    since: int | None
    until: int | None
    reason: str
    remedy: str
    source: str = ""
    subject: str = ""


CardCheck = Callable[["CardView", RuleSettings], "Trouble | None"]
NodeCheck = Callable[["NodeView", RuleSettings], Iterable[Trouble]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its id (also the name of its page and of its cases), its checks and what it declares.

    actions: the names of special cases for which the policy must say an action.
    """

    id: str
    card: CardCheck | None = None
    node: NodeCheck | None = None
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    actions: tuple[str, ...] = ()


@lru_cache(maxsize=1024)
def model_key(name: str) -> str:
    """A card model's name as it is compared: no case, no punctuation, no leading NVIDIA or Tesla."""
    words = "".join(ch if ch.isalnum() else " " for ch in name.lower()).split()
    while words and words[0] in ("nvidia", "tesla"):
        words = words[1:]
    return " ".join(words)
