"""What the tree is made of: directories, files, symbolic links and their blocks.

Values of one namespace, held in memory (FS-025). Nothing outside `namespace`
changes a field here: edits do. A file's blocks carry no locations (FS-024); the
block map in `blocks` keeps those beside them, from what datanodes report.
"""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Any, Final

from howdah.namenode.features import NO_FEATURES, Features, Quota

if TYPE_CHECKING:
    from howdah.namenode.datanodes import Storage
    from howdah.storage.edits import AclEntry, XAttr

ROOT_INODE_ID: Final = 16385
"""The root's id; Hadoop reserves those below."""

LAST_RESERVED_BLOCK_ID: Final = 1 << 30
LAST_RESERVED_GENERATION_STAMP: Final = 1000

DIRECTORY_DEFAULT_MODE: Final = 0o755
STICKY_BIT: Final = 0o1000
MODE_MASK: Final = 0o1777


class BlockState(enum.IntEnum):
    """A block's way: being written, its length told by the client, safely stored."""

    UNDER_CONSTRUCTION = 0
    COMMITTED = 1
    COMPLETE = 2


class Block:
    """One block of one file.

    `replicas` are the storages that hold a finalized replica of this generation
    stamp and length; `corrupt` those that were reported bad. While the block is
    under construction `expected` are the storages of its pipeline.

    `synced_bytes` is what its writer synced so far, where no edit says so yet.
    `truncating`: its replicas are being cut to `length_bytes`, and are longer still.
    """

    __slots__ = (
        "block_id",
        "corrupt",
        "expected",
        "file",
        "generation_stamp",
        "length_bytes",
        "replicas",
        "state",
        "synced_bytes",
        "truncating",
    )

    def __init__(
        self,
        block_id: int,
        length_bytes: int,
        generation_stamp: int,
        file: File,
        state: BlockState,
    ) -> None:
        self.block_id = block_id
        self.length_bytes = length_bytes
        self.generation_stamp = generation_stamp
        self.file = file
        self.state = state
        self.replicas: list[Storage] = []
        self.expected: tuple[Storage, ...] = ()
        self.corrupt: tuple[Storage, ...] = ()
        self.synced_bytes = 0
        self.truncating = False

    @property
    def known_bytes(self) -> int:
        """So many bytes of it were acknowledged, at least."""
        return max(self.length_bytes, self.synced_bytes)

    @property
    def is_readable_to_the_end(self) -> bool:
        """True if readers can rely on `length_bytes` without asking datanodes."""
        return self.state is BlockState.COMPLETE or self.truncating

    @property
    def name(self) -> str:
        """As logs and messages show it: `blk_1073741825_1001`."""
        return f"blk_{self.block_id}_{self.generation_stamp}"

    def __repr__(self) -> str:
        return f"<{self.name} {self.state.name} {self.length_bytes} bytes>"


class INode:
    """What files, directories and links have in common. Times are in milliseconds.

    What few of them have is in `features`, and shown as attributes: `acl`, `xattrs`,
    `storage_policy_id` (0 where the inode has none of its own).
    """

    __slots__ = (
        "atime_ms",
        "features",
        "group",
        "inode_id",
        "mode",
        "mtime_ms",
        "name",
        "owner",
        "parent",
    )

    def __init__(
        self, inode_id: int, name: str, owner: str, group: str, mode: int, mtime_ms: int
    ) -> None:
        self.inode_id = inode_id
        self.name = name
        # A log that is replayed brings each of them as a string of its own.
        self.owner = sys.intern(owner)
        self.group = sys.intern(group)
        self.mode = mode
        self.mtime_ms = mtime_ms
        self.atime_ms = 0
        self.parent: Directory | None = None
        self.features: Features = NO_FEATURES

    def _set_feature(self, name: str, value: Any) -> None:
        if self.features is NO_FEATURES:
            if value == getattr(NO_FEATURES, name):
                return
            self.features = Features()
        setattr(self.features, name, value)
        if self.features.is_empty:
            self.features = NO_FEATURES

    @property
    def acl(self) -> tuple[AclEntry, ...]:
        """The entries that the mode does not stand for (see `features`)."""
        return self.features.acl

    @acl.setter
    def acl(self, entries: tuple[AclEntry, ...]) -> None:
        self._set_feature("acl", entries)

    @property
    def xattrs(self) -> tuple[XAttr, ...]:
        return self.features.xattrs

    @xattrs.setter
    def xattrs(self, xattrs: tuple[XAttr, ...]) -> None:
        self._set_feature("xattrs", xattrs)

    @property
    def storage_policy_id(self) -> int:
        """Its own, 0 if it has none and its parents decide."""
        return self.features.storage_policy_id

    @storage_policy_id.setter
    def storage_policy_id(self, policy_id: int) -> None:
        self._set_feature("storage_policy_id", policy_id)

    @property
    def path(self) -> str:
        """Absolute path, read upwards; of a detached inode, its path below the cut."""
        names: list[str] = []
        node: INode | None = self
        while node is not None and node.name:
            names.append(node.name)
            node = node.parent
        return "/" + "/".join(reversed(names))


