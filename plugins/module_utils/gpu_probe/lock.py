"""The node's GPU lock: readers share it; what resets a card or flashes it holds it alone.

Whoever may open the file may lock it, and an ordinary user who locked it alone would stop every reading
and every reset. So the file is root's and others may not open it:

- root makes it (mode 0600), takes others' rights off it, and puts a new one in the place of a file that is
  somebody else's, once nobody holds that. Who wants readings without root to share it makes it in advance
  for their group: `install -m 0640 -g GROUP /dev/null /run/lock/muster-gpu.lock` (tmpfiles.d after a boot).
- anybody else opens a file that is there, root's or their own, and never makes one.

Where no lock can be had, the reading goes on without it and says so: it is a reset that must not.
"""

import errno
import fcntl
import os
import stat
import time

from .files import under

_POLL_S = 0.05
_MOVES_MAX = 10  # each is another reader that puts a file of root's there; two at once are rare
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MODE = 0o600
_TAKEN = "taken"
_MOVED = "moved"


class _Without(Exception):
    """The lock cannot be had, and why."""


def take(root, path, wait_s):
    """(file descriptor or None, state, detail); state is "held", "busy" or "without".

    "busy": somebody held it alone for all of `wait_s`, so NVML must not be opened. "without": there is
    no lock that could be taken, which is said and does not stop a reading. The descriptor is kept until
    the process ends: a child that hangs in the driver goes on holding the lock, because its open handle
    does block a reset.
    """
    try:
        descriptor = _wait(under(root, path), wait_s)
    except OSError as error:
        return None, "without", "read without the lock %s: %s" % (path, error.strerror)
    except _Without as error:
        return None, "without", "read without the lock %s: %s" % (path, error)
    if descriptor is None:
        return None, "busy", "the lock %s is held by a reset or a flash" % path
    return descriptor, "held", ""


def _wait(place, wait_s):
    """The descriptor that holds the lock, or None where somebody else held it all the time."""
    end, moves = time.monotonic() + wait_s, 0
    while True:
        descriptor, why = _try(place)
        if descriptor is not None:
            return descriptor
        if why == _MOVED and moves < _MOVES_MAX:
            moves += 1
            continue
        if time.monotonic() >= end:
            if why != _TAKEN:
                raise _Without(why)
            return None
        time.sleep(_POLL_S)


def _try(place):
    """(descriptor that holds the lock, "") or (None, why not now)."""
    descriptor = _open(place)
    kept = False
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise _Without("it is not a file")
        if not _is_ours(descriptor, about):
            return None, _replace(place, descriptor, about)
        if not _flock(descriptor, fcntl.LOCK_SH):
            return None, _TAKEN
        kept = _still_there(place, about)
        return (descriptor, "") if kept else (None, _MOVED)
    finally:
        if not kept:
            os.close(descriptor)


def _open(place):
    try:
        return os.open(place, _OPEN)
    except FileNotFoundError:
        if os.geteuid() != 0:
            raise
    try:
        return os.open(place, _OPEN | os.O_CREAT | os.O_EXCL, _MODE)
    except FileExistsError:  # another reader was faster
        return os.open(place, _OPEN)


def _is_ours(descriptor, about):
    """Whether the file may serve as the lock; as root, others' rights are taken off it."""
    if os.geteuid() != 0:
        if about.st_uid not in (0, os.geteuid()):
            raise _Without("it belongs to user %d" % about.st_uid)
        return True
    if about.st_uid != 0:
        return False
    if about.st_mode & stat.S_IRWXO:
        os.fchmod(descriptor, stat.S_IMODE(about.st_mode) & ~stat.S_IRWXO)
    return True


def _replace(place, descriptor, about):
    """Put a file of root's in the place of somebody else's; says why not while somebody holds that."""
    if not _flock(descriptor, fcntl.LOCK_EX):
        return "it belongs to user %d, and somebody holds it" % about.st_uid
    draft = "%s.%s" % (place, os.urandom(8).hex())
    os.close(os.open(draft, _OPEN | os.O_CREAT | os.O_EXCL, _MODE))
    if _still_there(place, about):
        os.rename(draft, place)
    else:
        os.unlink(draft)
    return _MOVED


def _still_there(place, about):
    """Whether the path still leads to the opened file: another reader may have put a new one there."""
    try:
        return os.path.samestat(about, os.lstat(place))
    except FileNotFoundError:
        return False


def _flock(descriptor, how):
    """Whether the lock was to be had at once. Raises OSError where there are no locks at all."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True
