"""What happens to replicas and writers of a block pool that is served no more."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.testing.waiting import wait_until

Lab = Any

pytestmark = pytest.mark.req("FS-046")


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


def test_writers_of_a_pool_that_is_left_end_and_nobody_begins(node: Any, lab: Lab) -> None:
    block = lab.block()
    writer = lab.Writer(node, lab.write_request(block))
    writer.send(0, bytes(1000))
    writer.ack()
    node.store.leave_pool("BP-another")
    assert len(node.store.writers) == 1
    node.store.leave_pool(block.pool_id)
    wait_until(lambda: not node.store.writers.all(), 30)
    with pytest.raises(errors.ReplicaNotFound, match="does not serve block pool"):
        node.store.find(block)
    assert node.store.served_pools() == []


def test_replicas_of_a_pool_that_is_left_are_there_when_it_is_served_again(
    node: Any, lab: Lab
) -> None:
    block, data = lab.block(), bytes(range(256)) * 10
    lab.write_block(node, block, data)
    used_bytes = node.store.volumes.all[0].pool_used_bytes(block.pool_id)
    node.store.leave_pool(block.pool_id)
    with pytest.raises(errors.ReplicaNotFound):
        node.store.open(block)
    assert node.store.volumes.all[0].pool_used_bytes(block.pool_id) == used_bytes
    node.store.serve_pool(block.pool_id)
    with node.store.open(block) as opened:
        assert opened.length_bytes == len(data)
