"""The block map under any interleaving of writes, reports, deaths and repairs, while datanodes
are decommissioned, rest in maintenance and return to service.

A few datanodes with real (if empty) disks; what the namenode believes is held
against them, and against itself, after every step.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from howdah import errors
from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks import block_map as blocks
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.blocks.host_lists import HostEntry, HostOrder, Hosts
from howdah.namenode.state.blocks.pending_reports import ReportedReplica
from howdah.namenode.state.blocks.policies import BY_DEFAULT, Policy
from howdah.namenode.state.blocks.redundancy import Need
from howdah.namenode.state.blocks.topology import RackMap
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import (
    POOL_ID,
    InMemoryDatanode,
    InMemoryNamenode,
    Replica,
)
from tests.support.torture import times

BLOCK_BYTES = 1024
CLIENT = "DFSClient_machine"
NODES = 4

nodes = st.integers(0, NODES - 1)


class BlockMapMachine(RuleBasedStateMachine):
    min_replication = 1
    min_maintenance = 1
    racks = 2
    policy = BY_DEFAULT

    @initialize()
    def start(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(blocks, "SLICE_REPLICAS", 1)
        self.namenode = InMemoryNamenode(
            Settings(
                "",
                min_block_size_bytes=512,
                block_size_bytes=BLOCK_BYTES,
                min_replication=self.min_replication,
                heartbeat_expiry_ms=60_000,
                stale_datanode_ms=30_000,
                # Its writer lives, whatever time passes.
                lease_hard_limit_ms=1 << 40,
                leaving_interval_ms=1000,
                maintenance_replication=self.min_maintenance,
                placement=self.policy,
            )
        )
        # What the host files say, by the numbers of datanodes.
        self.ordered: dict[int, HostOrder] = {}
        self.nodes = [
            self.namenode.join(
                f"dn{number}", rack=f"/r{number % self.racks}", volumes=1 + number % 2
            )
            for number in range(NODES)
        ]
        self.down: set[str] = set()
        # Of those that are down, the ones that stand still and will go on.
        self.frozen: set[str] = set()
        self.snapshots: list[str] = []
        self.snapshots_made = 0
        self.namenode.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/"))
        self.orders: dict[str, list[dn.BlockCommandProto]] = {n.uuid: [] for n in self.nodes}
        # Replicas whose bytes are wrong, and blocks that lost replicas by no order of ours.
        self.rotten: set[tuple[str, int]] = set()
        self.unlucky: set[int] = set()
        self.files = 0
        self.closing: list[Deferred] = []
        for replication in (1, 2, 3):
            self.whole_file(replication, 2)

    # Looking.

    @property
    def namesystem(self) -> Any:
        return self.namenode.namesystem

    def file(self, data: st.DataObject, *, is_open: bool) -> File | None:
        found = [
            inode
            for inode in self.namesystem.namespace.inodes.values()
            if isinstance(inode, File)
            and inode.under_construction == is_open
            and self.namesystem.namespace.is_attached(inode)
        ]
        return data.draw(st.sampled_from(found)) if found else None

    def block(self, data: st.DataObject) -> Block | None:
        found = sorted(self.namesystem.namespace.blocks)[:4]
        return (
            self.namesystem.namespace.blocks[data.draw(st.sampled_from(found))] if found else None
        )

    def up(self, number: int) -> InMemoryDatanode | None:
        node = self.nodes[number]
        return None if node.uuid in self.down else node

    def good_copies(self, block: Block) -> list[str]:
        """Nodes whose disks hold the block as it should be, dead or alive."""
        return [
            node.uuid
            for node in self.nodes
            for replicas in node.replicas.values()
            if (found := replicas.get(block.block_id)) is not None
            and found.finalized
            and found.generation_stamp == block.generation_stamp
            and found.length_bytes == block.length_bytes
            and (node.uuid, block.block_id) not in self.rotten
        ]

    # Files.

    @rule(replication=st.integers(1, 3))
    def create(self, replication: int) -> None:
        self.files += 1
        self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src=f"/f{self.files}",
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=max(replication, self.min_replication),
                blockSize=BLOCK_BYTES,
            ),
        )

    @rule(replication=st.integers(1, 3), blocks=st.integers(1, 2))
    def whole_file(self, replication: int, blocks: int) -> None:
        """A file that is written without trouble, where enough nodes are up."""
        self.create(replication)
        file = max(self.namesystem.namespace.inodes.values(), key=lambda inode: inode.inode_id)
        previous = None
        for _ in range(blocks):
            request = pb.AddBlockRequestProto(
                src=file.path, clientName=CLIENT, fileId=file.inode_id, previous=previous
            )
            try:
                self.namenode.call("addBlock", request)
            except errors.RemoteError:
                return
            block = file.blocks[-1]
            for storage in block.expected:
                node = next(n for n in self.nodes if n.uuid == storage.node.identity.uuid)
                node.store(
                    block.block_id,
                    block.generation_stamp,
                    BLOCK_BYTES,
                    storage_id=storage.storage_id,
                )
            previous = self.named(block, BLOCK_BYTES)
        self.namenode.call(
            "complete",
            pb.CompleteRequestProto(
                src=file.path, clientName=CLIENT, fileId=file.inode_id, last=previous
            ),
        )

    def named(self, block: Block, length: int | None = None) -> types_pb2.ExtendedBlockProto:
        return types_pb2.ExtendedBlockProto(
            poolId=POOL_ID,
            blockId=block.block_id,
            generationStamp=block.generation_stamp,
            numBytes=block.length_bytes if length is None else length,
        )

    @rule(data=st.data(), length=st.integers(1, 3))
    def add_block(self, data: st.DataObject, length: int) -> None:
        file = self.file(data, is_open=True)
        if file is None:
            return
        request = pb.AddBlockRequestProto(src=file.path, clientName=CLIENT, fileId=file.inode_id)
        if file.blocks:
            last = file.blocks[-1]
            told = length if last.state is BlockState.UNDER_CONSTRUCTION else last.length_bytes
            request.previous.CopyFrom(self.named(last, max(told, last.length_bytes)))
        try:
            self.namenode.call("addBlock", request)
        except (errors.NotReplicatedYet, errors.RemoteError):
            return  # Too few nodes, or replicas, at present.

    @rule(data=st.data(), number=nodes, length=st.integers(1, 3), finalized=st.booleans())
    def write(self, data: st.DataObject, number: int, length: int, finalized: bool) -> None:
        """A member of the pipeline gets, and perhaps finalizes, its replica."""
        node = self.up(number)
        block = self.block(data)
        if node is None or block is None or block.state is BlockState.COMPLETE:
            return
        for storage in block.expected:
            if storage.node is node.known and not self.holds(node, block):
                node.store(
                    block.block_id,
                    block.generation_stamp,
                    length,
                    storage_id=storage.storage_id,
                    finalized=finalized,
                )
                return

    @staticmethod
    def holds(node: InMemoryDatanode, block: Block) -> bool:
        return any(
            block.block_id in replicas and replicas[block.block_id].finalized
            for replicas in node.replicas.values()
        )

    @rule(data=st.data(), length=st.integers(1, 3))
    def complete(self, data: st.DataObject, length: int) -> None:
        file = self.file(data, is_open=True)
        if file is None:
            return
        request = pb.CompleteRequestProto(src=file.path, clientName=CLIENT, fileId=file.inode_id)
        if file.blocks:
            last = file.blocks[-1]
            told = length if last.state is BlockState.UNDER_CONSTRUCTION else last.length_bytes
            request.last.CopyFrom(self.named(last, max(told, last.length_bytes)))
        answer = self.namenode.call("complete", request)
        if isinstance(answer, Deferred):
            self.closing.append(answer)

    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        file = self.file(data, is_open=True)
        if file is None or not file.blocks:
            return
        try:
            self.namenode.call(
                "abandonBlock",
                pb.AbandonBlockRequestProto(
                    b=self.named(file.blocks[-1]),
                    src=file.path,
                    holder=CLIENT,
                    fileId=file.inode_id,
                ),
            )
        except errors.RemoteError:
            last = file.blocks[-1]
            pinned = self.namesystem.namespace.snapshots.has_to_keep(file, last.block_id)
            assert last.state is not BlockState.UNDER_CONSTRUCTION or pinned

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        file = self.file(data, is_open=False)
        if file is None:
            return
        try:
            self.namenode.call(
                "append", pb.AppendRequestProto(src=file.path, clientName=CLIENT, flag=4)
            )
        except errors.RemoteError:
            return  # Its last block has too few replicas at present.

    @rule(data=st.data(), is_open=st.booleans())
    def delete(self, data: st.DataObject, is_open: bool) -> None:
        file = self.file(data, is_open=is_open)
        if file is not None:
            self.namenode.call("delete", pb.DeleteRequestProto(src=file.path, recursive=True))

    @rule(data=st.data(), replication=st.integers(1, 4))
    def set_replication(self, data: st.DataObject, replication: int) -> None:
        file = self.file(data, is_open=False)
        if file is not None:
            self.namenode.call(
                "setReplication",
                pb.SetReplicationRequestProto(
                    src=file.path, replication=max(replication, self.min_replication)
                ),
            )

    # Snapshots.

    @precondition(lambda self: len(self.snapshots) < 3)
    @rule()
    def snapshot(self) -> None:
        self.snapshots_made += 1
        self.snapshots.append(f"s{self.snapshots_made}")
        request = pb.CreateSnapshotRequestProto(snapshotRoot="/", snapshotName=self.snapshots[-1])
        self.namenode.call("createSnapshot", request)

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def delete_snapshot(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.snapshots))
        self.snapshots.remove(name)
        request = pb.DeleteSnapshotRequestProto(snapshotRoot="/", snapshotName=name)
        self.namenode.call("deleteSnapshot", request)
        while self.namesystem.reap():
            continue

    # Datanodes.

    @rule(number=nodes)
    def report(self, number: int) -> None:
        node = self.up(number)
        if node is not None:
            node.report()

    @rule(number=nodes, slices=st.integers(0, 4))
    def report_breaks_off(self, number: int, slices: int) -> None:
        """Its connection is lost in the middle of a full report."""
        node = self.up(number)
        if node is None:
            return
        storage = node.known.storages[node.first_storage]
        listed = [
            ReportedReplica(block_id, r.length_bytes, r.generation_stamp, r.state)
            for block_id, r in node.replicas[node.first_storage].items()
        ]
        report = self.namesystem.block_manager.blocks.full_report(storage, listed)
        for _ in range(slices):
            next(report, None)
        report.close()

    @rule(number=nodes)
    def heartbeat(self, number: int) -> None:
        node = self.up(number)
        if node is not None:
            self.take_orders(node)

    @rule(number=nodes)
    def answer_is_lost(self, number: int) -> None:
        """The namenode takes its orders for given."""
        node = self.up(number)
        if node is not None:
            node.heartbeat()

    @rule(data=st.data(), answer=st.sampled_from(["waits", "is lost", "comes"]))
    def one_is_too_many(self, data: st.DataObject, answer: str) -> None:
        """The namenode chooses who is to delete a replica."""
        block = self.block(data)
        if block is None or block.state is not BlockState.COMPLETE:
            return
        file = self.namesystem.namespace.file_of(block)
        if file.writer:
            return
        live = len(block.replicas)
        if live <= self.min_replication or not self.namesystem.namespace.is_attached(file):
            return
        self.namenode.call(
            "setReplication",
            pb.SetReplicationRequestProto(src=file.path, replication=live - 1),
        )
        self.namenode.tick()
        for number, node in enumerate(self.nodes):
            if node.uuid not in self.down and answer != "waits":
                (self.heartbeat if answer == "comes" else self.answer_is_lost)(number)

    @rule(data=st.data(), is_frozen=st.booleans(), reports=st.booleans())
    def all_but_who_is_to_delete_die(
        self, data: st.DataObject, is_frozen: bool, reports: bool
    ) -> None:
        """The other holders of a block die, while one is to delete its replica."""
        found = [
            (number, block_id)
            for number, node in enumerate(self.nodes)
            if node.uuid not in self.down
            for block_id in sorted(node.known.invalidated)
            if block_id in self.namesystem.namespace.blocks
        ]
        if not found:
            return
        survivor, block_id = data.draw(st.sampled_from(found))
        holders = self.good_copies(self.namesystem.namespace.blocks[block_id])
        for number, node in enumerate(self.nodes):
            if number != survivor and node.uuid in holders:
                self.die(number, is_frozen)
        if reports:
            self.report(survivor)
        self.namenode.tick()
        self.heartbeat(survivor)

    def take_orders(self, node: InMemoryDatanode) -> None:
        for command in node.heartbeat():
            order = command.blkCmd
            if order.action == dn.BlockCommandProto.INVALIDATE:
                for told in order.blocks:
                    self.check_deletion(node, told)
            self.orders[node.uuid].append(order)

    def check_deletion(self, node: InMemoryDatanode, told: types_pb2.BlockProto) -> None:
        """Nobody is told to delete a replica unless there is another one, in reach, whose
        node was not told the same."""
        block = self.namesystem.namespace.blocks.get(told.blockId)
        if (
            block is None
            or block.state is not BlockState.COMPLETE
            or block.generation_stamp != told.genStamp
            or told.blockId in self.unlucky
            or node.uuid not in self.good_copies(block)
        ):
            return
        others = set(self.good_copies(block)) - self.down - {node.uuid}
        others -= {uuid for uuid in others if self.is_told_to_delete(uuid, told)}
        assert others, f"{node.uuid} is told to delete the last replica of {block} in reach"

    def is_told_to_delete(self, uuid: str, told: types_pb2.BlockProto) -> bool:
        return any(
            order.action == dn.BlockCommandProto.INVALIDATE
            and (other.blockId, other.genStamp) == (told.blockId, told.genStamp)
            for order in self.orders[uuid]
            for other in order.blocks
        )

    @rule(number=nodes)
    def obey(self, number: int) -> None:
        """Carry out the orders of earlier heartbeats."""
        node = self.up(number)
        if node is None:
            return
        orders, self.orders[node.uuid] = self.orders[node.uuid], []
        for order in orders:
            for place, told in enumerate(order.blocks):
                if order.action == dn.BlockCommandProto.INVALIDATE:
                    self.delete_replica(node, told)
                else:
                    self.copy_replica(node, told, order, place)

    def delete_replica(self, node: InMemoryDatanode, told: types_pb2.BlockProto) -> None:
        held = [r[told.blockId] for r in node.replicas.values() if told.blockId in r]
        if not held:
            for storage_id in node.replicas:
                node.report_replica(
                    storage_id,
                    told.blockId,
                    told.genStamp,
                    0,
                    dn.ReceivedDeletedBlockInfoProto.DELETED,
                )
        if not any(replica.generation_stamp == told.genStamp for replica in held):
            return
        block = self.namesystem.namespace.blocks.get(told.blockId)
        if (
            block is not None
            and block.state is BlockState.COMPLETE
            and told.blockId not in self.unlucky
            and node.uuid in self.good_copies(block)
        ):
            others = [uuid for uuid in self.good_copies(block) if uuid != node.uuid]
            assert others, f"{node.uuid} was told to delete the last good replica of {block}"
        node.drop(told.blockId)
        self.rotten.discard((node.uuid, told.blockId))

    def copy_replica(
        self,
        node: InMemoryDatanode,
        told: types_pb2.BlockProto,
        order: dn.BlockCommandProto,
        place: int,
    ) -> None:
        source = next((r[told.blockId] for r in node.replicas.values() if told.blockId in r), None)
        if source is None or source.generation_stamp != told.genStamp or not source.finalized:
            return
        if (node.uuid, told.blockId) in self.rotten:
            return
        for target in order.targets[place].datanodes:
            other = next(n for n in self.nodes if n.uuid == target.id.datanodeUuid)
            if other.uuid in self.down or any(told.blockId in r for r in other.replicas.values()):
                continue
            other.store(told.blockId, told.genStamp, source.length_bytes)

    @rule(number=nodes, is_frozen=st.booleans())
    def die(self, number: int, is_frozen: bool) -> None:
        node = self.nodes[number]
        if node.uuid in self.down:
            return
        self.down.add(node.uuid)
        if is_frozen:
            self.frozen.add(node.uuid)
        else:
            self.orders[node.uuid] = []
        node.known.last_heartbeat_ms -= 100_000
        self.namenode.tick()
        # With the node the namenode forgets what readers found; they will find it again.
        for uuid, block_id in [entry for entry in self.rotten if entry[0] == node.uuid]:
            self.unlucky.add(block_id)
            self.rotten.discard((uuid, block_id))

    @rule(number=nodes)
    def come_back(self, number: int) -> None:
        """After a death, or after a restart that nobody noticed; or it stood still, and goes
        on with what it was told."""
        node = self.nodes[number]
        self.down.discard(node.uuid)
        if node.uuid in self.frozen:
            self.frozen.discard(node.uuid)
        else:
            self.orders[node.uuid] = []
        node.register()
        node.heartbeat()
        node.report()

    @rule(number=nodes, rack=st.integers(0, 2))
    def move_to_another_rack(self, number: int, rack: int) -> None:
        """The operator has changed the table of racks, and a datanode is started again."""
        self.namenode.racks = {**self.namenode.racks, self.nodes[number].ip: f"/r{rack}"}
        self.namesystem.datanode_manager.racks = RackMap(self.namenode.racks)
        self.come_back(number)

    # The host files.

    @rule(number=nodes, what=st.sampled_from(["serve", "leave", "rest", "rest for a while"]))
    def order(self, number: int, what: str) -> None:
        """The host files say something else of a datanode, and are read."""
        entry = HostEntry(self.nodes[number].ip, frozenset((self.nodes[number].ip,)))
        self.ordered.pop(number, None)
        if what == "leave":
            self.ordered[number] = HostOrder(entry, AdminState.DECOMMISSIONED)
        elif what == "rest":
            self.ordered[number] = HostOrder(entry, AdminState.IN_MAINTENANCE)
        elif what == "rest for a while":
            until_ms = self.namenode.clock.wall_ms() + 300_000
            self.ordered[number] = HostOrder(entry, AdminState.IN_MAINTENANCE, until_ms)
        Administration(self.namesystem).apply_hosts(self.hosts)

    @property
    def hosts(self) -> Hosts:
        return Hosts.ordered(list(self.ordered.values()))

    @rule(numbers=st.permutations(range(NODES)), obeyed=st.booleans())
    def namenode_is_started_anew(self, numbers: list[int], obeyed: bool) -> None:
        for number in range(NODES):
            if obeyed:
                self.obey(number)
            self.orders[self.nodes[number].uuid] = []
        self.namenode = self.namenode.restarted()
        self.namenode.nodes = self.nodes
        self.namesystem.datanode_manager.hosts = self.hosts
        self.closing = []
        self.namesystem.safe_mode.leave(force=True)
        self.frozen.clear()
        # It knows nothing of what readers found before.
        self.unlucky |= {block_id for _, block_id in self.rotten}
        self.rotten.clear()
        for node in self.nodes:
            node.namenode = self.namenode
            if node.uuid not in self.down:
                node.register()
                node.heartbeat()
        for number in numbers[:2]:
            self.report(number)

    @precondition(lambda self: not self.down)
    @rule(number=nodes)
    def lose_disk(self, number: int) -> None:
        node = self.nodes[number]
        for replicas in node.replicas.values():
            self.unlucky |= replicas.keys()
            replicas.clear()
        self.rotten = {entry for entry in self.rotten if entry[0] != node.uuid}
        self.come_back(number)

    @rule(number=nodes)
    def lose_volume(self, number: int) -> None:
        """A node with two volumes comes back with one."""
        node = self.up(number)
        if node is None or len(node.replicas) < 2:
            return
        _, lost = node.replicas.popitem()
        self.unlucky |= lost.keys()
        self.rotten -= {(node.uuid, block_id) for block_id in lost}
        self.orders[node.uuid] = []
        node.register()
        node.heartbeat()

    @rule(number=nodes, data=st.data())
    def move_between_volumes(self, number: int, data: st.DataObject) -> None:
        node = self.up(number)
        block = self.block(data)
        if node is None or block is None or len(node.replicas) < 2:
            return
        here, there = list(node.replicas)
        replica = node.replicas[here].get(block.block_id)
        if replica is not None and replica.finalized:
            del node.replicas[here][block.block_id]
            node.store(
                block.block_id,
                replica.generation_stamp,
                replica.length_bytes,
                storage_id=there,
            )

    @rule(number=nodes, other=nodes, hinted=nodes, data=st.data())
    def move_for_balance(self, number: int, other: int, hinted: int, data: st.DataObject) -> None:
        """A balancer has a replica copied; one node, or a wrong one, is to lose its own for it."""
        giver, taker = self.up(number), self.up(other)
        block = self.block(data)
        if giver is None or taker is None or block is None:
            return
        held = [r[block.block_id] for r in giver.replicas.values() if block.block_id in r]
        is_rotten = (giver.uuid, block.block_id) in self.rotten
        if not held or not held[0].finalized or is_rotten:
            return
        if any(block.block_id in replicas for replicas in taker.replicas.values()):
            return
        taker.store(
            block.block_id,
            held[0].generation_stamp,
            held[0].length_bytes,
            delete_hint=self.nodes[hinted].uuid,
        )

    @rule(number=nodes, data=st.data())
    def rot(self, number: int, data: st.DataObject) -> None:
        """A reader finds a corrupt replica, and says so."""
        node = self.up(number)
        block = self.block(data)
        if node is None or block is None or node.uuid not in self.good_copies(block):
            return
        if all(storage.node is not node.known for storage in block.replicas):
            return  # Readers are not sent there.
        self.rotten.add((node.uuid, block.block_id))
        named = types_pb2.BlockProto(
            blockId=block.block_id, genStamp=block.generation_stamp, numBytes=0
        )
        if all(self.is_told_to_delete(uuid, named) for uuid in self.good_copies(block)):
            # The others were told to go while this one was good, and nobody can recall that.
            self.unlucky.add(block.block_id)
        located = types_pb2.LocatedBlockProto(
            b=self.named(block),
            offset=0,
            corrupt=True,
            blockToken={"identifier": b"", "password": b"", "kind": "", "service": ""},
        )
        located.locs.add().id.CopyFrom(node.registration().datanodeID)
        located.locs[0].location = "/"
        self.namenode.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[located]))

    @rule(number=nodes, data=st.data(), length=st.integers(0, 3))
    def stale_replica(self, number: int, data: st.DataObject, length: int) -> None:
        """A node that missed a pipeline's recovery has an older replica."""
        node = self.up(number)
        block = self.block(data)
        if (
            node is None
            or block is None
            or any(block.block_id in r for r in node.replicas.values())
        ):
            return
        node.store(block.block_id, block.generation_stamp - 1, length)

    @rule(number=nodes, data=st.data())
    def leftover(self, number: int, data: st.DataObject) -> None:
        """A replica that was being written survives its datanode's death."""
        node = self.up(number)
        block = self.block(data)
        if (
            node is None
            or block is None
            or any(block.block_id in r for r in node.replicas.values())
        ):
            return
        node.replicas[node.first_storage][block.block_id] = Replica(
            block.generation_stamp, 1, finalized=False, left_over=True
        )
        node.report()

    @rule(ms=st.sampled_from([0, 1000, 310_000]))
    def time_passes(self, ms: int) -> None:
        self.namenode.clock.advance(ms)
        for node in self.nodes:
            if node.uuid not in self.down:
                self.take_orders(node)
        before = {node: node.admin_state for node in self.namesystem.datanode_manager.datanodes}
        self.namenode.tick()
        for node, state in before.items():
            if node.alive and state.is_under_way and node.admin_state is not state:
                self.check_left(node)
        self.check_figures()

    def check_left(self, left: Datanode) -> None:
        """The datanode may be shut down: enough others have each of its blocks."""
        if not left.admin_state.is_maintenance and left.in_service:
            return  # Its maintenance is over.
        serving = {
            node.identity.uuid
            for node in self.namesystem.datanode_manager.datanodes
            if node.in_service
        }
        for block in self.namesystem.namespace.blocks.values():
            good = self.good_copies(block)
            if left.identity.uuid not in good or block.block_id in self.unlucky:
                continue
            is_gone = left.admin_state.is_decommission
            enough = self.needed(block) if is_gone else self.min_maintenance
            if block.state is not BlockState.COMPLETE:
                enough = self.min_replication if is_gone else self.min_maintenance
                good = [
                    s.node.identity.uuid
                    for s in self.namesystem.block_manager.blocks.holders(block)
                ]
            elif all(storage.node is not left for storage in block.replicas):
                continue  # It has yet to report it.
            enough = min(enough, self.wanted(block), 3)
            assert len(serving.intersection(good)) >= enough, (left, block)

    def wanted(self, block: Block) -> int:
        wanted: int = self.namesystem.namespace.measuring.wanted_replication(block)
        return wanted

    def needed(self, block: Block) -> int:
        """How many replicas should be on datanodes in service: those in maintenance stand for
        themselves."""
        resting = sum(storage.node.admin_state.is_maintenance for storage in block.replicas)
        wanted = self.wanted(block)
        return max(wanted - resting, min(self.min_maintenance, wanted)) if resting else wanted

    def check_figures(self) -> None:
        """The queues and their lengths are those of a count from scratch."""
        if not self.namesystem.block_manager.reconstruction.has_scanned:
            return
        found: dict[Need, set[int]] = {need: set() for need in Need}
        extra, known = set(), self.namesystem.namespace.blocks
        for block in known.values():
            if block.state is BlockState.UNDER_CONSTRUCTION:
                self.check_open(block, found)
                continue
            live = sum(s.node.in_service for s in block.replicas)
            wanted = self.wanted(block)
            if not block.replicas:
                awaited = self.namesystem.block_manager.blocks.awaited_reports(block)
                found[Need.HIGHEST if awaited else Need.MISSING].add(block.block_id)
            elif live < self.needed(block):
                need = Need.VERY_LOW if 3 * live < wanted else Need.LOW
                found[Need.HIGHEST if live < 2 else need].add(block.block_id)
            elif live > wanted or (block.corrupt and live):
                extra.add(block.block_id)
            elif self.is_badly_placed(block):
                found[Need.MISPLACED].add(block.block_id)
        counts = self.namesystem.block_manager.reconstruction.counts()
        queues = {
            need: set(queue)
            for need, queue in zip(
                Need, self.namesystem.block_manager.blocks.redundancy.queues, strict=True
            )
        }
        # Where the orders are given, those in excess wait in no queue, or for a better place.
        assert queues.pop(Need.EXCESS) <= extra
        del found[Need.EXCESS]
        cut = {i for i in queues[Need.MISPLACED] & extra if self.is_badly_placed(known[i])}
        queues[Need.MISPLACED] -= cut
        if self.namesystem.block_manager.reconstruction.is_rescanning:
            del queues[Need.MISPLACED], found[Need.MISPLACED]
        assert queues == {need: found[need] for need in queues}
        assert (counts.missing, counts.last_replica, counts.very_low, counts.low) == tuple(
            len(found[need]) for need in (Need.MISSING, Need.HIGHEST, Need.VERY_LOW, Need.LOW)
        )
        assert counts.low_redundancy == counts.too_few + counts.misplaced
        assert self.namesystem.block_manager.blocks.redundancy.postponed <= extra

    def check_open(self, block: Block, found: dict[Need, set[int]]) -> None:
        """One that nobody writes any more is counted by those that may have it."""
        if block.block_id not in self.namesystem.block_manager.blocks.redundancy.left_open:
            return
        holders = [
            s.node for s in self.namesystem.block_manager.blocks.holders(block) if s.node.alive
        ]
        live = sum(node.in_service for node in holders)
        resting = sum(node.admin_state.is_maintenance for node in holders)
        wanted = self.wanted(block)
        needed = max(wanted - resting, min(self.min_maintenance, wanted)) if resting else wanted
        if not holders:
            if block.length_bytes:
                found[Need.MISSING].add(block.block_id)
        elif live < needed:
            need = Need.VERY_LOW if 3 * live < wanted else Need.LOW
            found[Need.HIGHEST if live < 2 else need].add(block.block_id)

    def is_badly_placed(self, block: Block) -> bool:
        """Whether its replicas are on fewer racks than they should be, and there are others."""
        serving = {
            n.location
            for n in self.namesystem.datanode_manager.datanodes
            if n.alive and n.in_service
        }
        there = {
            storage.node.location
            for storage in block.replicas
            if storage.node.in_service or storage.node.admin_state.is_maintenance
        }
        most = NODES if self.policy.spreads else 2
        return len(there) < min(most, self.wanted(block), len(serving))

    # What must always hold.

    @invariant()
    def datanodes_out_of_service_are_known(self) -> None:
        away = {node for node in self.namesystem.datanode_manager.datanodes if not node.in_service}
        assert self.namesystem.block_manager.blocks.redundancy.out_of_service == away

    @invariant()
    def storages_and_blocks_agree(self) -> None:
        said = {
            (storage.storage_id, block_id)
            for node in self.namesystem.datanode_manager.datanodes
            for storage in node.storages.values()
            for block_id in storage.block_ids
        }
        blocks = self.namesystem.namespace.blocks.values()
        assert said == {(s.storage_id, b.block_id) for b in blocks for s in b.replicas}
        bad = {
            (storage.storage_id, block_id)
            for node in self.namesystem.datanode_manager.datanodes
            for storage in node.storages.values()
            for block_id in storage.corrupt
        }
        assert bad == {(s.storage_id, b.block_id) for b in blocks for s in b.corrupt}
        assert not said & bad

    @invariant()
    def safe_count_is_exact(self) -> None:
        assert self.namesystem.block_manager.blocks.safe_count == sum(
            block.state is BlockState.COMPLETE and len(block.replicas) >= self.min_replication
            for block in self.namesystem.namespace.blocks.values()
        )

    @invariant()
    def a_node_has_one_replica_of_a_block(self) -> None:
        for block in self.namesystem.namespace.blocks.values():
            counts = Counter(storage.node.identity.uuid for storage in block.replicas)
            assert max(counts.values(), default=1) == 1

    @invariant()
    def replicas_are_on_nodes_that_live_or_rest(self) -> None:
        for block in self.namesystem.namespace.blocks.values():
            for storage in block.replicas:
                node = storage.node
                assert node.alive or (
                    node.admin_state.is_maintenance and block.state is BlockState.COMPLETE
                )

    @invariant()
    def what_was_told_to_go_does_not_count(self) -> None:
        for node in self.namesystem.datanode_manager.datanodes:
            for storage in node.storages.values():
                assert not node.invalidated.keys() & storage.block_ids

    @invariant()
    def orders_are_found_by_their_blocks(self) -> None:
        invalidation = self.namesystem.block_manager.blocks.invalidation
        for block_id in {
            i for node in self.namesystem.datanode_manager.datanodes for i in node.invalidated
        }:
            ordered = [
                node
                for node in self.namesystem.datanode_manager.datanodes
                if block_id in node.invalidated
            ]
            assert sorted(n.identity.uuid for n in invalidation.ordered(block_id)) == sorted(
                n.identity.uuid for n in ordered
            )
        assert invalidation.excess == sum(
            order.is_excess
            for node in self.namesystem.datanode_manager.datanodes
            for order in node.invalidated.values()
        )

    @invariant()
    def hints_of_moves_are_of_blocks_that_may_have_too_many_replicas(self) -> None:
        redundancy = self.namesystem.block_manager.blocks.redundancy
        hinted = set(redundancy.move_hints)
        assert hinted <= redundancy.changed | set(redundancy.queues[Need.EXCESS])

    @invariant()
    def complete_blocks_have_no_pipeline(self) -> None:
        for block in self.namesystem.namespace.blocks.values():
            assert block.state is not BlockState.COMPLETE or not block.expected

    @invariant()
    def earlier_blocks_are_settled(self) -> None:
        for inode in self.namesystem.namespace.inodes.values():
            if isinstance(inode, File) and self.namesystem.namespace.is_attached(inode):
                assert all(b.state is not BlockState.UNDER_CONSTRUCTION for b in inode.blocks[:-1])
                if not inode.under_construction:
                    assert all(b.state is BlockState.COMPLETE for b in inode.blocks)

    def teardown(self) -> None:
        """Left in peace, every block that has a good replica gets as many as it wants: first from
        datanodes in service, and from all when these are back."""
        if not hasattr(self, "namenode"):
            return
        self.patch.undo()
        for number in range(NODES):
            self.come_back(number)
        self.mend()
        if not self.ordered:
            return
        for number in list(self.ordered):
            self.order(number, "serve")
        self.mend()

    def mend(self) -> None:
        for _ in range(12 + len(self.namesystem.namespace.blocks)):
            if not self.unmended():
                break
            self.time_passes(310_000)
            for number in range(NODES):
                self.obey(number)
                self.nodes[number].report()
        assert not self.unmended()
        self.time_passes(310_000)
        for node in self.namesystem.datanode_manager.datanodes:
            assert not node.admin_state.is_under_way or any(
                self.is_kept_by(node, block) for block in self.namesystem.namespace.blocks.values()
            ), f"{node} could have left"

    def is_kept_by(self, node: Datanode, block: Block) -> bool:
        """Whether the block lacks replicas on others than this datanode, which has one."""
        holders = self.namesystem.block_manager.blocks.holders(block)
        if block.state is BlockState.COMPLETE:
            holders = block.replicas
        serving = sum(storage.node.in_service for storage in holders)
        enough = self.needed(block)
        return any(storage.node is node for storage in holders) and serving < enough

    def unmended(self) -> list[Block]:
        return [
            block
            for block in self.namesystem.namespace.blocks.values()
            if block.state is BlockState.COMPLETE and self.good_copies(block)
            if not self.is_mended(block)
        ]

    def is_mended(self, block: Block) -> bool:
        """All good replicas are known, and those on datanodes in service are as many as they
        should be, on as many racks."""
        if self.is_badly_placed(block):
            return False
        serving = [node for node in self.namesystem.datanode_manager.datanodes if node.in_service]
        live = sum(storage.node.in_service for storage in block.replicas)
        return len(set(self.good_copies(block))) == len(block.replicas) and min(
            self.needed(block), len(serving)
        ) <= live <= self.wanted(block)


