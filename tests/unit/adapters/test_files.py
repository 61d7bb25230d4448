"""Files are written whole, and only files are replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifecycle.adapters.files import write_atomically
from lifecycle.core.errors import BadArgument


def test_a_file_is_replaced_whole_and_no_draft_is_left(tmp_path: Path) -> None:
    (tmp_path / "page").write_text("old")
    write_atomically(tmp_path / "page", "new")
    assert (tmp_path / "page").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["page"]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", "page")
    assert os.read(reader, 100) == b"page"
    assert (tmp_path / "pipe").is_fifo()
    os.close(reader)


@pytest.mark.parametrize("name", ["missing/page", "folder"])
def test_what_cannot_be_written_is_named_with_a_remedy(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadArgument, match="cannot be written") as caught:
        write_atomically(tmp_path / name, "page")
    assert "writable" in caught.value.remedy
