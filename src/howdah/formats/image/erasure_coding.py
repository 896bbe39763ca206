"""The erasure coding policies that every Hadoop has, as images have them (pure).

An image names them by their id alone, and says whether they are enabled; what is
behind an id stands in `howdah.protocol.striping.policies`. Ids from 64 on are policies that
somebody added, which an image describes in full.
"""

from __future__ import annotations

from typing import Final

from howdah.formats.image.records import ErasureCodingPolicyRecord, SchemaRecord
from howdah.protocol.striping import policies

SYSTEM_POLICIES: Final = {
    policy_id: ErasureCodingPolicyRecord(
        policy_id,
        policy.name,
        SchemaRecord(policy.schema.codec, policy.schema.data_units, policy.schema.parity_units),
        policy.cell_bytes,
    )
    for policy_id, policy in policies.SYSTEM_POLICIES.items()
}
