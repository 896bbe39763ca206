"""`MemoryFileSystem`: a filesystem within this process, for tests (`mem://name/`).

It behaves as HDFS does where a program can tell, without servers: one writer a file,
bytes that nobody sees before they are flushed, modes that are enforced, appends,
truncation and concatenation. All who name it the same, from whatever thread, have the
same files; another process, a forked child included, has its own.

What is durable: nothing outlives the process. The files are there until it ends or
`forget` is called, whoever is connected. The memory of the process is all the store
that there is, so `hsync` reaches it, and is claimed as `hflush` is; it is as good as a
disk to a program that is tested, and no disk.

The user who names a filesystem first is its superuser (`howdah.fs.memory.tree`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs import capabilities, paths
from howdah.fs.api import FileSystem, Progress
from howdah.fs.memory.streams import MemoryInput, MemoryOutput
from howdah.fs.memory.tree import READ, WRITE, Directory, File, Node, Place, Tree
from howdah.fs.path_handle import PathHandle, check_handle, make_handle
from howdah.fs.paths import PathLike
from howdah.fs.status import BlockLocation, FileStatus, FsStatus, ServerDefaults
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import CreateFlag, check_mode
from howdah.runtime.users.current import current_user

FILE_MODE = 0o666
DIRECTORY_MODE = 0o777
_READ_BUFFER_BYTES = 64 * 1024
_CAPACITY_BYTES = (1 << 63) - 1
_CAPABILITIES = frozenset(
    (
        capabilities.APPEND,
        capabilities.CONCAT,
        capabilities.LEASE_RECOVERABLE,
        capabilities.PATH_HANDLES,
        capabilities.PERMISSIONS,
        capabilities.TRUNCATE,
    )
)


class _Store:
    """One filesystem's files, and the lock under which everything is done to them."""

    def __init__(self, superuser: str) -> None:
        self.lock = threading.RLock()
        self.tree = Tree(superuser, now_ms())


_stores: dict[str, _Store] = {}
_stores_lock = threading.Lock()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def forget(name: str) -> None:
    """Drop the files of `mem://name/`; who names it next finds it empty."""
    with _stores_lock:
        _stores.pop(name, None)


