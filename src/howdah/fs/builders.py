"""Builders for opening files with options: `create_file(path)….build()`, `open_file(path)…`.

They mirror FSDataOutputStreamBuilder and FutureDataInputStreamBuilder. An option that a
filesystem doesn't know is ignored when given by `opt` and refused by `build` when given
by `must`. Two defaults differ from `create`, as they do in Hadoop: `create_file`
overwrites what is there, and doesn't make missing parents unless `recursive` says so
(XC-005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypedDict

from howdah import errors
from howdah.fs.paths import PathLike
from howdah.options import CreateFlag

if TYPE_CHECKING:
    from howdah.fs.status import FileStatus
    from howdah.fs.streams import FSDataInputStream, FSDataOutputStream

Value = str | int | float | bool

BUFFER_SIZE = "fs.option.openfile.buffer.size"
# Hints that any filesystem may follow or not; no stream here depends on them.
_OPEN_HINTS = frozenset(
    (
        "fs.option.openfile.read.policy",
        "fs.option.openfile.length",
        "fs.option.openfile.split.start",
        "fs.option.openfile.split.end",
        "fs.option.openfile.footer.cache",
    )
)


# These are said by methods of the builder, not by the flags that it passes on.
_OWN_METHODS = CreateFlag.CREATE | CreateFlag.OVERWRITE | CreateFlag.APPEND


Progress = Callable[[], None]


class _Opens(Protocol):
    """What a builder needs of a filesystem."""

    @property
    def uri(self) -> str: ...

    def resolve(self, path: PathLike) -> str: ...

    def open(self, path: PathLike, *, buffer_size: int | None = None) -> FSDataInputStream: ...

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
    ) -> FSDataOutputStream: ...

    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Progress | None = None,
    ) -> FSDataOutputStream: ...


class _OpensOnNodes(_Opens, Protocol):
    """The same, of one that lets its caller choose datanodes."""

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
        favored_nodes: Sequence[str] = (),
        ec_policy: str | None = None,
        replicate: bool = False,
    ) -> FSDataOutputStream: ...


class _How(TypedDict):
    """The keyword arguments of `create`."""

    overwrite: bool
    replication: int | None
    block_size: int | None
    permission: int | None
    create_parent: bool
    buffer_size: int | None
    progress: Progress | None
    flags: CreateFlag


class _Options:
    """What `opt` and `must` collect."""

    def __init__(self, fs: _Opens, path: PathLike) -> None:
        self._fs = fs
        self._path = path
        self._optional: dict[str, Value] = {}
        self._mandatory: dict[str, Value] = {}

    def opt(self, key: str, value: Value) -> Self:
        """Set an option; one that isn't known has no effect."""
        self._mandatory.pop(key, None)
        self._optional[key] = value
        return self

    def must(self, key: str, value: Value) -> Self:
        """Set an option; one that isn't known makes `build` fail."""
        self._optional.pop(key, None)
        self._mandatory[key] = value
        return self

    def _refuse_unknown(self, known: frozenset[str]) -> None:
        unknown = sorted(set(self._mandatory) - known)
        if unknown:
            raise errors.IllegalArgument(
                f"{self._fs.uri} knows no option {', '.join(unknown)}, which {self._path} must have"
            )

    def _option(self, key: str) -> Value | None:
        return self._mandatory.get(key, self._optional.get(key))


