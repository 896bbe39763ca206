"""The tree of an in-memory filesystem: directories, files, and who may do what with them.

What HDFS's namenode does with paths, as far as a test wants it: POSIX modes on every
step, groups inherited from the parent, sticky directories, modification times that
follow changes. The user who opened the filesystem first is its superuser; everybody
is in one group, which has their name.

Nothing here locks, and nothing asks for the time: `howdah.fs.memory.filesystem` does both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah import errors
from howdah.fs import paths
from howdah.fs.status import permission_string

READ, WRITE, EXECUTE = 4, 2, 1
SUPERGROUP = "supergroup"
_STICKY = 0o1000
_PARENT_BITS = 0o300
"""What the owner of a directory needs to go on making the one below it."""


@dataclass(slots=True, eq=False)
class Node:
    """What directories and files have in common; `path` is asked of the tree."""

    owner: str
    group: str
    mode: int
    file_id: int
    mtime_ms: int
    atime_ms: int = 0


@dataclass(slots=True, eq=False)
class Directory(Node):
    children: dict[str, Node] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class File(Node):
    """`content` is what readers find; `writer` is the stream that may change it."""

    replication: int = 1
    block_size: int = 0
    content: bytearray = field(default_factory=bytearray)
    writer: object | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A path as far as it exists: the directories above, and what is at its end."""

    path: str
    above: tuple[Directory, ...]
    parent: Directory | None
    node: Node | None

    @property
    def name(self) -> str:
        return paths.name_of(self.path)


class Tree:
    """Holds all files and directories of one filesystem."""

    def __init__(self, superuser: str, now_ms: int) -> None:
        self.superuser = superuser
        self._last_id = 0
        self.root = Directory(superuser, SUPERGROUP, 0o755, self._next_id(), now_ms)

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    # --- finding ----------------------------------------------------------------------

    def resolve(self, path: str, user: str) -> Place:
        """What is on the way to a path, which may all be looked at by `user`.

        Raises `ParentNotDirectory` if a file is on the way.
        """
        if path == paths.SEPARATOR:
            return Place(path, (), None, self.root)
        above: list[Directory] = []
        node: Node | None = self.root
        walked = ""
        for name in path[1:].split(paths.SEPARATOR):
            if not isinstance(node, Directory):
                if node is None:
                    return Place(path, tuple(above), None, None)
                raise errors.ParentNotDirectory(f"{walked} (is not a directory)")
            self.check(user, node, EXECUTE, walked or paths.SEPARATOR)
            above.append(node)
            node = node.children.get(name)
            walked += paths.SEPARATOR + name
        return Place(path, tuple(above), above[-1], node)

    def existing(self, path: str, user: str) -> Node:
        """What is at a path; raises `PathNotFound`, also for what is below a file."""
        try:
            node = self.resolve(path, user).node
        except errors.ParentNotDirectory as error:
            raise errors.PathNotFound(f"File does not exist: {path}: {error}") from error
        if node is None:
            raise errors.PathNotFound(f"File does not exist: {path}")
        return node

    def file(self, path: str, user: str) -> File:
        """The file at a path; raises `PathNotFound` or `PathIsDirectory`."""
        node = self.existing(path, user)
        if not isinstance(node, File):
            raise errors.PathIsDirectory(f"Path is not a file: {path}")
        return node

    def path_of_id(self, file_id: int) -> str | None:
        """Return the current path of the file or directory with this number."""
        waiting: list[tuple[str, Node]] = [(paths.SEPARATOR, self.root)]
        while waiting:
            path, node = waiting.pop()
            if node.file_id == file_id:
                return path
            if isinstance(node, Directory):
                waiting += [
                    (paths.join(path, name), child) for name, child in node.children.items()
                ]
        return None

    # --- changing ---------------------------------------------------------------------

    def make_directories(
        self, path: str, user: str, *, mode: int, mode_above: int, now_ms: int
    ) -> Directory:
        """The directory at a path, made if need be with those above it.

        Raises `PathExists` for a file at the path, `ParentNotDirectory` for one above it.
        """
        place = self.resolve(path, user)
        if isinstance(place.node, Directory):
            return place.node
        if place.node is not None:
            raise errors.PathExists(f"Path is not a directory: {path}")
        names = path[1:].split(paths.SEPARATOR)
        parent = place.above[-1]
        self.check(user, parent, WRITE, path)
        for depth in range(len(place.above) - 1, len(names)):
            last = depth == len(names) - 1
            made = Directory(
                user,
                parent.group,
                mode if last else mode_above | _PARENT_BITS,
                self._next_id(),
                now_ms,
            )
            parent.children[names[depth]] = made
            parent.mtime_ms = now_ms
            parent = made
        return parent

    def add_file(
        self,
        parent: Directory,
        name: str,
        user: str,
        *,
        mode: int,
        replication: int,
        block_size: int,
        now_ms: int,
    ) -> File:
        """A new file, instead of the one that has this name."""
        file = File(
            user,
            parent.group,
            mode,
            self._next_id(),
            now_ms,
            now_ms,
            replication=replication,
            block_size=block_size,
        )
        parent.children[name] = file
        parent.mtime_ms = now_ms
        return file

    def remove(self, place: Place, now_ms: int) -> None:
        """Take what is at a place out of the tree; its open streams find that out."""
        assert place.parent is not None
        assert place.node is not None
        del place.parent.children[place.name]
        place.parent.mtime_ms = now_ms
        waiting = [place.node]
        while waiting:
            node = waiting.pop()
            if isinstance(node, File):
                node.writer = None
            elif isinstance(node, Directory):
                waiting += node.children.values()

    def move(self, source: Place, target: Place, now_ms: int) -> None:
        """Give what is at `source` the place `target`, whose content is removed."""
        assert source.parent is not None
        assert source.node is not None
        assert target.parent is not None
        if target.node is not None:
            self.remove(target, now_ms)
        del source.parent.children[source.name]
        target.parent.children[target.name] = source.node
        source.parent.mtime_ms = target.parent.mtime_ms = now_ms

    # --- permissions ------------------------------------------------------------------

    def check(self, user: str, node: Node, access: int, path: str) -> None:
        """Raise `AccessDenied` unless the user has all of `access` (rwx bits)."""
        if user == self.superuser:
            return
        shift = 6 if user == node.owner else 3 if user == node.group else 0
        if node.mode >> shift & access != access:
            raise errors.AccessDenied(
                f"Permission denied: user={user}, access={access:o}, "
                f'inode="{path}":{node.owner}:{node.group}:{_mode_string(node)}'
            )

    def check_owner(self, user: str, node: Node, path: str) -> None:
        if user not in (self.superuser, node.owner):
            raise errors.AccessDenied(
                f"Permission denied. user={user} is not the owner of inode={path}"
            )

    def check_removable(self, user: str, place: Place) -> None:
        """Raise `AccessDenied` unless the user may take the entry out of its directory."""
        assert place.parent is not None
        self.check(user, place.parent, WRITE, paths.parent_of(place.path) or paths.SEPARATOR)
        if (
            place.node is not None
            and place.parent.mode & _STICKY
            and user not in (self.superuser, place.parent.owner, place.node.owner)
        ):
            raise errors.AccessDenied(
                f"Permission denied by sticky bit: user={user}, "
                f'path="{place.path}":{place.node.owner}:{place.node.group}'
            )


def _mode_string(node: Node) -> str:
    return permission_string(node.mode, "d" if isinstance(node, Directory) else "-")
