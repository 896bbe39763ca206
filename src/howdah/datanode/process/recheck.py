"""A second look at bytes that the keeper's scanners found damaged: they only read."""

from __future__ import annotations

from howdah import errors
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import ExtendedBlock


def verify_again(store: BlockStore, block: ExtendedBlock, start: int, stop: int) -> None:
    """These bytes of a finalized replica look damaged to who read them beside us: tell of
    them if they are, and it is still the same replica."""
    replica = store.find(block)
    if replica is None or not _is_final(replica, block):
        return
    try:
        with store.open(block) as opened:
            with store.trouble.reading(block.pool_id, opened):
                damaged = opened.damaged_between(start, min(stop, opened.length_bytes))
            replica = opened.replica
    except (errors.ReplicaNotFound, errors.ChecksumMismatch):
        # Who opened it has told of that.
        return
    if damaged is not None and store.find(block) is replica and _is_final(replica, block):
        reason = f"its data does not fit its checksum at {damaged}"
        store.corrupt(block.pool_id, replica, reason)


def _is_final(replica: Replica, block: ExtendedBlock) -> bool:
    """Whether nobody writes it, and it still is the replica of `block`."""
    stamp = block.generation_stamp
    return replica.state is ReplicaState.FINALIZED and replica.generation_stamp == stamp
