"""Output files of a Spark task: written under an attempt's own name, renamed on success.

Spark may run a task again after it lost an executor. With `spark.speculation` it runs two
attempts at once and kills the slower one. If both wrote to one file, the attempt that is killed
could truncate the file of the one that succeeded. So each attempt writes to a temporary name of
its own, and renames the file when it is complete (as Hadoop's FileOutputCommitter does).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.streams import FSDataOutputStream, give_up

_UNFINISHED: Final = re.compile(r"_(.+)~\d+")


def attempt_id() -> int:
    """The id of this attempt, unique in the application; 0 outside of a task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return int(context.taskAttemptId()) if context else 0


class AttemptFile:
    """A file that has a temporary name until it is complete."""

    def __init__(
        self,
        fs: FileSystem,
        path: str,
        unique: int,
        *,
        create_parent: bool = True,
        block_size: int | None = None,
    ) -> None:
        parent = paths.parent_of(path) or paths.SEPARATOR
        self._fs = fs
        self._path = path
        self._unfinished = paths.join(parent, f"_{paths.name_of(path)}~{unique}")
        self.out: FSDataOutputStream = fs.create(
            self._unfinished, overwrite=True, create_parent=create_parent, block_size=block_size
        )

    def complete(self) -> None:
        """Close the file and rename it; a file of that name is replaced."""
        self.out.close()
        self._fs.rename(self._unfinished, self._path, overwrite=True)

    def discard(self, cause: BaseException) -> None:
        """Remove the file because of `cause`; if that fails too, `cause` gets a note."""
        give_up(self.out, cause)
        try:
            self._fs.delete(self._unfinished)
        except (errors.HowdahError, OSError) as error:
            cause.add_note(f"removing {self._unfinished} failed too: {error}")


@contextmanager
def attempt_file(
    fs: FileSystem,
    path: str,
    unique: int,
    *,
    create_parent: bool = True,
    block_size: int | None = None,
) -> Iterator[FSDataOutputStream]:
    """A file to write; it has its name when the block has ended without an error."""
    file = AttemptFile(fs, path, unique, create_parent=create_parent, block_size=block_size)
    try:
        yield file.out
        file.complete()
    except BaseException as error:
        file.discard(error)
        raise


def log_name(path: str, run: str) -> str:
    """Return the name of a log of one run of a job: other runs may write to the same directory, at
    the same moment, and their attempts have the same numbers."""
    return f"{path}-{run}"


def remove_unfinished(fs: FileSystem, directory: str, run: str | None = None) -> None:
    """Remove the temporary files of killed attempts from a directory, if it exists: of one run,
    where others may be writing there, or of all."""
    try:
        files = [status for status in fs.list_status(directory) if status.is_file]
    except errors.PathNotFound:
        return
    for status in files:
        found = _UNFINISHED.fullmatch(status.name)
        if found is not None and (run is None or found[1].endswith(log_name("", run))):
            fs.delete(status.path)
