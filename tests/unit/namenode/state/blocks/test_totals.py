"""Sums over the storages of a datanode."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity

BYTES = st.integers(0, 1 << 44)


@given(st.lists(st.tuples(BYTES, BYTES, BYTES, BYTES, BYTES, st.booleans(), st.booleans())))
def test_one_pass_finds_what_each_sum_finds(
    storages: list[tuple[int, int, int, int, int, bool, bool]],
) -> None:
    node = Datanode(DatanodeIdentity("u", "10.0.0.1", "h", 9866, 9864, 9867), "/r", 0)
    for number, (capacity, used, left, pool, other, failed, reported) in enumerate(storages):
        made = node.storage(f"DS-{number}", 0)
        made.capacity_bytes, made.used_bytes, made.remaining_bytes = capacity, used, left
        made.pool_used_bytes, made.non_dfs_used_bytes = pool, other
        made.failed, made.reported = failed, reported
        made.block_ids.add(number)
    totals = node.totals()
    assert totals[:5] == (
        node.capacity_bytes,
        node.used_bytes,
        node.remaining_bytes,
        node.pool_used_bytes,
        node.non_dfs_used_bytes,
    )
    assert totals.blocks == node.block_count == len(storages)
    assert totals.unreported == sum(
        not each.reported and not each.failed for each in node.storages.values()
    )
