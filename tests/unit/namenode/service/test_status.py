"""What pages and monitoring are given of datanodes."""

from __future__ import annotations

from howdah.namenode.service.status import nodes_shown
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity, Storage
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.testing.in_memory import InMemoryNamenode


def test_room_is_told_by_the_type_of_volumes_that_work() -> None:
    node = Datanode(DatanodeIdentity("u", "n", "n", 9866, 9864, 9867), "/r", 0)
    for number, kind in enumerate((StorageType.SSD, StorageType.DISK, StorageType.DISK)):
        for failed in (False, True):
            storage = Storage(f"DS-{number}-{failed}", kind, node)
            storage.failed = failed
            storage.capacity_bytes = 10**number
            storage.used_bytes = 2 * 10**number
            storage.remaining_bytes = 3 * 10**number
            storage.non_dfs_used_bytes = 4 * 10**number
            storage.pool_used_bytes = 5 * 10**number
            node.storages[storage.storage_id] = storage
    (shown,) = nodes_shown(InMemoryNamenode().namesystem, [node])
    names = ("capacity", "used", "remaining", "non_dfs_used", "pool_used")
    assert shown.by_storage_type == {
        "SSD": {f"{name}_bytes": at for at, name in enumerate(names, 1)},
        "DISK": {f"{name}_bytes": 110 * at for at, name in enumerate(names, 1)},
    }
