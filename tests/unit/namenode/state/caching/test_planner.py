"""What is cached where: the planner against any history of reports, orders and changes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from howdah.formats.edits import cache_edits as ce
from howdah.namenode.state.caching.adaptive import Adaptive
from howdah.namenode.state.caching.planner import SLICE, CacheableFile, CachePlanner, CachingNode
from howdah.namenode.state.caching.pools import NEVER_MS, UNLIMITED, CachePools

BLOCK = 100


@dataclass(eq=False)
class Node:
    """A datanode: memory for some blocks, and what it does with orders."""

    name: str
    cache_capacity_bytes: int = 10 * BLOCK
    cached: set[int] = field(default_factory=set)
    xceivers: int = 0

    @property
    def cache_used_bytes(self) -> int:
        return BLOCK * len(self.cached)

    @cache_used_bytes.setter
    def cache_used_bytes(self, value: int) -> None:
        raise AssertionError(value)


class World:
    """Files are lists of complete blocks; every block has its holders."""

    def __init__(self) -> None:
        self.now_ms = 1000
        self.tree: dict[str, list[list[int]]] = {}
        self.held: dict[int, list[Node]] = {}
        self.stale: set[str] = set()

    def files(self, path: str) -> Iterator[CacheableFile]:
        for blocks in self.tree.get(path, ()):
            yield CacheableFile(BLOCK * len(blocks), [(block, BLOCK) for block in blocks])

    def length_bytes(self, block_id: int) -> int | None:
        return BLOCK if block_id in self.held else None

    def holders(self, block_id: int) -> Sequence[Node]:
        return self.held.get(block_id, ())

    def is_stale(self, node: CachingNode) -> bool:
        assert isinstance(node, Node)
        return node.name in self.stale

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


class Cluster:
    def __init__(
        self,
        nodes: int = 3,
        retry_ms: int = 30_000,
        adaptive: Adaptive | None = None,
        seed: int = 7,
    ) -> None:
        self.world = World()
        self.pools = CachePools()
        self.nodes = [Node(f"dn{n}") for n in range(nodes)]
        self.planner = CachePlanner(
            self.pools, self.world, random.Random(seed), retry_ms=retry_ms, adaptive=adaptive
        )
        self.now_ms = 0
        self.pool("p")

    def pool(self, name: str, limit_bytes: int = UNLIMITED) -> None:
        op = ce.AddCachePoolOp(name, "o", "g", 0o755, limit_bytes, None, None)
        self.pools.appliers[ce.AddCachePoolOp](op)

    def directive(
        self,
        number: int,
        path: str,
        replication: int = 1,
        *,
        pool: str = "p",
        expiry_ms: int = NEVER_MS,
    ) -> None:
        op = ce.AddCacheDirectiveOp(number, path, replication, pool, expiry_ms)
        self.pools.appliers[ce.AddCacheDirectiveOp](op)

    def remove(self, number: int) -> None:
        op = ce.RemoveCacheDirectiveOp(number)
        self.pools.appliers[ce.RemoveCacheDirectiveOp](op)

    def file(self, path: str, *blocks: int, on: Sequence[int] = (0, 1, 2)) -> None:
        self.world.tree.setdefault(path, []).append(list(blocks))
        for block in blocks:
            self.world.held[block] = [self.nodes[n] for n in on]

    def rescan(self) -> None:
        for _ in self.planner.rescan():
            pass

    def obey(self, node: Node, *, report: bool = True) -> tuple[list[int], list[int]]:
        """A heartbeat: the orders are carried out as far as there is memory."""
        self.now_ms += 100_000
        to_cache, to_uncache = self.planner.orders(node, self.now_ms)
        node.cached -= set(to_uncache)
        for block in to_cache:
            if node.cache_used_bytes + BLOCK <= node.cache_capacity_bytes:
                node.cached.add(block)
        if report:
            self.planner.reported(node, node.cached)
        return to_cache, to_uncache

    def settle(self) -> None:
        for _ in range(3):
            self.rescan()
            for node in self.nodes:
                self.obey(node)

    def read(self, block: int, times: int) -> None:
        for _ in range(times):
            self.planner.read(block, self.world.now_ms)

    def copies(self, block: int) -> int:
        return sum(block in node.cached for node in self.nodes)


@pytest.mark.req("FS-037")
@pytest.mark.req("FS-171")
def test_a_block_is_cached_on_one_of_its_holders() -> None:
    cluster = Cluster()
    cluster.file("/a", 1, 2, on=(1,))
    cluster.directive(1, "/a")
    cluster.settle()
    assert [node.cached for node in cluster.nodes] == [set(), {1, 2}, set()]
    assert list(cluster.planner.cached_on(1)) == [cluster.nodes[1]]


@pytest.mark.req("FS-038")
def test_as_many_datanodes_cache_a_block_as_the_directives_ask_for_at_most() -> None:
    cluster = Cluster()
    cluster.file("/a", 1)
    cluster.directive(1, "/a", 2)
    cluster.directive(2, "/a", 1)
    cluster.settle()
    assert cluster.copies(1) == 2
    cluster.directive(3, "/a", 9)
    cluster.settle()
    assert cluster.copies(1) == 3


@pytest.mark.req("FS-041")
def test_after_its_expiry_a_directive_caches_nothing() -> None:
    cluster = Cluster()
    cluster.file("/a", 1)
    cluster.directive(1, "/a", expiry_ms=2000)
    cluster.settle()
    assert cluster.copies(1) == 1
    cluster.world.now_ms = 2000
    cluster.settle()
    assert cluster.copies(1) == 0
    assert cluster.planner.is_outdated is False


def test_what_no_directive_asks_for_is_uncached() -> None:
    cluster = Cluster()
    cluster.file("/a", 1)
    cluster.directive(1, "/a")
    cluster.settle()
    cluster.remove(1)
    cluster.settle()
    assert cluster.copies(1) == 0
    assert cluster.planner.is_idle


def test_what_a_datanode_caches_on_its_own_is_uncached() -> None:
    cluster = Cluster()
    cluster.nodes[0].cached.add(77)
    cluster.planner.reported(cluster.nodes[0], {77})
    cluster.settle()
    assert cluster.nodes[0].cached == set()


def test_no_datanode_is_asked_for_more_than_its_memory() -> None:
    cluster = Cluster(1)
    cluster.nodes[0].cache_capacity_bytes = 2 * BLOCK
    cluster.file("/a", 1, 2, 3, on=(0,))
    cluster.directive(1, "/a")
    cluster.rescan()
    assert cluster.planner.orders(cluster.nodes[0], 0) == ([1, 2], [])


def test_the_oldest_directive_comes_first_when_memory_is_short() -> None:
    cluster = Cluster(1)
    cluster.nodes[0].cache_capacity_bytes = 2 * BLOCK
    cluster.file("/new", 1, 2, on=(0,))
    cluster.file("/old", 3, on=(0,))
    cluster.directive(1, "/old")
    cluster.directive(2, "/new")
    cluster.settle()
    assert cluster.nodes[0].cached == {3, 1}


def test_memory_that_is_given_up_is_planned_with() -> None:
    cluster = Cluster(1)
    cluster.nodes[0].cache_capacity_bytes = BLOCK
    cluster.file("/a", 1, on=(0,))
    cluster.file("/b", 2, on=(0,))
    cluster.directive(1, "/a")
    cluster.settle()
    cluster.remove(1)
    cluster.directive(2, "/b")
    cluster.rescan()
    assert cluster.obey(cluster.nodes[0]) == ([2], [1])
    assert cluster.nodes[0].cached == {2}


def test_a_stale_datanode_comes_last() -> None:
    cluster = Cluster()
    cluster.world.stale = {"dn0", "dn1"}
    cluster.file("/a", 1)
    cluster.directive(1, "/a")
    cluster.settle()
    assert cluster.nodes[2].cached == {1}


def spread(loads: Sequence[int], *, free: Sequence[int] = (1, 1, 1)) -> list[int]:
    """On how many of many planned clusters each of three datanodes caches the only block."""
    found = [0, 0, 0]
    for seed in range(300):
        cluster = Cluster(seed=seed)
        for node, load, blocks in zip(cluster.nodes, loads, free, strict=True):
            node.xceivers = load
            node.cached = set(range(100, 100 + 10 - blocks))
        cluster.file("/a", 1)
        cluster.directive(1, "/a")
        cluster.rescan()
        for place, node in enumerate(cluster.nodes):
            found[place] += 1 in cluster.planner.orders(node, 0)[0]
    assert sum(found) == 300
    return found


def test_a_busy_datanode_is_chosen_less_often() -> None:
    """One without load counts whole, one at the mean of the holders about half: of 300 here
    about 132, 132 and 35."""
    idle, too, busy = spread([0, 0, 30])
    assert min(idle, too) > 110
    assert 0 < busy < 45
    assert min(spread([7, 7, 7])) > 70
    assert min(spread([0, 0, 0])) > 70


def test_load_and_free_memory_count_both() -> None:
    idle_and_full, busy_and_empty, _ = spread([0, 20, 1000], free=[1, 10, 1])
    assert busy_and_empty > 2 * idle_and_full


def test_a_load_of_any_number_is_no_reason_to_fail() -> None:
    assert sum(spread([2**32 - 1, 2**32 - 1, 0])) == 300


def test_the_surplus_leaves_where_memory_is_shortest() -> None:
    cluster = Cluster()
    cluster.file("/a", 1)
    cluster.directive(1, "/a", 3)
    cluster.settle()
    cluster.nodes[1].cache_capacity_bytes = BLOCK
    cluster.remove(1)
    cluster.directive(2, "/a", 2)
    cluster.settle()
    assert [1 in node.cached for node in cluster.nodes] == [True, False, True]


def test_an_order_is_repeated_after_the_retry_interval() -> None:
    cluster = Cluster(1)
    node = cluster.nodes[0]
    cluster.file("/a", 1, on=(0,))
    cluster.directive(1, "/a")
    cluster.rescan()
    assert cluster.planner.orders(node, 0) == ([1], [])
    assert cluster.planner.orders(node, 29_999) == ([], [])
    assert cluster.planner.orders(node, 30_000) == ([1], [])


def test_an_order_is_repeated_at_once_to_a_datanode_that_has_registered_again() -> None:
    cluster = Cluster(1)
    node = cluster.nodes[0]
    cluster.planner.registered(node)
    cluster.file("/a", 1, on=(0,))
    cluster.directive(1, "/a")
    cluster.rescan()
    assert cluster.planner.orders(node, 0) == ([1], [])
    cluster.planner.registered(node)
    assert cluster.planner.orders(node, 1) == ([1], [])


def test_the_cache_of_a_dead_datanode_is_made_good_elsewhere() -> None:
    cluster = Cluster()
    cluster.file("/a", 1)
    cluster.directive(1, "/a")
    cluster.settle()
    (dead,) = cluster.planner.cached_on(1)
    assert isinstance(dead, Node)
    cluster.world.held[1].remove(dead)
    cluster.nodes.remove(dead)
    cluster.planner.forget(dead)
    assert list(cluster.planner.cached_on(1)) == []
    cluster.settle()
    assert cluster.copies(1) == 1


def test_an_order_goes_when_its_datanode_has_the_replica_no_more() -> None:
    cluster = Cluster()
    cluster.file("/a", 1, on=(0,))
    cluster.directive(1, "/a")
    cluster.rescan()
    cluster.world.held[1] = [cluster.nodes[2]]
    cluster.rescan()
    assert cluster.planner.orders(cluster.nodes[0], 0) == ([], [])
    assert cluster.planner.orders(cluster.nodes[2], 0) == ([1], [])


def test_a_pool_at_its_limit_caches_the_files_that_fit() -> None:
    cluster = Cluster()
    cluster.pool("small", 3 * BLOCK)
    cluster.file("/d", 1, 2)
    cluster.file("/d", 3)
    cluster.file("/d", 4)
    cluster.directive(1, "/d", pool="small")
    cluster.settle()
    cluster.rescan()
    assert [cluster.copies(block) for block in (1, 2, 3, 4)] == [1, 1, 1, 0]
    (directive,) = cluster.pools.directives_after(0)
    figures = cluster.planner.of_directive(directive)
    assert (figures.bytes_needed, figures.bytes_cached) == (4 * BLOCK, 3 * BLOCK)
    assert (figures.files_needed, figures.files_cached) == (3, 2)
    pool = cluster.pools.pool("small")
    assert pool is not None
    assert cluster.planner.of_pool(pool) == figures


def adapting(nodes: int = 3) -> Cluster:
    """Ten reads are a replica's share, and half of them are forgotten in a second."""
    return Cluster(nodes, adaptive=Adaptive(1000, 10))


