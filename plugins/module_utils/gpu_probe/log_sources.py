"""Where a node's kernel log can be read: the journal, the kernel's own buffer, or files of syslog.

A month of it is read on a node whose time is not ours: only wanted lines are kept, and each source is
bounded in lines, bytes and seconds. Where a bound is met, what was read by then counts, and `detail` says
so; the journal is read backwards, so that it is the newest lines.
"""

import collections
import os
import re
import zlib

from .files import under
from .options import COMMAND_S, LOG_BLOCK_BYTES, LOG_BYTES_MAX, LOG_COMMAND_S

WANTED = re.compile(r"\bS?Xid\b|fallen off the bus")
_HINTS = (b"Xid", b"fallen off")  # one of these is in every wanted line; to pass over the others quickly
_JOURNAL_RUNS = "/run/systemd/journal"
_JOURNAL_KEPT = "/var/log/journal"  # without it the journal is lost with the boot (journald.conf, Storage=)
_FILES = ("/var/log/kern.log", "/var/log/messages", "/var/log/syslog")
_ROTATED_MAX = 10  # parts of one log; logrotate keeps four weeks or seven days by default
_KMSG_RECORD = 8192  # one read returns one record; the kernel's own limit is CONSOLE_EXT_LOG_MAX, 8 KiB


class Unreadable(Exception):
    """A source that cannot be read, with the reason."""


Taken = collections.namedtuple("Taken", "name lines detail reaches_back")
"""`lines`: wanted ones, the oldest first. `detail`: which bound was met. `reaches_back`: beyond the boot."""


def sources(root, since, most):
    """(name, function that returns Taken or raises Unreadable), in the order in which they are tried."""
    if root == "/":
        yield "journal", lambda: journal(since, most)
        yield "kmsg", lambda: _kmsg(most)
        yield "dmesg", lambda: _dmesg(most)
    for path in _FILES:
        yield path, lambda path=path: _syslog(root, path, since, most)


def older(root, since, most):
    """What the files of syslog hold, for a source that does not reach beyond the boot.

    Raises Unreadable where none of them can be read.
    """
    refusals = []
    for path in _FILES:
        try:
            return _syslog(root, path, since, most)
        except Unreadable as error:
            refusals.append("%s: %s" % (path, error))
    raise Unreadable("; ".join(refusals))


def journal(since, most, runs=_JOURNAL_RUNS, kept=_JOURNAL_KEPT):
    """Kernel lines of the journal, of earlier boots too where it keeps them.

    An empty answer counts only where the journal shows a kernel line at all: a user without the right to
    see them gets none.
    """
    if not os.path.isdir(runs):
        raise Unreadable("no journal runs here")
    base = ["journalctl", "-q", "--no-pager", "-o", "short-unix", "_TRANSPORT=kernel"]
    span = [] if since is None else ["--since=@%d" % int(since)]
    lines, size, detail = command([*base, *span, "-r"], LOG_COMMAND_S, most, newest_first=True)
    if not size and not command([*base, "-n", "1"], COMMAND_S, most)[1]:
        raise Unreadable("the journal shows no kernel line; permission may be missing")
    return Taken("journal", lines[::-1], detail, os.path.isdir(kept))


def _dmesg(most):
    lines, _, detail = command(["dmesg"], COMMAND_S, most)
    return Taken("dmesg", lines, detail, False)


def command(words, seconds, most, newest_first=False):
    """(wanted lines in the order printed, bytes seen, which bound was met) of a command's output."""
    import subprocess  # only where there is a journal or no /dev/kmsg
    import threading

    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise Unreadable(error.strerror) from error
    late = threading.Event()

    def give_up():
        late.set()
        process.kill()

    timer = threading.Timer(seconds, give_up)
    timer.start()
    try:
        lines, size, detail = scan(process.stdout, most, newest_first)
        if detail:
            process.kill()
        status = process.wait()
    finally:
        timer.cancel()
        process.stdout.close()
    if late.is_set() and not detail:
        detail = "not read to its end within %g s" % seconds
    if status and not (detail and size):
        raise Unreadable(detail or "%s ended with status %d" % (words[0], status))
    return lines, size, detail


