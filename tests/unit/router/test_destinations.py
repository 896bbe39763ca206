"""What a router does where a path is in several destinations, and one cannot be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from howdah.router.state.table.pages import NameOrder
from howdah.testing.in_memory import InMemoryNamenode
from tests.support.routing.in_memory import InMemoryNameservices, InMemoryRouter

pytestmark = pytest.mark.req("LM-020")

NAMES = ("east", "west", "north")
DIR, FILE = types_pb2.FsPermissionProto(perm=0o755), types_pb2.FsPermissionProto(perm=0o644)


def router_of(order: Order = Order.LEADER_FOLLOWER, count: int = 2, **entry: Any) -> InMemoryRouter:
    """/m is /real of so many nameservices."""
    destinations = tuple(Destination(name, "/real") for name in NAMES[:count])
    router = InMemoryRouter([MountEntry("/m", destinations, order, **entry)], NAMES[:count])
    for name in NAMES[:count]:
        router.at(name, "mkdirs", mkdirs("/real"))
    return router


def mkdirs(path: str) -> pb.MkdirsRequestProto:
    return pb.MkdirsRequestProto(src=path, masked=DIR, createParent=True)


def create(path: str, flag: int = 1) -> pb.CreateRequestProto:
    return pb.CreateRequestProto(
        src=path,
        masked=FILE,
        clientName="DFSClient_1",
        createFlag=flag,
        createParent=True,
        replication=1,
        blockSize=1 << 20,
    )


def complete(path: str) -> pb.CompleteRequestProto:
    return pb.CompleteRequestProto(src=path, clientName="DFSClient_1")


def write(router: InMemoryRouter, name: str, path: str) -> None:
    router.at(name, "create", create(path))
    router.at(name, "complete", complete(path))


def there(router: InMemoryRouter, path: str) -> list[str]:
    """The nameservices that have a path."""
    request = pb.GetFileInfoRequestProto(src=path)
    return [
        name
        for name in router.nameservices.behind
        if router.at(name, "getFileInfo", request).HasField("fs")
    ]


ORDERS = pytest.mark.parametrize("order", [Order.HASH, Order.LOCAL, Order.HASH_ALL, Order.RANDOM])
COUNTS = pytest.mark.parametrize("count", [2, 3])
LINK = pb.CreateSymlinkRequestProto(
    target="elsewhere", link="/m/x", dirPerm=DIR, createParent=False
)


@ORDERS
@COUNTS
@pytest.mark.parametrize(
    ("method", "request_"),
    [("create", create("/m/x")), ("create", create("/m/x", 3)), ("createSymlink", LINK)],
    ids=["create", "overwrite", "link"],
)
def test_no_second_file_is_made_beside_one_that_cannot_be_asked_for(
    order: Order, count: int, method: str, request_: Any
) -> None:
    for away in NAMES[:count]:
        router = router_of(order, count)
        write(router, away, "/real/x")
        router.nameservices.down.add(away)
        with pytest.raises(errors.NoNamenodes, match=away):
            router.call(method, request_)
        assert there(router, "/real/x") == [away]


@pytest.mark.parametrize("order", [Order.HASH, Order.LOCAL])
def test_no_directory_is_made_beside_a_file_that_cannot_be_asked_for(order: Order) -> None:
    for away in NAMES[:2]:
        router = router_of(order)
        write(router, away, "/real/x")
        router.nameservices.down.add(away)
        with pytest.raises(errors.NoNamenodes, match=away):
            router.call("mkdirs", mkdirs("/m/x"))
        assert there(router, "/real/x") == [away]


def test_a_link_is_not_made_beside_a_file() -> None:
    for name in NAMES[:2]:
        router = router_of()
        write(router, name, "/real/x")
        with pytest.raises(errors.PathExists):
            router.call("createSymlink", LINK)
        assert there(router, "/real/x") == [name]


def test_a_file_that_is_found_is_written_though_another_destination_is_away() -> None:
    router = router_of()
    write(router, "west", "/real/x")
    router.nameservices.down.add("east")
    with pytest.raises(errors.PathExists):
        router.call("create", create("/m/x"))
    router.call("create", create("/m/x", 3))


def test_a_fault_tolerant_mount_point_makes_files_without_those_that_are_away() -> None:
    router = router_of(fault_tolerant=True)
    router.nameservices.down.add("east")
    router.call("create", create("/m/x"))
    assert there(router, "/real/x") == ["west"]
    router.nameservices.down.add("west")
    with pytest.raises(errors.NoNamenodes):
        router.call("create", create("/m/y"))


@pytest.mark.parametrize("recursive", [False, True])
def test_nothing_is_deleted_where_one_destination_cannot_be_asked(recursive: bool) -> None:
    router = router_of()
    for name in ("east", "west"):
        router.at(name, "mkdirs", mkdirs("/real/d"))
    request = pb.DeleteRequestProto(src="/m/d", recursive=recursive)
    router.nameservices.down.add("west")
    with pytest.raises(errors.NoNamenodes, match="west"):
        router.call("delete", request)
    assert there(router, "/real/d") == ["east", "west"]
    router.nameservices.down.clear()
    assert router.call("delete", request).result
    assert there(router, "/real/d") == []


def test_attributes_are_changed_in_all_destinations_or_in_none() -> None:
    router = router_of(count=3)
    for name in NAMES:
        router.at(name, "mkdirs", mkdirs("/real/d"))
    request = pb.SetPermissionRequestProto(
        src="/m/d", permission=types_pb2.FsPermissionProto(perm=0o700)
    )
    router.nameservices.down.add("north")
    with pytest.raises(errors.NoNamenodes, match="north"):
        router.call("setPermission", request)
    status = pb.GetFileInfoRequestProto(src="/real/d")
    modes = {router.at(name, "getFileInfo", status).fs.permission.perm for name in NAMES}
    assert modes == {0o755}


# -- snapshots -----------------------------------------------------------------------------


def snapshots(router: InMemoryRouter, path: str = "/m/d") -> list[str]:
    answer = router.call("getSnapshotListing", pb.GetSnapshotListingRequestProto(snapshotRoot=path))
    return [each.dirStatus.path.decode() for each in answer.snapshotList.snapshotListing]


def snapshottable(count: int = 2, **entry: Any) -> InMemoryRouter:
    router = router_of(count=count, **entry)
    router.call("mkdirs", mkdirs("/m/d"))
    router.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/m/d"))
    return router


def snapshot(name: str = "") -> pb.CreateSnapshotRequestProto:
    return pb.CreateSnapshotRequestProto(snapshotRoot="/m/d", snapshotName=name)


@COUNTS
@pytest.mark.parametrize("name", ["", "s"])
def test_a_snapshot_has_one_name_in_all_destinations(count: int, name: str) -> None:
    router = snapshottable(count)
    for nth, each in enumerate(router.nameservices.behind.values()):
        each.clock.advance(nth * 1000)
    path = router.call("createSnapshot", snapshot(name)).snapshotPath
    assert path.startswith("/m/d/.snapshot/")
    assert snapshots(router) == [path.rpartition("/")[2]]
    assert there(router, path.replace("/m", "/real", 1)) == list(NAMES[:count])


@pytest.mark.parametrize("fault_tolerant", [False, True])
def test_a_snapshot_is_of_all_destinations_or_is_none(fault_tolerant: bool) -> None:
    router = snapshottable(3, fault_tolerant=fault_tolerant)
    router.nameservices.down.add("north")
    with pytest.raises(errors.NoNamenodes, match="north"):
        router.call("createSnapshot", snapshot("s"))
    router.nameservices.down.clear()
    assert snapshots(router) == []


def test_a_destination_that_may_have_made_a_snapshot_is_named() -> None:
    """It has, and its answer is late. Nobody can tell it from a snapshot of somebody else's."""
    router = snapshottable()
    real = router.nameservices.call

    async def call(name: str, method: str, *given: Any, **named: Any) -> Any:
        answer = await real(name, method, *given, **named)
        if (name, method) == ("west", "createSnapshot"):
            raise errors.CallTimeout("no answer within 60 s")
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(router.nameservices, "call", call)
        with pytest.raises(errors.RemoteError, match="west did not answer, and may have") as told:
            router.call("createSnapshot", snapshot("s"))
    assert "the change is undone in the other destinations" in str(told.value)
    assert there(router, "/real/d/.snapshot/s") == ["west"]


