"""What is done to whole segment files: copied, and set aside under another name (shell).

Nothing of a log is ever deleted but by `storage.retention`: what is not to be read any more
keeps its bytes, and has a name that neither we nor Hadoop take for a segment's.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import Final

from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory, replacing
from howdah.storage.segments import list_segments

log = logging.getLogger(__name__)

STALE: Final = ".stale"
"""It ends before, or goes beyond, what was decided."""
CORRUPT: Final = ".corrupt"
"""Another directory has it sound."""
TRASH: Final = ".trash"
"""A rolling upgrade was rolled back, and it came after."""

COPY_BYTES: Final = 1 << 20


def set_aside(path: Path, suffix: str) -> None:
    """Keep a file that is not to be read any more under another name, durably."""
    target = path.with_name(path.name + suffix)
    log.warning("%s is set aside as %s", path, target.name)
    disk.rename(path, target)
    fsync_directory(path.parent)


def discard_from(directory: Path, txid: int) -> None:
    """Set every segment from a transaction on aside, the newest first: a crash leaves a log
    without gaps."""
    for segment in reversed(list_segments(directory)):
        if segment.first_txid >= txid:
            set_aside(segment.path, TRASH)


def copy_missing(source: Path, directory: Path) -> None:
    """Copy a finished file into a directory that has none of that name, durably."""
    target = directory / source.name
    if target.exists():
        return
    log.info("copying %s to %s, which missed it", source, directory)
    with open(source, "rb") as whole, replacing(target) as file:
        shutil.copyfileobj(whole, file, COPY_BYTES)


def copy_beginning(source: Path, length_bytes: int, target: Path) -> None:
    """Make a file of the first bytes of another one, durably."""
    with open(source, "rb") as whole, replacing(target) as file:
        left = length_bytes
        while left:
            piece = whole.read(min(left, COPY_BYTES))
            assert piece, "the file is as long as it was when it was read"
            file.write(piece)
            left -= len(piece)
