"""`make bench`: every bench in turn. Ratios of things measured side by side, never wall-clock limits.

`--small` runs each at a reduced size, to show that they run; the ratios of a small run mean nothing.
"""

from __future__ import annotations

import sys

from tests.bench import judge, ledger, sweep

SMALL_NODES = 50


def main(arguments: list[str]) -> int:
    """1 where a target is missed at full size, 2 for unknown arguments."""
    small = arguments == ["--small"]
    if arguments and not small:
        print("usage: python -m tests.bench [--small]", file=sys.stderr)
        return 2
    options = ["--small"] if small else []
    codes = [ledger.main(SMALL_NODES if small else ledger.NODES), judge.main(options), sweep.main(options)]
    return 0 if small else max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
