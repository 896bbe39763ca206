"""A volume with replicas that the data process begins to use while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.process.hot_swap import add_volume
from howdah.datanode.process.volume_workers import VolumeWorkers
from howdah.datanode.replicas.startup_scan import scan_pool
from howdah.datanode.state.messages import AddVolume, FoundReplica, ReplicaReceived
from howdah.datanode.state.replicas.replicas import Replica, ReplicaMap
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.protocol.data_transfer.meta_header import encode_meta_header

Lab = Any
DATA = b"found on it"


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


@pytest.fixture
def order(lab: Lab, tmp_path: Path) -> AddVolume:
    """For a volume with the finalized replicas 7 and 8, as the control process gives it."""
    volume = Volume(str(tmp_path / "more"), "DS-more", StorageType.SSD)
    volume.make_pool_directories(lab.POOL)
    for block_id in (7, 8):
        directory = Path(volume.finalized_directory(lab.POOL, block_id))
        directory.mkdir(parents=True, exist_ok=True)
        (directory / block_files.block_file_name(block_id)).write_bytes(DATA)
        meta = encode_meta_header(lab.SPEC) + lab.sums_of(DATA)
        (directory / block_files.meta_file_name(block_id, 1001)).write_bytes(meta)
    found = ReplicaMap()
    scan_pool(VolumeSet([volume]), lab.POOL, found)
    return AddVolume(
        volume.path,
        volume.storage_id,
        volume.storage_type,
        (0, 0, ""),
        1,
        ((lab.POOL, volume.pool_used_bytes(lab.POOL)),),
        tuple(
            FoundReplica(replica.as_block(lab.POOL), int(replica.state), b"")
            for replica in found.of_pool(lab.POOL)
        ),
    )


def add(node: Any, order: AddVolume) -> Volume:
    return add_volume(node.store, VolumeWorkers(node.store), Gauges(2), order)


def read(node: Any, lab: Lab, block_id: int) -> bytes:
    with node.store.open(lab.block(block_id)) as opened:
        with open(opened.block_fd, "rb", closefd=False) as file:
            return file.read()


def test_a_new_replica_goes_to_the_volume_only_when_those_that_lie_there_are_known(
    node: Any, lab: Lab, order: AddVolume, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take their files for nobody's, and have their places."""
    admit, refused = node.store.admit, []

    def write_first(pool_id: str, replica: Replica) -> None:
        block = lab.block(replica.block_id, replica.generation_stamp + 1)
        try:
            node.store.create(block, lab.SPEC, StorageType.SSD)
        except errors.DiskOutOfSpace:
            refused.append(replica.block_id)
        admit(pool_id, replica)

    monkeypatch.setattr(node.store, "admit", write_first)
    add(node, order)
    assert sorted(refused) == [7, 8]
    assert [read(node, lab, block_id) for block_id in (7, 8)] == [DATA, DATA]
    writer = node.store.create(lab.block(9), lab.SPEC, StorageType.SSD)
    assert writer.volume.storage_id == "DS-more", "it is used from then on"
    node.store.discard(writer)


@pytest.mark.parametrize("copy_is_whole", [False, True])
def test_a_replica_that_was_found_counts_if_a_copy_under_way_comes_to_nothing(
    node: Any, lab: Lab, order: AddVolume, copy_is_whole: bool
) -> None:
    """The control process reports it from now on, and no comparison with the disk would find that
    this process does not know it."""
    copy = node.store.create(lab.block(7), lab.SPEC, StorageType.DISK, temporary=True)
    add(node, order)
    if copy_is_whole:
        node.store.finalize(copy)
    else:
        node.store.abandon(copy)
    present = node.replicas.find(lab.POOL, 7)
    assert present is not None, "the block has no replica here"
    assert present.state is ReplicaState.FINALIZED
    assert present.volume_id == ("DS-0" if copy_is_whole else "DS-more")
    told = [event for event in node.events if isinstance(event, ReplicaReceived)]
    assert told[-1].storage_id == present.volume_id
    if not copy_is_whole:
        assert read(node, lab, 7) == DATA
    # What was left aside for one copy is nothing to the next one.
    node.store.invalidate(lab.block(7))
    again = node.store.create(lab.block(7), lab.SPEC, StorageType.DISK, temporary=True)
    node.store.abandon(again)
    assert node.replicas.find(lab.POOL, 7) is None


def test_a_volume_that_fails_while_it_is_added_leaves_no_replicas_behind(
    node: Any, lab: Lab, order: AddVolume, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would take them out of the map again, and no copy of their blocks could come."""
    admit = node.store.admit

    def fail_then(pool_id: str, replica: Replica) -> None:
        admit(pool_id, replica)
        node.store.trouble.remove_volume(node.volumes["DS-more"], "its disk is gone")

    monkeypatch.setattr(node.store, "admit", fail_then)
    add(node, order)
    assert node.store.block_ids(lab.POOL) == []
    assert node.replicas.count_of_volume("DS-more") == 0
    for block_id in (7, 8):
        copy = node.store.create(lab.block(block_id), lab.SPEC, StorageType.DISK, temporary=True)
        node.store.abandon(copy)