class CreateFileBuilder(_Options):
    """Collects how a file is to be created, or appended to; `build` opens it."""

    def __init__(self, fs: _Opens, path: PathLike) -> None:
        super().__init__(fs, path)
        self._overwrite = True
        self._append = False
        self._recursive = False
        self._replication: int | None = None
        self._block_size: int | None = None
        self._permission: int | None = None
        self._buffer_size: int | None = None
        self._progress: Progress | None = None
        self._flags = CreateFlag.NONE

    def create_flag(self, flags: CreateFlag) -> Self:
        """Add what `howdah.options.CreateFlag` names; the first three as their own methods."""
        if flags & CreateFlag.OVERWRITE:
            self.overwrite()
        if flags & CreateFlag.APPEND:
            self.append()
        self._flags |= flags & ~_OWN_METHODS
        return self

    def sync_block(self) -> Self:
        """Force each block to disk when it is finished (OS-153)."""
        return self.create_flag(CreateFlag.SYNC_BLOCK)

    def new_block(self) -> Self:
        """Begin the append with a block of its own."""
        return self.create_flag(CreateFlag.NEW_BLOCK)

    def lazy_persist(self) -> Self:
        """Let replicas stay in memory for a while."""
        return self.create_flag(CreateFlag.LAZY_PERSIST)

    def no_local_write(self) -> Self:
        """Have no replica on the writer's own node."""
        return self.create_flag(CreateFlag.NO_LOCAL_WRITE)

    def ignore_client_locality(self) -> Self:
        """Place replicas as for a writer outside of the cluster."""
        return self.create_flag(CreateFlag.IGNORE_CLIENT_LOCALITY)

    def replicate(self) -> Self:
        """Replicate, even where files are erasure coded."""
        return self.create_flag(CreateFlag.SHOULD_REPLICATE)

    def overwrite(self, overwrite: bool = True) -> Self:
        """Whether an existing file is replaced."""
        self._overwrite = overwrite
        return self

    def append(self) -> Self:
        """Write at the end of an existing file."""
        self._append = True
        return self

    def recursive(self) -> Self:
        """Make missing parents."""
        self._recursive = True
        return self

    def replication(self, replication: int) -> Self:
        """Ask for so many replicas of each block."""
        self._replication = replication
        return self

    def block_size(self, size_bytes: int) -> Self:
        """Cut the file into blocks of so many bytes."""
        self._block_size = size_bytes
        return self

    def permission(self, mode: int) -> Self:
        """Mode bits, from which the umask is taken off."""
        self._permission = mode
        return self

    def buffer_size(self, size_bytes: int) -> Self:
        """Ask for a buffer of so many bytes; a filesystem with its own may ignore it."""
        self._buffer_size = size_bytes
        return self

    def progress(self, progress: Progress) -> Self:
        """Called now and then while data is written."""
        self._progress = progress
        return self

    def build(self) -> FSDataOutputStream:
        """Open the file."""
        self._refuse_unknown(frozenset())
        if self._append:
            return self._fs.append(
                self._path,
                new_block=bool(self._flags & CreateFlag.NEW_BLOCK),
                sync_block=bool(self._flags & CreateFlag.SYNC_BLOCK),
                buffer_size=self._buffer_size,
                progress=self._progress,
            )
        if self._flags & CreateFlag.NEW_BLOCK:
            raise errors.IllegalArgument(f"{self._path}: new_block is for append only")
        return self._create()

    def _create(self) -> FSDataOutputStream:
        return self._fs.create(self._path, **self._how())

    def _how(self) -> _How:
        return {
            "overwrite": self._overwrite,
            "replication": self._replication,
            "block_size": self._block_size,
            "permission": self._permission,
            "create_parent": self._recursive,
            "buffer_size": self._buffer_size,
            "progress": self._progress,
            "flags": self._flags,
        }


class HdfsCreateFileBuilder(CreateFileBuilder):
    """What HDFS knows beside: mirrors HdfsDataOutputStreamBuilder."""

    def __init__(self, fs: _OpensOnNodes, path: PathLike) -> None:
        super().__init__(fs, path)
        self._hdfs = fs
        self._favored_nodes: tuple[str, ...] = ()
        self._ec_policy: str | None = None

    def favored_nodes(self, nodes: Sequence[str]) -> Self:
        """Datanodes (`host:port`) that replicas are to be on, if they can take them."""
        self._favored_nodes = tuple(nodes)
        return self

    def ec_policy(self, name: str) -> Self:
        """The erasure coding policy of the file, whatever that of its directory is."""
        self._ec_policy = name
        return self

    def _create(self) -> FSDataOutputStream:
        return self._hdfs.create(
            self._path,
            **self._how(),
            favored_nodes=self._favored_nodes,
            ec_policy=self._ec_policy,
        )


class OpenFileBuilder(_Options):
    """Collects how a file is to be read; `build` opens it."""

    def with_file_status(self, status: FileStatus) -> Self:
        """What is known of the file already; a path that differs is refused."""
        if status.path != self._fs.resolve(self._path):
            raise errors.IllegalArgument(f"The status is of {status.path}, not of {self._path}")
        return self

    def build(self) -> FSDataInputStream:
        """Open the file."""
        self._refuse_unknown(_OPEN_HINTS | {BUFFER_SIZE})
        buffer_size = self._option(BUFFER_SIZE)
        return self._fs.open(
            self._path, buffer_size=None if buffer_size is None else int(buffer_size)
        )
