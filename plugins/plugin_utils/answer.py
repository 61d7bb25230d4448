"""Taking in what a node answered. Everything in it is untrusted: it may be noise, too much, or hostile.

`parse` either returns a plain `probe/1` object or raises Unreadable with one sentence. It bounds the
size before and after decompression, the depth, the numbers and the number of cards, and takes control
characters out of every text, so that no later reader or terminal has to meet them.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib

MARK = "MUSTER-ANSWER/1"  # as in module_utils/gpu_probe/frame.py
_HEAD = re.compile(re.escape(MARK) + r" (\d{1,9}) ([0-9a-f]{8})\r?\n")

JSON_BYTES_MAX = 8 * 1024 * 1024  # sixteen cards with 36 links and full logs make under 1 MB
PACKED_MAX = 2 * JSON_BYTES_MAX  # base64 adds a third, and incompressible JSON cannot grow further
DEPTH_MAX = 12  # facts/1 is seven levels deep at most (cards, card, nvlink, link, reading)
CARDS_MAX = 128  # as in the probe's options
NUMBER_MAX = 2**63 - 1  # what ledgers and other JSON readers hold as an integer
EXCERPT_MAX = 500  # characters of a node's stderr that are worth a reader's time


class Unreadable(Exception):
    """The answer cannot be used; the message says why, in one sentence without the node's own words."""


def parse(stdout):
    """The node's `probe/1` object out of everything it printed."""
    return decode(_packed(stdout))


def _packed(stdout):
    """The base64 text between noise: the last frame, whole and with its checksum."""
    heads = list(_HEAD.finditer(stdout))
    if not heads:
        raise Unreadable("the node's output holds no answer")
    head = heads[-1]
    length = int(head.group(1))
    if length > PACKED_MAX:
        raise Unreadable("the answer is larger than %d bytes" % PACKED_MAX)
    packed = stdout[head.end() : head.end() + length]
    if len(packed) < length:
        raise Unreadable("the answer was cut off after %d of %d characters" % (len(packed), length))
    if zlib.crc32(packed.encode("utf-8", "replace")) != int(head.group(2), 16):
        raise Unreadable("the answer was altered on its way")
    return packed


def decode(packed):
    """The checked `probe/1` object in base64 text of zlib data."""
    try:
        raw = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unreadable("the answer is not base64") from error
    unpacker = zlib.decompressobj()
    try:
        body = unpacker.decompress(raw, JSON_BYTES_MAX)
    except zlib.error as error:
        raise Unreadable("the answer is not zlib data") from error
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise Unreadable("the answer unpacks to more than %d bytes or is cut off" % JSON_BYTES_MAX)
    return _shaped(_load(body))


def _load(body):
    try:
        return json.loads(
            body.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_int=_bounded_int,
            parse_float=_finite_float,
            object_pairs_hook=_unique,
        )
    except RecursionError as error:
        raise Unreadable("the answer is nested too deeply") from error
    except ValueError as error:
        raise Unreadable("the answer is not JSON") from error


def _refuse_constant(name):
    raise Unreadable("the answer holds %s, which is not a number" % name)


def _bounded_int(text):
    if len(text) > 20 or not -NUMBER_MAX <= int(text) <= NUMBER_MAX:
        raise Unreadable("the answer holds a number beyond 64 bits")
    return int(text)


def _finite_float(text):
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Unreadable("the answer holds a number beyond what a float can hold")
    return value


def _unique(pairs):
    whole = dict(pairs)
    if len(whole) != len(pairs):
        raise Unreadable("the answer holds a key twice")
    return whole


def _shaped(answer):
    """Check the outer shape and clean every text; the inner shape is for the reader of facts/1."""
    if not isinstance(answer, dict) or answer.get("schema") != "probe/1":
        raise Unreadable("the answer is not a probe/1 document")
    for name, kind in (("host", dict), ("cards", list), ("probe", dict), ("simulated", bool)):
        if not isinstance(answer.get(name), kind):
            raise Unreadable("the answer's %s is missing or of the wrong type" % name)
    if len(answer["cards"]) > CARDS_MAX:
        raise Unreadable("the answer has more than %d cards" % CARDS_MAX)
    if not all(isinstance(card, dict) for card in answer["cards"]):
        raise Unreadable("a card in the answer is not an object")
    return _cleaned(answer, DEPTH_MAX)


def _cleaned(value, room):
    if room == 0:
        raise Unreadable("the answer is nested deeper than %d levels" % DEPTH_MAX)
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): _cleaned(inner, room - 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, room - 1) for inner in value]
    return value


def printable(text):
    """The text with control characters, escapes and lone surrogates replaced by U+FFFD."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def excerpt(text):
    """The end of a node's stderr, short and harmless, in one line."""
    words = " ".join(text[-4 * EXCERPT_MAX :].split())
    return printable(words)[-EXCERPT_MAX:]
