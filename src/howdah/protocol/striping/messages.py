"""Erasure coding policies in messages: ErasureCodingPolicyProto (pure).

`PBHelperClient.convertErasureCodingPolicy` in Hadoop. A system policy goes by its id alone, and
one that users added goes whole. Its state is in lists of policies only.
"""

from __future__ import annotations

import enum

from howdah.errors import ProtocolViolation
from howdah.proto import types_pb2 as pb
from howdah.protocol.striping.layout import MAX_UNITS
from howdah.protocol.striping.policies import (
    REPLICATION_ID,
    REPLICATION_NAME,
    SYSTEM_POLICIES,
    Policy,
    Schema,
)


class PolicyState(enum.IntEnum):
    """Whether files may get a policy: ErasureCodingPolicyState."""

    DISABLED = pb.DISABLED
    ENABLED = pb.ENABLED
    REMOVED = pb.REMOVED


def policy_to_proto(
    policy: Policy, state: PolicyState | None = None
) -> pb.ErasureCodingPolicyProto:
    """Return the message of a policy, with its state where that is given."""
    message = pb.ErasureCodingPolicyProto(
        id=policy.policy_id, state=None if state is None else state.name
    )
    if SYSTEM_POLICIES.get(policy.policy_id) != policy:
        schema = policy.schema
        message.name = policy.name
        message.cellSize = policy.cell_bytes
        message.schema.codecName = schema.codec
        message.schema.dataUnits = schema.data_units
        message.schema.parityUnits = schema.parity_units
        for key, value in schema.options.items():
            message.schema.options.add(key=key, value=value)
    return message


def policy_from_proto(message: pb.ErasureCodingPolicyProto) -> Policy:
    """Return the policy of a message. Raises `ProtocolViolation` where an id is told alone that is
    of no system policy, or where a policy has no cells, no units, or more units than the ids of
    internal blocks have room for."""
    system = SYSTEM_POLICIES.get(message.id)
    if system is not None:
        return system
    schema = message.schema
    if not message.HasField("schema") or not message.cellSize:
        raise ProtocolViolation(
            f"erasure coding policy {message.id} came without its schema or cell size, and is none "
            "that every Hadoop has"
        )
    if not schema.dataUnits or not schema.parityUnits:
        raise ProtocolViolation(
            f"erasure coding policy {message.id} has {schema.dataUnits} data and "
            f"{schema.parityUnits} parity units"
        )
    if schema.dataUnits + schema.parityUnits > MAX_UNITS:
        raise ProtocolViolation(
            f"erasure coding policy {message.id} has {schema.dataUnits} data and "
            f"{schema.parityUnits} parity units; a block group has {MAX_UNITS} internal blocks at "
            "most"
        )
    options = {option.key: option.value for option in schema.options}
    return Policy(
        message.id,
        Schema(schema.codecName, schema.dataUnits, schema.parityUnits, options),
        message.cellSize,
    )


def state_from_proto(message: pb.ErasureCodingPolicyProto) -> PolicyState:
    """Return the state in a message of a list."""
    return PolicyState(message.state)


def policy_name_of(message: pb.ErasureCodingPolicyProto) -> str:
    """Return what a policy is called, also that of a directory whose files are replicated on
    purpose. Raises as `policy_from_proto`."""
    if message.id == REPLICATION_ID:
        return REPLICATION_NAME
    return policy_from_proto(message).name
