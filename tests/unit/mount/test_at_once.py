"""What several processes do with one file at once, and what each of them is told."""

from __future__ import annotations

import errno
import os
import struct
import threading
from collections.abc import Iterator

import pytest

from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.memory.streams import MemoryOutput
from howdah.mount.accounts import Accounts
from howdah.mount.callers import EachCaller
from howdah.mount.calls import Calls
from howdah.mount.mounted_tree import MountedTree, MountSettings
from howdah.mount.protocol.operations import Operation, SetAttribute
from tests.support.fake_kernel import FakeKernel, Found, Stat, conversation, request
from tests.unit.mount.conftest import NAME
from tests.unit.mount.test_calls import Slow, refused
from tests.unit.mount.test_files import PATH, write_new


def release_body(handle: int) -> bytes:
    return struct.pack("=QLLQ", handle, 0, 0, 0)


def test_a_file_that_is_closed_while_it_is_deleted_is_gone(
    kernel: FakeKernel, fs: MemoryFileSystem, tree: MountedTree
) -> None:
    """close(2) does not wait for RELEASE, and unlink(2) may follow at once."""
    node = write_new(kernel, b"content")
    handle = kernel.open(node)
    slow = Slow(fs.rename)
    fs.rename = slow  # type: ignore[method-assign, assignment]
    kernel.send(request(Operation.UNLINK, b"f\0", unique=5001))
    assert slow.has_begun.wait(30)
    kernel.send(request(Operation.RELEASE, release_body(handle), unique=5003, node=node))
    assert kernel.receive()[:2] == (5003, 0)
    slow.may_go_on.set()
    assert kernel.receive()[:2] == (5001, 0)
    assert fs.list_status("/data") == []
    assert not tree.handles.all_files()


