"""Copies and moves of fsspec's: renames where the filesystem renames, and copies elsewhere.

What a rename refuses is refused before anything is copied, and nobody copies a file onto itself.
Which paths are patterns says `naming`.
"""

from __future__ import annotations

import logging
import shutil
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.implementations.local import make_path_posix

from howdah import errors
from howdah.fs import paths
from howdah.fs.metadata_transfer import apply_metadata
from howdah.fs.streams import FSDataOutputStream, whole_or_none
from howdah.fs.transfers import is_unchanged
from howdah.fsspec.path_patterns import LocalNames, NamingFileSystem, Paths, check_below
from howdah.options import CopyCheck

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.status import FileStatus

log = logging.getLogger(__name__)

_COPY_BYTES = 4 * 1024 * 1024


class MovingFileSystem(NamingFileSystem):
    """Copies and moves for `HowdahFileSystem`."""

    _hdfs: FileSystem

    @abstractmethod
    def _create(
        self, path: str, *, replication: int | None = None, hdfs_block_size: int | None = None
    ) -> FSDataOutputStream:
        """A new file in the place of an old one."""

    def copy(
        self,
        path1: Paths,
        path2: Paths,
        recursive: bool = False,
        maxdepth: int | None = None,
        on_error: str | None = None,
        **kwargs: Any,
    ) -> None:
        """As fsspec's."""
        sources, targets = self.paired(
            path1, path2, self.isdir, recursive=recursive, maxdepth=maxdepth
        )
        on_error = on_error or ("ignore" if recursive else "raise")
        super().copy(sources, targets, on_error=on_error, **kwargs)

    def get(
        self,
        rpath: Paths,
        lpath: Paths,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        """As fsspec's."""
        target = lpath if isinstance(lpath, list) else make_path_posix(lpath)
        sources, targets = self.paired(
            rpath, target, LocalNames().isdir, recursive=recursive, maxdepth=maxdepth
        )
        check_below(target, targets)
        super().get(sources, targets, callback=callback, **kwargs)

    def put(
        self,
        lpath: Paths,
        rpath: Paths,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        """As fsspec's."""
        source = lpath if isinstance(lpath, list) else make_path_posix(lpath)
        sources, targets = LocalNames().paired(
            source, rpath, self.isdir, recursive=recursive, maxdepth=maxdepth
        )
        super().put(sources, targets, callback=callback, **kwargs)

    def mv(
        self,
        path1: str | list[str],
        path2: str | list[str],
        recursive: bool = False,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Rename, which moves no data; patterns, lists and what is in another mount point of a
        view, or another nameservice behind a router, are copied, and what was copied is removed
        when all of it is there."""
        if (
            not (isinstance(path1, str) and isinstance(path2, str))
            or maxdepth is not None
            or self.is_pattern(path1)
        ):
            if path1 != path2:
                names = tops = self._strip_protocol(path1)
                if not (isinstance(path1, list) and isinstance(path2, list)):
                    # Of two lists `copy` takes what is in them, and nothing below.
                    tops = self.expand_path(path1, recursive=False)
                    names = self.expand_path(path1, recursive=recursive, maxdepth=maxdepth)
                check_several(tops, self._strip_protocol(path2))
                pairs = self.paired(
                    path1, path2, self.isdir, recursive=recursive, maxdepth=maxdepth
                )
                sources, targets = map(self._strip_protocol, pairs)
                read = self._copy_with_attributes(sources, targets)
                # With `maxdepth` no directory is copied: an empty one is nowhere else.
                taken = {
                    *sources,
                    *(above for source in sources for above in _directories_of(source)),
                }
                gone = [name for name in names if name in taken]
                self._remove_copied(gone, read, recursive=recursive)
                left = [name for name in names if name not in taken]
                if recursive and left:
                    raise errors.DirectoryNotEmpty(
                        f"{left[0]} stays where it is: with maxdepth no directory is copied"
                    ).about(left[0])
            return
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if source == target:
            return
        # Before anything is made for it: what is not there leaves no directory behind.
        if self._hdfs.get_file_status(source).is_directory and not recursive:
            raise errors.PathIsDirectory(
                f"{source} is a directory; moving it wants recursive=True"
            ).about(source, target)
        if path2.endswith("/") or self._hdfs.is_directory(target):
            self._hdfs.mkdirs(target)
            target = paths.join(target, paths.name_of(source))
        replaces = self._hdfs.is_file(target)
        try:
            self._hdfs.rename(source, target, overwrite=replaces)
        except errors.AcrossMountPoints:
            check(self._hdfs, source, target, replaces=replaces)
            # All that is below, or an error: `copy` would leave out what cannot be listed.
            below = self.find(source, withdirs=True, on_error="raise") if recursive else []
            names = list(dict.fromkeys([source, *below]))
            targets = [target + name[len(source) :] for name in names]
            read = self._copy_with_attributes(names, targets)
            self._remove_copied(names, read, recursive=recursive)

    def _copy_with_attributes(
        self, sources: list[str], targets: list[str]
    ) -> dict[str, FileStatus]:
        """Copy files that are removed afterwards. The copies get the attributes of their sources,
        which are returned as they were before."""
        for source, target in zip(sources, targets, strict=True):
            if is_same_place(self._hdfs, source, target):
                raise errors.AcrossMountPoints(f"{source} and {target} are one file").about(
                    source, target
                )
        copied = []
        for source, target in zip(sources, targets, strict=True):
            status = self._hdfs.get_file_status(source)
            self.cp_file(
                source,
                target,
                # That of an erasure coded file has no meaning, and is 1.
                replication=None if status.is_erasure_coded else status.replication or None,
                hdfs_block_size=status.block_size or None,
            )
            copied.append((status, target))
        # Those of a directory come when all is in it.
        for status, target in sorted(copied, key=lambda pair: pair[1], reverse=True):
            apply_metadata(self._hdfs, status, target)
        return {source: status for source, (status, _) in zip(sources, copied, strict=True)}

    def _remove_copied(
        self, names: Sequence[str], read: Mapping[str, FileStatus], *, recursive: bool
    ) -> None:
        """One by one: what was made below them meanwhile, or was not copied, stays, and so does
        what is above it. Then it is `DirectoryNotEmpty`; and `FileChanged` for a file that was
        written to since it was `read`."""
        for name in sorted(names, reverse=True):
            before = read.get(name)
            if before is None or before.is_directory:
                pass  # what is in a directory is looked at by itself
            elif not is_unchanged(self._hdfs, name, before):
                raise errors.FileChanged(
                    f"{name} was written to while it was copied, so it is not removed"
                ).about(name)
            if recursive or not self._hdfs.is_directory(name):
                self.rm_file(name)

    def cp_file(
        self,
        path1: str,
        path2: str,
        replication: int | None = None,
        hdfs_block_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Copy a file, or make the directory `path2` if `path1` is one. An object store copies by
        itself; elsewhere the bytes go through this process."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self._hdfs.is_directory(source):
            self._hdfs.mkdirs(target)
            return
        if are_one(self._hdfs, source, target):
            self._hdfs.get_file_status(source)
            return
        if self._hdfs.server_copies(self._hdfs).are_offered:
            try:
                self._hdfs.copy_from(
                    self._hdfs, source, target, overwrite=True, check=CopyCheck.NOTHING
                )
                return
            except errors.NotCopiedByServer as error:
                log.info("%s is copied through this process: %s", path1, error)
        create = partial(self._create, replication=replication, hdfs_block_size=hdfs_block_size)
        with self._hdfs.open(source) as reading, whole_or_none(create(target)) as writing:
            shutil.copyfileobj(reading, writing, _COPY_BYTES)


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
    same = is_same_place(fs, source, target)
    (here, path), (there, other) = fs.resolve_path(source), fs.resolve_path(target)
    below = here.uri == there.uri and other.startswith(path.rstrip("/") + "/")
    if same or below:
        raise errors.AcrossMountPoints(
            f"{source} and {target} are one file"
            if same
            else f"{target} is below {source}, by another mount point"
        ).about(source, target)


def _directories_of(path: str) -> Iterator[str]:
    """Those above a path."""
    above = paths.parent_of(path)
    while above is not None:
        yield above
        above = paths.parent_of(above)


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


def is_same_place(fs: FileSystem, source: str, target: str) -> bool:
    """Whether two names lead to one file. Two mount points may lead to one place, by one address
    of a namenode or by two: what is copied there and then removed would be gone."""
    if are_one(fs, source, target):
        return True
    if not fs.is_file(target):
        return False
    moved, old = fs.get_file_status(source), fs.get_file_status(target)
    return bool(moved.file_id) and _identity(moved) == _identity(old)


def are_one(fs: FileSystem, source: str, target: str) -> bool:
    """Whether two names lead to one path, so that a copy would begin by cutting off its source."""
    (here, path), (there, other) = fs.resolve_path(source), fs.resolve_path(target)
    return here.uri == there.uri and path == other


def _identity(status: FileStatus) -> tuple[int, int, int]:
    return status.file_id, status.modification_time_ms, status.length
