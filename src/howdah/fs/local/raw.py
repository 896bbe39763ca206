"""`RawLocalFileSystem`: this machine's files as they are, without checksum files.

Mirrors Hadoop's class of that name. Modes are those that are asked for less the
umask of the configuration (`fs.permissions.umask-mode`), whatever the umask of the
process. Relative paths start in the working directory, as in every program; the
home directory is the user's. Paths are bytes to the system: names that are not
UTF-8 pass through as Python's `os` passes them.

Every operation is one call of the system where that is to be had, so that others
see it happen at once: a file is created or refused, a rename replaces or refuses.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs import capabilities, paths
from howdah.fs.api import FileSystem, Progress
from howdah.fs.local.status import (
    BLOCK_SIZE_BYTES,
    from_os_error,
    group_id,
    link_status_of,
    status_of,
    translated,
    user_id,
)
from howdah.fs.local.streams import LocalInput, LocalOutput, RawOutput
from howdah.fs.path_handle import PathHandle, check_handle, make_handle
from howdah.fs.paths import PathLike
from howdah.fs.status import BlockLocation, FileStatus, FsStatus, ServerDefaults
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import CreateFlag, check_mode
from howdah.runtime import libc

# Making directories and removing trees where others do the same at the same time.


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


# Giving a file a name that nothing has yet, in one step.
#
# POSIX's rename replaces what is there; a look before it leaves a moment in which
# somebody else's file can come to be, and be lost. Linux has a call that refuses
# instead (`renameat2`). Where the system, or the filesystem that the files are on,
# doesn't have it, looking first is the best there is.

# What kernels and filesystems without the call, or without the flag, answer.
_NOT_OFFERED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def rename_new(source: str, target: str) -> None:
    """Rename; `FileExistsError` if something has the name `target`, which is kept."""
    try:
        libc.rename_without_replacing(source, target)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
        _rename_after_a_look(source, target)


def _rename_after_a_look(source: str, target: str) -> None:
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target)


FILE_MODE = 0o666
DIRECTORY_MODE = 0o777
_UNCHANGED = -1
"""An owner or group that `chown` leaves as it is."""
_READ_BUFFER_BYTES = 64 * 1024
_WRITE_PACKET_BYTES = 64 * 1024
_CAPABILITIES = frozenset(
    (
        capabilities.APPEND,
        capabilities.PATH_HANDLES,
        capabilities.PERMISSIONS,
        capabilities.SYMLINKS,
        capabilities.TRUNCATE,
    )
)


class RawLocalFileSystem(FileSystem):
    """Serves the files of this machine, under `file:///`."""

    scheme: ClassVar[str] = "file"

    def __init__(
        self, authority: str = "", conf: Configuration | None = None, user: str | None = None
    ) -> None:
        # Who one is to the operating system is not for a filesystem to choose: `user` is
        # taken because every filesystem's constructor takes it, and means nothing here.
        if authority:
            raise errors.IllegalArgument(
                f"file://{authority}: local files have no host; write file:///path"
            )
        self._conf = Configuration.load() if conf is None else conf
        self._umask = paths.parse_umask(self._conf.get(keys.FS_PERMISSIONS_UMASK_MODE))
        self._bytes_per_checksum = self._conf.get(keys.FILE_BYTES_PER_CHECKSUM)

    @property
    def uri(self) -> str:
        return "file://"

    def home_directory(self) -> str:
        return os.path.expanduser("~")

    def working_directory(self) -> str:
        return os.getcwd()

    def resolve(self, path: PathLike) -> str:
        target = super().resolve(path)
        if "\0" in target:
            raise errors.InvalidPath(f"Invalid path name {target!r}: it has a NUL in it")
        if not target.isascii():
            try:
                os.fsencode(target)
            except UnicodeEncodeError as error:
                raise errors.InvalidPath(f"Invalid path name {target!r}: {error.reason}") from error
        return target

    def close(self) -> None:
        """Nothing is kept open."""

    # --- streams ----------------------------------------------------------------------

    def create(
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        replication: int | None = None,
        block_size: int | None = None,
        permission: int | None = None,
        create_parent: bool = True,
        buffer_size: int | None = None,
        progress: Progress | None = None,
        flags: CreateFlag = CreateFlag.NONE,
    ) -> FSDataOutputStream:
        target = self.resolve(path)
        with errors.about(target):
            new_in = self._parents_for(target, create_parent)
            descriptor, fresh = self._open_new(target, overwrite, permission)
        try:
            with translated(target):
                output = self._output(
                    target,
                    descriptor,
                    new_in=new_in if fresh else (),
                    buffer_bytes=buffer_size,
                    progress=progress,
                )
        except BaseException:
            os.close(descriptor)
            if fresh:
                os.unlink(target)
            raise
        return FSDataOutputStream(output)

    def _output(
        self,
        target: str,
        descriptor: int,
        *,
        new_in: Sequence[str],
        buffer_bytes: int | None,
        progress: Progress | None,
    ) -> LocalOutput:
        """The stream to an open file, whose old content is gone when this returns."""
        if is_regular(descriptor):
            os.ftruncate(descriptor, 0)
        return RawOutput(
            target, descriptor, new_in=new_in, buffer_bytes=buffer_bytes, progress=progress
        )

    def _open_new(self, target: str, overwrite: bool, permission: int | None) -> tuple[int, bool]:
        """A descriptor of a file that may still have its old content; whether it is new."""
        mode = (FILE_MODE if permission is None else check_mode(permission)) & ~self._umask
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        try:
            descriptor = os.open(target, flags | os.O_EXCL, mode & 0o777)
            fresh = True
        except FileExistsError as error:
            if not overwrite or os.path.isdir(target):
                raise from_os_error(target, error) from error
            with translated(target):
                descriptor = os.open(target, flags, mode & 0o777)
            fresh = False
        except OSError as error:
            raise from_os_error(target, error) from error
        try:
            # A device keeps the mode that it has.
            if is_regular(descriptor):
                os.fchmod(descriptor, mode)
        except OSError as error:
            os.close(descriptor)
            raise from_os_error(target, error) from error
        return descriptor, fresh

    def _parents_for(self, target: str, create_parent: bool) -> list[str]:
        """Make sure that the parent exists. Return the directories that get new entries."""
        parent = paths.parent_of(target)
        if parent is None:
            raise errors.PathExists(f"{target} already exists as a directory")
        if os.path.lexists(parent) and not os.path.isdir(parent):
            raise errors.ParentNotDirectory(f"Parent path is not a directory: {parent}")
        made = self._make_directories(parent, DIRECTORY_MODE) if create_parent else []
        return [
            parent,
            *(above for directory in reversed(made) if (above := paths.parent_of(directory))),
        ]

    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Progress | None = None,
    ) -> FSDataOutputStream:
        target = self.resolve(path)
        with translated(target):
            descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            length = os.fstat(descriptor).st_size
        return FSDataOutputStream(
            RawOutput(
                target, descriptor, position=length, buffer_bytes=buffer_size, progress=progress
            )
        )

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        target = self.resolve(path)
        return FSDataInputStream(self._input(target), buffer_size or _READ_BUFFER_BYTES)

    def _input(self, target: str) -> LocalInput:
        return LocalInput(target, self._open_old(target))

    def _open_old(self, target: str) -> int:
        with translated(target):
            descriptor = os.open(target, os.O_RDONLY | os.O_CLOEXEC)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            is_directory = OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise from_os_error(target, is_directory).about(target)
        return descriptor

    def get_path_handle(
        self, status: FileStatus, *, may_change: bool = True, may_move: bool = False
    ) -> PathHandle:
        if may_move:
            raise errors.UnsupportedOperation(f"{status.path}: local files are found by name only")
        return make_handle(status, may_change=may_change)

    def open_path_handle(
        self, handle: PathHandle, buffer_size: int | None = None
    ) -> FSDataInputStream:
        try:
            stream = self._input(handle.path)
        except errors.PathNotFound as error:
            raise errors.InvalidPathHandle(f"{handle.path} is gone").about(handle.path) from error
        try:
            check_handle(handle, status_of(handle.path, os.fstat(stream.fileno())))
        except errors.InvalidPathHandle:
            stream.close()
            raise
        return FSDataInputStream(stream, buffer_size or _READ_BUFFER_BYTES)

    def truncate(self, path: PathLike, length: int) -> bool:
        """Cut a file off at `length` bytes; done when this returns, so always true."""
        target = self.resolve(path)
        with translated(target):
            descriptor = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
            try:
                present = os.fstat(descriptor).st_size
                if not 0 <= length <= present:
                    raise errors.IllegalArgument(
                        f"Cannot truncate {target} to {length} bytes: it has {present}"
                    )
                os.ftruncate(descriptor, length)
            finally:
                os.close(descriptor)
        return True

    # --- namespace --------------------------------------------------------------------

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        mode = DIRECTORY_MODE if permission is None else check_mode(permission)
        with errors.about(target):
            self._make_directories(target, mode)
        return True

    def _make_directories(self, target: str, mode: int) -> list[str]:
        return make_directories(target, mode & ~self._umask, DIRECTORY_MODE & ~self._umask)

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        above = paths.parent_of(target)
        if above is not None and os.path.lexists(above) and not os.path.isdir(above):
            raise errors.ParentNotDirectory(f"Parent path is not a directory: {above}").about(
                target
            )
        mode = DIRECTORY_MODE if permission is None else check_mode(permission)
        make_directory(target, mode & ~self._umask)
        return True

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        source, target = self.resolve(src), self.resolve(dst)
        with errors.about(source, target):
            self._check_rename(source, target, overwrite)
            self._rename(source, target, overwrite)

    def _check_rename(self, source: str, target: str, overwrite: bool) -> None:
        """Refuse what the system would refuse in worse words, or not at all."""
        with translated(source):
            moved = os.lstat(source)
        if source == target:
            raise errors.PathExists(f"The source {source} and destination {target} are the same")
        if paths.is_under(target, source):
            raise errors.RemoteError(f"Rename destination {target} is under source {source}")
        parent = paths.parent_of(target)
        if parent is None:
            raise errors.RemoteError("rename destination cannot be the root")
        with translated(parent):
            if not stat.S_ISDIR(os.stat(parent).st_mode):
                raise errors.ParentNotDirectory(f"rename destination parent {parent} is a file")
        if os.path.lexists(target):
            if not overwrite:
                raise errors.PathExists(f"rename destination {target} already exists")
            if stat.S_ISDIR(moved.st_mode) != stat.S_ISDIR(os.lstat(target).st_mode):
                raise errors.RemoteError(
                    f"Source {source} and destination {target} must both be directories, or files"
                )

    def _rename(self, source: str, target: str, overwrite: bool) -> None:
        try:
            if overwrite:
                os.rename(source, target)
            else:
                rename_new(source, target)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise errors.RemoteError(
                    f"{source} cannot be renamed to {target}, which is on another device: copy it"
                ) from error
            blamed = source if error.errno == errno.ENOENT else target
            raise from_os_error(blamed, error) from error

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        target = self.resolve(path)
        if target == paths.SEPARATOR:
            # As HDFS: whoever asks for this has made a mistake.
            if not recursive:
                raise errors.DirectoryNotEmpty(f"{target} is non empty").about(target)
            return False
        try:
            info = os.lstat(target)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise from_os_error(target, error).about(target) from error
        with translated(target):
            if not stat.S_ISDIR(info.st_mode):
                os.unlink(target)
            elif recursive:
                remove_tree(target)
            else:
                os.rmdir(target)
        return True

    # --- looking ----------------------------------------------------------------------

    def get_file_status(self, path: PathLike) -> FileStatus:
        target = self.resolve(path)
        with translated(target):
            return status_of(target, os.stat(target))

    def get_file_link_status(self, path: PathLike) -> FileStatus:
        target = self.resolve(path)
        with translated(target):
            return link_status_of(target)

    def supports_symlinks(self) -> bool:
        return True

    def create_symlink(
        self, target: PathLike, link: PathLike, *, create_parent: bool = True
    ) -> None:
        place = self.resolve(link)
        location = paths.parse(target)
        if location.is_qualified:
            self._check_own(location)
        with errors.about(place):
            self._parents_for(place, create_parent)
            with translated(place):
                os.symlink(location.path, place)

    def get_link_target(self, path: PathLike) -> str:
        target = self.resolve(path)
        status = self.get_file_link_status(target)
        if status.symlink is None:
            raise errors.RemoteError(f"Path {target} is not a symbolic link").about(target)
        return status.symlink

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        """Links are followed, but for those that lead nowhere, which are shown as links."""
        target = self.resolve(path)
        status = self.get_file_status(target)
        if not status.is_directory:
            yield status
            return
        with translated(target):
            names = self._listed(os.listdir(target))
        for name in sorted(names):
            try:
                yield self._entry_status(paths.join(target, name))
            except errors.PathNotFound:
                continue  # deleted since the names were read

    def _listed(self, names: list[str]) -> Collection[str]:
        """Those of the names in a directory that are shown."""
        return names

    def _entry_status(self, path: str) -> FileStatus:
        try:
            return self.get_file_status(path)
        except errors.PathNotFound:
            return self.get_file_link_status(path)

    def block_locations(
        self, path: PathLike, start: int = 0, length: int | None = None
    ) -> list[BlockLocation]:
        if start < 0 or (length is not None and length < 0):
            raise errors.IllegalArgument("start and length must not be negative")
        return super().block_locations(path, start, length)

    def access(self, path: PathLike, mode: int) -> None:
        target = self.resolve(path)
        if mode & ~(os.R_OK | os.W_OK | os.X_OK):
            raise errors.IllegalArgument(f"{mode} is no combination of R_OK, W_OK and X_OK")
        self.get_file_status(target)
        if not os.access(target, mode, effective_ids=os.access in os.supports_effective_ids):
            raise errors.AccessDenied(f"`{target}': Permission denied").about(target)

    # --- attributes -------------------------------------------------------------------

    def set_permission(self, path: PathLike, mode: int) -> None:
        target = self.resolve(path)
        with translated(target):
            os.chmod(target, check_mode(mode))

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        if not owner and not group:
            raise errors.IllegalArgument("set_owner needs an owner, a group, or both")
        target = self.resolve(path)
        try:
            uid = user_id(owner) if owner else _UNCHANGED
            gid = group_id(group) if group else _UNCHANGED
        except LookupError as error:
            raise errors.IllegalArgument(f"`{target}': {error.args[0]}") from error
        with translated(target):
            os.chown(target, uid, gid)

    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        target = self.resolve(path)
        with translated(target):
            info = os.stat(target)
            accessed_ns = info.st_atime_ns if atime_ms < 0 else atime_ms * 1_000_000
            modified_ns = info.st_mtime_ns if mtime_ms < 0 else mtime_ms * 1_000_000
            os.utime(target, ns=(accessed_ns, modified_ns))

    def set_replication(self, path: PathLike, replication: int) -> bool:
        """Local files have one copy; asking for more changes nothing, as in Hadoop."""
        return self.get_file_status(path).is_file

    # --- the filesystem as a whole ----------------------------------------------------

    def get_status(self, path: PathLike | None = None) -> FsStatus:
        """Of the filesystem that the root directory is on."""
        info = os.statvfs(paths.SEPARATOR)
        capacity = info.f_blocks * info.f_frsize
        remaining = info.f_bfree * info.f_frsize
        return FsStatus(capacity, capacity - remaining, remaining)

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return ServerDefaults(
            block_size=BLOCK_SIZE_BYTES,
            bytes_per_checksum=self._bytes_per_checksum,
            checksum_type="CRC32",
            replication=1,
            write_packet_bytes=_WRITE_PACKET_BYTES,
            file_buffer_bytes=self._conf.get(keys.IO_FILE_BUFFER_SIZE),
        )

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        return super().path_capabilities(path) | _CAPABILITIES


def is_regular(descriptor: int) -> bool:
    """Whether an open file is one with content, not a pipe or a device."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