def test_a_snapshot_that_one_destination_refuses_is_undone_in_the_others() -> None:
    router = snapshottable()
    router.at(
        "west",
        "createSnapshot",
        pb.CreateSnapshotRequestProto(snapshotRoot="/real/d", snapshotName="s"),
    )
    with pytest.raises(errors.SnapshotError, match="same name"):
        router.call("createSnapshot", snapshot("s"))
    assert there(router, "/real/d/.snapshot/s") == ["west"]
    router.call("createSnapshot", snapshot("t"))
    request = pb.RenameSnapshotRequestProto(
        snapshotRoot="/m/d", snapshotOldName="t", snapshotNewName="s"
    )
    with pytest.raises(errors.SnapshotError):
        router.call("renameSnapshot", request)
    assert there(router, "/real/d/.snapshot/t") == ["east", "west"]
    assert snapshots(router) == ["s", "t"], "also what one destination alone has"


@contextmanager
def refused_by_west(
    router: InMemoryRouter, refused: str, failure: type[errors.HowdahError]
) -> Iterator[None]:
    real = router.nameservices.call

    async def call(name: str, method: str, *given: Any, **named: Any) -> Any:
        if (name, method) == ("west", refused):
            raise failure("it is away")
        return await real(name, method, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(router.nameservices, "call", call)
        yield


REPEATED = pytest.mark.parametrize(
    "failure",
    [errors.NoNamenodes, errors.StandbyError, errors.RetriableError, errors.CallTimeout],
)
"""Refusals behind which clients send a call again. A repetition of one that was undone would find
the first answer in the retry cache of the namenode that was changed back, and say that all is
done."""


@REPEATED
def test_an_undone_snapshot_is_not_refused_as_a_call_that_clients_repeat(
    failure: type[errors.HowdahError],
) -> None:
    router = snapshottable()
    with (
        refused_by_west(router, "createSnapshot", failure),
        pytest.raises(errors.RemoteError, match=r"it is away.*undone"),
    ):
        router.call("createSnapshot", snapshot("s"))
    assert snapshots(router) == []
    router.call("createSnapshot", snapshot("s"))
    assert there(router, "/real/d/.snapshot/s") == ["east", "west"]


@REPEATED
def test_an_undone_cache_directive_is_not_refused_as_a_call_that_clients_repeat(
    failure: type[errors.HowdahError],
) -> None:
    router = router_of()
    pool = pb.AddCachePoolRequestProto(info=pb.CachePoolInfoProto(poolName="p", groupName="g"))
    router.call("addCachePool", pool)
    directive = pb.AddCacheDirectiveRequestProto(
        info=pb.CacheDirectiveInfoProto(path="/m", pool="p", replication=1)
    )
    with (
        refused_by_west(router, "addCacheDirective", failure),
        pytest.raises(errors.RemoteError, match=r"it is away.*removed"),
    ):
        router.call("addCacheDirective", directive)

    def directives(name: str) -> int:
        asked = pb.ListCacheDirectivesRequestProto(prevId=0, filter=pb.CacheDirectiveInfoProto())
        return len(router.at(name, "listCacheDirectives", asked).elements)

    assert [directives(name) for name in ("east", "west")] == [0, 0]
    router.call("addCacheDirective", directive)
    assert [directives(name) for name in ("east", "west")] == [1, 1]


def diff(router: InMemoryRouter) -> list[tuple[str, str]]:
    request = pb.GetSnapshotDiffReportRequestProto(
        snapshotRoot="/m/d", fromSnapshot="a", toSnapshot="b"
    )
    report = router.call("getSnapshotDiffReport", request).diffReport
    assert report.snapshotRoot == "/m/d"
    return sorted((e.modificationLabel, e.fullpath.decode()) for e in report.diffReportEntries)


@COUNTS
def test_a_difference_is_that_of_all_destinations(count: int) -> None:
    router = snapshottable(count)
    router.call("createSnapshot", snapshot("a"))
    for name in NAMES[:count]:
        write(router, name, f"/real/d/{name}")
    router.call("createSnapshot", snapshot("b"))
    made = [("+", name) for name in sorted(NAMES[:count])]
    assert diff(router) == [*made, ("M", "")]
    pages = pb.GetSnapshotDiffReportListingRequestProto(
        snapshotRoot="/m/d", fromSnapshot="a", toSnapshot="b"
    )
    with pytest.raises(errors.RpcNoSuchMethod, match="several destinations"):
        router.call("getSnapshotDiffReportListing", pages)
    for away in NAMES[:count]:
        router.nameservices.down = {away}
        with pytest.raises(errors.NoNamenodes, match=away):
            diff(router)
        with pytest.raises(errors.NoNamenodes, match=away):
            snapshots(router)


def test_a_snapshottable_directory_is_listed_once() -> None:
    router = snapshottable(3)
    answer = router.call("getSnapshottableDirListing", pb.GetSnapshottableDirListingRequestProto())
    found = answer.snapshottableDirList.snapshottableDirListing
    assert [(e.parent_fullpath, e.dirStatus.path) for e in found] == [(b"/m", b"d")]


def test_corrupt_files_of_two_directories_of_one_nameservice_are_asked_for_one_by_one() -> None:
    places = (Destination("east", "/one"), Destination("east", "/two"))
    router = InMemoryRouter([MountEntry("/m", places)], ["east"])
    with pytest.raises(errors.UnsupportedOperation, match=r"east->/one, east->/two"):
        router.call("listCorruptFileBlocks", pb.ListCorruptFileBlocksRequestProto(path="/m"))


def test_renames_that_follow_one_are_left_to_the_client() -> None:
    router = InMemoryRouter([MountEntry("/m", (Destination("east", "/one"),))], ["east"])
    for name in "ac":
        router.call("mkdirs", mkdirs(f"/m/{name}"))
        # Of the same name, outside of what the router shows as /m.
        router.at("east", "mkdirs", mkdirs(f"/m/{name}"))
    step = pb.NextRenameProto(src="/m/c", dst="/m/d")
    move = pb.Rename2RequestProto(src="/m/a", dst="/m/b", overwriteDest=False, next=[step])
    assert not router.call("rename2", move).nextDone
    assert listed(router, "/m") == ["b", "c"]


# -- the trash -----------------------------------------------------------------------------

TRASH = "/user/ann/.Trash/Current"


def trash_router() -> InMemoryRouter:
    """West has something in the trash, of /data1/test1."""
    entries = [
        MountEntry("/home/data", (Destination("east", "/home/data"),)),
        MountEntry("/data1/test1", (Destination("west", "/data1/test1"),)),
    ]
    router = InMemoryRouter(entries, ["east", "west"], "east")
    router.at("west", "mkdirs", mkdirs("/data1/test1/d"))
    router.call("mkdirs", mkdirs(f"{TRASH}/data1/test1"))
    move = pb.Rename2RequestProto(
        src="/data1/test1/d", dst=f"{TRASH}/data1/test1/d", overwriteDest=False
    )
    router.call("rename2", move)
    return router


def listed(router: InMemoryRouter, path: str) -> list[str]:
    request = pb.GetListingRequestProto(src=path, startAfter=b"", needLocation=False)
    answer = router.call("getListing", request)
    return [each.path.decode() for each in answer.dirList.partialListing]


def test_what_is_in_the_trash_of_another_nameservice_is_listed() -> None:
    router = trash_router()
    assert listed(router, TRASH) == ["data1"]
    assert listed(router, f"{TRASH}/data1") == ["test1"]
    assert listed(router, f"{TRASH}/data1/test1") == ["d"]
    for path in (TRASH, f"{TRASH}/data1", f"{TRASH}/data1/test1/d"):
        assert router.call("getFileInfo", pb.GetFileInfoRequestProto(src=path)).HasField("fs")
    router.at("east", "mkdirs", mkdirs(f"{TRASH}/mine"))
    assert listed(router, TRASH) == ["data1", "mine"]
    summary = router.call("getContentSummary", pb.GetContentSummaryRequestProto(path=TRASH))
    assert summary.summary.directoryCount == 2 + 4


def test_nobody_who_moved_nothing_to_the_trash_has_one() -> None:
    router = trash_router()
    request = pb.GetFileInfoRequestProto(src="/user/bob/.Trash/Current")
    assert not router.call("getFileInfo", request).HasField("fs")
    assert listed(router, "/user/bob/.Trash/Current") == []


def test_the_trash_of_a_nameservice_that_is_disabled_is_passed_over() -> None:
    router = trash_router()
    router.nameservices.disabled = frozenset({"west"})
    assert listed(router, TRASH) == []
    assert not router.call("getFileInfo", pb.GetFileInfoRequestProto(src=TRASH)).HasField("fs")


def test_the_trash_is_emptied_in_all_nameservices() -> None:
    router = trash_router()
    request = pb.DeleteRequestProto(src=TRASH, recursive=True)
    router.nameservices.down.add("west")
    with pytest.raises(errors.NoNamenodes, match="west"):
        router.call("delete", request)
    router.nameservices.down.clear()
    assert router.call("delete", request).result
    assert there(router, TRASH) == []


# -- paths of one namenode -----------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/.reserved", "//.reserved", "/.reserved//.inodes/16387", "///.reserved///raw/real/f"]
)
def test_reserved_paths_are_refused_however_they_are_written(path: str) -> None:
    router = InMemoryRouter(
        [MountEntry("/m", (Destination("east", "/real"),), read_only=True)], ["east"], "east"
    )
    for method, request in (
        ("delete", pb.DeleteRequestProto(src=path, recursive=False)),
        ("getFileInfo", pb.GetFileInfoRequestProto(src=path)),
        ("rename", pb.RenameRequestProto(src="/x", dst=path)),
        ("setTimes", pb.SetTimesRequestProto(src=path, mtime=1, atime=1)),
    ):
        with pytest.raises(errors.UnsupportedOperation, match="belong to one namenode"):
            router.call(method, request)
    assert router.nameservices.asked == []


