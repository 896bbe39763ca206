"""Two HDFS in one process, and mirrors between them that are killed anywhere.

The namenodes are the real namesystems (`howdah.testing.in_memory`), and what is called is the real
filesystem interface over the real client's calls. Bytes of blocks are in a dictionary instead of on
datanodes. A mirror that is killed makes no further call, not even those of its `finally` clauses.
"""

from __future__ import annotations

import io
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, NoReturn

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.statistics import Tally
from howdah.config import Configuration
from howdah.copy.common import filesystems
from howdah.copy.locks import tree_lock
from howdah.fs.api import FileSystem
from howdah.fs.file_output import PlainOutput
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.hdfs.status import server_defaults
from howdah.fs.input_base import PositionedInput
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.paths import PathLike
from howdah.fs.status import FileChecksum, FileStatus, ServerDefaults
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.mirror import rounds
from howdah.namenode.service.calls.settings import Settings
from howdah.options import CreateFlag
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.protocol.rpc.service import Deferred
from howdah.testing import trees
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode, ManualClock

READS = frozenset(
    {
        *("getFileInfo", "getFileLinkInfo", "getListing", "getBlockLocations"),
        *("getServerDefaults", "getXAttrs", "getAclStatus", "getSnapshotDiffReport"),
        *("getSnapshotDiffReportListing", "getErasureCodingPolicy", "isFileClosed"),
        *("getEZForPath", "listEncryptionZones", "getSnapshotListing", "getContentSummary"),
    }
)


BEFORE: Final[trees.Tree] = {
    "same": b"1",
    "changed": b"old",
    "gone": b"2",
    "swap-a": b"a",
    "swap-b": b"b",
    "d": None,
    "d/x": b"3",
    "d/deep": None,
    "d/deep/y": b"4",
    "lost": None,
    "lost/z": b"5",
}
AFTER: Final[trees.Tree] = {
    "same": b"1",
    "changed": b"new",
    "swap-a": b"b",
    "swap-b": b"a",
    "lost": b"a file by now",
    "new": None,
    "new/d2": None,
    "new/d2/x": b"33",
    "y": b"4",
}


def change_tree(fs: FileSystem, top: str) -> None:
    """From the first tree to the second one."""
    fs.rename(f"{top}/swap-a", f"{top}/t")
    fs.rename(f"{top}/swap-b", f"{top}/swap-a")
    fs.rename(f"{top}/t", f"{top}/swap-b")
    fs.mkdirs(f"{top}/new")
    fs.rename(f"{top}/d", f"{top}/new/d2")
    fs.rename(f"{top}/new/d2/deep/y", f"{top}/y")
    fs.delete(f"{top}/new/d2/deep")
    fs.delete(f"{top}/lost", recursive=True)
    fs.delete(f"{top}/gone")
    fs.write_bytes(f"{top}/changed", b"new")
    fs.write_bytes(f"{top}/lost", b"a file by now")
    with fs.append(f"{top}/new/d2/x") as out:
        out.write(b"3")


_numbers = itertools.count()


class Killed(BaseException):
    """The process is gone."""


class Life:
    """Of one mirror process: after so many calls that change something it is killed."""

    def __init__(self) -> None:
        self.calls_left: int | None = None
        self.is_dead = False
        self.before_change: Callable[[], None] = lambda: None
        self.changes = 0

    def begin(self, calls: int | None) -> None:
        """A new process, which is killed before its call number `calls`."""
        self.calls_left, self.is_dead, self.changes = calls, False, 0

    def spend(self, method: str) -> None:
        if self.is_dead:
            raise Killed
        if method in READS:
            return
        self.changes += 1
        if self.calls_left is not None:
            if self.calls_left <= 0:
                self.is_dead = True
                raise Killed
            self.calls_left -= 1
        self.before_change()


class _Calls:
    """`NamenodeCalls` of a namenode in memory."""

    def __init__(self, namenode: InMemoryNamenode, life: Life | None) -> None:
        self._namenode = namenode
        self._life = life
        self._lock = threading.RLock()
        self.user = SUPERUSER
        self.address = ("memory", 1)

    def call(self, method: str, request: Message, response_type: Any) -> Any:
        with self._lock:
            if self._life is not None:
                self._life.spend(method)
            self._namenode.clock.advance(1)
            answer = self._namenode.call(method, request)
            assert not isinstance(answer, Deferred)
            return answer

    def close(self) -> None:
        """Nothing is open."""


