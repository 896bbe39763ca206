"""What the inner streams of filesystems have in common."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable

import pytest

from howdah import errors
from howdah.client.writing.output import DFSOutputStream
from howdah.fs.hdfs.filesystem import HdfsDataOutputStream
from howdah.fs.input_base import RemoteInput
from howdah.fs.output_base import OutputUntilClose
from howdah.fs.streams import InnerOutput


class Remote(RemoteInput):
    store = "this store"

    def __init__(self) -> None:
        super().__init__("/a")
        self.connection: object | None = object()
        self.dropped = 0

    @property
    def length(self) -> int:
        return 10

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        buffer[:] = bytes(range(offset, offset + len(buffer)))
        return len(buffer)

    def _forget_connection(self) -> None:
        self.connection = None

    def _drop(self) -> None:
        self.dropped += 1

    def has_lock(self) -> bool:
        with self._own():
            return self.connection is not None


class Output(OutputUntilClose):
    store = "this store"

    def __init__(self) -> None:
        self.told = 0
        super().__init__("/a", self.tell)
        self.taken = b""

    def tell(self) -> None:
        self.told += 1

    def fail(self, error: Exception) -> None:
        self._failure = error

    def _accept(self, view: memoryview) -> None:
        self.taken += view
        self._position += len(view)

    def close(self) -> None:
        self._closed = True


def test_a_position_is_set_from_the_start_from_here_and_from_the_end() -> None:
    stream = Remote()
    assert stream.seek(3) == stream.tell() == 3
    assert stream.seek(2, io.SEEK_CUR) == 5
    assert stream.seek(-1, io.SEEK_END) == 9
    assert stream.seek(5, io.SEEK_END) == 15
    with pytest.raises(ValueError, match="cannot seek to -1 in /a"):
        stream.seek(-1)
    with pytest.raises(ValueError, match="whence must be 0, 1 or 2, not 7"):
        stream.seek(0, 7)
    assert stream.tell() == 15


def test_a_positioned_read_ends_with_the_file_and_moves_nothing() -> None:
    stream = Remote()
    assert stream.pread(8, 5) == b"\x08\x09"
    assert stream.pread(11, 5) == b""
    assert stream.tell() == 0
    for offset, length in ((-1, 1), (0, -1)):
        with pytest.raises(ValueError, match="cannot read"):
            stream.pread(offset, length)


def test_a_stream_that_is_about_to_be_closed_reads_no_more_and_drops_its_connection_once() -> None:
    stream = Remote()
    stream.stop_reading()
    acts: tuple[Callable[[], object], ...] = (
        stream.tell,
        lambda: stream.seek(0),
        lambda: stream.pread(0, 1),
    )
    for act in acts:
        with pytest.raises(errors.ClosedStream, match="/a is closed"):
            act()
    stream.close()
    stream.close()
    assert stream.dropped == 1


def test_a_forked_child_has_a_lock_of_its_own_and_no_connection_of_the_parent() -> None:
    stream = Remote()
    assert stream.has_lock()
    held, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with stream._own():
            held.set()
            ended.wait(60)

    # A thread that the child does not have, so that nobody would let go of its lock there.
    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    child = os.fork()
    if not child:
        os._exit(1 if stream.has_lock() else 0)
    ended.set()
    holder.join(60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert stream.has_lock()


def test_what_a_store_cannot_do_is_refused_by_its_name() -> None:
    stream, out = Remote(), Output()
    acts: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: stream.set_readahead(1), "set_readahead"),
        (lambda: stream.set_drop_behind(True), "set_drop_behind"),
        (out.hflush, "hflush"),
        (out.hsync, "hsync"),
        (lambda: out.set_drop_behind(True), "set_drop_behind"),
    )
    for act, what in acts:
        with pytest.raises(errors.UnsupportedOperation, match=f"/a: this store has no {what}"):
            act()


def test_a_writer_is_told_again_what_has_failed_and_a_closed_stream_that_it_is_closed() -> None:
    out = Output()
    out.write(b"abc")
    assert (out.taken, out.get_pos(), out.told) == (b"abc", 3, 1)
    out.fail(errors.Unreachable("gone"))
    for _ in range(2):
        with pytest.raises(errors.Unreachable, match="gone"):
            out.write(b"d")
    out.close()
    acts: tuple[Callable[[], object], ...] = (lambda: out.write(b"d"), out.hflush, out.hsync)
    for act in acts:
        with pytest.raises(errors.ClosedStream, match="/a is closed"):
            act()
    assert (out.taken, out.told) == (b"abc", 1)


def test_hdfs_streams_have_all_that_is_not_asked_of_them() -> None:
    members = [name for name in vars(InnerOutput) if not name.startswith("_")]
    assert "hflush" in members
    assert HdfsDataOutputStream._is_given_whole
    assert all(hasattr(DFSOutputStream, name) for name in members)
