"""The probe: reads one node's GPUs and driver, and answers with one `probe/1` document.

It runs on the node, on Python 3.8 or later, with the standard library and pynvml. It travels there as
source (see payload.py) and is started by the action plugin `gpu_facts`, or by hand:
`python -m gpu_probe --plain < options.json` with `plugins/module_utils` on PYTHONPATH.
"""

VERSION = "0.1.0"
SCHEMA = "probe/1"
