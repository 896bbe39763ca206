"""A filesystem in memory, and `howdah dfs` run on it in this process."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pytest

import howdah
from howdah import errors
from howdah.cli.dfs import main
from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.paths import PathLike
from howdah.fs.status import FileChecksum, FileStatus, FsStatus, ServerDefaults
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, Writable
from howdah.options import CreateFlag

if TYPE_CHECKING:
    from typing_extensions import Buffer

URI = "hdfs://memory:8020"
OWNER, GROUP = "me", "staff"
BLOCK_BYTES = 1 << 20


class _Output:
    """What is written comes to the file when the stream is closed."""

    def __init__(self, fs: MemoryFiles, path: str, content: bytes) -> None:
        self._fs = fs
        self._path = path
        self._content = bytearray(content)
        self._closed = False

    @property
    def path(self) -> str:
        return self._path

    @property
    def closed(self) -> bool:
        return self._closed

    def write(self, data: Writable) -> None:
        self._content += data

    def hflush(self) -> None:
        self._fs.flushes += 1

    hsync = hflush

    def get_pos(self) -> int:
        return len(self._content)

    def has_capability(self, capability: str) -> bool:
        return False

    def set_drop_behind(self, drop: bool | None) -> None:
        raise errors.UnsupportedOperation("no caches here")

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._path in self._fs.failing_closes:
            raise errors.PipelineFailed(f"Could not close {self._path}: all datanodes are bad")
        self._fs.fill(self._path, bytes(self._content))


class MemoryFiles(FileSystem):
    """Files and directories in a dict; every call that changes something is noted."""

    scheme: ClassVar[str] = "hdfs"

    def __init__(self) -> None:
        self.entries: dict[str, FileStatus] = {}
        self.contents: dict[str, bytes] = {}
        self.calls: list[str] = []
        self.failing_closes: set[str] = set()
        self.broken_reads: dict[str, BaseException] = {}
        self.flushes = 0
        self.recoveries = 0
        self.recovering: dict[str, int] = {}
        self.refuses_concat = False
        self.trash_interval_minutes = 0
        self._put("/", is_directory=True)

    @property
    def uri(self) -> str:
        return URI

    def home_directory(self) -> str:
        return f"/user/{OWNER}"

    def _put(self, path: str, *, is_directory: bool, length: int = 0) -> None:
        self.entries[path] = FileStatus(
            path=path,
            length=length,
            is_directory=is_directory,
            replication=0 if is_directory else 3,
            block_size=0 if is_directory else BLOCK_BYTES,
            modification_time_ms=1_600_000_000_000,
            access_time_ms=0,
            permission=0o755 if is_directory else 0o644,
            owner=OWNER,
            group=GROUP,
        )

    def fill(self, path: str, content: bytes) -> None:
        """Give a file its content, with all directories above it."""
        parent = paths.parent_of(path)
        if parent is not None and parent not in self.entries:
            self.mkdirs(parent)
        self._put(path, is_directory=False, length=len(content))
        self.contents[path] = content

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
        progress: Callable[[], None] | None = None,
        flags: CreateFlag = CreateFlag.NONE,
    ) -> FSDataOutputStream:
        target = self.resolve(path)
        self.calls.append(f"create {target}")
        if target in self.entries and not overwrite:
            raise errors.PathExists(f"{target} already exists")
        self.fill(target, b"")
        return FSDataOutputStream(_Output(self, target, b""))

    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Callable[[], None] | None = None,
    ) -> FSDataOutputStream:
        target = self.resolve(path)
        return FSDataOutputStream(_Output(self, target, self.contents[target]))

    def truncate(self, path: PathLike, length: int) -> bool:
        target = self.resolve(path)
        self.calls.append(f"truncate {target} {length}")
        self.fill(target, self.contents[target][:length])
        self.recovering[target] = self.recoveries
        return not self.recoveries

    def is_file_closed(self, path: PathLike) -> bool:
        target = self.resolve(path)
        self.calls.append(f"is_file_closed {target}")
        self.recovering[target] -= 1
        return self.recovering[target] < 0

    def concat(self, target: PathLike, sources: Sequence[PathLike]) -> None:
        whole = self.resolve(target)
        if self.refuses_concat:
            raise errors.UnsupportedOperation("no")
        for each in sources:
            self.fill(whole, self.contents[whole] + self.contents[self.resolve(each)])
            self.delete(each)

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        target = self.resolve(path)
        self.get_file_status(target)
        return FSDataInputStream(cast(io.RawIOBase, _Input(self, target)))

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        self.calls.append(f"mkdirs {target}")
        parts = target.strip("/").split("/")
        for count in range(1, len(parts) + 1):
            each = "/" + "/".join(parts[:count])
            if each not in self.entries:
                self._put(each, is_directory=True)
                if permission is not None:
                    self.set_permission(each, permission)
        return True

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        return self.mkdirs(path, permission)

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        source, target = self.resolve(src), self.resolve(dst)
        self.calls.append(f"rename {source} {target}")
        if target in self.entries and not overwrite:
            raise errors.PathExists(f"{target} already exists")
        for path in [path for path in self.entries if paths.is_under(path, source)]:
            new = target + path.removeprefix(source)
            self.entries[new] = replace(self.entries.pop(path), path=new)
            if path in self.contents:
                self.contents[new] = self.contents.pop(path)

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        target = self.resolve(path)
        self.calls.append(f"delete {target}")
        below = [each for each in self.entries if paths.is_under(each, target)]
        for each in below:
            del self.entries[each]
            self.contents.pop(each, None)
        return bool(below)

    def get_file_status(self, path: PathLike) -> FileStatus:
        target = self.resolve(path)
        if target not in self.entries:
            raise errors.PathNotFound(f"File does not exist: {target}")
        return self.entries[target]

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        target = self.resolve(path)
        if not self.get_file_status(target).is_directory:
            yield self.entries[target]
        for each in sorted(self.entries):
            if each != "/" and paths.parent_of(each) == target:
                yield self.entries[each]

    def set_permission(self, path: PathLike, mode: int) -> None:
        target = self.resolve(path)
        self.calls.append(f"set_permission {target} {mode:o}")
        self.entries[target] = replace(self.entries[target], permission=mode)

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        target = self.resolve(path)
        self.calls.append(f"set_owner {target} {owner} {group}")
        status = self.entries[target]
        self.entries[target] = replace(
            status, owner=owner or status.owner, group=group or status.group
        )

    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        target = self.resolve(path)
        self.calls.append(f"set_times {target} {mtime_ms} {atime_ms}")

    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum | None:
        return FileChecksum("SIZE", len(self.contents[self.resolve(path)]).to_bytes(4, "big"))

    def get_status(self, path: PathLike | None = None) -> FsStatus:
        return FsStatus(1000, 250, 750)

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return ServerDefaults(
            BLOCK_BYTES, 512, "CRC32C", 3, 65536, 4096, self.trash_interval_minutes
        )

    def close(self) -> None:
        self.calls.append("close")


class _Input(io.BytesIO):
    """Content as the inside of an `FSDataInputStream`."""

    def __init__(self, fs: MemoryFiles, path: str) -> None:
        super().__init__(fs.contents[path])
        self._error = fs.broken_reads.get(path)

    def readinto(self, buffer: Buffer) -> int:
        if self._error is not None and self.tell() > 0:
            raise self._error
        return super().readinto(buffer)

    def pread(self, offset: int, length: int) -> bytes:
        return self.getvalue()[offset : offset + length]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call did."""

    code: int
    out: str
    err: str


