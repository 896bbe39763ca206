"""Cache pools and directives of several nameservices as one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.router.calls.caching import CachingCalls
from howdah.router.state.table import cache_ids, merging
from howdah.router.state.table.mount_table import Location

pytestmark = pytest.mark.req("FS-241")

NAMES = st.lists(st.text("abcdef-0123456789", min_size=1, max_size=8), unique=True, max_size=6)


@given(NAMES, st.integers(1, (1 << 48) - 1))
def test_an_id_tells_its_nameservice_and_is_an_int64(names: list[str], own: int) -> None:
    tags = {cache_ids.tag(name) for name in names}
    if len(tags) < len(names):
        with pytest.raises(errors.UnsupportedOperation, match="would have the same ids"):
            cache_ids.in_order(names)
        return
    for name in names:
        routers = cache_ids.routers_id(name, own)
        assert 0 < routers < 1 << 63
        assert cache_ids.own_id(routers) == own
        assert cache_ids.nameservice_of(routers, names) == name
    assert cache_ids.nameservice_of(own, names) is None


@pytest.mark.parametrize("own", [0, -1, 1 << 48])
def test_an_id_that_nobody_counts_to_is_refused(own: int) -> None:
    with pytest.raises(errors.UnsupportedOperation, match="of nameservice east"):
        cache_ids.routers_id("east", own)


@given(st.lists(st.sets(st.integers(0, 30)), min_size=1, max_size=4), st.integers(1, 4))
def test_pages_of_pools_have_every_pool_once_with_the_sums(
    found: list[set[int]], limit: int
) -> None:
    listed: dict[str, int] = {}
    after, has_more = "", True
    while has_more:
        pages = []
        for numbers in found:
            left = [f"{each:02}" for each in sorted(numbers) if f"{each:02}" > after]
            page = pb.ListCachePoolsResponseProto(hasMore=len(left) > limit)
            for name in left[:limit]:
                entry = page.entries.add()
                entry.info.poolName = name
                entry.stats.bytesNeeded = entry.stats.bytesCached = 1
                entry.stats.bytesOverlimit = entry.stats.filesNeeded = entry.stats.filesCached = 0
            pages.append(page)
        answer = merging.cache_pools(pages)
        has_more = answer.hasMore
        assert answer.entries or not has_more
        for entry in answer.entries:
            assert entry.info.poolName not in listed
            listed[entry.info.poolName] = entry.stats.bytesNeeded
            after = entry.info.poolName
    every = sorted(set().union(*found))
    assert listed == {f"{each:02}": sum(each in numbers for numbers in found) for each in every}


def test_directives_of_several_paths_end_where_the_first_page_ends() -> None:
    def page(numbers: tuple[int, ...], has_more: bool) -> pb.ListCacheDirectivesResponseProto:
        answer = pb.ListCacheDirectivesResponseProto(hasMore=has_more)
        for number in numbers:
            entry = answer.elements.add()
            entry.info.id = number
            entry.stats.bytesNeeded = entry.stats.bytesCached = 0
            entry.stats.filesNeeded = entry.stats.filesCached = 0
            entry.stats.hasExpired = False
        return answer

    merged = merging.cache_directives([page((1, 4), True), page((2, 3, 9), False)])
    assert [each.info.id for each in merged.elements] == [1, 2, 3, 4]
    assert merged.hasMore


def test_a_directive_that_one_destination_refuses_is_removed_at_all_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also where one of them cannot be asked any more; the caller is told of the refusal."""
    places = tuple(Location(name, f"/{name}/f", "/", "/f") for name in ("n1", "n2", "n3"))
    removed = []

    async def ask(place: Location, method: str, request: Any, *_: Any, **__: Any) -> Any:
        if method == "removeCacheDirective":
            removed.append((place.nameservice, request.id))
            if place.nameservice == "n1":
                raise errors.Unreachable("n1 is away")
            return None
        if place.nameservice == "n3":
            raise errors.InvalidRequest("Unknown pool p")
        return SimpleNamespace(id=7)

    # What the call asks of a router's core, and none of the caller.
    async def reached(*_: Any, **__: Any) -> None:
        """All of them, at first."""

    core: Any = SimpleNamespace(
        call_one=ask, resolve=lambda *_: SimpleNamespace(locations=places), reached=reached
    )
    nobody: Any = None
    request = pb.AddCacheDirectiveRequestProto()
    request.info.path, request.info.pool = "/f", "p"
    with pytest.raises(errors.InvalidRequest, match="Unknown pool p"):
        asyncio.run(CachingCalls(core).add_cache_directive(request, nobody))
    assert removed == [("n1", 7), ("n2", 7)]
    assert "cache directive 7 of nameservice n1 stays" in caplog.text
