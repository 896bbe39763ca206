"""Ways from the root to the directories that paths led to lately (pure).

Every call walks along a path, and so do the edits that it makes: a file's creation walked to
its directory four times. Most paths of a moment share few directories. So the way to a
directory is kept by its path, for those that ask and for `apply` alike.

A way is true until a directory on it goes elsewhere. Each directory that is taken out of
another counts in `FileTable.directories_taken`, whoever takes it: that ends all ways that are
known. What is only entered, or changed, breaks none. That a directory is not there is not kept.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from howdah.namenode.state.inodes.directory import Directory, INode
from howdah.namenode.state.inodes.files import FileTable

MAX_WAYS: Final = 4096
MAX_LEVELS: Final = 64
"""With these bounds the ways take ten megabytes at most; few namespaces are as deep."""


class Way(NamedTuple):
    """The names of directories, and the root and these directories: one more."""

    components: list[str]
    trail: list[INode | None]
    end: Directory


class Ways:
    """Keeps the ways to directories of one tree."""

    __slots__ = ("_as_of", "_files", "_known", "_root")

    def __init__(self, root: Directory, files: FileTable) -> None:
        self._root = root
        self._files = files
        self._as_of = files.directories_taken
        self._known: dict[str, Way] = {}

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._known)

    def known(self) -> dict[str, Way]:
        """Those that are kept and true, by path. Nobody changes what is returned."""
        if self._as_of != self._files.directories_taken:
            self._as_of = self._files.directories_taken
            self._known.clear()
        return self._known

    def to(self, path: str) -> Way | None:
        """Return the way to the directory at `path`, which may be written in any way; None if there
        is none. Nobody changes what is returned."""
        way = self.known().get(path)
        return self._walk(path) if way is None else way

    def _walk(self, path: str) -> Way | None:
        node = self._root
        components = [name for name in path.split("/") if name]
        trail: list[INode | None] = [node]
        for name in components:
            entry = node.entries.get(name)
            if not isinstance(entry, Directory):
                return None
            node = entry
            trail.append(node)
        way = Way(components, trail, node)
        if len(components) <= MAX_LEVELS:
            if len(self._known) >= MAX_WAYS:
                self._known.clear()
            self._known[path] = way
        return way
