"""The driver of a copy dies at each of its steps; the next run makes good.

A step is a call of the driver's that changes a filesystem. From the one at which it dies
on none does anything, the ones in `finally` included, as with `kill -9`. (Executors that
die, and drivers that are really killed, are in `test_distcp_kills`.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah.copy.common import filesystems
from howdah.copy.common.staging import WORK_PREFIX, is_staging
from howdah.copy.locks.tree_lock import is_lock, places_of
from howdah.fs.hdfs.filesystem import HdfsFileSystem

pytestmark = pytest.mark.timeout(600)

BLOCK = 1 << 20
TREE = {"a": b"x" * (2 * BLOCK + 5), "d/b": b"y" * 300, "e/f/empty": b""}
CHANGES = ("create", "append", "mkdirs", "mkdir", "rename", "delete", "concat", "set_xattr")
ATTRIBUTES = ("set_times", "set_permission", "set_owner", "set_replication", "set_acl")
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {"update": True}),
    "atomic": ({"atomic": True}, {"atomic": True}),
    "parts": ({"blocks_per_chunk": 1}, {"blocks_per_chunk": 1, "update": True}),
    "mirror": ({"update": True, "delete": True}, {"update": True, "delete": True}),
}


class Died(BaseException):
    """The end of the driver."""


def run_until(bench: Any, step: int, run: Callable[[], object]) -> str | None:
    """Run, and die at a step; the call that was not made, None if there are fewer."""
    calls: list[str] = []

    def dying(name: str) -> Any:
        original = getattr(HdfsFileSystem, name)

        def call(self: Any, *arguments: Any, **named: Any) -> Any:
            calls.append(name)
            if len(calls) >= step:
                raise Died(name)
            return original(self, *arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patched:
        for name in (*CHANGES, *ATTRIBUTES):
            patched.setattr(HdfsFileSystem, name, dying(name))
        try:
            run()
        except Died:
            pass
        else:
            return None
    # Its leases die with it, and whoever comes next is another client.
    filesystems._open.clear()
    for place in places_of(bench.path("dst")):
        if bench.fs.exists(place):
            assert bench.fs.recover_lease(place)
    return calls[step - 1]


def files(tree: dict[str, Any]) -> dict[str, bytes]:
    """Of a tree, without what is staged."""
    return {
        name: content
        for name, content in tree.items()
        if content is not None and ".distcp.tmp." not in name
    }


def debris(bench: Any) -> list[str]:
    found = []
    for _, directories, some in bench.fs.walk(bench.path("")):
        for status in (*directories, *some):
            if is_staging(status.name) or is_lock(status.name) or WORK_PREFIX in status.name:
                found.append(status.path)
    return found


def make(bench: Any) -> None:
    for name, content in TREE.items():
        with bench.fs.create(bench.path(f"src/{name}"), overwrite=True, block_size=BLOCK) as out:
            out.write(content)


def die_and_go_on(bench: Any, how: str, step: int) -> str | None:
    """One run that dies and one that makes good; the call at which the first died."""
    first, second = OPTIONS[how]
    bench.fs.delete(bench.path("dst"), recursive=True)
    if how == "mirror":
        bench.make("dst", {"a": b"old", "gone": b"1"})
    died_at = run_until(bench, step, lambda: bench.copy("src", "dst", **first))
    if died_at is None:
        return None
    is_there = bench.fs.exists(bench.path("dst"))
    if how == "atomic":
        assert not is_there or files(bench.tree("dst")) == TREE
    elif is_there:
        # Nothing is half.
        whole = {**TREE, **({"a": None, "gone": None} if how == "mirror" else {})}
        for name, content in files(bench.tree("dst")).items():
            assert content in (whole[name], TREE.get(name), b"old", b"1")
    if not (how == "atomic" and is_there):
        bench.copy("src", "dst", **second)
    elif debris(bench):
        # It has its name, and what is left is what every other run removes.
        bench.fs.delete(bench.path("dst"), recursive=True)
        bench.copy("src", "dst", **second)
    assert files(bench.tree("dst")) == TREE
    assert debris(bench) == []
    return died_at


@pytest.mark.torture
@pytest.mark.parametrize("how", OPTIONS)
def test_copy_that_dies_at_any_step_is_made_good(bench: Any, how: str) -> None:
    make(bench)
    step = 1
    while die_and_go_on(bench, how, step) is not None:
        step += 1
    assert step > 6


def test_copy_that_dies_before_it_is_committed_is_not_there(bench: Any) -> None:
    make(bench)

    delete = HdfsFileSystem.delete
    dead: list[str] = []

    def rename(self: Any, *paths: Any, **named: Any) -> Any:
        dead.append(str(paths))
        raise Died

    def dying_delete(self: Any, *arguments: Any, **named: Any) -> Any:
        if dead:
            raise Died
        return delete(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HdfsFileSystem, "rename", rename)
        patched.setattr(HdfsFileSystem, "delete", dying_delete)
        with pytest.raises(Died):
            bench.copy("src", "dst", atomic=True)
    assert not bench.fs.exists(bench.path("dst"))
    assert len(debris(bench)) >= 2
    filesystems._open.clear()
    bench.fs.recover_lease(places_of(bench.path("dst"))[0])
    bench.copy("src", "dst", atomic=True)
    assert files(bench.tree("dst")) == TREE
    assert debris(bench) == []
