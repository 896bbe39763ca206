"""This machine's files as a `FileSystem`: the other side of put and get, and `file://`.

Raw files: no checksum files are written or checked. Those that Hadoop's local
filesystem has left (`.name.crc` beside `name`) are not listed, as Hadoop doesn't
list them either. Errors of the operating system become members of
`howdah.errors`, with the path in the message.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import ClassVar

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem, Progress
from howdah.fs.paths import PathLike
from howdah.fs.status import FileStatus, FsStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, Writable
from howdah.options import CreateFlag

BLOCK_SIZE_BYTES = 32 << 20
"""What Hadoop says of local files, which have no blocks."""

_PERMISSIONS = 0o1777


class LocalFiles(FileSystem):
    """The files of this machine, under `file:///`."""

    scheme: ClassVar[str] = "file"

    @property
    def uri(self) -> str:
        return "file://"

    def home_directory(self) -> str:
        """Relative local paths start in the working directory, as in every program."""
        return os.getcwd()

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
        with _translated(target):
            if create_parent:
                os.makedirs(os.path.dirname(target), exist_ok=True)
            how = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if overwrite else os.O_EXCL)
            descriptor = os.open(target, how, 0o666 if permission is None else permission)
        return FSDataOutputStream(_LocalOutput(target, descriptor))

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
        with _translated(target):
            descriptor = os.open(target, os.O_WRONLY | os.O_APPEND)
        return FSDataOutputStream(_LocalOutput(target, descriptor))

    def open(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        target = self.resolve(path)
        with _translated(target):
            raw = _LocalInput(target)
        return FSDataInputStream(raw, buffer_size or 64 * 1024)

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        with _translated(target):
            os.makedirs(target, 0o777 if permission is None else permission, exist_ok=True)
        return True

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        with _translated(target):
            os.mkdir(target, 0o777 if permission is None else permission)
        return True

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        source, target = self.resolve(src), self.resolve(dst)
        if not overwrite and os.path.lexists(target):
            raise errors.PathExists(f"{target}: File exists")
        with _translated(source):
            os.replace(source, target)

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        target = self.resolve(path)
        if not os.path.lexists(target):
            return False
        with _translated(target):
            if not os.path.isdir(target) or os.path.islink(target):
                os.unlink(target)
            elif recursive:
                shutil.rmtree(target)
            else:
                os.rmdir(target)
        return True

    def get_file_status(self, path: PathLike) -> FileStatus:
        target = self.resolve(path)
        with _translated(target):
            return _status(target, os.stat(target))

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        target = self.resolve(path)
        with _translated(target):
            info = os.stat(target)
            if not stat.S_ISDIR(info.st_mode):
                yield _status(target, info)
                return
            names = os.listdir(target)
        hidden = {f".{name}.crc" for name in names}
        for name in sorted(set(names) - hidden):
            entry = paths.join(target, name)
            with _translated(entry):
                yield _status(entry, _follow(entry))

    def set_permission(self, path: PathLike, mode: int) -> None:
        target = self.resolve(path)
        with _translated(target):
            os.chmod(target, mode)

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        target = self.resolve(path)
        with _translated(target):
            try:
                shutil.chown(target, owner or None, group or None)  # type: ignore[arg-type]
            except LookupError as error:
                raise errors.IllegalArgument(f"`{target}': {error.args[0]}") from error

    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        target = self.resolve(path)
        with _translated(target):
            info = os.stat(target)
            accessed_ns = info.st_atime_ns if atime_ms < 0 else atime_ms * 1_000_000
            modified_ns = info.st_mtime_ns if mtime_ms < 0 else mtime_ms * 1_000_000
            os.utime(target, ns=(accessed_ns, modified_ns))

    def set_replication(self, path: PathLike, replication: int) -> bool:
        """Local files have one copy; asking for more changes nothing, as in Hadoop."""
        return self.get_file_status(path).is_file

    def access(self, path: PathLike, mode: int) -> None:
        target = self.resolve(path)
        if not os.access(target, mode):
            raise errors.AccessDenied(f"`{target}': Permission denied")

    def get_status(self) -> FsStatus:
        info = os.statvfs("/")
        capacity = info.f_blocks * info.f_frsize
        remaining = info.f_bfree * info.f_frsize
        return FsStatus(capacity, capacity - remaining, remaining)

    def close(self) -> None:
        """Nothing is kept open."""


def _follow(path: str) -> os.stat_result:
    """A link's target, or the link itself where that is gone."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return os.lstat(path)


def _status(path: str, info: os.stat_result) -> FileStatus:
    return FileStatus(
        path=path,
        length=info.st_size,
        is_directory=stat.S_ISDIR(info.st_mode),
        replication=1,
        block_size=BLOCK_SIZE_BYTES,
        modification_time_ms=info.st_mtime_ns // 1_000_000,
        access_time_ms=info.st_atime_ns // 1_000_000,
        permission=stat.S_IMODE(info.st_mode) & _PERMISSIONS,
        owner=_user_name(info.st_uid),
        group=_group_name(info.st_gid),
        file_id=info.st_ino,
    )


@lru_cache(maxsize=256)
def _user_name(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@lru_cache(maxsize=256)
def _group_name(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """What the operating system says, as members of `howdah.errors`."""
    try:
        yield
    except errors.HowdahError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise errors.PathNotFound(f"`{path}': No such file or directory") from error
    except FileExistsError as error:
        raise errors.PathExists(f"`{path}': File exists") from error
    except IsADirectoryError as error:
        raise errors.PathIsDirectory(f"`{path}': Is a directory") from error
    except PermissionError as error:
        raise errors.AccessDenied(f"`{path}': {error.strerror}") from error


class _LocalInput(io.FileIO):
    """A local file as the inside of an `FSDataInputStream`."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "rb")

    def pread(self, offset: int, length: int) -> bytes:
        return os.pread(self.fileno(), length, offset)

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        return os.preadv(self.fileno(), [buffer], offset)

    def has_capability(self, capability: str) -> bool:
        return capability == "in:preadbytebuffer"

    def unbuffer(self) -> None:
        """The operating system holds the buffers."""

    def set_drop_behind(self, drop: bool | None) -> None:
        if drop:
            os.posix_fadvise(self.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def set_readahead(self, length: int | None) -> None:
        """The operating system reads ahead by its own measure."""


class _LocalOutput:
    """A local file as the inside of an `FSDataOutputStream`; nothing is buffered here."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._file = io.FileIO(descriptor, "wb")

    @property
    def path(self) -> str:
        return self._path

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, data: Writable) -> None:
        if self.closed:
            raise errors.ClosedStream(f"{self._path} is closed")
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]

    def hflush(self) -> None:
        """What is written is visible at once."""

    def hsync(self) -> None:
        os.fsync(self._file.fileno())

    def get_pos(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def has_capability(self, capability: str) -> bool:
        return capability.lower() in ("hflush", "hsync")

    def set_drop_behind(self, drop: bool | None) -> None:
        if drop:
            os.posix_fadvise(self._file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        self._file.close()
