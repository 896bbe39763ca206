"""The mount table: which path is in which nameservice (pure). Hadoop: MountTableResolver.

An entry mounts one or more paths of nameservices, its *destinations*, at a path of the
router's tree, its *source*. A path belongs to the entry with the longest source that is the
path or an ancestor of it; what no entry covers belongs to the default nameservice, under the
same path, if there is one.

Directories above a mount point exist by that: they are listed, and cannot be changed. A trash
path `/user/U/.Trash/Current/PATH` lies in the nameservices of PATH, so that moving a file to
the trash stays within its namespace. So what is in the trash above mount points is in several.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from howdah import errors
from howdah.protocol.data_transfer.blocks import StorageType

QUOTA_NOT_SET: Final = -1
"""HdfsConstants.QUOTA_RESET: no quota."""

_TRASH: Final = re.compile(r"/user/[^/]+/\.Trash/(?:Current|[0-9]+)(?=/|$)")


class Order(enum.Enum):
    """Which destination is first, of those that an entry has. Hadoop: DestinationOrder."""

    HASH = "HASH"
    """By a consistent hash of the name right below the mount point."""
    LOCAL = "LOCAL"
    """The nameservice on the caller's machine."""
    RANDOM = "RANDOM"
    HASH_ALL = "HASH_ALL"
    """By a consistent hash of the whole path."""
    SPACE = "SPACE"
    """The nameservice with most space that is free."""
    LEADER_FOLLOWER = "LEADER_FOLLOWER"
    """As they were written: the first one as long as it is there."""


FOLDER_ALL: Final = frozenset((Order.HASH_ALL, Order.RANDOM, Order.SPACE, Order.LEADER_FOLLOWER))
"""Orders that spread the files of one directory, which is therefore made in all destinations."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A path of a nameservice."""

    nameservice: str
    path: str

    def __str__(self) -> str:
        return f"{self.nameservice}->{self.path}"


@dataclass(frozen=True, slots=True)
class Quota:
    """Names and bytes that all destinations of an entry may have together; -1 is no limit."""

    names: int = QUOTA_NOT_SET
    space_bytes: int = QUOTA_NOT_SET
    by_type: tuple[tuple[StorageType, int], ...] = ()
    """Bytes on storages of one type, in the order of the types; others have no limit."""

    @property
    def is_set(self) -> bool:
        return self.names >= 0 or self.space_bytes >= 0 or bool(self.by_type)

    def with_type(self, storage_type: StorageType, space_bytes: int) -> Quota:
        limits = {**dict(self.by_type), storage_type: space_bytes}
        return replace(self, by_type=tuple(sorted(limits.items())))


@dataclass(frozen=True, slots=True)
class MountEntry:
    """A mount point. Times are in milliseconds since 1970."""

    source: str
    destinations: tuple[Destination, ...]
    order: Order = Order.HASH
    read_only: bool = False
    fault_tolerant: bool = False
    owner: str = ""
    group: str = ""
    mode: int = 0o755
    quota: Quota = field(default_factory=Quota)
    created_ms: int = 0
    modified_ms: int = 0

    @property
    def is_all(self) -> bool:
        """Whether directories are made in all destinations."""
        return self.order in FOLDER_ALL

    def check(self) -> None:
        """Raises IllegalArgument, in the words of Hadoop's MountTable.validate."""
        if not self.source:
            raise errors.IllegalArgument("Invalid entry, no source path specified ")
        if not self.source.startswith("/"):
            raise _invalid("all mount points must start with /", self)
        if not is_valid(self.source) or self.source != normalised(self.source):
            raise _invalid("the mount point is no normal path", self)
        if not self.destinations:
            raise _invalid("no destination paths specified", self)
        for destination in self.destinations:
            if not destination.nameservice:
                raise _invalid("invalid destination nameservice", self)
            if not destination.path:
                raise _invalid("invalid destination path", self)
            if not destination.path.startswith("/"):
                raise _invalid("all destination must start with /", self)
            if not is_valid(destination.path):
                raise _invalid(f"the destination {destination} is no normal path", self)
        if len(set(self.destinations)) < len(self.destinations):
            raise _invalid("a destination is named twice", self)
        if self.fault_tolerant:
            if len(self.destinations) < 2:
                raise _invalid("fault tolerance requires multiple destinations", self)
            if not self.is_all:
                raise _invalid("fault tolerance only supported for ALL order", self)

    def __str__(self) -> str:
        shown = f"{self.source}->[{','.join(map(str, self.destinations))}]"
        return shown + " [RO]" * self.read_only + " [FT]" * self.fault_tolerant


def _invalid(problem: str, entry: MountEntry) -> errors.IllegalArgument:
    return errors.IllegalArgument(f"Invalid entry, {problem} {entry}")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a path is: `path` of `nameservice`, which is `root` and what stands behind `source`.

    `nth` is the number of the destination in its entry, from 0.
    """

    nameservice: str
    path: str
    root: str
    source: str
    nth: int = 0


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a path stands for; without an entry it is in the default nameservice."""

    path: str
    entry: MountEntry | None
    locations: tuple[Location, ...]

    @property
    def is_all(self) -> bool:
        return self.entry is not None and self.entry.is_all and len(self.locations) > 1


def normalised(path: str) -> str:
    """Without slashes at the end, and with one where several follow each other."""
    return "/" + "/".join(part for part in path.split("/") if part)


def is_valid(path: str) -> bool:
    """Absolute, and without components that lead elsewhere."""
    return path.startswith("/") and not any(part in (".", "..") for part in path.split("/"))


