"""One lock a target tree: who gets it, who is told what, and what is left of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.holders import Holder
from howdah.copy.locks.tree_lock import (
    LockLost,
    TreeLock,
    is_lock,
    locked,
    places_of,
    refuse_if_held,
)
from howdah.fs.api import FileSystem
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.testing import MiniCluster


@pytest.fixture(params=["mem", "file"])
def fs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FileSystem]:
    if request.param == "mem":
        yield MemoryFileSystem("locks", Configuration())
        forget("locks")
    else:
        with howdah.connect("file:///") as fs:
            yield fs


@pytest.fixture
def tree(fs: FileSystem, tmp_path: Path) -> str:
    path = str(tmp_path / "a" / "b")
    fs.mkdirs(path)
    return path


def left(fs: FileSystem, tree: str) -> list[str]:
    """The lock files in a tree and beside it."""
    return [place for place in places_of(tree) if fs.exists(place)]


ELSEWHERE = replace(Holder.this_process("compact", "alice"), host="far", machine="another")


def held_by(fs: FileSystem, path: str, holder: Holder) -> Any:
    """A lock file that somebody else holds."""
    out = fs.create(path)
    out.write(holder.line())
    out.hflush()
    return out


# --- who gets it --------------------------------------------------------------------------


def test_second_job_is_told_at_once_who_works_on_the_tree(fs: FileSystem, tree: str) -> None:
    with locked(fs, tree, "distcp"):
        with pytest.raises(TreeLocked) as raised, locked(fs, tree, "compact"):
            pytest.fail("two have it")
        told = str(raised.value)
        assert "is held by distcp of " in told
        assert f"(process {os.getpid()}, since " in told
    assert left(fs, tree) == []
    with locked(fs, tree, "compact") as lock:
        assert lock.path == places_of(tree)[0]
    assert left(fs, tree) == []


def test_lock_holds_for_the_trees_below(fs: FileSystem, tree: str) -> None:
    above = os.path.dirname(tree)
    with locked(fs, above, "distcp"):
        with pytest.raises(TreeLocked), locked(fs, tree, "compact"):
            pytest.fail("it is part of the other tree")
        # Nothing is left of the attempt.
        assert left(fs, tree) == []
    # And beside it, where only the names begin alike.
    with locked(fs, tree, "distcp"), locked(fs, f"{tree}c", "distcp"):
        pass


def test_lock_below_is_refused_where_it_is_come_across(fs: FileSystem, tree: str) -> None:
    with locked(fs, tree, "distcp") as lock:
        assert lock.path is not None
        with pytest.raises(TreeLocked, match="is held by distcp of "):
            refuse_if_held(fs, lock.path)
        path = lock.path
    refuse_if_held(fs, path)


def test_one_who_may_not_write_beside_the_tree_takes_its_lock_within() -> None:
    root = MemoryFileSystem("locks", Configuration())
    eve = MemoryFileSystem("locks", Configuration(), user="eve")
    try:
        root.mkdirs("/a/b")
        root.set_owner("/a/b", "eve")
        with locked(eve, "/a/b", "distcp") as lock:
            assert (lock.path, lock.is_inside) == ("/a/b/.howdah.lock", True)
            with pytest.raises(TreeLocked, match="distcp of eve"), locked(root, "/a/b", "compact"):
                pytest.fail("each has a lock of its own")
            assert left(root, "/a/b") == ["/a/b/.howdah.lock"]
        with locked(root, "/a/b", "compact"):
            with pytest.raises(TreeLocked), locked(eve, "/a/b", "distcp"):
                pytest.fail("each has a lock of its own")
        assert left(root, "/a/b") == []
    finally:
        forget("locks")


def test_a_link_in_the_place_of_a_lock_is_left_alone(tmp_path: Path) -> None:
    """Somebody may have laid it, where everybody may write."""
    for name in ("theirs", "pipe"):
        (tmp_path / name).mkdir()
    precious = tmp_path / "precious"
    precious.write_bytes(b"content")
    beside, within = places_of(str(tmp_path / "theirs" / "b"))
    os.symlink(precious, beside)
    with howdah.connect("file:///") as fs:
        with pytest.raises(TreeLocked, match="is a symbolic link, and cannot be a lock"):
            with locked(fs, str(tmp_path / "theirs" / "b"), "sync"):
                raise AssertionError("it has no lock")
        assert precious.read_bytes() == b"content"
        refuse_if_held(fs, beside)  # nobody holds it
        os.mkfifo(tmp_path / "pipe" / ".howdah.lock")
        refuse_if_held(fs, str(tmp_path / "pipe" / ".howdah.lock"))
    assert not os.path.exists(within)


def test_root_has_its_lock_within() -> None:
    assert places_of("/") == ("/.howdah.lock",)
    assert all(is_lock(os.path.basename(place)) for place in places_of("/a/" + "ü" * 200))
    assert all(len(os.path.basename(p).encode()) <= 255 for p in places_of("/a/" + "ü" * 127))
    assert not is_lock(".howdah.locks")


def test_where_there_are_no_leases_the_lock_says_so() -> None:
    pytest.importorskip("fsspec")
    with howdah.connect("memory://here/") as fs, locked(fs, "/a", "distcp") as lock:
        assert lock.note == (
            f"{fs.uri} has no leases and no file locks: "
            "a second job could change /a at the same time"
        )
        lock.check()


# --- holders elsewhere --------------------------------------------------------------------


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.events: dict[float, Any] = {}

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for when in [when for when in self.events if when <= self.now_s]:
            self.events.pop(when)()


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    yield MemoryFileSystem("locks", Configuration())
    forget("locks")


def test_one_who_may_be_dead_is_waited_for_as_long_as_a_lease_lasts(
    memory: MemoryFileSystem,
) -> None:
    clock, told = Clock(), list[str]()
    path = places_of("/a/b")[0]
    writer = held_by(memory, path, ELSEWHERE)
    # The namenode finds out, and takes the file from its writer.
    clock.events[60.0] = lambda: memory.recover_lease(path)
    with locked(memory, "/a/b", "distcp", tell=told.append, clock=clock, sleep=clock.sleep) as lock:
        assert clock.now_s == 60.0
        lock.check()
        with pytest.raises(errors.LeaseExpired):
            writer.close()
    (line,) = told
    assert "is held by compact of alice on far" in line
    assert "waiting up to 75 s, as that job may be dead" in line
    assert left(memory, "/a/b") == []


def test_one_who_lives_elsewhere_keeps_the_lock(memory: MemoryFileSystem) -> None:
    clock = Clock()
    out = held_by(memory, places_of("/a/b")[0], ELSEWHERE)
    with (
        pytest.raises(TreeLocked, match="held by compact of alice on far"),
        locked(memory, "/a/b", "distcp", clock=clock, sleep=clock.sleep),
    ):
        pytest.fail("two have it")
    assert 75.0 <= clock.now_s <= 80.0
    out.close()


def test_holder_whose_lease_was_taken_stops_and_leaves_the_others_lock(
    memory: MemoryFileSystem,
) -> None:
    with locked(memory, "/a", "distcp") as lock:
        lock.check()
        assert lock.path is not None
        memory.recover_lease(lock.path)
        other = memory.append(lock.path)
        other.write(b"\n" + ELSEWHERE.line())
        other.hflush()
        with pytest.raises(LockLost, match=r"compact of alice on far .* could take it"):
            lock.check()
    assert left(memory, "/a") == ["/.howdah.lock.a"]


def test_lock_that_was_left_closed_is_taken_over(memory: MemoryFileSystem) -> None:
    with memory.create(places_of("/a")[0]) as out:
        out.write(ELSEWHERE.line() + b'{"half": ')
    with locked(memory, "/a", "distcp") as lock:
        lock.check()
        with pytest.raises(TreeLocked, match="held by distcp"), locked(memory, "/a", "compact"):
            pytest.fail("two have it")
    assert left(memory, "/a") == []


def test_lock_of_another_user_that_died_names_who_has_to_delete_it(
    memory: MemoryFileSystem,
) -> None:
    memory.create(places_of("/a")[0]).close()
    memory.set_permission("/", 0o777)
    eve = MemoryFileSystem("locks", Configuration(), user="eve")
    with (
        pytest.raises(TreeLocked, match="its owner has to delete it"),
        locked(eve, "/a", "distcp"),
    ):
        pytest.fail("it is another's")


# --- the note -----------------------------------------------------------------------------


def test_holder_is_read_as_it_was_written() -> None:
    holder = Holder.this_process("distcp", "alice")
    assert Holder.parse(b"what was before\n\n" + holder.line()) == holder
    assert holder.is_of_this_machine
    assert not holder.is_gone


@given(st.binary(max_size=100) | st.builds(lambda b: b + b"\n", st.binary(max_size=60)))
def test_no_note_is_taken_for_a_process_that_is_gone(content: bytes) -> None:
    holder = Holder.parse(content)
    assert not holder.is_gone
    assert str(holder)


@pytest.mark.parametrize(
    "line",
    [b"[1]\n", b'{"pid": "7"}\n', b'{"pid": 99999999999999999999, "since_s": -5}\n', b"null\n"],
)
def test_note_that_makes_no_sense_names_nobody(line: bytes) -> None:
    assert str(Holder.parse(line)) == "an unknown job"


def test_process_of_the_same_number_is_another_one() -> None:
    holder = Holder.this_process("distcp", "alice")
    assert replace(holder, started="1").is_gone
    assert not replace(holder, started="1", machine="another").is_gone


# --- on a cluster -------------------------------------------------------------------------

HOLD = """
import sys, howdah
from howdah.config import Configuration
from howdah.copy.locks.tree_lock import locked
with howdah.connect(sys.argv[1]) as fs, locked(fs, sys.argv[2], "distcp"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_lock_on_hdfs_dies_with_its_holder(howdah_cluster: MiniCluster) -> None:
    tree = "/tree_lock/killed"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, howdah_cluster.uri, tree],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with howdah_cluster.connect() as fs:
        with pytest.raises(TreeLocked, match=f"process {process.pid}"), locked(fs, tree, "x"):
            pytest.fail("two have it")
        process.kill()
        process.wait()
        with locked(fs, tree, "compact") as lock:
            lock.check()
            with pytest.raises(TreeLocked, match="compact"), locked(fs, tree, "distcp"):
                pytest.fail("two have it")
        assert left(fs, tree) == []


def test_lock_on_hdfs_can_be_lost(howdah_cluster: MiniCluster) -> None:
    with howdah_cluster.connect() as fs, howdah_cluster.connect() as other:
        lock: TreeLock
        with locked(fs, "/tree_lock/lost", "distcp") as lock:
            assert lock.path is not None
            lock.check()
            other.recover_lease(lock.path)
            with pytest.raises(LockLost):
                lock.check()
            other.delete(lock.path)
            with pytest.raises(LockLost):
                lock.check()
            with locked(other, "/tree_lock/lost", "compact") as second:
                with pytest.raises(LockLost, match="compact of"):
                    lock.check()
                second.check()
        assert left(fs, "/tree_lock/lost") == []


def test_lock_that_cannot_be_given_up_does_not_hide_what_went_wrong(
    memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(self: MemoryFileSystem, path: str, recursive: bool = False) -> bool:
        raise errors.SafeMode("safe mode is on")

    def fail() -> None:
        with locked(memory, "/a", "distcp"):
            monkeypatch.setattr(MemoryFileSystem, "delete", delete)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        fail()
    assert raised.value.__notes__ == ["the lock of /a could not be released: safe mode is on"]
