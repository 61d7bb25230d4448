"""When each node's kernel log was last read, beside the spool: from there the next reading takes it up.

One file per node, `<spool>/last_read/<percent-encoded node>`, holds seconds since 1970. A file that is
missing or damaged costs nothing but a longer look back.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import urllib.parse

SLACK_S = 3600.0  # an hour of lines is read twice rather than one lost where two clocks differ
FIRST_S = 31 * 86400.0  # before the first reading: the longest month, as sweeps run at least monthly
_NAME_MAX = 180  # a file name has 255 bytes at most
_CONTENT_MAX = 40  # a float written out has 24 characters at most


def since(spool, node, now):
    """From when on the log is to be read, in seconds since 1970; `now` is the present in the same."""
    try:
        with open(_place(spool, node), "rb") as stream:
            last = float(stream.read(_CONTENT_MAX))
    except (OSError, ValueError):
        last = math.nan
    if math.isnan(last) or last < 0:
        return max(0.0, now - FIRST_S)
    # A marker from the future stems from a clock that has been put right since.
    return max(0.0, min(last, now) - SLACK_S)


def note(spool, node, at):
    """Set the node's last reading to `at`, at once and whole. Raises OSError."""
    place = _place(spool, node)
    draft = "%s.%d" % (place, os.getpid())
    with contextlib.suppress(FileExistsError):
        os.mkdir(os.path.dirname(place), 0o700)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write("%.3f\n" % at)
    os.replace(draft, place)


def _place(spool, node):
    name = urllib.parse.quote(node, safe="")
    if name.startswith("."):  # "." and ".." are directories
        name = "%2E" + name[1:]
    if len(name) > _NAME_MAX:
        name = "%s-%s" % (name[:_NAME_MAX], hashlib.sha256(node.encode()).hexdigest()[:12])
    return os.path.join(spool, "last_read", name)
