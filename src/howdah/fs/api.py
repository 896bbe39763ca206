"""The FileSystem interface: what every filesystem of howdah can be asked (FS-004).

Mirrors org.apache.hadoop.fs.FileSystem in Python's manner. A filesystem is chosen
by URI scheme (`howdah.fs.registry`, `howdah.connect`); code that holds one needs
no knowledge of servers (FS-026). Paths may be absolute, relative to the home
directory, or full URIs of this very filesystem.

The abstract methods are what a filesystem must bring; everything else is built on
them here and may be overridden where a server can do it better. Operations raise
members of `howdah.errors`, which are also the built-in errors that Python users
catch. What a filesystem doesn't offer raises `errors.UnsupportedOperation`, and
`has_path_capability` says so beforehand.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn, Protocol, Self, runtime_checkable

from howdah import errors
from howdah.fs import capabilities, glob, paths, transfers
from howdah.fs.attributes import AttributeOperations
from howdah.fs.builders import CreateFileBuilder, OpenFileBuilder, Progress
from howdah.fs.bulk_delete import BulkDelete
from howdah.fs.path_handle import PathHandle
from howdah.fs.paths import PathLike
from howdah.fs.pythonic import PythonFiles
from howdah.fs.status import (
    BlockLocation,
    ContentSummary,
    DatanodeReport,
    FileChecksum,
    FileStatus,
    FsStatistics,
    FsStatus,
    Listing,
    QuotaUsage,
    ServerCopies,
    ServerCopy,
    ServerDefaults,
)
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import CopyCheck, CreateFlag
from howdah.protocol.trash_names import TRASH_NAME

if TYPE_CHECKING:
    from howdah import Path

__all__ = [
    "BlockLocation",
    "BulkDelete",
    "ContentSummary",
    "CreateFlag",
    "DatanodeReport",
    "FSDataInputStream",
    "FSDataOutputStream",
    "FileChecksum",
    "FileStatus",
    "FileSystem",
    "FsStatus",
    "ListOne",
    "ListsAhead",
    "PathHandle",
    "PathLike",
    "Progress",
    "ServerDefaults",
]


ListOne = Callable[[str], list[FileStatus]]
"""The entries of a directory, by path; of a file itself. Raises `PathNotFound`."""


@runtime_checkable
class ListsAhead(Protocol):
    """What a filesystem has besides that lists a tree in fewer requests than its directories."""

    def lister(self, top: PathLike) -> ListOne:
        """What lists directories at or below `top`, for one walk in one thread. It may say of
        a directory what held when it listed the one before."""


class FileSystem(AttributeOperations, PythonFiles):
    """A filesystem; also a context manager that closes it."""

    scheme: ClassVar[str]

    # --- identity -------------------------------------------------------------

    @property
    @abstractmethod
    def uri(self) -> str:
        """Scheme and authority, such as `hdfs://namenode:8020`.

        >>> fs.uri
        'hdfs://127.0.0.1:...'
        """

    @abstractmethod
    def home_directory(self) -> str:
        """The caller's directory.

        >>> fs.home_directory()
        '/user/...'
        """

    def working_directory(self) -> str:
        """Where relative paths start: the home directory, but for local files.

        >>> fs.working_directory() == fs.home_directory()
        True
        """
        return self.home_directory()

    def resolve(self, path: PathLike) -> str:
        """The absolute, normalised path within this filesystem.

        Raises `IllegalArgument` for a URI of another filesystem.
        """
        if type(path) is str and paths.is_normal(path):
            return path  # As nearly always.
        location = paths.parse(path)
        if location.is_qualified:
            self._check_own(location)
        return paths.normalize(location.path, self.working_directory())

    def qualify(self, path: PathLike) -> str:
        """The full URI of a path.

        >>> fs.qualify("/docs/a")
        'hdfs://127.0.0.1:.../docs/a'
        """
        return self.uri + self.resolve(path)

    def _check_own(self, location: paths.Location) -> None:
        own = paths.parse(self.uri)
        same = location.scheme == own.scheme and (
            not location.authority or location.authority.lower() == own.authority.lower()
        )
        if not same:
            raise errors.IllegalArgument(f"Wrong filesystem: {location}, expected: {self.uri}")

    # --- what a filesystem must bring -----------------------------------------

    @abstractmethod
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
        """Make a file and open it for writing; it exists, empty, when this returns (OS-013).

        Raises `PathExists` for an existing file unless `overwrite` is given (XC-005), and
        `PathNotFound` for a missing parent if `create_parent` is false. `buffer_size`
        is a wish that a filesystem with buffers of its own may ignore; `progress` is
        called now and then by the thread that writes. `flags` are those of
        `CreateFlag` that no other argument says; of them only `SYNC_BLOCK` promises
        anything, and a filesystem without blocks has nothing to do for it.
        """

    @abstractmethod
    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        """Open a file for reading: a binary, seekable `io` object."""

    @abstractmethod
    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        """Make a directory and those above it; true as well if it was there.

        >>> fs.mkdirs("/docs/b/c", permission=0o700)
        True
        """

    @abstractmethod
    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        """Make one directory, whose parent must exist. If it is there already, `PathExists` is
        raised, but not on HDFS: its namenodes answer as if they had made it.

        >>> fs.mkdir("/docs/b")
        True
        """

    @abstractmethod
    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        """Give `src` the name `dst`; an existing `dst` is an error unless `overwrite`.

        Unlike a shell's `mv` this never moves into a directory.

        >>> fs.rename("/docs/a", "/docs/b")
        >>> fs.ls("/docs")
        ['/docs/b']
        """

    def rename_to_trash(self, src: PathLike, dst: PathLike) -> None:
        """Give `src` a name in the trash, from where it is deleted some day: whoever may not
        delete it may not move it there, either. HDFS holds that against the permissions of a
        recursive delete; elsewhere it is a rename. Raises `PathExists`, `AccessDenied`.

        >>> fs.mkdirs("/user/me/.Trash/Current/docs")
        True
        >>> fs.rename_to_trash("/docs/a", "/user/me/.Trash/Current/docs/a")
        >>> fs.exists("/docs/a")
        False
        """
        self.rename(src, dst)

    @abstractmethod
    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        """Delete; false if there was nothing. A directory with content wants `recursive`.

        >>> fs.delete("/docs", recursive=True)
        True
        >>> fs.delete("/docs")           # nothing is there any more
        False
        """

    @abstractmethod
    def get_file_status(self, path: PathLike) -> FileStatus:
        """What is at `path`, links followed; raises `PathNotFound`.

        >>> status = fs.get_file_status("/docs/a")
        >>> status.path, status.length, status.is_directory, oct(status.permission)
        ('/docs/a', 10, False, '0o644')
        """

    @abstractmethod
    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        """The entries of a directory by name, or the one of a file; fetched page by page.

        >>> for status in fs.list_status_iter("/docs"):     # fetched page by page
        ...     print(status.path)
        /docs/a
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of connections; files still open for writing are closed."""

    # --- what some filesystems bring ------------------------------------------

    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Progress | None = None,
    ) -> FSDataOutputStream:
        """Open an existing file for writing at its end (OS-015).

        `new_block` leaves the last block as it is and begins another, `sync_block` forces
        each block to disk when it is finished; without blocks neither means anything.

        >>> with fs.append("/docs/a") as out:
        ...     out.write(b"more")
        4
        >>> fs.read_bytes("/docs/a")
        b'0123456789more'
        """
        self._unsupported("append")

    def server_copies(self, source: FileSystem) -> ServerCopies:
        """Whether files of `source` are copied here by the server, so that no byte of them comes
        by this machine: `copy_from` does it then.

        >>> fs.server_copies(fs).are_offered  # of a bucket they are
        False
        """
        return ServerCopies(are_offered=False)

    def copy_from(
        self,
        source: FileSystem,
        src: PathLike,
        dst: PathLike,
        *,
        overwrite: bool = False,
        check: CopyCheck = CopyCheck.CHECKSUM,
    ) -> ServerCopy:
        """Have the server copy a file of `source`, and compare what it tells of the copy. The copy
        is there whole or not at all, and a file that it replaces is there until then.

        Raises `NotCopiedByServer` if the server cannot, or refuses, or tells too little for
        `check`; `FileChanged` if the source was replaced meanwhile; `PathNotFound`,
        `PathIsDirectory`, `PathExists`, `ParentNotDirectory`.

        >>> from howdah import errors
        >>> try:
        ...     fs.copy_from(fs, "/docs/a", "/docs/b")  # HDFS copies nothing itself
        ... except errors.NotCopiedByServer:
        ...     print("read it and write it")
        read it and write it
        """
        raise errors.NotCopiedByServer(f"{self.uri} copies no files of {source.uri} itself")

    def truncate(self, path: PathLike, length: int) -> bool:
        """Cut a file down to `length` bytes.

        True if that is done; false if the last block is being recovered, so that the
        file can be opened for writing only a little later.

        >>> done = fs.truncate("/docs/a", 4)     # False: its last block is recovered for a moment
        >>> fs.get_file_status("/docs/a").length
        4
        """
        self._unsupported("truncate")

    def concat(self, target: PathLike, sources: Sequence[PathLike]) -> None:
        """Move the content of `sources`, in order, to the end of `target`; they are gone then.

        >>> fs.write_bytes("/docs/b", b"abc")
        3
        >>> fs.concat("/docs/a", ["/docs/b"])
        >>> fs.read_bytes("/docs/a"), fs.exists("/docs/b")
        (b'0123456789abc', False)
        """
        self._unsupported("concat")

    def recover_lease(self, path: PathLike) -> bool:
        """Take a file away from a writer that is gone; true if it is closed now.

        >>> fs.recover_lease("/docs/a")          # nobody has it open
        True
        """
        self._unsupported("recover_lease")

    def is_file_closed(self, path: PathLike) -> bool:
        """Whether nobody has the file open for writing.

        >>> with fs.append("/docs/a"):
        ...     fs.is_file_closed("/docs/a")
        False
        """
        self._unsupported("is_file_closed")

    def get_path_handle(
        self, status: FileStatus, *, may_change: bool = True, may_move: bool = False
    ) -> PathHandle:
        """A handle to a file, which is opened later as long as it is still the same.

        Its content may differ by then if `may_change`, its path if `may_move`.

        >>> handle = fs.get_path_handle(fs.get_file_status("/docs/a"), may_move=True)
        >>> fs.rename("/docs/a", "/docs/b")
        >>> fs.open_path_handle(handle).read()
        b'0123456789'
        """
        self._unsupported("get_path_handle")

    def open_path_handle(
        self, handle: PathHandle, buffer_size: int | None = None
    ) -> FSDataInputStream:
        """Open what a handle stands for; raises `InvalidPathHandle` if that has changed.

        >>> handle = fs.get_path_handle(fs.get_file_status("/docs/a"))
        >>> fs.delete("/docs/a")
        True
        >>> fs.open_path_handle(handle)
        Traceback (most recent call last):
        howdah.errors.InvalidPathHandle: ...
        """
        self._unsupported("open_path_handle")

    def multipart_uploader(self, path: PathLike) -> NoReturn:
        """No filesystem of howdah takes a file in parts; write it, or `concat` files.

        >>> fs.multipart_uploader("/docs/a")
        Traceback (most recent call last):
        howdah.errors.UnsupportedOperation: ...
        """
        self._unsupported("multipart_uploader")

    def get_file_link_status(self, path: PathLike) -> FileStatus:
        """As `get_file_status`, but of a link itself.

        >>> fs.create_symlink("a", "/docs/link")
        >>> fs.get_file_link_status("/docs/link").symlink
        'a'
        """
        return self.get_file_status(path)

    def supports_symlinks(self) -> bool:
        """Whether symbolic links can be made here; those that are there are followed anyway.

        >>> fs.supports_symlinks()               # howdah.client.symlinks.enabled
        True
        """
        return False

    def create_symlink(
        self, target: PathLike, link: PathLike, *, create_parent: bool = True
    ) -> None:
        """Make a link to `target`, which is kept as it is written, and need not be there.

        A relative target counts from the directory of the link, wherever that is by then;
        a full URI leads to another filesystem. Raises `PathExists`.

        >>> fs.create_symlink("a", "/docs/link")         # wants howdah.client.symlinks.enabled
        >>> fs.read_bytes("/docs/link")
        b'0123456789'
        """
        self._unsupported("create_symlink")

    def get_link_target(self, path: PathLike) -> str:
        """The target of a link as it was written; `RemoteError` if there is no link.

        >>> fs.create_symlink("a", "/docs/link")
        >>> fs.get_link_target("/docs/link")
        'a'
        """
        self._unsupported("get_link_target")

    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum | None:
        """A checksum of the content (of its first `length` bytes); None if there is none.

        >>> fs.get_file_checksum("/docs/a").algorithm
        'MD5-of-0MD5-of-512CRC32C'
        """
        return None

    def set_permission(self, path: PathLike, mode: int) -> None:
        """Set the mode bits, sticky bit included.

        >>> fs.set_permission("/docs/a", 0o600)
        """
        self._unsupported("set_permission")

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        """Set owner, group or both.

        >>> fs.set_owner("/docs/a", owner="anna", group="staff")
        >>> fs.get_file_status("/docs/a").owner
        'anna'
        """
        self._unsupported("set_owner")

    def set_replication(self, path: PathLike, replication: int) -> bool:
        """Ask for another number of replicas; false for a directory.

        >>> fs.set_replication("/docs/a", 2)
        True
        """
        self._unsupported("set_replication")

    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        """Set times in milliseconds since the epoch; -1 leaves one alone.

        >>> fs.set_times("/docs/a", mtime_ms=86_400_000)
        >>> fs.get_file_status("/docs/a").modification_time_ms
        86400000
        """
        self._unsupported("set_times")

    def access(self, path: PathLike, mode: int) -> None:
        """Raise `AccessDenied` unless the caller has `os.R_OK | os.W_OK | os.X_OK` of `mode`.

        >>> import os
        >>> fs.access("/docs/a", os.R_OK | os.W_OK)  # AccessDenied if one is not allowed
        """
        self._unsupported("access")

    def get_status(self, path: PathLike | None = None) -> FsStatus:
        """Capacity, used and remaining bytes; on a view of several filesystems those of the
        one that has `path`.

        >>> status = fs.get_status()
        >>> status.capacity > status.used
        True
        """
        self._unsupported("get_status")

    def statistics(self) -> FsStatistics:
        """Bytes and operations since this filesystem was connected; of a view the sum of those
        that it has reached.

        >>> before = fs.statistics()
        >>> fs.read_bytes("/docs/a")
        b'0123456789'
        >>> fs.statistics().bytes_read - before.bytes_read
        10
        """
        self._unsupported("statistics")

    def block_locations(
        self, path: PathLike, start: int = 0, length: int | None = None
    ) -> list[BlockLocation]:
        """Where the bytes from `start` on lie.

        >>> [location] = fs.block_locations("/docs/a")
        >>> location.offset, location.length, len(location.hosts)
        (0, 10, 3)
        """
        status = self.get_file_status(path)
        if status.is_directory or start >= status.length:
            return []
        return [BlockLocation(0, status.length, ("localhost",), ("localhost:0",))]

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        """What new files get that don't say otherwise; on a view of several filesystems that
        depends on the path.

        Raises `NotInMountPoint` for a path of a view that is in none of them, or without one.

        >>> fs.server_defaults().replication
        3
        """
        self._unsupported("server_defaults")

    def child_filesystems(self) -> list[FileSystem]:
        """The filesystems that this one is made of; itself, if it is no view of others.

        >>> fs.child_filesystems() == [fs]     # a view of several has one for each mount point
        True
        """
        return [self]

    def resolve_path(self, path: PathLike) -> tuple[FileSystem, str]:
        """The filesystem that has a path, and its path there: another than this one behind a
        mount point.

        >>> there, path = fs.resolve_path("/docs/a")  # behind a mount point: another filesystem
        >>> path
        '/docs/a'
        """
        return self, self.resolve(path)

    def trash_root(self, path: PathLike) -> str:
        """The directory of the trash that a path goes to, if it is deleted by its user."""
        return paths.join(self.home_directory(), TRASH_NAME)

    def trash_place(self, path: PathLike) -> tuple[FileSystem, str, str]:
        """Where the trash for a path is: a filesystem, the path there, the root of the trash.

        >>> there, path, trash = fs.trash_place("/docs/a")
        >>> path, trash.endswith("/.Trash")
        ('/docs/a', True)
        """
        return self, self.resolve(path), self.trash_root(path)

    def datanode_report(self, kind: str = "live") -> list[DatanodeReport]:
        """The datanodes that are `all`, `live`, `dead`, `decommissioning`, …

        >>> len(fs.datanode_report("live"))
        3
        """
        self._unsupported("datanode_report")

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        """What is offered at a path: names of `howdah.fs.capabilities`, and own ones.

        >>> "fs.capability.paths.append" in fs.path_capabilities("/docs")
        True
        """
        return frozenset((capabilities.BULK_DELETE,))

    def has_path_capability(self, path: PathLike, capability: str) -> bool:
        """Whether an operation is offered at a path, by Hadoop's capability names.

        >>> fs.has_path_capability("/docs", "fs.capability.paths.append")
        True
        """
        self.resolve(path)
        return capabilities.canonical(capability) in self.path_capabilities(path)

    def _unsupported(self, operation: str) -> NoReturn:
        raise errors.UnsupportedOperation(f"{self.uri} does not offer {operation}")

    # --- built on the above ---------------------------------------------------

    def path(self, path: PathLike = ".") -> Path:
        """A path of this filesystem with pathlib's methods; without text, where relative paths
        start.

        >>> report = fs.path("/docs") / "reports" / "2026.csv"
        >>> report.parent.mkdir(parents=True)
        >>> report.write_text("a,b")
        3
        >>> [found.name for found in fs.path("/docs").rglob("*.csv")]
        ['2026.csv']
        """
        from howdah import Path

        return Path.of(self, path)

    def put(
        self,
        local: PathLike,
        path: PathLike = ".",
        *,
        recursive: bool = False,
        overwrite: bool = True,
        callback: object = None,
    ) -> str:
        """Copy a file of this machine here, or with `recursive` a directory; the path of the copy.

        `path` is its new name, or a directory that gets it under its name. `callback` is called
        with the number of bytes that were copied since it was called last: give it `bar.update` of
        a tqdm bar, or a `Callback` of fsspec. No reader sees half a file. Raises `PathNotFound`,
        `PathIsDirectory` without `recursive`, `PathExists` unless `overwrite`.

        >>> import os, tempfile
        >>> done = []
        >>> with tempfile.TemporaryDirectory() as here:
        ...     local = os.path.join(here, "numbers")
        ...     with open(local, "w") as out:
        ...         print("1 2 3", file=out)
        ...     fs.put(local, "/docs", callback=done.append)
        '/docs/numbers'
        >>> fs.read_text("/docs/numbers"), sum(done)
        ('1 2 3\\n', 6)
        """
        return transfers.put(
            self, local, path, recursive=recursive, overwrite=overwrite, callback=callback
        )

    def get(
        self,
        path: PathLike,
        local: PathLike = ".",
        *,
        recursive: bool = False,
        overwrite: bool = True,
        callback: object = None,
    ) -> str:
        """Copy a file to this machine, or with `recursive` a directory; the path of the copy. The
        rest is as with `put`.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as here:
        ...     os.path.basename(fs.get("/docs/a", here)), os.listdir(here)
        ('a', ['a'])
        """
        return transfers.get(
            self, path, local, recursive=recursive, overwrite=overwrite, callback=callback
        )

    def copy(
        self,
        src: PathLike,
        dst: PathLike,
        *,
        recursive: bool = False,
        overwrite: bool = True,
        callback: object = None,
    ) -> str:
        """Copy a file within this filesystem, or with `recursive` a directory; the path of the
        copy. The rest is as with `put`. `Path.copy` copies between filesystems.

        >>> fs.copy("/docs/a", "/docs/b")
        '/docs/b'
        >>> fs.mkdirs("/docs/c")
        True
        >>> fs.copy("/docs/a", "/docs/c")
        '/docs/c/a'
        """
        source = self.resolve(src)
        target = transfers.target_of(self, dst, paths.name_of(source))
        transfers.copy(
            self,
            source,
            self,
            target,
            recursive=recursive,
            overwrite=overwrite,
            callback=callback,
        )
        return target

    def move(self, src: PathLike, dst: PathLike, *, overwrite: bool = True) -> str:
        """Give a file or directory another name, or move it into a directory that is there; its
        path then. Between the mount points of a view it is copied and deleted.

        >>> fs.move("/docs/a", "/docs/b")
        '/docs/b'
        >>> fs.ls("/docs")
        ['/docs/b']
        """
        source = self.resolve(src)
        target = transfers.target_of(self, dst, paths.name_of(source))
        transfers.move(self, source, self, target, overwrite=overwrite)
        return target

    def create_file(self, path: PathLike) -> CreateFileBuilder:
        """A builder of a new file, or of an append to one (`howdah.fs.builders`).

        >>> with fs.create_file("/docs/new/b").recursive().replication(2).build() as out:
        ...     out.write(b"abc")
        3
        """
        return CreateFileBuilder(self, path)

    def open_file(self, path: PathLike) -> OpenFileBuilder:
        """A builder of a stream to read.

        >>> policy = "fs.option.openfile.read.policy"
        >>> with fs.open_file("/docs/a").opt(policy, "random").build() as stream:
        ...     stream.pread(3, 4)
        b'3456'
        """
        return OpenFileBuilder(self, path)

    def bulk_delete(self, base_path: PathLike) -> BulkDelete:
        """Deletes many files below `base_path` and says which it could not delete.

        >>> fs.bulk_delete("/docs").delete(["/docs/a", "/docs/none"])  # what was not deleted
        []
        """
        return BulkDelete(self, base_path)

    def exists(self, path: PathLike) -> bool:
        """Whether something is at `path`.

        >>> fs.exists("/docs/a"), fs.exists("/docs/none")
        (True, False)
        """
        try:
            self.get_file_status(path)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return False
        return True

    def is_directory(self, path: PathLike) -> bool:
        """Whether a directory is at `path`.

        >>> fs.is_directory("/docs"), fs.is_directory("/docs/a")
        (True, False)
        """
        try:
            return self.get_file_status(path).is_directory
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return False

    def is_file(self, path: PathLike) -> bool:
        """Whether a file is at `path`.

        >>> fs.is_file("/docs/a"), fs.is_file("/docs")
        (True, False)
        """
        try:
            return self.get_file_status(path).is_file
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return False

    def list_status(self, path: PathLike) -> list[FileStatus]:
        """The entries of a directory by name, or the one of a file.

        >>> [(status.name, status.length) for status in fs.list_status("/docs")]
        [('a', 10)]
        """
        return Listing(self.list_status_iter(path))

    def glob_status(self, pattern: PathLike) -> list[FileStatus]:
        """Return the statuses that match a pattern (`howdah.fs.glob`), sorted by path.

        >>> [status.path for status in fs.glob_status("/docs/{a,b}*")]
        ['/docs/a']
        """
        statuses: dict[str, FileStatus] = {}
        location = paths.parse(pattern)
        if location.is_qualified:
            self._check_own(location)
        text = location.path
        if not text.startswith(paths.SEPARATOR):
            text = paths.join(glob.escape(self.working_directory()), text)
        for alternative in glob.expand(text):
            for status in self._glob(glob.normal(glob.split(alternative))):
                statuses[status.path] = status
        return Listing(statuses[path] for path in sorted(statuses))

    def _glob(self, components: list[str]) -> Iterator[FileStatus]:
        """Walk down the components; literal ones in a row cost no listing."""
        candidates: list[tuple[str, FileStatus | None]] = [(paths.SEPARATOR, None)]
        for index, component in enumerate(components):
            last = index == len(components) - 1
            following: list[tuple[str, FileStatus | None]] = []
            if glob.is_literal(component):
                name = glob.unescape(component)
                following = [(paths.join(path, name), None) for path, _ in candidates]
            else:
                match = glob.compile_component(component)
                for path, _ in candidates:
                    following += [
                        (status.path, status)
                        for status in self._entries(path)
                        if match(status.name) and (last or not status.is_file)
                    ]
            candidates = following
        for path, status in candidates:
            try:
                yield status or self.get_file_status(path)
            except (errors.PathNotFound, errors.ParentNotDirectory):
                continue

    def _entries(self, path: str) -> list[FileStatus]:
        try:
            return [status for status in self.list_status_iter(path) if status.path != path]
        except (errors.PathNotFound, errors.ParentNotDirectory):
            return []

    def walk(
        self, path: PathLike, on_error: Callable[[errors.HowdahError], object] | None = None
    ) -> Iterator[tuple[str, list[FileStatus], list[FileStatus]]]:
        """As `os.walk`, top down: (path, directories, files). Prune by editing the list.

        What cannot be listed is told to `on_error` and left out, else it is raised.

        >>> for path, directories, files in fs.walk("/docs"):
        ...     print(path, [file.name for file in files])
        /docs ['a']
        """
        yield from self._walked(self.resolve(path), self.list_status_iter, on_error)

    def _walked(
        self,
        top: str,
        list_one: Callable[[str], Iterable[FileStatus]],
        on_error: Callable[[errors.HowdahError], object] | None,
    ) -> Iterator[tuple[str, list[FileStatus], list[FileStatus]]]:
        directories: list[FileStatus] = []
        files: list[FileStatus] = []
        try:
            for status in list_one(top):
                (directories if status.is_directory else files).append(status)
        except errors.HowdahError as error:
            if on_error is None:
                raise
            on_error(error)
            return
        yield top, directories, files
        for directory in directories:
            yield from self._walked(directory.path, list_one, on_error)

    def content_summary(self, path: PathLike) -> ContentSummary:
        """Totals of everything below `path`.

        >>> summary = fs.content_summary("/docs")
        >>> summary.length, summary.file_count, summary.directory_count, summary.space_consumed
        (10, 1, 1, 30)
        """
        status = self.get_file_status(path)
        if not status.is_directory:
            return ContentSummary(status.length, 1, 0, status.length * max(status.replication, 1))
        length = files = consumed = 0
        directories = 1
        for _, below, entries in self.walk(path):
            directories += len(below)
            files += len(entries)
            length += sum(entry.length for entry in entries)
            consumed += sum(entry.length * max(entry.replication, 1) for entry in entries)
        return ContentSummary(length, files, directories, consumed)

    def quota_usage(self, path: PathLike) -> QuotaUsage:
        """Return the use of everything below `path`, and its quotas.

        >>> usage = fs.quota_usage("/docs")
        >>> usage.names, usage.quota
        (2, -1)
        """
        summary = self.content_summary(path)
        return QuotaUsage(
            summary.file_count + summary.directory_count,
            summary.space_consumed,
            summary.quota,
            summary.space_quota,
            summary.type_quotas,
        )

    def du(self, path: PathLike) -> int:
        """Bytes of all files below `path`, each counted once.

        >>> fs.du("/docs")
        10
        """
        return self.content_summary(path).length

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r})"

    if not TYPE_CHECKING:  # else every name would be known

        def __getattr__(self, name: str) -> object:
            if name in dir(type(self)):
                return object.__getattribute__(self, name)  # raises what it raised
            from howdah.wrong_names import FILESYSTEM, WrongName

            kind = type(self)
            raise WrongName(kind.__name__, name, lambda: dir(kind), FILESYSTEM)


def access_mode(mode: int) -> str:
    """`rw-` for the bits of `os.access`, for messages."""
    return "".join(
        letter if mode & bit else "-"
        for letter, bit in (("r", os.R_OK), ("w", os.W_OK), ("x", os.X_OK))
    )
