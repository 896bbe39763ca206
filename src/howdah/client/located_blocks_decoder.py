"""The answer of getBlockLocations, which comes with every file that is opened.

`Located` reads it as a message's class would, but the kernel, where that is there, takes the usual
answer apart without making messages of it: of a file with nothing uncommon about it, at datanodes
that were in an answer before. Each of these is one `DatanodeAddress` then. All other answers come
as the message they are.
"""

from __future__ import annotations

from typing import Any, Final

from howdah.client.state.blocks import LocatedBlock, LocatedBlocks
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType

_MOST_NODES: Final = 4096
"""So many are known; more than that, and it begins again."""
_KINDS: Final = (None, *StorageType)
assert [kind and int(kind) for kind in _KINDS[1:]] == [1, 2, 3, 4, 5, 6]
_known: Final[dict[bytes, object]] = {}
"""A `DatanodeAddress` by its fields of a DatanodeInfoProto as they are on the wire."""
_located: Final = getattr(kernel(), "located", None)


class Located:
    """For `NamenodeProxy`: the blocks, or the message where they are still to be taken from it."""

    @staticmethod
    def FromString(data: bytes, /) -> LocatedBlocks | pb.GetBlockLocationsResponseProto:
        """Decode an answer. Raises DecodeError for what is no answer."""
        if _located is not None:
            decoded = _located(data, _known, _KINDS)
            if decoded is not None:
                return _blocks(*decoded)
        answer = pb.GetBlockLocationsResponseProto.FromString(data)
        if _located is not None:
            for block in answer.locations.blocks:
                _remember(block.locs)
        return answer


def _blocks(
    length: int, parts: list[Any], growing: bool, last_parts: Any, is_complete: bool
) -> LocatedBlocks:
    blocks = tuple([_block(*part) for part in parts])
    last = None
    if parts and is_complete and last_parts is not None and last_parts[1] == parts[-1][1]:
        last = blocks[-1]
    elif last_parts is not None:
        last = _block(*last_parts)
    return LocatedBlocks(length, blocks, growing, last, is_complete)


def _block(
    pool_id: str, block_id: int, generation_stamp: int, length_bytes: int, *where: Any
) -> LocatedBlock:
    return LocatedBlock(ExtendedBlock(pool_id, block_id, generation_stamp, length_bytes), *where)


def _remember(nodes: Any) -> None:
    """The next answer may have the same bytes of them."""
    if len(_known) + len(nodes) > _MOST_NODES:
        _known.clear()
    for node in nodes:
        fields = types_pb2.DatanodeInfoProto(id=node.id)
        if node.HasField("location"):
            fields.location = node.location
        _known[fields.SerializePartialToString()] = DatanodeAddress.from_proto(node)
