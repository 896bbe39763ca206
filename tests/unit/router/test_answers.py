"""What is made of the answers of several destinations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.router.state.table import merging, quotas
from howdah.router.state.table.mount_table import (
    Destination,
    Location,
    MountEntry,
    MountTable,
    Quota,
)
from howdah.router.state.table.pages import NameOrder, Page, merged, order_seen
from howdah.router.state.table.translation import translate_error, translate_text

pytestmark = pytest.mark.req("LM-020")

names = st.sets(st.text("abc", min_size=1, max_size=3).map(str.encode), max_size=15)


@given(st.lists(names, max_size=4), names, st.integers(1, 4))
def test_pages_of_several_listings_have_every_name_once(
    places: list[set[bytes]], mounts: set[bytes], size: int
) -> None:
    """However the destinations cut their pages, and though they end at different names."""
    listed: list[bytes] = []
    start = b""
    while True:
        pages = []
        for number, place in enumerate(places):
            behind = sorted(name for name in place if name > start)
            cut = size + number
            pages.append(Page([(name, name) for name in behind[:cut]], len(behind[cut:])))
        page = merged(pages, {name: name for name in mounts}, start)
        listed += [name for name, _ in page.entries]
        if not page.remaining:
            break
        assert page.entries, "a page that is not the end moves on"
        start = page.entries[-1][0]
    assert listed == sorted(set().union(mounts, *places))


SIGNED = bytes(number ^ 0x80 for number in range(256))
any_names = st.sets(
    st.text("aé~\u0100", min_size=1, max_size=3).map(str.encode), min_size=1, max_size=15
)


@pytest.mark.parametrize("mounts", [set(), {b"b", b"m", b"z"}])
@given(place=any_names, size=st.integers(1, 4), is_signed=st.booleans())
def test_pages_of_a_namenode_that_compares_signed_bytes_have_every_name(
    mounts: set[bytes], place: set[bytes], size: int, is_signed: bool
) -> None:
    """As Hadoop's namenodes do: names that are no ASCII come before those that are."""

    def order(name: bytes) -> bytes:
        return name.translate(SIGNED) if is_signed else name

    listed: list[bytes] = []
    start = b""
    for _ in range(100):
        behind = sorted((name for name in place if order(name) > order(start)), key=order)
        whole = Page([(name, name) for name in behind[:size]], len(behind[size:]))
        page = merged([whole], {name: name for name in mounts}, start)
        listed += [name for name, _ in page.entries]
        if not page.remaining:
            break
        start = page.entries[-1][0]
    assert set(listed) == place | mounts
    if not mounts:
        assert listed == sorted(place, key=order)


@pytest.mark.parametrize("mounts", [set(), {b"b", "\u0100".encode()}])
@given(
    places=st.lists(st.one_of(any_names, names), min_size=1, max_size=3),
    size=st.integers(1, 4),
    is_signed=st.booleans(),
)
def test_pages_of_namenodes_whose_order_is_known_have_every_name_once(
    mounts: set[bytes], places: list[set[bytes]], size: int, is_signed: bool
) -> None:
    """Where the names of a page do not tell how they are compared, the namenode is asked."""
    asked = NameOrder.SIGNED if is_signed else NameOrder.UNSIGNED
    order = asked.sort_key
    listed: list[bytes] = []
    start = b""
    for _ in range(100):
        pages = []
        for place in places:
            behind = sorted((name for name in place if order(name) > order(start)), key=order)
            entries = [(name, name) for name in behind[:size]]
            pages.append(Page(entries, len(behind[size:])))
        seen = order_seen(pages, mounts, start)
        page = merged(pages, {name: name for name in mounts}, start, seen or asked)
        listed += [name for name, _ in page.entries]
        if not page.remaining:
            break
        start = page.entries[-1][0]
    assert sorted(listed) == sorted(mounts.union(*places))


@pytest.mark.parametrize(
    ("location", "text", "expected"),
    [
        (
            Location("n", "/data/x", "/data", "/m"),
            "File does not exist: /data/x",
            "File does not exist: /m/x",
        ),
        (Location("n", "/data/x", "/data", "/m"), "no /database here", "no /database here"),
        (Location("n", "/data/x", "/data", "/m"), 'inode="/data":eve', 'inode="/m":eve'),
        (Location("n", "/x/y", "/", "/m"), "/x/y and /x, not /z", "/m/x/y and /m/x, not /z"),
        (Location("n", "/data/x", "/data", "/"), "/data/x in /data", "/x in /"),
        (Location("n", "/x", "/", "/"), "/x", "/x"),
    ],
)
def test_paths_in_messages_are_the_routers(location: Location, text: str, expected: str) -> None:
    assert translate_text(text, location) == expected