class Dfs:
    """`howdah dfs` on the filesystem in memory: `dfs("-ls", "/")`."""

    def __init__(self, fs: MemoryFiles, patch: pytest.MonkeyPatch) -> None:
        self.fs = fs
        self._patch = patch

    def __call__(
        self, *arguments: str, stdin: bytes = b"", conf: Mapping[str, str] | None = None
    ) -> Outcome:
        out, err = io.BytesIO(), io.BytesIO()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8", write_through=True))
        self._patch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8", write_through=True))
        code = main(list(arguments), Configuration({"fs.defaultFS": URI, **(conf or {})}))
        told = [stream.getvalue().decode("utf-8", "surrogateescape") for stream in (out, err)]
        return Outcome(code, *told)


@pytest.fixture(autouse=True)
def _signals_are_heard() -> Iterator[None]:
    """Give this process the usual answers, whatever the shell that started it has ignored."""
    usual: dict[signal.Signals, Callable[[int, FrameType | None], Any] | signal.Handlers] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def fs() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def dfs(fs: MemoryFiles, monkeypatch: pytest.MonkeyPatch) -> Dfs:
    def connect(uri: str, *, conf: Configuration) -> FileSystem:
        assert uri == URI, f"nobody is at {uri}"
        return fs

    monkeypatch.setattr(howdah, "connect", connect)
    return Dfs(fs, monkeypatch)