class MemoryFileSystem(FileSystem):
    """Serves the files of one name to one user."""

    scheme: ClassVar[str] = "mem"

    def __init__(
        self, authority: str = "", conf: Configuration | None = None, user: str | None = None
    ) -> None:
        self._authority = authority
        self._conf = Configuration.load() if conf is None else conf
        self.user = user or current_user()
        self._umask = paths.parse_umask(self._conf.get(keys.FS_PERMISSIONS_UMASK_MODE))
        with _stores_lock:
            store = _stores.setdefault(authority, _Store(self.user))
        self._lock = store.lock
        self._tree = store.tree

    def __reduce__(self) -> tuple[type[MemoryFileSystem], tuple[str, Configuration, str]]:
        """Pickled for another process, it is that one's filesystem of the name."""
        return type(self), (self._authority, self._conf, self.user)

    @property
    def uri(self) -> str:
        return f"mem://{self._authority}"

    def home_directory(self) -> str:
        return f"/user/{self.user}"

    def close(self) -> None:
        """The files stay, and so do streams that are open."""

    @contextmanager
    def _doing(self, path: str, other: str | None = None) -> Iterator[None]:
        """Hold the lock; an error is about the paths that the caller named."""
        with self._lock, errors.about(path, other):
            yield

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
        with self._doing(target):
            place = self._tree.resolve(target, self.user)
            if isinstance(place.node, Directory):
                raise errors.PathExists(f"{target} already exists as a directory")
            if isinstance(place.node, File):
                if not overwrite:
                    raise errors.PathExists(f"{target} already exists")
                self._tree.check(self.user, place.node, WRITE, target)
                place.node.writer = None
            parent = self._parent(place, create_parent)
            file = self._tree.add_file(
                parent,
                place.name,
                self.user,
                mode=(FILE_MODE if permission is None else check_mode(permission)) & ~self._umask,
                replication=replication or 1,
                block_size=block_size or self._conf.get(keys.DFS_BLOCKSIZE),
                now_ms=now_ms(),
            )
            return self._writing(target, file, progress)

    def _parent(self, place: Place, create: bool) -> Directory:
        above = paths.parent_of(place.path) or paths.SEPARATOR
        if place.parent is None:
            if not create:
                raise errors.PathNotFound(f"Parent directory doesn't exist: {above}")
            return self._make_directories(above, DIRECTORY_MODE)
        if place.node is None:
            self._tree.check(self.user, place.parent, WRITE, above)
        return place.parent

    def _writing(self, path: str, file: File, progress: Progress | None) -> FSDataOutputStream:
        return FSDataOutputStream(MemoryOutput(path, file, self._lock, now_ms, progress))

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
        with self._doing(target):
            return self._writing(target, self._changeable(target, "append to"), progress)

    def _changeable(self, path: str, operation: str) -> File:
        """A file that the user may write, and nobody is writing."""
        file = self._tree.file(path, self.user)
        self._tree.check(self.user, file, WRITE, path)
        if file.writer is not None:
            raise errors.AlreadyBeingCreated(
                f"Failed to {operation} {path} because somebody is writing it"
            )
        return file

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        return self._opened(self.resolve(path), lambda file: None, buffer_size)

    def _opened(
        self, path: str, check: Callable[[File], None], buffer_size: int | None
    ) -> FSDataInputStream:
        with self._doing(path):
            file = self._tree.file(path, self.user)
            self._tree.check(self.user, file, READ, path)
            check(file)
            file.atime_ms = now_ms()
            raw = MemoryInput(path, file, self._lock)
        return FSDataInputStream(raw, buffer_size or _READ_BUFFER_BYTES)

    def truncate(self, path: PathLike, length: int) -> bool:
        """Cut a file off at `length` bytes; done when this returns, so always true."""
        target = self.resolve(path)
        with self._doing(target):
            file = self._changeable(target, "truncate")
            if not 0 <= length <= len(file.content):
                raise errors.IllegalArgument(
                    f"Cannot truncate {target} to {length} bytes: it has {len(file.content)}"
                )
            del file.content[length:]
            file.mtime_ms = now_ms()
        return True

    def concat(self, target: PathLike, sources: Sequence[PathLike]) -> None:
        into = self.resolve(target)
        names = [self.resolve(source) for source in sources]
        if not names:
            raise errors.IllegalArgument(f"concat: nothing to put at the end of {into}")
        if len({into, *names}) <= len(names):
            raise errors.IllegalArgument(f"concat: a file is named twice: {into}, {names}")
        with self._doing(into):
            file = self._changeable(into, "concat to")
            places = [self._tree.resolve(name, self.user) for name in names]
            files = [self._changeable(name, "concat") for name in names]
            for place in places:
                self._tree.check_removable(self.user, place)
            for place, source in zip(places, files, strict=True):
                file.content += source.content
                self._tree.remove(place, now_ms())
            file.mtime_ms = now_ms()

    def recover_lease(self, path: PathLike) -> bool:
        """Take a file from its writer, at what was flushed; so always true."""
        target = self.resolve(path)
        with self._doing(target):
            file = self._tree.file(target, self.user)
            self._tree.check(self.user, file, WRITE, target)
            file.writer = None
        return True

    def is_file_closed(self, path: PathLike) -> bool:
        target = self.resolve(path)
        with self._doing(target):
            return self._tree.file(target, self.user).writer is None

    def get_path_handle(
        self, status: FileStatus, *, may_change: bool = True, may_move: bool = False
    ) -> PathHandle:
        return make_handle(status, may_change=may_change, may_move=may_move)

    def open_path_handle(
        self, handle: PathHandle, buffer_size: int | None = None
    ) -> FSDataInputStream:
        path: str | None = handle.path
        with self._doing(handle.path):
            if handle.may_move and handle.file_id is not None:
                path = self._tree.path_of_id(handle.file_id)
            if path is None:
                raise errors.InvalidPathHandle(f"{handle.path} is gone")
            current = path
            try:
                return self._opened(
                    current, lambda file: check_handle(handle, _status(current, file)), buffer_size
                )
            except (errors.PathNotFound, errors.PathIsDirectory) as error:
                raise errors.InvalidPathHandle(f"{handle.path} is gone") from error

    # --- namespace --------------------------------------------------------------------

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        with self._doing(target):
            self._make_directories(
                target, DIRECTORY_MODE if permission is None else check_mode(permission)
            )
        return True

    def _make_directories(self, path: str, mode: int) -> Directory:
        return self._tree.make_directories(
            path,
            self.user,
            mode=mode & ~self._umask,
            mode_above=DIRECTORY_MODE & ~self._umask,
            now_ms=now_ms(),
        )

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        with self._doing(target):
            place = self._tree.resolve(target, self.user)
            if place.node is not None:
                raise errors.PathExists(f"{target} already exists")
            self._parent(place, create=False)
            return self.mkdirs(target, permission)

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        source_path, target_path = self.resolve(src), self.resolve(dst)
        with self._doing(source_path, target_path):
            source = self._tree.resolve(source_path, self.user)
            if source.node is None:
                raise errors.PathNotFound(f"rename source {source_path} is not found.")
            if source.parent is None or target_path == paths.SEPARATOR:
                raise errors.RemoteError("neither end of a rename can be the root")
            if source_path == target_path:
                raise errors.PathExists(f"The source and destination {target_path} are the same")
            if paths.is_under(target_path, source_path):
                raise errors.RemoteError(
                    f"Rename destination {target_path} is under source {source_path}"
                )
            target = self._tree.resolve(target_path, self.user)
            self._check_replaceable(source, target, overwrite)
            if target.parent is None:
                raise errors.PathNotFound(f"rename destination parent {target_path} not found.")
            self._tree.check_removable(self.user, source)
            self._tree.check_removable(self.user, target)
            self._tree.move(source, target, now_ms())

    def _check_replaceable(self, source: Place, target: Place, overwrite: bool) -> None:
        if target.node is None:
            return
        if not overwrite:
            raise errors.PathExists(f"rename destination {target.path} already exists")
        if isinstance(source.node, Directory) != isinstance(target.node, Directory):
            raise errors.RemoteError(
                f"Source {source.path} and destination {target.path} must both be directories, "
                "or files"
            )
        if isinstance(target.node, Directory) and target.node.children:
            raise errors.DirectoryNotEmpty(f"rename destination {target.path} is not empty")

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        target = self.resolve(path)
        with self._doing(target):
            try:
                place = self._tree.resolve(target, self.user)
            except errors.ParentNotDirectory:
                return False
            if place.node is None:
                return False
            if isinstance(place.node, Directory) and place.node.children and not recursive:
                raise errors.DirectoryNotEmpty(f"{target} is non empty")
            if place.parent is None:
                return False
            self._tree.check_removable(self.user, place)
            self._tree.remove(place, now_ms())
        return True

    # --- looking ----------------------------------------------------------------------

    def get_file_status(self, path: PathLike) -> FileStatus:
        target = self.resolve(path)
        with self._doing(target):
            return _status(target, self._tree.existing(target, self.user))

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        target = self.resolve(path)
        with self._doing(target):
            node = self._tree.existing(target, self.user)
            if isinstance(node, Directory):
                self._tree.check(self.user, node, READ, target)
                statuses = [
                    _status(paths.join(target, name), child)
                    for name, child in sorted(node.children.items())
                ]
            else:
                statuses = [_status(target, node)]
        yield from statuses

    def block_locations(
        self, path: PathLike, start: int = 0, length: int | None = None
    ) -> list[BlockLocation]:
        if start < 0 or (length is not None and length < 0):
            raise errors.IllegalArgument("start and length must not be negative")
        return super().block_locations(path, start, length)

    def access(self, path: PathLike, mode: int) -> None:
        if mode & ~(os.R_OK | os.W_OK | os.X_OK):
            raise errors.IllegalArgument(f"{mode} is no combination of R_OK, W_OK and X_OK")
        target = self.resolve(path)
        with self._doing(target):
            self._tree.check(self.user, self._tree.existing(target, self.user), mode, target)

    # --- attributes -------------------------------------------------------------------

    def set_permission(self, path: PathLike, mode: int) -> None:
        target = self.resolve(path)
        with self._doing(target):
            node = self._tree.existing(target, self.user)
            self._tree.check_owner(self.user, node, target)
            node.mode = check_mode(mode)

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        if not owner and not group:
            raise errors.IllegalArgument("set_owner needs an owner, a group, or both")
        target = self.resolve(path)
        with self._doing(target):
            node = self._tree.existing(target, self.user)
            self._tree.check_owner(self.user, node, target)
            if self.user != self._tree.superuser and (
                (owner or self.user) != self.user or (group or self.user) != self.user
            ):
                raise errors.AccessDenied(f"User {self.user} may not give {target} to others")
            node.owner = owner or node.owner
            node.group = group or node.group

    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        target = self.resolve(path)
        with self._doing(target):
            node = self._tree.existing(target, self.user)
            self._tree.check(self.user, node, WRITE, target)
            node.mtime_ms = node.mtime_ms if mtime_ms < 0 else mtime_ms
            node.atime_ms = node.atime_ms if atime_ms < 0 else atime_ms

    def set_replication(self, path: PathLike, replication: int) -> bool:
        """Remembered, and shown; there is one copy."""
        if replication < 1:
            raise errors.IllegalArgument(f"{replication} is no number of replicas")
        target = self.resolve(path)
        with self._doing(target):
            node = self._tree.existing(target, self.user)
            self._tree.check(self.user, node, WRITE, target)
            if isinstance(node, File):
                node.replication = replication
            return isinstance(node, File)

    # --- the filesystem as a whole ----------------------------------------------------

    def get_status(self, path: PathLike | None = None) -> FsStatus:
        """As much room as there can be: nobody knows how much memory there is left."""
        with self._lock:
            used = _bytes_below(self._tree.root)
        return FsStatus(_CAPACITY_BYTES, used, _CAPACITY_BYTES - used)

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return ServerDefaults(
            block_size=self._conf.get(keys.DFS_BLOCKSIZE),
            bytes_per_checksum=self._conf.get(keys.DFS_BYTES_PER_CHECKSUM),
            checksum_type="NULL",
            replication=1,
            write_packet_bytes=self._conf.get(keys.DFS_CLIENT_WRITE_PACKET_SIZE),
            file_buffer_bytes=self._conf.get(keys.IO_FILE_BUFFER_SIZE),
        )

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        return super().path_capabilities(path) | _CAPABILITIES


def _bytes_below(node: Node) -> int:
    if isinstance(node, Directory):
        return sum(_bytes_below(child) for child in node.children.values())
    return len(node.content) if isinstance(node, File) else 0


def _status(path: str, node: Node) -> FileStatus:
    file = node if isinstance(node, File) else None
    return FileStatus(
        path=path,
        length=len(file.content) if file else 0,
        is_directory=isinstance(node, Directory),
        replication=file.replication if file else 0,
        block_size=file.block_size if file else 0,
        modification_time_ms=node.mtime_ms,
        access_time_ms=node.atime_ms,
        permission=node.mode,
        owner=node.owner,
        group=node.group,
        file_id=node.file_id,
        children_num=len(node.children) if isinstance(node, Directory) else -1,
    )
