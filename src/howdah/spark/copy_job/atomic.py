"""`-atomic`: a copy is written to a directory of its own and renamed when it is complete.

1. The directory is `._WIP_NAME.KEY.RUN`, beside the target or in the directory of `-tmp`. KEY is
   the key of the copy, RUN that of the run: no other run writes to it.
2. Directories that killed runs of the same copy left are removed by the next run, which holds
   the lock of the target.
3. Before the rename the directory must have as many files and bytes as were copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah import errors
from howdah.copy.common.failures import CopyFailed
from howdah.copy.common.staging import WORK_PREFIX
from howdah.fs import paths

if TYPE_CHECKING:
    from howdah.copy.counters import Counters
    from howdah.fs.api import FileSystem


class AtomicCopy:
    """The directory of one run, for the whole target."""

    def __init__(
        self, fs: FileSystem, target_path: str, directory: str | None, key: str, run: str
    ) -> None:
        self._fs = fs
        self._target = target_path
        self._parent = directory or paths.parent_of(target_path) or paths.SEPARATOR
        self._stem = f"{WORK_PREFIX}{paths.name_of(target_path)}.{key}"
        self.path = paths.join(self._parent, f"{self._stem}.{run}")

    def remove_debris(self) -> None:
        """Remove the directories of earlier runs of this copy."""
        try:
            found = [status.path for status in self._fs.list_status_iter(self._parent)]
        except errors.PathNotFound:
            return
        for path in found:
            name = paths.name_of(path)
            if name == self._stem or name.startswith(f"{self._stem}."):
                self._fs.delete(path, recursive=True)

    def commit(self, counters: Counters) -> None:
        """Rename the directory to the target. Raises `CopyFailed` if it does not have what was
        counted."""
        fs = self._fs
        if not counters.files_copied and not fs.exists(self.path):
            fs.mkdirs(self.path)  # an empty copy
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
