"""What fsspec can open, as a FileSystem: `sftp://`, `gdrive://` and others.

A scheme that howdah doesn't serve itself is fsspec's, if that is installed and knows it.
Options for fsspec are configuration keys `fsspec.SCHEME.OPTION`, such as
`fsspec.sftp.username`; credentials come from wherever fsspec takes them.

Such filesystems have neither owners nor modes, most no directories that outlive their
last file, and not all rename in one step. What is missing says so (`path_capabilities`,
`UnsupportedOperation`); a time of 0 is one that nobody knows.

fsspec's `rm` and `mv` take names with `*`, `?` and `[` for patterns; paths here are names, so such
files are removed and moved one by one.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from glob import has_magic
from typing import Any, Final

from howdah import errors
from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem, Progress
from howdah.fs.paths import PathLike
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import CreateFlag

NOT_BY_FSSPEC: Final = ("har", "hdfs", "howdah")
"""Schemes of Hadoop's, which are served as Hadoop does or not at all."""
_WITHOUT_DIRECTORIES: Final = frozenset(
    ("abfs", "az", "gcs", "gs", "lakefs", "oci", "ocilake", "oss", "s3", "s3a", "tos", "tosfs")
)
"""Object stores, where a directory is there once a file is in it."""
_BLOCK_BYTES: Final = 32 << 20
_BUFFER_BYTES: Final = 1 << 20
_TIMES: Final = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")


