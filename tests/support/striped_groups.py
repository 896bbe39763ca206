"""Block groups in memory: what a group's internal blocks hold for given bytes."""

from __future__ import annotations

from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy


def internal_blocks(policy: Policy, data: bytes) -> list[bytes]:
    """Write a group's blocks by its layout and the coder."""
    layout, schema = GroupLayout(policy, len(data)), policy.schema
    blocks = [bytearray(layout.block_length(index)) for index in range(schema.units)]
    for piece in layout.pieces(0, len(data)):
        end = piece.block_offset + piece.length
        blocks[piece.index][piece.block_offset : end] = data[
            piece.group_offset : piece.group_offset + piece.length
        ]
    coder = Coder(schema.codec, schema.data_units, schema.parity_units)
    for start in range(0, len(blocks[schema.data_units]), policy.cell_bytes):
        cells = [memoryview(block)[start : start + policy.cell_bytes] for block in blocks]
        coder.encode(cells[: schema.data_units], cells[schema.data_units :])
    return [bytes(block) for block in blocks]
