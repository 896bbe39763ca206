"""Every number of every request to the namenode at its extremes, one at a time.

`test_any_request` draws all fields at once, and seldom comes far into a call. Here each
request is one that makes sense but for one number, so that this number is looked at. It is
answered or refused in words, the namenode goes on, and its log can be replayed.
"""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2, datanode_namenode_pb2, types_pb2
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import POOL_ID, InMemoryNamenode, replayed
from tests.support.extremes import extremes

CLIENTS = client_namenode_pb2.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
DATANODES = datanode_namenode_pb2.DESCRIPTOR.services_by_name["DatanodeProtocolService"]
CLIENT = "DFSClient_1"
LENGTH = 10
MAX_DEPTH = 4
PATHS = {"src", "path", "filename", "srcs", "trg", "link"}
NEW_PATHS = {"dst", "target"}
CLIENT_NAMES = {"clientName", "holder", "client"}
MAKES = {"create": "src", "mkdirs": "src", "createSymlink": "link"}
"""What names the path that must not be there yet."""
LEFT_OUT = {"ecPolicyName", "storagePolicy"}


class World:
    """A closed file and an open one, each with a block, and a snapshot of them all."""

    def __init__(self, *, path: str) -> None:
        self.path = path
        self.namenode = InMemoryNamenode(
            Settings(POOL_ID, min_block_size_bytes=512, block_size_bytes=1024)
        )
        self.node = self.namenode.join("dn0")
        self.namenode.join("dn1")
        self.block = types_pb2.ExtendedBlockProto()
        for name in ("/closed", "/open"):
            block = self._write(name)
            if name == path:
                self.block = block
        self.namenode.call(
            "mkdirs",
            pb.MkdirsRequestProto(
                src="/d", masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
            ),
        )
        self.namenode.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/"))
        self.namenode.call(
            "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/", snapshotName="s")
        )

    def _write(self, path: str) -> types_pb2.ExtendedBlockProto:
        self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=1,
                blockSize=1024,
            ),
        )
        answer = self.namenode.call(
            "addBlock", pb.AddBlockRequestProto(src=path, clientName=CLIENT)
        )
        assert isinstance(answer, pb.AddBlockResponseProto)
        block = answer.block.b
        if path == "/closed":
            self.node.store(block.blockId, block.generationStamp, LENGTH)
            block.numBytes = LENGTH
            self.namenode.call(
                "complete", pb.CompleteRequestProto(src=path, clientName=CLIENT, last=block)
            )
        return block

    def fill(self, descriptor: Descriptor, depth: int = 0) -> Message:
        """A request that makes sense here, with all fields that it may have."""
        known = self._known(descriptor.name)
        message = GetMessageClass(descriptor)()
        if known is not None:
            message.MergeFromString(known.SerializeToString())
            return message
        for field in descriptor.fields:
            if not field.is_required and (depth > MAX_DEPTH or field.name in LEFT_OUT):
                continue
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                assert field.message_type is not None
                part = self.fill(field.message_type, depth + 1)
                if field.is_repeated:
                    getattr(message, field.name).add().CopyFrom(part)
                else:
                    getattr(message, field.name).CopyFrom(part)
                continue
            value = self._value(field)
            if field.is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
        return message

    def _known(self, name: str) -> Message | None:
        block, node = self.block, self.node
        match name:
            case "ExtendedBlockProto":
                return block
            case "BlockProto":
                return types_pb2.BlockProto(
                    blockId=block.blockId, genStamp=block.generationStamp, numBytes=block.numBytes
                )
            case "DatanodeRegistrationProto":
                return node.registration()
            case "DatanodeIDProto":
                return node.registration().datanodeID
            case "DatanodeStorageProto":
                return types_pb2.DatanodeStorageProto(storageUuid=node.first_storage)
        return None

    def _value(self, field: FieldDescriptor) -> Any:
        match field.type:
            case FieldDescriptor.TYPE_ENUM:
                assert field.enum_type is not None
                return field.enum_type.values[0].number
            case FieldDescriptor.TYPE_BOOL:
                return False
            case FieldDescriptor.TYPE_BYTES:
                return b""
            case FieldDescriptor.TYPE_STRING:
                if field.name in PATHS:
                    return self.path
                if field.name in NEW_PATHS:
                    return "/new"
                if field.name in CLIENT_NAMES:
                    return CLIENT
                known = {
                    "blockPoolId": POOL_ID,
                    "snapshotRoot": "/",
                    "snapshotName": "s",
                    "storageUuid": self.node.first_storage,
                    "storageIDs": self.node.first_storage,
                    "existingStorageUuids": self.node.first_storage,
                }
                return known.get(field.name, "x")
        # No file's id, and no lease, where any will do.
        return 0 if field.name in ("fileId", "leaseId") else 1

    def serve(self, method: str, request: Message) -> None:
        try:
            answer = self.namenode.call(method, request, client_id=b"c" * 16, call_id=-1)
        except errors.HowdahError as error:
            if not error.message:
                raise AssertionError("it is refused without a word") from error
        else:
            if not isinstance(answer, Deferred):
                answer.SerializeToString()
        self.namenode.tick(1)

    def check(self) -> None:
        """It can be looked at, and would be the same after a start."""
        for path in ("/", self.path):
            self.namenode.call(
                "getListing",
                pb.GetListingRequestProto(src=path, startAfter=b"", needLocation=True),
            )
        self.namenode.call("getFsStats", pb.GetFsStatusRequestProto())
        self.namenode.call("getDatanodeReport", pb.GetDatanodeReportRequestProto(type=pb.ALL))
        self.namenode.call(
            "getDatanodeStorageReport", pb.GetDatanodeStorageReportRequestProto(type=pb.ALL)
        )
        namespace = self.namenode.namesystem.namespace
        fresh = replayed(self.namenode.edits())
        assert fresh.inodes.keys() == namespace.inodes.keys()
        assert fresh.blocks.keys() == namespace.blocks.keys()


METHODS = [(method.name, method.input_type) for s in (CLIENTS, DATANODES) for method in s.methods]


@pytest.mark.parametrize("path", ["/closed", "/open"])
@pytest.mark.parametrize(("method", "kind"), METHODS, ids=[name for name, _ in METHODS])
def test_a_request_with_any_number_is_answered_or_refused(
    method: str, kind: Descriptor, path: str
) -> None:
    world = World(path=path)
    pattern: Any = world.fill(kind)
    if method == "setQuota":
        pattern.path = "/d"
        if path == "/open":
            pattern.ClearField("storageType")
        else:
            # One of a storage type leaves the names alone.
            pattern.namespaceQuota = (1 << 63) - 1
    failed: dict[str, str] = {}
    count = 0
    for what, request in extremes(pattern):
        count += 1
        if method in MAKES:
            setattr(request, MAKES[method], f"/new{count}")
        try:
            world.serve(method, request)
        except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as error:
            if isinstance(error, errors.HowdahError):
                raise
            failed[what] = repr(error)
    assert not failed
    if count:
        world.check()
