"""Every block has somebody who brings it back to its replication, in each state that it can be
in, whoever its owner is, whatever befalls it; and figures and fsck say what is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.fsck.options import parse_options
from howdah.namenode.service.fsck.report import Fsck
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.host_lists import HostEntry, HostOrder, Hosts
from howdah.namenode.state.blocks.redundancy import Need
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode, Replica
from tests.support.repairs import Repairs, find

BLOCK = 1024
SYNCED = 300


@pytest.fixture
def settings() -> Settings:
    return Settings(
        "",
        min_block_size_bytes=512,
        block_size_bytes=BLOCK,
        min_replication=2,
        heartbeat_expiry_ms=60_000,
        stale_datanode_ms=30_000,
        lease_hard_limit_ms=120_000,
        block_recovery_timeout_ms=60_000,
        pending_copy_ms=60_000,
        leaving_interval_ms=10_000,
    )


class World:
    """One namenode, seven datanodes, a client, and the block that the story is about."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.repairs = Repairs(client.namenode)
        for number in range(7):
            client.namenode.join(f"dn{number}", rack=f"/r{number % 2}")
        client.mkdirs("/d/sub")
        client.mkdirs("/elsewhere")
        client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
        self.block_id = 0
        self.shown: list[tuple[str, int]] = []
        """Paths of snapshots, and how many bytes they show."""

    @property
    def namenode(self) -> InMemoryNamenode:
        return self.repairs.namenode

    @property
    def block(self) -> Block:
        return self.namenode.namesystem.namespace.blocks[self.block_id]

    def begin(self, path: str, length: int = SYNCED, previous: Any = None) -> Any:
        """The client's next block: its datanodes write it, and so much is synced."""
        located = self.client.add_block(path, previous)
        for place in located.locs:
            node = self.repairs.node(place.id.datanodeUuid)
            node.store(located.b.blockId, located.b.generationStamp, length, finalized=False)
        self.client.fsync(path, length)
        return located

    def snapshot(self, path: str = "/d/sub/f") -> None:
        file = self.namenode.namesystem.namespace.find(path)
        assert isinstance(file, File)
        self.client.call(
            "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="s")
        )
        self.shown.append(("/d/.snapshot/s" + path.removeprefix("/d"), file.length_bytes))

    def restart(self, *, from_image: bool) -> None:
        fresh = self.namenode.restarted(from_image=from_image)
        fresh.nodes = self.namenode.nodes
        self.repairs.namenode = self.client.namenode = fresh
        for node in fresh.nodes:
            node.namenode = fresh
            if node.uuid not in self.repairs.dead:
                node.register()
                node.heartbeat()
                node.report()
        fresh.namesystem.safe_mode.leave(force=True)

    def fsck(self, path: str = "/", *flags: str) -> str:
        query = {"path": path, **dict.fromkeys(flags, "1")}
        return "".join(Fsck(self.namenode.namesystem).run("root", "10.9.9.9", parse_options(query)))


# The states.


def under_construction(world: World) -> None:
    world.client.create("/d/sub/f", replication=3)
    world.block_id = world.begin("/d/sub/f").b.blockId


def under_recovery(world: World) -> None:
    """The datanodes have the new stamp, and the result is lost."""
    under_construction(world)
    world.client.recover_lease("/d/sub/f")
    orders = [order for node in world.repairs.alive() for order in node.orders()]
    for node in world.repairs.holders(world.block_id):
        node.settle(world.block_id, orders[0].newGenStamp, SYNCED)
        node.report()


def committed(world: World) -> None:
    """One of three datanodes reports the block, the others lose theirs; two are needed."""
    world.client.create("/d/sub/f", replication=3)
    located = world.client.add_block("/d/sub/f")
    world.block_id = located.b.blockId
    first = world.repairs.node(located.locs[0].id.datanodeUuid)
    first.store(located.b.blockId, located.b.generationStamp, BLOCK)
    located.b.numBytes = BLOCK
    world.begin("/d/sub/f", previous=located.b)
    assert world.block.state is BlockState.COMMITTED


def complete(world: World) -> None:
    world.client.write("/d/sub/f", BLOCK, SYNCED, replication=3)
    file = world.namenode.namesystem.namespace.find("/d/sub/f")
    assert isinstance(file, File)
    world.block_id = file.blocks[-1].block_id


STATES = [under_construction, under_recovery, committed, complete]
OPEN = [under_construction, under_recovery, committed]


# The owners.


def file(world: World) -> None:
    """An open one is left by its writer."""


def file_and_snapshot(world: World) -> None:
    world.snapshot()


