"""The ways to ask NVML for a reading: each has a `name` and `ask(device)`, which returns the raw answer.

An attempt raises what pynvml raises; AttributeError where the binding lacks the name. The names are
those of pynvml, so that a table of attempts reads as a list of what is called.
"""

import ctypes

from .binding import pynvml
from .nvml import constant, field_number
from .values import is_unread, unread

# nvmlValueType_t -> member of the nvmlValue_t union (nvml.h).
_UNION = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
_COUNTER_TYPE = 3  # unsigned long long: what a time counter is, and what a switch or a percentage is not


class Call:
    """pynvml's function `name` with the handle and `arguments` (NVML_… names resolved)."""

    def __init__(self, name, *arguments):
        self.name = name
        self.arguments = arguments

    def ask(self, device):
        function = getattr(pynvml, self.name)
        return function(device.handle, *[constant(value) for value in self.arguments])


class Length(Call):
    """How many entries a call returns."""

    def ask(self, device):
        return len(Call.ask(self, device))


class Twice(Call):
    """The same answer for two paths with different forms."""

    def ask(self, device):
        answer = Call.ask(self, device)
        return answer, answer


class Part(Call):
    """One part of the tuple that a call returns."""

    def __init__(self, name, position):
        Call.__init__(self, name)
        self.position = position

    def ask(self, device):
        return Call.ask(self, device)[self.position]


class Member:
    """Members of the structure that a call returns: one value, or a tuple of several."""

    def __init__(self, name, arguments, *members):
        self.name = name
        self.call = Call(name, *arguments)
        self.members = members

    def ask(self, device):
        whole = self.call.ask(device)
        picked = tuple(getattr(whole, member) for member in self.members)
        return picked if len(picked) > 1 else picked[0]


class Filled:
    """A call that fills a structure of the caller: the whole of it, one member, or the sum of several.

    A sum with a sentinel in it is that sentinel.
    """

    def __init__(self, name, struct, *members):
        self.name = name
        self.struct = struct
        self.members = members

    def ask(self, device):
        filled = getattr(pynvml, self.struct)()
        getattr(pynvml, self.name)(device.handle, ctypes.byref(filled))
        if not self.members:
            return filled
        picked = [getattr(filled, member) for member in self.members]
        return max(picked) if max(picked) >= 2**63 - 16 else sum(picked)


class Sum:
    """The sum of those calls that this card supports; unread where it supports none of them."""

    def __init__(self, *calls):
        self.name = calls[0].name
        self.calls = calls

    def ask(self, device):
        total, answered = 0, False
        for call in self.calls:
            answer = device.ask((call,))
            if is_unread(answer):
                if answer["unread"] != "not_supported":
                    return answer
                continue
            total, answered = total + answer, True
        return total if answered else unread("not_supported", self.name)


class Passes:
    """1 where a call succeeds, 0 where it answers `code`."""

    def __init__(self, name, code):
        self.name = name
        self.code = code

    def ask(self, device):
        try:
            getattr(pynvml, self.name)(device.handle)
        except pynvml.NVMLError as error:
            if error.value == constant(self.code):
                return 0
            raise
        return 1


class Field:
    """A field value by its name; `scope` is the link of a per-link field."""

    def __init__(self, name, scope=0):
        self.name = name
        self.scope = scope

    def ask(self, device):
        number, moves = field_number(self.name, device.branch)
        if number is None:
            return unread("not_in_driver", "%s is not in driver branch %s" % (self.name, device.branch))
        answer = pynvml.nvmlDeviceGetFieldValues(device.handle, [(number, self.scope)])[0]
        if answer.nvmlReturn:
            raise pynvml.NVMLError(answer.nvmlReturn)
        if moves and answer.valueType != _COUNTER_TYPE:
            return unread("not_in_driver", "field %d answers something else than a time counter" % number)
        member = _UNION.get(answer.valueType)
        if member is None:
            return unread("unparseable", "value type %d" % answer.valueType)
        return getattr(answer.value, member)
