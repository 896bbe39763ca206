"""The tree of mount points, and what a path leads to (pure).

Mirrors org.apache.hadoop.fs.viewfs.InodeTree of Hadoop 3.5. Rules:

1. A link is a name in the tree; the directories above it exist by it alone and are
   internal: nobody can change them.
2. A path belongs to the longest link that it lies under (nested mount points; they can
   be forbidden). Links by regular expression are tried before all others.
3. What no link covers belongs to the fallback, if there is one, under its whole path.
4. Without a fallback it does not exist.
5. A merge-slash table is one link at the root, and has no other.
6. An operation that makes a name (create, mkdirs, rename) resolves the directory above
   it: the name of a mount point is never made, or renamed, in a target.

Unlike Hadoop, `/a/b/x` below a link `/a` is `b/x` of its target also where another link
`/a/b/c` makes `/a/b` a directory of the tree; Hadoop 3.5 leaves the `b` out there, so that
`/a/x` and `/a/b/x` are the same file to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from howdah import errors
from howdah.fs import paths
from howdah.fs.paths import Location


@dataclass(frozen=True, slots=True)
class Nfly:
    """How a link of several targets is written and read."""

    min_replication: int = 2
    read_most_recent: bool = False
    repair_on_read: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A mount point: its path in the tree, what it leads to, and the key that says so."""

    mount: str
    targets: tuple[Location, ...]
    key: str
    nfly: Nfly | None = None

    @property
    def target(self) -> Location:
        """The one target, or the first of several."""
        return self.targets[0]

    @property
    def target_text(self) -> str:
        """The targets as Hadoop shows them in the status of a link."""
        return ",".join(map(str, self.targets))

    def behind(self, remaining: str) -> str:
        """The path in the target of what lies `remaining` below the mount point."""
        return join_below(self.target.path, remaining)


def join_below(directory: str, remaining: str) -> str:
    """`remaining`, which begins with a slash, below a directory; `/` is that directory."""
    if remaining == paths.SEPARATOR:
        return directory
    return remaining if directory == paths.SEPARATOR else directory + remaining


@dataclass(slots=True)
class Directory:
    """A directory of the tree; one that is a link as well has links below it."""

    path: str
    children: dict[str, Directory | Link] = field(default_factory=dict)
    link: Link | None = None


