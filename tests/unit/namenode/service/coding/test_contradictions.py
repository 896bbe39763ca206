"""Logs, images and reports that no namenode makes: refused, or harmless."""

from __future__ import annotations

from dataclasses import replace

import pytest

from howdah.formats.edits import edits
from howdah.formats.image import records as rec
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.tree.coding_policies import CodingPolicies
from howdah.namenode.state.tree.namespace import Namespace
from howdah.protocol.striping.policies import SYSTEM_POLICIES
from howdah.testing.in_memory import reloaded
from tests.unit.namenode.service.coding.test_writing import Cluster

POLICIES = [
    ("rs", 14, 3, 1 << 20),
    ("rs", 0, 3, 1 << 20),
    ("rs", 6, 0, 1 << 20),
    ("rs", -1, 3, 1 << 20),
    ("rs", 6, 3, 0),
    ("rs", 6, 3, -1024),
]


@pytest.mark.parametrize(("codec", "data", "parity", "cell"), POLICIES)
def test_a_log_adds_no_policy_that_groups_cannot_have(
    codec: str, data: int, parity: int, cell: int
) -> None:
    namespace = Namespace()
    with pytest.raises(EditDoesNotFit, match="policy"):
        namespace.apply(edits.AddErasureCodingPolicyOp(codec, data, parity, cell, ()))


@pytest.mark.parametrize(("codec", "data", "parity", "cell"), POLICIES)
def test_an_image_has_no_policy_that_groups_cannot_have(
    codec: str, data: int, parity: int, cell: int
) -> None:
    record = rec.ErasureCodingPolicyRecord(
        64, f"{codec}-x", rec.SchemaRecord(codec, data, parity, ()), cell, 1
    )
    with pytest.raises(ValueError, match="policy"):
        CodingPolicies(dict(SYSTEM_POLICIES)).load([record])


def test_a_striped_file_has_one_replication_whatever_its_edits_say() -> None:
    cluster = Cluster()
    cluster.write()
    add = next(e for e in cluster.namenode.edits() if isinstance(e, edits.AddOp))
    namespace = cluster.namenode.namesystem.namespace
    namespace.apply(
        replace(add, inode_id=namespace.next_inode_id, path="/ec/g", replication=3, rpc_call_id=9)
    )
    namespace.apply(edits.SetReplicationOp("/ec/f", 3))
    for path in ("/ec/f", "/ec/g"):
        found, loaded = namespace.find(path), reloaded(namespace).find(path)
        assert isinstance(found, File)
        assert isinstance(loaded, File)
        assert found.replication == loaded.replication == 1


def test_an_internal_block_of_no_length_keeps_no_datanode() -> None:
    cluster = Cluster(nodes=6)
    group = cluster.write(10)
    holders = {storage.node.identity.uuid for storage in group.replicas}
    node = next(node for node in cluster.nodes if node.uuid not in holders)
    node.store(group.block_id + 1, group.generation_stamp, 0)
    node.known.admin_state = AdminState.DECOMMISSION_INPROGRESS
    manager = cluster.namenode.namesystem.block_manager
    manager.blocks.redundancy.out_of_service.add(node.known)
    membership = cluster.namenode.namesystem.datanode_manager.membership
    assert not membership._lacks(group.part(1), node.known)
