"""An observer answers reads of our client, as new as what the client has seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from howdah.client.namenodes import active_cache
from howdah.client.namenodes.call_loop import FailoverCalls
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.service import WireAnswer
from tests.support.namenode_pair import ROOT, Pair, become, run

ACTIVE, OBSERVER, STANDBY = HAState.ACTIVE, HAState.OBSERVER, HAState.STANDBY
PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider"

T = TypeVar("T")


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    active_cache.forget_all()
    yield
    active_cache.forget_all()


class Observed:
    """nn0 is active and nn1 observes; both serve."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.active: Namenode
        self.observer: Namenode

    async def begin(self) -> None:
        self.active = await self.pair.serve("nn0")
        self.observer = await self.pair.serve("nn1")
        await become(self.active, ACTIVE)
        await become(self.observer, OBSERVER)

    def client(self, *, provider: str = PROVIDER) -> HdfsFileSystem:
        values = {
            "dfs.client.failover.proxy.provider.ns": provider,
            "dfs.client.failover.sleep.base.millis": "1",
            "dfs.client.failover.max.attempts": "3",
            "dfs.client.failover.random.order": "false",
        }
        return HdfsFileSystem("ns", self.pair.conf("nn0").with_values(values), ROOT)

    def answered(self, namenode: Namenode) -> list[str]:
        """The methods that this namenode is asked from now on."""
        dispatch = namenode.registry.dispatch_to_wire
        found: list[str] = []

        def noting(call: Call) -> WireAnswer:
            found.append(call.method)
            return dispatch(call)

        namenode.registry.dispatch_to_wire = noting  # type: ignore[method-assign]
        return found


@pytest.fixture
def observe(tmp_path: Path) -> Callable[..., object]:
    def in_world(scenario: Callable[[Observed], Awaitable[T]], **settings: Any) -> T:
        pair = Pair(tmp_path, **settings)
        pair.format()

        async def main(pair: Pair) -> T:
            world = Observed(pair)
            await world.begin()
            return await scenario(world)

        return run(pair, main)

    return in_world


Observe = Callable[..., object]


def test_a_client_sees_its_own_changes_at_an_observer(observe: Observe) -> None:
    async def scenario(world: Observed) -> None:
        asked = world.answered(world.observer)

        def work() -> None:
            with closing(world.client()) as fs:
                for number in range(20):
                    fs.mkdirs(f"/{number}")
                    assert fs.is_directory(f"/{number}")

        await asyncio.to_thread(work)
        assert asked.count("getFileInfo") == 20

    observe(scenario)


def test_msync_shows_what_others_have_done(observe: Observe) -> None:
    async def scenario(world: Observed) -> None:
        asked = world.answered(world.observer)

        def work() -> None:
            with closing(world.client()) as reader, closing(world.client()) as writer:
                for number in range(10):
                    writer.mkdirs(f"/{number}")
                    reader.msync()
                    assert reader.is_directory(f"/{number}")

        await asyncio.to_thread(work)
        assert asked.count("getFileInfo") == 10

    observe(scenario)


def test_a_read_waits_for_the_log_and_no_longer(observe: Observe) -> None:
    async def scenario(world: Observed) -> None:
        assert world.observer.ha is not None
        tailing = world.observer.ha.tailing
        await tailing.stop()
        reads = world.observer._observer_reads

        def work() -> bool:
            with closing(world.client()) as fs:
                fs.mkdirs("/a")
                return fs.is_directory("/a")

        working = asyncio.create_task(asyncio.to_thread(work))
        while not reads.waiting:
            await asyncio.sleep(0.002)
        assert not working.done()
        tailing.start()
        assert await working
        assert not reads.waiting

    observe(scenario)


def test_a_read_that_waits_when_the_role_changes_is_answered_by_the_active(
    observe: Observe,
) -> None:
    async def scenario(world: Observed) -> None:
        assert world.observer.ha is not None
        await world.observer.ha.tailing.stop()
        reads = world.observer._observer_reads
        asked = world.answered(world.active)

        def work() -> bool:
            with closing(world.client()) as fs:
                fs.mkdirs("/a")
                return fs.is_directory("/a")

        working = asyncio.create_task(asyncio.to_thread(work))
        while not reads.waiting:
            await asyncio.sleep(0.002)
        await become(world.observer, STANDBY)
        assert await working
        assert "getFileInfo" in asked

    observe(scenario)


def test_a_client_that_knows_of_no_observers_is_sent_to_the_active(observe: Observe) -> None:
    async def scenario(world: Observed) -> None:
        asked = world.answered(world.active)

        def work() -> None:
            with closing(world.client(provider="ConfiguredFailoverProxyProvider")) as fs:
                fs.mkdirs("/a")
                assert fs.is_directory("/a")
            calls = fs.client.namenode._calls
            assert isinstance(calls, FailoverCalls)
            active_cache.remember(calls._connections.target, "nn1")
            with closing(world.client(provider="ConfiguredFailoverProxyProvider")) as fs:
                assert fs.is_directory("/a")

        await asyncio.to_thread(work)
        assert asked.count("getFileInfo") == 2

    observe(scenario)
