"""Writing facts documents into the spool, so that what was read survives whatever happens next."""

from __future__ import annotations

import hashlib
import json
import os
import re
import urllib.parse

_NAME_MAX = 180  # of the node's part; a file name has 255 bytes at most, and the digest keeps names apart
_DIGEST_HEX = 12  # as many as default_spool of the program takes
# No name of a user holds ":" or "/"; the password ends at the first "@", as SQLAlchemy reads it.
_PASSWORD = re.compile(r"^([^:/]*):[^@]*@")


def root(chosen, environment):
    """The spool's directory, absolute: the chosen one, else MUSTER_SPOOL, else the one of MUSTER_LEDGER.

    The program reads where this writes: the rule is stated at default_spool in
    lifecycle/adapters/spool.py, and tests/cases/default_spool.yml holds both sides to it.
    """
    chosen = chosen or environment.get("MUSTER_SPOOL")
    if chosen:
        return _full_path(chosen)
    xdg = environment.get("XDG_STATE_HOME", "")
    state = os.path.join(_full_path(xdg if xdg.startswith("/") else "~/.local/state"), "muster")
    return _beside_ledger(environment.get("MUSTER_LEDGER", ""), state)


def _beside_ledger(url, state):
    """The spool of the ledger with this URL; `state` is Muster's state directory."""
    scheme, separator, rest = url.partition("://")
    place, _, query = _PASSWORD.sub(r"\1@", rest).partition("?")
    backend = scheme.partition("+")[0]
    file = urllib.parse.unquote(place).removeprefix("/").removeprefix("file:")
    if not url or (backend == "sqlite" and _full_path(file) == os.path.join(state, "ledger.db")):
        return os.path.join(state, "spool")
    if backend == "sqlite" and file not in ("", ":memory:"):
        return _full_path(file) + ".spool"
    kept = "&".join(pair for pair in query.split("&") if not pair.startswith("password="))
    name = backend + separator + place + ("?" if kept else "") + kept
    return os.path.join(state, "spool-" + hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_HEX])


def _full_path(text):
    return os.path.abspath(os.path.expanduser(text))


def write(spool, document, epoch_ms):
    """Write the document durably and return its path. Raises OSError.

    It is complete on disk before it appears in `incoming`, and the appearance itself is durable when
    this returns.
    """
    incoming, temporary = os.path.join(spool, "incoming"), os.path.join(spool, "tmp")
    if not os.path.isdir(incoming) or not os.path.isdir(temporary):
        for directory in (spool, incoming, temporary):
            os.makedirs(directory, mode=0o700, exist_ok=True)
        _sync_directory(spool)
        _sync_directory(os.path.dirname(os.path.abspath(spool)))
    # Sorted, so that the same readings make the same bytes in whatever order the node's children answered.
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True)
    body = text.encode("utf-8")
    name = file_name(document["node"], epoch_ms, body)
    draft = os.path.join(temporary, "%s.%d" % (name, os.getpid()))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(body)
        stream.flush()
        os.fsync(stream.fileno())
    final = os.path.join(incoming, name)
    os.replace(draft, final)
    _sync_directory(incoming)
    return final


def file_name(node, epoch_ms, body):
    """<percent-encoded node>-<epoch ms>-<12 hex of sha256>.json"""
    encoded = urllib.parse.quote(node, safe="")[:_NAME_MAX]
    return "%s-%d-%s.json" % (encoded, epoch_ms, hashlib.sha256(body).hexdigest()[:12])


def _sync_directory(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
