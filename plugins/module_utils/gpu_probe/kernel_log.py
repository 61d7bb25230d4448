"""Xid and SXid lines of the kernel log with their times, from the first source that can be read."""

import re
import time

from . import log_sources
from .host import uptime
from .options import LOG_TEXT_MAX
from .values import is_unread, unread

PATHS = ("log", "log_source")

_EPOCH = re.compile(r"^(\d+\.\d+)\s")
_SINCE_BOOT = re.compile(r"^(?:<\d+>)?\[\s*(\d+\.\d+)\]\s")
_ISO = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s")
_SYSLOG = re.compile(r"^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)\s")
_PREFIX = re.compile(r"^(?:\S+ )?kernel:\s*(?:\[\s*\d+\.\d+\]\s*)?")
_DETAIL_MAX = 300


class Clock:
    """Turns the time at the head of a line into seconds since 1970."""

    def __init__(self, root, now):
        self.now = time.time() if now is None else float(now)
        up = uptime(root)
        self.boot = None if is_unread(up) else self.now - up

    def read(self, line):
        """(seconds or None, the line without its time)."""
        for pattern, convert in (
            (_SINCE_BOOT, self._since_boot),
            (_EPOCH, float),
            (_ISO, _iso),
            (_SYSLOG, self._syslog),
        ):
            match = pattern.match(line)
            if match:
                try:
                    return convert(match.group(1)), line[match.end() :]
                except ValueError:
                    return None, line
        return None, line

    def _since_boot(self, stamp):
        return None if self.boot is None else self.boot + float(stamp)

    def _syslog(self, stamp):
        """The year is not written: the latest one that does not lie in the future."""
        from datetime import datetime, timedelta  # in few logs, and loading it is not free

        today = datetime.fromtimestamp(self.now)
        at = datetime.strptime("%d %s" % (today.year, stamp), "%Y %b %d %H:%M:%S")
        if at > today + timedelta(days=1):
            at = at.replace(year=at.year - 1)
        return at.timestamp()


def worker(root, since, lines_max, now):
    """The work of the child that reads the kernel log."""

    def work(emit):
        emit(read(root, since, int(lines_max), Clock(root, now)))

    return work


def read(root, since, lines_max, clock):
    """{"log": lines or unread, "log_source": which, "log_detail": how it falls short of `since`}.

    No line found in a readable log is an empty list.
    """
    refusals = []
    for name, ask in log_sources.sources(root, since, lines_max):
        try:
            taken = ask()
        except log_sources.Unreadable as error:
            refusals.append("%s: %s" % (name, error))
            continue
        return facts(root, since, lines_max, clock, taken)
    reason = "no_permission" if any("ermi" in refusal for refusal in refusals) else "no_data"
    refused = unread(reason, "; ".join(refusals)[:_DETAIL_MAX])
    return {"log": refused, "log_source": refused, "log_detail": ""}


def facts(root, since, lines_max, clock, taken):
    """What a source gave, as facts; one that knows the present boot only is helped out by files of syslog."""
    lines, detail = _entries(taken, since, clock)
    names, details = [taken.name], [detail]
    if not taken.reaches_back and since is not None and clock.boot is not None and since < clock.boot:
        try:
            past = log_sources.older(root, since, lines_max)
        except log_sources.Unreadable as error:
            details.append("nothing before the present boot: %s" % error)
        else:
            earlier, detail = _entries(past, since, clock)
            lines = [entry for entry in earlier if _is_before(entry, clock.boot)] + lines
            names.append(past.name)
            details.append(detail)
    return {
        "log": lines[max(0, len(lines) - lines_max) :],
        "log_source": " and ".join(names),
        "log_detail": "; ".join(detail for detail in details if detail)[:_DETAIL_MAX],
    }


def _is_before(entry, boot):
    return not is_unread(entry["at"]) and entry["at"] < boot


def _entries(taken, since, clock):
    """(the lines as facts, none before `since`; which bound was met, unless `since` was reached before)."""
    found, detail = [], taken.detail
    for line in taken.lines:
        at, rest = clock.read(line)
        if at is not None and since is not None and at < since:
            detail = ""
            continue
        message = "".join(c if c.isprintable() else " " for c in _PREFIX.sub("", rest, count=1))
        entry = {"text": message.strip()[:LOG_TEXT_MAX]}
        entry["at"] = unread("no_data", "the line carries no time") if at is None else round(at, 6)
        found.append(entry)
    return found, detail


def _iso(stamp):
    from datetime import datetime

    return datetime.fromisoformat(_python38_iso(stamp)).timestamp()


def _python38_iso(stamp):
    """fromisoformat of Python 3.8 wants six digits of fraction, a colon in the offset and no Z."""
    match = re.match(r"^(.{19})(?:[.,](\d+))?(Z|[+-]\d\d:?\d\d)?$", stamp)
    if match is None:
        raise ValueError(stamp)
    head, fraction, offset = match.groups()
    offset = "+00:00" if offset == "Z" else (offset or "")
    if len(offset) == 5:
        offset = offset[:3] + ":" + offset[3:]
    return head.replace(" ", "T") + ("." + fraction[:6].ljust(6, "0") if fraction else "") + offset
