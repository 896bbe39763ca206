"""Inodes: what all have in common, directories, and symbolic links (pure).

Hadoop's `INode`, `INodeDirectory` and `INodeSymlink`. Files are rows of a table, in `files`.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from howdah.namenode.state.inodes.inode_features import NO_FEATURES, Features, Quota
from howdah.namenode.state.inodes.sorted_names import SortedNames

if TYPE_CHECKING:
    from howdah.formats.edits.edits import AclEntry, XAttr

ROOT_INODE_ID: Final = 16385
"""The root's id; Hadoop reserves those below."""

DIRECTORY_DEFAULT_MODE: Final = 0o755
STICKY_BIT: Final = 0o1000
MODE_MASK: Final = 0o1777


class INode:
    """What all inodes have. Times are in milliseconds.

    What few of them have is in `features`, and shown as attributes: `acl`, `xattrs`,
    `storage_policy_id` (0 where the inode has none of its own).

    Compare inodes with `==`: there may be several objects for one file (see `files`).
    """

    __slots__ = ("inode_id",)

    inode_id: int

    # Directories and links have these as attributes, files as numbers of a row.

    @property
    @abstractmethod
    def name(self) -> str: ...
    @name.setter
    def name(self, name: str) -> None: ...

    @property
    @abstractmethod
    def owner(self) -> str: ...
    @owner.setter
    def owner(self, owner: str) -> None: ...

    @property
    @abstractmethod
    def group(self) -> str: ...
    @group.setter
    def group(self, group: str) -> None: ...

    @property
    @abstractmethod
    def mode(self) -> int: ...
    @mode.setter
    def mode(self, mode: int) -> None: ...

    @property
    @abstractmethod
    def mtime_ms(self) -> int: ...
    @mtime_ms.setter
    def mtime_ms(self, mtime_ms: int) -> None: ...

    @property
    @abstractmethod
    def atime_ms(self) -> int: ...
    @atime_ms.setter
    def atime_ms(self, atime_ms: int) -> None: ...

    @property
    @abstractmethod
    def parent(self) -> Directory | None: ...
    @parent.setter
    def parent(self, parent: Directory | None) -> None: ...

    @property
    @abstractmethod
    def features(self) -> Features: ...
    @features.setter
    def features(self, features: Features) -> None: ...

    # What few have.

    def _set_feature(self, name: str, value: Any) -> None:
        features = self.features
        if features is NO_FEATURES:
            if value == getattr(NO_FEATURES, name):
                return
            features = self.features = Features()
        setattr(features, name, value)
        if features.is_empty:
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

    def is_row_of(self, files: Files | None) -> bool:
        """True of a file that is a row of this table."""
        return False


class Files(Protocol):
    """The table of files in `files`, as far as those who walk a directory need it."""

    directories_taken: int

    @property
    def features(self) -> Mapping[int, Features]: ...
    @property
    def block_lists(self) -> Mapping[int, Sequence[int]]: ...
    def __getitem__(self, inode_id: int) -> INode: ...
    def measure(self, inode_id: int) -> tuple[int, int] | None: ...


class _Held(INode):
    """An inode that is an object."""

    __slots__ = (
        "atime_ms",
        "features",
        "group",
        "mode",
        "mtime_ms",
        "name",
        "owner",
        "parent",
    )

    name: str
    owner: str
    group: str
    mode: int
    mtime_ms: int
    atime_ms: int
    parent: Directory | None
    features: Features

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
        self.parent = None
        self.features = NO_FEATURES


class Directory(_Held):
    """Children by name. `sorted_names` is the order of listings: by UTF-8 bytes,
    which for Python's strings is the order of code points.

    `entries` has of a file its inode id only; `children` shows the file. `files` is the
    table of those files.
    """

    __slots__ = ("_sorted", "entries", "files")

    def __init__(
        self, inode_id: int, name: str, owner: str, group: str, mode: int, mtime_ms: int
    ) -> None:
        super().__init__(inode_id, name, owner, group, mode, mtime_ms)
        self.entries: dict[str, INode | int] = {}
        self.files: Files | None = None
        self._sorted: SortedNames | None = None

    @property
    def children(self) -> Mapping[str, INode]:
        return Children(self)

    @property
    def quota(self) -> Quota | None:
        """Bounds of what is below, with what is used of them; None if there are none."""
        return self.features.quota

    @quota.setter
    def quota(self, quota: Quota | None) -> None:
        self._set_feature("quota", quota)

    def child(self, name: str) -> INode | None:
        entry = self.entries.get(name)
        return self.file(entry) if entry.__class__ is int else entry  # type: ignore[return-value]

    def pick(self, names: Iterable[str]) -> list[INode | int]:
        """What has these names, files by their ids."""
        entries = self.entries
        return [entries[name] for name in names]

    def file(self, inode_id: int) -> INode:
        """A file that is among the entries."""
        assert self.files is not None, "only a table's files are entered by their ids"
        return self.files[inode_id]

    def add(self, child: INode) -> None:
        name = child.name
        assert name not in self.entries, f"{name} stands already in {self.path}"
        self.entries[name] = child.inode_id if child.is_row_of(self.files) else child
        child.parent = self
        if self._sorted is not None:
            self._sorted.add(name)

    def enter(self, name: str, inode_id: int) -> None:
        """Add a file of the table, whose row says already that it is here."""
        assert name not in self.entries, f"{name} stands already in {self.path}"
        self.entries[name] = inode_id
        if self._sorted is not None:
            self._sorted.add(name)

    def remove(self, child: INode) -> None:
        del self.entries[child.name]
        child.parent = None
        if self.files is not None and isinstance(child, Directory):
            self.files.directories_taken += 1
        if self._sorted is not None:
            self._sorted.remove(child.name)

    def contents(self) -> list[INode | int]:
        """What is in it, files by their ids."""
        return list(self.entries.values())

    def take_child(self) -> INode:
        """Any child, which is not among the entries from now on; it keeps its parent."""
        _, entry = self.entries.popitem()
        self._sorted = None
        return self.file(entry) if isinstance(entry, int) else entry

    def subdirectories(self) -> list[Directory]:
        return [entry for entry in self.entries.values() if isinstance(entry, Directory)]

    def sorted_names(self) -> list[str]:
        return sorted(self.entries) if self._sorted is None else list(self._sorted)

    def names_after(self, name: str, limit: int) -> tuple[list[str], int]:
        """A page of a listing: up to `limit` names behind `name`, and how many follow.

        From the first one on the names are kept in order.
        """
        if self._sorted is None:
            self._sorted = SortedNames(self.entries)
        return self._sorted.after(name, limit)

    def clear(self) -> None:
        """Nothing is in it any more."""
        self.entries.clear()
        self._sorted = None


class Children(Mapping[str, INode]):
    """What is in a directory, by name."""

    __slots__ = ("_directory",)

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __getitem__(self, name: str) -> INode:
        entry = self._directory.entries[name]
        return self._directory.file(entry) if isinstance(entry, int) else entry

    def get(self, name: str, default: None = None) -> INode | None:  # type: ignore[override]
        return self._directory.child(name)

    def __contains__(self, name: object) -> bool:
        return name in self._directory.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._directory.entries)

    def __len__(self) -> int:
        return len(self._directory.entries)

    def clear(self) -> None:
        self._directory.clear()


class Symlink(_Held):
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
