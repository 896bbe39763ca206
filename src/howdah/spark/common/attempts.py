"""Files that a task writes under a name which is known before, whole in spite of Spark.

Spark may run a task again after it was lost, and with `spark.speculation` two attempts at
a time, of which it kills the slower. One that opened the file of the other anew and was
killed then would leave a half, after the other has said that all is well. So each attempt
writes under a name of its own, and gives the file its name when it is complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.streams import FSDataOutputStream

_UNFINISHED: Final = re.compile(r"_.+~\d+")


def attempt_id() -> int:
    """What no other attempt of this application has; 0 outside of a task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.taskAttemptId()) if context else 0


class AttemptFile:
    """A file that is written under another name until it is complete."""

    def __init__(
        self, fs: FileSystem, path: str, unique: int, *, create_parent: bool = True
    ) -> None:
        parent = paths.parent_of(path) or paths.SEPARATOR
        self._fs = fs
        self._path = path
        self._unfinished = paths.join(parent, f"_{paths.name_of(path)}~{unique}")
        self.out: FSDataOutputStream = fs.create(
            self._unfinished, overwrite=True, create_parent=create_parent
        )

    def complete(self) -> None:
        """Give it its name; it replaces what has that."""
        self.out.close()
        self._fs.rename(self._unfinished, self._path, overwrite=True)

    def discard(self, cause: BaseException) -> None:
        """Remove it, because of an error, which hears of it if that fails as well."""
        for step in (self.out.close, lambda: self._fs.delete(self._unfinished)):
            try:
                step()
            except (errors.HowdahError, OSError) as error:
                cause.add_note(f"removing {self._unfinished} failed as well: {error}")


@contextmanager
def attempt_file(
    fs: FileSystem, path: str, unique: int, *, create_parent: bool = True
) -> Iterator[FSDataOutputStream]:
    """A file to write, which is there when the block has ended well."""
    file = AttemptFile(fs, path, unique, create_parent=create_parent)
    try:
        yield file.out
        file.complete()
    except BaseException as error:
        file.discard(error)
        raise


def remove_unfinished(fs: FileSystem, directory: str) -> None:
    """Remove what attempts that were killed have left in a directory, if it is there."""
    try:
        found = [status for status in fs.list_status(directory) if status.is_file]
    except errors.PathNotFound:
        return
    for status in found:
        if _UNFINISHED.fullmatch(status.name):
            fs.delete(status.path)
