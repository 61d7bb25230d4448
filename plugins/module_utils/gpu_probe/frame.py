"""How the answer stands on stdout, so that banners and noise around it do not matter.

    MUSTER-ANSWER/1 <length> <crc32 in hexadecimal>
    <base64 of zlib of JSON, `length` characters>

The checksum is over the base64 text. It finds accidents on the way, which is all a checksum that the
sender makes can find; a stronger one would cost the node the loading of OpenSSL.
"""

import base64
import json
import zlib

MARK = "MUSTER-ANSWER/1"
_LEVEL = 1  # ten times faster than 9 for an answer a quarter larger; the nodes' time counts more


def encode(answer):
    """The framed bytes of a JSON-able answer."""
    body = json.dumps(answer, separators=(",", ":"), allow_nan=False).encode("utf-8")
    packed = base64.b64encode(zlib.compress(body, _LEVEL))
    head = "\n%s %d %08x\n" % (MARK, len(packed), zlib.crc32(packed))
    return head.encode("ascii") + packed + b"\n"
