"""`howdah.arrow`: any filesystem of howdah as one of pyarrow's.

pyarrow asks a handler (`pyarrow.fs.FileSystemHandler`), which asks the filesystem. So every path
is a name, whatever its characters. Relative paths start where the filesystem's start;
`normalize_path` makes them absolute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyarrow import PythonFile
from pyarrow.fs import FileInfo, FileSelector, FileSystemHandler, FileType, PyFileSystem

from howdah import errors
from howdah.fs import paths, transfers
from howdah.fs.api import FileSystem
from howdah.fs.batch_reading import all_at_once
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus

_MISSING = (errors.PathNotFound, errors.ParentNotDirectory)


def arrow(filesystem: FileSystem | str | None = None, **options: Any) -> PyFileSystem:
    """A filesystem for pyarrow: of one that is connected, or of a URI (of none, the default
    filesystem) with the options of `howdah.connect`.

    >>> import pyarrow, pyarrow.dataset
    >>> files = howdah.arrow("mem://docs")
    >>> table = pyarrow.table({"x": [1, 2], "y": ["a", "b"]})
    >>> pyarrow.dataset.write_dataset(
    ...     table, "/tables/t", format="parquet", filesystem=files, partitioning=["y"]
    ... )
    >>> pyarrow.dataset.dataset("/tables/t", filesystem=files).to_table().num_rows
    2
    """
    if isinstance(filesystem, FileSystem):
        if options:
            raise errors.IllegalArgument(
                f"{', '.join(options)}: options are for connecting, and {filesystem.uri} is there"
            )
        return PyFileSystem(HowdahHandler(filesystem))
    return PyFileSystem(HowdahHandler(connect(filesystem, **options)))


class HowdahHandler(FileSystemHandler):  # type: ignore[misc, unused-ignore]  # may not be installed
    """What pyarrow asks of a filesystem."""

    def __init__(self, fs: FileSystem) -> None:
        self.fs = fs

    def __eq__(self, other: object) -> bool:
        return self.fs.uri == other.fs.uri if isinstance(other, HowdahHandler) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.fs.uri)

    def get_type_name(self) -> str:
        """The scheme of the filesystem's URIs."""
        return self.fs.scheme

    def normalize_path(self, path: str) -> str:
        """The absolute path."""
        return self.fs.resolve(path or ".")

    # --- looking ------------------------------------------------------------------------

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        """What is at each path; that nothing is there is told by the type."""
        return all_at_once(self._info, paths)

    def _info(self, path: str) -> FileInfo:
        try:
            return _info(self.fs.get_file_status(self.normalize_path(path)), path)
        except _MISSING:
            return FileInfo(path, FileType.NotFound)

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        """What is in a directory, or anywhere below it."""
        top = self.normalize_path(selector.base_dir)
        try:
            if not self.fs.get_file_status(top).is_directory:
                raise errors.PathIsNotDirectory(f"{top} is not a directory").about(top)
            found = self._below(top) if selector.recursive else self.fs.list_status_iter(top)
            return [_info(status, status.path) for status in self._followed(found)]
        except _MISSING:
            if selector.allow_not_found:
                return []
            raise

    def _below(self, top: str) -> Iterator[FileStatus]:
        for _, directories, files in self.fs.walk(top):
            yield from directories
            yield from files

    def _followed(self, statuses: Iterable[FileStatus]) -> Iterator[FileStatus]:
        """What links lead to, if they lead anywhere."""
        for status in statuses:
            if not status.is_symlink:
                yield status
                continue
            try:
                yield self.fs.get_file_status(status.path)
            except _MISSING:
                continue

    # --- directories --------------------------------------------------------------------

    def create_dir(self, path: str, recursive: bool) -> None:
        """Make a directory, if it is not there."""
        target = self.normalize_path(path)
        if recursive:
            self.fs.mkdirs(target)
            return
        try:
            self.fs.mkdir(target)
        except errors.PathExists:
            if not self.fs.is_directory(target):
                raise

    def delete_dir(self, path: str) -> None:
        """Delete a directory with all that is below it."""
        self._delete(path, is_directory=True)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        """Delete what is below a directory. Raises ValueError for the root."""
        target = self.normalize_path(path)
        if target == paths.SEPARATOR:
            raise ValueError("delete_dir_contents does not empty the root")
        try:
            self._empty(target)
        except _MISSING:
            if not missing_dir_ok:
                raise

    def delete_root_dir_contents(self) -> None:
        """Delete everything."""
        self._empty(paths.SEPARATOR)

    def _empty(self, directory: str) -> None:
        for status in self.fs.list_status(directory):
            if status.path == directory:
                raise errors.PathIsNotDirectory(f"{directory} is not a directory").about(directory)
            self.fs.delete(status.path, recursive=True)

    # --- files --------------------------------------------------------------------------

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        self._delete(path, is_directory=False)

    def _delete(self, path: str, *, is_directory: bool) -> None:
        target = self.normalize_path(path)
        if self.fs.get_file_link_status(target).is_directory != is_directory:
            if is_directory:
                raise errors.PathIsNotDirectory(f"{target} is not a directory").about(target)
            raise errors.PathIsDirectory(f"{target} is a directory").about(target)
        self.fs.rm(target, recursive=is_directory)

    def move(self, src: str, dest: str) -> None:
        """Rename; a file that has the new name is replaced."""
        self.fs.rename(self.normalize_path(src), self.normalize_path(dest), overwrite=True)

    def copy_file(self, src: str, dest: str) -> None:
        """Copy a file; one that has the new name is replaced."""
        transfers.copy(self.fs, self.normalize_path(src), self.fs, self.normalize_path(dest))

    def open_input_stream(self, path: str) -> PythonFile:
        """A file to read from the begin on."""
        return PythonFile(self.fs.open(self.normalize_path(path)), mode="r")

    open_input_file = open_input_stream

    def open_output_stream(self, path: str, metadata: dict[str, str]) -> PythonFile:
        """A new file to write, in place of one that is there."""
        return PythonFile(self.fs.open(self.normalize_path(path), "wb"), mode="w")

    def open_append_stream(self, path: str, metadata: dict[str, str]) -> PythonFile:
        """A file to write at its end."""
        return PythonFile(self.fs.open(self.normalize_path(path), "ab"), mode="w")


def _info(status: FileStatus, path: str) -> FileInfo:
    kind = FileType.Directory if status.is_directory else FileType.File
    size = None if status.is_directory else status.length
    return FileInfo(path, kind, size=size, mtime_ns=status.modification_time_ms * 1_000_000)
