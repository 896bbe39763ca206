"""What full reports name while deletions are under way, and what heartbeats say of volumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control import reports
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.replicas.startup_scan import scan_pool
from howdah.datanode.state.messages import (
    DeletionEnded,
    Invalidate,
    ReplicaDeleted,
    ReplicaReceived,
)
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.meta_header import encode_meta_header
from howdah.testing.waiting import wait_until

POOL = "BP-1"
BLOCK = ExtendedBlock(POOL, 7, 1001, 10)


@pytest.fixture
def subject(make_namenode: Callable[..., Any], start_with: Callable[..., Any]) -> Any:
    """Its active has ordered the deletion of a replica; the other namenode is a standby."""
    active = make_namenode(pool=POOL, txid=5)
    standby = make_namenode(pool=POOL, is_active=False)
    started = start_with({"": [active, standby]}, heartbeat_s=0.01)
    started.inventory.apply(ReplicaReceived(BLOCK, started.storage_id))
    wait_until(lambda: started.nameservices.all[0].pool.active is not None)
    active.orders = [deletion(BLOCK)]
    wait_until(lambda: Invalidate((named(BLOCK),)) in started.commands)
    return started


def deletion(block: ExtendedBlock) -> pb.DatanodeCommandProto:
    order = pb.BlockCommandProto(action=pb.BlockCommandProto.INVALIDATE, blockPoolId=POOL)
    order.blocks.add(blockId=block.block_id, genStamp=block.generation_stamp)
    order.targets.add()
    return pb.DatanodeCommandProto(cmdType=pb.DatanodeCommandProto.BlockCommand, blkCmd=order)


def named(block: ExtendedBlock) -> ExtendedBlock:
    return block.with_length(0)


def listed(subject: Any) -> list[Any]:
    return [r for of_volume in subject.inventory.listed(POOL).values() for r in of_volume]


@pytest.mark.req("FS-056", "FS-070")
def test_a_replica_that_is_ordered_to_be_deleted_is_in_no_full_report(subject: Any) -> None:
    assert listed(subject) == []


def test_a_replica_that_could_not_be_deleted_is_reported_again(subject: Any) -> None:
    subject.inventory.apply(DeletionEnded(named(BLOCK)))
    assert [replica.block_id for replica in listed(subject)] == [BLOCK.block_id]


def test_of_two_orders_for_a_replica_both_have_to_end(subject: Any) -> None:
    subject.inventory.will_delete([named(BLOCK)])
    subject.inventory.apply(DeletionEnded(named(BLOCK)))
    assert listed(subject) == []


def test_a_younger_replica_is_reported_though_an_older_one_was_to_be_deleted(
    subject: Any,
) -> None:
    younger = ExtendedBlock(POOL, BLOCK.block_id, BLOCK.generation_stamp + 1, 10)
    subject.inventory.apply(ReplicaReceived(younger, subject.storage_id))
    assert [replica.generation_stamp for replica in listed(subject)] == [1002]


def test_a_replica_that_comes_after_the_deletion_is_reported(subject: Any) -> None:
    subject.inventory.apply(ReplicaDeleted(BLOCK, subject.storage_id))
    subject.inventory.apply(DeletionEnded(named(BLOCK)))
    subject.inventory.apply(ReplicaReceived(BLOCK, subject.storage_id))
    assert len(listed(subject)) == 1


@pytest.mark.req("FS-070")
@pytest.mark.parametrize(("stamp", "storage"), [(1000, "DS-0"), (1001, "DS-1")])
def test_a_late_end_of_another_replica_leaves_the_one_that_has_come_since(
    tmp_path: Path, stamp: int, storage: str
) -> None:
    """A disk that hangs deletes a replica long after the block has come to another volume, or
    under another stamp."""
    volumes = [Volume(str(tmp_path), f"DS-{n}", StorageType.DISK) for n in range(2)]
    inventory = ReplicaIndex(VolumeSet(volumes), ReplicaMap(), Gauges(2))
    inventory.apply(ReplicaReceived(BLOCK, "DS-0"))
    inventory.apply(ReplicaDeleted(BLOCK.with_generation_stamp(stamp), storage))
    assert len(inventory.listed(POOL)["DS-0"]) == 1


@pytest.mark.parametrize(
    "spec", [ChecksumSpec(ChecksumType.CRC32C, 4096), ChecksumSpec(ChecksumType.NULL, 512)]
)
def test_a_volume_is_never_said_to_have_less_than_nothing(
    tmp_path: Path, spec: ChecksumSpec
) -> None:
    """A start counts the files of a replica, and its deletion takes out what files of the usual
    kind would have: of one with fewer checksums that is more. A message cannot say that the rest
    is negative, and the datanode would end."""
    volume, replicas, length = Volume(str(tmp_path), "DS-0"), ReplicaMap(), 1 << 20
    volume.make_pool_directories(POOL)
    directory = Path(volume.finalized_directory(POOL, 7))
    directory.mkdir(parents=True)
    (directory / block_files.block_file_name(7)).write_bytes(bytes(length))
    sums = bytes(spec.sums_length(length))
    (directory / block_files.meta_file_name(7, 1001)).write_bytes(encode_meta_header(spec) + sums)
    scan_pool(VolumeSet([volume]), POOL, replicas)
    inventory = ReplicaIndex(VolumeSet([volume]), replicas, Gauges(1))
    inventory.apply(ReplicaDeleted(BLOCK, "DS-0"))
    (report,) = reports.storage_reports(inventory.states(POOL))
    assert (report.dfsUsed, report.blockPoolUsed) == (0, 0)
    inventory.apply(ReplicaReceived(BLOCK.with_length(length), "DS-0"))
    (report,) = reports.storage_reports(inventory.states(POOL))
    assert report.dfsUsed == report.blockPoolUsed > length - length // 100
