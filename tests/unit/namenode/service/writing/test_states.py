"""The tables of the states of blocks and leases: stories that go through every row.

That nothing else happens is held by the fixture `observed_states`, around all tests of
the namenode, the state machines included.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

from howdah.formats.edits import edits
from howdah.namenode.state.blocks.block_states import BLOCK_TRANSITIONS, BlockPhase, phase_of
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.inodes import BlockState
from howdah.namenode.state.tree.lease_states import LEASE_TRANSITIONS
from howdah.namenode.state.tree.leases import namenode_holder
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.runtime.state_table import Transition, as_markdown, as_mermaid
from howdah.testing.in_memory import InMemoryDatanode, InMemoryNamenode, Replica
from tests.support.observed_states import BLOCK_ROWS, LEASE_ROWS, Recorder

Nodes = list[InMemoryDatanode]
SOFT_MS = 60_000
HARD_MS = 1_200_000


def flushed(client: Any, nodes: Nodes, path: str, *, previous: Any = None) -> Any:
    """The client's last block has a replica of 7 bytes that is being written."""
    block = client.add_block(path, previous)
    for node in nodes:
        if node.uuid in {place.id.datanodeUuid for place in block.locs}:
            node.store(block.b.blockId, block.b.generationStamp, 7, finalized=False)
    client.fsync(path, 7)
    return block


def silent(namenode: InMemoryNamenode, ms: int) -> None:
    """Time passes for clients; datanodes go on living."""
    namenode.clock.advance(ms)
    for node in namenode.nodes:
        node.heartbeat()


def recover(nodes: Nodes, length: int) -> None:
    """Whoever is a primary recovers its blocks without trouble."""
    for node in nodes:
        for order in node.orders():
            uuids = {place.id.datanodeUuid for place in order.block.locs}
            node.recover(order, length, [other for other in nodes if other.uuid in uuids])


# Blocks.


def written_appended_and_deleted(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10)
    client.append("/a")
    client.delete("/a")


def next_block_before_the_reports(client: Any, nodes: Nodes) -> None:
    client.create("/a", replication=3)
    first = client.add_block("/a")
    named = type(first.b)()
    named.CopyFrom(first.b)
    named.numBytes = 1024
    client.add_block("/a", named)
    client.store(first, 1024)


