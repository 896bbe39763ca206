"""Reads that are answered by their bytes: with the handler's bytes, or not at all."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from random import Random
from typing import Any, Final, TypeVar

import pytest
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.protocols.fast_path import file_status, locations
from howdah.namenode.service.protocols.fast_path.reads import FastReads
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.fast_path import Quick
from howdah.testing.in_memory import SUPERUSER, InMemoryDatanode, InMemoryNamenode

GROUPS: Final = {"alice": ("staff",), "bob": ("staff", "others"), "carol": ()}
USERS: Final = (SUPERUSER, *GROUPS, "nobody")
CLIENT: Final = "DFSClient_1"
ADDRESS: Final = "10.9.9.9"
BLOCK: Final = 1 << 20
# How long examples take to make says how busy the machine is.
BUSY: Final = [HealthCheck.too_slow]
KERNELS: Final = pytest.mark.parametrize("native", [True, False], ids=["kernel", "twin"])

T = TypeVar("T")


def namenode() -> InMemoryNamenode:
    return InMemoryNamenode(groups=dict(GROUPS))


def perm(mode: int) -> types_pb2.FsPermissionProto:
    return types_pb2.FsPermissionProto(perm=mode)


def mkdir(world: InMemoryNamenode, path: str, mode: int = 0o755, user: str = SUPERUSER) -> None:
    world.call("mkdirs", pb.MkdirsRequestProto(src=path, masked=perm(mode), createParent=True))
    world.call("setPermission", pb.SetPermissionRequestProto(src=path, permission=perm(mode)))
    world.call("setOwner", pb.SetOwnerRequestProto(src=path, username=user))


def begin(world: InMemoryNamenode, path: str) -> None:
    world.call(
        "create",
        pb.CreateRequestProto(
            src=path,
            masked=perm(0o640),
            clientName=CLIENT,
            createFlag=pb.CREATE,
            createParent=True,
            replication=3,
            blockSize=1 << 20,
        ),
    )


def end(world: InMemoryNamenode, path: str) -> None:
    world.call("complete", pb.CompleteRequestProto(src=path, clientName=CLIENT))


def create(world: InMemoryNamenode, path: str) -> None:
    begin(world, path)
    end(world, path)


def write(
    world: InMemoryNamenode, path: str, sizes: list[int], nodes: list[InMemoryDatanode]
) -> types_pb2.ExtendedBlockProto | None:
    """Add blocks to an open file, which these nodes have. The last one."""
    last: types_pb2.ExtendedBlockProto | None = None
    for size in sizes:
        answer = world.call(
            "addBlock", pb.AddBlockRequestProto(src=path, clientName=CLIENT, previous=last)
        )
        assert isinstance(answer, pb.AddBlockResponseProto)
        last = answer.block.b
        last.numBytes = size
        for node in nodes:
            node.store(last.blockId, last.generationStamp, size)
    return last


def written(
    world: InMemoryNamenode, path: str, sizes: list[int], nodes: list[InMemoryDatanode]
) -> None:
    begin(world, path)
    last = write(world, path, sizes, nodes)
    world.call("complete", pb.CompleteRequestProto(src=path, clientName=CLIENT, last=last))


def quick_of(world: InMemoryNamenode, method: str, *, native: bool = True) -> Quick:
    """What answers by bytes, by the kernel or by its twin."""
    if native and not hasattr(kernel(), "block_locations"):
        pytest.skip("the kernel is not built here")
    reads = FastReads(world.namesystem)
    if not native:
        reads.file_info_by = file_status.file_info_here
        reads.block_locations_by = locations.block_locations_here
    return reads.methods[method]


def info(path: str) -> pb.GetFileInfoRequestProto:
    return pb.GetFileInfoRequestProto(src=path)


def by_handler(world: InMemoryNamenode, method: str, request: Message, user: str) -> bytes | None:
    """None for an error."""
    try:
        answer = world.call(method, request, user=user, address=ADDRESS)
    except errors.HowdahError:
        return None
    assert isinstance(answer, Message)
    return answer.SerializeToString(deterministic=True)


def both(
    world: InMemoryNamenode, path: str, user: str = SUPERUSER, *, native: bool = True
) -> tuple[bytes | None, bytes | None]:
    """The handler's answer to `getFileInfo`, and the one by bytes."""
    handlers = by_handler(world, "getFileInfo", info(path), user)
    quick = quick_of(world, "getFileInfo", native=native)
    return handlers, quick(info(path).SerializeToString(), user, ADDRESS)