@pytest.mark.req("LM-026")
def test_a_hot_block_is_cached_more_often_until_it_cools() -> None:
    cluster = adapting()
    cluster.file("/a", 1, 2)
    cluster.directive(1, "/a")
    cluster.settle()
    cluster.read(1, 25)
    cluster.settle()
    assert (cluster.copies(1), cluster.copies(2)) == (3, 1)
    cluster.world.now_ms += 1500
    cluster.settle()
    assert (cluster.copies(1), cluster.copies(2)) == (2, 1)
    cluster.world.now_ms += 1500
    cluster.settle()
    assert (cluster.copies(1), cluster.copies(2)) == (1, 1)


@pytest.mark.req("LM-026")
def test_what_no_directive_asks_for_is_not_cached_however_hot() -> None:
    cluster = adapting()
    cluster.file("/a", 1)
    cluster.file("/b", 2)
    cluster.directive(1, "/b")
    cluster.settle()
    cluster.read(1, 100)
    cluster.read(2, 100)
    cluster.settle()
    assert (cluster.copies(1), cluster.copies(2)) == (0, 3)
    cluster.remove(1)
    cluster.settle()
    assert cluster.copies(2) == 0
    assert cluster.planner.is_idle


@pytest.mark.req("LM-026")
def test_what_is_cached_for_heat_counts_against_the_limit_of_its_pool() -> None:
    cluster = adapting()
    cluster.pool("small", 3 * BLOCK)
    cluster.file("/a", 1)
    cluster.file("/b", 2)
    cluster.directive(1, "/a", pool="small")
    cluster.directive(2, "/b")
    cluster.settle()
    cluster.read(1, 100)
    cluster.settle()
    assert cluster.copies(1) == 3
    cluster.file("/c", 3)
    cluster.directive(3, "/c", pool="small")
    cluster.settle()
    assert (cluster.copies(1), cluster.copies(3)) == (2, 1)


