"""The client for asyncio on real servers."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import howdah.aio
from howdah import errors
from howdah.aio.filesystem import CALL_THREADS, DATA_THREADS, AsyncFileSystem
from howdah.testing import MiniCluster

MIB = 1 << 20
_numbers = itertools.count()


@asynccontextmanager
async def place(cluster: MiniCluster) -> AsyncIterator[tuple[AsyncFileSystem, str]]:
    async with howdah.aio.connect(cluster.uri) as fs:
        path = f"/aio/{next(_numbers)}"
        await fs.mkdirs(path)
        yield fs, path


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("howdah-aio")}


def test_a_thousand_reads_at_once_have_few_threads(howdah_cluster: MiniCluster) -> None:
    contents = [random.Random(n).randbytes(4096) for n in range(50)]
    most = 0
    of_others = threads()  # which end when they have been idle for a while

    async def read(fs: AsyncFileSystem, path: str, number: int) -> None:
        nonlocal most
        async with fs.open(f"{path}/{number % 50}") as f:
            assert await f.read() == contents[number % 50]
            at = number % 4000
            assert await f.pread(at, 10) == contents[number % 50][at : at + 10]
        most = max(most, len(threads() - of_others))

    async def steps() -> None:
        async with place(howdah_cluster) as (fs, path):
            await asyncio.gather(
                *(fs.write_bytes(f"{path}/{n}", data) for n, data in enumerate(contents))
            )
            await asyncio.gather(*(read(fs, path, number) for number in range(1000)))
            statuses = await fs.get_file_statuses([f"{path}/{n}" for n in range(51)])
            assert [status and status.length for status in statuses] == [4096] * 50 + [None]
            wanted = [(f"{path}/{n % 50}", n, n) for n in range(200)]
            assert await fs.read_many(wanted) == [contents[n % 50][n : n + n] for n in range(200)]

    asyncio.run(steps())
    assert 0 < most <= CALL_THREADS + DATA_THREADS


def test_a_large_file_goes_through_in_chunks(howdah_cluster: MiniCluster) -> None:
    content = random.Random(1).randbytes(9 * MIB + 5)

    async def steps() -> None:
        async with place(howdah_cluster) as (fs, path):
            async with fs.create(f"{path}/large", replication=1) as out:
                for at in range(0, len(content), MIB):
                    await out.write(content[at : at + MIB])
                await out.hsync()
                assert await out.tell() == len(content)
            async with fs.open(f"{path}/large") as f:
                assert b"".join([chunk async for chunk in f.chunks(700_000)]) == content
            async with fs.append(f"{path}/large") as out:
                await out.write(b"more")
            assert (await fs.get_file_status(f"{path}/large")).length == len(content) + 4

    asyncio.run(steps())


def test_a_storm_of_cancelled_reads_leaves_the_filesystem_whole(
    howdah_cluster: MiniCluster,
) -> None:
    content = random.Random(2).randbytes(MIB)
    rng = random.Random(3)

    async def read(fs: AsyncFileSystem, path: str) -> bytes:
        async with fs.open(path) as f:
            return b"".join([chunk async for chunk in f.chunks(64 << 10)])

    async def steps() -> None:
        async with place(howdah_cluster) as (fs, path):
            await fs.write_bytes(f"{path}/a", content)
            for _ in range(5):
                tasks = [asyncio.create_task(read(fs, f"{path}/a")) for _ in range(60)]
                left = tasks[:3]
                for task in tasks[3:]:
                    # Any moment of a read may be the one.
                    await asyncio.sleep(rng.random() / 1000)
                    task.cancel()
                outcomes = await asyncio.gather(*tasks, return_exceptions=True)
                assert all(task.result() == content for task in left)
                for outcome in outcomes:
                    assert outcome == content or isinstance(outcome, asyncio.CancelledError)
            assert await fs.read_bytes(f"{path}/a") == content
            # All threads are free again: each waits here for all others.
            meeting = threading.Barrier(DATA_THREADS)
            calls = (fs._data.run(lambda: meeting.wait(60)) for _ in range(DATA_THREADS))
            assert sorted(await asyncio.gather(*calls)) == list(range(DATA_THREADS))

    asyncio.run(steps())


def test_a_file_whose_writer_is_cancelled_is_closed(howdah_cluster: MiniCluster) -> None:
    async def write(fs: AsyncFileSystem, path: str, began: asyncio.Event) -> None:
        async with fs.create(path) as out:
            for _ in range(1_000_000):
                await out.write(b"x" * 1000)
                began.set()

    async def steps() -> None:
        async with place(howdah_cluster) as (fs, path):
            began = asyncio.Event()
            writing = asyncio.create_task(write(fs, f"{path}/a", began))
            await began.wait()
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
            assert await fs.is_file_closed(f"{path}/a")
            status = await fs.get_file_status(f"{path}/a")
            assert status.length >= 1000
            assert status.length % 1000 == 0
            with pytest.raises(errors.PathExists):
                await fs.write_bytes(f"{path}/a", b"", overwrite=False)

    asyncio.run(steps())


def test_a_web_application_streams_a_file(howdah_cluster: MiniCluster) -> None:
    """As docs/python.md shows it."""
    responses = pytest.importorskip("starlette.responses")
    content = random.Random(4).randbytes(3 * MIB + 1)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        await asyncio.Event().wait()  # the browser stays
        raise AssertionError("unreachable")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def steps() -> None:
        async with place(howdah_cluster) as (fs, path):
            await fs.write_bytes(f"{path}/a", content)
            f = await fs.open(f"{path}/a")

            async def body() -> AsyncIterator[bytes]:
                async with f:
                    async for chunk in f:
                        yield chunk

            length = {"content-length": str(f.size)}
            scope = {"type": "http", "method": "GET", "headers": [], "asgi": {}}
            await responses.StreamingResponse(body(), headers=length)(scope, receive, send)
            assert f.closed

    asyncio.run(steps())
    assert sent[0]["status"] == 200
    assert b"".join(message["body"] for message in sent[1:]) == content
    assert len(sent) < 10, "by chunks, not by lines"