def committed_block_is_deleted(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    first = client.add_block("/a")
    first.b.numBytes = 1024
    client.add_block("/a", first.b)
    client.delete("/a")


def second_attempt_succeeds(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    flushed(client, nodes, "/a")
    client.recover_lease("/a")
    silent(client.namenode, 0)  # The first order goes to a datanode that never answers.
    silent(client.namenode, 100_000)
    client.namenode.tick()
    recover(nodes, 7)


def file_is_deleted_while_it_is_recovered(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    flushed(client, nodes, "/a")
    client.recover_lease("/a")
    client.delete("/a")


def block_is_cut(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1000)
    client.truncate("/a", 10)


def block_of_a_snapshot_is_cut(client: Any, nodes: Nodes) -> None:
    client.mkdirs("/d")
    client.write("/d/a", 1000)
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    client.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d"))
    client.truncate("/d/a", 10)


def block_of_a_snapshot_is_lost(client: Any, nodes: Nodes) -> None:
    """Its file goes on without it."""
    client.mkdirs("/lost")
    client.create("/lost/a")
    block = flushed(client, nodes, "/lost/a").b.blockId
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/lost"))
    client.call("createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/lost"))
    client.recover_lease("/lost/a")
    for node in nodes:
        for order in node.orders():
            if order.block.b.blockId == block:
                for holder in nodes:
                    holder.drop(block)
                node.commit(order, 0, [], close_file=False, delete_block=True)


def log_is_replayed(client: Any, nodes: Nodes) -> None:
    client.write("/a", 1024, 10)
    client.namenode.restarted()


def lease_of_an_image_is_recovered(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    image = io.BytesIO()
    write_image(client.namenode.namesystem.namespace, 7, 1, image)
    image.seek(0)
    namespace, _ = read_image(image, "fsimage")
    namespace.apply(edits.ReassignLeaseOp(client.name, "/a", namenode_holder(0)))
    client.complete("/a")


def log_names_blocks_in_other_edits(client: Any, nodes: Nodes) -> None:
    owned = edits.Permission("root", "supergroup", 0o644)
    first, second, third = (edits.EditBlock(1 << 30 | number, 10, 1001) for number in range(3))
    several = [edits.EditBlock(1 << 31 | number, 10, 1001) for number in range(2)]
    add = edits.AddOp(20000, "/h", 3, 5, 5, 1024, owned, "writer", "10.0.0.1", blocks=(first,))
    update = edits.UpdateBlocksOp("/h", (first, second))
    close = edits.CloseOp(20000, "/h", 3, 6, 5, 1024, owned, (first, second, third))
    other = edits.AddOp(
        20001, "/i", 3, 5, 5, 1024, owned, "writer", "10.0.0.1", blocks=tuple(several)
    )
    namespace = Namespace()
    for edit in (add, update, close, other):
        namespace.apply(edit)


def committed_block_has_unfinished_replicas_alone(client: Any, nodes: Nodes) -> None:
    client.create("/a")
    block = client.add_block("/a").b
    block.numBytes = 1024
    client.add_block("/a", block)
    left = Replica(block.generationStamp, 1024, finalized=False, left_over=True)
    nodes[0].replicas[nodes[0].first_storage][block.blockId] = left
    nodes[0].report()
    client.recover_lease("/a")
    silent(client.namenode, client.namenode.settings.stale_datanode_ms)
    client.recover_lease("/a")
    client.delete("/a")


BLOCK_STORIES = [
    written_appended_and_deleted,
    next_block_before_the_reports,
    committed_block_is_deleted,
    committed_block_has_unfinished_replicas_alone,
    second_attempt_succeeds,
    file_is_deleted_while_it_is_recovered,
    block_is_cut,
    block_of_a_snapshot_is_cut,
    block_of_a_snapshot_is_lost,
    log_is_replayed,
    lease_of_an_image_is_recovered,
    log_names_blocks_in_other_edits,
]


def test_every_row_of_the_table_of_blocks_is_reached(
    client: Any, nodes: Nodes, observed_states: Recorder
) -> None:
    observed_states.blocks.clear()
    for story in BLOCK_STORIES:
        story(client, nodes)
        if client.exists("/a"):
            client.delete("/a")
    assert observed_states.blocks == BLOCK_ROWS


def test_a_transition_of_a_block_that_is_not_in_the_table_is_noticed(
    client: Any, nodes: Nodes, observed_states: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.write("/a", 10)
    (block,) = client.namenode.namesystem.namespace.find("/a").blocks
    with (
        observed_states._during("OP_TIMES"),
        pytest.raises(AssertionError, match="not in the table of block states"),
    ):
        block.state = BlockState.COMMITTED


@pytest.mark.parametrize(
    ("state", "is_recovered", "phase"),
    [
        (BlockState.UNDER_CONSTRUCTION, False, BlockPhase.UNDER_CONSTRUCTION),
        (BlockState.UNDER_CONSTRUCTION, True, BlockPhase.UNDER_RECOVERY),
        (BlockState.COMMITTED, False, BlockPhase.COMMITTED),
        (BlockState.COMPLETE, True, BlockPhase.COMPLETE),
    ],
)
def test_the_phase_of_a_block(state: BlockState, is_recovered: bool, phase: BlockPhase) -> None:
    assert phase_of(state, is_recovered=is_recovered) is phase


# Leases.


def opened_in_all_ways(clients: Callable[[], Any], nodes: Nodes) -> None:
    """Created, closed, appended to, closed, and cut."""
    client = clients()
    client.write("/a", 1000)
    client.append("/a", new_block=True)
    client.complete("/a")
    client.delete("/a")
    client.write("/b", 1000)
    client.truncate("/b", 10)
    recover(nodes, 10)


def renewed(clients: Callable[[], Any], nodes: Nodes) -> None:
    """While it holds, beyond the soft limit, and beyond the hard limit."""
    client = clients()
    client.create("/a")
    for silence_ms in (0, SOFT_MS + 1, HARD_MS + 1):
        silent(client.namenode, silence_ms)
        client.renew_lease()
    client.delete("/a")


def expired_and_closed(clients: Callable[[], Any], nodes: Nodes) -> None:
    for silence_ms in (SOFT_MS + 1, HARD_MS + 1):
        client = clients()
        client.create("/a")
        silent(client.namenode, silence_ms)
        client.complete("/a")
        client.delete("/a")


def expired_and_deleted(clients: Callable[[], Any], nodes: Nodes) -> None:
    for silence_ms in (SOFT_MS + 1, HARD_MS + 1):
        client = clients()
        client.create("/a")
        silent(client.namenode, silence_ms)
        client.delete("/a")


def taken_over(clients: Callable[[], Any], nodes: Nodes) -> None:
    for silence_ms in (0, SOFT_MS + 1, HARD_MS + 1):
        client = clients()
        client.create("/a")
        flushed(client, nodes, "/a")
        silent(client.namenode, silence_ms)
        clients().recover_lease("/a")
        recover(nodes, 7)
        client.delete("/a")


def taken_over_and_deleted(clients: Callable[[], Any], nodes: Nodes) -> None:
    client = clients()
    client.create("/a")
    flushed(client, nodes, "/a")
    client.recover_lease("/a")
    client.delete("/a")


def taken_over_and_restarted(clients: Callable[[], Any], nodes: Nodes) -> None:
    client = clients()
    client.create("/a")
    flushed(client, nodes, "/a")
    client.recover_lease("/a")
    client.namenode.clock.advance(1000)
    fresh = client.namenode.restarted()
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    fresh.tick()
    fresh.namesystem.safe_mode.leave()
    fresh.tick(2000)


LEASE_STORIES = [
    opened_in_all_ways,
    renewed,
    expired_and_closed,
    expired_and_deleted,
    taken_over,
    taken_over_and_deleted,
    taken_over_and_restarted,
]


def test_every_row_of_the_table_of_leases_is_reached(
    client_of: Any, nodes: Nodes, observed_states: Recorder
) -> None:
    observed_states.leases.clear()
    for story in LEASE_STORIES:
        story(client_of, nodes)
    assert observed_states.leases == LEASE_ROWS


# Both tables.


@pytest.mark.parametrize("table", [BLOCK_TRANSITIONS, LEASE_TRANSITIONS])
def test_no_row_is_twice_in_a_table(table: tuple[Transition[Any], ...]) -> None:
    rows = [(row.before, row.event, row.after) for row in table]
    assert len(set(rows)) == len(rows)


def test_a_table_is_shown_as_markdown_and_as_a_diagram() -> None:
    rows = [
        Transition(BlockPhase.NONE, "made", BlockPhase.COMPLETE, "somebody"),
        Transition(BlockPhase.COMPLETE, "dropped", BlockPhase.REMOVED, "somebody else"),
        Transition(BlockPhase.COMPLETE, "lost", BlockPhase.REMOVED, "nobody"),
    ]
    assert as_markdown(rows).splitlines()[2:] == [
        "| NONE | made | COMPLETE | somebody |",
        "| COMPLETE | dropped | REMOVED | somebody else |",
        "| COMPLETE | lost | REMOVED | nobody |",
    ]
    assert as_mermaid(rows, BlockPhase.NONE, BlockPhase.REMOVED).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> COMPLETE: made",
        "    COMPLETE --> [*]: dropped, lost",
    ]
