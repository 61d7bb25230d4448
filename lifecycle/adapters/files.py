"""Files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from lifecycle.core.errors import BadArgument


def write_atomically(file: Path, text: str, *, mode: int = 0o644) -> None:
    """Write beside the target, flush to disk, rename over it. A reader sees the old or the new file.

    A symbolic link is followed; a device or pipe (/dev/stdout) is written to and never replaced.
    """
    try:
        file = file.resolve() if file.is_symlink() else file
        if file.exists() and not file.is_file():
            with file.open("w", encoding="utf-8") as stream:
                stream.write(text)
            return
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        part = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            part.chmod(mode)
            part.replace(file)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadArgument(
            f"{file} cannot be written: {error.strerror}.",
            means="The file is as it was before.",
            remedy="Name a file in a folder that exists and is writable, on a disk with room.",
        ) from error
