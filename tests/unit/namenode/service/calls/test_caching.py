"""Centralised caching from a directive to the orders of datanodes, through both protocols."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode

MIB = 1 << 20


@pytest.fixture
def cached(client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode) -> int:
    """A file in /d under a directive; the id of its block."""
    for node in nodes:
        node.cache_capacity_bytes = MIB
        node.heartbeat()
    file = client.write("/d/a", 1000)
    add_pool(client)
    direct(client, "/d")
    namenode.tick()
    return int(file.blocks[0].block_id)


def add_pool(client: Any) -> None:
    info = pb.CachePoolInfoProto(poolName="p", groupName="g")
    client.call("addCachePool", pb.AddCachePoolRequestProto(info=info))


def direct(client: Any, path: str, replication: int = 1) -> int:
    info = pb.CacheDirectiveInfoProto(path=path, pool="p", replication=replication)
    answer = client.call("addCacheDirective", pb.AddCacheDirectiveRequestProto(info=info))
    return int(answer.id)


def stats(client: Any) -> Any:
    request = pb.ListCacheDirectivesRequestProto(prevId=0, filter=pb.CacheDirectiveInfoProto())
    return client.call("listCacheDirectives", request).elements[0].stats


def holder(nodes: list[InMemoryDatanode], block_id: int) -> InMemoryDatanode:
    (found,) = [n for n in nodes if any(block_id in held for held in n.replicas.values())]
    return found


@pytest.mark.req("FS-037")
@pytest.mark.req("FS-039")
def test_a_heartbeat_brings_the_order_and_readers_learn_of_the_cache(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
) -> None:
    (located,) = client.locations("/d/a").blocks
    assert list(located.isCached) == [False]
    for node in nodes:
        node.cache()
    assert holder(nodes, cached).cached == {cached}
    (located,) = client.locations("/d/a").blocks
    assert list(located.isCached) == [True]
    namenode.tick(1000)
    assert (stats(client).bytesCached, stats(client).filesCached) == (1000, 1)


def test_a_datanode_without_memory_gets_no_order(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode
) -> None:
    client.write("/d/a", 1000)
    add_pool(client)
    direct(client, "/d")
    namenode.tick()
    for node in nodes:
        assert not [c for c in node.heartbeat() if c.HasField("blkIdCmd")]
    assert (stats(client).bytesNeeded, stats(client).bytesCached) == (1000, 0)


def test_a_deleted_file_is_uncached(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
) -> None:
    node = holder(nodes, cached)
    node.cache()
    client.delete("/d/a")
    namenode.tick(30_000)
    orders = [c.blkIdCmd for c in node.heartbeat() if c.HasField("blkIdCmd")]
    assert [(o.action, list(o.blockIds)) for o in orders] == [
        (dn.BlockIdCommandProto.UNCACHE, [cached])
    ]


def test_a_file_that_comes_into_a_directory_is_cached_at_the_next_rescan(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
) -> None:
    block_id = client.write("/d/b", 500).blocks[0].block_id
    namenode.tick(30_000)
    for node in nodes:
        node.cache()
    assert block_id in holder(nodes, block_id).cached


def test_a_block_that_is_appended_to_is_not_cached_meanwhile(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
) -> None:
    node = holder(nodes, cached)
    node.cache()
    client.append("/d/a")
    namenode.tick(30_000)
    node.cache()
    assert node.cached == set()


def test_a_dead_datanode_caches_nothing(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
) -> None:
    node = holder(nodes, cached)
    node.cache()
    assert list(namenode.namesystem.caching.cached_on(cached)) == [node.known]
    namenode.tick(namenode.settings.heartbeat_expiry_ms + 1)
    assert list(namenode.namesystem.caching.cached_on(cached)) == []


def test_a_datanode_that_comes_back_without_memory_caches_nothing(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
) -> None:
    for node in nodes:
        node.cache()
    assert list(client.locations("/d/a").blocks[0].isCached) == [True]
    node = holder(nodes, cached)
    node.cache_capacity_bytes = 0
    node.cached.clear()
    node.heartbeat()
    assert list(client.locations("/d/a").blocks[0].isCached) == [False]


def test_a_standby_gives_no_orders_and_hears_of_the_cache(
    client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
) -> None:
    node = holder(nodes, cached)
    namenode.namesystem.role.writable = False
    namenode.namesystem.become_standby()
    namenode.tick(60_000)
    assert not [c for c in node.heartbeat() if c.HasField("blkIdCmd")]
    node.cached = {cached}
    node.cache_report()
    assert list(namenode.namesystem.caching.cached_on(cached)) == [node.known]


class TestSwitchedOff:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings("", min_block_size_bytes=512, block_size_bytes=1024, caching_enabled=False)

    def test_directives_are_kept_and_nothing_is_cached(
        self,
        client: Any,
        nodes: list[InMemoryDatanode],
        namenode: InMemoryNamenode,
        cached: int,
    ) -> None:
        node = holder(nodes, cached)
        assert not [c for c in node.heartbeat() if c.HasField("blkIdCmd")]
        node.cached = {cached}
        node.cache_report()
        assert list(client.locations("/d/a").blocks[0].isCached) == [False]
        assert stats(client).bytesNeeded == 1000


@pytest.mark.req("LM-026")
class TestAdaptive:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(
            "",
            min_block_size_bytes=512,
            block_size_bytes=1024,
            cache_adaptive=True,
            cache_half_life_ms=60_000,
            cache_reads_per_replica=5,
        )

    def test_a_block_that_is_read_much_is_cached_more_often_and_less_when_it_cools(
        self, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
    ) -> None:
        hot = int(client.write("/d/b", 500, replication=3).blocks[0].block_id)
        self.settle(namenode, nodes)
        assert self.copies(nodes, hot) == 1
        for _ in range(21):
            client.locations("/d/b")
        self.settle(namenode, nodes)
        assert self.copies(nodes, hot) == 3
        assert self.copies(nodes, cached) == 1
        assert stats(client).bytesCached == 1500
        namenode.tick(300_000)
        self.settle(namenode, nodes)
        assert self.copies(nodes, hot) == 1

    def test_what_a_standby_answers_heats_nothing(
        self, client: Any, nodes: list[InMemoryDatanode], namenode: InMemoryNamenode, cached: int
    ) -> None:
        self.settle(namenode, nodes)
        adaptive = namenode.namesystem.caching.planner.adaptive
        assert adaptive is not None
        namenode.namesystem.role.writable = False
        client.locations("/d/a")
        assert len(adaptive.heat) == 0
        namenode.namesystem.role.writable = True
        client.locations("/d/a")
        assert adaptive.heat.blocks() == [cached]
        namenode.namesystem.caching.role_changed()
        assert len(adaptive.heat) == 0

    @staticmethod
    def settle(namenode: InMemoryNamenode, nodes: list[InMemoryDatanode]) -> None:
        namenode.namesystem.tick()
        for _ in range(2):
            namenode.tick(30_000)
            for node in nodes:
                node.cache()

    @staticmethod
    def copies(nodes: list[InMemoryDatanode], block_id: int) -> int:
        return sum(block_id in node.cached for node in nodes)
