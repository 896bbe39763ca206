"""Walking a tree with several directories in one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.fs.hdfs.status import file_status
from howdah.fs.hdfs.walk import BatchedWalk
from howdah.fs.status import FileStatus
from howdah.proto import types_pb2

TREE: dict[str, list[str]] = {
    "/t": ["a/", "b/", "c/", "f"],
    "/t/a": ["x/", "y/"],
    "/t/a/x": [],
    "/t/a/y": ["g"],
    "/t/b": ["1", "2", "3", "4"],
    "/t/c": ["h"],
}


def proto(name: str) -> types_pb2.HdfsFileStatusProto:
    kinds = types_pb2.HdfsFileStatusProto
    return types_pb2.HdfsFileStatusProto(
        fileType=kinds.IS_DIR if name.endswith("/") else kinds.IS_FILE,
        path=name.rstrip("/").encode(),
        length=0,
        permission=types_pb2.FsPermissionProto(perm=0o755),
        owner="o",
        group="g",
        modification_time=0,
        access_time=0,
    )


class Namenode:
    """Lists a tree; `page` entries an answer."""

    def __init__(
        self,
        page: int = 100,
        missing: str = "",
        refuses: Any = None,
        tree: dict[str, list[str]] = TREE,
    ) -> None:
        self.tree = tree
        self.page = page
        self.missing = missing
        self.refuses = refuses
        self.asked: list[list[str]] = []

    def call(self, method: str, request: Any, response_type: Any) -> Any:
        self.asked.append(list(request.paths))
        if self.refuses is not None:
            raise self.refuses
        answer = response_type(hasMore=False, startAfter=b"")
        left = self.page
        for index, path in enumerate(request.paths):
            if not left:
                answer.hasMore = True
                return answer
            part = answer.listings.add(parentIdx=index)
            if path == self.missing:
                part.exception.className = "java.io.FileNotFoundException"
                continue
            names = self.tree[path]
            part.partialListing.extend(map(proto, names[:left]))
            if len(names) > left:
                answer.hasMore = True
                return answer
            left -= len(names)
        return answer


class Lists:
    """One directory at a time."""

    def __init__(self, missing: str = "", tree: dict[str, list[str]] = TREE) -> None:
        self.tree = tree
        self.listed: list[str] = []
        self.missing = missing

    def __call__(self, path: str) -> Iterator[FileStatus]:
        self.listed.append(path)
        if path == self.missing:
            raise errors.PathNotFound(path)
        return iter([file_status(proto(n), f"{path}/{n.rstrip('/')}") for n in self.tree[path]])


def batched(namenode: Namenode, lists: Lists) -> BatchedWalk:
    return BatchedWalk(cast(NamenodeProxy, namenode), lists)


def walked(namenode: Namenode, lists: Lists) -> list[str]:
    walk = batched(namenode, lists)
    return [path for path, _, _ in walk.walk("/t")]


DEPTH_FIRST = ["/t", "/t/a", "/t/a/x", "/t/a/y", "/t/b", "/t/c"]


def test_siblings_are_listed_in_one_call() -> None:
    namenode, lists = Namenode(), Lists()
    assert walked(namenode, lists) == DEPTH_FIRST
    assert namenode.asked == [["/t/a", "/t/b", "/t/c"], ["/t/a/x", "/t/a/y"]]
    assert lists.listed == ["/t"]


def test_what_is_in_siblings_is_listed_with_what_is_here() -> None:
    tree = {"/t": ["a/", "b/"], "/t/a": ["x/"], "/t/b": ["y/"], "/t/a/x": [], "/t/b/y": []}
    namenode, lists = Namenode(tree=tree), Lists(tree=tree)
    assert walked(namenode, lists) == ["/t", "/t/a", "/t/a/x", "/t/b", "/t/b/y"]
    assert namenode.asked == [["/t/a", "/t/b"], ["/t/a/x", "/t/b/y"]]
    assert lists.listed == ["/t"]


def test_what_is_found_is_what_is_there() -> None:
    walk = batched(Namenode(), Lists())
    found = {path: [f.path for f in files] for path, _, files in walk.walk("/t")}
    assert found["/t/b"] == ["/t/b/1", "/t/b/2", "/t/b/3", "/t/b/4"]
    assert found["/t"] == ["/t/f"]


@pytest.mark.parametrize("page", [1, 2, 3, 4, 6])
def test_directories_that_end_a_page_are_listed_anew(page: int) -> None:
    namenode, lists = Namenode(page), Lists()
    walk = batched(namenode, lists)
    found = {path: len(dirs) + len(files) for path, dirs, files in walk.walk("/t")}
    assert found == {path: len(names) for path, names in TREE.items()}


def test_pruned_directories_are_not_walked() -> None:
    walk = batched(Namenode(), Lists())
    seen = []
    for path, directories, _ in walk.walk("/t"):
        seen.append(path)
        directories[:] = [d for d in directories if d.path != "/t/a"]
    assert seen == ["/t", "/t/b", "/t/c"]


def test_a_directory_that_is_gone_is_an_error_when_its_turn_comes() -> None:
    walk = batched(Namenode(missing="/t/b"), Lists("/t/b"))
    found = walk.walk("/t")
    assert [next(found)[0] for _ in range(4)] == ["/t", "/t/a", "/t/a/x", "/t/a/y"]
    with pytest.raises(errors.PathNotFound):
        next(found)


@pytest.mark.parametrize(
    "refusal",
    [
        errors.RpcNoSuchMethod("Unknown method getBatchedListing"),
        errors.UnsupportedOperation("no"),
        errors.IllegalArgument("Too many source paths"),
    ],
)
def test_a_namenode_without_the_call_is_asked_once(refusal: errors.HowdahError) -> None:
    namenode, lists = Namenode(refuses=refusal), Lists()
    assert walked(namenode, lists) == DEPTH_FIRST
    assert len(namenode.asked) == 1
    assert lists.listed == DEPTH_FIRST


def test_an_only_child_is_listed_by_itself() -> None:
    namenode, lists = Namenode(), Lists()
    walk = batched(namenode, lists)
    assert walk.list_together(["/t"]) == {}
    assert namenode.asked == []
