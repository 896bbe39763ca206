"""What becomes of the kernel's requests (shell).

`Calls.answer` takes a request and gives the parts of its answer, or raises: an error of
`howdah.errors`, or `Refused`. Many threads call it at once. The kernel asks one thing at a time of
a directory that it changes, so names need no locks here beyond that of their table.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream
from howdah.mount.accounts import Accounts
from howdah.mount.callers import Callers
from howdah.mount.failures import Refused
from howdah.mount.listing import Listing
from howdah.mount.open_files import DirectoryHandle, FileHandle, Handles, OpenFile
from howdah.mount.protocol import answers, requests
from howdah.mount.protocol.answers import Attributes, Buffer, DirectoryEntry, Entry
from howdah.mount.protocol.operations import (
    GETATTR_FH,
    AttributeFlag,
    OpenAnswer,
    Operation,
    RenameFlag,
    SetAttribute,
)
from howdah.mount.protocol.requests import Body, Header
from howdah.mount.reading import Reader
from howdah.mount.state.nodes import Node, Nodes
from howdah.mount.writing import WrittenFile

log = logging.getLogger(__name__)

LONGEST_NAME_BYTES: Final = 255
_BLOCK_BYTES: Final = 128 << 10
"""What programs read and write at once that ask."""
_UNIT_BYTES: Final = 4096
_MODE_BITS: Final = 0o1777
_DOTS: Final = 2
"""`.` and `..` come first in a listing."""
_ATTRIBUTE_SPACES: Final = (b"user.", b"trusted.")
"""Of the attributes that HDFS keeps; others of the kernel (`security.`, `system.`) it has not."""

T = TypeVar("T")
Answer = Sequence[Buffer] | None
"""None: the kernel expects no answer."""


@dataclass(frozen=True, slots=True)
class MountSettings:
    """`attribute_timeout_s` and `entry_timeout_s` are how long the kernel goes by what it was
    told of a file, and of a name."""

    attribute_timeout_s: float = 1.0
    entry_timeout_s: float = 1.0
    is_read_only: bool = False


class Calls:
    """Answers for one mounted directory."""

    def __init__(
        self,
        callers: Callers,
        accounts: Accounts,
        root_path: str,
        settings: MountSettings,
        *,
        all_may_reach_root: bool = True,
    ) -> None:
        """`root_path`: the directory of the filesystem that is mounted. `all_may_reach_root`:
        whether every user may search the directories above it."""
        self._callers = callers
        self._accounts = accounts
        self._settings = settings
        self._nodes = Nodes(root_path)
        self._all_may_reach_root = all_may_reach_root
        self._nodes.root.is_public = False
        self._lock = threading.Lock()
        """Held for the table of nodes, and never while the filesystem is asked."""
        self._handles = Handles()
        self._hidden_prefix = f".howdah-unlinked-{secrets.token_hex(4)}-"
        self._by_operation: dict[int, Callable[[Header, Any], Answer]] = {
            Operation.LOOKUP: self._look_up,
            Operation.FORGET: self._forget,
            Operation.BATCH_FORGET: self._forget,
            Operation.GETATTR: self._get_attributes,
            Operation.SETATTR: self._set_attributes,
            Operation.READLINK: self._read_link,
            Operation.SYMLINK: self._make_link,
            Operation.LINK: self._make_hard_link,
            Operation.MKNOD: self._make_node,
            Operation.MKDIR: self._make_directory,
            Operation.UNLINK: self._unlink,
            Operation.RMDIR: self._remove_directory,
            Operation.RENAME: self._rename,
            Operation.RENAME2: self._rename,
            Operation.OPEN: self._open,
            Operation.CREATE: self._create,
            Operation.READ: self._read,
            Operation.WRITE: self._write,
            Operation.FLUSH: self._flush,
            Operation.FSYNC: self._sync,
            Operation.RELEASE: self._release,
            Operation.OPENDIR: self._open_directory,
            Operation.READDIR: self._list,
            Operation.READDIRPLUS: self._list,
            Operation.RELEASEDIR: self._release_directory,
            Operation.FSYNCDIR: self._nothing,
            Operation.STATFS: self._statistics,
            Operation.ACCESS: self._access,
            Operation.SETXATTR: self._set_extended,
            Operation.GETXATTR: self._get_extended,
            Operation.LISTXATTR: self._list_extended,
            Operation.REMOVEXATTR: self._remove_extended,
            Operation.DESTROY: self._nothing,
            Operation.INTERRUPT: self._interrupt,
        }

    def answer(self, header: Header, body: Body) -> Answer:
        """The parts of an answer. Raises HowdahError, OSError, Refused."""
        call = self._by_operation.get(header.operation)
        if call is None:
            raise Refused(errno.ENOSYS, f"operation {header.operation} is not expected now")
        return call(header, body)

    def about(self, header: Header) -> str:
        """What a request is about, for a log."""
        with self._lock:
            node = self._nodes.get(header.node_id)
            path = None if node is None else self._nodes.path_of(node)
        return path or f"node {header.node_id}"

    def close(self) -> list[str]:
        """Complete the files that are being written; what could not be completed."""
        failed: list[str] = []
        for file in self._handles.all_files():
            if file.written is None or not file.written.is_open:
                continue
            try:
                file.written.close()
                self._drop_hidden(file)
            except (errors.HowdahError, OSError) as error:
                failed.append(f"{self._described(file.node)}: {error}")
        return failed

    # --- nodes and paths ----------------------------------------------------------------

    def _node(self, node_id: int) -> Node:
        with self._lock:
            node = self._nodes.get(node_id)
        if node is None:
            raise Refused(errno.ESTALE, f"nobody has looked up node {node_id}")
        return node

    def _path(self, node: Node) -> str:
        with self._lock:
            path = self._nodes.path_of(node)
        if path is None:
            raise errors.PathNotFound(f"{node.name} is deleted")
        return path

    def _described(self, node: Node) -> str:
        with self._lock:
            return self._nodes.path_of(node) or f"{node.name} (deleted)"

    def _below(self, node: Node, name: bytes) -> tuple[str, str]:
        """A name in a directory as text, and its path."""
        text = _text(name)
        path = self._path(node)
        return text, f"{path}/{text}" if path != "/" else f"/{text}"

    def _at_path(self, node: Node, call: Callable[[str], T]) -> T:
        """What a call answers for the path of a node, also if a directory above is renamed
        meanwhile."""
        path = self._path(node)
        try:
            return call(path)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            now = self._path(node)
            if now == path:
                raise
            return call(now)

    def _check_writable(self) -> None:
        if self._settings.is_read_only:
            raise Refused(errno.EROFS, "it is mounted --read-only")

    # --- attributes ---------------------------------------------------------------------

    def _attributes(self, node: Node, status: FileStatus) -> Attributes:
        size, mtime_ms, atime_ms = (
            status.length,
            status.modification_time_ms,
            status.access_time_ms,
        )
        file = self._handles.opened(node)
        written = None if file is None else file.written
        if written is not None:
            size = written.length if written.is_open else size
            if written.times_ms is not None:
                new_mtime_ms, new_atime_ms = written.times_ms
                mtime_ms = mtime_ms if new_mtime_ms < 0 else new_mtime_ms
                atime_ms = atime_ms if new_atime_ms < 0 else new_atime_ms
        if status.is_symlink:
            size = len(_link_target(status).encode("utf-8", "surrogateescape"))
        node.size = size
        return Attributes(
            inode=node.node_id,
            size=0 if status.is_directory else size,
            mode=_kind(status) | (status.permission & _MODE_BITS),
            uid=self._accounts.uid(status.owner),
            gid=self._accounts.gid(status.group),
            mtime_ns=mtime_ms * 1_000_000,
            atime_ns=(atime_ms or mtime_ms) * 1_000_000,
            block_bytes=_BLOCK_BYTES,
        )

    def _entry(self, parent: Node, name: str, status: FileStatus) -> Entry:
        """What the kernel hears of a name that exists; it knows the node from then on."""
        with self._lock:
            node = self._nodes.looked_up(
                parent, name, is_directory=status.is_directory, file_id=status.file_id
            )
            node.is_public = parent.is_public and _is_public(status)
        # Whoever may not search a directory must not hear of it from another one's questions.
        trusted = parent.is_public or not self._callers.are_many
        settings = self._settings
        return Entry(
            node.node_id,
            self._attributes(node, status),
            settings.entry_timeout_s if trusted else 0.0,
            settings.attribute_timeout_s if trusted else 0.0,
        )

    def _attribute_answer(self, node: Node, status: FileStatus) -> Answer:
        parent = node.parent
        trusted = parent is None or parent.is_public or not self._callers.are_many
        timeout_s = self._settings.attribute_timeout_s if trusted else 0.0
        return (answers.attributes(self._attributes(node, status), timeout_s),)

    def _status(self, fs: FileSystem, node: Node) -> FileStatus:
        """What is at a node now; of an open file that has no place any more what it was."""
        file = self._handles.opened(node)
        try:
            status = self._at_path(node, fs.get_file_link_status)
        except errors.PathNotFound:
            if file is None:
                raise
            written = file.written
            return file.status if written is None else replace(file.status, length=written.length)
        if node.is_directory != status.is_directory or (
            node.file_id and status.file_id and node.file_id != status.file_id
        ):
            raise Refused(errno.ESTALE, f"{status.path} is another file by now")
        if file is not None:
            file.status = status
        if node is self._nodes.root:
            node.is_public = self._all_may_reach_root and _is_public(status)
        return status

    def _look_up(self, header: Header, body: requests.Named) -> Answer:
        parent = self._node(header.node_id)
        name, path = self._below(parent, body.name)
        with self._callers.of(header.uid) as fs:
            try:
                status = fs.get_file_link_status(path)
            except errors.InvalidPath as error:
                raise errors.PathNotFound(str(error)) from error
        return (answers.entry(self._entry(parent, name, status)),)

    def _forget(self, header: Header, body: requests.Forget) -> Answer:
        with self._lock:
            for node_id, lookups in body.nodes:
                self._nodes.forget(node_id, lookups)
        return None

    def _get_attributes(self, header: Header, body: requests.GetAttributes) -> Answer:
        node = self._node(header.node_id)
        handle = self._handles.file(body.handle) if body.flags & GETATTR_FH else None
        if handle is not None:
            return self._attribute_answer(node, self._status(handle.fs, node))
        with self._callers.of(header.uid) as fs:
            return self._attribute_answer(node, self._status(fs, node))

    def _set_attributes(self, header: Header, body: requests.SetAttributes) -> Answer:
        self._check_writable()
        node = self._node(header.node_id)
        valid = SetAttribute(body.valid)
        handle = self._handles.file(body.handle) if valid & SetAttribute.FH else None
        with ExitStack() as stack:
            fs = stack.enter_context(self._callers.of(header.uid)) if handle is None else handle.fs
            if valid & SetAttribute.SIZE:
                self._truncate(fs, node, handle, body.size)
            if valid & SetAttribute.MODE:
                mode = body.mode & _MODE_BITS
                with _for_owners():
                    self._at_path(node, lambda path: fs.set_permission(path, mode))
            if valid & (SetAttribute.UID | SetAttribute.GID):
                self._set_owner(fs, node, valid, body)
            if valid & (SetAttribute.ATIME | SetAttribute.MTIME):
                self._set_times(fs, node, valid, body)
            return self._attribute_answer(node, self._status(fs, node))

    def _truncate(self, fs: FileSystem, node: Node, handle: FileHandle | None, length: int) -> None:
        file = self._handles.opened(node)
        if file is None or (handle is None and file.written is None):
            status = self._status(fs, node)
            once = WrittenFile(fs, lambda: self._path(node), status.length)
            once.truncate(length)
            once.close()
            return
        self._written(fs, file).truncate(length)

    def _set_owner(
        self, fs: FileSystem, node: Node, valid: SetAttribute, body: requests.SetAttributes
    ) -> None:
        owner = group = None
        status = self._status(fs, node)
        if valid & SetAttribute.UID and body.uid != self._accounts.uid(status.owner):
            owner = self._accounts.user(body.uid)
            if owner is None:
                raise Refused(errno.EPERM, f"user {body.uid} has no name on this machine")
        if valid & SetAttribute.GID and body.gid != self._accounts.gid(status.group):
            group = self._accounts.group(body.gid)
            if group is None:
                raise Refused(errno.EPERM, f"group {body.gid} has no name on this machine")
        if owner is None and group is None:
            return
        with _for_owners():
            self._at_path(node, lambda path: fs.set_owner(path, owner, group))

    def _set_times(
        self, fs: FileSystem, node: Node, valid: SetAttribute, body: requests.SetAttributes
    ) -> None:
        now_ns = time.time_ns()
        mtime_ms = atime_ms = -1
        if valid & SetAttribute.MTIME:
            mtime_ms = _milliseconds(now_ns if valid & SetAttribute.MTIME_NOW else body.mtime_ns)
        if valid & SetAttribute.ATIME:
            atime_ms = _milliseconds(now_ns if valid & SetAttribute.ATIME_NOW else body.atime_ns)
        file = self._handles.opened(node)
        written = None if file is None else file.written
        if written is not None and written.set_times(mtime_ms, atime_ms):
            return
        self._at_path(node, lambda path: fs.set_times(path, mtime_ms, atime_ms))

    def _access(self, header: Header, body: requests.Access) -> Answer:
        node = self._node(header.node_id)
        if body.mask & os.W_OK:
            self._check_writable()
        with self._callers.of(header.uid) as fs:
            self._check_access(fs, node, body.mask & (os.R_OK | os.W_OK | os.X_OK))
        return ()

    def _check_access(self, fs: FileSystem, node: Node, mask: int) -> None:
        try:
            self._at_path(node, lambda path: fs.access(path, mask))
        except errors.UnsupportedOperation:
            # It has no permissions of its own, or checks them when it is called.
            self._status(fs, node)

    # --- names --------------------------------------------------------------------------

    def _read_link(self, header: Header, body: requests.Plain) -> Answer:
        node = self._node(header.node_id)
        with self._callers.of(header.uid) as fs:
            status = self._status(fs, node)
        if not status.is_symlink:
            raise Refused(errno.EINVAL, f"{status.path} is no symbolic link")
        return (_link_target(status).encode("utf-8", "surrogateescape"),)

    def _make_hard_link(self, header: Header, body: requests.HardLink) -> Answer:
        raise Refused(errno.EPERM, "HDFS has no hard links")

    def _make_link(self, header: Header, body: requests.MakeLink) -> Answer:
        self._check_writable()
        parent = self._node(header.node_id)
        name, path = self._below(parent, body.name)
        target = body.target.decode("utf-8", "surrogateescape")
        with self._callers.of(header.uid) as fs:
            if not fs.supports_symlinks() or target.startswith("/"):
                raise Refused(errno.EPERM, f"{path}: {fs.uri} makes no symbolic links")
            fs.create_symlink(target, path, create_parent=False)
            status = fs.get_file_link_status(path)
        return (answers.entry(self._entry(parent, name, status)),)

    def _make_node(self, header: Header, body: requests.MakeNode) -> Answer:
        self._check_writable()
        parent = self._node(header.node_id)
        name, path = self._below(parent, body.name)
        if stat.S_IFMT(body.mode) not in (0, stat.S_IFREG):
            raise Refused(errno.EPERM, f"{path}: HDFS has no devices, pipes and sockets")
        with self._callers.of(header.uid) as fs:
            mode = body.mode & _MODE_BITS
            fs.create(path, permission=mode, create_parent=False).close()
            status = fs.get_file_link_status(path)
        return (answers.entry(self._entry(parent, name, status)),)

    def _make_directory(self, header: Header, body: requests.MakeNode) -> Answer:
        self._check_writable()
        parent = self._node(header.node_id)
        name, path = self._below(parent, body.name)
        with self._callers.of(header.uid) as fs:
            # HDFS's namenodes answer as if they had made a directory that is there.
            if fs.exists(path):
                raise errors.PathExists(f"{path} already exists")
            fs.mkdir(path, body.mode & _MODE_BITS)
            status = fs.get_file_link_status(path)
        return (answers.entry(self._entry(parent, name, status)),)

    def _unlink(self, header: Header, body: requests.Named) -> Answer:
        self._check_writable()
        parent = self._node(header.node_id)
        name, path = self._below(parent, body.name)
        with self._callers.of(header.uid) as fs:
            with self._lock:
                node = self._nodes.child(parent, name)
            file = None if node is None else self._handles.opened(node)
            if node is not None and file is not None:
                hidden = f"{self._hidden_prefix}{node.node_id}"
                fs.rename(path, f"{path[: -len(name)]}{hidden}")
                with self._lock:
                    self._nodes.renamed(parent, name, parent, hidden)
                file.hide(self._callers.of(header.uid))
                if file.written is not None:
                    file.written.abandon()
                return ()
            if not fs.delete(path):
                raise errors.PathNotFound(f"{path} is not there")
        with self._lock:
            self._nodes.removed(parent, name)
        return ()

    def _remove_directory(self, header: Header, body: requests.Named) -> Answer:
        self._check_writable()
        parent = self._node(header.node_id)
        name, path = self._below(parent, body.name)
        with self._callers.of(header.uid) as fs:
            if not fs.get_file_link_status(path).is_directory:
                raise errors.PathIsNotDirectory(f"{path} is no directory")
            if not fs.delete(path):
                raise errors.PathNotFound(f"{path} is not there")
        with self._lock:
            self._nodes.removed(parent, name)
        return ()

    def _rename(self, header: Header, body: requests.Rename) -> Answer:
        self._check_writable()
        if body.flags & ~RenameFlag.NOREPLACE:
            raise Refused(errno.EINVAL, f"renames with flags {body.flags:#x} are not possible")
        parent, new_parent = self._node(header.node_id), self._node(body.new_parent)
        name, path = self._below(parent, body.name)
        new_name, new_path = self._below(new_parent, body.new_name)
        with self._callers.of(header.uid) as fs:
            fs.rename(path, new_path, overwrite=not body.flags & RenameFlag.NOREPLACE)
        with self._lock:
            replaced = self._nodes.renamed(parent, name, new_parent, new_name)
            moved = self._nodes.child(new_parent, new_name)
            if moved is not None and moved.is_directory:
                # Until it is looked up again, for it may be in another directory now.
                _make_private(moved)
        gone = None if replaced is None else self._handles.opened(replaced)
        if gone is not None and gone.written is not None:
            gone.written.abandon()
        return ()

    # --- files --------------------------------------------------------------------------

    def _open(self, header: Header, body: requests.Open) -> Answer:
        node = self._node(header.node_id)
        with ExitStack() as stack:
            fs = stack.enter_context(self._callers.of(header.uid))
            status = self._status(fs, node)
            handle, number = self._opened(fs, node, status, body.flags, stack)
            version = (status.length, status.modification_time_ms)
            keep = node.cached_version == version and not handle.writes
            node.cached_version = None if handle.writes else version
        return (answers.opened(number, OpenAnswer.KEEP_CACHE if keep else 0),)

    def _opened(
        self, fs: FileSystem, node: Node, status: FileStatus, flags: int, stack: ExitStack
    ) -> tuple[FileHandle, int]:
        """Open a file that exists. What the handle needs is on `stack`, also if this fails."""
        handle = self._handles.open_file(node, status, fs, flags, stack.pop_all())
        try:
            if handle.writes:
                self._check_writable()
                self._open_for_writing(fs, handle)
            elif handle.reads:
                self._reader(handle)
            number = self._handles.add(handle)
        except BaseException:
            self._let_go(handle)
            raise
        return handle, number

    def _open_for_writing(self, fs: FileSystem, handle: FileHandle) -> None:
        file = handle.file
        if handle.reads and not handle.flags & (os.O_TRUNC | os.O_APPEND):
            length = file.status.length if file.written is None else file.written.length
            if length:
                raise Refused(
                    errno.EOPNOTSUPP,
                    "it is opened to read and to write anywhere (O_RDWR), which HDFS cannot do",
                )
        self._check_access(fs, file.node, os.W_OK)
        written = self._written(fs, file)
        written.look_again()
        if handle.flags & os.O_TRUNC:
            written.truncate(0)

    def _written(self, fs: FileSystem, file: OpenFile) -> WrittenFile:
        with file.lock:
            if file.written is None:
                file.written = WrittenFile(fs, lambda: self._path(file.node), file.status.length)
            return file.written

    def _reader(self, handle: FileHandle) -> Reader:
        """Opens it for reading with the first call."""
        with handle.lock:
            if handle.reader is None:
                handle.cuts = _cuts(handle.file)
                handle.reader = Reader(lambda: self._open_stream(handle))
            return handle.reader

    def _open_stream(self, handle: FileHandle) -> FSDataInputStream:
        written = handle.file.written
        if written is not None:
            written.hflush()
        return self._at_path(handle.file.node, lambda path: handle.fs.open(path))

    def _create(self, header: Header, body: requests.Create) -> Answer:
        self._check_writable()
        parent = self._node(header.node_id)
        name, path = self._below(parent, body.name)
        with ExitStack() as stack:
            fs = stack.enter_context(self._callers.of(header.uid))
            try:
                stream = fs.create(path, permission=body.mode & _MODE_BITS, create_parent=False)
            except errors.PathExists:
                if body.flags & os.O_EXCL:
                    raise
                stream = None
            try:
                status = self._created_status(fs, path, header, body.mode)
                entry = self._entry(parent, name, status)
                node = self._node(entry.node_id)
                if stream is None:
                    _, number = self._opened(fs, node, status, body.flags, stack)
                    status = self._status(fs, node)
                    entry = replace(entry, attributes=self._attributes(node, status))
                else:
                    handle = self._handles.open_file(node, status, fs, body.flags, stack.pop_all())
                    with handle.file.lock:
                        handle.file.written = WrittenFile(fs, lambda: self._path(node), 0, stream)
                    number = self._handles.add(handle)
            except BaseException:
                if stream is not None:
                    stream.close()
                raise
        return answers.entry(entry), answers.opened(number)

    def _created_status(self, fs: FileSystem, path: str, header: Header, mode: int) -> FileStatus:
        """Of a file that was made just now, which object stores show when it is complete."""
        try:
            return fs.get_file_link_status(path)
        except errors.PathNotFound:
            return FileStatus(
                path=path,
                length=0,
                is_directory=False,
                replication=1,
                block_size=_BLOCK_BYTES,
                modification_time_ms=_milliseconds(time.time_ns()),
                access_time_ms=0,
                permission=mode & _MODE_BITS,
                owner=self._accounts.user(header.uid) or "",
                group=self._accounts.group(header.gid) or "",
            )

    def _handle(self, number: int) -> FileHandle:
        handle = self._handles.file(number)
        if handle is None:
            raise Refused(errno.EBADF, f"there is no open file {number}")
        return handle

    def _read(self, header: Header, body: requests.Read) -> Answer:
        handle = self._handle(body.handle)
        reader = self._reader(handle)
        opening, length = reader.opened
        file = handle.file
        end = body.offset + body.size
        written = file.written
        now = file.node.size if written is None else max(file.node.size, written.length)
        cuts = _cuts(file)
        if cuts != handle.cuts or min(end, now) > length or body.offset >= length:
            handle.cuts = cuts
            reader.reopen(opening)
        return (reader.read(body.offset, body.size),)

    def _write(self, header: Header, body: requests.Write) -> Answer:
        handle = self._handle(body.handle)
        if not handle.writes:
            raise Refused(errno.EBADF, "it is not open for writing")
        offset = None if body.flags & os.O_APPEND else body.offset
        self._written(handle.fs, handle.file).write(offset, body.data)
        return (answers.written(len(body.data)),)

    def _flush(self, header: Header, body: requests.Handle) -> Answer:
        handle = self._handle(body.handle)
        if handle.writes and handle.file.written is not None:
            handle.file.written.flush()
        return ()

    def _sync(self, header: Header, body: requests.Sync) -> Answer:
        handle = self._handle(body.handle)
        if handle.file.written is not None:
            handle.file.written.hsync()
        return ()

    def _release(self, header: Header, body: requests.Handle) -> Answer:
        handle = self._handles.take(body.handle)
        if isinstance(handle, FileHandle):
            self._let_go(handle)
        return ()

    def _let_go(self, handle: FileHandle) -> None:
        """Nobody waits for what this does: what fails is told in the log."""
        file = handle.file
        with handle.stack:
            try:
                if handle.reader is not None:
                    handle.reader.close()
                if handle.writes and file.written is not None and file.writers == 1:
                    # Before another one can open it alone.
                    file.written.close()
            except (errors.HowdahError, OSError) as error:
                log.warning("%s is not closed in order: %s", self._described(file.node), error)
            try:
                if self._handles.let_go(handle):
                    self._drop_hidden(file)
            except (errors.HowdahError, OSError) as error:
                log.warning("%s is not closed in order: %s", self._described(file.node), error)

    def _drop_hidden(self, file: OpenFile) -> None:
        """Delete a file that was deleted while it was open."""
        node = file.node
        with file.hidden_by() as fs:
            if fs is not None:
                fs.delete(self._path(node))
                with self._lock:
                    if node.parent is not None:
                        self._nodes.removed(node.parent, node.name)

    # --- directories --------------------------------------------------------------------

    def _open_directory(self, header: Header, body: requests.Open) -> Answer:
        node = self._node(header.node_id)
        with ExitStack() as stack:
            fs = stack.enter_context(self._callers.of(header.uid))
            listing = Listing(lambda: self._fetched(fs, node))
            listing.begin()
            number = self._handles.add(DirectoryHandle(node, fs, listing, stack.pop_all()))
        return (answers.opened(number),)

    def _fetched(self, fs: FileSystem, node: Node) -> Iterator[FileStatus]:
        for status in fs.list_status_iter(self._path(node)):
            if not status.name.startswith(self._hidden_prefix):
                yield status

    def _list(self, header: Header, body: requests.Read) -> Answer:
        handle = self._handles.directory(body.handle)
        if handle is None:
            raise Refused(errno.EBADF, f"there is no open directory {body.handle}")
        plus = header.operation == Operation.READDIRPLUS
        node = handle.node
        parts: list[bytes] = []
        room = body.size

        def put(entry: DirectoryEntry) -> bool:
            nonlocal room
            packed = answers.directory_entry(entry, with_attributes=plus)
            if len(packed) > room:
                return False
            room -= len(packed)
            parts.append(packed)
            return True

        above = node.parent or node
        for number, (name, at) in enumerate(((b".", node), (b"..", above))):
            dots = DirectoryEntry(name, at.node_id, number + 1, stat.S_IFDIR)
            if body.offset <= number and not put(dots):
                return parts

        def accept(number: int, status: FileStatus) -> bool:
            name = status.name.encode("utf-8", "surrogateescape")
            offset = number + _DOTS + 1
            size = len(
                answers.directory_entry(DirectoryEntry(name, 0, offset, 0), with_attributes=plus)
            )
            if size > room:
                # Nothing is looked up that the kernel does not hear of.
                return False
            if not plus:
                return put(DirectoryEntry(name, _UNKNOWN_INODE, offset, _kind(status)))
            entry = self._entry(node, status.name, status)
            return put(DirectoryEntry(name, entry.node_id, offset, _kind(status), entry))

        handle.listing.take(max(body.offset - _DOTS, 0), accept)
        return parts

    def _release_directory(self, header: Header, body: requests.Handle) -> Answer:
        handle = self._handles.take(body.handle)
        if handle is not None:
            handle.stack.close()
        return ()

    # --- the rest -----------------------------------------------------------------------

    def _nothing(self, header: Header, body: Body) -> Answer:
        return ()

    def _interrupt(self, header: Header, body: requests.Interrupt) -> Answer:
        """Calls to servers end by themselves, by their time-outs."""
        return None

    def _statistics(self, header: Header, body: requests.Plain) -> Answer:
        node = self._node(header.node_id)
        with self._callers.of(header.uid) as fs:
            try:
                found = self._at_path(node, fs.get_status)
            except errors.UnsupportedOperation:
                return (answers.statistics(0, 0, _UNIT_BYTES, LONGEST_NAME_BYTES),)
        return (
            answers.statistics(found.capacity, found.remaining, _UNIT_BYTES, LONGEST_NAME_BYTES),
        )

    def _set_extended(self, header: Header, body: requests.SetExtendedAttribute) -> Answer:
        self._check_writable()
        name = _attribute_name(body.name, errno.EOPNOTSUPP)
        node = self._node(header.node_id)
        must_be_new = bool(body.flags & AttributeFlag.CREATE)
        must_be_there = bool(body.flags & AttributeFlag.REPLACE)
        with self._callers.of(header.uid) as fs:
            if must_be_new or must_be_there:
                is_there = name in self._at_path(node, fs.list_xattrs)
                if must_be_new and is_there:
                    raise errors.PathExists(f"the attribute {name} is there already")
                if must_be_there and not is_there:
                    raise Refused(errno.ENODATA, f"there is no attribute {name}")
            self._at_path(
                node,
                lambda path: fs.set_xattr(
                    path, name, body.value, create=not must_be_there, replace=not must_be_new
                ),
            )
        return ()

    def _get_extended(self, header: Header, body: requests.GetExtendedAttribute) -> Answer:
        name = _attribute_name(body.name, errno.ENODATA)
        node = self._node(header.node_id)
        with self._callers.of(header.uid) as fs:
            value = self._at_path(node, lambda path: fs.get_xattr(path, name))
        return _of_size(value, body.size)

    def _list_extended(self, header: Header, body: requests.GetExtendedAttribute) -> Answer:
        node = self._node(header.node_id)
        with self._callers.of(header.uid) as fs:
            try:
                names = self._at_path(node, fs.list_xattrs)
            except errors.UnsupportedOperation:
                names = []
        shown = [name.encode() for name in names]
        shown = [name for name in shown if name.startswith(_ATTRIBUTE_SPACES)]
        return _of_size(b"".join(name + b"\0" for name in shown), body.size)

    def _remove_extended(self, header: Header, body: requests.Named) -> Answer:
        self._check_writable()
        name = _attribute_name(body.name, errno.ENODATA)
        node = self._node(header.node_id)
        with self._callers.of(header.uid) as fs:
            if name not in self._at_path(node, fs.list_xattrs):
                raise Refused(errno.ENODATA, f"there is no attribute {name}")
            self._at_path(node, lambda path: fs.remove_xattr(path, name))
        return ()


_UNKNOWN_INODE: Final = 0xFFFFFFFF
"""The kernel asks for it when somebody wants to know."""


def _text(name: bytes) -> str:
    """Raises Refused for what is no name of a file on HDFS."""
    if len(name) > LONGEST_NAME_BYTES:
        raise Refused(errno.ENAMETOOLONG, f"a name of {len(name)} bytes")
    try:
        text = name.decode()
    except UnicodeDecodeError as error:
        raise Refused(errno.EILSEQ, f"{name!r}: names are UTF-8 on HDFS") from error
    if "/" in text or text in (".", ".."):
        raise Refused(errno.EINVAL, f"{text!r} is no name")
    return text


@contextmanager
def _for_owners() -> Iterator[None]:
    """Systems say EPERM where only the owner may do something, HDFS says that access is denied."""
    try:
        yield
    except errors.AccessDenied as error:
        raise Refused(errno.EPERM, str(error)) from error


def _kind(status: FileStatus) -> int:
    if status.is_directory:
        return stat.S_IFDIR
    return stat.S_IFLNK if status.is_symlink else stat.S_IFREG


def _is_public(status: FileStatus) -> bool:
    """Whether everybody may search it. An ACL may take that from one of them."""
    return bool(status.permission & 0o001) and not status.has_acl


def _cuts(file: OpenFile) -> int:
    """How often a file was cut by this mount since it was opened."""
    return 0 if file.written is None else file.written.cuts


def _make_private(node: Node) -> None:
    below = [node]
    while below:
        at = below.pop()
        at.is_public = False
        below.extend(at.children.values())


def _link_target(status: FileStatus) -> str:
    """Relative to the link's own directory: the machine knows no other root of the filesystem."""
    target = status.symlink or ""
    if not target.startswith("/"):
        return target
    return os.path.relpath(target, os.path.dirname(status.path))


def _milliseconds(nanoseconds: int) -> int:
    """Times before 1970 are none that HDFS can keep."""
    return max(nanoseconds // 1_000_000, 0)


def _attribute_name(name: bytes, number: int) -> str:
    """Raises Refused with `number` for attributes that are not HDFS's."""
    if not name.startswith(_ATTRIBUTE_SPACES):
        raise Refused(number, f"there are no attributes {name!r} here")
    return name.decode("utf-8", "surrogateescape")


def _of_size(value: bytes, size: int) -> Answer:
    """A value, or how long it is, if nothing is said of room for it."""
    if not size:
        return (answers.value_size(len(value)),)
    if len(value) > size:
        raise Refused(errno.ERANGE, f"{len(value)} bytes do not fit into {size}")
    return (value,)
