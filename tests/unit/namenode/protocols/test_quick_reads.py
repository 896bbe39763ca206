"""Reads that are answered by their bytes: with the handler's bytes, or not at all."""

from __future__ import annotations

from typing import Any, Final

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.protocols.quick import rows
from howdah.namenode.protocols.quick.reads import QuickReads
from howdah.native.loading import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.quick import Quick
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode

GROUPS: Final = {"alice": ("staff",), "bob": ("staff", "others"), "carol": ()}
USERS: Final = (SUPERUSER, *GROUPS, "nobody")
CLIENT: Final = "DFSClient_1"
ADDRESS: Final = "10.9.9.9"
KERNELS: Final = pytest.mark.parametrize("native", [True, False], ids=["kernel", "twin"])


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


def quick_of(world: InMemoryNamenode, method: str, *, native: bool = True) -> Quick:
    """What answers by bytes, by the kernel or by its twin."""
    if native and (kernel() is None or not hasattr(kernel(), "file_info")):
        pytest.skip("the kernel is not built here")
    reads = QuickReads(world.core)
    reads.file_info_by = rows.file_info if native else rows.file_info_here
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
    last: types_pb2.ExtendedBlockProto | None = None
    for size in (1 << 20, 1 << 20, 77):
        answer = world.call(
            "addBlock", pb.AddBlockRequestProto(src="/f", clientName=CLIENT, previous=last)
        )
        assert isinstance(answer, pb.AddBlockResponseProto)
        last = answer.block.b
        last.numBytes = size
        for node in nodes:
            node.store(last.blockId, last.generationStamp, size)
    handlers, quick = both(world, "/f", native=native)
    assert handlers is not None
    assert quick is None, "somebody writes it"
    world.call("complete", pb.CompleteRequestProto(src="/f", clientName=CLIENT, last=last))
    handlers, quick = both(world, "/f", native=native)
    assert quick is not None
    assert quick == handlers
    assert pb.GetFileInfoResponseProto.FromString(quick).fs.length == (2 << 20) + 77


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
@settings(max_examples=150, deadline=None)
def test_any_history_is_told_as_the_handler_tells_it(
    steps: list[tuple[Any, ...]], asked: list[tuple[str, str]]
) -> None:
    """By the kernel and by its twin, who agree on what is left to the handler."""
    world = namenode()
    native = kernel() is not None and hasattr(kernel(), "file_info")
    quicks = [quick_of(world, "getFileInfo", native=one) for one in {native, False}]
    for step in [*steps, ("none",)]:
        take(world, step)
        for path, user in asked:
            request = info(path)
            body = request.SerializeToString()
            said = {quick(body, user, ADDRESS) for quick in quicks}
            assert len(said) == 1
            assert said <= {None, by_handler(world, "getFileInfo", request, user)}