@KERNELS
def test_a_plain_file_is_shown_as_the_handler_shows_it(native: bool) -> None:
    world = namenode()
    create(world, "/d/e/ü")
    handlers, quick = both(world, "/d/e/ü", native=native)
    assert quick is not None
    assert quick == handlers
    assert pb.GetFileInfoResponseProto.FromString(quick).fs.block_replication == 3


@KERNELS
def test_a_directory_is_shown_as_the_handler_shows_it(native: bool) -> None:
    world = namenode()
    for name in ("f", "g", "h"):
        create(world, f"/d/e/{name}")
    handlers, quick = both(world, "/d/e", native=native)
    assert quick is not None
    assert quick == handlers
    assert pb.GetFileInfoResponseProto.FromString(quick).fs.childrenNum == 3
    world.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d/e"))
    assert both(world, "/d/e", native=native)[1] is None
    special = pb.SetStoragePolicyRequestProto(src="/d/other", policyName="COLD")
    mkdir(world, "/d/other")
    assert both(world, "/d/other", native=native)[1] is not None
    world.call("setStoragePolicy", special)
    assert both(world, "/d/other", native=native)[1] is None


@KERNELS
def test_nothing_is_shown_of_what_is_not_there(native: bool) -> None:
    world = namenode()
    create(world, "/d/f")
    assert both(world, "/d/other", native=native) == (b"", b"")
    assert both(world, "/gone/other", native=native) == (b"", None)


@KERNELS
def test_a_file_of_several_blocks_has_the_length_of_all(native: bool) -> None:
    world = namenode()
    nodes = [world.join(f"dn{n}") for n in range(3)]
    begin(world, "/f")
    last = write(world, "/f", [BLOCK, BLOCK, 77], nodes)
    handlers, quick = both(world, "/f", native=native)
    assert handlers is not None
    assert quick is None, "somebody writes it"
    world.call("complete", pb.CompleteRequestProto(src="/f", clientName=CLIENT, last=last))
    handlers, quick = both(world, "/f", native=native)
    assert quick is not None
    assert quick == handlers
    assert pb.GetFileInfoResponseProto.FromString(quick).fs.length == 2 * BLOCK + 77


@KERNELS
@pytest.mark.parametrize(
    ("owner", "mode", "user", "may"),
    [
        ("alice", 0o100, "alice", True),
        ("alice", 0o677, "alice", False),
        ("alice", 0o010, "bob", False),
        ("alice", 0o001, "carol", True),
        ("alice", 0o776, "carol", False),
        ("alice", 0o000, SUPERUSER, True),
    ],
)
def test_who_may_not_enter_a_directory_is_left_to_the_handler(
    owner: str, mode: int, user: str, may: bool, native: bool
) -> None:
    world = namenode()
    create(world, "/top/d/f")
    mkdir(world, "/top", mode, owner)
    both(world, "/top/d/f", native=native)
    handlers, quick = both(world, "/top/d/f", user, native=native)
    assert (handlers is not None) is may
    assert quick == handlers


@KERNELS
def test_a_group_is_asked_for(native: bool) -> None:
    world = namenode()
    create(world, "/d/f")
    world.call("setOwner", pb.SetOwnerRequestProto(src="/d", username="x", groupname="others"))
    mkdir(world, "/d", 0o010, "x")
    both(world, "/d/f", native=native)
    assert both(world, "/d/f", "alice", native=native) == (None, None)
    handlers, quick = both(world, "/d/f", "bob", native=native)
    assert quick is not None
    assert quick == handlers


