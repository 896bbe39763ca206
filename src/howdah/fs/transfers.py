"""Whole files and trees from one filesystem to another: `put`, `get`, `copy` and `move`.

1. A target that is a directory, or that is written as one (`/a/`, `.`), gets the source under its
   name. Any other target is the new name. A directory is copied only if `recursive` asks for it.
2. No reader sees half a file: it is written under another name (`NAME._COPYING_.NUMBER`) and
   renamed, or by a stream that shows nothing before its end. What a failed copy has written is
   removed. Files that were copied before it stay.
3. A server that copies files itself does, if both are places of it.
4. Names are names, whatever their characters. A name that leads out of the target is refused.
5. New files have the mode, replication and block size that new files get there.
6. Links are followed; those that lead back to a directory above are refused.

The callback is told how many bytes were copied since it was told last. It may be

- a function of that number, such as `bar.update` of a tqdm bar;
- an object with `update`, such as that bar: its `total` is set if it has none;
- a `Callback` of fsspec, which also learns the whole size.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from howdah import errors
from howdah.fs import capabilities, paths
from howdah.fs.local.status import special_kind
from howdah.fs.paths import PathLike
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataOutputStream, give_up
from howdah.options import CopyCheck

if TYPE_CHECKING:
    from howdah import FileSystem

ByteCallback = Callable[[int], object]
PIECE_BYTES: Final = 4 << 20
_LONGEST_NAME: Final = 255
"""Bytes: of HDFS (`dfs.namenode.fs-limits.max-component-length`), and of most disks."""
TEMPORARY_SUFFIX: Final = "._COPYING_"
"""What Hadoop's shell writes under. A router chooses the filesystem of such a name by the final
one."""


def copy(
    source: FileSystem,
    src: str,
    target: FileSystem,
    dst: str,
    *,
    recursive: bool = False,
    overwrite: bool = True,
    callback: object = None,
) -> None:
    """Copy a file, or with `recursive` a tree, to exactly this name.

    Raises `PathNotFound`, `PathIsDirectory` for a directory without `recursive` or in the place of
    a file, `PathExists` unless `overwrite`, IllegalArgument for a copy onto itself.
    """
    status = source.get_file_status(src)
    _check_apart(source, status, target, dst)
    tell = _told(callback, lambda: source.du(src))
    if not status.is_directory:
        _copy_file(source, status, target, dst, overwrite, tell)
        return
    if not recursive:
        raise errors.PathIsDirectory(
            f"{src} is a directory: recursive=True copies all that is below"
        ).about(src)
    _copy_tree(source, status, target, dst, overwrite, tell)


def _copy_tree(
    source: FileSystem,
    status: FileStatus,
    target: FileSystem,
    dst: str,
    overwrite: bool,
    tell: ByteCallback,
    copied: dict[tuple[str, ...], FileStatus | None] | None = None,
) -> None:
    """Copy a directory. The names of what was copied below it are put into `copied`, with the
    status that each file had; None for directories."""
    for found, names in _below(source, status):
        place = paths.join(dst, *names)
        if found is None:
            target.mkdirs(place)
        else:
            _copy_file(source, found, target, place, overwrite, tell)
        if copied is not None:
            copied[names] = found


def move(
    source: FileSystem, src: str, target: FileSystem, dst: str, *, overwrite: bool = True
) -> None:
    """Give a file or directory exactly this name: by a rename, and where none is possible by a
    copy, after which the source is deleted. A file that was written to meanwhile stays, and so
    does what is above it: then it is `FileChanged`, or of a directory `DirectoryNotEmpty`."""
    status = source.get_file_link_status(src)
    if source.uri == target.uri:
        if src == dst:
            return
        try:
            source.rename(src, dst, overwrite=overwrite)
            return
        except errors.RemoteError as error:
            if error.errno != errno.EXDEV:
                raise
    if status.is_directory and target.exists(dst):
        raise errors.PathExists(f"{dst} exists already").about(dst)
    if _are_one_file(source.get_file_status(src), _status_or_none(target, dst)):
        raise errors.IllegalArgument(f"{src} and {dst} are the same file, by two addresses")
    if not status.is_directory:
        read = source.get_file_status(src)
        copy(source, src, target, dst, recursive=True, overwrite=overwrite)
        if not is_unchanged(source, src, read):
            raise errors.FileChanged(
                f"{src} was written to while it was copied to {dst}, so it is not deleted"
            ).about(src)
        source.delete(src)
        return
    _check_apart(source, status, target, dst)
    copied: dict[tuple[str, ...], FileStatus | None] = {}
    _copy_tree(source, status, target, dst, overwrite, _told(None, lambda: 0), copied)
    if source.has_path_capability(src, capabilities.ETAGS_AVAILABLE):
        # Markers of directories go with it, under names that no listing has.
        _check_all_copied(source, status, dst, copied)
        source.delete(src, recursive=True)
    else:
        _delete_copied(source, src, (), copied)


def _are_one_file(moved: FileStatus, there: FileStatus | None) -> bool:
    """Whether a copy would take the place of its source, which is deleted then. One place may be
    reached by two addresses of a namenode, or by two mount points of a view."""
    return (
        there is not None
        and bool(moved.file_id)
        and (moved.file_id, moved.modification_time_ms, moved.length)
        == (there.file_id, there.modification_time_ms, there.length)
    )


def is_unchanged(fs: FileSystem, path: str, read: FileStatus) -> bool:
    """Whether a file is what it was when it had the status `read`, and nobody is writing to it: a
    namenode learns of what is written when the file is closed."""
    now = _status_or_none(fs, path)
    # Of one that is gone nothing is left that could be lost.
    return now is None or (_is_same(now, read) and _is_closed(fs, path))


_NOT_TOLD: Final = (errors.UnsupportedOperation, errors.IllegalArgument, errors.RpcNoSuchMethod)
"""What a server answers that cannot say whether a file is open: Hadoop's gateways take no such
request."""


def _is_closed(fs: FileSystem, path: str) -> bool:
    try:
        return fs.is_file_closed(path)
    except (*_NOT_TOLD, errors.PathNotFound):
        return True


def _is_same(now: FileStatus, read: FileStatus) -> bool:
    facts, were = (
        (status.length, status.modification_time_ms, status.file_id, status.etag)
        for status in (now, read)
    )
    return facts == were


def _delete_copied(
    fs: FileSystem,
    path: str,
    names: tuple[str, ...],
    copied: Mapping[tuple[str, ...], FileStatus | None],
) -> None:
    """Delete a tree one by one, not what links of it lead to. What was made there meanwhile stays,
    or was written to, and so does what is above it: then it is `DirectoryNotEmpty`."""
    for status in list(fs.list_status_iter(path)):
        below = (*names, status.name)
        if below not in copied:
            continue
        place, read = paths.join(path, status.name), copied[below]
        if status.is_directory and not status.is_symlink:
            _delete_copied(fs, place, below, copied)
            continue
        # A listing may have other facts than the status of a single file.
        now = fs.get_file_status(place) if status.is_symlink else status
        if read is None or (_is_same(now, read) and _is_closed(fs, place)):
            fs.delete(place)
    fs.delete(path)


def _check_all_copied(
    source: FileSystem,
    top: FileStatus,
    dst: str,
    copied: Mapping[tuple[str, ...], FileStatus | None],
) -> None:
    """Raise `DirectoryNotEmpty` if a directory of an object store has objects that were not copied
    and would go with it: with keys that no path names, or below a key that is a file, or put in the
    place of one that was copied."""
    src = top.path
    there = source.content_summary(src).file_count
    count = sum(read is not None for read in copied.values())
    if there != count:
        raise errors.DirectoryNotEmpty(
            f"{src} has {there} objects, of which {count} were copied to {dst}: others have keys "
            "that no path can name, or have come since; it is not deleted"
        ).about(src)
    for now, names in _below(source, top):
        read = copied.get(names)
        if now is not None and (read is None or not _is_same(now, read)):
            raise errors.DirectoryNotEmpty(
                f"{now.path} was replaced while {src} was copied to {dst}; it is not deleted"
            ).about(src)


def put(
    fs: FileSystem,
    local: PathLike,
    path: PathLike,
    *,
    recursive: bool,
    overwrite: bool,
    callback: object,
) -> str:
    """Copy from this machine. Return the path of the copy."""
    with _local_files() as files:
        src = os.path.abspath(local)
        dst = target_of(fs, path, os.path.basename(src))
        copy(
            files,
            src,
            fs,
            dst,
            recursive=recursive,
            overwrite=overwrite,
            callback=callback,
        )
    return dst


def get(
    fs: FileSystem,
    path: PathLike,
    local: PathLike,
    *,
    recursive: bool,
    overwrite: bool,
    callback: object,
) -> str:
    """Copy to this machine. Return the path of the copy there."""
    with _local_files() as files:
        src = fs.resolve(path)
        given = os.fspath(local)
        place = os.path.abspath(given) + (os.sep if given.endswith(os.sep) else "")
        dst = target_of(files, place, paths.name_of(src))
        copy(
            fs,
            src,
            files,
            dst,
            recursive=recursive,
            overwrite=overwrite,
            callback=callback,
        )
    return dst


def _local_files() -> FileSystem:
    """The files of this machine. What is written gets no checksum files beside it."""
    from howdah.fs.local import LocalFileSystem

    files = LocalFileSystem()
    files.set_write_checksum(False)
    return files


def target_of(fs: FileSystem, dst: PathLike, name: str) -> str:
    """Where a source of this name goes (rule 1)."""
    place = fs.resolve(dst)
    last = paths.text_of(dst).rpartition(paths.SEPARATOR)[2]
    into = last in ("", ".", "..") or fs.is_directory(place)
    return paths.join(place, name) if into and name else place


def _below(
    fs: FileSystem, top: FileStatus, names: tuple[str, ...] = (), above: tuple[object, ...] = ()
) -> Iterator[tuple[FileStatus | None, tuple[str, ...]]]:
    """What is in a tree, with the names that lead there. None for a directory, which comes before
    what it has."""
    place = _identity(fs, top)
    if place in above:
        raise errors.LinkLoop(f"{top.path} leads to a directory above it").about(top.path)
    yield None, names
    for status in fs.list_status_iter(top.path):
        name = _checked_name(status.name, top.path)
        if fs.scheme == "file" and (kind := special_kind(status.path)):
            raise errors.UnsupportedOperation(
                f"{status.path} is {kind}, which is not copied with a tree"
            )
        here = fs.get_file_status(status.path) if status.is_symlink else status
        if here.is_directory:
            yield from _below(fs, here, (*names, name), (*above, place))
        else:
            yield here, (*names, name)


def _identity(fs: FileSystem, directory: FileStatus) -> object:
    """Equal for one directory by several names, where names can be links."""
    if fs.scheme == "file":
        return os.path.realpath(directory.path)
    return directory.file_id or directory.path


def _checked_name(name: str, directory: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise errors.InvalidPath(f"{name!r} in {directory} is no name of a file").about(directory)
    return name


def _check_apart(source: FileSystem, status: FileStatus, target: FileSystem, dst: str) -> None:
    here, src = source.resolve_path(status.path)
    there, path = target.resolve_path(dst)
    if here.uri != there.uri:
        return
    if src == path:
        raise errors.IllegalArgument(f"{status.path} and {dst} are the same file")
    if status.is_directory and paths.is_under(path, src):
        raise errors.IllegalArgument(f"{dst} is in {status.path}, which cannot be copied there")


def _copy_file(
    source: FileSystem,
    status: FileStatus,
    target: FileSystem,
    dst: str,
    overwrite: bool,
    tell: ByteCallback,
) -> None:
    old = _status_or_none(target, dst)
    if old is not None and old.is_directory:
        raise errors.PathIsDirectory(f"{dst} is a directory").about(dst)
    if old is not None and not overwrite:
        raise errors.PathExists(f"{dst} exists already").about(dst)
    if _is_copied_by_server(source, status.path, target, dst, overwrite):
        tell(status.length)
        return
    with source.open(status.path, PIECE_BYTES) as reading:
        _write(reading, status.length, target, dst, overwrite, tell)


def _status_or_none(fs: FileSystem, path: str) -> FileStatus | None:
    try:
        return fs.get_file_status(path)
    except errors.PathNotFound:
        return None


def _is_copied_by_server(
    source: FileSystem, src: str, target: FileSystem, dst: str, overwrite: bool
) -> bool:
    here, name = source.resolve_path(src)
    there, path = target.resolve_path(dst)
    if not there.server_copies(here).are_offered:
        return False
    try:
        there.copy_from(here, name, path, overwrite=overwrite, check=CopyCheck.NOTHING)
    except errors.NotCopiedByServer:
        return False
    return True


def _write(
    reading: Any, length: int, target: FileSystem, dst: str, overwrite: bool, tell: ByteCallback
) -> None:
    """Write a file of what a stream has."""
    appears_whole = target.has_path_capability(dst, capabilities.ABORTABLE_STREAM)
    path = dst if appears_whole else _temporary(dst)
    out: FSDataOutputStream | None = None
    try:
        out = target.create(path, overwrite=overwrite)
        piece = memoryview(bytearray(min(PIECE_BYTES, max(length + 1, 4096))))
        total = 0
        while count := reading.readinto(piece):
            out.write(piece[:count])
            total += count
            tell(count)
        if total < length:
            # A part of a file is no copy, and a move would delete the whole one.
            raise errors.EndOfFile(f"{reading.name} ended after {total} bytes of {length}")
        out.close()
        if path != dst:
            target.rename(path, dst, overwrite=overwrite)
    except BaseException as error:
        if out is not None:
            _discard(target, path, out, error, appears_whole=appears_whole)
        raise


def _temporary(path: str) -> str:
    """The name under which a file is written first. Of a long one the end is left out: a namenode
    or a disk takes no name that is longer still."""
    suffix = f"{TEMPORARY_SUFFIX}.{secrets.token_hex(4)}"
    name = paths.name_of(path).encode("utf-8", "surrogateescape")[: _LONGEST_NAME - len(suffix)]
    # A character that was cut in two is left out as a whole.
    cut = name.decode("utf-8", "surrogateescape")
    while cut and not paths.name_of(path).startswith(cut):
        cut = cut[:-1]
    return paths.join(paths.parent_of(path) or paths.SEPARATOR, cut + suffix)


def _discard(
    fs: FileSystem,
    path: str,
    out: FSDataOutputStream,
    cause: BaseException,
    *,
    appears_whole: bool,
) -> None:
    """Remove what a failed copy has written; if that fails too, the cause says so."""
    give_up(out, cause)
    if appears_whole:
        return  # what is there is the old file
    try:
        fs.delete(path)
    except (errors.HowdahError, OSError) as error:
        cause.add_note(f"removing {path} failed as well: {error}")


def _told(callback: Any, total: Callable[[], int]) -> ByteCallback:
    """A callback as a function."""
    if callback is None:
        return lambda count: None
    # fsspec's have every name, so theirs come first.
    if hasattr(callback, "relative_update"):
        callback.set_size(total())
        tell: ByteCallback = callback.relative_update
        return tell
    if callable(callback):
        tell = callback
        return tell
    if hasattr(callback, "update"):
        if getattr(callback, "total", 0) is None:
            callback.total = total()
        tell = callback.update
        return tell
    raise TypeError(
        f"a callback is a function of a number of bytes, or has update(), as a tqdm bar; not "
        f"{type(callback).__name__}"
    )
