"""Files that are read and written through a mount, as programs do it."""

from __future__ import annotations

import errno
import logging
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from howdah import errors
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.status import FileStatus
from howdah.mount.calls import Calls
from howdah.mount.protocol.operations import OpenAnswer, SetAttribute
from tests.support.fake_kernel import FakeKernel
from tests.unit.mount.test_calls import refused

KIB = 1 << 10
PATH = "/data/f"


def write_new(kernel: FakeKernel, content: bytes, name: bytes = b"f") -> int:
    found, handle = kernel.create(name)
    kernel.write(found.node, handle, 0, content)
    kernel.close(found.node, handle)
    return found.node


# -- reading -----------------------------------------------------------------------------


def test_a_file_is_read_from_its_beginning_to_its_end(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    content = random.Random(1).randbytes(3_000_001)
    fs.write_bytes(PATH, content)
    node = kernel.lookup(b"f").node
    handle = kernel.open(node)
    step = 128 * KIB
    parts = [kernel.read(node, handle, at, step) for at in range(0, len(content) + step, step)]
    assert b"".join(parts) == content
    kernel.close(node, handle)


def test_a_file_is_read_anywhere(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    chance = random.Random(2)
    content = chance.randbytes(5_000_000)
    fs.write_bytes(PATH, content)
    node = kernel.lookup(b"f").node
    handle = kernel.open(node)
    for _ in range(200):
        offset, size = chance.randrange(5_100_000), chance.randrange(1, 300_000)
        assert kernel.read(node, handle, offset, size) == content[offset : offset + size]


def test_many_read_one_open_file_at_once(fs: MemoryFileSystem, calls: Calls) -> None:
    from howdah.mount.reading import Reader
    from howdah.mount.turns import Turns

    content = random.Random(3).randbytes(8_000_000)
    fs.write_bytes(PATH, content)
    reader = Reader(lambda: fs.open(PATH), Turns())
    offsets = list(range(0, len(content), 100_000)) * 2
    random.Random(4).shuffle(offsets)

    def read(offset: int) -> bool:
        room = memoryview(bytearray(100_000))
        with reader.turns.announce() as turn:
            count = reader.read_into(turn, offset, room)
        return room[:count] == content[offset : offset + 100_000]

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(read, offsets))
    reader.close()


def test_a_file_that_grows_is_read_on(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes(PATH, b"one")
    node = kernel.lookup(b"f").node
    handle = kernel.open(node)
    assert kernel.read(node, handle, 0, 100) == b"one"
    with fs.append(PATH) as out:
        out.write(b" two")
    assert kernel.getattr(node).size == 7
    assert kernel.read(node, handle, 3, 100) == b" two"
    assert kernel.read(node, handle, 0, 100) == b"one two"


def test_the_kernel_keeps_its_cache_of_a_file_that_is_the_same(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes(PATH, b"one")
    node = kernel.lookup(b"f").node
    hows = [kernel.open_flags(node)[1], kernel.open_flags(node)[1]]
    assert hows == [0, OpenAnswer.KEEP_CACHE]
    with fs.append(PATH) as out:
        out.write(b" two")
    assert kernel.open_flags(node)[1] == 0
    handle = kernel.open(node, os.O_WRONLY | os.O_APPEND)
    kernel.close(node, handle)
    assert kernel.open_flags(node)[1] == 0


# -- writing -----------------------------------------------------------------------------


def test_a_file_is_whole_when_close_returns(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    found, handle = kernel.create(b"f", mode=0o640)
    content = random.Random(5).randbytes(1_000_000)
    for at in range(0, len(content), 100_000):
        assert kernel.write(found.node, handle, at, content[at : at + 100_000]) == 100_000
        assert kernel.getattr(found.node).size == at + 100_000
    assert not fs.is_file_closed(PATH)
    kernel.flush(found.node, handle)
    assert fs.read_bytes(PATH) == content
    assert fs.is_file_closed(PATH)
    kernel.release(found.node, handle)
    assert fs.get_file_status(PATH).permission == 0o640


def test_a_copy_of_a_descriptor_that_is_closed_ends_nothing(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.flush(found.node, handle)
    assert not fs.is_file_closed(PATH), "nothing was written yet"
    for at, word in enumerate((b"a ", b"b ", b"c ")):
        kernel.write(found.node, handle, 2 * at, word)
        kernel.flush(found.node, handle)
        assert fs.read_bytes(PATH) == b"a b c "[: 2 * at + 2]
    kernel.close(found.node, handle)
    assert fs.read_bytes(PATH) == b"a b c "


def test_an_empty_file_is_complete_when_it_is_let_go(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.close(found.node, handle)
    assert fs.is_file_closed(PATH)


def test_a_file_that_was_emptied_is_written_anew(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    """As editors save: they open without O_TRUNC, truncate, and write."""
    fs.write_bytes(PATH, b"the old text")
    fs.set_permission(PATH, 0o604)
    node = kernel.lookup(b"f").node
    handle = kernel.open(node, os.O_WRONLY)
    assert kernel.setattr(node, SetAttribute.SIZE | SetAttribute.FH, handle=handle).size == 0
    kernel.write(node, handle, 0, b"the new text")
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"the new text"
    assert fs.get_file_status(PATH).permission == 0o604


def test_opening_with_truncation_empties_a_file(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes(PATH, b"the old text")
    node = kernel.lookup(b"f").node
    handle = kernel.open(node, os.O_WRONLY | os.O_TRUNC)
    assert kernel.getattr(node).size == 0
    kernel.write(node, handle, 0, b"new")
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"new"
    assert kernel.lookup(b"f").node == node


def test_creating_what_is_there_opens_it_unless_it_must_be_new(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes(PATH, b"old")
    with refused(errno.EEXIST):
        kernel.create(b"f", os.O_WRONLY | os.O_EXCL)
    found, handle = kernel.create(b"f", os.O_WRONLY | os.O_TRUNC)
    assert found.stat.size == 0
    kernel.write(found.node, handle, 0, b"newer")
    kernel.close(found.node, handle)
    assert fs.read_bytes(PATH) == b"newer"


def test_appends_go_to_the_end_wherever_the_kernel_thinks_it_is(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes(PATH, b"one")
    node = kernel.lookup(b"f").node
    with fs.append(PATH) as out:
        out.write(b" two")
    flags = os.O_WRONLY | os.O_APPEND
    handle = kernel.open(node, flags)
    kernel.write(node, handle, 3, b" three", flags)
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"one two three"


def test_two_programs_append_to_one_file(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    flags = os.O_WRONLY | os.O_APPEND
    found, first = kernel.create(b"f", flags)
    second = kernel.open(found.node, flags)
    kernel.write(found.node, first, 0, b"1", flags)
    kernel.write(found.node, second, 0, b"2", flags)
    kernel.close(found.node, first)
    kernel.write(found.node, second, 0, b"3", flags)
    kernel.close(found.node, second)
    assert fs.read_bytes(PATH) == b"123"


def test_writing_on_at_the_end_is_possible(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes(PATH, b"12345")
    node = kernel.lookup(b"f").node
    handle = kernel.open(node, os.O_WRONLY)
    kernel.write(node, handle, 5, b"6")
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"123456"


@pytest.mark.parametrize("offset", [0, 4, 6, 1 << 40])
def test_writing_elsewhere_is_refused_and_harms_nothing(
    kernel: FakeKernel, fs: MemoryFileSystem, offset: int
) -> None:
    fs.write_bytes(PATH, b"12345")
    node = kernel.lookup(b"f").node
    handle = kernel.open(node, os.O_WRONLY)
    with refused(errno.EOPNOTSUPP):
        kernel.write(node, handle, offset, b"x")
    kernel.write(node, handle, 5, b"6")
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"123456"


def test_opening_to_write_anywhere_is_refused_when_there_is_content(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes(PATH, b"12345")
    node = kernel.lookup(b"f").node
    with refused(errno.EOPNOTSUPP):
        kernel.open(node, os.O_RDWR)
    assert fs.read_bytes(PATH) == b"12345"
    for flags in (os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_TRUNC):
        kernel.close(node, kernel.open(node, flags))
    kernel.close(node, kernel.open(node, os.O_RDWR))


def test_a_program_reads_back_what_it_writes(kernel: FakeKernel) -> None:
    found, handle = kernel.create(b"f", os.O_RDWR)
    node = found.node
    kernel.write(node, handle, 0, b"one")
    assert kernel.read(node, handle, 0, 100) == b"one"
    kernel.write(node, handle, 3, b" two")
    assert kernel.read(node, handle, 0, 100) == b"one two"
    other = kernel.open(node)
    assert kernel.read(node, other, 0, 100) == b"one two"
    kernel.setattr(node, SetAttribute.SIZE | SetAttribute.FH, handle=handle, size=0)
    kernel.write(node, handle, 0, b"1")
    assert kernel.getattr(node).size == 1
    assert kernel.read(node, other, 0, 100) == b"1"


def test_a_file_is_cut_and_not_lengthened(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes(PATH, b"12345")
    node = kernel.lookup(b"f").node
    assert kernel.setattr(node, SetAttribute.SIZE, size=3).size == 3
    assert fs.read_bytes(PATH) == b"123"
    with refused(errno.EOPNOTSUPP):
        kernel.setattr(node, SetAttribute.SIZE, size=4)
    kernel.setattr(node, SetAttribute.SIZE, size=3)
    assert fs.read_bytes(PATH) == b"123"


def test_a_file_is_cut_while_it_is_written(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"12345")
    kernel.setattr(found.node, SetAttribute.SIZE | SetAttribute.FH, handle=handle, size=2)
    kernel.write(found.node, handle, 2, b"x")
    kernel.close(found.node, handle)
    assert fs.read_bytes(PATH) == b"12x"


def test_a_cut_waits_until_the_last_block_is_recovered(
    kernel: FakeKernel, fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.write_bytes(PATH, b"12345")
    node = kernel.lookup(b"f").node
    truncate, asked = fs.truncate, []

    def later(path: str, length: int) -> bool:
        truncate(path, length)
        return False

    def closed(path: str) -> bool:
        asked.append(path)
        return len(asked) == 3

    monkeypatch.setattr(fs, "truncate", later)
    monkeypatch.setattr(fs, "is_file_closed", closed)
    kernel.setattr(node, SetAttribute.SIZE, size=3)
    assert asked == [PATH] * 3


def test_a_filesystem_that_cuts_nothing_makes_an_empty_file_anew(
    kernel: FakeKernel, fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(path: str, length: int) -> bool:
        raise errors.UnsupportedOperation("no truncate")

    monkeypatch.setattr(fs, "truncate", refuses)
    fs.write_bytes(PATH, b"old")
    fs.set_permission(PATH, 0o600)
    node = kernel.lookup(b"f").node
    handle = kernel.open(node, os.O_WRONLY | os.O_TRUNC)
    kernel.write(node, handle, 0, b"newer")
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"newer"
    assert fs.get_file_status(PATH).permission == 0o600
    with refused(errno.EOPNOTSUPP):
        kernel.setattr(kernel.lookup(b"f").node, SetAttribute.SIZE, size=2)


def test_a_filesystem_that_appends_nothing_fills_an_empty_file(
    kernel: FakeKernel, fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(path: str, *, new_block: bool) -> object:
        raise errors.UnsupportedOperation("no append")

    monkeypatch.setattr(fs, "append", refuses)
    fs.write_bytes(PATH, b"old")
    node = kernel.lookup(b"f").node
    handle = kernel.open(node, os.O_WRONLY | os.O_APPEND)
    with refused(errno.EOPNOTSUPP):
        kernel.write(node, handle, 3, b"er", os.O_WRONLY | os.O_APPEND)
    kernel.close(node, handle)
    handle = kernel.open(node, os.O_WRONLY | os.O_TRUNC)
    kernel.write(node, handle, 0, b"newer")
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"newer"


def test_times_that_are_set_before_close_are_those_of_the_file(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"x")
    changed = kernel.setattr(found.node, SetAttribute.MTIME, mtime=(1_000_000_000, 0))
    assert changed.mtime_s == 1_000_000_000
    kernel.close(found.node, handle)
    assert fs.get_file_status(PATH).modification_time_ms == 1_000_000_000_000


@pytest.fixture
def without_times(fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """As object stores are."""

    def refuses(path: object, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        raise errors.UnsupportedOperation("set_times is not supported")

    monkeypatch.setattr(fs, "set_times", refuses)


@pytest.mark.usefixtures("without_times")
def test_times_that_the_filesystem_does_not_keep_are_refused_at_once(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"x")
    with refused(errno.EOPNOTSUPP):
        kernel.setattr(found.node, SetAttribute.MTIME, mtime=(1_000_000_000, 0))
    both = SetAttribute.MTIME | SetAttribute.ATIME
    with refused(errno.EOPNOTSUPP):
        kernel.setattr(found.node, both | SetAttribute.ATIME_NOW, mtime=(1_000_000_000, 0))
    kernel.close(found.node, handle)
    assert fs.read_bytes(PATH) == b"x"


@pytest.mark.usefixtures("without_times")
def test_a_new_file_can_be_touched_where_no_times_are_kept(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    now = SetAttribute.MTIME | SetAttribute.MTIME_NOW | SetAttribute.ATIME | SetAttribute.ATIME_NOW
    kernel.setattr(found.node, now)
    kernel.close(found.node, handle)
    assert fs.exists(PATH)
    # When it is complete it has the time of its last change, for good.
    with refused(errno.EOPNOTSUPP):
        kernel.setattr(found.node, now)


def test_a_write_behind_the_times_makes_the_file_newer(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.setattr(found.node, SetAttribute.MTIME, mtime=(1_000_000_000, 0))
    kernel.write(found.node, handle, 0, b"x")
    kernel.close(found.node, handle)
    assert fs.get_file_status(PATH).modification_time_ms > 1_700_000_000_000


def test_a_second_writer_elsewhere_is_refused(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    fs.write_bytes(PATH, b"1")
    with fs.append(PATH):
        node = kernel.lookup(b"f").node
        handle = kernel.open(node, os.O_WRONLY)
        with refused(errno.EBUSY):
            kernel.write(node, handle, 1, b"2")
        kernel.close(node, handle)


def test_a_writer_who_has_missed_an_append_is_told_so(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    fs.write_bytes(PATH, b"1")
    node = kernel.lookup(b"f").node
    handle = kernel.open(node, os.O_WRONLY)
    with fs.append(PATH) as out:
        out.write(b"2")
    with refused(errno.ESTALE):
        kernel.write(node, handle, 1, b"x")
    kernel.write(node, handle, 2, b"3")
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"123"


def test_a_failed_write_is_told_to_whoever_writes_and_closes(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"1")
    fs.recover_lease(PATH)
    with refused(errno.ESTALE):
        kernel.write(found.node, handle, 1, b"2")
    with refused(errno.EIO):
        kernel.write(found.node, handle, 1, b"2")
    with refused(errno.EIO):
        kernel.flush(found.node, handle)
    kernel.release(found.node, handle)


def test_a_file_that_cannot_be_completed_fails_at_close(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"1")
    fs.recover_lease(PATH)
    with refused(errno.ESTALE):
        kernel.flush(found.node, handle)


def test_fsync_shows_what_was_written(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"1")
    assert fs.read_bytes(PATH) == b""
    kernel.fsync(found.node, handle)
    assert fs.read_bytes(PATH) == b"1"


def test_an_erasure_coded_file_is_written_on_in_another_block_group(
    kernel: FakeKernel, fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Namenodes refuse to append to the last one."""
    node = write_new(kernel, b"one")
    asked, appended = fs.get_file_status, fs.append

    def coded(path: str) -> FileStatus:
        return replace(asked(path), erasure_coding_policy="RS-6-3-1024k")

    def append(path: str, *, new_block: bool = False) -> object:
        if not new_block:
            raise errors.UnsupportedOperation("append on an EC file without a new block")
        return appended(path)

    monkeypatch.setattr(fs, "get_file_status", coded)
    monkeypatch.setattr(fs, "append", append)
    handle = kernel.open(node, os.O_WRONLY | os.O_APPEND)
    kernel.write(node, handle, 3, b" two", flags=1 | os.O_APPEND)
    kernel.close(node, handle)
    assert fs.read_bytes(PATH) == b"one two"


# -- names of open files -----------------------------------------------------------------


def test_a_deleted_file_is_there_for_those_who_have_it_open(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    node = write_new(kernel, b"content")
    handle = kernel.open(node)
    assert kernel.getattr(node).links == 1
    kernel.unlink(b"f")
    with refused(errno.ENOENT):
        kernel.lookup(b"f")
    assert kernel.names() == []
    assert kernel.getattr(node).size == 7
    assert kernel.getattr(node).links == 0
    assert kernel.read(node, handle, 0, 100) == b"content"
    write_new(kernel, b"another")
    assert kernel.read(node, handle, 0, 100) == b"content"
    kernel.close(node, handle)
    assert [each.name for each in fs.list_status("/data")] == ["f"]


def test_a_deleted_file_may_be_written_on(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    found, handle = kernel.create(b"f", os.O_RDWR)
    kernel.unlink(b"f")
    kernel.write(found.node, handle, 0, b"scratch")
    assert kernel.read(found.node, handle, 0, 100) == b"scratch"
    kernel.close(found.node, handle)
    assert fs.list_status("/data") == []


def test_a_directory_is_removed_with_a_deleted_file_that_is_open(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    directory = kernel.mkdir(b"d").node
    found, handle = kernel.create(b"f", os.O_RDWR, node=directory)
    kernel.write(found.node, handle, 0, b"scratch")
    kernel.unlink(b"f", node=directory)
    fs.write_bytes("/data/d/other", b"")
    with refused(errno.ENOTEMPTY):
        kernel.rmdir(b"d")
    fs.delete("/data/d/other")
    kernel.rmdir(b"d")
    assert not fs.exists("/data/d")
    assert kernel.names() == []
    assert kernel.read(found.node, handle, 0, 100) == b"scratch"
    kernel.close(found.node, handle)
    assert fs.list_status("/data") == []


def test_a_file_is_renamed_while_it_is_written(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"one")
    kernel.rename(b"f", b"g")
    kernel.flush(found.node, handle)
    kernel.write(found.node, handle, 3, b" two")
    kernel.close(found.node, handle)
    assert fs.read_bytes("/data/g") == b"one two"


def test_a_file_that_another_one_replaces_is_closed_in_peace(
    kernel: FakeKernel, fs: MemoryFileSystem
) -> None:
    found, handle = kernel.create(b"f")
    kernel.write(found.node, handle, 0, b"old")
    write_new(kernel, b"new", b"g")
    kernel.rename(b"g", b"f")
    kernel.close(found.node, handle)
    assert fs.read_bytes(PATH) == b"new"


# -- the end -----------------------------------------------------------------------------


def test_files_that_were_deleted_while_they_were_open_are_gone_at_the_end(
    kernel: FakeKernel, fs: MemoryFileSystem, calls: Calls
) -> None:
    node = write_new(kernel, b"read")
    handle = kernel.open(node)
    found, written = kernel.create(b"g")
    kernel.write(found.node, written, 0, b"written")
    kernel.flush(found.node, written)
    for name in (b"f", b"g"):
        kernel.unlink(name)
    assert kernel.read(node, handle, 0, 9) == b"read"
    assert calls.close() == []
    assert fs.list_status("/data") == []


def test_files_that_are_being_written_are_completed_at_the_end(
    kernel: FakeKernel, fs: MemoryFileSystem, calls: Calls
) -> None:
    for name in (b"f", b"g"):
        found, handle = kernel.create(name)
        kernel.write(found.node, handle, 0, name)
    fs.recover_lease("/data/g")
    (failed,) = calls.close()
    assert failed.startswith("/data/g: ")
    assert fs.read_bytes(PATH) == b"f"


def test_the_log_says_what_was_refused_and_why(
    kernel: FakeKernel, fs: MemoryFileSystem, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    fs.write_bytes(PATH, b"12345")
    node = kernel.lookup(b"f").node
    for _ in range(3):
        with refused(errno.EOPNOTSUPP):
            kernel.open(node, os.O_RDWR)
    with refused(errno.ENOENT):
        kernel.lookup(b"missing")
    (line,) = [each.getMessage() for each in caplog.records if each.name.startswith("howdah.mount")]
    assert line.startswith(f"OPEN of {PATH} for process 7 of user 0: it is opened to read and")


def test_a_slow_file_holds_up_nobody_else(kernel: FakeKernel, fs: MemoryFileSystem) -> None:
    """One thread waits for a server, and others answer."""
    found, handle = kernel.create(b"slow")
    stream_may_go_on, waits = threading.Event(), threading.Event()
    real = fs.append

    def slow(path: str, *, new_block: bool) -> object:
        waits.set()
        stream_may_go_on.wait(30)
        return real(path, new_block=new_block)

    kernel.write(found.node, handle, 0, b"1")
    kernel.flush(found.node, handle)
    fs.append = slow  # type: ignore[method-assign, assignment]
    import struct

    from howdah.mount.protocol.operations import Operation
    from tests.support.fake_kernel import request

    body = struct.pack("=QQLLQLL", handle, 1, 1, 0, 0, 1, 0) + b"2"
    kernel.send(request(Operation.WRITE, body, unique=1001, node=found.node))
    assert waits.wait(30)
    write_new(kernel, b"quick", b"quick")
    assert kernel.getattr(found.node).size == 1
    stream_may_go_on.set()
    assert kernel.receive()[:2] == (1001, 0)
    kernel.close(found.node, handle)
    assert fs.read_bytes("/data/slow") == b"12"
