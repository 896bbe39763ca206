"""The mounted directory as the kernel knows it: what all calls need (shell)."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.mount.accounts import Accounts
from howdah.mount.callers import Callers
from howdah.mount.failures import Refused
from howdah.mount.open_files import Handles, OpenFile
from howdah.mount.protocol import answers
from howdah.mount.protocol.answers import Attributes, Buffer, Entry
from howdah.mount.state.nodes import Node, Nodes, is_same
from howdah.mount.writing import WrittenFile

LONGEST_NAME_BYTES: Final = 255
BLOCK_BYTES: Final = 128 << 10
"""What programs read and write at once that ask."""
MODE_BITS: Final = 0o1777
_WHICH_ACCESS: Final = ", access="
"""In what a namenode says of a refusal, unless only the owner may."""

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


class MountedTree:
    """Which nodes there are, what is at them, and who asks whom. Thread-safe."""

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
        self.callers: Final = callers
        self.accounts: Final = accounts
        self.settings: Final = settings
        self.nodes: Final = Nodes(root_path)
        self._all_may_reach_root = all_may_reach_root
        self.nodes.root.is_public = False
        self.lock: Final = threading.Lock()
        """Held for the table of nodes, and never while the filesystem is asked."""
        self.handles: Final = Handles()
        self.hidden_prefix: Final = f".howdah-unlinked-{secrets.token_hex(4)}-"
        """Names of files that were deleted while they were open begin so."""

    # --- nodes and paths ----------------------------------------------------------------

    def node(self, node_id: int) -> Node:
        with self.lock:
            node = self.nodes.get(node_id)
        if node is None:
            raise Refused(errno.ESTALE, f"nobody has looked up node {node_id}")
        return node

    def path(self, node: Node) -> str:
        with self.lock:
            path = self.nodes.path_of(node)
        if path is None:
            raise errors.PathNotFound(f"{node.name} is deleted")
        return path

    def described(self, node: Node) -> str:
        with self.lock:
            return self.nodes.path_of(node) or f"{node.name} (deleted)"

    def below(self, node: Node, name: bytes) -> tuple[str, str]:
        """A name in a directory as text, and its path."""
        text = text_of(name)
        path = self.path(node)
        return text, f"{path}/{text}" if path != "/" else f"/{text}"

    def at_path(self, node: Node, call: Callable[[str], T]) -> T:
        """What a call answers for the path of a node, also if a directory above is renamed
        meanwhile."""
        path = self.path(node)
        try:
            return call(path)
        except (errors.PathNotFound, errors.ParentNotDirectory):
            now = self.path(node)
            if now == path:
                raise
            return call(now)

    def changed(self, node_id: int) -> None:
        """A file or a directory, or what is in it, was changed by this mount."""
        with self.lock:
            node = self.nodes.get(node_id)
            if node is not None:
                node.changes += 1
                if node.parent is not None:
                    node.parent.changes += 1

    # --- what is at a node ---------------------------------------------------------------

    def status(self, fs: FileSystem, node: Node) -> FileStatus:
        """What is at a node now; of an open file that has no place any more what it was."""
        file = self.handles.opened(node)
        try:
            status = self.asked(node, lambda: self.at_path(node, fs.get_file_link_status))
        except errors.PathNotFound:
            if file is None:
                raise
            written = file.written
            return file.status if written is None else replace(file.status, length=written.length)
        if node.is_directory != status.is_directory or (
            node.file_id and status.file_id and node.file_id != status.file_id
        ):
            if file is not None:
                return file.status
            raise Refused(errno.ESTALE, f"{status.path} is another file by now")
        if file is not None:
            file.status = status
        if node is self.nodes.root:
            node.is_public = self._all_may_reach_root and is_public(status)
        return status

    def asked(self, node: Node | None, ask: Callable[[], FileStatus]) -> FileStatus:
        """What is said of a file, which may be completed meanwhile: what was asked before knows
        less of it than this mount."""
        file = None if node is None else self.handles.opened(node)
        written = None if file is None else file.written
        was_open = written is not None and written.is_open
        status = ask()
        if (
            node is None
            or written is None
            or not was_open
            or written.length <= status.length
            or not is_same(node, status.is_directory, status.file_id)
        ):
            return status
        return replace(status, length=written.length)

    def attributes(self, node: Node, status: FileStatus) -> Attributes:
        size, mtime_ms, atime_ms = (
            status.length,
            status.modification_time_ms,
            status.access_time_ms,
        )
        file = self.handles.opened(node)
        written = None if file is None else file.written
        if written is not None:
            size = written.length if written.is_open else size
            if written.times_ms is not None:
                new_mtime_ms, new_atime_ms = written.times_ms
                mtime_ms = mtime_ms if new_mtime_ms < 0 else new_mtime_ms
                atime_ms = atime_ms if new_atime_ms < 0 else new_atime_ms
        if status.is_symlink:
            size = len(link_target(status).encode("utf-8", "surrogateescape"))
        node.size = size
        return Attributes(
            inode=node.node_id,
            size=0 if status.is_directory else size,
            mode=kind_of(status) | (status.permission & MODE_BITS),
            uid=self.accounts.uid(status.owner),
            gid=self.accounts.gid(status.group),
            mtime_ns=mtime_ms * 1_000_000,
            atime_ns=(atime_ms or mtime_ms) * 1_000_000,
            block_bytes=BLOCK_BYTES,
            links=0 if self._is_deleted(node) else 1,
        )

    def _is_deleted(self, node: Node) -> bool:
        """Whether a file has no name any more but the one that it has while it is open."""
        if node.parent is None:
            return node is not self.nodes.root
        return node.name.startswith(self.hidden_prefix)

    def entry(self, parent: Node, name: str, status: FileStatus) -> Entry:
        """What the kernel hears of a name that exists; it knows the node from then on."""
        with self.lock:
            node = self.nodes.looked_up(
                parent, name, is_directory=status.is_directory, file_id=status.file_id
            )
        return self._entry(node, parent, status)

    def listed_entry(self, parent: Node, name: str, status: FileStatus) -> Entry | None:
        """As `entry`, of what a listing says, which may be older than what is known: None if
        another file is known by the name."""
        with self.lock:
            if self.nodes.has_another(
                parent, name, is_directory=status.is_directory, file_id=status.file_id
            ):
                return None
            node = self.nodes.looked_up(
                parent, name, is_directory=status.is_directory, file_id=status.file_id
            )
        return self._entry(node, parent, status)

    def _entry(self, node: Node, parent: Node, status: FileStatus) -> Entry:
        node.is_public = parent.is_public and is_public(status)
        # Whoever may not search a directory must not hear of it from another one's questions.
        trusted = parent.is_public or not self.callers.are_many
        settings = self.settings
        return Entry(
            node.node_id,
            self.attributes(node, status),
            settings.entry_timeout_s if trusted else 0.0,
            settings.attribute_timeout_s if trusted else 0.0,
        )

    def attribute_answer(self, node: Node, status: FileStatus) -> Answer:
        parent = node.parent
        trusted = parent is None or parent.is_public or not self.callers.are_many
        timeout_s = self.settings.attribute_timeout_s if trusted else 0.0
        return (answers.attributes(self.attributes(node, status), timeout_s),)

    def check_writable(self) -> None:
        if self.settings.is_read_only:
            raise Refused(errno.EROFS, "it is mounted --read-only")

    def check_access(self, fs: FileSystem, node: Node, mask: int) -> None:
        try:
            self.at_path(node, lambda path: fs.access(path, mask))
        except errors.UnsupportedOperation:
            # It has no permissions of its own, or checks them when it is called.
            self.status(fs, node)

    def written(self, fs: FileSystem, file: OpenFile) -> WrittenFile:
        """The end of an open file, which all share who write it."""
        with file.lock:
            if file.written is None:
                file.written = WrittenFile(fs, lambda: self.path(file.node), file.status.length)
            return file.written


def text_of(name: bytes) -> str:
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
def for_owners() -> Iterator[None]:
    """Systems say EPERM where only the owner may do something, and EACCES where one may not come
    that far. HDFS says that access is denied in both cases, and in the second one which access."""
    try:
        yield
    except errors.AccessDenied as error:
        if _WHICH_ACCESS in str(error):
            raise
        raise Refused(errno.EPERM, str(error)) from error


def kind_of(status: FileStatus) -> int:
    if status.is_directory:
        return stat.S_IFDIR
    return stat.S_IFLNK if status.is_symlink else stat.S_IFREG


def is_public(status: FileStatus) -> bool:
    """Whether everybody may search it. An ACL may take that from one of them."""
    return bool(status.permission & 0o001) and not status.has_acl


def link_target(status: FileStatus) -> str:
    """Relative to the link's own directory: the machine knows no other root of the filesystem."""
    target = status.symlink or ""
    if not target.startswith("/"):
        return target
    return os.path.relpath(target, os.path.dirname(status.path))


def milliseconds(nanoseconds: int) -> int:
    """Times before 1970 are none that HDFS can keep."""
    return max(nanoseconds // 1_000_000, 0)