@pytest.mark.req("LM-026")
def test_heat_takes_no_memory_that_a_directive_wants() -> None:
    cluster = adapting()
    for node in cluster.nodes:
        node.cache_capacity_bytes = BLOCK
    cluster.file("/a", 1)
    cluster.directive(1, "/a")
    cluster.settle()
    cluster.read(1, 1000)
    cluster.settle()
    assert cluster.copies(1) == 3
    (first, second, _) = cluster.nodes
    cluster.file("/b", 2, on=(0,))
    cluster.file("/b", 3, on=(1,))
    cluster.directive(2, "/b")
    cluster.settle()
    assert (first.cached, second.cached) == ({2}, {3})
    assert cluster.copies(1) == 1
    for _ in range(3):
        cluster.settle()
        assert (first.cached, second.cached) == ({2}, {3}), "it stays so"


@pytest.mark.req("LM-026")
def test_a_replica_that_is_on_its_way_out_stays_if_the_block_is_hot_again() -> None:
    cluster = adapting()
    cluster.file("/a", 1)
    cluster.directive(1, "/a")
    cluster.settle()
    cluster.read(1, 25)
    cluster.settle()
    cluster.world.now_ms += 10_000
    cluster.rescan()
    assert sum(len(cluster.planner._nodes[node].to_uncache) for node in cluster.nodes) == 2
    cluster.read(1, 25)
    cluster.rescan()
    assert [cluster.planner.orders(node, 0) for node in cluster.nodes] == [([], [])] * 3