def joined(root: str, rest: str) -> str:
    """`rest` is empty, or begins with a slash."""
    return (root.rstrip("/") + rest) or "/"


def is_at_or_below(path: str, ancestor: str) -> bool:
    return ancestor == "/" or path == ancestor or path.startswith(f"{ancestor}/")


def ancestors(path: str) -> Iterable[str]:
    """The path itself, then its parent, up to the root."""
    yield path
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        yield path


class MountTable:
    """Holds all entries, as they are at one time; an immutable value."""

    def __init__(self, entries: Iterable[MountEntry] = (), default_nameservice: str = "") -> None:
        self.entries = {
            entry.source: entry for entry in sorted(entries, key=lambda entry: entry.source)
        }
        self.default_nameservice = default_nameservice
        children: dict[str, set[str]] = {}
        for source in self.entries:
            path = source
            while path != "/":
                parent, _, name = path.rpartition("/")
                path = parent or "/"
                children.setdefault(path, set()).add(name)
        self._children = {path: tuple(sorted(names)) for path, names in children.items()}

    def entry_of(self, path: str) -> MountEntry | None:
        """Return the entry with the longest source that covers the path."""
        for ancestor in ancestors(path):
            entry = self.entries.get(ancestor)
            if entry is not None:
                return entry
        return None

    def resolve(self, path: str) -> Resolution | None:
        """Return where a path is, in the order in which its destinations were written; None:
        nowhere.

        Raises InvalidPath for a path that is none.
        """
        if not is_valid(path):
            raise errors.InvalidPath(f"Invalid path name Invalid file name: {path}")
        path = normalised(path)
        trash = _TRASH.match(path)
        if trash is not None and trash.end() < len(path):
            resolution = self._resolve(path[trash.end() :])
            if resolution is None or resolution.entry is None:
                return self._resolve(path)
            return Resolution(path, resolution.entry, _same_path(path, resolution.locations))
        return self._resolve(path)

    def _resolve(self, path: str) -> Resolution | None:
        entry = self.entry_of(path)
        if entry is None:
            if not self.default_nameservice:
                return None
            return Resolution(path, None, (Location(self.default_nameservice, path, "/", "/"),))
        rest = "" if path == entry.source else path[len(entry.source.rstrip("/")) :]
        locations = []
        for nth, destination in enumerate(entry.destinations):
            root = normalised(destination.path)
            locations.append(
                Location(destination.nameservice, joined(root, rest), root, entry.source, nth)
            )
        return Resolution(path, entry, tuple(locations))

    def children(self, path: str) -> tuple[str, ...] | None:
        """Return the names right below `path` that are mount points or lead to one; () for a mount
        point with none below; None for a path that is neither. For a trash path, return those of
        the path that was moved there: the trash itself has no mount points."""
        names = self.mounts(path)
        trash = _TRASH.match(path)
        if names is None and trash is not None:
            return self.mounts(path[trash.end() :] or "/")
        return names

    def mounts(self, path: str) -> tuple[str, ...] | None:
        """Return the same as `children`, but only for a path that is a mount point, or above
        one."""
        names = self._children.get(path)
        if names is None and path in self.entries:
            return ()
        return names

    def trash_of_others(self, resolution: Resolution) -> tuple[Location, ...]:
        """Where else something of a trash path may be: in the nameservices of the mount points
        that are below what was moved there."""
        path = resolution.path
        trash = _TRASH.match(path)
        if trash is None:
            return ()
        taken = {(location.nameservice, location.path) for location in resolution.locations}
        names = dict.fromkeys(
            destination.nameservice
            for entry in self.below(path[trash.end() :] or "/")
            for destination in entry.destinations
            if (destination.nameservice, path) not in taken
        )
        number = 1 + max((location.nth for location in resolution.locations), default=-1)
        return tuple(Location(name, path, "/", "/", nth) for nth, name in enumerate(names, number))

    def at_or_below(self, path: str) -> list[MountEntry]:
        return [entry for source, entry in self.entries.items() if is_at_or_below(source, path)]

    def below(self, path: str) -> list[MountEntry]:
        return [entry for entry in self.at_or_below(path) if entry.source != path]

    def source_of(self, nameservice: str, path: str) -> str | None:
        """Return the router's path of a path of a nameservice, by the longest destination that
        covers it; None if it is mounted nowhere."""
        best: tuple[int, str] | None = None
        for entry in self.entries.values():
            for destination in entry.destinations:
                root = normalised(destination.path)
                if destination.nameservice != nameservice or not is_at_or_below(path, root):
                    continue
                rest = "" if path == root else path[len(root.rstrip("/")) :]
                source = joined(entry.source, rest)
                covering = self.entry_of(source)
                if covering is not entry:
                    continue  # another entry hides it
                if best is None or len(root) > best[0]:
                    best = (len(root), source)
        if best is not None:
            return best[1]
        is_default = nameservice == self.default_nameservice and self.entry_of(path) is None
        return path if is_default else None

    def nameservices(self) -> set[str]:
        """All that entries lead to, and the default one."""
        named = {d.nameservice for entry in self.entries.values() for d in entry.destinations}
        return named | ({self.default_nameservice} - {""})


def _same_path(path: str, locations: tuple[Location, ...]) -> tuple[Location, ...]:
    """The same path in the nameservices of the locations, each once."""
    names = dict.fromkeys(location.nameservice for location in locations)
    return tuple(Location(name, path, "/", "/", nth) for nth, name in enumerate(names))