class PatternLink(Protocol):
    """A link by regular expression (`howdah.fs.viewfs.patterns`)."""

    @property
    def key(self) -> str:
        """The key that makes it."""
        ...

    def match(self, path: str) -> tuple[str, Link] | None:
        """The part of the path that the expression covers and the link that it makes."""
        ...


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a path leads to: `remaining` below a link, or a directory of the tree.

    `directory` is set and `link` is not where nothing behind a mount point is meant.
    `is_mount_link` tells a link of the table from the fallback.
    """

    path: str
    remaining: str
    link: Link | None
    directory: Directory | None
    is_mount_link: bool = False

    @property
    def is_internal(self) -> bool:
        return self.link is None

    @property
    def is_mount_point(self) -> bool:
        """Whether the path is the mount point itself."""
        return self.is_mount_link and self.remaining == paths.SEPARATOR

    @property
    def behind(self) -> str:
        """The path within the target."""
        assert self.link is not None
        return self.link.behind(self.remaining)


class MountTable:
    """Holds one table: a tree of links, links by expression, a fallback, a home directory."""

    def __init__(
        self,
        name: str,
        *,
        fallback: Link | None = None,
        merge_slash: Link | None = None,
        patterns: tuple[PatternLink, ...] = (),
        home_prefix: str = "/user",
        nested: bool = True,
    ) -> None:
        self.name = name
        self.root = Directory(paths.SEPARATOR)
        self.fallback = fallback
        self.merge_slash = merge_slash
        self.patterns = patterns
        self.home_prefix = home_prefix
        self.nested = nested
        self.links: dict[str, Link] = {}

    def add(self, link: Link) -> None:
        """Put a link into the tree, those above it first. Raises PathExists for one that is in
        the way of another; the message has both keys."""
        *above, last = link.mount.strip(paths.SEPARATOR).split(paths.SEPARATOR)
        here = self.root
        for name in above:
            here = self._directory(here, name, link)
        there = here.children.get(last)
        if there is not None:
            other = there.key if isinstance(there, Link) else _first_below(there).key
            raise errors.PathExists(
                f"Path {link.mount} already exists as dir; cannot create link here: "
                f"{link.key} is in the way of {other}"
            )
        here.children[last] = link
        self.links[link.mount] = link

    def _directory(self, here: Directory, name: str, link: Link) -> Directory:
        there = here.children.get(name)
        if isinstance(there, Directory):
            return there
        if there is not None and not self.nested:
            raise errors.PathExists(
                f"Path {there.mount} already exists as link: {link.key} lies below "
                f"{there.key}, and fs.viewfs.mounttable.nested.mount.point.supported is false"
            )
        made = Directory(paths.join(here.path, name), link=there)
        here.children[name] = made
        return made

    def resolve(self, path: str, *, last: bool = True) -> Resolved:
        """What a normalised path leads to; of the directory above it unless `last`.

        Raises PathNotFound for what neither a link nor a fallback covers.
        """
        if self.merge_slash is not None:
            # The root is the target's; only its name is nobody's to remove.
            return Resolved(path, path, self.merge_slash, None, is_mount_link=True)
        if path == paths.SEPARATOR:
            return Resolved(path, path, None, self.root)
        by_pattern = self._by_pattern(path, last=last)
        if by_pattern is not None:
            return by_pattern
        names = path[1:].split(paths.SEPARATOR)
        here = self.root
        covering: tuple[Link, int] | None = None  # the lowest link so far, and its depth
        for depth, name in enumerate(names if last else names[:-1], 1):
            there = here.children.get(name)
            if there is None:
                if covering is not None:
                    break
                return self._uncovered(path, names, depth)
            if isinstance(there, Link):
                covering = there, depth
                break
            here = there
            if here.link is not None:
                covering = here.link, depth
        if covering is not None:
            link, depth = covering
            return Resolved(path, _joined(names[depth:]), link, None, is_mount_link=True)
        return Resolved(path, _joined([] if last else names[-1:]), None, here)

    def _by_pattern(self, path: str, *, last: bool) -> Resolved | None:
        text = path if last else path.rpartition(paths.SEPARATOR)[0]
        for pattern in self.patterns:
            match = pattern.match(text)
            if match is not None:
                covered, link = match
                remaining = path[len(covered) :]
                if not remaining.startswith(paths.SEPARATOR):
                    remaining = paths.SEPARATOR + remaining
                return Resolved(path, remaining, link, None, is_mount_link=True)
        return None

    def _uncovered(self, path: str, names: list[str], depth: int) -> Resolved:
        if self.fallback is not None:
            return Resolved(path, path, self.fallback, None)
        failed_at = _joined(names[:depth])
        raise errors.PathNotFound(f"File/Directory does not exist: {failed_at}").about(path)

    def all_links(self) -> Iterator[Link]:
        """Every link with fixed targets: of the tree, the fallback, the merge-slash one."""
        yield from self.links.values()
        for link in (self.fallback, self.merge_slash):
            if link is not None:
                yield link

    @property
    def is_empty(self) -> bool:
        """Whether it leads nowhere."""
        return not self.patterns and next(self.all_links(), None) is None


def child_link(child: Directory | Link) -> Link | None:
    """The link that an entry of a directory is, if it is one."""
    return child if isinstance(child, Link) else child.link


def sorted_children(directory: Directory) -> Mapping[str, Directory | Link]:
    """The entries of a directory by name."""
    return dict(sorted(directory.children.items()))


def _joined(names: list[str]) -> str:
    return paths.SEPARATOR + paths.SEPARATOR.join(names)


def _first_below(directory: Directory) -> Link:
    """Some link that a directory of the tree is there for."""
    if directory.link is not None:
        return directory.link
    below = next(iter(directory.children.values()))
    return below if isinstance(below, Link) else _first_below(below)
