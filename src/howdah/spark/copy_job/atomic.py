"""`-atomic`: a whole copy made where nobody looks, which gets its name in one step.

1. It is made in `._WIP_NAME.KEY.RUN`, beside the target or in the directory of `-tmp`. The
   key is that of the copy, the run is this one: no other run ever writes to it.
2. What runs that were killed have left of the same copy is removed by the next one, which
   has the lock of the target.
3. Before it gets its name it has to have as many files and bytes as were copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah import errors
from howdah.fs import paths
from howdah.spark.common.failures import CopyFailed
from howdah.spark.common.staging import WORK_PREFIX

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.spark.copy.counters import Counters


class AtomicCopy:
    """The directory in which one run makes its copy of the whole target."""

    def __init__(
        self, fs: FileSystem, target_path: str, directory: str | None, key: str, run: str
    ) -> None:
        self._fs = fs
        self._target = target_path
        self._parent = directory or paths.parent_of(target_path) or paths.SEPARATOR
        self._stem = f"{WORK_PREFIX}{paths.name_of(target_path)}.{key}"
        self.path = paths.join(self._parent, f"{self._stem}.{run}")

    def remove_debris(self) -> None:
        """Remove what earlier runs of this copy left."""
        try:
            found = [status.path for status in self._fs.list_status_iter(self._parent)]
        except errors.PathNotFound:
            return
        for path in found:
            name = paths.name_of(path)
            if name == self._stem or name.startswith(f"{self._stem}."):
                self._fs.delete(path, recursive=True)

    def commit(self, counters: Counters) -> None:
        """Give the copy its name. Raises `CopyFailed` if it is not what was counted."""
        fs = self._fs
        if not counters.files_copied and not fs.exists(self.path):
            fs.mkdirs(self.path)  # the copy of nothing
        self._check(counters)
        fs.mkdirs(paths.parent_of(self._target) or paths.SEPARATOR)
        try:
            fs.rename(self.path, self._target)
        except errors.PathExists as error:
            fs.delete(self.path, recursive=True)
            raise errors.PathExists(
                f"Target-path can't be committed to because it exists at {fs.uri}{self._target}"
            ) from error

    def _check(self, counters: Counters) -> None:
        uri = self._fs.uri + self.path
        try:
            found = self._fs.content_summary(self.path)
        except errors.PathNotFound as error:
            raise CopyFailed(f"{uri} is gone: somebody has removed it") from error
        files = counters.files_copied + counters.files_skipped
        bytes_ = counters.bytes_copied + counters.bytes_skipped
        is_whole = (found.file_count, found.length) == (files, bytes_)
        if not is_whole or found.directory_count < counters.directories_copied:
            raise CopyFailed(
                f"{uri} has {found.file_count} files of {found.length} bytes in "
                f"{found.directory_count} directories, where {files} files of {bytes_} bytes in "
                f"{counters.directories_copied} were copied: somebody has changed it, and "
                "nothing is committed"
            )