def deleted(world: World) -> None:
    world.snapshot()
    world.client.delete("/d/sub/f")


def deleted_with_its_directory(world: World) -> None:
    world.snapshot()
    world.client.delete("/d/sub")


def overwritten(world: World) -> None:
    world.snapshot()
    if world.namenode.namesystem.leases.open_files:
        world.client.delete("/d/sub/f")
    world.client.create("/d/sub/f", flag=3, replication=2, client_name="another")
    world.client.call(
        "complete", pb.CompleteRequestProto(src="/d/sub/f", clientName="another"), user="root"
    )


def renamed_over(world: World) -> None:
    world.snapshot()
    world.client.write("/d/g", 10, replication=2)
    world.client.rename2("/d/g", "/d/sub/f", overwrite=True)


def renamed_away_and_deleted(world: World) -> None:
    world.snapshot()
    world.client.rename("/d/sub/f", "/elsewhere/f")
    world.client.delete("/elsewhere")


def in_two_snapshots_of_which_one_goes(world: World) -> None:
    world.snapshot()
    world.client.chmod("/d/sub/f", 0o600)
    world.client.call(
        "createSnapshot", pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName="t")
    )
    world.client.delete("/d/sub/f")
    world.client.call(
        "deleteSnapshot", pb.DeleteSnapshotRequestProto(snapshotRoot="/d", snapshotName="t")
    )


OWNERS = [
    file,
    file_and_snapshot,
    deleted,
    deleted_with_its_directory,
    overwritten,
    renamed_over,
    renamed_away_and_deleted,
    in_two_snapshots_of_which_one_goes,
]


def truncated_and_snapshot(world: World) -> None:
    world.snapshot()
    world.client.truncate("/d/sub/f", BLOCK + 10)


def truncated_and_deleted(world: World) -> None:
    """While its last block is to be a copy."""
    truncated_and_snapshot(world)
    world.client.delete("/d/sub/f")


def cut_in_a_snapshot_and_deleted(world: World) -> None:
    """The snapshot shows a block that is being cut."""
    world.client.truncate("/d/sub/f", BLOCK + 10)
    world.snapshot()
    world.client.delete("/d/sub/f")


def appended_and_snapshot(world: World) -> None:
    world.snapshot()
    world.client.append("/d/sub/f")


def appended_and_deleted(world: World) -> None:
    appended_and_snapshot(world)
    world.client.delete("/d/sub/f")


def concatenated(world: World) -> None:
    world.client.write("/d/sub/g", BLOCK, 10, replication=2)
    world.client.concat("/d/sub/g", "/d/sub/f")
    world.snapshot("/d/sub/g")


def concatenated_and_deleted(world: World) -> None:
    concatenated(world)
    world.client.delete("/d/sub/g")


def concatenated_and_truncated(world: World) -> None:
    concatenated(world)
    world.client.truncate("/d/sub/g", BLOCK + 5)


COMPLETE_ONES = [
    truncated_and_snapshot,
    truncated_and_deleted,
    cut_in_a_snapshot_and_deleted,
    appended_and_snapshot,
    appended_and_deleted,
    concatenated,
    concatenated_and_deleted,
    concatenated_and_truncated,
]

# What befalls it.


def nothing(world: World) -> None:
    pass


def one_datanode_dies(world: World) -> None:
    holders = world.repairs.holders(world.block_id)
    if len(holders) > 1:
        world.repairs.dead.add(holders[0].uuid)


def all_but_one_die(world: World) -> None:
    world.repairs.dead |= {node.uuid for node in world.repairs.holders(world.block_id)[1:]}


def a_datanode_is_decommissioned(world: World) -> None:
    node = world.repairs.holders(world.block_id)[0]
    leaving = HostOrder(HostEntry(node.ip, frozenset((node.ip,))), AdminState.DECOMMISSIONED)
    Administration(world.namenode.namesystem).apply_hosts(Hosts.ordered([leaving]))


def a_reader_finds_a_replica_corrupt(world: World) -> None:
    holders = world.repairs.holders(world.block_id)
    if len(holders) < 2:
        return
    named = types_pb2.ExtendedBlockProto(
        poolId=world.namenode.settings.block_pool_id,
        blockId=world.block_id,
        generationStamp=world.block.generation_stamp,
    )
    located = types_pb2.LocatedBlockProto(
        b=named,
        offset=0,
        corrupt=True,
        blockToken={"identifier": b"", "password": b"", "kind": "", "service": ""},
    )
    located.locs.add(location="/").id.CopyFrom(holders[0].registration().datanodeID)
    world.namenode.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[located]))