class _Written(io.BytesIO):
    def __init__(self, store: Callable[[bytes], None]) -> None:
        super().__init__()
        self._store = store

    def close(self) -> None:
        if not self.closed:
            data = self.getvalue()
            super().close()
            self._store(data)


class _Input(PositionedInput):
    def __init__(self, path: str, data: bytes) -> None:
        super().__init__(path)
        self._data = data

    @property
    def length(self) -> int:
        return len(self._data)

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        piece = self._data[self._position : self._position + len(view)]
        view[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def pread(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


class MemoryHdfs(HdfsFileSystem):
    """One HDFS in memory, as its superuser. `life` None: it is never killed."""

    def __init__(
        self,
        authority: str,
        namenode: InMemoryNamenode,
        blocks: dict[int, bytes],
        life: Life | None = None,
    ) -> None:
        self._calls = _Calls(namenode, life)
        self._memory = namenode
        self._blocks = blocks
        HdfsNamespace.__init__(
            self, authority, Configuration(), SUPERUSER, NamenodeProxy(self._calls), Tally()
        )

    def close(self) -> None:
        """Others go on with it."""

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return server_defaults(self._namenode.get_server_defaults())

    def trash_root(self, path: PathLike) -> str:
        """It has no key servers, and so no zones."""
        return FileSystem.trash_root(self, path)

    def create(  # type: ignore[override]
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        replication: int | None = None,
        block_size: int | None = None,
        create_parent: bool = True,
        flags: CreateFlag = CreateFlag.NONE,
        **_: Any,
    ) -> FSDataOutputStream:
        name = self.resolve(path)
        flags |= CreateFlag.CREATE | (CreateFlag.OVERWRITE if overwrite else CreateFlag.NONE)
        status = self._namenode.create(
            name,
            "client",
            masked=0o644,
            unmasked=0o666,
            flags=flags,
            create_parent=create_parent,
            replication=replication or 1,
            block_size=block_size or 1 << 20,
        )
        return self._stream(name, status.fileId)

    def append(self, path: PathLike, **_: Any) -> FSDataOutputStream:  # type: ignore[override]
        name = self.resolve(path)
        _last, status = self._namenode.append(name, "client", CreateFlag.NEW_BLOCK)
        assert status is not None
        located = self._namenode.get_block_locations(name, 0, 1 << 62)
        return self._stream(
            name, status.fileId, located.blocks[-1].block if located.blocks else None
        )

    def _stream(self, name: str, file_id: int, previous: Any = None) -> FSDataOutputStream:
        def store(data: bytes) -> None:
            last = previous
            if data:
                block = self._namenode.add_block(name, "client", previous, (), file_id).block
                last = block.with_length(len(data))
                self._blocks[block.block_id] = data
                (node,) = self._memory.nodes
                node.store(block.block_id, block.generation_stamp, len(data))
            assert self._namenode.complete(name, "client", last, file_id)

        return FSDataOutputStream(PlainOutput(_Written(store), name))

    def write_sparse(self, path: PathLike, length: int) -> None:
        """A file of one block, of which nobody has the bytes: to read it fails."""
        name = self.resolve(path)
        flags = CreateFlag.CREATE
        status = self._namenode.create(
            name,
            "client",
            masked=0o644,
            unmasked=0o666,
            flags=flags,
            create_parent=True,
            replication=1,
            block_size=length,
        )
        block = self._namenode.add_block(name, "client", None, (), status.fileId).block
        (node,) = self._memory.nodes
        node.store(block.block_id, block.generation_stamp, length)
        last = block.with_length(length)
        assert self._namenode.complete(name, "client", last, status.fileId)

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        return FSDataInputStream(_Input(self.resolve(path), self.content(path)))

    def content(self, path: PathLike) -> bytes:
        """The bytes of a file."""
        located = self._namenode.get_block_locations(self.resolve(path), 0, 1 << 62)
        return b"".join(
            self._blocks[block.block.block_id][: block.length_bytes] for block in located.blocks
        )

    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum:
        data = self.content(path)[:length]
        return FileChecksum(
            "COMPOSITE-CRC32C", crc(ChecksumType.CRC32C, data, 0).to_bytes(4, "big")
        )

    def is_file_closed(self, path: PathLike) -> bool:
        return self._namenode.is_file_closed(self.resolve(path))


class MemoryStore(MemoryFileSystem):
    """A filesystem without snapshots, in memory (`store://NAME`)."""

    scheme = "store"

    def __init__(self, authority: str, life: Life | None = None) -> None:
        super().__init__(authority, Configuration(), SUPERUSER)
        self._life = life

    @property
    def uri(self) -> str:
        return f"store://{self._authority}"

    def _spend(self, method: str) -> None:
        if self._life is not None:
            self._life.spend(method)

    def create(self, path: PathLike, **options: Any) -> FSDataOutputStream:
        self._spend("create")
        return super().create(path, **options)

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        self._spend("mkdirs")
        return super().mkdirs(path, permission)

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        self._spend("rename")
        super().rename(src, dst, overwrite=overwrite)

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        self._spend("delete")
        return super().delete(path, recursive)

    def get_file_checksum(self, path: PathLike, **_: Any) -> NoReturn:
        raise errors.UnsupportedOperation(f"{path} has no checksum")


Tree = dict[str, tuple[object, ...]]


def tree_of(fs: MemoryHdfs, top: str) -> Tree:
    """What a directory has: of each entry its attributes, and of files their content."""
    found: Tree = {}

    def visit(status: FileStatus, relative: str) -> None:
        common = (status.permission, status.owner, status.group, fs.get_xattrs(status.path))
        if status.is_directory:
            found[relative] = ("directory", *common)
            for child in fs.list_status(status.path):
                visit(child, f"{relative}/{child.name}")
        else:
            content = fs.content(status.path)
            found[relative] = ("file", content, status.modification_time_ms, *common)

    visit(fs.get_file_status(top), "")
    return found


def content_of(fs: FileSystem, top: str) -> dict[str, bytes | None]:
    """The files of a directory with their content, and its directories."""
    found: dict[str, bytes | None] = {}
    for directory, directories, files in fs.walk(top):
        del directory
        found |= {child.path.removeprefix(top): None for child in directories}
        found |= {child.path.removeprefix(top): fs.read_bytes(child.path) for child in files}
    return found


class World:
    """Two HDFS, `hdfs://a` and `hdfs://b`, and a store without snapshots, `store://s`. `life` is
    that of the mirror's process."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.life = Life()
        self.users: dict[str, MemoryHdfs] = {}
        """Clients which are never killed."""
        self._mirrors: dict[str, MemoryHdfs] = {}
        number = next(_numbers)
        self.store = MemoryStore(f"s{number}")
        self._mirrored_store = MemoryStore(f"s{number}", self.life)
        for name in ("a", "b"):
            settings = Settings("", min_replication=1, default_replication=1)
            namenode = InMemoryNamenode(settings, clock=self.clock)
            namenode.join("dn0")
            blocks: dict[int, bytes] = {}
            self.users[name] = MemoryHdfs(name, namenode, blocks)
            self._mirrors[name] = MemoryHdfs(name, namenode, blocks, self.life)

    def connect(self, uri: str | None, **_: object) -> FileSystem:
        """The filesystem of a URI, as the mirror has it."""
        assert uri is not None
        if uri.startswith("store://"):
            return self._mirrored_store
        return self._mirrors[uri.removeprefix("hdfs://").partition("/")[0]]

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have copies and mirrors find these filesystems by their URIs."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(filesystems, "connect", self.connect)
            patch.setattr(filesystems, "resolve_uri", lambda uri, conf: (None, conf))
            patch.setattr(filesystems, "_open", {})
            patch.setattr("howdah.copy.context.connect", self.connect)
            # A lease would outlive a mirror that is killed, and its process lives.
            patch.setattr(tree_lock, "mechanism_of", lambda fs: None)
            patch.setattr(rounds, "leased", lambda *_: nullcontext(tree_lock.NO_LOCK))
            yield
