"""The erasure coding policies that every Hadoop has (pure).

An image names them by their id alone, and says whether they are enabled; what is
behind an id stands here. Ids from 64 on are policies that somebody added, which an
image describes in full.
"""

from __future__ import annotations

from typing import Final

from howdah.formats.image.records import ErasureCodingPolicyRecord, SchemaRecord

_CELL_BYTES: Final = 1 << 20

SYSTEM_POLICIES: Final = {
    policy_id: ErasureCodingPolicyRecord(
        policy_id, name, SchemaRecord(codec, data, parity), _CELL_BYTES
    )
    for policy_id, name, codec, data, parity in (
        (1, "RS-6-3-1024k", "rs", 6, 3),
        (2, "RS-3-2-1024k", "rs", 3, 2),
        (3, "RS-LEGACY-6-3-1024k", "rs-legacy", 6, 3),
        (4, "XOR-2-1-1024k", "xor", 2, 1),
        (5, "RS-10-4-1024k", "rs", 10, 4),
    )
}
