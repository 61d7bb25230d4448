"""pynvml, or None where neither the payload nor the node has it."""

try:
    import pynvml
except ImportError:
    pynvml = None
