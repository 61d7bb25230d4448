"""A reading is a value or an `Unread` with its reason; it is never zero for want of an answer."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

UnreadReason = Literal[
    "not_read",  # nobody asked, or the document lacks the key
    "not_supported",  # the card or platform has no such reading
    "disabled",  # the feature is switched off (ECC off, MIG off)
    "hidden_by_mig",  # readable only without MIG instances
    "no_permission",  # the reader lacked the right to ask
    "timed_out",  # no answer within the deadline
    "lost",  # NVML says the GPU is lost
    "reset_required",  # NVML refuses until the GPU is reset
    "not_in_driver",  # the driver is older (or newer) than the call
    "driver_not_loaded",
    "library_missing",  # no libnvidia-ml on the node
    "version_mismatch",  # loaded kernel module and userspace library differ
    "locked",  # a reset or flash holds the node's GPU lock
    "crashed",  # the child that read the card died
    "no_data",  # asked and answered, but empty, N/A or a sentinel that is not a count
    "unparseable",  # answered with something that is not the reading
    "unreachable",  # the node could not be reached
    "unknown_error",
]


class Unread(msgspec.Struct, frozen=True, omit_defaults=True):
    """A reading that has no value, and why. It never compares equal to zero and never passes a check."""

    unread: str
    detail: str = ""

    def __bool__(self) -> bool:
        return False


NOT_READ = Unread("not_read")

Text = str | Unread
MAX_FLOAT = 1e15
"""Readings that are floats are degrees, watts and seconds since 1970; the largest of them stay below 10^12.
Beyond 2^53 (9·10^15) a float no longer tells neighbouring integers apart."""

Count = int | Unread
# The bounds are checked where a document is decoded, at no cost: a number beyond them is no reading.
Number = Annotated[float, msgspec.Meta(ge=-MAX_FLOAT, le=MAX_FLOAT)] | Unread
Flag = bool | Unread


class Group(msgspec.Struct, frozen=True):
    """A group of readings; unknown keys in a document are ignored by readers (contract 6.3)."""
