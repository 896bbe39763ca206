"""The public stream around something that offers less than it."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from howdah import errors
from howdah.fs.file_output import BinaryWriter
from howdah.fs.streams import AbortableResult, FSDataOutputStream, InnerOutput, SyncFlag

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Plain:
    """Takes bytes and has nothing else: no sync, no hints, no capabilities."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.calls: list[str] = []

    def write(self, data: memoryview) -> None:
        self.content += data

    def flush(self) -> None:
        self.calls.append("flush")

    def close(self) -> None:
        self.calls.append("close")


class Syncable(Plain):
    """Plain, and can be synced."""

    def hflush(self) -> None:
        self.calls.append("hflush")

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        self.calls.append(f"hsync {flags}" if flags else "hsync")

    def has_capability(self, capability: str) -> bool:
        return capability in ("hsync", "hflush", "fs.plain.own")


class Boaster(Plain):
    """Claims everything and has nothing."""

    def has_capability(self, capability: str) -> bool:
        return True


def wrapped(inner: InnerOutput | BinaryWriter, depth: int) -> FSDataOutputStream:
    out = inner
    for _ in range(depth):
        out = FSDataOutputStream(out, "/f")
    assert isinstance(out, FSDataOutputStream)
    return out


@pytest.mark.req("OS-075", "OS-079", "OS-024", "OS-078", "LM-051", "XC-010")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_syncs_of_a_plain_stream_come_down_to_flush_and_are_not_claimed(depth: int) -> None:
    inner = Plain()
    out = wrapped(inner, depth)
    out.write(b"data")
    out.hflush()
    out.hsync()
    assert inner.calls == ["flush", "flush"]
    assert not out.has_capability("hsync")
    assert not out.has_capability("hflush")


@pytest.mark.req("OS-006", "OS-004", "OS-100")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_probe_reaches_the_innermost_stream(depth: int) -> None:
    out = wrapped(Syncable(), depth)
    assert out.has_capability("HSync")
    assert out.has_capability("fs.plain.own")
    assert not out.has_capability("fs.plain.other")


@pytest.mark.req("OS-024")
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_syncs_reach_the_innermost_stream(depth: int) -> None:
    inner = Syncable()
    out = wrapped(inner, depth)
    out.hflush()
    out.hsync()
    out.hsync(SyncFlag.END_BLOCK)
    assert inner.calls == ["hflush", "hsync", f"hsync {SyncFlag.END_BLOCK}"]


@pytest.mark.req("OS-080", "OS-105", "OS-186", "LM-052")
@pytest.mark.parametrize("capability", ["hsync", "hflush", "dropbehind"])
def test_what_an_inner_stream_has_no_method_for_is_not_claimed(capability: str) -> None:
    assert not wrapped(Boaster(), 1).has_capability(capability)


@pytest.mark.req("OS-117", "OS-024")
@pytest.mark.parametrize("depth", [1, 2])
def test_drop_behind_is_refused_where_there_is_none(depth: int) -> None:
    out = wrapped(Plain(), depth)
    with pytest.raises(errors.UnsupportedOperation, match="/f does not offer set_drop_behind"):
        out.set_drop_behind(True)


@pytest.mark.req("OS-154", "OS-184")
def test_sync_flags_are_refused_where_there_is_no_sync() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="no sync flags"):
        wrapped(Plain(), 1).hsync(SyncFlag.UPDATE_LENGTH)


@pytest.mark.req("OS-183")
def test_abort_is_refused_unless_it_is_claimed() -> None:
    for inner in (Plain(), Boaster()):
        with pytest.raises(errors.UnsupportedOperation, match="cannot be aborted"):
            wrapped(inner, 2).abort()


@pytest.mark.req("OS-183")
def test_abort_reaches_a_stream_that_claims_it() -> None:
    class Abortable(Plain):
        def has_capability(self, capability: str) -> bool:
            return capability == "fs.capability.outputstream.abortable"

        def abort(self) -> AbortableResult:
            self.calls.append("abort")
            return AbortableResult(already_closed=False)

    inner = Abortable()
    assert wrapped(inner, 2).abort() == AbortableResult(False, None)
    assert inner.calls == ["abort"]


@pytest.mark.req("OS-033", "OS-038", "OS-057", "OS-035", "OS-169")
def test_a_closed_wrapper_refuses_writes_and_names_its_path() -> None:
    out = wrapped(Plain(), 2)
    out.close()
    for data in (b"x", 1, memoryview(b"x")):
        with pytest.raises(errors.ClosedStream, match="/f is closed"):
            out.write(data)
    for sync in (out.hflush, out.hsync):
        with pytest.raises(errors.ClosedStream, match="/f is closed"):
            sync()


@pytest.mark.req("OS-019", "OS-020", "OS-051")
def test_close_reaches_the_inner_stream_once_and_flush_not_at_all_after_it() -> None:
    inner = Plain()
    out = wrapped(inner, 2)
    for _ in range(3):
        out.close()
        out.flush()
    assert inner.calls == ["close"]


@pytest.mark.req("OS-021", "OS-022", "OS-060", "OS-062")
def test_a_close_that_fails_is_not_tried_again() -> None:
    class Failing(Plain):
        def close(self) -> None:
            super().close()
            raise OSError("no")

    inner = Failing()
    out = wrapped(inner, 2)
    with pytest.raises(OSError, match="no"):
        out.close()
    out.close()
    assert out.closed
    assert inner.calls == ["close"]


@pytest.mark.req("OS-168", "OS-019")
def test_threads_that_close_at_once_close_the_inner_stream_once() -> None:
    inner = Plain()
    out = wrapped(inner, 2)
    threads = [threading.Thread(target=out.close) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inner.calls == ["close"]


@pytest.mark.req("OS-026", "OS-029", "OS-135")
def test_writes_of_several_threads_to_a_plain_stream_stay_whole() -> None:
    inner = Plain()
    out = wrapped(inner, 1)

    def write(number: int) -> None:
        for _ in range(200):
            out.write(bytes([number]) * 10)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = [bytes(inner.content[at : at + 10]) for at in range(0, len(inner.content), 10)]
    assert sorted(records) == sorted(
        bytes([number]) * 10 for number in range(4) for _ in range(200)
    )


def test_a_raw_file_that_takes_little_at_a_time_gets_all() -> None:
    class Slow(io.RawIOBase):
        def __init__(self) -> None:
            super().__init__()
            self.content = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: Buffer) -> int:
            self.content += memoryview(data)[:3]
            return min(len(memoryview(data)), 3)

    inner = Slow()
    out = wrapped(inner, 1)
    out.write(b"0123456789")
    assert inner.content == b"0123456789"
    assert out.get_pos() == 10


def test_a_raw_file_that_takes_nothing_now_is_an_error() -> None:
    class Full(io.RawIOBase):
        def write(self, data: Buffer) -> None:
            return None

    with pytest.raises(BlockingIOError, match="/f does not take more"):
        wrapped(Full(), 1).write(b"x")


def test_a_python_file_can_be_wrapped(tmp_path: Path) -> None:
    with (tmp_path / "f").open("ab") as file:
        file.write(b"before")
        with FSDataOutputStream(file) as out:
            assert out.name == str(tmp_path / "f")
            assert out.get_pos() == 6
            out.write_int(1)
            out.flush()
            assert (tmp_path / "f").read_bytes() == b"before\0\0\0\1"
    assert file.closed


def test_what_keeps_no_statistics_says_so() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="/f keeps no statistics"):
        wrapped(Plain(), 2).statistics()
