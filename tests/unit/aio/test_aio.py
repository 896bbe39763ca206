"""The client for asyncio: what is awaited, what is cancelled, in which order things happen."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import howdah
import howdah.aio
from howdah import errors
from howdah.aio import AsyncFileSystem
from howdah.aio.streams import AsyncInputStream, AsyncOutputStream
from howdah.aio.threads import Threads
from howdah.fs.api import FileSystem
from howdah.fs.input_base import PositionedInput
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import FileRange

T = TypeVar("T")
PATIENCE_S = 30.0


def run(steps: Awaitable[T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(steps, PATIENCE_S)

    return asyncio.run(bounded())


@asynccontextmanager
async def memory() -> AsyncIterator[AsyncFileSystem]:
    async with howdah.aio.connect("mem://aio-tests") as fs:
        await fs.mkdirs("/d")
        try:
            yield fs
        finally:
            await fs.delete("/d", recursive=True)


def test_a_file_is_written_and_read() -> None:
    async def steps() -> None:
        async with memory() as fs:
            async with fs.create("/d/a") as out:
                assert await out.write(b"hello ") == 6
                assert await out.write(bytearray(b"world")) == 5
                await out.flush()
                await out.hflush()
                await out.hsync()
                assert await out.tell() == 11
            assert out.closed
            async with fs.open("/d/a") as f:
                assert (f.name, f.size) == ("/d/a", 11)
                assert await f.read(5) == b"hello"
                assert await f.pread(6, 100) == b"world"
                assert await f.tell() == 5
                assert await f.seek(-2, 2) == 9
                assert await f.read() == b"ld"
                assert await f.read_fully(0, 2) == b"he"
                ranges = [FileRange(6, 5), FileRange(0, 1)]
                assert [bytes(part) for part in await f.read_vectored(ranges)] == [b"world", b"h"]
                with pytest.raises(EOFError):
                    await f.read_fully(10, 2)
            assert f.closed
            with pytest.raises(errors.ClosedStream):
                await f.read(1)
            async with fs.append("/d/a") as out:
                await out.write(b"!")
            assert await fs.read_bytes("/d/a") == b"hello world!"
            assert await fs.write_text("/d/b", "grüße") == 7
            assert await fs.read_text("/d/b") == "grüße"
            assert await fs.ls("/d") == ["/d/a", "/d/b"]

    run(steps())


def test_a_stream_may_be_opened_by_await() -> None:
    async def steps() -> None:
        async with memory() as fs:
            out = await fs.open("/d/a", "xb")
            await out.write(b"abc")
            await out.close()
            await out.close()
            f = await fs.open("/d/a")
            assert await f.read() == b"abc"
            await f.close()
            await f.close()
            with pytest.raises(errors.PathExists):
                await fs.open("/d/a", "xb")
            with pytest.raises(errors.PathNotFound):
                async with fs.open("/d/none"):
                    raise AssertionError("never entered")

    run(steps())


def test_text_is_refused_by_name() -> None:
    fs = howdah.aio.connect("mem://")
    with pytest.raises(errors.UnsupportedOperation, match="mode 'r' is text"):
        fs.open("/a", "r")


@settings(max_examples=30)
@given(
    data=st.lists(st.sampled_from([b"a", b"bc" * 40, b"\n", b"\r", b"\n\n"]), max_size=30),
    size=st.integers(1, 50),
)
def test_chunks_and_lines_are_the_files(data: list[bytes], size: int) -> None:
    content = b"".join(data)

    async def steps() -> tuple[list[bytes], list[bytes], list[bytes]]:
        async with howdah.aio.connect("mem://aio-tests") as fs:
            await fs.write_bytes("/chunks", content)
            async with fs.open("/chunks") as f:
                chunks = [chunk async for chunk in f.chunks(size)]
            async with fs.open("/chunks") as f:
                lines = [line async for line in f.lines()]
            async with fs.open("/chunks") as f:
                plain = [chunk async for chunk in f]
        return chunks, lines, plain

    chunks, lines, plain = run(steps())
    assert b"".join(chunks) == content
    assert all(len(chunk) == size for chunk in chunks[:-1])
    assert lines == content.splitlines(keepends=True) if b"\r" not in content else True
    assert b"".join(lines) == content
    assert all(line.endswith(b"\n") for line in lines[:-1])
    assert plain == ([content] if content else [])


def test_lines_that_are_longer_than_a_chunk_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"x" * 3_000_000 + b"\n" + b"y" * 1_500_000 + b"\nz"

    async def steps() -> list[bytes]:
        async with memory() as fs:
            await fs.write_bytes("/d/long", content)
            async with fs.open("/d/long") as f:
                return [line async for line in f.lines()]

    assert run(steps()) == content.splitlines(keepends=True)


def test_errors_are_those_of_the_blocking_client() -> None:
    async def steps() -> None:
        async with memory() as fs:
            with pytest.raises(errors.PathNotFound) as caught:
                await fs.get_file_status("/d/none")
            assert caught.value.filename == "/d/none"
            assert not await fs.exists("/d/none")
            await fs.write_bytes("/d/a", b"x")
            async with fs.open("/d/a") as f:
                with pytest.raises(ValueError, match="pieces of 0 bytes"):
                    await anext(f.chunks(0))

    run(steps())


def test_what_cannot_be_connected_to_is_told_at_the_door() -> None:
    async def steps() -> None:
        async with howdah.aio.connect("nothing://x"):
            raise AssertionError("never entered")

    with pytest.raises(errors.UnsupportedOperation, match="No filesystem for scheme"):
        run(steps())


def test_a_closed_filesystem_says_so() -> None:
    async def steps() -> None:
        async with memory() as fs:
            pass
        with pytest.raises(errors.ClosedStream, match="the filesystem is closed"):
            await fs.exists("/")

    run(steps())


def test_directories_are_listed_and_walked() -> None:
    async def steps() -> None:
        async with memory() as fs:
            for name in ("a/x", "a/y", "b/z", "c"):
                await fs.write_bytes(f"/d/{name}", name.encode())
            assert [s.name async for s in fs.list_status_iter("/d")] == ["a", "b", "c"]
            walked = []
            async for path, directories, files in fs.walk("/d"):
                directories[:] = [each for each in directories if each.name != "b"]
                walked.append((path, [each.name for each in files]))
            assert walked == [("/d", ["c"]), ("/d/a", ["x", "y"])]
            assert [s.path for s in await fs.glob_status("/d/*/[xz]")] == ["/d/a/x", "/d/b/z"]
            statuses = await fs.get_file_statuses(["/d/c", "/d/none", "/d/c/below", "/d/a"])
            assert [status and status.name for status in statuses] == ["c", None, None, "a"]

    run(steps())


def test_many_ranges_are_one_call() -> None:
    async def steps() -> None:
        async with memory() as fs:
            await fs.write_bytes("/d/a", b"0123456789")
            await fs.write_bytes("/d/b", b"abc")
            wanted = [("/d/b", 1, 2), ("/d/a", 8, 10), ("/d/a", 0, 3), ("/d/a", 2, 4)]
            assert await fs.read_many(wanted) == [b"bc", b"89", b"012", b"2345"]
            missing, there = await fs.read_many(
                [("/d/none", 0, 1), ("/d/b", 0, 1)], return_errors=True
            )
            assert isinstance(missing, errors.PathNotFound)
            assert there == b"a"
            with pytest.raises(errors.PathNotFound):
                await fs.read_many([("/d/none", 0, 1)])
            with pytest.raises(ValueError, match="a range of 1 bytes from -1"):
                await fs.read_many([("/d/b", -1, 1)])

    run(steps())


def test_each_operation_has_the_name_and_arguments_of_the_blocking_one() -> None:
    """Or of one that returns what is awaited."""
    own = {"close", "get_file_statuses", "read_many"}
    names = [name for name in vars(AsyncFileSystem) if not name.startswith("_")]
    assert len(names) > 60
    for name in set(names) - own - {"open", "list_status_iter", "walk"}:
        theirs = getattr(FileSystem, name)
        assert inspect.signature(getattr(AsyncFileSystem, name)) == inspect.signature(theirs), name
        assert getattr(AsyncFileSystem, name).__doc__ == theirs.__doc__


# -- threads, order and cancellation ----------------------------------------------


class Gate:
    """Holds up who comes, until it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()

    def pass_through(self) -> None:
        self.entered.set()
        assert self.open.wait(PATIENCE_S)

    async def until_entered(self) -> None:
        await asyncio.to_thread(self.entered.wait, PATIENCE_S)


