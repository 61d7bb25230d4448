"""Every error a user can meet says what happened, what it means and what to do."""

from __future__ import annotations

import pytest

from lifecycle.core import errors


def subclasses(root: type) -> list[type]:
    found = []
    for sub in root.__subclasses__():
        found += [sub, *subclasses(sub)]
    return found


@pytest.mark.parametrize(
    "kind", [errors.MusterError, *subclasses(errors.MusterError)], ids=lambda k: k.__name__
)
def test_an_error_cannot_be_made_without_meaning_and_remedy(kind: type[errors.MusterError]) -> None:
    with pytest.raises(TypeError):
        kind("it broke")  # type: ignore[call-arg]
    text = str(kind("It broke.", means="Nothing was changed.", remedy="Mend it."))
    assert text == "It broke.\n  What it means: Nothing was changed.\n  What to do:    Mend it."
    assert kind.__doc__


def test_the_exit_codes_are_those_of_the_contract() -> None:
    assert {e.name: int(e) for e in errors.Exit} == {
        "WELL": 0, "ACTION_NEEDED": 1, "MISUSE": 2, "INCOMPLETE": 3, "ACTION_FAILED": 4, "OUTCOME_UNKNOWN": 5,
        "LOCKED": 75,
    }  # fmt: skip
