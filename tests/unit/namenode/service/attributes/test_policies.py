"""Storage policies: which one counts, which can be set, and where blocks go by it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity
from howdah.namenode.state.blocks.network import Network
from howdah.namenode.state.blocks.placement import Placement
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.inodes import INode
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryNamenode

DISK, SSD, ARCHIVE = 1, 2, 3


def set_policy(client: Any, path: str, name: str, **how: Any) -> None:
    client.call(
        "setStoragePolicy", pb.SetStoragePolicyRequestProto(src=path, policyName=name), **how
    )


def unset(client: Any, path: str) -> None:
    client.call("unsetStoragePolicy", pb.UnsetStoragePolicyRequestProto(src=path))


def policy(client: Any, path: str) -> str:
    request = pb.GetStoragePolicyRequestProto(path=path)
    return str(client.call("getStoragePolicy", request).storagePolicy.name)


def test_what_has_none_is_hot_and_says_unspecified(client: Any) -> None:
    client.create("/f")
    assert policy(client, "/f") == "HOT"
    assert client.status("/f").storagePolicy == 0


def test_a_directory_decides_for_what_is_below(client: Any) -> None:
    client.mkdirs("/d/e")
    client.create("/d/e/f")
    set_policy(client, "/d", "cold")
    assert policy(client, "/d/e/f") == "COLD"
    assert client.status("/d/e/f").storagePolicy == 2
    set_policy(client, "/d/e/f", "ALL_SSD")
    assert client.status("/d/e/f").storagePolicy == 12
    unset(client, "/d/e/f")
    assert client.status("/d/e/f").storagePolicy == 2
    unset(client, "/d")
    assert client.status("/d").storagePolicy == 0


def test_an_unknown_policy_is_refused(client: Any) -> None:
    with pytest.raises(errors.IllegalArgument, match="block policy with the name TEPID"):
        set_policy(client, "/", "TEPID")


def test_what_is_not_there_gets_none(client: Any) -> None:
    with pytest.raises(errors.PathNotFound, match="File/Directory does not exist: /nope"):
        set_policy(client, "/nope", "HOT")


def test_a_policy_of_memory_is_only_given_at_creation(client: Any) -> None:
    client.create("/f")
    with pytest.raises(errors.IllegalArgument, match="cannot be set after file creation"):
        set_policy(client, "/f", "LAZY_PERSIST")
    client.mkdirs("/d")
    set_policy(client, "/d", "LAZY_PERSIST")
    client.create("/d/f")
    with pytest.raises(errors.IllegalArgument, match="cannot be changed after file creation"):
        set_policy(client, "/d/f", "HOT")


def test_a_file_can_be_created_with_one(client: Any) -> None:
    client.create("/f", storagePolicy="WARM")
    assert client.status("/f").storagePolicy == 5


def test_who_may_not_write_sets_none(client: Any) -> None:
    client.create("/f", mode=0o644)
    with pytest.raises(errors.AccessDenied, match="access=WRITE"):
        set_policy(client, "/f", "COLD", user="bob")


def test_all_policies_are_listed(client: Any) -> None:
    found = client.call("getStoragePolicies", pb.GetStoragePoliciesRequestProto()).policies
    assert [p.policyId for p in found] == [1, 2, 5, 7, 10, 12, 14, 15]


def test_the_log_brings_them_back(client: Any, namenode: InMemoryNamenode) -> None:
    client.mkdirs("/d")
    client.create("/d/f")
    set_policy(client, "/d", "COLD")
    set_policy(client, "/d/f", "ONE_SSD")
    set_policy(client, "/", "WARM")
    unset(client, "/")
    fresh = Namespace()
    for record in namenode.log:
        fresh.apply(decode_record(record).edit)
    found = [fresh.find(path) for path in ("/", "/d", "/d/f")]
    assert [storage_policies.own_id(i) for i in found if isinstance(i, INode)] == [0, 2, 10]


def node(name: str, *kinds: int) -> Datanode:
    made = Datanode(DatanodeIdentity(name, name, name, 1, 2, 3), "/rack", 0)
    made.alive = True
    for number, kind in enumerate(kinds):
        made.storage(f"{name}-{number}", kind).remaining_bytes = 1 << 30
    return made


def kinds_of(nodes: list[Datanode], kinds: list[int], fallbacks: list[int]) -> list[int]:
    network = Network()
    for each in nodes:
        network.note(each)
    chosen = Placement(network, random.Random(1)).choose(
        len(kinds), block_size_bytes=1024, kinds=kinds, fallbacks=fallbacks
    )
    return sorted(storage.storage_type for storage in chosen)


def test_one_replica_goes_to_each_type_that_is_wanted() -> None:
    nodes = [node(name, DISK, SSD) for name in "abc"]
    assert kinds_of(nodes, [SSD, DISK, DISK], []) == [DISK, DISK, SSD]


def test_where_a_type_has_no_room_the_fallback_is_taken() -> None:
    nodes = [node("a", SSD), node("b", DISK), node("c", DISK)]
    assert kinds_of(nodes, [SSD, SSD, SSD], [DISK]) == [DISK, DISK, SSD]


def test_without_a_fallback_there_are_fewer_replicas() -> None:
    nodes = [node("a", ARCHIVE), node("b", DISK), node("c", DISK)]
    assert kinds_of(nodes, [ARCHIVE, ARCHIVE, ARCHIVE], []) == [ARCHIVE]


@pytest.mark.parametrize("method", ["set", "unset"])
def test_policies_that_are_switched_off_cannot_be_changed(method: str) -> None:
    namenode = InMemoryNamenode(Settings("", storage_policies_enabled=False))
    request = {
        "set": pb.SetStoragePolicyRequestProto(src="/", policyName="COLD"),
        "unset": pb.UnsetStoragePolicyRequestProto(src="/"),
    }[method]
    with pytest.raises(errors.RemoteError, match=r"dfs\.storage\.policy\.enabled is set to false"):
        namenode.call(f"{method}StoragePolicy", request)
