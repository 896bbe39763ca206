"""Answers to those who write files: as bytes they are those of the message, to the last bit."""

from __future__ import annotations

from typing import Final

import pytest
from google.protobuf.message import Message

from howdah.namenode.service.protocols import encoders
from howdah.namenode.service.protocols.fast_path import file_status
from howdah.namenode.state.inodes.inodes import File
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Encoded
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode

PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT: Final = "DFSClient_1"
CLIENT_ID: Final = b"c" * 16


def ask(world: InMemoryNamenode, method: str, request: Message, call_id: int) -> tuple[bytes, bool]:
    """The bytes of an answer, and whether the handler gave them."""
    caller = Caller(SUPERUSER, CLIENT_ID, call_id, 0, "10.9.9.9")
    call = Call(caller, PROTOCOL, 1, method, request.SerializeToString())
    answer = world._registry.dispatch_to_wire(call)
    if isinstance(answer, Encoded):
        return answer.data, True
    assert isinstance(answer, Message)
    return answer.SerializeToString(), False


def file_at(world: InMemoryNamenode, path: str) -> File:
    found = world.namesystem.namespace.find(path)
    assert isinstance(found, File)
    return found


def message_of_creation(world: InMemoryNamenode, path: str) -> bytes:
    """The answer to the `create` of a file, as protobuf writes it."""
    answer = pb.CreateResponseProto()
    encoders.file_status(file_at(world, path), b"", into=answer.fs)
    return answer.SerializeToString()


def message_of_block(world: InMemoryNamenode, path: str) -> bytes:
    """The answer to the `addBlock` of a file's last block, as protobuf writes it."""
    file = file_at(world, path)
    block = file.blocks[-1]
    answer = pb.AddBlockResponseProto()
    offset_bytes = file.length_bytes - block.length_bytes
    places = list(block.expected)
    encoders.located_block(
        world.namesystem.settings, block, offset_bytes, places, into=answer.block
    )
    return answer.SerializeToString()


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
    world = world_of(directory)
    for call_id, name in enumerate(("first", "second", "first", "größer")):
        path = f"{directory}/{name}"
        data, was_encoded = ask(world, "create", creation(path), call_id)
        assert data == message_of_creation(world, path)
        assert was_encoded is (directory == "/plain")
        status = pb.CreateResponseProto.FromString(data).fs
        assert status.fileType == types_pb2.HdfsFileStatusProto.IS_FILE


def test_a_repeated_call_has_the_same_answer() -> None:
    world = world_of("/plain")
    request = creation("/plain/file")
    first, was_encoded = ask(world, "create", request, 7)
    assert was_encoded
    assert ask(world, "create", request, 7) == (first, False)


def test_a_block_is_placed() -> None:
    world = world_of("/plain")
    ask(world, "create", creation("/plain/file"), 1)
    request = pb.AddBlockRequestProto(src="/plain/file", clientName=CLIENT)
    for call_id, offset_bytes in ((2, 0), (3, 1 << 20)):
        data, was_encoded = ask(world, "addBlock", request, call_id)
        assert was_encoded
        assert data == message_of_block(world, "/plain/file")
        block = pb.AddBlockResponseProto.FromString(data).block
        assert (len(block.locs), block.offset) == (3, offset_bytes)
        block.b.numBytes = 1 << 20
        request.previous.CopyFrom(block.b)


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
    world = world_of("/plain")
    results = []
    for method, request, call_id, is_encoded in calls:
        data, was_encoded = ask(world, method, request, call_id)
        assert was_encoded is is_encoded, (method, call_id)
        results.append(data)
    assert [results[0], *results[2:4]] == [b"\x08\x01"] * 3
    assert results[4:7] == [b"\x08\x01", b"\x08\x00", b"\x08\x00"]
    assert results[7:] == [b"\x08\x01", b"\x08\x01", b"\x08\x00", b"\x08\x00"]
