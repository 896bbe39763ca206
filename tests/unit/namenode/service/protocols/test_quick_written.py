"""Answers to those who write files: as bytes they are those of the message, to the last bit."""

from __future__ import annotations

from typing import Final

import pytest
from google.protobuf.message import Message

from howdah.namenode.service.protocols.fast_path import file_status
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.service import Encoded
from howdah.protocol.rpc.session import Call
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode

PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT: Final = "DFSClient_1"
CLIENT_ID: Final = b"c" * 16


def ask(
    world: InMemoryNamenode, method: str, request: Message, call_id: int, *, takes_bytes: bool
) -> tuple[bytes, bool]:
    """The bytes of an answer, and whether the handler gave them."""
    body = request.SerializeToString()
    call = Call(call_id, CLIENT_ID, 0, PROTOCOL, 1, method, body, SUPERUSER)
    if takes_bytes:
        answer = world._registry.dispatch_to_wire(call, "10.9.9.9", 0, None)
    else:
        answer = world._registry.dispatch(call, "10.9.9.9")
    if isinstance(answer, Encoded):
        return answer.data, True
    assert isinstance(answer, Message)
    return answer.SerializeToString(), False


def creation(path: str) -> pb.CreateRequestProto:
    return pb.CreateRequestProto(
        src=path,
        masked=types_pb2.FsPermissionProto(perm=0o640),
        clientName=CLIENT,
        createFlag=pb.CREATE | pb.OVERWRITE,
        createParent=True,
        replication=3,
        blockSize=1 << 20,
    )


def world_of(directory: str) -> InMemoryNamenode:
    """With a directory whose files have more to tell than their rows, if it is named so."""
    world = InMemoryNamenode()
    for name in ("a", "b", "c"):
        world.join(name)
    world.call(
        "mkdirs",
        pb.MkdirsRequestProto(
            src=directory, masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
        ),
    )
    if directory == "/policy":
        world.call(
            "setStoragePolicy", pb.SetStoragePolicyRequestProto(src=directory, policyName="COLD")
        )
    if directory == "/acl":
        entry = types_pb2.AclEntryProto(
            type="USER", scope="DEFAULT", permissions="PERM_ALL", name="ann"
        )
        world.call(
            "modifyAclEntries",
            types_pb2.ModifyAclEntriesRequestProto(src=directory, aclSpec=[entry]),
        )
    return world


@pytest.mark.parametrize("directory", ["/plain", "/policy", "/acl"])
@pytest.mark.parametrize("native", [True, False], ids=["kernel", "twin"])
def test_a_file_is_created(directory: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if native and not hasattr(kernel(), "file_status"):
        pytest.skip("the kernel is not built here")
    if not native:
        monkeypatch.setattr(file_status, "file_status", file_status.file_status_here)
    ours, theirs = world_of(directory), world_of(directory)
    for call_id, name in enumerate(("first", "second", "first", "größer")):
        request = creation(f"{directory}/{name}")
        data, was_encoded = ask(ours, "create", request, call_id, takes_bytes=True)
        message, _ = ask(theirs, "create", request, call_id, takes_bytes=False)
        assert data == message
        assert was_encoded is (directory == "/plain")
        status = pb.CreateResponseProto.FromString(data).fs
        assert status.fileType == types_pb2.HdfsFileStatusProto.IS_FILE


def test_a_repeated_call_has_the_same_answer() -> None:
    world = world_of("/plain")
    request = creation("/plain/file")
    first, _ = ask(world, "create", request, 7, takes_bytes=True)
    assert ask(world, "create", request, 7, takes_bytes=True)[0] == first
    assert ask(world, "create", request, 7, takes_bytes=False)[0] == first


def test_a_block_is_placed() -> None:
    ours, theirs = world_of("/plain"), world_of("/plain")
    answers = []
    for world, takes_bytes in ((ours, True), (theirs, False)):
        ask(world, "create", creation("/plain/file"), 1, takes_bytes=False)
        first, was_encoded = ask(
            world,
            "addBlock",
            pb.AddBlockRequestProto(src="/plain/file", clientName=CLIENT),
            2,
            takes_bytes=takes_bytes,
        )
        last = pb.AddBlockResponseProto.FromString(first).block
        assert len(last.locs) == 3
        last.b.numBytes = 1 << 20
        second, _ = ask(
            world,
            "addBlock",
            pb.AddBlockRequestProto(src="/plain/file", clientName=CLIENT, previous=last.b),
            3,
            takes_bytes=takes_bytes,
        )
        assert pb.AddBlockResponseProto.FromString(second).block.offset == 1 << 20
        assert was_encoded is takes_bytes
        answers.append((first, second))
    assert answers[0] == answers[1]


def test_what_was_done_is_answered_by_the_bytes_of_its_message() -> None:
    """And what was not is answered by a message, which a repeated call gets again."""
    permission = types_pb2.FsPermissionProto(perm=0o755)
    directory = pb.MkdirsRequestProto(src="/plain/d", masked=permission, createParent=False)
    complete = pb.CompleteRequestProto(src="/plain/d/f", clientName=CLIENT)
    rename = pb.RenameRequestProto(src="/plain/d/f", dst="/plain/d/g")
    delete = pb.DeleteRequestProto(src="/plain/d", recursive=True)
    calls: list[tuple[str, Message, int, bool]] = [
        ("mkdirs", directory, 1, True),
        ("create", creation("/plain/d/f"), 2, True),
        ("complete", complete, 3, True),
        ("rename", rename, 4, True),
        ("rename", rename, 4, False),  # the same call again: made by a message
        ("rename", rename, 5, False),  # it is gone: false
        ("rename", rename, 5, False),
        ("delete", delete, 6, True),
        ("delete", delete, 6, False),
        ("delete", delete, 7, False),
        ("delete", delete, 7, False),
    ]
    ours, theirs = world_of("/plain"), world_of("/plain")
    results = []
    for method, request, call_id, is_encoded in calls:
        data, was_encoded = ask(ours, method, request, call_id, takes_bytes=True)
        message, _ = ask(theirs, method, request, call_id, takes_bytes=False)
        assert (data, was_encoded) == (message, is_encoded), (method, call_id)
        results.append(data)
    assert results[4:7] == [b"\x08\x01", b"\x08\x00", b"\x08\x00"]
    assert results[7:] == [b"\x08\x01", b"\x08\x01", b"\x08\x00", b"\x08\x00"]