@KERNELS
@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d", policyName="COLD")),
        ("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d/e/f", policyName="COLD")),
        ("delete", pb.DeleteRequestProto(src="/d/e", recursive=True)),
        ("rename", pb.RenameRequestProto(src="/d", dst="/elsewhere")),
        ("setQuota", pb.SetQuotaRequestProto(path="/d", namespaceQuota=9, storagespaceQuota=9)),
        (
            "createSymlink",
            pb.CreateSymlinkRequestProto(
                target="/d/e/f", link="/d/e/g", dirPerm=perm(0o755), createParent=True
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nothing_is_said_that_the_handler_would_not_say(
    method: str, request_: Message, native: bool
) -> None:
    """Before the handler is asked, and after."""
    world = namenode()
    create(world, "/d/e/f")
    mkdir(world, "/d/e/sub")
    paths = ["/d/e/f", "/d/e/g", "/d/e/sub", "/d/e", "/d", "/elsewhere/e/f", "/"]
    for path in paths:
        both(world, path, native=native)
    world.call(method, request_)
    quick = quick_of(world, "getFileInfo", native=native)
    for path in paths * 2:
        request = info(path)
        said = quick(request.SerializeToString(), SUPERUSER, ADDRESS)
        assert said in (None, by_handler(world, "getFileInfo", request, SUPERUSER)), path


@KERNELS
@pytest.mark.parametrize("method", ["getFileInfo", "getBlockLocations"])
@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"\x0a",
        b"\x0a\x00",
        b"\x0a\x04/f",
        b"\x0a\x82\x80\x00/f",
        b"\x12\x02/f",
        b"\x0a\x02/\xff",
    ],
    ids=bytes.hex,
)
def test_what_is_not_written_as_requests_are_is_left_to_the_handler(
    method: str, request_: bytes, native: bool
) -> None:
    world = namenode()
    create(world, "/f")
    both(world, "/f", native=native)
    assert quick_of(world, method, native=native)(request_, SUPERUSER, ADDRESS) is None


NAMES = st.sampled_from(
    ["a", "b", "ä\U0001f418", ".snapshot", ".", "..", ".hidden", "", "a:b", "c" * 90]
)
PATHS = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names)) | st.sampled_from(
    ["", "a", "/.reserved/.inodes/16385", "/.reserved/raw/a", "/a/", "/" + "x" * 20_000, "/\0"]
)
MODES = st.sampled_from([0o777, 0o755, 0o750, 0o700, 0o711, 0o000, 0o1777])
STEPS = st.one_of(
    st.builds(
        lambda path, mode, user: ("dir", path, mode, user), PATHS, MODES, st.sampled_from(USERS)
    ),
    st.builds(lambda path: ("file", path), PATHS),
    st.builds(lambda path: ("open", path), PATHS),
    st.builds(lambda path: ("delete", path), PATHS),
    st.builds(lambda src, dst: ("rename", src, dst), PATHS, PATHS),
    st.builds(lambda path: ("policy", path), PATHS),
    st.builds(lambda path, time: ("times", path, time), PATHS, st.integers(-(1 << 60), 1 << 60)),
)


def take(world: InMemoryNamenode, step: tuple[Any, ...]) -> None:
    """A step of a history, if it is allowed."""
    try:
        match step:
            case ("dir", path, mode, user):
                mkdir(world, path, mode, user)
            case ("file", path):
                create(world, path)
            case ("open", path):
                begin(world, path)
            case ("delete", path):
                world.call("delete", pb.DeleteRequestProto(src=path, recursive=True))
            case ("rename", src, dst):
                world.call("rename", pb.RenameRequestProto(src=src, dst=dst))
            case ("policy", path):
                world.call(
                    "setStoragePolicy", pb.SetStoragePolicyRequestProto(src=path, policyName="COLD")
                )
            case ("times", path, time):
                mask = (1 << 64) - 1
                world.call(
                    "setTimes",
                    pb.SetTimesRequestProto(src=path, mtime=time & mask, atime=time & mask),
                )
    except errors.HowdahError:
        return