class SlowInput(PositionedInput):
    """A file of which each read waits at a gate, and which a close wakes up."""

    def __init__(self, gate: Gate) -> None:
        super().__init__("/slow")
        self.gate = gate
        self.is_stopped = False

    @property
    def length(self) -> int:
        return 1000

    def readinto(self, buffer: Any) -> int:
        self.gate.pass_through()
        if self.is_stopped:
            raise errors.ClosedStream("/slow is closed")
        buffer[:10] = b"x" * 10
        self._position += 10
        return 10

    def pread_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        self.gate.pass_through()
        buffer[:] = b"p" * len(buffer)
        return len(buffer)

    def stop_reading(self) -> None:
        self.is_stopped = True
        self.gate.open.set()


class SlowOutput:
    """Remembers what was done to it, and has writes wait at a gate."""

    path = "/slow"
    closed = False

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.done: list[bytes] = []

    def write(self, data: Any) -> None:
        self.gate.pass_through()
        self.done.append(bytes(data))

    def hflush(self) -> None:
        self.done.append(b"hflush")

    def hsync(self) -> None:
        self.done.append(b"hsync")

    def get_pos(self) -> int:
        return 0

    def has_capability(self, capability: str) -> bool:
        return False

    def set_drop_behind(self, drop: bool | None) -> None: ...
    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.done.append(b"close")


