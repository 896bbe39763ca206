"""A client whose namenode died after the edit and before the answer hears from the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.client.namenodes import active_cache
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.service.ha.states import HAState
from howdah.protocol.rpc.server_hooks import OpenBarrier
from tests.support.namenode_pair import ROOT, Pair, become, caught_up, run

QUICK = {
    "dfs.client.failover.sleep.base.millis": "5",
    "dfs.client.failover.sleep.max.millis": "20",
    "dfs.client.failover.max.attempts": "1000",
    "dfs.client.failover.random.order": "false",
}


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    active_cache.forget_all()
    yield
    active_cache.forget_all()


class Silent(OpenBarrier):
    """The barrier of a namenode that writes its log and answers nobody."""

    def __init__(self) -> None:
        self.kept = 0

    def must_wait(self, *, early: bool = False) -> bool:
        return True

    def when_clear(
        self, send: Callable[[], None], give_up: Callable[[], None] | None = None
    ) -> None:
        self.kept += 1


def prepare(fs: HdfsFileSystem) -> None:
    fs.mkdirs("/there")
    fs.create("/file").close()


def mkdir(fs: HdfsFileSystem) -> None:
    fs.mkdirs("/new")


def delete(fs: HdfsFileSystem) -> None:
    assert fs.delete("/there")
    assert not fs.delete("/there"), "another call has an id of its own"


def rename(fs: HdfsFileSystem) -> None:
    fs.rename("/file", "/renamed")
    assert fs.exists("/renamed")


def create(fs: HdfsFileSystem) -> None:
    with fs.create("/created", overwrite=False):
        pass
    with pytest.raises(errors.PathExists):
        fs.create("/created", overwrite=False)


@pytest.mark.req("FS-057", "FS-068", "FS-075")
@pytest.mark.parametrize("work", [mkdir, delete, rename, create])
def test_what_happened_is_not_run_again(
    tmp_path: Path, work: Callable[[HdfsFileSystem], None]
) -> None:
    pair = Pair(tmp_path)
    pair.format()

    async def scenario(pair: Pair) -> None:
        active, standby = await pair.serve("nn0"), await pair.serve("nn1")
        await become(active, HAState.ACTIVE)
        conf = pair.conf("nn0").with_values(QUICK)
        with HdfsFileSystem("ns", conf, ROOT) as fs:
            await asyncio.to_thread(prepare, fs)
            active._rpc.hooks.barrier = silent = Silent()
            working = asyncio.create_task(asyncio.to_thread(work, fs))
            while not silent.kept:
                await asyncio.sleep(0.002)
            await caught_up(standby, active.namesystem.last_txid)
            pair.kill("nn0")
            for connection in list(active._rpc.connections):
                connection.end()
            for listening in active._rpc._listening:
                listening.close()
            await become(standby, HAState.ACTIVE)
            await working

    run(pair, scenario)