@given(
    steps=st.lists(STEPS, max_size=12),
    asked=st.lists(st.tuples(PATHS, st.sampled_from(USERS)), min_size=1, max_size=8),
)
@settings(max_examples=100, suppress_health_check=BUSY)
def test_any_history_is_told_as_the_handler_tells_it(
    steps: list[tuple[Any, ...]], asked: list[tuple[str, str]]
) -> None:
    """By the kernel and by its twin, who agree on what is left to the handler."""
    world = namenode()
    native = hasattr(kernel(), "block_locations")
    quicks = [quick_of(world, "getFileInfo", native=one) for one in {native, False}]
    for step in [*steps, ("none",)]:
        take(world, step)
        for path, user in asked:
            request = info(path)
            body = request.SerializeToString()
            said = {quick(body, user, ADDRESS) for quick in quicks}
            assert len(said) == 1
            assert said <= {None, by_handler(world, "getFileInfo", request, user)}


# Where blocks are.


def where(path: str, offset: int = 0, length: int = 1 << 40) -> pb.GetBlockLocationsRequestProto:
    mask = (1 << 64) - 1
    return pb.GetBlockLocationsRequestProto(src=path, offset=offset & mask, length=length & mask)


def put_in_order(places: MutableSequence[T], order: list[int]) -> None:
    kept = [places[n] for n in order]
    del places[:]
    places.extend(kept)


def sorted_places(answer: bytes | None) -> pb.GetBlockLocationsResponseProto | None:
    """With the places of each block in one order, since equals are shuffled."""
    if answer is None:
        return None
    shown = pb.GetBlockLocationsResponseProto.FromString(answer)
    for block in [*shown.locations.blocks, shown.locations.lastBlock]:
        order = sorted(range(len(block.locs)), key=lambda n: block.locs[n].id.datanodeUuid)
        put_in_order(block.locs, order)
        put_in_order(block.isCached, order)
        put_in_order(block.storageTypes, order)
        put_in_order(block.storageIDs, order)
    return shown


def uuids(answer: bytes | None) -> list[list[str]]:
    assert answer is not None
    shown = pb.GetBlockLocationsResponseProto.FromString(answer).locations
    return [[place.id.datanodeUuid for place in block.locs] for block in shown.blocks]


def located(
    world: InMemoryNamenode,
    request: pb.GetBlockLocationsRequestProto,
    user: str = SUPERUSER,
    *,
    native: bool = True,
    address: str = ADDRESS,
) -> tuple[bytes | None, bytes | None]:
    """The handler's answer, and the one by bytes; they say the same, if both are given."""
    handlers = by_handler(world, "getBlockLocations", request, user)
    quick = quick_of(world, "getBlockLocations", native=native)
    said = quick(request.SerializeToString(), user, address)
    if said is not None:
        assert sorted_places(said) == sorted_places(handlers)
        assert handlers is not None
        assert len(said) == len(handlers)
    return handlers, said


def cluster() -> tuple[InMemoryNamenode, list[InMemoryDatanode]]:
    world = namenode()
    racks = ["/a", "/a", "/b"]
    return world, [world.join(f"dn{n}", rack=rack) for n, rack in enumerate(racks)]


@KERNELS
def test_an_empty_file_has_no_blocks(native: bool) -> None:
    world = namenode()
    create(world, "/d/f")
    handlers, quick = located(world, where("/d/f"), native=native)
    assert quick is not None
    assert quick == handlers


