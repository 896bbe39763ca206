"""Strangers' filesystems as objects that the checks can be run against.

An adapter translates names and errors and nothing else: what the stranger does is what is
tested.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from howdah import errors
from howdah.fs.api import FileSystem, Progress
from howdah.fs.paths import PathLike, is_under
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import CreateFlag
from howdah.testing.contract.subject import Traits

FSSPEC_TRAITS = Traits(
    creates_visibly=False, one_writer=False, serialises_writes=True, exact_length=False
)
"""What can be expected of any fsspec filesystem: it says nothing about open files."""


class FsspecFiles(FileSystem):
    """An fsspec filesystem as a `FileSystem`; paths are below `prefix`."""

    scheme = "fsspec"

    def __init__(self, fs: Any, prefix: str = "") -> None:
        self._fs = fs
        self._prefix = prefix.rstrip("/")

    @property
    def uri(self) -> str:
        protocol = self._fs.protocol
        return f"{protocol if isinstance(protocol, str) else protocol[0]}://"

    def home_directory(self) -> str:
        return "/"

    def close(self) -> None:
        self._fs.invalidate_cache()

    def _name(self, path: PathLike) -> str:
        return self._prefix + self.resolve(path)

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
        name = self._name(path)
        parent = name.rpartition("/")[0]
        if self._fs.isdir(name):
            raise errors.PathIsDirectory(f"{name} is a directory")
        if not overwrite and self._fs.exists(name):
            raise errors.PathExists(f"{name} exists already")
        if create_parent:
            self._fs.makedirs(parent, exist_ok=True)
        elif not self._fs.isdir(parent):
            raise errors.PathNotFound(f"{parent} does not exist")
        return FSDataOutputStream(self._fs.open(name, "wb"), self.resolve(path))

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        name = self._name(path)
        return FSDataInputStream(_Input(self._fs.open(name, "rb"), name))

    # --- paths --------------------------------------------------------------------------

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        self._fs.makedirs(self._name(path), exist_ok=True)
        return True

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        self._fs.mkdir(self._name(path), create_parents=False)
        return True

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        source, target = self._name(src), self._name(dst)
        if self._fs.exists(target) and not overwrite:
            raise errors.PathExists(f"{target} exists already")
        self._fs.mv(source, target, recursive=self._fs.isdir(source))

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        name = self._name(path)
        if not self._fs.exists(name):
            return False
        if self._fs.isdir(name) and not recursive and self._fs.ls(name, detail=False):
            raise errors.DirectoryNotEmpty(f"{name} is not empty")
        self._fs.rm(name, recursive=recursive or self._fs.isdir(name))
        return True

    def get_file_status(self, path: PathLike) -> FileStatus:
        return self._status(_or_none(self._fs.info, self._name(path)))

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        entries = _or_none(partial(self._fs.ls, detail=True), self._name(path))
        yield from map(self._status, sorted(entries, key=lambda info: info["name"]))

    def _status(self, info: dict[str, Any]) -> FileStatus:
        name = "/" + info["name"].strip("/")
        if self._prefix and is_under(name, self._prefix):
            name = name[len(self._prefix) :] or "/"
        when = info.get("mtime") or info.get("LastModified") or info.get("created") or 0
        seconds = when.timestamp() if isinstance(when, datetime) else float(when)
        directory = info["type"] == "directory"
        return FileStatus(
            path=name,
            length=0 if directory else int(info["size"] or 0),
            is_directory=directory,
            replication=0 if directory else 1,
            block_size=0,
            modification_time_ms=int(seconds * 1000),
            access_time_ms=0,
            permission=0o755 if directory else 0o644,
            owner="",
            group="",
        )


def _or_none(ask: Callable[[str], Any], name: str) -> Any:
    try:
        return ask(name)
    except FileNotFoundError as error:
        raise errors.PathNotFound(f"File does not exist: {name}") from error


class _Input(io.RawIOBase):
    """A seekable binary file as the inner stream of an `FSDataInputStream`."""

    def __init__(self, file: Any, name: str) -> None:
        super().__init__()
        self._file = file
        self.name = name
        self._lock = threading.Lock()
        self.length: int = file.seek(0, io.SEEK_END)
        file.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._lock:
            position: int = self._file.seek(offset, whence)
            return position

    def tell(self) -> int:
        with self._lock:
            position: int = self._file.tell()
            return position

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            return self._read_into(memoryview(buffer).cast("B"))

    def _read_into(self, view: memoryview) -> int:
        data = self._file.read(len(view))
        view[: len(data)] = data
        return len(data)

    def pread(self, offset: int, length: int) -> bytes:
        buffer = bytearray(max(min(length, self.length - offset), 0))
        return bytes(buffer[: self.pread_into(offset, buffer)])

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        if offset < 0:
            raise ValueError(f"cannot read from offset {offset}")
        with self._lock:
            before = self._file.tell()
            try:
                self._file.seek(offset)
                return self._read_into(memoryview(buffer).cast("B"))
            finally:
                self._file.seek(before)

    def has_capability(self, capability: str) -> bool:
        return False

    def unbuffer(self) -> None:
        raise errors.UnsupportedOperation(f"{self.name} does not offer unbuffer")

    def set_drop_behind(self, drop: bool | None) -> None:
        raise errors.UnsupportedOperation(f"{self.name} does not offer set_drop_behind")

    def set_readahead(self, length: int | None) -> None:
        raise errors.UnsupportedOperation(f"{self.name} does not offer set_readahead")

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
