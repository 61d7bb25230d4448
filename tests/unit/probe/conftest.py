"""Makes the probe importable as the package that it is on a node."""

from __future__ import annotations

import sys

from node_double import MODULE_UTILS

sys.path.insert(0, str(MODULE_UTILS))
