"""Xid and SXid lines of the kernel log with their times, from the first source that can be read."""

import collections
import os
import re
import time

from .files import under
from .host import uptime
from .options import COMMAND_S, LOG_BYTES_MAX, LOG_COMMAND_S, LOG_TEXT_MAX
from .values import is_unread, unread

PATHS = ("log", "log_source")

_WANTED = re.compile(r"\bS?Xid\b|fallen off the bus")
_EPOCH = re.compile(r"^(\d+\.\d+)\s")
_SINCE_BOOT = re.compile(r"^(?:<\d+>)?\[\s*(\d+\.\d+)\]\s")
_ISO = re.compile(r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s")
_SYSLOG = re.compile(r"^([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)\s")
_PREFIX = re.compile(r"^(?:\S+ )?kernel:\s*(?:\[\s*\d+\.\d+\]\s*)?")
_FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog")
_KMSG_RECORD = 8192  # one read returns one record; the kernel's own limit is CONSOLE_EXT_LOG_MAX, 8 KiB


class Unreadable(Exception):
    """A source that cannot be read, with the reason."""


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
        emit(read(root, since, lines_max, Clock(root, now)))

    return work


def read(root, since, lines_max, clock):
    """{"log": lines or unread, "log_source": which}. No line found in a readable log is an empty list."""
    refusals = []
    for name, source in _sources(root, since):
        try:
            lines = _select(source(), since, lines_max, clock)
        except Unreadable as error:
            refusals.append("%s: %s" % (name, error))
            continue
        return {"log": lines, "log_source": name}
    reason = "no_permission" if any("ermi" in refusal for refusal in refusals) else "no_data"
    refused = unread(reason, "; ".join(refusals)[:300])
    return {"log": refused, "log_source": refused}


def _sources(root, since):
    if root == "/":
        yield "journal", lambda: _journal(since)
        yield "kmsg", _kmsg
        yield "dmesg", lambda: _command(["dmesg"], COMMAND_S)
    for path in _FILES:
        yield path, lambda path=path: _file(under(root, path))


def _select(lines, since, lines_max, clock):
    """The newest wanted lines, oldest first, none before `since`."""
    kept = collections.deque(maxlen=int(lines_max))
    for line in lines:
        if not _WANTED.search(line):
            continue
        at, rest = clock.read(line)
        if at is not None and since is not None and at < since:
            continue
        message = "".join(c if c.isprintable() else " " for c in _PREFIX.sub("", rest, count=1))
        entry = {"text": message.strip()[:LOG_TEXT_MAX]}
        entry["at"] = unread("no_data", "the line carries no time") if at is None else round(at, 6)
        kept.append(entry)
    return list(kept)


def _journal(since):
    """Lines of the journal. An empty answer counts only where the journal has kernel lines at all."""
    if not os.path.isdir("/run/systemd/journal"):
        raise Unreadable("no journal runs here")
    base = ["journalctl", "-q", "--no-pager", "-o", "short-unix"]
    span = ["-k"] if since is None else ["_TRANSPORT=kernel", "--since=@%d" % int(since)]
    lines = list(_command(base + span, LOG_COMMAND_S))
    if not lines and not list(_command([*base, "-k", "-n", "1"], COMMAND_S)):
        raise Unreadable("the journal shows no kernel line; permission may be missing")
    return lines


def _command(command, seconds):
    """The lines a command prints that are wanted, or one line where it prints others only."""
    import subprocess  # only where there is a journal or no /dev/kmsg
    import threading

    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise Unreadable(error.strerror) from error
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        wanted, some, whole = _drain(process.stdout)
        if not whole:
            process.kill()
        status = process.wait()
    finally:
        timer.cancel()
    if status:
        raise Unreadable("%s ended with status %d" % (command[0], status))
    return wanted or some


def _drain(stream):
    """(wanted lines, one other line, whether all was read)"""
    wanted, some, size = [], [], 0
    for raw in stream:
        size += len(raw)
        if size > LOG_BYTES_MAX:
            return wanted, some, False
        line = raw.decode("utf-8", "replace").rstrip("\n")
        if _WANTED.search(line):
            wanted.append(line)
        elif not some:
            some.append(line)
    return wanted, some, True


def _kmsg():
    """Records of /dev/kmsg in dmesg's form; reading it takes nothing away from other readers."""
    try:
        device = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise Unreadable(error.strerror) from error
    lines = []
    try:
        for record in _records(device):
            head, _, message = record.partition(";")
            fields = head.split(",")
            if len(fields) > 2 and fields[2].isdigit():
                lines.append("[%.6f] %s" % (int(fields[2]) / 1e6, message.split("\n")[0]))
    finally:
        os.close(device)
    return lines


def _records(device):
    size = 0
    while size < LOG_BYTES_MAX:
        try:
            raw = os.read(device, _KMSG_RECORD)
        except BrokenPipeError:
            continue  # records were overwritten while reading; the next read goes on with the oldest left
        except BlockingIOError:
            return
        except OSError as error:
            raise Unreadable(error.strerror) from error
        size += len(raw)
        if not raw:
            return
        yield raw.decode("utf-8", "replace")


def _file(path):
    """The last part of a log file, at most LOG_BYTES_MAX of it."""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - LOG_BYTES_MAX))
            return stream.read(LOG_BYTES_MAX).decode("utf-8", "replace").splitlines()
    except OSError as error:
        raise Unreadable(error.strerror) from error


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