def is_known(scheme: str) -> bool:
    """Whether fsspec is there and knows a scheme."""
    if scheme in NOT_BY_FSSPEC:
        return False
    try:
        from fsspec.registry import known_implementations, registry
    except ImportError:
        return False
    return scheme in known_implementations or scheme in registry


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Python's own errors as howdah's."""
    try:
        yield
    except errors.HowdahError:
        raise
    except FileNotFoundError as error:
        raise errors.PathNotFound(f"File does not exist: {path}").about(path) from error
    except FileExistsError as error:
        raise errors.PathExists(f"{path} exists").about(path) from error
    except IsADirectoryError as error:
        raise errors.PathIsDirectory(f"{path} is a directory").about(path) from error
    except NotADirectoryError as error:
        raise errors.ParentNotDirectory(f"{path}: {error}").about(path) from error
    except PermissionError as error:
        raise errors.AccessDenied(f"{path}: {error}").about(path) from error


class ForeignFileSystem(FileSystem):
    """Wraps one of fsspec's filesystems."""

    def __init__(
        self, scheme: str, authority: str, conf: Configuration, user: str | None = None
    ) -> None:
        import fsspec

        self.scheme = scheme  # type: ignore[misc]
        self._authority = authority
        self._conf = conf
        prefix = f"fsspec.{scheme}."
        own = {k.removeprefix(prefix): v for k, v in conf.items() if k.startswith(prefix)}
        try:
            kind: Any = fsspec.get_filesystem_class(scheme)
            # Some are told by the URI where they are.
            url_options = kind._get_kwargs_from_urls(f"{scheme}://{authority}/")
            # Others change what is there, so nothing is to be remembered of a listing.
            self._fs: Any = kind(use_listings_cache=False, **{**url_options, **own})
        except ImportError as error:
            raise errors.UnsupportedOperation(f"{scheme}:// needs a package: {error}") from error
        except OSError as error:
            raise errors.Unreachable(f"Cannot connect to {self.uri}: {error}") from error
        except (TypeError, ValueError) as error:
            raise errors.IllegalArgument(f"Cannot use {self.uri}: {error}") from error

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self._authority}"

    def home_directory(self) -> str:
        return paths.SEPARATOR

    def close(self) -> None:
        """Connections are fsspec's, which shares them."""

    def _full(self, path: PathLike) -> tuple[str, str]:
        """The path here, and what fsspec calls it."""
        resolved = self.resolve(path)
        return resolved, self._fs._strip_protocol(f"{self.uri}{resolved}")

    # --- streams ------------------------------------------------------------------------

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
        resolved, full = self._full(path)
        if not overwrite and self.exists(resolved):
            raise errors.PathExists(f"{resolved} already exists").about(resolved)
        if create_parent:
            parent = paths.parent_of(resolved) or paths.SEPARATOR
            with errors.about(resolved):
                try:
                    self.mkdirs(parent)
                except errors.PathExists as error:
                    raise errors.ParentNotDirectory(f"{parent} is a file") from error
        else:
            self._check_parent(resolved)
        with _translated(resolved):
            return FSDataOutputStream(self._fs.open(full, "wb"), resolved)

    def _check_parent(self, path: str) -> None:
        """Raise `ParentNotDirectory`, or `PathNotFound` where directories are kept."""
        parent = paths.parent_of(path) or paths.SEPARATOR
        there = None if parent == paths.SEPARATOR else self._status_if_any(parent)
        if there is not None and not there.is_directory:
            raise errors.ParentNotDirectory(f"{parent} is a file").about(path)
        if there is None and parent != paths.SEPARATOR and self.scheme not in _WITHOUT_DIRECTORIES:
            raise errors.PathNotFound(f"Parent directory doesn't exist: {parent}").about(path)

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        status = self.get_file_status(path)
        if status.is_directory:
            raise errors.PathIsDirectory(f"{status.path} is a directory").about(status.path)
        with _translated(status.path):
            stream = self._fs.open(self._full(path)[1], "rb")
        return FSDataInputStream(
            ForeignInput(status.path, stream, status.length), buffer_size or _BUFFER_BYTES
        )

    # --- namespace ----------------------------------------------------------------------

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        resolved, full = self._full(path)
        there = None if resolved == paths.SEPARATOR else self._status_if_any(resolved)
        if there is not None and not there.is_directory:
            raise errors.PathExists(f"Path is not a directory: {resolved}").about(resolved)
        if resolved != paths.SEPARATOR and there is None:
            with _translated(resolved):
                self._fs.makedirs(full, exist_ok=True)
        return True

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        resolved, full = self._full(path)
        with _translated(resolved):
            self._fs.mkdir(full, create_parents=False)
        return True

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        (source, full_source), (target, full_target) = self._full(src), self._full(dst)
        with errors.about(source, target), _translated(source):
            status = self._check_rename(source, target, overwrite)
            if has_magic(full_source) and not self._moves_names():
                self._copy_named(status, target)
                self._remove_named(status)
            else:
                self._fs.mv(full_source, full_target, recursive=status.is_directory)

    def _moves_names(self) -> bool:
        """Whether a rename is the filesystem's own, and not fsspec's copy of a pattern."""
        from fsspec import AbstractFileSystem

        return type(self._fs).mv is not AbstractFileSystem.mv

    def _check_rename(self, source: str, target: str, overwrite: bool) -> FileStatus:
        """The status of the source. fsspec copies and removes, and checks nothing: a directory
        would go into itself and be removed, or into the one that it should replace."""
        if paths.SEPARATOR in (source, target):
            raise errors.RemoteError("neither end of a rename can be the root")
        status = self.get_file_status(source)
        if source == target:
            raise errors.PathExists(f"The source {source} and destination {target} are the same")
        if paths.is_under(target, source):
            raise errors.RemoteError(f"Rename destination {target} is under source {source}")
        above = self._status_if_any(paths.parent_of(target) or paths.SEPARATOR)
        if above is not None and not above.is_directory:
            raise errors.ParentNotDirectory(f"rename destination parent {above.path} is a file")
        there = self._status_if_any(target)
        if there is None:
            return status
        if not overwrite:
            raise errors.PathExists(f"{target} exists")
        if there.is_directory != status.is_directory:
            raise errors.RemoteError(
                f"Source {source} and destination {target} must both be directories, or files"
            )
        if there.is_directory:
            self.delete(target)
        return status

    def _status_if_any(self, path: str) -> FileStatus | None:
        try:
            return self.get_file_status(path)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return None

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        resolved, full = self._full(path)
        try:
            # Object stores take the removal of anything for done.
            status = self.get_file_status(resolved)
            if status.is_directory and not recursive and any(self.list_status_iter(resolved)):
                raise errors.DirectoryNotEmpty(f"{resolved} is not empty").about(resolved)
            if resolved == paths.SEPARATOR:
                return False  # As of every filesystem here: no slip of a finger empties a store.
            if has_magic(full):
                self._remove_named(status)
                return True
            with _translated(resolved):
                self._fs.rm(full, recursive=status.is_directory)
        except errors.PathNotFound:
            return False
        return True

    def _remove_named(self, status: FileStatus) -> None:
        """Remove a file, or a directory with all that is below it, by its name."""
        resolved, full = self._full(status.path)
        if status.is_directory:
            for entry in list(self.list_status_iter(resolved)):
                self._remove_named(entry)
            with _translated(resolved):
                if self._status_if_any(resolved) is not None:
                    self._fs.rmdir(full)
            return
        with _translated(resolved):
            try:
                self._fs.rm_file(full)
            except NotImplementedError as error:
                raise errors.UnsupportedOperation(
                    f"{resolved}: {self.scheme}:// takes such a name for a pattern"
                ).about(resolved) from error

    def _copy_named(self, source: FileStatus, target: str) -> None:
        """Copy a file, or a directory with all that is below it, by its name."""
        full_target = self._full(target)[1]
        if source.is_file:
            self._fs.cp_file(self._full(source.path)[1], full_target)
            return
        self._fs.makedirs(full_target, exist_ok=True)
        for entry in list(self.list_status_iter(source.path)):
            self._copy_named(entry, paths.join(target, entry.name))

    def get_file_status(self, path: PathLike) -> FileStatus:
        resolved, full = self._full(path)
        with _translated(resolved):
            return _status(resolved, self._fs.info(full))

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        status = self.get_file_status(path)
        if not status.is_directory:
            yield status
            return
        resolved, full = self._full(path)
        with _translated(resolved):
            infos = self._fs.ls(full, detail=True)
        for info in sorted(infos, key=lambda info: str(info["name"])):
            name = info["name"].rstrip(paths.SEPARATOR)
            # Some stores have an empty file that stands for the directory.
            if name != full.rstrip(paths.SEPARATOR):
                yield _status(paths.join(resolved, paths.name_of(name)), info)


