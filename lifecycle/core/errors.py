"""Errors a user can meet. Each says what happened, what it means and what to do next."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command (contract 6.2); scripts outside the project depend on them."""

    WELL = 0
    ACTION_NEEDED = 1
    MISUSE = 2
    INCOMPLETE = 3
    ACTION_FAILED = 4
    OUTCOME_UNKNOWN = 5
    LOCKED = 75


class MusterError(Exception):
    """Base of all errors shown to a user.

    happened: what was seen, with the names involved. means: the consequence, including what was
    left unchanged. remedy: the next step for the reader.
    """

    exit: Exit = Exit.MISUSE

    def __init__(self, happened: str, *, means: str, remedy: str) -> None:
        super().__init__(happened)
        self.happened = happened
        self.means = means
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.happened}\n  What it means: {self.means}\n  What to do:    {self.remedy}"


class BadDocument(MusterError):
    """A facts document that cannot be taken in."""


class BadPolicy(MusterError):
    """A policy file with an unknown key, a wrong unit or an impossible number."""


class BadArgument(MusterError):
    """A command line value that cannot be used."""


class NotFound(MusterError):
    """A card, node or file that the ledger or the disk does not have."""


class BadInventory(MusterError):
    """An inventory Ansible cannot read, or one without nodes to read."""


class LedgerUnavailable(MusterError):
    """The ledger cannot be opened or written: locked, read-only, full, or damaged."""


class LedgerTooNew(MusterError):
    """The ledger was written by a newer program."""


class Refused(MusterError):
    """A change of state that the rules forbid, such as releasing a retired card."""


class Locked(MusterError):
    """Another run holds the lock."""

    exit = Exit.LOCKED


class OutputFailed(MusterError):
    """The answer could not be written to standard output."""

    exit = Exit.INCOMPLETE


class RunnerFailed(MusterError):
    """Ansible could not be started, or ended without reading anything."""

    exit = Exit.INCOMPLETE
