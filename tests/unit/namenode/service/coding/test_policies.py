"""Erasure coding policies: who may change them, and what directories and files get."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2 as ec
from howdah.protocol.striping.messages import PolicyState
from howdah.testing.in_memory import InMemoryNamenode, reloaded

DEFAULT = "RS-6-3-1024k"
XOR = "XOR-2-1-1024k"


@pytest.fixture
def namenode() -> InMemoryNamenode:
    namenode = InMemoryNamenode()
    namenode.call(
        "mkdirs",
        pb.MkdirsRequestProto(
            src="/d/e", masked=ec.FsPermissionProto(perm=0o755), createParent=True
        ),
    )
    return namenode


def set_policy(namenode: InMemoryNamenode, path: str, name: str | None, **how: str) -> None:
    namenode.call(
        "setErasureCodingPolicy",
        ec.SetErasureCodingPolicyRequestProto(src=path, ecPolicyName=name),
        **how,  # type: ignore[arg-type]
    )


def policy_of(namenode: InMemoryNamenode, path: str) -> int:
    answer = namenode.call(
        "getErasureCodingPolicy", ec.GetErasureCodingPolicyRequestProto(src=path)
    )
    assert isinstance(answer, ec.GetErasureCodingPolicyResponseProto)
    return answer.ecPolicy.id if answer.HasField("ecPolicy") else 0


def states(namenode: InMemoryNamenode) -> dict[int, int]:
    answer = namenode.call("getErasureCodingPolicies", ec.GetErasureCodingPoliciesRequestProto())
    assert isinstance(answer, ec.GetErasureCodingPoliciesResponseProto)
    return {policy.id: policy.state for policy in answer.ecPolicies}


def change(namenode: InMemoryNamenode, what: str, name: str, **how: str) -> None:
    request = getattr(ec, f"{what[0].upper()}{what[1:]}ErasureCodingPolicyRequestProto")
    namenode.call(f"{what}ErasureCodingPolicy", request(ecPolicyName=name), **how)  # type: ignore[arg-type]


def add(
    namenode: InMemoryNamenode, codec: str, data: int, parity: int, cell: int
) -> ec.AddErasureCodingPolicyResponseProto:
    answer = namenode.call(
        "addErasureCodingPolicies",
        ec.AddErasureCodingPoliciesRequestProto(
            ecPolicies=[
                ec.ErasureCodingPolicyProto(
                    id=(1 << 32) - 1,
                    name="mine",
                    cellSize=cell,
                    schema=ec.ECSchemaProto(codecName=codec, dataUnits=data, parityUnits=parity),
                )
            ]
        ),
    )
    assert isinstance(answer, ec.AddErasureCodingPoliciesResponseProto)
    return answer.responses[0]


def test_the_default_policy_is_enabled_and_in_no_image(namenode: InMemoryNamenode) -> None:
    assert states(namenode)[1] == PolicyState.ENABLED
    kept = reloaded(namenode.namesystem.namespace).coding_policies.records()
    assert {record.state for record in kept} == {PolicyState.DISABLED}
    change(namenode, "enable", DEFAULT)
    kept = reloaded(namenode.namesystem.namespace).coding_policies.records()
    assert kept[0].state == PolicyState.ENABLED


def test_no_policy_may_be_the_default() -> None:
    namenode = InMemoryNamenode(Settings("", default_coding_policy=""))
    assert states(namenode)[1] == PolicyState.DISABLED
    with pytest.raises(errors.IllegalArgument, match="No erasure coding policies are enabled"):
        set_policy(namenode, "/", DEFAULT)


def test_a_directory_gives_its_policy_to_what_is_below(namenode: InMemoryNamenode) -> None:
    set_policy(namenode, "/d", None)
    assert policy_of(namenode, "/d") == policy_of(namenode, "/d/e") == 1
    set_policy(namenode, "/d/e", "replication")
    assert policy_of(namenode, "/d/e") == 0
    namenode.call("unsetErasureCodingPolicy", ec.UnsetErasureCodingPolicyRequestProto(src="/d/e"))
    assert policy_of(namenode, "/d/e") == 1
    [logged] = [e for e in namenode.edits() if isinstance(e, edits.RemoveXAttrOp)]
    assert logged.path == "/d/e"


def test_what_has_no_policy_of_its_own_cannot_lose_it(namenode: InMemoryNamenode) -> None:
    set_policy(namenode, "/d", DEFAULT)
    with pytest.raises(
        errors.NoCodingPolicySet, match="No erasure coding policy explicitly set on /d/e"
    ):
        namenode.call(
            "unsetErasureCodingPolicy", ec.UnsetErasureCodingPolicyRequestProto(src="/d/e")
        )


def test_only_an_enabled_policy_is_set(namenode: InMemoryNamenode) -> None:
    with pytest.raises(errors.IllegalArgument, match=rf"'{XOR}' does not match any enabled"):
        set_policy(namenode, "/d", XOR)
    change(namenode, "enable", XOR)
    set_policy(namenode, "/d", XOR)
    change(namenode, "disable", XOR)
    assert policy_of(namenode, "/d/e") == 4  # What has it keeps it.
    assert states(namenode)[4] == PolicyState.DISABLED


def test_a_file_gets_no_other_policy(namenode: InMemoryNamenode) -> None:
    namenode.call(
        "create",
        pb.CreateRequestProto(
            src="/f",
            masked=ec.FsPermissionProto(perm=0o644),
            clientName="c",
            createFlag=pb.CREATE,
            createParent=False,
            replication=1,
            blockSize=1 << 20,
        ),
    )
    with pytest.raises(errors.RemoteError, match="for a file /f"):
        set_policy(namenode, "/f", DEFAULT)


def test_whoever_writes_a_directory_sets_its_policy(namenode: InMemoryNamenode) -> None:
    namenode.call("setOwner", pb.SetOwnerRequestProto(src="/d", username="alice"))
    set_policy(namenode, "/d", DEFAULT, user="alice")
    with pytest.raises(errors.AccessDenied):
        set_policy(namenode, "/d/e", DEFAULT, user="alice")


@pytest.mark.parametrize("what", ["enable", "disable", "remove"])
def test_policies_are_superusers(namenode: InMemoryNamenode, what: str) -> None:
    with pytest.raises(errors.AccessDenied):
        change(namenode, what, XOR, user="alice")
    with pytest.raises(errors.IllegalArgument, match="The policy name none does not exist"):
        change(namenode, what, "none")


def test_users_policies_get_names_and_ids(namenode: InMemoryNamenode) -> None:
    first = add(namenode, "rs", 4, 2, 64 << 10)
    assert (first.succeed, first.policy.id, first.policy.name) == (True, 64, "RS-4-2-64k")
    assert add(namenode, "rs", 4, 2, 64 << 10).policy.id == 64
    assert add(namenode, "xor", 3, 1, 64 << 10).policy.id == 65
    assert add(namenode, "rs", 6, 3, 1 << 20).policy.id == 1
    change(namenode, "enable", "RS-4-2-64k")
    change(namenode, "remove", "RS-4-2-64k")
    assert states(namenode)[64] == PolicyState.REMOVED
    change(namenode, "enable", "RS-4-2-64k")
    assert states(namenode)[64] == PolicyState.ENABLED
    kept = namenode.namesystem.namespace.coding_policies
    assert reloaded(namenode.namesystem.namespace).coding_policies == kept
    assert namenode.restarted().namesystem.namespace.coding_policies == kept


@pytest.mark.parametrize(
    ("codec", "data", "parity", "cell", "what"),
    [
        ("lrc", 4, 2, 1 << 20, "Codec name lrc is not supported"),
        ("rs", 14, 3, 1 << 20, "17 should not exceed maximum 16"),
        ("rs", 4, 2, 8 << 20, "Cell size 8388608 should not exceed maximum 4194304 bytes"),
        ("rs", 4, 2, 1000, "multiple of 1024"),
        ("rs", 0, 2, 1 << 20, "must be positive"),
        ("xor", 2, 2, 1 << 20, "one parity unit"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_by_itself(
    namenode: InMemoryNamenode, codec: str, data: int, parity: int, cell: int, what: str
) -> None:
    refused = add(namenode, codec, data, parity, cell)
    assert not refused.succeed
    assert what in refused.errorMsg
    assert 64 not in states(namenode)


def test_system_policies_stay(namenode: InMemoryNamenode) -> None:
    with pytest.raises(errors.IllegalArgument, match=f"{XOR} cannot be removed"):
        change(namenode, "remove", XOR)


def test_the_topology_is_verified(namenode: InMemoryNamenode) -> None:
    def verify(*names: str) -> tuple[bool, str]:
        answer = namenode.call(
            "getECTopologyResultForPolicies",
            ec.GetECTopologyResultForPoliciesRequestProto(policies=names),
        )
        assert isinstance(answer, ec.GetECTopologyResultForPoliciesResponseProto)
        return answer.response.isSupported, answer.response.resultMessage

    for number in range(3):
        namenode.join(f"dn{number}", rack=f"/r{number % 2}")
    assert verify(XOR) == (
        False,
        f"3 racks are required for the erasure coding policies: {XOR}. The number of racks is "
        "only 2.",
    )
    assert verify()[1].startswith("9 DataNodes are required")
    with pytest.raises(
        errors.IllegalArgument, match=r"^The given erasure coding policy GOLD does not exist\.$"
    ):
        verify(XOR, "GOLD")
    namenode.join("dn3", rack="/r3")
    assert verify(XOR) == (True, f"The cluster setup can support EC policies: {XOR}")


def test_a_repeated_call_is_answered_once(namenode: InMemoryNamenode) -> None:
    request = ec.SetErasureCodingPolicyRequestProto(src="/d", ecPolicyName=DEFAULT)
    for retry in range(2):
        namenode.call(
            "setErasureCodingPolicy", request, client_id=b"c" * 16, call_id=7, retry_count=retry
        )
    assert sum(isinstance(edit, edits.SetXAttrOp) for edit in namenode.edits()) == 1


def test_codecs_are_named(namenode: InMemoryNamenode) -> None:
    answer = namenode.call("getErasureCodingCodecs", ec.GetErasureCodingCodecsRequestProto())
    assert isinstance(answer, ec.GetErasureCodingCodecsResponseProto)
    assert {codec.codec for codec in answer.codec} == {"rs", "rs-legacy", "xor"}


def test_the_default_policy_is_one_that_there_is() -> None:
    with pytest.raises(
        errors.InvalidConfiguration,
        match=r"dfs\.namenode\.ec\.system\.default\.policy = RS-6-3 is not the name",
    ):
        InMemoryNamenode(Settings("", default_coding_policy="RS-6-3"))


def test_a_snapshot_has_the_policy_that_was_there_when_it_was_made(
    namenode: InMemoryNamenode,
) -> None:
    change(namenode, "enable", XOR)
    namenode.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))

    def take(name: str) -> None:
        namenode.call(
            "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName=name)
        )

    take("none")
    set_policy(namenode, "/d", DEFAULT)
    take("coded")
    set_policy(namenode, "/d", XOR)
    set_policy(namenode, "/d/e", "replication")
    take("other")
    set_policy(namenode, "/d/e", DEFAULT)
    shown = {
        name: [policy_of(namenode, f"/d/.snapshot/{name}{below}") for below in ("", "/e")]
        for name in ("none", "coded", "other")
    }
    assert shown == {"none": [0, 0], "coded": [1, 1], "other": [4, 0]}
    # What is above the directory was never in the snapshot.
    set_policy(namenode, "/", DEFAULT)
    assert policy_of(namenode, "/d/.snapshot/none/e") == 1
    answer = namenode.call("getFileInfo", pb.GetFileInfoRequestProto(src="/d/.snapshot/other"))
    assert isinstance(answer, pb.GetFileInfoResponseProto)
    assert answer.fs.ecPolicy.id == 4


def test_a_snapshot_has_the_storage_policy_that_was_there_when_it_was_made(
    namenode: InMemoryNamenode,
) -> None:
    namenode.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    namenode.call(
        "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s")
    )
    namenode.call("setStoragePolicy", pb.SetStoragePolicyRequestProto(src="/d", policyName="COLD"))
    for path, name in (("/d/e", "COLD"), ("/d/.snapshot/s", "HOT"), ("/d/.snapshot/s/e", "HOT")):
        answer = namenode.call("getStoragePolicy", pb.GetStoragePolicyRequestProto(path=path))
        assert isinstance(answer, pb.GetStoragePolicyResponseProto)
        assert answer.storagePolicy.name == name, path


def test_who_may_not_read_a_directory_is_not_told_its_policy(namenode: InMemoryNamenode) -> None:
    set_policy(namenode, "/d", DEFAULT)
    namenode.call(
        "setPermission",
        pb.SetPermissionRequestProto(src="/d", permission=ec.FsPermissionProto(perm=0o711)),
    )
    request = ec.GetErasureCodingPolicyRequestProto(src="/d")
    with pytest.raises(errors.AccessDenied):
        namenode.call("getErasureCodingPolicy", request, user="nobody")
    assert policy_of(namenode, "/d") == 1