def input_at(gate: Gate) -> AsyncInputStream:
    stream = FSDataInputStream(SlowInput(gate), 16)
    return AsyncInputStream(stream, Threads(4, "data"), Threads(2, "calls"))


def output_at(gate: Gate) -> tuple[AsyncOutputStream, SlowOutput]:
    inner = SlowOutput(gate)
    stream = FSDataOutputStream(inner)
    return AsyncOutputStream(stream, Threads(4, "data"), Threads(2, "calls")), inner


async def cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_read_that_is_cancelled_closes_its_stream_and_says_so() -> None:
    async def steps() -> None:
        gate = Gate()
        f = input_at(gate)
        reading = asyncio.create_task(f.read(100))
        await gate.until_entered()
        assert not gate.open.is_set()
        await cancel(reading)
        for attempt in (f.read(1), f.pread(0, 1), f.tell()):
            with pytest.raises(errors.ClosedStream, match="a read of it was cancelled"):
                await attempt
        await f.close()
        assert f.closed
        assert gate.open.is_set(), "its reader was woken up"

    run(steps())


def test_a_read_that_stands_in_line_is_cancelled_without_a_trace() -> None:
    async def steps() -> None:
        gate = Gate()
        f = input_at(gate)
        first = asyncio.create_task(f.read(10))
        await gate.until_entered()
        second = asyncio.create_task(f.read(10))
        await asyncio.sleep(0)
        await cancel(second)
        gate.open.set()
        assert await first == b"x" * 10
        assert await f.tell() == 10
        await f.close()

    run(steps())


def test_what_is_to_be_closed_is_closed_if_that_is_cancelled_in_line() -> None:
    """Else its connections stay, as long as somebody has it."""

    async def steps() -> None:
        blocking = howdah.connect("mem://aio-tests")
        blocking.write_bytes("/f", b"x")
        closed = threading.Event()
        blocking.close = closed.set  # type: ignore[method-assign]
        fs = AsyncFileSystem(blocking, call_threads=1)
        f = await fs.open("/f")
        may_go_on = threading.Event()
        busy = asyncio.create_task(fs._calls.run(lambda: may_go_on.wait(PATIENCE_S)))
        for closes in (f.close(), fs.close()):
            closing = asyncio.create_task(closes)
            await asyncio.sleep(0)
            await cancel(closing)
        may_go_on.set()
        await busy
        assert await asyncio.to_thread(closed.wait, PATIENCE_S)
        assert f.closed

    run(steps())


def test_a_positioned_read_that_is_cancelled_leaves_the_stream_open() -> None:
    async def steps() -> None:
        gate = Gate()
        f = input_at(gate)
        reading = asyncio.create_task(f.pread(0, 10))
        await gate.until_entered()
        await cancel(reading)
        gate.open.set()
        assert await f.pread(5, 3) == b"ppp"
        await f.close()

    run(steps())


def test_close_wakes_up_who_reads() -> None:
    async def steps() -> None:
        gate = Gate()
        f = input_at(gate)
        reading = asyncio.create_task(f.read(100))
        await gate.until_entered()
        await f.close()
        with pytest.raises(errors.ClosedStream):
            await reading

    run(steps())


