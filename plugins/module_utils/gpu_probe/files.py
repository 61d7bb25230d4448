"""Reading small files below a root: bounded, and with a reason where it does not work."""

import os

from .options import FILE_BYTES_MAX
from .values import text, unread


def under(root, path):
    """The path below the root; both are absolute."""
    return path if root == "/" else os.path.join(root, path.lstrip("/"))


def os_reason(error, path):
    """The unread reading that an OSError means."""
    if isinstance(error, FileNotFoundError):
        return unread("no_data", "no " + path)
    if isinstance(error, PermissionError):
        return unread("no_permission", path)
    return unread("unknown_error", "%s: %s" % (path, error.strerror))


def read_raw(root, path, limit=FILE_BYTES_MAX):
    """At most `limit` bytes as text. Raises OSError."""
    with open(under(root, path), "rb") as stream:
        return stream.read(limit).decode("utf-8", "replace")


def read_text(root, path):
    """The file's content as a fact: printable text or unread."""
    try:
        return text(read_raw(root, path))
    except OSError as error:
        return os_reason(error, path)


def names(root, path):
    """Sorted names in a directory; empty where it cannot be listed."""
    try:
        return sorted(os.listdir(under(root, path)))
    except OSError:
        return []


def link_name(root, path):
    """The last part of what a symbolic link points to, or None."""
    try:
        return os.path.basename(os.readlink(under(root, path)))
    except OSError:
        return None


def exists(root, path):
    return os.path.exists(under(root, path))