class BlockMapMachineTwo(BlockMapMachine):
    min_replication = 2
    min_maintenance = 2


class BlockMapMachineSpread(BlockMapMachine):
    racks = 3
    policy = Policy(spreads=True)


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("machine", [BlockMapMachine, BlockMapMachineTwo, BlockMapMachineSpread])
def test_long_interleavings(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(
        machine, settings=settings(QUICK, max_examples=times(80), stateful_step_count=80)
    )


QUICK = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestBlockMap = BlockMapMachine.TestCase
TestBlockMap.settings = QUICK
TestBlockMapOfTwo = BlockMapMachineTwo.TestCase
TestBlockMapOfTwo.settings = QUICK
TestBlockMapSpread = BlockMapMachineSpread.TestCase
TestBlockMapSpread.settings = QUICK


class Chosen:
    """Stands for Hypothesis' `data`: draws what a story says."""

    def __init__(self, is_meant: Any) -> None:
        self.is_meant = is_meant

    def draw(self, strategy: Any) -> Any:
        elements = getattr(strategy, "wrapped_strategy", strategy).elements
        return next(each for each in elements if self.is_meant(each))


def file_named(path: str) -> Any:
    return Chosen(lambda file: file.path == path)


def block_numbered(block_id: int) -> Any:
    return Chosen(lambda each: each == block_id)


# Histories that failed once.


def test_replicas_in_doubt_go_when_a_copy_is_there_that_is_sure_to_stay() -> None:
    """Two of three were told to go and are back; the third one's disk is lost."""
    machine = BlockMapMachine()
    machine.start()
    machine.set_replication(data=file_named("/f3"), replication=1)
    machine.time_passes(ms=0)
    machine.time_passes(ms=0)
    for number in range(NODES):
        if machine.nodes[number].uuid in {
            storage.node.identity.uuid
            for block in machine.namesystem.namespace.blocks.values()
            if machine.namesystem.namespace.file_of(block).path == "/f3"
            for storage in block.replicas
        }:
            machine.lose_disk(number=number)
    machine.teardown()


def test_an_order_that_was_told_before_the_other_replica_rotted_is_bad_luck() -> None:
    machine = BlockMapMachine()
    machine.start()
    namespace = machine.namesystem.namespace
    block = next(b for b in namespace.blocks.values() if namespace.file_of(b).path == "/f2")
    machine.one_is_too_many(answer="comes", data=block_numbered(block.block_id))
    kept = block.replicas[0].node.identity.uuid
    number = next(n for n in range(NODES) if machine.nodes[n].uuid == kept)
    machine.rot(number=number, data=block_numbered(block.block_id))
    for each in range(NODES):
        machine.obey(number=each)
    machine.teardown()