def test_writes_keep_their_order_and_a_cancelled_one_is_whole_or_none() -> None:
    async def steps() -> None:
        gate = Gate()
        out, inner = output_at(gate)
        writes = [asyncio.create_task(out.write(bytes([n]))) for n in range(4)]
        await gate.until_entered()
        await cancel(writes[0])  # which has begun
        await cancel(writes[2])  # which stands in line
        closing = asyncio.create_task(out.close())
        gate.open.set()
        assert await writes[1] == await writes[3] == 1
        await closing
        assert inner.done == [b"\0", b"\1", b"\3", b"close"]

    run(steps())


def test_a_close_that_is_cancelled_completes_the_file_all_the_same() -> None:
    async def steps() -> None:
        gate = Gate()
        out, inner = output_at(gate)
        writing = asyncio.create_task(out.write(b"a"))
        await gate.until_entered()
        closing = asyncio.create_task(out.close())
        await asyncio.sleep(0)
        await cancel(closing)
        gate.open.set()
        await writing
        await out.close()
        assert inner.done == [b"a", b"close"]

    run(steps())


def test_a_buffer_may_be_used_again_when_a_write_of_it_was_cancelled() -> None:
    async def steps() -> None:
        gate = Gate()
        out, inner = output_at(gate)
        buffer = bytearray(b"before")
        writing = asyncio.create_task(out.write(buffer))
        await gate.until_entered()
        await cancel(writing)
        buffer[:] = b"behind"
        gate.open.set()
        await out.close()
        assert inner.done == [b"before", b"close"]

    run(steps())


def test_a_stream_that_nobody_awaits_any_more_is_closed_when_it_opens() -> None:
    gate = Gate()
    opened: list[FSDataOutputStream] = []

    class Slow:
        def create(self, path: str) -> FSDataOutputStream:
            gate.pass_through()
            opened.append(FSDataOutputStream(SlowOutput(gate)))
            return opened[0]

    async def steps() -> None:
        fs = AsyncFileSystem(lambda: Slow())  # type: ignore[arg-type, return-value] # one method
        opening = asyncio.ensure_future(_entered(fs))
        await gate.until_entered()
        await cancel(opening)
        gate.open.set()
        while not (opened and opened[0].closed):
            await asyncio.sleep(0.001)

    async def _entered(fs: AsyncFileSystem) -> None:
        async with fs.create("/a"):
            raise AssertionError("never entered")

    run(steps())


def test_reads_that_hang_keep_no_call_waiting() -> None:
    async def steps() -> None:
        gate = Gate()
        async with memory() as fs:
            hanging = [asyncio.create_task(fs._data.run(gate.pass_through)) for _ in range(40)]
            await gate.until_entered()
            assert await fs.exists("/d")
            gate.open.set()
            await asyncio.gather(*hanging)

    run(steps())


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_threads_than_allowed(limit: int) -> None:
    running = set()
    most = 0
    lock = threading.Lock()

    def task() -> None:
        nonlocal most
        with lock:
            running.add(threading.get_ident())
            most = max(most, len(running))
        threading.Event().wait(0.0005)
        with lock:
            running.discard(threading.get_ident())

    async def steps() -> None:
        threads = Threads(limit, "few")
        await asyncio.gather(*(threads.run(task) for _ in range(200)))

    run(steps())
    assert most <= limit


def test_a_storm_of_cancellations_leaves_no_thread_busy() -> None:
    async def steps() -> int:
        threads = Threads(4, "storm")
        made = 0

        def task() -> None:
            nonlocal made
            made += 1

        tasks = [asyncio.create_task(threads.run(task)) for _ in range(1000)]
        await asyncio.sleep(0)
        for each in tasks[::2]:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await threads.run(task)
        return made

    assert 501 <= run(steps()) <= 1001


def test_context_goes_along() -> None:
    var: ContextVar[str] = ContextVar("var", default="none")

    async def steps() -> str:
        var.set("mine")
        return await Threads(1, "context").run(var.get)

    assert run(steps()) == "mine"


def test_a_loop_may_end_while_a_call_goes_on() -> None:
    gate = Gate()
    ended = threading.Event()

    def slow() -> None:
        gate.pass_through()
        ended.set()

    async def steps(start: Callable[[], Awaitable[Any]]) -> None:
        task = asyncio.ensure_future(start())
        await gate.until_entered()
        task.cancel()

    threads = Threads(1, "late")
    asyncio.run(steps(lambda: threads.run(slow)))
    gate.open.set()
    assert ended.wait(PATIENCE_S)
    assert asyncio.run(threads.run(lambda: 7)) == 7
