"""Requests that the kernel reads: as protobuf does, or it leaves them to protobuf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from howdah.namenode.service.protocols.fast_path import requests
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.messages import texts_of

KINDS: dict[str, tuple[type[Message], Callable[[Any], tuple[object, ...]]]] = {
    "create": (pb.CreateRequestProto, requests.create_of),
    "addBlock": (pb.AddBlockRequestProto, requests.add_block_of),
    "complete": (pb.CompleteRequestProto, requests.complete_of),
    "mkdirs": (pb.MkdirsRequestProto, requests.mkdirs_of),
    "rename": (pb.RenameRequestProto, requests.rename_of),
    "rename2": (pb.Rename2RequestProto, requests.rename2_of),
    "delete": (pb.DeleteRequestProto, requests.delete_of),
}
TEXTS = st.text(max_size=20)
U32 = st.integers(0, (1 << 32) - 1)
U64 = st.integers(0, (1 << 64) - 1)
PERMISSIONS = st.builds(types_pb2.FsPermissionProto, perm=U32)
BLOCKS = st.builds(
    types_pb2.ExtendedBlockProto,
    poolId=TEXTS,
    blockId=U64,
    generationStamp=U64,
    numBytes=st.none() | U64,
)
MESSAGES: dict[str, st.SearchStrategy[Any]] = {
    "create": st.builds(
        pb.CreateRequestProto,
        src=TEXTS,
        masked=PERMISSIONS,
        clientName=TEXTS,
        createFlag=U32,
        createParent=st.booleans(),
        replication=U32,
        blockSize=U64,
        cryptoProtocolVersion=st.lists(st.sampled_from([1, 2]), max_size=2),
        unmasked=st.none() | PERMISSIONS,
        ecPolicyName=st.none() | TEXTS,
        storagePolicy=st.none() | TEXTS,
    ),
    "addBlock": st.builds(
        pb.AddBlockRequestProto,
        src=TEXTS,
        clientName=TEXTS,
        previous=st.none() | BLOCKS,
        fileId=st.none() | U64,
    ),
    "complete": st.builds(
        pb.CompleteRequestProto,
        src=TEXTS,
        clientName=TEXTS,
        last=st.none() | BLOCKS,
        fileId=st.none() | U64,
    ),
    "mkdirs": st.builds(
        pb.MkdirsRequestProto,
        src=TEXTS,
        masked=PERMISSIONS,
        createParent=st.booleans(),
        unmasked=st.none() | PERMISSIONS,
    ),
    "rename": st.builds(pb.RenameRequestProto, src=TEXTS, dst=TEXTS),
    "rename2": st.builds(
        pb.Rename2RequestProto,
        src=TEXTS,
        dst=TEXTS,
        overwriteDest=st.booleans(),
        moveToTrash=st.none() | st.booleans(),
    ),
    "delete": st.builds(pb.DeleteRequestProto, src=TEXTS, recursive=st.booleans()),
}
METHODS = pytest.mark.parametrize("method", sorted(KINDS))


@pytest.fixture(scope="module")
def readers() -> dict[str, Callable[[bytes], Any]]:
    found = dict(requests.readers(lambda: False))
    if not found:
        pytest.skip("the kernel is not built here")
    return found


def by_protobuf(method: str, data: bytes) -> tuple[object, ...] | None:
    """The fields as a handler gets them that is given a message; None where it is given none."""
    kind, fields_of = KINDS[method]
    try:
        message = kind.FromString(data)
    except DecodeError:
        return None
    if not message.IsInitialized() or texts_of(kind).undecodable(message) is not None:
        return None
    return fields_of(message)


def test_every_method_that_is_read_is_held_to_its_messages() -> None:
    assert set(requests.CODES) == set(KINDS) == set(MESSAGES)


@METHODS
@given(data=st.data())
def test_a_request_that_protobuf_wrote_is_read_as_protobuf_reads_it(
    readers: dict[str, Callable[[bytes], Any]], method: str, data: st.DataObject
) -> None:
    message = data.draw(MESSAGES[method])
    fields = readers[method](message.SerializeToString())
    assert fields == KINDS[method][1](message)
    assert list(map(type, fields)) == list(map(type, KINDS[method][1](message)))


@METHODS
@given(data=st.data())
def test_a_request_that_was_changed_is_read_as_protobuf_reads_it_or_not_at_all(
    readers: dict[str, Callable[[bytes], Any]], method: str, data: st.DataObject
) -> None:
    raw = bytearray(data.draw(MESSAGES[method]).SerializeToString())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw)))
        stop = data.draw(st.integers(at, min(at + 3, len(raw))))
        raw[at:stop] = data.draw(st.binary(max_size=3))
    fields = readers[method](bytes(raw))
    assert fields is None or fields == by_protobuf(method, bytes(raw))


@METHODS
@given(raw=st.binary(max_size=60))
def test_any_bytes_are_read_as_protobuf_reads_them_or_not_at_all(
    readers: dict[str, Callable[[bytes], Any]], method: str, raw: bytes
) -> None:
    fields = readers[method](raw)
    assert fields is None or fields == by_protobuf(method, raw)


@pytest.mark.parametrize(
    "raw",
    [
        "",  # nothing
        "0a012f",  # a field is missing
        "0a012f12022f61" "12022f62",  # a field comes twice
        "12022f61" "0a012f",  # in another order
        "0a012f12022f61" "1801",  # a field that is not known
        "0a012f12052f61",  # cut off
        "0a01ff12022f61",  # no UTF-8
        "08011202" "2f61",  # of another kind
        "0a012f12ffffffffffffffffff7f",  # a length of more than there is
        "0a012f1280",  # a number without an end
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_protobuf(
    readers: dict[str, Callable[[bytes], Any]], raw: str
) -> None:
    assert readers["rename"](bytes.fromhex(raw)) is None


def test_datanodes_that_are_left_out_need_the_message(
    readers: dict[str, Callable[[bytes], Any]],
) -> None:
    plain = pb.AddBlockRequestProto(src="/a", clientName="c")
    favoured = pb.AddBlockRequestProto(src="/a", clientName="c", favoredNodes=["n"])
    flagged = pb.AddBlockRequestProto(src="/a", clientName="c", flags=[pb.NO_LOCAL_WRITE])
    assert readers["addBlock"](plain.SerializeToString()) == ("/a", "c", None, 0)
    assert readers["addBlock"](favoured.SerializeToString()) is None
    assert readers["addBlock"](flagged.SerializeToString()) is None


def test_more_codes_than_there_can_be_fields_are_a_defect(
    readers: dict[str, Callable[[bytes], Any]],
) -> None:
    from howdah.native.loader import kernel

    native = kernel()
    assert native is not None
    with pytest.raises(ValueError, match="at most 15"):
        native.request_fields(b"", b"s" * 16)
    with pytest.raises(TypeError):
        native.request_fields(b"")