@pytest.mark.parametrize(("real", "shown"), [(0, 2), (5, 5)])
def test_a_mount_point_is_listed_with_the_children_of_both(real: int, shown: int) -> None:
    """It is a directory of its destination, and there are mount points below it."""
    below = [MountEntry(f"/m/{name}", (Destination("east", "/other"),)) for name in ("a", "b")]
    router = InMemoryRouter([MountEntry("/m", (Destination("east", "/real"),)), *below], ("east",))
    router.at("east", "mkdirs", mkdirs("/real"))
    for number in range(real):
        router.at("east", "mkdirs", mkdirs(f"/real/d{number}"))
    request = pb.GetListingRequestProto(src="/", startAfter=b"", needLocation=False)
    (entry,) = router.call("getListing", request).dirList.partialListing
    assert (entry.path, entry.childrenNum) == (b"m", shown)


def test_parts_of_one_call_that_go_to_one_nameservice_have_an_identity_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or the answer to the one would be taken for that to the other."""
    entries = [
        MountEntry("/m", (Destination("east", "/x"),), Order.LEADER_FOLLOWER),
        MountEntry("/m/b", (Destination("east", "/y"),), Order.LEADER_FOLLOWER),
    ]
    router = InMemoryRouter(entries, NAMES[:1])
    for path in ("/x", "/y"):
        router.at("east", "mkdirs", mkdirs(path))
    identities = []
    nameservices = router.nameservices
    call = nameservices.call

    async def noted(
        nameservice: str, method: str, request: Any, kind: Any, identity: Any, **more: Any
    ) -> Any:
        identities.append((identity.client_id, identity.call_id))
        return await call(nameservice, method, request, kind, identity, **more)

    monkeypatch.setattr(nameservices, "call", noted)
    router.call("getContentSummary", pb.GetContentSummaryRequestProto(path="/m"))
    assert len(identities) == len(set(identities)) == 2


def test_no_condition_is_promised_in_several_nameservices() -> None:
    router = router_of(Order.HASH_ALL)
    write(router, "east", "/real/a")
    nothing = pb.KnownFileProto(fileId=0, modificationTime=0, length=0)
    rename = pb.Rename2RequestProto(src="/m/a", dst="/m/b", overwriteDest=False, replaces=nothing)
    with pytest.raises(errors.UnsupportedOperation, match="/m/b may be in several nameservices"):
        router.call("rename2", rename)
    rename = pb.Rename2RequestProto(src="/m/a", dst="/m/b", overwriteDest=False, known=nothing)
    with pytest.raises(errors.UnsupportedOperation, match="/m/a may be in several nameservices"):
        router.call("rename2", rename)
    assert there(router, "/real/a") == ["east"]


class HadoopsNameservices(InMemoryNameservices):
    """Namenodes that list two names at a time and compare their bytes as signed numbers, those of
    `ours` excepted."""

    ours: frozenset[str] = frozenset()
    hanging: frozenset[str] = frozenset()

    async def call(
        self, nameservice: str, method: str, request: Any, *rest: Any, **named: Any
    ) -> Any:
        behind = b""
        if nameservice in self.hanging:
            await asyncio.sleep(3600)
        if method == "getListing":
            behind = request.startAfter
            request = pb.GetListingRequestProto(
                src=request.src, startAfter=b"", needLocation=request.needLocation
            )
        answer: Any = await super().call(nameservice, method, request, *rest, **named)
        if method == "getServerDefaults" and nameservice not in self.ours:
            answer.serverDefaults.ClearField("listsByUnsignedBytes")
        if method == "getListing":
            place = NameOrder.SIGNED.sort_key
            entries = sorted(answer.dirList.partialListing, key=lambda entry: place(entry.path))
            entries = [entry for entry in entries if place(entry.path) > place(behind)]
            del answer.dirList.partialListing[:]
            answer.dirList.partialListing.extend(entries[:2])
            answer.dirList.remainingEntries = len(entries[2:])
        return answer


@pytest.mark.parametrize(
    ("east", "west"),
    [
        ("é", "abcde"),
        ("abcde", "é"),
        ("éèêë", "abcde"),
        ("éèêëa", "bcde"),
        ("éa", "èb"),
        ("abc", "bcd"),
    ],
)
def test_no_name_of_hadoops_namenodes_is_lost_or_listed_twice(east: str, west: str) -> None:
    """Also where no page has names of both kinds, and so none shows how they are compared."""
    nameservices = HadoopsNameservices({name: InMemoryNamenode() for name in NAMES[:2]})
    destinations = tuple(Destination(name, "/real") for name in NAMES[:2])
    router = InMemoryRouter(
        [MountEntry("/m", destinations, Order.HASH_ALL)], NAMES[:2], nameservices=nameservices
    )
    for nameservice, names in (("east", east), ("west", west)):
        for name in names:
            router.at(nameservice, "mkdirs", mkdirs(f"/real/{name}"))
    listed: list[str] = []
    start, remaining = b"", 1
    while remaining:
        request = pb.GetListingRequestProto(src="/m", startAfter=start, needLocation=False)
        page = router.call("getListing", request).dirList
        listed += [entry.path.decode() for entry in page.partialListing]
        start, remaining = page.partialListing[-1].path, page.remainingEntries
        assert len(listed) < 20, "no name comes twice"
    assert sorted(listed) == sorted(set(east + west))


def test_mount_points_alone_are_listed_behind_any_name() -> None:
    entries = [MountEntry(f"/m/{name}", (Destination("east", "/real"),)) for name in ("b", "é")]
    router = InMemoryRouter(entries, NAMES[:1])
    request = pb.GetListingRequestProto(src="/m", startAfter=b"b", needLocation=False)
    listed = router.call("getListing", request).dirList.partialListing
    assert [entry.path.decode() for entry in listed] == ["é"]


@pytest.mark.parametrize(
    ("ours", "down", "hanging", "expected"),
    [
        (NAMES[:2], (), (), True),
        (NAMES[:1], (), (), False),
        (NAMES[1:2], (), (), False),
        ((), (), (), False),
        (NAMES[:2], NAMES[1:2], (), False),
        (NAMES[:2], (), NAMES[1:2], False),
    ],
)
def test_the_order_of_names_is_said_to_be_ours_only_if_it_is_so_everywhere(
    ours: tuple[str, ...], down: tuple[str, ...], hanging: tuple[str, ...], expected: bool
) -> None:
    """Who believes it lists directories of all nameservices by it."""
    nameservices = HadoopsNameservices({name: InMemoryNamenode() for name in NAMES[:2]})
    nameservices.ours, nameservices.hanging = frozenset(ours), frozenset(hanging)
    nameservices.down.update(down)
    router = InMemoryRouter([], NAMES[:2], NAMES[0], nameservices=nameservices)
    router.core.mount_status_timeout_s = 0.01 if hanging else 20.0
    answer = router.call("getServerDefaults", pb.GetServerDefaultsRequestProto())
    assert answer.serverDefaults.listsByUnsignedBytes is expected
    assert answer.serverDefaults.blockSize > 0
