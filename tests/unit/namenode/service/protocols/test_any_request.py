"""Any request at all: an answer, or an error that was meant, and a log that can be replayed.

Requests are made from the protocol's descriptors, so every field of every method
gets odd values: negative numbers in unsigned fields, blocks of others, endless names.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2, datanode_namenode_pb2, types_pb2
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import CLUSTER, POOL_ID, InMemoryNamenode, replayed

CLIENTS = client_namenode_pb2.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
DATANODES = datanode_namenode_pb2.DESCRIPTOR.services_by_name["DatanodeProtocolService"]
BLOCK = 1024
FIRST_BLOCK = (1 << 30) + 1

texts = {
    "path": st.sampled_from(
        [
            "/",
            "/open",
            "/closed",
            "/d",
            "/d/e",
            "/d/e/f",
            "/closed/x",
            "/new",
            "/new/er",
            "relative",
            "",
            "//d///e/",
            "/./x",
            "/a:b",
            "/nul\0",
            "/.reserved",
            "/.reserved/.inodes/16386",
            "/.reserved/.inodes/16387/x",
            "/.reserved/.inodes/99999999999999999999",
            "/.reserved/.inodes/x",
            "/" + "n" * 300,
            "/n" * 1200,
            "/" + "long/" * 2000,
            "/\U0001f418 é\n",
        ]
    ),
    "client": st.sampled_from(["DFSClient_1", "DFSClient_2", "", "c" * 70_000]),
    "other": st.sampled_from(
        ["", "alice", "staff", "dn0", "DS-dn0-0", POOL_ID, CLUSTER.cluster_id, "x" * 70_000, "\0"]
    ),
}
PATHS = {"src", "dst", "path", "filename", "srcs", "trg", "target", "link"}
CLIENT_NAMES = {"clientName", "holder", "client"}
numbers = st.sampled_from([0, 1, 2, 3, 7, 511, 512, BLOCK, BLOCK + 1, 16386, 16387, 1001, 1002])
IDS = {
    "blockId": st.integers(FIRST_BLOCK - 1, FIRST_BLOCK + 3),
    "generationStamp": st.integers(1000, 1005),
    "genStamp": st.integers(1000, 1005),
}
RANGES = {
    FieldDescriptor.TYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.TYPE_SINT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.TYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.TYPE_SINT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.TYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.TYPE_UINT64: (0, (1 << 64) - 1),
    FieldDescriptor.TYPE_FIXED32: (0, (1 << 32) - 1),
    FieldDescriptor.TYPE_FIXED64: (0, (1 << 64) - 1),
}


@functools.cache  # Strategies are dear to make, and a request has many fields.
def value_of(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Any]:
    kind = field.type
    if kind == FieldDescriptor.TYPE_MESSAGE:
        return message_of(field.message_type, depth + 1)
    if kind == FieldDescriptor.TYPE_ENUM:
        assert field.enum_type is not None
        return st.sampled_from([value.number for value in field.enum_type.values])
    if kind == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    if kind == FieldDescriptor.TYPE_STRING:
        which = "path" if field.name in PATHS else "client" if field.name in CLIENT_NAMES else ""
        return texts[which or "other"]
    if kind == FieldDescriptor.TYPE_BYTES:
        return st.sampled_from([b"", b"a", b"\xff\xfe", b"\x01" * 8]) | st.binary(max_size=20)
    if kind in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT):
        return st.floats(allow_nan=False)
    low, high = RANGES[kind]
    likely = IDS.get(field.name, numbers).filter(lambda number: low <= number <= high)
    return likely | likely | st.sampled_from([low, high, high // 2 + 1])


@functools.cache
def message_of(descriptor: Descriptor, depth: int = 0) -> st.SearchStrategy[Message]:
    @st.composite
    def build(draw: st.DrawFn) -> Message:
        message = GetMessageClass(descriptor)()
        for field in descriptor.fields:
            required = field in descriptor.fields and _required(descriptor, field)
            if not required and (depth > 2 or not draw(st.booleans())):
                continue
            values = value_of(field, depth)
            if _repeated(message, field):
                for value in draw(st.lists(values, max_size=2)):
                    if isinstance(value, Message):
                        getattr(message, field.name).add().CopyFrom(value)
                    else:
                        getattr(message, field.name).append(value)
            else:
                value = draw(values)
                if isinstance(value, Message):
                    getattr(message, field.name).CopyFrom(value)
                else:
                    setattr(message, field.name, value)
        return message

    return build()


def _required(descriptor: Descriptor, field: FieldDescriptor) -> bool:
    return bool(field.is_required)


def _repeated(message: Message, field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)


def small_world() -> InMemoryNamenode:
    """A closed file and an open one, each with a block, on two datanodes."""
    namenode = InMemoryNamenode(Settings("", min_block_size_bytes=512, block_size_bytes=BLOCK))
    node = namenode.join("dn0")
    namenode.join("dn1")
    for path in ("/closed", "/open"):
        namenode.call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName="DFSClient_1",
                createFlag=1,
                createParent=True,
                replication=1,
                blockSize=BLOCK,
            ),
        )
        request = pb.AddBlockRequestProto(src=path, clientName="DFSClient_1")
        answer = namenode.call("addBlock", request)
        assert isinstance(answer, pb.AddBlockResponseProto)
        block = answer.block.b
        if path == "/closed":
            node.store(block.blockId, block.generationStamp, 10)
            block.numBytes = 10
            namenode.call(
                "complete",
                pb.CompleteRequestProto(src=path, clientName="DFSClient_1", last=block),
            )
    namenode.call(
        "mkdirs",
        pb.MkdirsRequestProto(
            src="/d/e", masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
        ),
    )
    return namenode


def serve(namenode: InMemoryNamenode, method: str, request: Message, user: str) -> None:
    try:
        answer = namenode.call(method, request, user=user, client_id=b"c" * 16, call_id=1)
    except errors.HowdahError as error:
        said = error.message
    else:
        said = "an answer"
        if not isinstance(answer, Deferred):
            assert answer.IsInitialized()
            answer.SerializeToString()
    assert said, f"{method} is refused without a word"


def everything_can_be_shown(namenode: InMemoryNamenode) -> None:
    """Whatever a request left behind, others can still look at it."""
    stack = ["/"]
    while stack:
        path = stack.pop()
        answer = namenode.call(
            "getListing", pb.GetListingRequestProto(src=path, startAfter=b"", needLocation=True)
        )
        assert isinstance(answer, pb.GetListingResponseProto)
        for entry in answer.dirList.partialListing:
            if entry.fileType == types_pb2.HdfsFileStatusProto.IS_DIR:
                stack.append(path.rstrip("/") + "/" + entry.path.decode())
    namenode.call("getFsStats", pb.GetFsStatusRequestProto())
    namenode.call("getDatanodeReport", pb.GetDatanodeReportRequestProto(type=pb.ALL))
    namenode.call("getDatanodeStorageReport", pb.GetDatanodeStorageReportRequestProto(type=pb.ALL))


methods = [
    *((method.name, method.input_type) for method in CLIENTS.methods),
    *((m.name, m.input_type) for m in DATANODES.methods if m.name != "reportBadBlocks"),
]


each_method = pytest.mark.parametrize(
    ("method", "kind"), methods, ids=[name for name, _ in methods]
)


@each_method
def test_any_request_is_answered_or_refused_and_what_it_did_can_be_replayed(
    method: str, kind: Descriptor
) -> None:
    check_requests(method, kind, max_examples=3 if is_unsupported(method) else 12)


@pytest.mark.torture
@each_method
def test_any_of_many_requests_is_answered_or_refused(method: str, kind: Descriptor) -> None:
    check_requests(method, kind, max_examples=500)


def check_requests(method: str, kind: Descriptor, *, max_examples: int) -> None:
    @given(message_of(kind), st.sampled_from(["root", "root", "mallory"]))
    @settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def check(request: Message, user: str) -> None:
        namenode = small_world()
        serve(namenode, method, request, user)
        namenode.tick(1000)
        everything_can_be_shown(namenode)
        fresh = replayed(namenode.edits())
        assert fresh.inodes.keys() == namenode.namesystem.namespace.inodes.keys()
        assert fresh.blocks.keys() == namenode.namesystem.namespace.blocks.keys()

    check()


def is_unsupported(method: str) -> bool:
    namenode = InMemoryNamenode()
    _, handler = namenode._registry.services[_protocol(method, namenode)].methods[method]
    run: Callable[..., Any] = handler
    # A compiled function within another is an object of a class.
    shown = getattr(run, "__qualname__", type(run).__name__)
    return shown.lstrip("_").startswith("refuse")


def _protocol(method: str, namenode: InMemoryNamenode) -> str:
    return next(
        name for name, service in namenode._registry.services.items() if method in service.methods
    )