def test_directives_for_what_is_not_there_are_cut_into_slices_too() -> None:
    c = Cluster()
    for number in range(1, 3 * SLICE + 1):
        c.directive(number, f"/not/there/{number}")
    assert sum(1 for _ in c.planner.rescan()) == 3


def test_long_work_is_cut_into_slices() -> None:
    cluster = Cluster()
    for block in range(3000):
        cluster.file("/d", block)
    cluster.directive(1, "/d")
    assert sum(1 for _ in cluster.planner.rescan()) > 5


class AnyHistory(RuleBasedStateMachine):
    """Files, directives, datanodes and reports come and go in any order, rescans run beside
    each other; then everything is left alone, and the plan comes true."""

    adaptive: Adaptive | None = None

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(4, adaptive=self.adaptive)
        for node in self.cluster.nodes:
            node.cache_capacity_bytes = 4 * BLOCK
        self.numbers = iter(range(1, 10_000))
        self.rescans: list[Iterator[None]] = []

    blocks = st.integers(1, 12)
    places = st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True)

    @rule(path=st.sampled_from("abc"), block=blocks, on=places)
    def write(self, path: str, block: int, on: list[int]) -> None:
        if block not in self.cluster.world.held:
            self.cluster.file(path, block, on=on)

    @rule(block=blocks)
    def delete(self, block: int) -> None:
        self.cluster.world.held.pop(block, None)
        for files in self.cluster.world.tree.values():
            files[:] = [blocks for blocks in files if block not in blocks]

    @rule(path=st.sampled_from("abc"), replication=st.integers(1, 3), ttl=st.integers(1, 50))
    def direct(self, path: str, replication: int, ttl: int) -> None:
        number = next(self.numbers)
        expiry_ms = self.cluster.world.now_ms + ttl
        self.cluster.directive(number, path, replication, expiry_ms=expiry_ms)

    @rule(pick=st.integers(0, 100))
    def undirect(self, pick: int) -> None:
        found = list(self.cluster.pools.directives_after(0))
        if found:
            self.cluster.remove(found[pick % len(found)].directive_id)

    @rule(ms=st.integers(1, 30))
    def wait(self, ms: int) -> None:
        self.cluster.world.now_ms += ms

    @rule()
    def begin_rescan(self) -> None:
        self.rescans.append(self.cluster.planner.rescan())

    @rule(pick=st.integers(0, 5))
    def go_on(self, pick: int) -> None:
        if self.rescans:
            running = self.rescans[pick % len(self.rescans)]
            if next(running, running) is running:
                self.rescans.remove(running)

    @rule(which=st.integers(0, 3), report=st.booleans())
    def heartbeat(self, which: int, report: bool) -> None:
        self.cluster.obey(self.cluster.nodes[which], report=report)

    @rule(which=st.integers(0, 3))
    def restart(self, which: int) -> None:
        node = self.cluster.nodes[which]
        node.cached.clear()
        self.cluster.planner.forget(node)

    @rule()
    def fail_over(self) -> None:
        self.cluster.planner.start_over()

    @invariant()
    def index_and_nodes_agree(self) -> None:
        planner = self.cluster.planner
        for node, mine in planner._nodes.items():
            assert all(node in planner._cached_on[block] for block in mine.cached)
            assert all(node in planner._pending_on[block] for block in mine.to_cache)
            assert set(mine.to_uncache) <= mine.cached
            assert not mine.cached & set(mine.to_cache)
            expected = sum(mine.to_uncache.values()) - sum(mine.to_cache.values())
            assert mine.balance_bytes == expected
        assert all(planner._cached_on.values())
        assert all(planner._pending_on.values())

    def teardown(self) -> None:
        cluster = self.cluster
        for running in self.rescans:
            for _ in running:
                pass
        for node in cluster.nodes:
            node.cache_capacity_bytes = 100 * BLOCK
            cluster.obey(node)
        for _ in range(3):
            cluster.settle()
        wanted: dict[int, int] = {}
        for directive in cluster.pools.directives_after(0):
            if directive.expiry_ms > cluster.world.now_ms:
                for file in cluster.world.files(directive.path):
                    for block, _ in file.blocks:
                        wanted[block] = max(wanted.get(block, 0), directive.replication)
        for block, replication in wanted.items():
            most = replication + self.extra(block)
            wanted[block] = min(most, len(cluster.world.held[block]))
        have = {block: cluster.copies(block) for node in cluster.nodes for block in node.cached}
        assert have == wanted

    def extra(self, block: int) -> int:
        """Cached replicas that the block has earned beside what directives ask for."""
        return 0


class AnyReads(AnyHistory):
    """Besides blocks are read, so that some are hot; to begin with, some are cached."""

    def __init__(self) -> None:
        self.adaptive = Adaptive(100, 5)
        super().__init__()
        for block in (1, 2, 3):
            self.cluster.file("d", block, on=(0, 1, 2, 3))
        self.cluster.directive(next(self.numbers), "d")
        self.cluster.settle()

    @rule(blocks=st.sets(st.integers(1, 5), min_size=1), times=st.integers(5, 40))
    def read(self, blocks: set[int], times: int) -> None:
        for block in sorted(blocks):
            self.cluster.read(block, times)

    def teardown(self) -> None:
        for block, times in ((1, 30), (2, 8)):
            self.cluster.read(block, times)
        super().teardown()

    def extra(self, block: int) -> int:
        assert self.adaptive is not None
        return self.adaptive.extra.get(block, 0)


TestAnyReads = AnyReads.TestCase
TestAnyReads.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@given(weights=st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_the_draw_picks_one_of_them(weights: list[int]) -> None:
    assert 0 <= Cluster().planner._draw(weights) < len(weights)
