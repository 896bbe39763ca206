"""The files and directories that the kernel knows, by number (pure).

The kernel names what it has looked up by a number of ours, until it forgets as many lookups as it
was answered. Where a node is follows from its name and its parent, so that a renamed directory
takes all along that is below. Rules:

1. A node is one file. If another one has taken its name (by the file's id, where the filesystem has
   ids, or by its kind), the name gets another node, and the old one has no place any more.
2. A node without a place (deleted, replaced) stays known while the kernel has not forgotten it.
3. A node stays known, too, while one below it is.
4. Numbers are never used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from howdah.mount.protocol.operations import ROOT_ID


@dataclass(slots=True, eq=False)
class Node:
    """One file or directory. `parent` is None for the root, and for what has no place."""

    node_id: int
    name: str
    parent: Node | None
    is_directory: bool
    file_id: int
    lookups: int = 0
    children: dict[str, Node] = field(default_factory=dict)
    is_public: bool = True
    """Whether every user may search the directory and all above it."""
    changes: int = 0
    """How often the file, or the directory and what is in it, was changed by this mount."""
    size: int = 0
    """As the kernel was told last."""
    cached_version: tuple[int, int] | None = None
    """Length and time of what the kernel may have in its cache; None: that is not known."""


class Nodes:
    """Not thread-safe."""

    def __init__(self, root_path: str) -> None:
        """`root_path`: the directory that is mounted, absolute."""
        self._root_path: Final = root_path.rstrip("/")
        self.root: Final = Node(ROOT_ID, "", None, is_directory=True, file_id=0, lookups=1)
        self._nodes: Final[dict[int, Node]] = {ROOT_ID: self.root}
        self._next_id = ROOT_ID + 1

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, node_id: int) -> Node | None:
        return self._nodes.get(node_id)

    def path_of(self, node: Node) -> str | None:
        """Its absolute path in the filesystem; None if it has no place."""
        names: list[str] = []
        at = node
        while at is not self.root:
            names.append(at.name)
            if at.parent is None:
                return None
            at = at.parent
        if not names:
            return self._root_path or "/"
        return "/".join((self._root_path, *reversed(names)))

    def looked_up(self, parent: Node, name: str, *, is_directory: bool, file_id: int) -> Node:
        """The node of what was found at a name; the kernel is about to hear of it once more."""
        node = parent.children.get(name)
        if node is not None and not is_same(node, is_directory, file_id):
            self._unplace(node)
            node = None
        if node is None:
            node = Node(self._next_id, name, parent, is_directory, file_id)
            self._next_id += 1
            self._nodes[node.node_id] = node
            parent.children[name] = node
        node.file_id = node.file_id or file_id
        node.lookups += 1
        return node

    def has_another(self, parent: Node, name: str, *, is_directory: bool, file_id: int) -> bool:
        """Whether a name is known to belong to another file."""
        node = parent.children.get(name)
        return node is not None and not is_same(node, is_directory, file_id)

    def child(self, parent: Node, name: str) -> Node | None:
        return parent.children.get(name)

    def forget(self, node_id: int, lookups: int) -> None:
        """Take lookups back. Numbers that are not known, and counts that are too large, are
        ignored."""
        node = self._nodes.get(node_id)
        if node is not None and node is not self.root:
            node.lookups = max(node.lookups - lookups, 0)
            self._drop_unknown(node)

    def removed(self, parent: Node, name: str) -> Node | None:
        """What had the name has no place any more."""
        node = parent.children.get(name)
        if node is not None:
            self._unplace(node)
        return node

    def renamed(self, parent: Node, name: str, new_parent: Node, new_name: str) -> Node | None:
        """Give what has a name another one; the node that had that one before, if any."""
        node = parent.children.get(name)
        replaced = new_parent.children.get(new_name)
        if replaced is node:
            return None
        if replaced is not None:
            self._unplace(replaced)
        if node is not None:
            del parent.children[name]
            node.name, node.parent = new_name, new_parent
            new_parent.children[new_name] = node
            self._drop_unknown(parent)
        return replaced

    def _unplace(self, node: Node) -> None:
        parent = node.parent
        if parent is None:
            return
        del parent.children[node.name]
        node.parent = None
        self._drop_unknown(node)
        self._drop_unknown(parent)

    def _drop_unknown(self, node: Node | None) -> None:
        """Drop a node that the kernel does not know, and those above that were kept for it."""
        while node is not None and node is not self.root and not node.lookups and not node.children:
            self._nodes.pop(node.node_id, None)
            parent = node.parent
            if parent is not None and parent.children.get(node.name) is node:
                del parent.children[node.name]
            node.parent = None
            node = parent

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())


def is_same(node: Node, is_directory: bool, file_id: int) -> bool:
    """Whether what was found is what a node is."""
    if node.is_directory != is_directory:
        return False
    return not node.file_id or not file_id or node.file_id == file_id
