"""Erasure coding policies of several nameservices, through a router."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.striping.messages import PolicyState, policy_name_of, policy_to_proto
from howdah.protocol.striping.policies import Policy, Schema
from howdah.router.state.table.mount_table import Destination, MountEntry, Order
from tests.support.routing.in_memory import InMemoryRouter

pytestmark = pytest.mark.req("LM-020")

NAMES = ("east", "west")
RS, XOR = "RS-6-3-1024k", "XOR-2-1-1024k"


@pytest.fixture
def router() -> InMemoryRouter:
    destinations = tuple(Destination(name, "/real") for name in NAMES)
    made = InMemoryRouter([MountEntry("/m", destinations, Order.HASH_ALL)], NAMES)
    mode = types_pb2.FsPermissionProto(perm=0o755)
    for name in NAMES:
        made.at(name, "mkdirs", pb.MkdirsRequestProto(src="/real", masked=mode, createParent=True))
    return made


def states(router: InMemoryRouter) -> list[tuple[str, str]]:
    answer = router.call("getErasureCodingPolicies", pb_of("GetErasureCodingPolicies"))
    return sorted(
        (policy_name_of(policy), PolicyState(policy.state).name) for policy in answer.ecPolicies
    )


def pb_of(name: str, **fields: object) -> types_pb2.GetErasureCodingPoliciesRequestProto:
    made = getattr(types_pb2, f"{name}RequestProto")(**fields)
    assert hasattr(made, "SerializeToString")
    return made  # type: ignore[no-any-return]


def enable(name: str) -> types_pb2.GetErasureCodingPoliciesRequestProto:
    return pb_of("EnableErasureCodingPolicy", ecPolicyName=name)


def test_policies_that_all_have_alike_are_listed_once(router: InMemoryRouter) -> None:
    assert [name for name, _ in states(router)].count(RS) == 1
    router.at("west", "enableErasureCodingPolicy", enable(XOR))
    found = [state for name, state in states(router) if name == XOR]
    assert found == ["DISABLED", "ENABLED"]


def test_a_policy_is_enabled_disabled_added_and_removed_everywhere(router: InMemoryRouter) -> None:
    router.call("enableErasureCodingPolicy", enable(XOR))
    assert (XOR, "ENABLED") in states(router)
    assert (XOR, "DISABLED") not in states(router)
    own = Policy(0xFFFFFFFF, Schema("rs", 4, 2), 65536)
    request = pb_of("AddErasureCodingPolicies", ecPolicies=[policy_to_proto(own)])
    (added,) = router.call("addErasureCodingPolicies", request).responses
    assert added.succeed
    for name in NAMES:
        listed = router.at(name, "getErasureCodingPolicies", pb_of("GetErasureCodingPolicies"))
        assert "RS-4-2-64k" in {policy_name_of(policy) for policy in listed.ecPolicies}
    gone = pb_of("RemoveErasureCodingPolicy", ecPolicyName="RS-4-2-64k")
    router.call("removeErasureCodingPolicy", gone)
    router.call("disableErasureCodingPolicy", pb_of("DisableErasureCodingPolicy", ecPolicyName=XOR))
    assert {("RS-4-2-64k", "REMOVED"), (XOR, "DISABLED")} <= set(states(router))


def test_a_change_of_policies_needs_all_nameservices(router: InMemoryRouter) -> None:
    router.nameservices.down = {"west"}
    with pytest.raises(errors.NoNamenodes):
        router.call("enableErasureCodingPolicy", enable(XOR))
    assert (RS, "ENABLED") in states(router)


def test_an_unknown_policy_is_refused_as_a_namenode_refuses_it(router: InMemoryRouter) -> None:
    with pytest.raises(errors.IllegalArgument, match="The policy name NONE does not exist"):
        router.call("enableErasureCodingPolicy", enable("NONE"))


def test_codecs_are_listed_once(router: InMemoryRouter) -> None:
    answer = router.call("getErasureCodingCodecs", pb_of("GetErasureCodingCodecs"))
    assert [codec.codec for codec in answer.codec] == ["rs", "rs-legacy", "xor"]


def test_a_cluster_is_as_able_as_its_least_able_nameservice(router: InMemoryRouter) -> None:
    request = pb_of("GetECTopologyResultForPolicies", policies=[RS])
    answer = router.call("getECTopologyResultForPolicies", request).response
    assert not answer.isSupported
    assert "9 DataNodes are required" in answer.resultMessage
    nothing = pb_of("GetECTopologyResultForPolicies", policies=[])
    router.at("west", "disableErasureCodingPolicy", enable(RS))
    router.at("east", "disableErasureCodingPolicy", enable(RS))
    assert router.call("getECTopologyResultForPolicies", nothing).response.isSupported
    router.at("west", "enableErasureCodingPolicy", enable(RS))
    assert not router.call("getECTopologyResultForPolicies", nothing).response.isSupported


def test_a_mount_point_has_the_policy_in_all_its_destinations(router: InMemoryRouter) -> None:
    router.call(
        "setErasureCodingPolicy", pb_of("SetErasureCodingPolicy", src="/m", ecPolicyName=RS)
    )
    for name in NAMES:
        at = pb_of("GetErasureCodingPolicy", src="/real")
        assert policy_name_of(router.at(name, "getErasureCodingPolicy", at).ecPolicy) == RS
    asked = pb_of("GetErasureCodingPolicy", src="/m")
    assert policy_name_of(router.call("getErasureCodingPolicy", asked).ecPolicy) == RS
    router.call("unsetErasureCodingPolicy", pb_of("UnsetErasureCodingPolicy", src="/m"))
    assert not router.call("getErasureCodingPolicy", asked).HasField("ecPolicy")


def test_block_groups_are_counted_together(router: InMemoryRouter) -> None:
    answer = router.call("getFsECBlockGroupStats", pb.GetFsECBlockGroupStatsRequestProto())
    assert answer.low_redundancy == 0
