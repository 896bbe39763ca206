"""Ways to directories: whatever moves or goes, a path leads where a walk from the root does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.formats.edits import edits
from howdah.namenode.state.inodes.inodes import Directory, INode
from howdah.namenode.state.tree import path_cache
from howdah.namenode.state.tree.namespace import Namespace

OWNER = edits.Permission("alice", "users", 0o755)
NAMES = ("a", "b")
PATHS = [
    *(f"/{x}" for x in NAMES),
    *(f"/{x}/{y}" for x in NAMES for y in NAMES),
    *(f"/{x}/{y}/{z}" for x in NAMES for y in NAMES for z in NAMES),
]


def walked(namespace: Namespace, path: str) -> INode | None:
    """The inode at a path, without anything that was kept."""
    node: INode | None = namespace.root
    for name in path.split("/"):
        if name:
            node = node.child(name) if isinstance(node, Directory) else None
    return node


def mkdir(namespace: Namespace, path: str) -> None:
    namespace.apply(edits.MkdirOp(namespace.last_inode_id + 1, path, 1, OWNER))


def touch(namespace: Namespace, path: str) -> None:
    add = edits.AddOp(namespace.last_inode_id + 1, path, 1, 1, 1, 1 << 20, OWNER, "c", "m")
    namespace.apply(add)
    namespace.apply(edits.CloseOp(0, path, 1, 1, 1, 1 << 20, OWNER, ()))


def may_be_made(namespace: Namespace, path: str) -> bool:
    parent = walked(namespace, path.rpartition("/")[0])
    return isinstance(parent, Directory) and walked(namespace, path) is None


def may_be_moved(namespace: Namespace, path: str, other: str) -> bool:
    if walked(namespace, path) is None or other.startswith(path + "/"):
        return False
    return may_be_made(namespace, other)


STEPS = st.one_of(
    st.tuples(st.just("mkdir"), st.sampled_from(PATHS), st.just("")),
    st.tuples(st.just("touch"), st.sampled_from(PATHS), st.just("")),
    st.tuples(st.just("delete"), st.sampled_from(PATHS), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
)


@given(st.lists(STEPS, max_size=25))
@settings(max_examples=200)
def test_a_path_leads_where_a_walk_from_the_root_does(steps: list[tuple[str, str, str]]) -> None:
    namespace = Namespace()
    for what, path, other in steps:
        if what == "mkdir" and may_be_made(namespace, path):
            mkdir(namespace, path)
        elif what == "touch" and may_be_made(namespace, path):
            touch(namespace, path)
        elif what == "delete" and walked(namespace, path) is not None:
            namespace.apply(edits.DeleteOp(path, 2))
        elif what == "rename" and may_be_moved(namespace, path, other):
            namespace.apply(edits.RenameOldOp(path, other, 3))
        for one in PATHS:
            assert namespace.find(one) == walked(namespace, one)
            way = namespace.way_to(one)
            found = walked(namespace, one)
            if isinstance(found, Directory):
                assert way is not None
                assert way.end is found
                assert way.trail == namespace.trail(way.components)
            else:
                assert way is None


@pytest.mark.parametrize("path", ["/a/f", "//a//f", "/a/f/", "a/f", "/a/f//"])
def test_a_path_may_be_written_in_any_way(path: str) -> None:
    namespace = Namespace()
    mkdir(namespace, "/a")
    touch(namespace, "/a/f")
    found = namespace.find(path)
    assert found is not None
    assert found.path == "/a/f"


@pytest.mark.parametrize("path", ["/", "", "//"])
def test_the_root_has_several_names(path: str) -> None:
    namespace = Namespace()
    assert namespace.find(path) is namespace.root


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_cache, "MAX_WAYS", 4)
    namespace = Namespace()
    kept = path_cache.Ways(namespace.root, namespace.inodes.files)
    for number in range(20):
        mkdir(namespace, f"/{number}")
        way = kept.to(f"/{number}")
        assert way is not None
        assert way.components == [str(number)]
        assert len(kept) <= 4


def test_a_way_of_many_levels_is_found_and_not_kept() -> None:
    namespace = Namespace()
    kept = path_cache.Ways(namespace.root, namespace.inodes.files)
    path = ""
    for _ in range(path_cache.MAX_LEVELS + 1):
        path += "/d"
        mkdir(namespace, path)
    way = kept.to(path)
    assert way is not None
    assert way.end.path == path
    assert len(kept) == 0