def test_an_error_keeps_its_class() -> None:
    location = Location("n", "/data/x", "/data", "/m")
    found = translate_error(
        errors.from_java("org.example.OddException", "/data/x"), location, MountTable()
    )
    assert (found.remote_class, found.message) == ("org.example.OddException", "/m/x")


def test_a_link_that_leads_into_another_mount_point_is_followed_there() -> None:
    table = MountTable([MountEntry("/other", (Destination("n", "/elsewhere"),))])
    location = Location("n", "/data/link", "/data", "/m")
    found = translate_error(errors.UnresolvedPath("/elsewhere/x"), location, table)
    assert found.message == "/other/x"


def test_numbers_are_added_and_required_ones_are_there() -> None:
    one = pb.GetFsStatsResponseProto(
        capacity=1, used=2, remaining=3, under_replicated=4, corrupt_blocks=5, missing_blocks=6
    )
    total = merging.summed([one, one], pb.GetFsStatsResponseProto)
    assert (total.capacity, total.missing_blocks) == (2, 12)
    assert merging.summed([], pb.GetFsStatsResponseProto).IsInitialized()


def node(port: int, heard_ms: int) -> types_pb2.DatanodeInfoProto:
    return types_pb2.DatanodeInfoProto(
        id=types_pb2.DatanodeIDProto(ipAddr="10.0.0.1", xferPort=port),
        location="/rack",
        lastUpdate=heard_ms,
    )


def test_a_datanode_of_two_nameservices_is_reported_once() -> None:
    found = merging.datanodes([("n1", [node(1, 5), node(2, 5)]), ("n2", [node(1, 9)])])
    assert sorted((each.id.xferPort, each.location) for each in found) == [
        (1, "/n2/rack"),
        (2, "/n1/rack"),
    ]


def test_a_quota_that_is_reached_refuses() -> None:
    entry = MountEntry("/m", (Destination("n", "/x"),), quota=Quota(10, 100))
    quotas.check(entry, quotas.Usage(9, 99))
    with pytest.raises(errors.NamespaceQuotaExceeded, match="/m is exceeded: quota=10"):
        quotas.check(entry, quotas.Usage(10, 0))
    with pytest.raises(errors.SpaceQuotaExceeded, match="quota = 100 B"):
        quotas.check(entry, quotas.Usage(0, 100))
    quotas.check(MountEntry("/m", entry.destinations), quotas.Usage(1 << 40, 1 << 60))


def test_a_quota_of_a_storage_type_that_is_reached_refuses() -> None:
    quota = Quota().with_type(StorageType.SSD, 100).with_type(StorageType.DISK, 50)
    assert quota.by_type == ((StorageType.DISK, 50), (StorageType.SSD, 100))
    assert quota.is_set
    entry = MountEntry("/m", (Destination("n", "/x"),), quota=quota)
    one = quotas.Usage(1, 90, ((StorageType.SSD, 60),))
    quotas.check(entry, one)
    both = one + quotas.Usage(1, 90, ((StorageType.DISK, 1), (StorageType.SSD, 40)))
    assert both == quotas.Usage(2, 180, ((StorageType.DISK, 1), (StorageType.SSD, 100)))
    with pytest.raises(errors.SpaceQuotaExceeded, match="/m on SSD is exceeded: quota = 100 B"):
        quotas.check(entry, both)


def test_what_is_used_of_a_type_is_added_up() -> None:
    def usage(**types: int) -> types_pb2.QuotaUsageProto:
        made = types_pb2.QuotaUsageProto(
            fileAndDirectoryCount=1, quota=5, spaceConsumed=2, spaceQuota=7
        )
        for name, used in types.items():
            kind = types_pb2.StorageTypeProto.Value(name)
            made.typeQuotaInfos.typeQuotaInfo.add(type=kind, quota=9, consumed=used)
        return made

    found = merging.quota_usages([usage(SSD=3), usage(SSD=4, DISK=1), usage()])
    assert (found.fileAndDirectoryCount, found.spaceConsumed) == (3, 6)
    used = {each.type: each.consumed for each in found.typeQuotaInfos.typeQuotaInfo}
    assert used == {types_pb2.SSD: 7, types_pb2.DISK: 1}
