"""Directories that change while they are listed."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator

import pytest

from howdah import errors
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.status import FileStatus
from howdah.mount.mounted_tree import MountedTree
from howdah.mount.protocol.operations import ROOT_ID, Operation
from howdah.testing.waiting import wait_until
from tests.support.fake_kernel import FakeKernel, Listed, listed
from tests.unit.mount.test_calls import refused
from tests.unit.mount.test_files import write_new

SIZE = 1024
"""A few entries."""


class Directory:
    """The mounted directory, as a program has it open."""

    def __init__(self, kernel: FakeKernel) -> None:
        self.kernel = kernel
        opened = kernel.ask(Operation.OPENDIR, struct.pack("=LL", 0, 0))
        self.handle = struct.unpack("=QLL", opened)[0]

    def at(self, offset: int, size: int = SIZE) -> list[Listed]:
        body = struct.pack("=QQLLQLL", self.handle, offset, size, 0, 0, 0, 0)
        return listed(self.kernel.ask(Operation.READDIRPLUS, body), plus=True)

    def rest(self, offset: int) -> list[Listed]:
        found: list[Listed] = []
        while more := self.at(offset):
            found += more
            offset = more[-1].offset
        return found


@pytest.fixture
def names(fs: MemoryFileSystem) -> list[bytes]:
    """Those of the directory, of which one answer has only a few."""
    for number in range(50):
        fs.write_bytes(f"/data/{number:02}", b"old")
    return [f"{number:02}".encode() for number in range(50)]


def node_of(entry: Listed) -> int:
    assert entry.found is not None
    return entry.found.node


def test_a_listing_shows_no_size_that_a_file_had_before_it_was_written(
    kernel: FakeKernel, names: list[bytes]
) -> None:
    """The kernel would go by it, and a reader would miss the end of the file."""
    directory = Directory(kernel)
    first = directory.at(0)
    assert all(node_of(entry) for entry in first[2:])
    node = kernel.lookup(b"49").node
    handle = kernel.open(node, os.O_WRONLY | os.O_APPEND)
    kernel.write(node, handle, 3, b" and new", flags=1 | os.O_APPEND)
    kernel.close(node, handle)
    rest = directory.rest(first[-1].offset)
    assert [entry.name for entry in (*first[2:], *rest)] == names
    assert [node_of(entry) for entry in rest] == [0] * len(rest)
    # Who begins again hears of all.
    again = directory.rest(0)
    (last,) = [entry.found for entry in again if entry.name == b"49"]
    assert last is not None
    assert last.stat.size == 11


def test_a_listing_takes_no_name_from_a_file_that_has_got_it_since(
    kernel: FakeKernel, fs: MemoryFileSystem, names: list[bytes]
) -> None:
    directory = Directory(kernel)
    first = directory.at(0)
    # Another machine replaces the file, and a program here writes it.
    fs.write_bytes("/data/49", b"new", overwrite=True)
    node = kernel.lookup(b"49").node
    handle = kernel.open(node, os.O_WRONLY | os.O_APPEND)
    directory.rest(first[-1].offset)
    kernel.write(node, handle, 3, b"er", flags=1 | os.O_APPEND)
    kernel.close(node, handle)
    assert kernel.lookup(b"49").node == node
    assert fs.read_bytes("/data/49") == b"newer"


def test_a_stale_entry_takes_no_name_away(
    kernel: FakeKernel, fs: MemoryFileSystem, tree: MountedTree
) -> None:
    node = write_new(kernel, b"new")
    old = fs.get_file_status("/data/f")
    stale = FileStatus(
        **{
            name: getattr(old, name)
            for name in old.__dataclass_fields__
            if name not in ("file_id",)
        },
        file_id=old.file_id + 1000,
    )
    assert tree.listed_entry(tree.node(ROOT_ID), "f", stale) is None
    assert tree.path(tree.node(node)) == "/data/f"


def test_a_listing_that_fails_is_not_at_its_end(
    kernel: FakeKernel, fs: MemoryFileSystem, names: list[bytes], tree: MountedTree
) -> None:
    fetch = fs.list_status_iter
    fails = [True]

    def breaks(path: str) -> Iterator[FileStatus]:
        for number, status in enumerate(fetch(path)):
            if number == 20 and fails[0]:
                raise errors.Unreachable("the namenode is away")
            yield status

    fs.list_status_iter = breaks  # type: ignore[method-assign, assignment]
    directory = Directory(kernel)
    found = directory.at(0, 8192)
    assert [entry.name for entry in found[2:]] == names[:20]
    for _ in range(2):
        with refused(errno.EIO):
            directory.at(found[-1].offset)
    fails[0] = False
    rest = directory.rest(found[-1].offset)
    assert [entry.name for entry in rest] == names[20:]
    for entry in (*found[2:], *rest):
        kernel.forget(node_of(entry))
    wait_until(lambda: len(tree.nodes) == 1)


def test_whoever_has_a_small_buffer_misses_nothing_when_names_are_deleted(
    kernel: FakeKernel, names: list[bytes]
) -> None:
    """The kernel asks again for what did not fit into the buffer of a program, such as one that
    deletes what it lists."""
    directory = Directory(kernel)
    offset, seen = 0, []
    while found := directory.at(offset):
        for entry in found[:3]:
            if entry.name not in (b".", b".."):
                seen.append(entry.name)
                kernel.unlink(entry.name)
            offset = entry.offset
    assert seen == names
    assert kernel.names() == []
