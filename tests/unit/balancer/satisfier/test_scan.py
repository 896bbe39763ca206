"""What a satisfier finds below a mark."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.balancer.satisfier.scan import Page, Walk, path_of
from howdah.proto import types_pb2

pytestmark = pytest.mark.req("FS-185")

Status = types_pb2.HdfsFileStatusProto
Tree = dict[str, "Tree | int"]
"""Names to directories, or to the ids of files."""


class Namenode:
    """Lists a tree in pages of two. Directories have ids from 100 on."""

    def __init__(self, tree: Tree | int) -> None:
        self.by_id: dict[int, Tree | int] = {}
        self.ids: dict[int, int] = {}
        self.pages = 0
        self.fails = False
        self.top = self._add(tree)

    def _add(self, node: Tree | int) -> int:
        if isinstance(node, int):
            self.by_id[node] = node
            return node
        inode_id = self.ids[id(node)] = 100 + len(self.ids)
        self.by_id[inode_id] = node
        for child in node.values():
            self._add(child)
        return inode_id

    def list(self, path: str, after: bytes) -> Page | None:
        self.pages += 1
        if self.fails:
            raise errors.Unreachable("the namenode is away")
        node = self.by_id.get(int(path.rpartition("/")[2]))
        if node is None:
            return None
        if isinstance(node, int):
            return Page(partialListing=[_status(b"", node, None)], remainingEntries=0)
        rest = sorted(name for name in node if name.encode() > after)
        return Page(
            partialListing=[
                _status(name.encode(), self.ids.get(id(child), 0), child)
                for name, child in ((name, node[name]) for name in rest[:2])
            ],
            remainingEntries=len(rest[2:]),
        )


def _status(name: bytes, inode_id: int, child: Tree | int | None) -> types_pb2.HdfsFileStatusProto:
    is_file = child is None or isinstance(child, int)
    return Status(
        fileType=Status.IS_FILE if is_file else Status.IS_DIR,
        path=name,
        length=0,
        permission=types_pb2.FsPermissionProto(perm=0),
        owner="",
        group="",
        modification_time=0,
        access_time=0,
        fileId=child if isinstance(child, int) else inode_id,
    )


def walked(namenode: Namenode, most: int = 10) -> list[tuple[int, str]]:
    walk = Walk(namenode.top, namenode.list)
    found: list[tuple[int, str]] = []
    while not walk.is_over:
        part = walk.more(most)
        assert len(part) <= most
        found += part
    return found


def test_a_file_that_is_marked_is_found_itself() -> None:
    assert walked(Namenode(7)) == [(7, "/.reserved/.inodes/7")]


def test_all_files_below_a_directory_are_found_with_their_names() -> None:
    tree: Tree = {"a": 1, "d": {"b": 2, "e": {"c": 3}, "f": 4, "g": 5}, "h": 6, "i": {}}
    found = walked(Namenode(tree), most=2)
    top = "/.reserved/.inodes/100"
    assert sorted(found) == [
        (1, f"{top}/a"),
        (2, f"{top}/d/b"),
        (3, f"{top}/d/e/c"),
        (4, f"{top}/d/f"),
        (5, f"{top}/d/g"),
        (6, f"{top}/h"),
    ]


def test_one_page_is_asked_for_at_a_time() -> None:
    namenode = Namenode({str(number): number for number in range(1, 8)})
    walk = Walk(namenode.top, namenode.list)
    assert len(walk.more(1000)) == 2
    assert namenode.pages == 1
    assert len(walk.more(1)) == 1
    assert len(walk.more(1)) == 1
    assert namenode.pages == 2


def test_what_cannot_be_listed_is_listed_later() -> None:
    namenode = Namenode({"a": 1, "b": 2, "c": 3})
    walk = Walk(namenode.top, namenode.list)
    found = walk.more(10)
    namenode.fails = True
    for _ in range(2):
        with pytest.raises(errors.Unreachable):
            walk.more(10)
    namenode.fails = False
    while not walk.is_over:
        found += walk.more(10)
    assert [file for file, _ in found] == [1, 2, 3]


def test_a_directory_that_is_gone_meanwhile_is_left_out() -> None:
    below: Tree = {"x": 8}
    namenode = Namenode({"d": below, "e": 9})
    walk = Walk(namenode.top, namenode.list)
    assert walk.more(10) == []
    del namenode.by_id[namenode.ids[id(below)]]
    found = []
    while not walk.is_over:
        found += walk.more(10)
    assert [file for file, _ in found] == [9]


def test_a_mark_whose_inode_is_gone_has_no_files() -> None:
    walk = Walk(42, lambda path, after: None)
    assert path_of(42) == "/.reserved/.inodes/42"
    assert walk.more(10) == []
    assert walk.is_over