@KERNELS
@pytest.mark.parametrize(
    ("offset", "length", "blocks"),
    [
        (0, 1 << 40, 3),
        (0, 1, 1),
        (0, 0, 0),
        (BLOCK, BLOCK, 1),
        (BLOCK - 1, 2, 2),
        (2 * BLOCK + 76, 1, 1),
        (2 * BLOCK + 77, 1, 0),
        (1 << 62, (1 << 63) - 1, 0),
    ],
)
def test_blocks_of_a_range_are_told_and_the_last_one(
    offset: int, length: int, blocks: int, native: bool
) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [BLOCK, BLOCK, 77], nodes)
    _, quick = located(world, where("/d/f", offset, length), native=native)
    assert quick is not None
    shown = pb.GetBlockLocationsResponseProto.FromString(quick).locations
    assert len(shown.blocks) == blocks
    assert (shown.lastBlock.offset, shown.isLastBlockComplete) == (2 * BLOCK, True)


@KERNELS
@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, -1)])
def test_what_is_below_zero_is_left_to_the_handler(offset: int, length: int, native: bool) -> None:
    world, nodes = cluster()
    written(world, "/f", [7], nodes)
    assert located(world, where("/f", offset, length), native=native) == (None, None)


@KERNELS
@pytest.mark.req("FS-089")
def test_the_nearest_comes_first_and_who_was_not_heard_of_last(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    at = [node.ip for node in nodes]
    for address, first in ((at[0], "dn0"), (at[1], "dn1"), (at[2], "dn2")):
        _, quick = located(world, where("/d/f"), native=native, address=address)
        assert uuids(quick)[0][0] == first
    _, quick = located(world, where("/d/f"), native=native, address=at[0])
    assert uuids(quick) == [["dn0", "dn1", "dn2"]]
    world.clock.advance(world.namesystem.datanode_manager.datanodes.stale_ms + 1)
    for node in nodes[1:]:
        node.heartbeat()
    _, quick = located(world, where("/d/f"), native=native, address=at[0])
    assert uuids(quick) == [["dn1", "dn2", "dn0"]]


@KERNELS
def test_equals_come_in_any_order(native: bool) -> None:
    world = namenode()
    nodes = [world.join(f"dn{n}") for n in range(3)]
    written(world, "/d/f", [7], nodes)
    orders = {tuple(uuids(located(world, where("/d/f"), native=native)[1])[0]) for _ in range(200)}
    assert len(orders) == 6


@KERNELS
def test_a_datanode_is_shown_as_it_is_now(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    located(world, where("/d/f"), native=native)
    for capacity in (5, 6):
        nodes[0].capacity_bytes = capacity << 30
        world.clock.advance(1)
        nodes[0].heartbeat()
        _, quick = located(world, where("/d/f"), native=native, address=nodes[0].ip)
        assert quick is not None
        block = pb.GetBlockLocationsResponseProto.FromString(quick).locations.blocks[0]
        assert block.locs[0].capacity == capacity << 30
    nodes[0].known.upgrade_domain = "ud7"
    _, quick = located(world, where("/d/f"), native=native, address=nodes[0].ip)
    assert quick is not None
    assert b"ud7" in quick


@KERNELS
def test_an_access_time_that_is_due_is_left_to_the_handler(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    create(world, "/d/empty")
    world.clock.advance(world.settings.atime_precision_ms + 1)
    for node in nodes:
        node.heartbeat()
    for path in ("/d/f", "/d/empty"):
        quick = quick_of(world, "getBlockLocations", native=native)
        assert quick(where(path).SerializeToString(), SUPERUSER, ADDRESS) is None
        _, said = located(world, where(path), native=native)
        assert said is not None, "the handler has set it"


@KERNELS
def test_who_may_not_read_is_left_to_the_handler(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    world.call(
        "setOwner", pb.SetOwnerRequestProto(src="/d/f", username="alice", groupname="others")
    )
    for mode, readers in ((0o400, {"alice"}), (0o040, {"bob"}), (0o004, {"carol", "nobody"})):
        world.call("setPermission", pb.SetPermissionRequestProto(src="/d/f", permission=perm(mode)))
        for user in (*GROUPS, "nobody"):
            _, quick = located(world, where("/d/f"), user, native=native)
            assert (quick is not None) is (user in readers), (oct(mode), user)


def lose_one(world: InMemoryNamenode, nodes: list[InMemoryDatanode]) -> None:
    nodes[0].known.admin_state = AdminState.DECOMMISSION_INPROGRESS
    world.namesystem.block_manager.blocks.redundancy.out_of_service.add(nodes[0].known)


def lose_all(world: InMemoryNamenode, nodes: list[InMemoryDatanode]) -> None:
    world.clock.advance(world.namesystem.datanode_manager.datanodes.expiry_ms + 1)
    world.tick()


def corrupt(world: InMemoryNamenode, nodes: list[InMemoryDatanode]) -> None:
    shown = by_handler(world, "getBlockLocations", where("/d/f"), SUPERUSER)
    block = pb.GetBlockLocationsResponseProto.FromString(shown or b"").locations.blocks[0]
    world.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[block]))


def write_on(world: InMemoryNamenode, nodes: list[InMemoryDatanode]) -> None:
    world.call("append", pb.AppendRequestProto(src="/d/f", clientName=CLIENT))


def follow(world: InMemoryNamenode, nodes: list[InMemoryDatanode]) -> None:
    world.namesystem.role.writable = False


@KERNELS
@pytest.mark.parametrize("happens", [lose_one, lose_all, corrupt, write_on, follow])
def test_what_is_rare_is_left_to_the_handler(
    happens: Callable[[InMemoryNamenode, list[InMemoryDatanode]], None], native: bool
) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [7], nodes)
    assert located(world, where("/d/f"), native=native)[1] is not None
    happens(world, nodes)
    assert located(world, where("/d/f"), native=native)[1] is None


@KERNELS
def test_many_blocks_are_left_to_the_handler(native: bool) -> None:
    world, nodes = cluster()
    written(world, "/d/f", [BLOCK] * 65, nodes)
    assert located(world, where("/d/f"), native=native)[1] is None
    assert located(world, where("/d/f", BLOCK), native=native)[1] is not None


@given(
    sizes=st.lists(st.integers(1, BLOCK), max_size=4),
    asked=st.lists(
        st.tuples(st.integers(-1, 4 * BLOCK), st.integers(-1, 4 * BLOCK)), min_size=1, max_size=4
    ),
    silent=st.lists(st.integers(0, 3), max_size=2),
    caller=st.integers(0, 4),
    cut=st.integers(0, 12),
)
@settings(max_examples=40, suppress_health_check=BUSY)
def test_kernel_and_twin_say_the_same_of_any_cluster(
    sizes: list[int], asked: list[tuple[int, int]], silent: list[int], caller: int, cut: int
) -> None:
    """To the byte, where the dice fall alike."""
    world, nodes = cluster()
    nodes.append(world.join("dn3", rack="/c/d"))
    written(world, "/d/f", sizes, nodes[: 1 + caller % 3])
    world.clock.advance(world.namesystem.datanode_manager.datanodes.stale_ms + 1)
    for number, node in enumerate(nodes):
        if number not in silent:
            node.heartbeat()
    address = [*[node.ip for node in nodes], ADDRESS][caller]
    quicks = [
        quick_of(world, "getBlockLocations", native=native)
        for native in {False, hasattr(kernel(), "block_locations")}
    ]
    for offset, length in asked:
        request = where("/d/f", offset, length)
        located(world, request)
        body = request.SerializeToString()
        for data in (body, body[:-cut] if cut else body + b"\0"):
            said = set()
            for quick in quicks:
                world.namesystem.dice = Random(7)
                said.add(quick(data, SUPERUSER, address))
            assert len(said) == 1
