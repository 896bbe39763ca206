"""One block with its places, as bytes (pure).

`LocatedBlockProto` (fields and numbers: hdfs.proto of Hadoop), as protobuf writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from howdah.namenode.state.blocks.datanodes import Storage
from howdah.protocol.varint import encode_field, encode_varint

_NO_TOKEN: Final = b"\x2a\x08\x0a\x00\x12\x00\x1a\x00\x22\x00"


def located_block(
    pool_id: str,
    block_id: int,
    generation_stamp: int,
    length_bytes: int,
    offset_bytes: int,
    places: Sequence[tuple[bytes, Storage]],
) -> bytes:
    """LocatedBlockProto of a block that is not corrupt, and cached nowhere: with its places in the
    order given, each with the bytes that describe its datanode."""
    named = (
        encode_field(b"\x0a", pool_id.encode())
        + b"\x10"
        + encode_varint(block_id)
        + b"\x18"
        + encode_varint(generation_stamp)
        + b"\x20"
        + encode_varint(length_bytes)
    )
    return b"".join(
        (
            encode_field(b"\x0a", named),
            b"\x10" + encode_varint(offset_bytes),
            *[encode_field(b"\x1a", info) for info, _ in places],
            b"\x20\x00" + _NO_TOKEN,  # not corrupt
            encode_field(b"\x32", bytes(len(places))),  # cached nowhere
            *[b"\x38" + encode_varint(storage.storage_type) for _, storage in places],
            *[encode_field(b"\x42", storage.storage_id.encode()) for _, storage in places],
        )
    )