class ForeignInput(io.RawIOBase):
    """The inside of an `FSDataInputStream` on a file of fsspec's."""

    def __init__(self, path: str, stream: Any, length: int) -> None:
        super().__init__()
        self._path = path
        self._stream = stream
        self._length = length
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._path

    @property
    def length(self) -> int:
        """Bytes in the file, as of its opening."""
        return self._length

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    # A `pread` moves the one stream, and back: nobody is to see it elsewhere meanwhile.

    def tell(self) -> int:
        with self._lock:
            return int(self._stream.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._lock:
            return int(self._stream.seek(offset, whence))

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        view = memoryview(buffer).cast("B")
        with self._lock, _translated(self._path):
            data = self._stream.read(len(view))
        view[: len(data)] = data
        return len(data)

    def pread(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`, fewer only at the end of the file."""
        if offset < 0 or length < 0:
            raise ValueError(f"cannot read {length} bytes from offset {offset}")
        with self._lock, _translated(self._path):
            here = self._stream.tell()
            try:
                self._stream.seek(offset)
                return bytes(self._stream.read(length))
            finally:
                self._stream.seek(here)

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `offset`; how many bytes, fewer only at the end of the file."""
        view = memoryview(buffer).cast("B")
        data = self.pread(offset, len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    def has_capability(self, capability: str) -> bool:
        return False

    def unbuffer(self) -> None:
        """Nothing is held back here."""

    def set_drop_behind(self, drop: bool | None) -> None:
        raise errors.UnsupportedOperation(f"{self._path} does not offer set_drop_behind")

    def set_readahead(self, length: int | None) -> None:
        raise errors.UnsupportedOperation(f"{self._path} does not offer set_readahead")


def _status(path: str, info: dict[str, Any]) -> FileStatus:
    is_directory = info.get("type") == "directory"
    return FileStatus(
        path=path,
        length=0 if is_directory else int(info.get("size") or 0),
        is_directory=is_directory,
        replication=0 if is_directory else 1,
        block_size=0 if is_directory else _BLOCK_BYTES,
        modification_time_ms=_modified_ms(info),
        access_time_ms=0,
        permission=0o777 if is_directory else 0o666,
        owner="",
        group="",
    )


def _modified_ms(info: dict[str, Any]) -> int:
    """When a file was changed, by whichever name it is told; 0 if it isn't."""
    for name in _TIMES:
        value = info.get(name)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1000)
        if isinstance(value, int | float):
            return int(value * 1000)
        if isinstance(value, str):
            try:
                return int(datetime.fromisoformat(value).timestamp() * 1000)
            except ValueError:
                continue
    return 0
