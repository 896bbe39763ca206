"""Cache pools and directives: requests are checked, become edits, and survive."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits import cache_edits as ce
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record, encode_record
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.caching.pools import NEVER_MS, UNLIMITED, CachePools
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryNamenode

HOUR_MS = 3_600_000


class Caching:
    """Cache calls of one user."""

    def __init__(self, client: Any) -> None:
        self._call = client.call

    def add_pool(self, name: str, **fields: Any) -> None:
        if fields.get("groupName", "") is None:
            del fields["groupName"]
        else:
            fields.setdefault("groupName", "g")
        info = pb.CachePoolInfoProto(poolName=name, **fields)
        self._call("addCachePool", pb.AddCachePoolRequestProto(info=info))

    def modify_pool(self, name: str, **fields: Any) -> None:
        info = pb.CachePoolInfoProto(poolName=name, **fields)
        self._call("modifyCachePool", pb.ModifyCachePoolRequestProto(info=info))

    def remove_pool(self, name: str) -> None:
        self._call("removeCachePool", pb.RemoveCachePoolRequestProto(poolName=name))

    def pools(self, after: str = "") -> Any:
        return self._call("listCachePools", pb.ListCachePoolsRequestProto(prevPoolName=after))

    def add(self, path: str, pool: str, *, force: bool = False, **how: Any) -> int:
        call = {key: how.pop(key) for key in ("client_id", "call_id") if key in how}
        request = pb.AddCacheDirectiveRequestProto(
            info=_info(path=path, pool=pool, **how), cacheFlags=int(force)
        )
        answer: pb.AddCacheDirectiveResponseProto = self._call("addCacheDirective", request, **call)
        return answer.id

    def modify(self, *, force: bool = False, **fields: Any) -> None:
        request = pb.ModifyCacheDirectiveRequestProto(info=_info(**fields), cacheFlags=int(force))
        self._call("modifyCacheDirective", request)

    def remove(self, directive_id: int) -> None:
        self._call("removeCacheDirective", pb.RemoveCacheDirectiveRequestProto(id=directive_id))

    def listed(self, after: int = 0, **only: Any) -> Any:
        return self._call(
            "listCacheDirectives",
            pb.ListCacheDirectivesRequestProto(prevId=after, filter=_info(**only)),
        )

    def paths(self, **only: Any) -> list[str]:
        return [element.info.path for element in self.listed(**only).elements]


def _info(ttl_ms: int | None = None, **fields: Any) -> pb.CacheDirectiveInfoProto:
    info = pb.CacheDirectiveInfoProto(**fields)
    if ttl_ms is not None:
        info.expiration.millis = ttl_ms
        info.expiration.isRelative = True
    return info


@pytest.fixture
def settings() -> Settings:
    return Settings(
        "",
        min_block_size_bytes=512,
        block_size_bytes=1024,
        cache_pools_limit=2,
        cache_directives_limit=2,
    )


@pytest.fixture
def root(client: Any) -> Caching:
    caching = Caching(client)
    caching.add_pool("p", ownerName="alice", groupName="staff", mode=0o750)
    return caching


@pytest.fixture
def by(client_of: Callable[..., Any]) -> Callable[[str], Caching]:
    return lambda user: Caching(client_of(user))


# Pools.


@pytest.mark.req("FS-042")
def test_a_pool_has_hadoops_defaults(root: Caching, by: Callable[[str], Caching]) -> None:
    by("admin").add_pool("q", groupName=None)
    (shown,) = by("admin").pools("p").entries
    info = shown.info
    assert (info.ownerName, info.groupName, info.mode) == ("admin", "supergroup", 0o755)
    assert (info.limit, info.maxRelativeExpiry, info.defaultReplication) == (
        UNLIMITED,
        NEVER_MS,
        1,
    )


@pytest.mark.req("FS-042")
def test_pools_are_made_and_changed_by_the_superuser_alone(
    root: Caching, by: Callable[[str], Caching]
) -> None:
    alice = by("alice")
    acts: tuple[Callable[[], object], ...] = (
        lambda: alice.add_pool("q"),
        lambda: alice.modify_pool("p", mode=0o777),
        lambda: alice.remove_pool("p"),
    )
    for act in acts:
        with pytest.raises(errors.AccessDenied, match="Superuser privilege is required"):
            act()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"limit": -1}, "Limit is negative"),
        ({"maxRelativeExpiry": -1}, "Max relative expiry is negative"),
        ({"maxRelativeExpiry": NEVER_MS + 1}, "Max relative expiry is too big"),
        ({"defaultReplication": 0xFFFFFFFF}, "Default Replication is negative"),
        ({"mode": 0o7777}, "Mode 7777"),
    ],
)
def test_a_pool_that_makes_no_sense_is_refused(
    root: Caching, fields: dict[str, int], words: str
) -> None:
    with pytest.raises(errors.InvalidRequest, match=words):
        root.add_pool("q", **fields)
    with pytest.raises(errors.InvalidRequest, match=words):
        root.modify_pool("p", **fields)


def test_pools_that_are_or_are_not_there(root: Caching) -> None:
    with pytest.raises(errors.InvalidRequest, match=r"Cache pool p already exists\."):
        root.add_pool("p")
    with pytest.raises(errors.InvalidRequest, match=r"Cache pool q does not exist\."):
        root.modify_pool("q", mode=0o700)
    with pytest.raises(errors.InvalidRequest, match="Cannot remove non-existent cache pool q"):
        root.remove_pool("q")
    with pytest.raises(errors.RemoteError, match="invalid empty cache pool name"):
        root.add_pool("")
    with pytest.raises(errors.RemoteError, match="There is no primary group for UGI root"):
        root.add_pool("q", groupName=None)


def test_a_change_of_a_pool_leaves_alone_what_it_does_not_say(root: Caching) -> None:
    root.modify_pool("p", limit=5, defaultReplication=3)
    info = root.pools().entries[0].info
    assert (info.ownerName, info.mode, info.limit, info.defaultReplication) == (
        "alice",
        0o750,
        5,
        3,
    )


def test_a_pool_goes_with_its_directives(root: Caching) -> None:
    root.add_pool("q")
    root.add("/a", "p")
    root.add("/b", "q")
    root.remove_pool("p")
    assert root.paths() == ["/b"]


def test_pools_are_listed_in_pages_by_name(root: Caching) -> None:
    for name in ("z", "b", "\U0001f600", "\uffee"):
        root.add_pool(name)
    names, after = [], ""
    while True:
        page = root.pools(after)
        names += [entry.info.poolName for entry in page.entries]
        after = names[-1]
        if not page.hasMore:
            break
    assert names == ["b", "p", "z", "\U0001f600", "\uffee"]  # Java's order: by UTF-16.


@pytest.mark.req("FS-042")
def test_who_may_not_read_a_pool_sees_its_name_alone(
    root: Caching, by: Callable[[str], Caching]
) -> None:
    root.add("/a", "p")
    for user, may in (("alice", True), ("bob", True), ("eve", False)):
        (shown,) = by(user).pools().entries
        assert shown.info.poolName == "p"
        assert shown.info.HasField("ownerName") is may
        assert by(user).paths() == (["/a"] if may else [])


# Directives.


@pytest.mark.req("FS-041")
@pytest.mark.req("FS-171")
def test_a_directive_has_replication_one_and_never_expires(root: Caching) -> None:
    assert root.add("/a/", "p") == 1
    (element,) = root.listed().elements
    assert (element.info.id, element.info.path, element.info.pool) == (1, "/a", "p")
    assert element.info.replication == 1
    assert element.info.expiration.millis > NEVER_MS
    assert not element.stats.hasExpired


@pytest.mark.req("FS-038")
def test_replication_comes_from_the_pool_unless_the_directive_says(root: Caching) -> None:
    root.modify_pool("p", defaultReplication=3)
    root.add("/a", "p")
    root.add("/b", "p", replication=2)
    assert [element.info.replication for element in root.listed().elements] == [3, 2]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pool": "none"}, "Unknown pool none"),
        ({"pool": ""}, "Invalid empty pool name"),
        ({"path": "a"}, "Invalid path 'a'"),
        ({"path": "/a/../b"}, "Invalid path '/a/../b'"),
        ({"replication": 0}, "Invalid replication factor 0 <= 0"),
        ({"replication": 0xFFFF}, "Invalid replication factor -1 <= 0"),
        ({"ttl_ms": -5}, "Cannot set a negative expiration: -5"),
        ({"ttl_ms": NEVER_MS + 1}, "is too far in the future!"),
        ({"ttl_ms": HOUR_MS + 1000}, "Expiration 000:01:00:01.000 exceeds the max relative"),
    ],
)
def test_a_directive_that_makes_no_sense_is_refused(
    root: Caching, fields: dict[str, Any], words: str
) -> None:
    root.modify_pool("p", maxRelativeExpiry=HOUR_MS)
    root.add("/known", "p")
    with pytest.raises(errors.InvalidRequest, match=words):
        root.add(**{"path": "/a", "pool": "p", **fields})
    with pytest.raises(errors.InvalidRequest, match=words):
        root.modify(id=1, **fields)
    assert root.paths() == ["/known"]


def test_what_a_directive_lacks(client: Any, root: Caching) -> None:
    for info, error, words in (
        (pb.CacheDirectiveInfoProto(path="/a"), errors.InvalidRequest, "No pool specified"),
        (pb.CacheDirectiveInfoProto(pool="p"), errors.InvalidRequest, "No path specified"),
        (pb.CacheDirectiveInfoProto(id=1), errors.RemoteError, "you cannot specify an ID"),
    ):
        with pytest.raises(error, match=words):
            client.call("addCacheDirective", pb.AddCacheDirectiveRequestProto(info=info))
    with pytest.raises(errors.InvalidRequest, match=r"Must supply an ID\."):
        root.modify(path="/a")
    with pytest.raises(errors.InvalidRequest, match=r"No directive with ID 9 found\."):
        root.modify(id=9, path="/a")
    with pytest.raises(errors.InvalidRequest, match=r"No directive with ID 9 found\."):
        root.remove(9)
    with pytest.raises(errors.InvalidRequest, match=r"Invalid negative ID\."):
        root.remove(-1)


@pytest.mark.req("FS-042")
def test_directives_are_for_those_who_may_write_to_the_pool(
    root: Caching, by: Callable[[str], Caching]
) -> None:
    mine = by("alice").add("/a", "p")
    words = "Permission denied while accessing pool p: user bob does not have WRITE permissions"
    acts: tuple[Callable[[], object], ...] = (
        lambda: by("bob").add("/b", "p"),
        lambda: by("bob").modify(id=mine, replication=2),
        lambda: by("bob").remove(mine),
    )
    for act in acts:
        with pytest.raises(errors.AccessDenied, match=words):
            act()
    root.add_pool("q", ownerName="bob", groupName="web", mode=0o700)
    with pytest.raises(errors.AccessDenied, match="pool q"):
        by("alice").modify(id=mine, pool="q")


@pytest.mark.req("FS-042")
def test_a_pool_takes_no_more_than_its_limit_unless_forced(
    root: Caching, client: Any, nodes: Any
) -> None:
    client.write("/d/a", 1024, 500)
    client.write("/d/b", 1000)
    root.modify_pool("p", limit=4000)
    root.add("/d/a", "p")
    words = (
        "Caching path /d of size 2524 bytes at replication 1 would exceed pool p's "
        "remaining capacity of 2476 bytes"
    )
    with pytest.raises(errors.InvalidRequest, match=words):
        root.add("/d", "p")
    assert root.add("/d/b", "p", replication=2) == 2
    assert root.add("/d", "p", force=True) == 3
    stats = root.pools().entries[0].stats
    assert (stats.bytesNeeded, stats.bytesOverlimit, stats.filesNeeded) == (6048, 2048, 4)


def test_a_directive_moves_to_another_pool_within_its_limit(
    root: Caching, client: Any, nodes: Any
) -> None:
    client.write("/a", 1000)
    root.add_pool("q", limit=10)
    root.add("/a", "p")
    with pytest.raises(errors.InvalidRequest, match="would exceed pool q"):
        root.modify(id=1, pool="q")
    root.modify(id=1, pool="q", force=True)
    root.modify(id=1, replication=2)  # It is in there: nothing more is checked.
    assert root.paths(pool="q") == ["/a"]


def test_directives_are_listed_in_pages_and_by_filter(root: Caching) -> None:
    root.add_pool("q")
    for path, pool in (("/a", "p"), ("/a", "q"), ("/b", "q")):
        root.add(path, pool)
    page = root.listed()
    assert ([e.info.id for e in page.elements], page.hasMore) == ([1, 2], True)
    page = root.listed(after=2)
    assert ([e.info.id for e in page.elements], page.hasMore) == ([3], False)
    assert root.paths(pool="q") == ["/a", "/b"]
    assert [e.info.id for e in root.listed(path="/a").elements] == [1, 2]
    assert root.paths(id=2) == ["/a"]
    with pytest.raises(errors.InvalidRequest, match="Did not find requested id 8"):
        root.listed(id=8)
    with pytest.raises(errors.InvalidRequest, match="Filtering by replication is unsupported"):
        root.listed(replication=1)


def test_a_repeated_call_gets_the_first_answer(root: Caching, namenode: InMemoryNamenode) -> None:
    call: dict[str, Any] = {"client_id": bytes(range(16)), "call_id": 5}
    first = root.add("/a", "p", **call)
    root.add("/b", "p")
    assert root.add("/a", "p", **call) == first
    again = namenode.restarted()
    request = pb.AddCacheDirectiveRequestProto(info=_info(path="/a", pool="p"))
    answer: Any = again.call("addCacheDirective", request, **call)
    assert answer.id == first


def test_safe_mode_refuses_every_change(root: Caching, namenode: InMemoryNamenode) -> None:
    root.add("/a", "p")
    namenode.namesystem.safe_mode.enter()
    acts: tuple[Callable[[], object], ...] = (
        lambda: root.add_pool("q"),
        lambda: root.modify_pool("p", mode=0o700),
        lambda: root.remove_pool("p"),
        lambda: root.add("/b", "p"),
        lambda: root.modify(id=1, path="/b"),
        lambda: root.remove(1),
    )
    for act in acts:
        with pytest.raises(errors.SafeMode):
            act()
    assert root.paths() == ["/a"]


# What survives.

NAMES = st.sampled_from(["p", "q", "\U0001f600"])
IDS = st.integers(1, 4)
SHORTS = st.none() | st.integers(1, 9)
TIMES = st.none() | st.integers(0, NEVER_MS)
POOL_FIELDS = (st.none() | st.sampled_from("ab"), st.none() | st.sampled_from("gh"))
EDITS = st.one_of(
    st.builds(
        ce.AddCachePoolOp, NAMES, *POOL_FIELDS, st.none() | st.just(0o700), TIMES, TIMES, SHORTS
    ),
    st.builds(
        ce.ModifyCachePoolOp, NAMES, *POOL_FIELDS, st.none() | st.just(0o770), TIMES, TIMES, SHORTS
    ),
    st.builds(ce.RemoveCachePoolOp, NAMES),
    st.builds(ce.AddCacheDirectiveOp, IDS, st.sampled_from(["/a", "/b"]), SHORTS, NAMES, TIMES),
    st.builds(
        ce.ModifyCacheDirectiveOp,
        IDS,
        st.none() | st.just("/c"),
        SHORTS,
        st.none() | NAMES,
        TIMES,
    ),
    st.builds(ce.RemoveCacheDirectiveOp, IDS),
)


@given(history=st.lists(EDITS, max_size=30))
@pytest.mark.req("FS-041")
def test_pools_are_the_same_live_replayed_and_from_an_image(history: list[edits.Edit]) -> None:
    live, fitting = Namespace(), []
    for edit in history:
        before = live.caching.record()
        try:
            live.caching.appliers[type(edit)](edit)
        except EditDoesNotFit:
            assert live.caching.record() == before
        else:
            fitting.append(edit)
    replayed = Namespace()
    for txid, edit in enumerate(fitting, 1):
        replayed.apply(decode_record(encode_record(txid, edit)).edit)
    image = io.BytesIO()
    write_image(live, 1, len(fitting), image)
    image.seek(0)
    loaded, _ = read_image(image, "image")
    assert live.caching == replayed.caching == loaded.caching
    for directive in live.caching.directives_after(0):
        assert live.caching.pool(directive.pool) is not None
        assert directive.directive_id < live.caching.next_directive_id


def test_an_image_whose_directives_have_no_pool_is_damaged() -> None:
    namespace = Namespace()
    namespace.caching._index_directive(_directive())
    image = io.BytesIO()
    write_image(namespace, 1, 1, image)
    image.seek(0)
    with pytest.raises(errors.CorruptImage, match="cache pools make no sense"):
        read_image(image, "image")


def _directive() -> Any:
    pools = CachePools()
    pools.appliers[ce.AddCachePoolOp](ce.AddCachePoolOp("p", None, None, None, None, None, None))
    pools.appliers[ce.AddCacheDirectiveOp](ce.AddCacheDirectiveOp(1, "/a", 1, "p", 5))
    return pools.directive(1)
