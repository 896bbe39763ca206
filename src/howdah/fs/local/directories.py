"""Making directories and removing trees where others do the same at the same time."""

from __future__ import annotations

import os
import shutil
from typing import Any

from howdah import errors
from howdah.fs import paths
from howdah.fs.local.status import translated


def make_directory(path: str, mode: int) -> None:
    """Make one, with this mode whatever the umask of the process is."""
    with translated(path):
        os.mkdir(path, mode & 0o777)
        os.chmod(path, mode)


def make_directories(path: str, mode: int, mode_above: int) -> list[str]:
    """Make what is missing of a path, from the top down; what was made.

    `mode` is that of the last one. It is no failure if another makes them first.
    Raises `PathExists` for a path that is something else, `ParentNotDirectory` for
    one below that.
    """
    missing: list[str] = []
    above: str | None = path
    while above is not None and not os.path.isdir(above):
        if os.path.lexists(above):
            if above == path:
                raise errors.PathExists(f"Path is not a directory: {above}")
            raise errors.ParentNotDirectory(f"Parent path is not a directory: {above}")
        missing.append(above)
        above = paths.parent_of(above)
    made: list[str] = []
    for directory in reversed(missing):
        try:
            make_directory(directory, mode if directory == path else mode_above)
            made.append(directory)
        except errors.PathExists:
            if not os.path.isdir(directory):
                raise
    return made


def remove_tree(path: str) -> None:
    """Remove a directory and everything below it, whoever else removes things there."""
    with translated(path):
        shutil.rmtree(path, onerror=_unless_gone)


def _unless_gone(function: object, path: str, raised: tuple[Any, BaseException, Any]) -> None:
    if not isinstance(raised[1], FileNotFoundError):
        raise raised[1]
