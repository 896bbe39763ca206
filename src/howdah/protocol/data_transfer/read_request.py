"""The message that asks for a range of a block, put together of parts (pure).

Readers ask for one block, or one stretch of a block, after the other: only numbers differ, and
what lies between them is encoded once (`howdah.protocol.data_transfer.op_requests`).
`read_request` is the kernel's where that is there, and `read_request_here` its twin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from howdah.native.loader import kernel
from howdah.protocol.data_transfer.blocks import UINT64
from howdah.protocol.varint import encode_varint

_FIRST_FIELD: Final = b"\x0a"
"""Its tag, of a message: what is asked for lies four messages deep, always in the first one."""


def read_request_here(
    start: bytes,
    pool: bytes,
    token: bytes,
    client: bytes,
    rest: bytes,
    block_id: int,
    generation_stamp: int,
    length_bytes: int,
    offset: int,
    count: int,
) -> bytes:
    """`start`, and behind it an OpReadBlockProto with its length in front.

    The other parts are fields with their tags: the block's pool, the token, the client's name,
    and what stands behind the count.
    """
    numbers = b"".join(
        (
            pool,
            b"\x10",
            encode_varint(block_id & UINT64),
            b"\x18",
            encode_varint(generation_stamp & UINT64),
            b"\x20",
            encode_varint(length_bytes & UINT64),
        )
    )
    base = b"".join((_FIRST_FIELD, encode_varint(len(numbers)), numbers, token))
    header = b"".join((_FIRST_FIELD, encode_varint(len(base)), base, client))
    first, most = encode_varint(offset & UINT64), encode_varint(count & UINT64)
    head = b"".join((_FIRST_FIELD, encode_varint(len(header)), header))
    size = encode_varint(len(head) + 1 + len(first) + 1 + len(most) + len(rest))
    return b"".join((start, size, head, b"\x10", first, b"\x18", most, rest))


read_request: Final[
    Callable[[bytes, bytes, bytes, bytes, bytes, int, int, int, int, int], bytes]
] = getattr(kernel(), "read_request", read_request_here)
