"""The node's GPU lock: readers share it; what resets a card or flashes it holds it alone."""

import errno
import fcntl
import os
import time

from .files import under

_POLL_S = 0.05


def take(root, path, wait_s):
    """(file descriptor or None, state, detail); state is "held", "busy" or "without".

    "busy": somebody held it alone for all of `wait_s`, so NVML must not be opened. "without": there is
    no lock that could be taken, which is said and does not stop a reading. The descriptor is kept until
    the process ends: a child that hangs in the driver goes on holding the lock, because its open handle
    does block a reset.
    """
    place = under(root, path)
    try:
        descriptor = _open(place)
    except OSError as error:
        return None, "without", "read without the lock %s: %s" % (path, error.strerror)
    owner = os.fstat(descriptor).st_uid
    if owner not in (0, os.geteuid()):
        os.close(descriptor)
        return None, "without", "read without the lock %s: it belongs to user %d" % (path, owner)
    return _wait(descriptor, path, wait_s)


def _open(place):
    """Open the lock file, or make it. Opening comes first: sticky directories may forbid O_CREAT on it."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(place, flags)
    except FileNotFoundError:
        return os.open(place, flags | os.O_CREAT, 0o644)


def _wait(descriptor, path, wait_s):
    end = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return descriptor, "held", ""
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                return None, "without", "read without the lock %s: %s" % (path, error.strerror)
        if time.monotonic() >= end:
            os.close(descriptor)
            return None, "busy", "the lock %s is held by a reset or a flash" % path
        time.sleep(_POLL_S)
