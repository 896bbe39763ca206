"""Path handles: a file remembered by what it is rather than by its name (pure).

Mirrors Hadoop's PathHandle and HdfsPathHandle. A handle is made from a status and says
what may happen to the file before the handle is used: whether its content may change,
whether it may be moved. What isn't allowed is checked when the file is opened.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.fs.status import FileStatus


@dataclass(frozen=True, slots=True)
class PathHandle:
    """A file of one filesystem.

    `file_id` is set if it must be the same file, `modification_time_ms` if its content
    must be the same; `may_move` if it is looked for by its id and not by `path`.
    """

    path: str
    file_id: int | None
    modification_time_ms: int | None
    may_move: bool = False


def make_handle(
    status: FileStatus, *, may_change: bool = True, may_move: bool = False
) -> PathHandle:
    """A handle to the file that `status` describes."""
    if not status.is_file:
        raise errors.IllegalArgument(f"{status.path} is not a file, so it has no path handle")
    return PathHandle(
        status.path,
        status.file_id,
        None if may_change else status.modification_time_ms,
        may_move,
    )


def check_handle(handle: PathHandle, status: FileStatus) -> None:
    """Raise `InvalidPathHandle` unless `status` is of what the handle stands for."""
    if handle.file_id is not None and status.file_id != handle.file_id:
        raise errors.InvalidPathHandle(f"{handle.path} is another file now").about(handle.path)
    wanted = handle.modification_time_ms
    if wanted is not None and status.modification_time_ms != wanted:
        raise errors.InvalidPathHandle(
            f"{handle.path} was changed since its handle was made"
        ).about(handle.path)
