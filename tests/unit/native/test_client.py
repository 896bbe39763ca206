"""What a reading client writes and reads for every file: the kernel's functions and their twins."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from howdah.client import located_blocks_decoder
from howdah.client.state.blocks import LocatedBlock, LocatedBlocks
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.data_transfer.blocks import (
    NO_TOKEN,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.data_transfer.read_request import read_request_here

KINDS = (None, *StorageType)
NUMBERS = st.one_of(st.integers(0, 300), st.integers(-(2**63), 2**64 - 1))
LONGS = st.one_of(st.integers(0, 300), st.integers(0, 2**63 - 1))


@pytest.fixture(autouse=True)
def _needs_the_kernel() -> None:
    if kernel() is None:
        pytest.skip("the kernel is not built here")


def native(name: str) -> Any:
    return getattr(kernel(), name)


# --- read_request -------------------------------------------------------------------------


@given(
    parts=st.lists(st.binary(max_size=300), min_size=5, max_size=5),
    numbers=st.lists(NUMBERS, min_size=5, max_size=5),
)
def test_a_request_has_the_same_bytes_by_the_kernel(parts: list[bytes], numbers: list[int]) -> None:
    assert native("read_request")(*parts, *numbers) == read_request_here(*parts, *numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", range(10))
def test_a_request_of_other_things_is_refused(place: int) -> None:
    arguments: list[Any] = [b"a", b"b", b"c", b"d", b"e", 1, 2, 3, 4, 5]
    arguments[place] = None
    with pytest.raises(TypeError):
        native("read_request")(*arguments)
    with pytest.raises(TypeError):
        native("read_request")(*arguments[:-1])


# --- located ------------------------------------------------------------------------------

NODES = [
    DatanodeAddress("10.0.0.1", "one", "u-1", 9866, 9864, 9867, 0, "/rack/1"),
    DatanodeAddress("10.0.0.2", "two", "u-2", 9866, 9864, 9867),
    DatanodeAddress("10.0.0.3", "drei-ß", "u-3", 1, 2, 3, 4, ""),
]


def info(number: int, used: int) -> types_pb2.DatanodeInfoProto:
    """As a namenode tells of it: more than its address, and another thing each time."""
    proto = NODES[number].to_proto()
    proto.capacity, proto.remaining, proto.numBlocks = used, 2 * used, used % 2**32
    proto.upgradeDomain, proto.softwareVersion = "up", "3.5.0"
    return proto


@st.composite
def blocks(draw: st.DrawFn) -> types_pb2.LocatedBlockProto:
    nodes = draw(st.lists(st.integers(0, len(NODES) - 1), max_size=3))
    block = ExtendedBlock("BP-ü-1", draw(LONGS) + 1, draw(LONGS), draw(LONGS))
    proto = LocatedBlock(
        block,
        draw(LONGS),
        (),
        tuple(draw(st.lists(st.text(max_size=5), max_size=3))),
        tuple(draw(st.lists(st.sampled_from(list(StorageType)), max_size=3))),
        tuple(draw(st.lists(st.booleans(), max_size=3))),
        draw(st.booleans()),
        NO_TOKEN,
    ).to_proto()
    proto.locs.extend(info(node, draw(LONGS)) for node in nodes)
    return proto


@st.composite
def answers(draw: st.DrawFn) -> pb.GetBlockLocationsResponseProto:
    held = draw(st.lists(blocks(), max_size=3))
    last = draw(st.one_of(st.none(), blocks(), *([st.just(held[-1])] if held else [])))
    return pb.GetBlockLocationsResponseProto(
        locations=types_pb2.LocatedBlocksProto(
            fileLength=draw(LONGS),
            blocks=held,
            underConstruction=draw(st.booleans()),
            lastBlock=last,
            isLastBlockComplete=draw(st.booleans()),
        )
    )


def decoded(data: bytes) -> LocatedBlocks | None:
    return LocatedBlocks.from_proto(pb.GetBlockLocationsResponseProto.FromString(data).locations)


def known() -> dict[bytes, object]:
    """Each datanode, as an answer that was decoded has left it."""
    everything = pb.GetBlockLocationsResponseProto(
        locations=types_pb2.LocatedBlocksProto(
            fileLength=1,
            blocks=[
                types_pb2.LocatedBlockProto(
                    b=ExtendedBlock("p", 1, 1).to_proto(),
                    offset=0,
                    locs=[info(number, 5) for number in range(len(NODES))],
                    corrupt=False,
                    blockToken=NO_TOKEN.to_proto(),
                )
            ],
            underConstruction=False,
            isLastBlockComplete=True,
        )
    )
    located_blocks_decoder._known.clear()
    assert not isinstance(
        located_blocks_decoder.Located.FromString(everything.SerializeToString()), LocatedBlocks
    )
    return located_blocks_decoder._known


@given(answer=answers())
def test_what_is_located_is_what_the_message_says(
    answer: pb.GetBlockLocationsResponseProto,
) -> None:
    known()
    data = answer.SerializeToString()
    found = located_blocks_decoder.Located.FromString(data)
    assert isinstance(found, LocatedBlocks)
    assert found == decoded(data)


def test_a_datanode_that_nobody_has_seen_is_left_to_the_message_once() -> None:
    known()
    located_blocks_decoder._known.clear()
    answer = pb.GetBlockLocationsResponseProto(
        locations=types_pb2.LocatedBlocksProto(
            fileLength=1,
            blocks=[
                types_pb2.LocatedBlockProto(
                    b=ExtendedBlock("p", 1, 1, 1).to_proto(),
                    offset=0,
                    locs=[info(0, 5), info(1, 6)],
                    corrupt=False,
                    blockToken=NO_TOKEN.to_proto(),
                )
            ],
            underConstruction=False,
            isLastBlockComplete=True,
        )
    )
    data = answer.SerializeToString()
    assert located_blocks_decoder.Located.FromString(data) == answer
    answer.locations.blocks[0].locs[0].remaining = 77
    data = answer.SerializeToString()
    found = located_blocks_decoder.Located.FromString(data)
    assert found == decoded(data)
    assert isinstance(found, LocatedBlocks)
    assert list(found.blocks[0].nodes) == NODES[:2]


def test_only_so_many_datanodes_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(located_blocks_decoder, "_MOST_NODES", 4)
    assert len(known()) == 3
    located_blocks_decoder._remember([info(0, 1), info(1, 1)])
    assert len(located_blocks_decoder._known) == 2


@pytest.mark.parametrize("what", ["token", "encrypted", "coded", "indices", "absent", "unknown"])
def test_what_is_not_usual_is_left_to_the_message(what: str) -> None:
    known()
    answer = pb.GetBlockLocationsResponseProto()
    if what != "absent":
        block = types_pb2.LocatedBlockProto(
            b=ExtendedBlock("p", 1, 1, 1).to_proto(),
            offset=0,
            corrupt=False,
            blockToken=NO_TOKEN.to_proto(),
        )
        if what == "token":
            block.blockToken.CopyFrom(
                rpc_pb2.TokenProto(identifier=b"i", password=b"p", kind="k", service="s")
            )
        if what == "indices":
            block.blockIndices = b"\1"
        answer.locations.CopyFrom(
            types_pb2.LocatedBlocksProto(
                fileLength=1, blocks=[block], underConstruction=False, isLastBlockComplete=True
            )
        )
        if what == "encrypted":
            answer.locations.fileEncryptionInfo.suite = types_pb2.AES_CTR_NOPADDING
        if what == "coded":
            answer.locations.ecPolicy.id = 1
    data = answer.SerializePartialToString() + (b"\x50\x01" if what == "unknown" else b"")
    assert native("located")(data, located_blocks_decoder._known, KINDS) is None


@given(
    answer=answers(),
    at=st.integers(0, 400),
    byte=st.integers(0, 255),
    cut=st.integers(0, 400),
)
def test_bytes_that_are_changed_say_the_same_or_nothing(
    answer: pb.GetBlockLocationsResponseProto, at: int, byte: int, cut: int
) -> None:
    known()
    data = bytearray(answer.SerializeToString())
    if at < len(data):
        data[at] = byte
    if cut < 200:
        del data[max(len(data) - cut, 0) :]
    wire = bytes(data)
    found = native("located")(wire, located_blocks_decoder._known, KINDS)
    if found is None:
        return
    try:
        meant = decoded(wire)
    except DecodeError as error:
        raise AssertionError(f"{wire!r} is no message") from error
    assert located_blocks_decoder._blocks(*found) == meant


@given(data=st.binary(max_size=200))
def test_any_bytes_are_no_answer(data: bytes) -> None:
    known()
    assert (
        native("located")(
            b"\x0a" + bytes([len(data) & 0x7F]) + data, located_blocks_decoder._known, KINDS
        )
        is None
    )


def test_located_takes_nothing_else() -> None:
    wrong: tuple[Any, ...]
    for wrong in (("text", {}, KINDS), (b"", [], KINDS), (b"", {}, KINDS[:-1]), (b"", {})):
        with pytest.raises(TypeError):
            native("located")(*wrong)


def test_nothing_that_is_located_is_kept() -> None:
    answer = pb.GetBlockLocationsResponseProto(
        locations=types_pb2.LocatedBlocksProto(
            fileLength=1,
            blocks=[
                types_pb2.LocatedBlockProto(
                    b=ExtendedBlock("p", 1, 1, 1).to_proto(),
                    offset=0,
                    locs=[info(0, 5)],
                    corrupt=False,
                    blockToken=NO_TOKEN.to_proto(),
                    storageTypes=[types_pb2.DISK],
                    storageIDs=["s"],
                )
            ],
            underConstruction=False,
            isLastBlockComplete=True,
        )
    )
    data, nodes = answer.SerializeToString(), known()
    node = next(iter(nodes.values()))
    before = sys.getrefcount(node), sys.getrefcount(StorageType.DISK), sys.getrefcount(data)
    for wire in (data, data[:-1], data + b"\0") * 50:
        native("located")(wire, nodes, KINDS)
    after = sys.getrefcount(node), sys.getrefcount(StorageType.DISK), sys.getrefcount(data)
    assert after == before
