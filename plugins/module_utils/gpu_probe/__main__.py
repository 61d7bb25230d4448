"""`python -m gpu_probe [--plain]`: options as JSON on stdin, the answer on stdout.

Framed as the action plugin expects it (see frame.py), or as one line of JSON with --plain.
"""

import sys

from .program import main

main(sys.stdin.buffer.read(), plain="--plain" in sys.argv[1:])