def test_of_two_writers_who_let_go_at_once_one_completes_the_file(
    kernel: FakeKernel, fs: MemoryFileSystem, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, first = kernel.create(b"f")
    second = kernel.open(found.node, os.O_WRONLY)
    (file,) = calls._tree.handles.all_files()
    assert file.written is not None
    stream = file.written._stream
    assert stream is not None
    both_are_there = threading.Barrier(2)
    let_go = calls._tree.handles.let_go

    def later(handle: object) -> bool:
        both_are_there.wait(30)
        return let_go(handle)  # type: ignore[arg-type]

    monkeypatch.setattr(calls._tree.handles, "let_go", later)
    for unique, handle in ((5001, first), (5003, second)):
        kernel.send(
            request(Operation.RELEASE, release_body(handle), unique=unique, node=found.node)
        )
    assert {kernel.receive()[:2], kernel.receive()[:2]} == {(5001, 0), (5003, 0)}
    # And not the collector of garbage.
    assert stream.closed


@pytest.mark.parametrize("fails_at_a_write", [True, False])
def test_all_who_have_written_are_told_that_a_file_is_not_whole(
    kernel: FakeKernel, fs: MemoryFileSystem, *, fails_at_a_write: bool
) -> None:
    found, first = kernel.create(b"f")
    second = kernel.open(found.node, os.O_WRONLY | os.O_APPEND)
    third = kernel.open(found.node, os.O_WRONLY | os.O_APPEND)
    kernel.write(found.node, first, 0, b"1")
    kernel.write(found.node, second, 1, b"2", flags=1 | os.O_APPEND)
    fs.recover_lease(PATH)
    with refused(errno.ESTALE):
        if fails_at_a_write:
            kernel.write(found.node, first, 2, b"3")
        else:
            kernel.flush(found.node, first)
    with refused(errno.EIO):
        kernel.flush(found.node, second)
    # Whoever holds copies of the descriptor, as a child does that begins another program.
    with refused(errno.EIO):
        kernel.flush(found.node, second)
    with refused(errno.EIO):
        kernel.flush(found.node, first)
    # Who has written nothing misses nothing.
    kernel.flush(found.node, third)


def test_nobody_misses_what_has_no_name_any_more(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"1")
    fs.recover_lease(PATH)
    with refused(errno.ESTALE):
        kernel.write(found.node, handle, 1, b"2")
    kernel.unlink(b"f")
    kernel.close(found.node, handle)


def test_a_writer_who_comes_later_begins_anew_after_a_failure(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    """Also while somebody reads on, as `tail -f` does."""
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"1")
    kernel.fsync(found.node, handle)
    reader = kernel.open(found.node)
    fs.recover_lease(PATH)
    with refused(errno.ESTALE):
        kernel.write(found.node, handle, 1, b"2")
    with refused(errno.EIO):
        kernel.flush(found.node, handle)
    kernel.release(found.node, handle)
    later = kernel.open(found.node, os.O_WRONLY | os.O_APPEND)
    kernel.write(found.node, later, 1, b"two", flags=1 | os.O_APPEND)
    kernel.close(found.node, later)
    assert fs.read_bytes(PATH) == b"1two"
    assert kernel.read(found.node, reader, 0, 9) == b"1two"


def test_a_reader_sees_what_replaced_the_bytes_that_were_cut_by_name(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    """truncate(2) names no open file. Datanodes have the old block for a while."""
    fs.mkdirs("/as it was")
    opened = fs.open

    def as_it_is_now(path: str) -> object:
        kept = f"/as it was/{len(fs.list_status('/as it was'))}"
        fs.write_bytes(kept, fs.read_bytes(path))
        return opened(kept)

    fs.open = as_it_is_now  # type: ignore[method-assign, assignment]
    node = write_new(kernel, b"old old old")
    reader = kernel.open(node)
    assert kernel.read(node, reader, 0, 99) == b"old old old"
    kernel.setattr(node, SetAttribute.SIZE, size=0)
    writer = kernel.open(node, os.O_WRONLY | os.O_APPEND)
    kernel.write(node, writer, 0, b"new", flags=1 | os.O_APPEND)
    kernel.close(node, writer)
    assert kernel.read(node, reader, 0, 99) == b"new"


def test_fsync_has_on_disks_what_a_copy_of_the_descriptor_has_completed(
    kernel: FakeKernel, fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    hsync = MemoryOutput.hsync

    def counted(stream: MemoryOutput, *flags: object) -> None:
        synced.append(stream.get_pos())
        hsync(stream)

    monkeypatch.setattr(MemoryOutput, "hsync", counted)
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"12")
    kernel.flush(found.node, handle)
    assert synced == []
    kernel.fsync(found.node, handle)
    assert synced == [2]
    # Nothing is new.
    kernel.flush(found.node, handle)
    kernel.fsync(found.node, handle)
    assert synced == [2]
    kernel.write(found.node, handle, 2, b"3")
    kernel.fsync(found.node, handle)
    assert synced == [2, 3]
    kernel.close(found.node, handle)
    assert fs.read_bytes(PATH) == b"123"
    assert fs.is_file_closed(PATH)


class SlowAnswer(Slow):
    """A call that was answered, and whose answer takes long."""

    def __call__(self, *args: object, **more: object) -> object:
        answer = self.real(*args, **more)
        self.has_begun.set()
        assert self.may_go_on.wait(30)
        return answer


def asks(by: Operation, node: int) -> bytes:
    """A request about the file, by its name or by its node."""
    if by == Operation.LOOKUP:
        return request(by, b"f\0", unique=5001)
    return request(by, struct.pack("=LLQ", 0, 0, 0), unique=5001, node=node)


def size_in(by: Operation, answer: bytes) -> int:
    return Found.of(answer).stat.size if by == Operation.LOOKUP else Stat.of(answer[16:]).size


@pytest.mark.parametrize("by", [Operation.LOOKUP, Operation.GETATTR])
def test_whoever_asks_while_a_file_is_completed_hears_its_whole_length(
    kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch, by: Operation
) -> None:
    """The kernel would go by it for a second, and readers would find an empty file."""
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"12")
    slow = Slow(MemoryOutput.close)
    monkeypatch.setattr(MemoryOutput, "close", lambda stream: slow(stream))
    kernel.send(request(Operation.FLUSH, release_body(handle), unique=6001, node=found.node))
    assert slow.has_begun.wait(30)
    kernel.send(asks(by, found.node))
    unique, error, answer = kernel.receive()
    assert (unique, error, size_in(by, answer)) == (5001, 0, 2)
    slow.may_go_on.set()
    assert kernel.receive()[:2] == (6001, 0)


@pytest.mark.parametrize("by", [Operation.LOOKUP, Operation.GETATTR])
def test_an_answer_of_before_a_file_was_completed_has_its_whole_length(
    kernel: FakeKernel, fs: MemoryFileSystem, by: Operation
) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"12")
    slow = SlowAnswer(fs.get_file_link_status)
    fs.get_file_link_status = slow  # type: ignore[method-assign, assignment]
    kernel.send(asks(by, found.node))
    assert slow.has_begun.wait(30)
    kernel.close(found.node, handle)
    slow.may_go_on.set()
    unique, error, answer = kernel.receive()
    assert (unique, error, size_in(by, answer)) == (5001, 0, 2)


# -- several users -----------------------------------------------------------------------


class Closing(MemoryFileSystem):
    """As a client of a cluster, whose streams end with it."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def clients() -> list[Closing]:
    """What was connected to."""
    return []


@pytest.fixture
def impatient(fs: MemoryFileSystem, clients: list[Closing]) -> Iterator[FakeKernel]:
    """A mount for all users, which keeps no client of which nobody asks anything."""

    def connect(user: str) -> Closing:
        clients.append(Closing(NAME, user=user))
        return clients[-1]

    callers = EachCaller(connect, {0: "ann", 1: "bob"}.get)
    callers._clients._idle_s = -1.0
    with conversation(Calls(MountedTree(callers, Accounts(), "/data", MountSettings()))) as kernel:
        yield kernel
    callers.close()


def test_a_file_is_written_on_when_its_first_writer_is_long_gone(
    impatient: FakeKernel, clients: list[Closing], fs: MemoryFileSystem
) -> None:
    kernel = impatient
    found, first = kernel.create(b"f")
    fs.set_permission(PATH, 0o666)
    kernel.write(found.node, first, 0, b"ann ")
    second = kernel.open(found.node, os.O_WRONLY | os.O_APPEND, uid=1)
    kernel.close(found.node, first)
    kernel.getattr(uid=1)
    (hers,) = [client for client in clients if client.user == "ann"]
    assert not hers.is_closed
    kernel.write(found.node, second, 4, b"bob", flags=1 | os.O_APPEND)
    kernel.close(found.node, second)
    assert fs.read_bytes(PATH) == b"ann bob"
    # And then it is let go of.
    kernel.getattr(uid=1)
    assert hers.is_closed
