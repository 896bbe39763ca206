"""Policies in messages, as Hadoop has them on the wire."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.proto import types_pb2 as pb
from howdah.protocol.striping.messages import (
    PolicyState,
    policy_from_proto,
    policy_name_of,
    policy_to_proto,
    state_from_proto,
)
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy, Schema

OWN = Policy(64, Schema("rs", 4, 2, {"extra": "foo"}), 65536)


def test_a_system_policy_goes_by_its_id_alone() -> None:
    assert policy_to_proto(SYSTEM_POLICIES[2]) == pb.ErasureCodingPolicyProto(id=2)


@pytest.mark.parametrize("policy", [*SYSTEM_POLICIES.values(), OWN], ids=lambda each: each.name)
def test_a_policy_comes_back_as_it_went(policy: Policy) -> None:
    message = policy_to_proto(policy, PolicyState.REMOVED)
    assert policy_from_proto(message) == policy
    assert state_from_proto(message) is PolicyState.REMOVED


def test_a_policy_of_users_goes_whole() -> None:
    message = policy_to_proto(OWN)
    assert (message.name, message.cellSize, message.schema.dataUnits) == ("RS-4-2-64k", 65536, 4)


@pytest.mark.parametrize(
    "message",
    [
        pb.ErasureCodingPolicyProto(id=77),
        pb.ErasureCodingPolicyProto(
            id=77, cellSize=0, schema=pb.ECSchemaProto(codecName="rs", dataUnits=3, parityUnits=2)
        ),
        pb.ErasureCodingPolicyProto(
            id=77,
            cellSize=1024,
            schema=pb.ECSchemaProto(codecName="rs", dataUnits=0, parityUnits=2),
        ),
        pb.ErasureCodingPolicyProto(
            id=77,
            cellSize=1024,
            schema=pb.ECSchemaProto(codecName="rs", dataUnits=13, parityUnits=4),
        ),
        pb.ErasureCodingPolicyProto(
            id=77,
            cellSize=1024,
            schema=pb.ECSchemaProto(codecName="rs", dataUnits=(1 << 32) - 1, parityUnits=2),
        ),
    ],
)
def test_a_policy_that_cannot_be_is_refused(message: pb.ErasureCodingPolicyProto) -> None:
    with pytest.raises(errors.ProtocolViolation, match="erasure coding policy 77"):
        policy_from_proto(message)


def test_the_names_of_policies_are_known_by_their_ids() -> None:
    names = [policy_name_of(pb.ErasureCodingPolicyProto(id=number)) for number in (0, 1, 4)]
    assert names == ["replication", "RS-6-3-1024k", "XOR-2-1-1024k"]