class Directory(INode):
    """Children by name. `sorted_names` is the order of listings: by UTF-8 bytes,
    which for Python's strings is the order of code points."""

    __slots__ = ("_sorted", "children")

    def __init__(
        self, inode_id: int, name: str, owner: str, group: str, mode: int, mtime_ms: int
    ) -> None:
        super().__init__(inode_id, name, owner, group, mode, mtime_ms)
        self.children: dict[str, INode] = {}
        self._sorted: list[str] | None = None

    @property
    def quota(self) -> Quota | None:
        """Bounds of what is below, with what is used of them; None if there are none."""
        return self.features.quota

    @quota.setter
    def quota(self, quota: Quota | None) -> None:
        self._set_feature("quota", quota)

    def add(self, child: INode) -> None:
        assert child.name not in self.children, f"{child.name} stands already in {self.path}"
        self.children[child.name] = child
        child.parent = self
        self._sorted = None

    def remove(self, child: INode) -> None:
        del self.children[child.name]
        child.parent = None
        self._sorted = None

    def sorted_names(self) -> list[str]:
        if self._sorted is None:
            self._sorted = sorted(self.children)
        return self._sorted


class File(INode):
    """A file; `writer` is set while somebody writes it (its lease holder)."""

    __slots__ = ("block_size_bytes", "blocks", "replication")

    def __init__(
        self,
        inode_id: int,
        name: str,
        owner: str,
        group: str,
        mode: int,
        mtime_ms: int,
        *,
        replication: int,
        block_size_bytes: int,
        storage_policy_id: int = 0,
    ) -> None:
        super().__init__(inode_id, name, owner, group, mode, mtime_ms)
        self.replication = replication
        self.block_size_bytes = block_size_bytes
        self.blocks: list[Block] = []
        self.storage_policy_id = storage_policy_id

    @property
    def writer(self) -> str | None:
        return self.features.writer

    @writer.setter
    def writer(self, writer: str | None) -> None:
        self._set_feature("writer", writer)

    @property
    def writer_machine(self) -> str:
        """Where the writer is; it goes with the writer."""
        return self.features.writer_machine

    @writer_machine.setter
    def writer_machine(self, machine: str) -> None:
        assert self.writer is not None, f"nobody writes {self.path}"
        self.features.writer_machine = machine

    @property
    def under_construction(self) -> bool:
        return self.features.writer is not None

    @property
    def length_bytes(self) -> int:
        """Sum of the blocks' lengths; of a block being written, what was synced so far."""
        return sum(block.length_bytes for block in self.blocks)


class Symlink(INode):
    __slots__ = ("target",)

    def __init__(
        self,
        inode_id: int,
        name: str,
        owner: str,
        group: str,
        mode: int,
        mtime_ms: int,
        target: str,
    ) -> None:
        super().__init__(inode_id, name, owner, group, mode, mtime_ms)
        self.target = target


def mode_string(inode: INode) -> str:
    """As `ls` prints it: `drwxr-xr-x`, `-rw-r--r-T`."""
    kind = "d" if isinstance(inode, Directory) else "l" if isinstance(inode, Symlink) else "-"
    return kind + permission_string(inode.mode)


def permission_string(mode: int) -> str:
    """Nine letters, with the sticky bit as `t` or `T` in the last place."""
    letters = [
        letter if mode & (0o400 >> place) else "-" for place, letter in enumerate("rwxrwxrwx")
    ]
    if mode & STICKY_BIT:
        letters[8] = "t" if mode & 1 else "T"
    return "".join(letters)
