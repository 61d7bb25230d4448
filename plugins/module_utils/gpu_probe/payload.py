"""Packs the probe for its journey: its sources and pynvml's in one compressed piece, read from stdin.

Runs on the controller, inside Ansible or by hand:

    python payload.py --write FILE [--options JSON]    writes what a node reads on stdin
    python payload.py --boot                           prints the program that reads it

so that `ssh node "python3 -c '$(python payload.py --boot)'" < FILE` is the same read without Ansible.
"""

import argparse
import importlib.util
import json
import os
import shlex
import sys
import zlib

_CONTROLLER_ONLY = ("payload.py", "stripped_pynvml.py", "__main__.py")
LIMIT_BYTES = 100 * 1024  # what a node may be sent; the probe with all of pynvml is about 75 KB

# type(sys.__spec__) is ModuleSpec without the cost of importing importlib.machinery.
# Runs on the node as `python -c`, so it holds no single quote and no backslash, and it is valid in Python 2
# as well. It reads one line with two lengths, the compressed {module: source}, and the options. An
# interpreter that is too old looks for a newer one and starts that in its place.
BOOT = """
import os, sys
if sys.version_info < (3, 8):
    boot = open("/proc/self/cmdline").read().split(chr(0))[-2]
    for minor in range(30, 7, -1):
        for place in ("/usr/bin", "/usr/local/bin"):
            path = "%s/python3.%d" % (place, minor)
            if os.path.exists(path):
                os.execv(path, [path, "-I", "-c", boot])
    sys.stderr.write("MUSTER-NO-PYTHON " + sys.version.split()[0])
    sys.exit(127)
import gc, json, zlib
gc.disable()
read = sys.stdin.buffer.read
head = sys.stdin.buffer.readline(100).split()
sources = json.loads(zlib.decompress(read(int(head[1]))))
options = read(int(head[2]))
class Carried:
    def find_spec(self, name, path=None, target=None):
        if name in sources:
            return type(sys.__spec__)(name, self, is_package=name == "gpu_probe")
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(sources[module.__name__], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Carried())
from gpu_probe.program import main
main(options)
""".strip()

# Tried in this order after the interpreter that the inventory names; platform-python is RHEL's own.
INTERPRETERS = ("python3", "/usr/bin/python3", "/usr/local/bin/python3", "/usr/libexec/platform-python")
NO_PYTHON = "MUSTER-NO-PYTHON"


def probe_sources(directory=None):
    """{module name: source} of what runs on the node."""
    directory = directory or os.path.dirname(os.path.abspath(__file__))
    sources = {}
    for name in sorted(os.listdir(directory)):
        if name.endswith(".py") and name not in _CONTROLLER_ONLY:
            with open(os.path.join(directory, name), encoding="utf-8") as stream:
                module = "gpu_probe" if name == "__init__.py" else "gpu_probe." + name[:-3]
                sources[module] = stream.read()
    return sources


def pynvml_source():
    """The source of this machine's pynvml as one module, or None where it has none."""
    found = importlib.util.find_spec("pynvml")
    if found is None or not found.origin:
        return None
    place = found.origin
    if os.path.basename(place) == "__init__.py":  # the older package of that name, which wraps one module
        place = os.path.join(os.path.dirname(place), "nvml.py")
    try:
        with open(place, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return None


class Payload:
    """What travels: `code` is the same for every node of a play, the options are each node's own."""

    def __init__(self, sources, binding, cut=True):
        """`binding` is pynvml's source or None; `cut` leaves out what the probe does not use of it."""
        carried = dict(sources)
        if binding is not None:
            carried["pynvml"] = _cut(binding, sources.values()) if cut else binding
        self.has_binding = binding is not None
        self.code = zlib.compress(json.dumps(carried).encode("utf-8"), 9)

    def data(self, options):
        """The bytes for the probe's stdin."""
        chosen = json.dumps(options).encode("utf-8")
        return b"MUSTER-PROBE/1 %d %d\n" % (len(self.code), len(chosen)) + self.code + chosen

    def command(self, interpreter=None, source=None):
        """The POSIX shell line that starts the probe: the first interpreter there is, fed from stdin.

        `interpreter`: a path to try first. `source`: a file on the node to read instead of stdin.
        """
        # Isolated, so that a json.py in somebody's home is not imported; without site-packages where
        # nothing in them is needed, which starts faster.
        flags = "-I -S" if self.has_binding else "-I"
        candidates = " ".join(shlex.quote(name) for name in ([interpreter] if interpreter else []))
        candidates = (candidates + " " + " ".join(INTERPRETERS)).strip()
        feed = " < " + shlex.quote(source) if source else ""
        return (
            "for p in %s; do p=$(command -v $p 2>/dev/null) && exec $p %s -c '%s'%s; done; "
            "echo %s none >&2; exit 127" % (candidates, flags, BOOT, feed, NO_PYTHON)
        )


def _cut(binding, users):
    from .stripped_pynvml import strip

    try:
        cut = strip(binding, users)
        compile(cut, "pynvml", "exec")
    except (SyntaxError, ValueError):
        return binding
    return cut


def build(cut=True):
    """The payload from this checkout or collection and this machine's pynvml."""
    return Payload(probe_sources(), pynvml_source(), cut)


def main(arguments=None):
    """The command line described at the top of this file."""
    parser = argparse.ArgumentParser(description="Write what a node needs to run the probe without Ansible.")
    parser.add_argument("--write", metavar="FILE", help="write the payload with the options to FILE")
    parser.add_argument("--options", default="{}", metavar="JSON", help="options of the probe")
    parser.add_argument("--boot", action="store_true", help="print the program that reads the payload")
    parser.add_argument("--command", action="store_true", help="print the whole shell line for a node")
    parser.add_argument("--whole", action="store_true", help="carry all of pynvml, for measuring the cut")
    chosen = parser.parse_args(arguments)
    payload = build(cut=not chosen.whole)
    if chosen.write:
        with open(chosen.write, "wb") as stream:
            stream.write(payload.data(json.loads(chosen.options)))
    if chosen.boot:
        print(BOOT)
    if chosen.command:
        print(payload.command())


if __name__ == "__main__":
    # Started as a file: make the directory above importable as the package's home.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "gpu_probe"
    main()
