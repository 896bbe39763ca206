"""What may be copied, and moved to another filesystem by a copy: what a rename refuses is refused
before anything is written, and nobody copies a file onto itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from howdah import errors
from howdah.fs import paths

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.status import FileStatus


def check(fs: FileSystem, source: str, target: str, *, replaces: bool) -> None:
    """Raises if `source` must not be copied to `target`. `replaces` says that a file is there."""
    moved = fs.get_file_status(source)
    if moved.is_directory:
        if replaces:
            raise errors.PathIsNotDirectory(
                f"{target} is a file; the directory {source} can't take its place"
            ).about(source, target)
        if fs.exists(target):
            raise errors.PathExists(f"{target} exists").about(source, target)
    # Two mount points may lead to one place, by one address of a namenode or by two.
    same = are_one(fs, source, target)
    if replaces and not moved.is_directory:
        old = fs.get_file_status(target)
        same |= bool(moved.file_id) and _identity(moved) == _identity(old)
    (here, path), (there, other) = fs.resolve_path(source), fs.resolve_path(target)
    below = here.uri == there.uri and other.startswith(path.rstrip("/") + "/")
    if same or below:
        raise errors.AcrossMountPoints(
            f"{source} and {target} are one file"
            if same
            else f"{target} is below {source}, by another mount point"
        ).about(source, target)


def check_several(sources: Sequence[str], target: str | Sequence[str]) -> None:
    """Raises PathExists if one of several is where it is to go: a directory, or a name for
    each."""
    for number, source in enumerate(sources):
        is_there = (
            paths.parent_of(source) == target
            if isinstance(target, str)
            else number < len(target) and target[number] == source
        )
        if is_there:
            raise errors.PathExists(f"{source} is there already").about(source)


def are_one(fs: FileSystem, source: str, target: str) -> bool:
    """Whether two names lead to one path, so that a copy would begin by cutting off its source."""
    (here, path), (there, other) = fs.resolve_path(source), fs.resolve_path(target)
    return here.uri == there.uri and path == other


def _identity(status: FileStatus) -> tuple[int, int, int]:
    return status.file_id, status.modification_time_ms, status.length