def an_old_replica_is_reported(world: World) -> None:
    held = world.repairs.holders(world.block_id)
    other = next(node for node in world.repairs.alive() if node not in held)
    other.store(world.block_id, world.block.generation_stamp - 1, 7)


def a_newer_replica_is_reported(world: World) -> None:
    """A recovery of which nobody else has heard."""
    node = world.repairs.holders(world.block_id)[-1]
    if len(world.repairs.holders(world.block_id)) < 2 and world.block.is_settled:
        return
    replica = find(node, world.block_id)
    assert replica is not None
    stamp = world.namenode.namesystem.namespace.generation_stamp
    if stamp <= world.block.generation_stamp:
        return
    for held in node.replicas.values():
        if world.block_id in held:
            held[world.block_id] = Replica(stamp, replica.length_bytes)
    node.report()


def the_namenode_starts_from_its_log(world: World) -> None:
    world.restart(from_image=False)


def the_namenode_starts_from_an_image(world: World) -> None:
    world.restart(from_image=True)


def all_but_one_die_and_it_starts_from_an_image(world: World) -> None:
    all_but_one_die(world)
    world.restart(from_image=True)


TROUBLES = [
    nothing,
    one_datanode_dies,
    all_but_one_die,
    a_datanode_is_decommissioned,
    a_reader_finds_a_replica_corrupt,
    an_old_replica_is_reported,
    a_newer_replica_is_reported,
    the_namenode_starts_from_its_log,
    the_namenode_starts_from_an_image,
    all_but_one_die_and_it_starts_from_an_image,
]

Story = Callable[[World], None]
CASES = [(state, owner) for state in STATES for owner in OWNERS]
CASES += [(complete, owner) for owner in COMPLETE_ONES]


def check(client: Any, state: Story, owner: Story, trouble: Story) -> None:
    world = World(client)
    state(world)
    owner(world)
    trouble(world)
    world.repairs.pass_time()
    assert world.repairs.faults() == []
    for path, length in world.shown:
        read = world.repairs.lengths_read(path)
        assert sum(bytes_there for bytes_there, _ in read) >= length
        assert all(places >= 1 for _, places in read)
    for flags in ((), ("includeSnapshots",), ("openforwrite",)):
        text = world.fsck("/", *flags)
        assert "Status: HEALTHY" in text
        assert " Under-replicated blocks:\t0" in text
        assert " Missing blocks:\t\t0\n" in text


@pytest.mark.req("FS-015")
@pytest.mark.parametrize(
    ("state", "owner", "trouble"),
    [(*case, TROUBLES[number % len(TROUBLES)]) for number, case in enumerate(CASES * 2)],
    ids=lambda story: story.__name__,
)
def test_every_block_comes_back_to_its_replication(
    client: Any, state: Story, owner: Story, trouble: Story
) -> None:
    check(client, state, owner, trouble)


@pytest.mark.torture
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda story: story.__name__)
@pytest.mark.parametrize(("state", "owner"), CASES, ids=lambda story: story.__name__)
def test_every_block_comes_back_whatever_befalls_it(
    client: Any, state: Story, owner: Story, trouble: Story
) -> None:
    check(client, state, owner, trouble)


@pytest.mark.req("FS-015")
@pytest.mark.parametrize("owner", OWNERS[1:], ids=lambda story: story.__name__)
@pytest.mark.parametrize("state", STATES, ids=lambda story: story.__name__)
def test_figures_and_fsck_say_that_replicas_are_lacking(
    client: Any, state: Story, owner: Story
) -> None:
    """Also while nobody carries an order out."""
    world = World(client)
    state(world)
    owner(world)
    all_but_one_die(world)
    for _ in range(10):
        world.repairs.round(obeys=False)
    queues = world.namenode.namesystem.block_manager.blocks.redundancy.queues
    assert world.block_id in queues[Need.HIGHEST]
    assert world.namenode.namesystem.block_manager.reconstruction.counts().missing == 0
    ((path, _),) = world.shown
    text = world.fsck(path, "blocks", "files", "locations")
    assert "Status: HEALTHY" in text
    assert " Under-replicated blocks:\t0" not in text
    world.repairs.dead |= {node.uuid for node in world.repairs.holders(world.block_id)}
    for _ in range(10):
        world.repairs.round(obeys=False)
    assert world.block_id in queues[Need.MISSING]
    assert world.namenode.namesystem.block_manager.reconstruction.counts().missing >= 1
    assert "Status: CORRUPT" in world.fsck(path)
    listed = world.fsck("/", "listcorruptfileblocks", "includeSnapshots")
    assert f"blk_{world.block_id}\t{path}" in listed