def scan(stream, most, newest_first=False):
    """(wanted lines, bytes seen, which bound was met); at most `most` lines, the newest of them."""
    kept = collections.deque(maxlen=None if newest_first else most)
    size = found = 0
    for read, whole in _whole_lines(stream):
        size += read
        lines = _wanted(whole)
        found += len(lines)
        kept.extend(lines)
        if size > LOG_BYTES_MAX or (newest_first and found > most):
            break
    detail = ""
    if found > most:
        detail = "more than %d lines; the newest are here" % most
    elif size > LOG_BYTES_MAX:
        detail = "not read beyond %d MB" % (LOG_BYTES_MAX // 2**20)
    return list(kept)[:most], size, detail


def _whole_lines(stream):
    """(bytes read, whole lines among them) again and again; a line longer than a block is cut."""
    rest = b""
    while True:
        block = stream.read(LOG_BLOCK_BYTES)
        if not block:
            yield 0, rest
            return
        ends = block.rfind(b"\n") + 1
        yield len(block), rest + block[:ends] if ends else b""
        rest = block[ends:] if ends else (rest + block)[:LOG_BLOCK_BYTES]


def _wanted(whole):
    if not any(hint in whole for hint in _HINTS):
        return []
    likely = (line for line in whole.split(b"\n") if any(hint in line for hint in _HINTS))
    texts = (line.decode("utf-8", "replace") for line in likely)
    return [text for text in texts if WANTED.search(text)]


def _kmsg(most):
    """Records of /dev/kmsg in dmesg's form; reading it takes nothing away from other readers."""
    try:
        device = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise Unreadable(error.strerror) from error
    lines = collections.deque(maxlen=most)
    try:
        for record in _records(device):
            head, _, message = record.partition(";")
            fields = head.split(",")
            if len(fields) > 2 and fields[2].isdigit() and WANTED.search(message):
                lines.append("[%.6f] %s" % (int(fields[2]) / 1e6, message.split("\n")[0]))
    finally:
        os.close(device)
    return Taken("kmsg", list(lines), "", False)


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


def _syslog(root, path, since, most):
    """The newest lines of a log file and of its rotated parts that reach into the time asked for."""
    lines, details, room = [], [], LOG_BYTES_MAX
    for part in [path, *_rotated(root, path, since)]:
        if room <= 0 or len(lines) >= most > 0:
            details.append("%s and what is older was not read" % part)
            break
        try:
            found, size, detail = _part(under(root, part), most, room)
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or "damaged"
            if part == path:
                raise Unreadable(why) from error
            found, size, detail = [], 0, why
        lines[:0] = found
        room -= size
        details += ["%s: %s" % (part, detail)] if detail else []
    return Taken(path, lines[max(0, len(lines) - most) :], "; ".join(details), True)


def _rotated(root, path, since):
    """kern.log.1, messages-20251123.gz and the like, the newest first; none where `since` is None."""
    if since is None:
        return []
    directory, name = os.path.split(path)
    found = []
    try:
        for entry in os.scandir(under(root, directory)):
            if entry.name.startswith((name + ".", name + "-")) and entry.is_file(follow_symlinks=False):
                found.append((entry.stat().st_mtime, "%s/%s" % (directory, entry.name)))
    except OSError:
        return []
    return [part for written, part in sorted(found, reverse=True) if written >= since][:_ROTATED_MAX]


def _part(place, most, room):
    """As `scan`, of one file: of its last `room` bytes, or of what a packed one begins with."""
    if place.endswith(".gz"):
        import gzip  # only where a log was rotated since

        with gzip.open(place, "rb") as stream:
            return scan(stream, most)
    with open(place, "rb") as stream:
        before = max(0, os.fstat(stream.fileno()).st_size - room)
        stream.seek(before)
        lines, size, detail = scan(stream, most)
    if before and not detail:
        detail = "only its last %d MB were read" % (room // 2**20)
    return lines, size, detail
