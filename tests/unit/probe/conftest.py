"""Makes the probe importable as the package that it is on a node."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_double import MODULE_UTILS

sys.path.insert(0, str(MODULE_UTILS))


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that other users reach, which tmp_path is not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
