"""Two namenodes and the datanodes that report to both, with failovers at any point.

Each namenode has host files of its own, by which datanodes leave, rest and come back.

The standby reads the log of the active when it likes, through the path that it has in a
process: a record is decoded and followed. News of replicas reach each namenode when they
like. The active may be replaced without knowing, and goes on. Whatever happens:

- the standby has the namespace that the active had at the same transaction,
- what was settled stays: each complete block has a good replica on a disk, and no order
  of any namenode takes the last one,
- when all is read and reported, both have the same blocks at the same places, and as many
  replicas as they should have.
"""

from __future__ import annotations

import contextlib
from collections import deque
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
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.blocks.host_lists import HostEntry, HostOrder, Hosts
from howdah.namenode.state.inodes.inodes import Block, BlockState, File
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import POOL_ID, InMemoryNamenode, Replica
from tests.support.pairs import Pair, PairDatanode
from tests.support.torture import times

BLOCK_BYTES = 1024
CLIENT = "DFSClient_machine"
NODES = 4
SETTINGS = Settings(
    "",
    min_block_size_bytes=512,
    block_size_bytes=BLOCK_BYTES,
    heartbeat_expiry_ms=60_000,
    stale_datanode_ms=30_000,
    block_recovery_timeout_ms=20_000,
    pending_copy_ms=60_000,
    lease_hard_limit_ms=1 << 40,
    # So that some are asked late for their reports.
    max_report_leases=1,
    report_lease_ms=10_000,
)

numbers = st.integers(0, NODES - 1)
members = st.integers(0, 1)
few = st.integers(1, 4)
OPEN = types_pb2.FsPermissionProto(perm=0o755)
DIRECTORIES = ("/a", "/b")
"""Where files are."""
MASK = (1 << 64) - 1


class FailoverMachine(RuleBasedStateMachine):
    settings = SETTINGS

    @initialize()
    def start(self) -> None:
        racks = {f"10.0.0.{n + 1}": f"/r{n % 2}" for n in range(NODES)}
        self.pair = Pair(self.settings, racks)
        self.nodes = [self.pair.join(f"dn{n}", f"10.0.0.{n + 1}", 1 + n % 2) for n in range(NODES)]
        self.files = 0
        for name in DIRECTORIES:
            self.ask("mkdirs", pb.MkdirsRequestProto(src=name, masked=OPEN, createParent=True))
        # Files whose writers have begun to set up another pipeline, and died of it.
        self.orphans: set[int] = set()
        # Files whose writers wait for them to be closed, and do nothing else.
        self.closing: set[int] = set()
        # What the host files of each namenode say, by the numbers of datanodes.
        self.ordered: list[dict[int, AdminState]] = [{}, {}]
        for replication in (1, 2, 3):
            self.whole_file(replication)

    # Looking.

    @property
    def active(self) -> InMemoryNamenode:
        return self.pair.writer

    @property
    def blocks(self) -> Any:
        return self.active.namesystem.namespace.blocks

    def files_of(self, *, is_open: bool) -> list[File]:
        namespace = self.active.namesystem.namespace
        return [
            inode
            for inode in namespace.inodes.values()
            if isinstance(inode, File)
            and inode.under_construction == is_open
            and namespace.is_attached(inode)
        ]

    def file(self, data: st.DataObject, *, is_open: bool) -> File | None:
        found = self.files_of(is_open=is_open)
        return data.draw(st.sampled_from(found)) if found else None

    def writable_file(self, data: st.DataObject) -> File | None:
        found = [
            file
            for file in self.files_of(is_open=True)
            if file.writer == CLIENT and file.inode_id not in self.orphans | self.closing
        ]
        return data.draw(st.sampled_from(found)) if found else None

    def node_of(self, storage: Storage) -> PairDatanode:
        return next(node for node in self.nodes if node.uuid == storage.node.identity.uuid)

    def good_copies(self, block: Block) -> set[str]:
        """The datanodes whose disks hold the block as it should be, dead or alive."""
        return {node.uuid for node in self.nodes if self.is_good(node, block)}

    @staticmethod
    def is_good(node: PairDatanode, block: Block) -> bool:
        found = node.find(block.block_id)
        return found is not None and (
            found[1].finalized
            and found[1].generation_stamp == block.generation_stamp
            and found[1].length_bytes == block.length_bytes
        )

    def ask(self, method: str, request: Any, **how: Any) -> Any:
        """A call of a client at the active; None for what it refuses for now."""
        try:
            return self.active.call(method, request, **how)
        except (
            errors.NotReplicatedYet,
            errors.RecoveryInProgress,
            errors.UnregisteredNode,
            errors.RemoteError,
            errors.RetriableError,
            errors.QuotaExceeded,
        ):
            return None
        finally:
            self.pair.note()

    # Files.

    @rule(replication=st.integers(1, 3))
    def create(self, replication: int) -> None:
        self.new_file(replication)

    def new_file(self, replication: int) -> File | None:
        """None if a quota forbids it."""
        self.files += 1
        # As is said of every file in which of the directories it is at first.
        path = f"{DIRECTORIES[self.files % len(DIRECTORIES)]}/f{self.files}"
        self.ask(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=OPEN,
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=replication,
                blockSize=BLOCK_BYTES,
            ),
        )
        found = self.active.namesystem.namespace.find(path)
        assert found is None or isinstance(found, File)
        return found

    @rule(replication=st.integers(1, 3), blocks=st.integers(1, 2))
    def whole_file(self, replication: int, blocks: int = 1) -> None:
        """A file that is written without trouble."""
        file = self.new_file(replication)
        if file is None:
            return
        for length in [0, BLOCK_BYTES][:blocks]:
            if self.written_length(file) is None or not self.allocate(file, length):
                return
            block = file.blocks[-1]
            for storage in block.expected:
                self.put(storage, block, BLOCK_BYTES, finalized=True)
            for node in self.nodes:
                if node.up:
                    node.tell_news(self.pair.active, 100)
        self.finish(file, BLOCK_BYTES)

    def allocate(self, file: File, length: int) -> bool:
        request = pb.AddBlockRequestProto(src=file.path, clientName=CLIENT, fileId=file.inode_id)
        if file.blocks:
            request.previous.CopyFrom(self.last_of(file, length))
        return self.ask("addBlock", request) is not None

    def finish(self, file: File, length: int) -> None:
        request = pb.CompleteRequestProto(src=file.path, clientName=CLIENT, fileId=file.inode_id)
        if file.blocks:
            request.last.CopyFrom(self.last_of(file, length))
        self.closing.add(file.inode_id)
        self.ask("complete", request)

    @staticmethod
    def last_of(file: File, length: int) -> types_pb2.ExtendedBlockProto:
        last = file.blocks[-1]
        is_open = last.state is BlockState.UNDER_CONSTRUCTION
        return named(last, max(length, last.length_bytes) if is_open else last.length_bytes)

    def put(self, storage: Storage, block: Block, length: int, *, finalized: bool) -> None:
        node = self.node_of(storage)
        found = node.find(block.block_id)
        if not node.up or (
            found is not None
            and (found[1].finalized or found[1].generation_stamp > block.generation_stamp)
        ):
            return
        storage_id = storage.storage_id if found is None else found[0]
        node.put(storage_id, block.block_id, Replica(block.generation_stamp, length, finalized))

    def written_length(self, file: File) -> int | None:
        """How long the writer has made the last block; None if it is not finalized anywhere."""
        if not file.blocks:
            return 0
        last = file.blocks[-1]
        if last.state is not BlockState.UNDER_CONSTRUCTION:
            return last.length_bytes
        found = [node.find(last.block_id) for node in self.nodes]
        lengths = {
            replica.length_bytes
            for _, replica in filter(None, found)
            if replica.finalized and replica.generation_stamp == last.generation_stamp
        }
        return min(lengths, default=None)

    @rule(data=st.data())
    def add_block(self, data: st.DataObject) -> None:
        file = self.writable_file(data)
        length = self.written_length(file) if file is not None else None
        if file is not None and length is not None:
            self.allocate(file, length)

    @rule(data=st.data(), length=few, finalized=st.booleans())
    def write(self, data: st.DataObject, length: int, finalized: bool) -> None:
        """Some of the pipeline get, and perhaps finalize, their replicas."""
        file = self.writable_file(data)
        if file is None or not file.blocks:
            return
        last = file.blocks[-1]
        if last.state is BlockState.COMPLETE or not last.expected:
            return
        for storage in data.draw(st.lists(st.sampled_from(last.expected), min_size=1)):
            self.put(storage, last, length, finalized=finalized)

    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        file = self.writable_file(data)
        length = self.written_length(file) if file is not None else None
        if file is not None and length is not None:
            self.finish(file, length)

    @rule(data=st.data(), finalized=st.booleans(), ends=st.booleans(), length=few)
    def rebuild_pipeline(
        self, data: st.DataObject, finalized: bool, ends: bool, length: int
    ) -> None:
        """Some datanodes of an open block get a new stamp; perhaps the namenode hears of it."""
        file = self.writable_file(data)
        if file is None or not file.blocks:
            return
        last = file.blocks[-1]
        if last.state is not BlockState.UNDER_CONSTRUCTION:
            return
        holders = []
        for node in self.nodes:
            found = node.find(last.block_id)
            if found is None or not node.up or last.block_id in node.to_delete():
                continue
            if found[1].generation_stamp == last.generation_stamp:
                holders.append((node, *found))
        if not holders:
            return
        old = named(last)
        answer = self.ask(
            "updateBlockForPipeline",
            pb.UpdateBlockForPipelineRequestProto(block=old, clientName=CLIENT),
        )
        if answer is None:
            return
        stamp = answer.block.b.generationStamp
        indexes = data.draw(st.sets(st.integers(0, len(holders) - 1), min_size=1))
        chosen = [holders[index] for index in sorted(indexes)]
        length = max(length, last.length_bytes)
        for node, storage_id, _ in chosen:
            node.put(storage_id, last.block_id, Replica(stamp, length, finalized))
        if not ends:
            self.orphans.add(file.inode_id)
            return
        new = named(last)
        new.generationStamp = stamp
        self.ask(
            "updatePipeline",
            pb.UpdatePipelineRequestProto(
                clientName=CLIENT,
                oldBlock=old,
                newBlock=new,
                newNodes=[node.face(0).registration().datanodeID for node, _, _ in chosen],
                storageIDs=[storage_id for _, storage_id, _ in chosen],
            ),
        )

    @rule(data=st.data())
    def fsync(self, data: st.DataObject) -> None:
        """The writer has the length of the last block logged."""
        file = self.writable_file(data)
        length = self.written_length(file) if file is not None else None
        if file is not None and length:
            self.ask(
                "fsync",
                pb.FsyncRequestProto(
                    src=file.path, client=CLIENT, lastBlockLength=length, fileId=file.inode_id
                ),
            )

    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        """The writer gives its last block up, as after a pipeline that it could not set up."""
        file = self.writable_file(data)
        if file is None or not file.blocks:
            return
        last = file.blocks[-1]
        if last.state is BlockState.UNDER_CONSTRUCTION and not last.length_bytes:
            self.ask(
                "abandonBlock",
                pb.AbandonBlockRequestProto(
                    b=named(last), src=file.path, holder=CLIENT, fileId=file.inode_id
                ),
            )

    @rule(data=st.data(), new_block=st.booleans())
    def append(self, data: st.DataObject, new_block: bool) -> None:
        file = self.file(data, is_open=False)
        if file is not None:
            self.closing.discard(file.inode_id)
            flag = pb.CreateFlagProto.APPEND | (pb.CreateFlagProto.NEW_BLOCK if new_block else 0)
            request = pb.AppendRequestProto(src=file.path, clientName=CLIENT, flag=flag)
            self.ask("append", request)

    @rule(data=st.data(), by=st.sampled_from([1, 2, BLOCK_BYTES]))
    def truncate(self, data: st.DataObject, by: int) -> None:
        file = self.file(data, is_open=False)
        if file is not None and file.length_bytes >= by:
            self.ask(
                "truncate",
                pb.TruncateRequestProto(
                    src=file.path, newLength=file.length_bytes - by, clientName="another"
                ),
            )

    @rule(data=st.data())
    def recover_lease(self, data: st.DataObject) -> None:
        file = self.file(data, is_open=True)
        if file is not None:
            self.ask("recoverLease", pb.RecoverLeaseRequestProto(src=file.path, clientName="other"))

    @rule(data=st.data(), is_open=st.booleans())
    def delete(self, data: st.DataObject, is_open: bool) -> None:
        file = self.file(data, is_open=is_open)
        if file is not None:
            self.ask("delete", pb.DeleteRequestProto(src=file.path, recursive=True))

    @rule(data=st.data())
    def concat(self, data: st.DataObject) -> None:
        target, source = self.file(data, is_open=False), self.file(data, is_open=False)
        if target is not None and source is not None and target != source:
            with contextlib.suppress(errors.IllegalArgument, errors.SnapshotError):
                request = pb.ConcatRequestProto(trg=target.path, srcs=[source.path])
                self.ask("concat", request)

    @rule(data=st.data(), is_open=st.booleans(), place=st.sampled_from(DIRECTORIES))
    def rename(self, data: st.DataObject, is_open: bool, place: str) -> None:
        file = self.file(data, is_open=is_open)
        if file is not None:
            request = pb.Rename2RequestProto(
                src=file.path, dst=f"{place}/{file.name}", overwriteDest=False
            )
            with contextlib.suppress(errors.PathExists):
                self.ask("rename2", request)

    @rule(place=st.sampled_from(DIRECTORIES), names=few | st.just(-1), blocks=few | st.just(-1))
    def set_quota(self, place: str, names: int, blocks: int) -> None:
        """Perhaps below what is used: then nothing more gets in."""
        space = blocks if blocks < 0 else blocks * BLOCK_BYTES
        self.ask(
            "setQuota",
            pb.SetQuotaRequestProto(
                path=place, namespaceQuota=names & MASK, storagespaceQuota=space & MASK
            ),
        )

    @rule(data=st.data(), replication=st.integers(1, 4))
    def set_replication(self, data: st.DataObject, replication: int) -> None:
        file = self.file(data, is_open=False)
        if file is not None:
            self.ask(
                "setReplication",
                pb.SetReplicationRequestProto(src=file.path, replication=replication),
            )

    @precondition(lambda self: self.pair.stale_active is None)
    @rule(data=st.data(), reports=st.integers(0, 2))
    def both_choose_who_is_to_delete(self, data: st.DataObject, reports: int) -> None:
        """A file has replicas in excess when its namenode is replaced, and what datanodes say
        of their disks lets the two choose differently."""
        file = self.file(data, is_open=False)
        if file is None:
            return
        self.ask("setReplication", pb.SetReplicationRequestProto(src=file.path, replication=1))
        before = self.pair.active
        for member in (before, 1 - before):
            for node, used in zip(
                self.nodes, data.draw(st.permutations(range(NODES))), strict=True
            ):
                node.used_bytes = used
                self.visit(node, member, reports)
            self.tick(member)
            for node in self.nodes:
                self.visit(node, member, 0)
            if member == before:
                self.pair.take_over()

    def visit(self, node: PairDatanode, member: int, reports: int) -> None:
        if node.up:
            node.tell_news(member, 100)
            node.heartbeat(member)
            for _ in range(reports):
                node.heartbeat(member)
                node.report(member)
            self.pair.note()

    # Datanodes.

    @rule(number=numbers, member=members, count=few)
    def tell_news(self, number: int, member: int, count: int) -> None:
        if self.nodes[number].up:
            self.nodes[number].tell_news(member, count)
            self.pair.note()

    @rule(number=numbers, member=members)
    def heartbeat(self, number: int, member: int) -> None:
        if self.nodes[number].up:
            self.nodes[number].heartbeat(member)

    @rule(number=numbers, member=members)
    def report(self, number: int, member: int) -> None:
        if self.nodes[number].up:
            self.nodes[number].report(member)
            self.pair.note()

    @rule(number=numbers)
    def obey(self, number: int) -> None:
        """Carry out one order, or all recoveries."""
        node = self.nodes[number]
        if not node.up:
            return
        if node.orders:
            order = node.orders.popleft()
            for place, told in enumerate(order.blocks):
                if order.action == dn.BlockCommandProto.INVALIDATE:
                    self.delete_replica(node, told)
                else:
                    self.copy_replica(node, told, order.targets[place])
        while node.recoveries:
            self.recover(node, node.recoveries.popleft())

    def delete_replica(self, node: PairDatanode, told: types_pb2.BlockProto) -> None:
        found = node.find(told.blockId)
        if found is None or found[1].generation_stamp != told.genStamp:
            return
        block = self.blocks.get(told.blockId)
        if block is not None and block.state is BlockState.COMPLETE and self.is_good(node, block):
            others = self.good_copies(block) - {node.uuid}
            assert others, f"{node.uuid} was told to delete the last good replica of {block}"
        node.delete(told.blockId)

    def copy_replica(
        self, node: PairDatanode, told: types_pb2.BlockProto, targets: types_pb2.DatanodeInfosProto
    ) -> None:
        found = node.find(told.blockId)
        if found is None or found[1].generation_stamp != told.genStamp or not found[1].finalized:
            return
        for target in targets.datanodes:
            other = next(n for n in self.nodes if n.uuid == target.id.datanodeUuid)
            if other.up and other.find(told.blockId) is None:
                other.put(
                    next(iter(other.replicas)),
                    told.blockId,
                    Replica(told.genStamp, found[1].length_bytes),
                )

    def recover(self, primary: PairDatanode, order: dn.RecoveringBlockProto) -> None:
        """All that are there agree on a length: a finalized replica's, or the shortest."""
        asked, recovery_id = order.block.b, order.newGenStamp
        uuids = {info.id.datanodeUuid for info in order.block.locs}
        taking = []
        for node in self.nodes:
            found = node.find(asked.blockId)
            if node.uuid not in uuids or not node.up or found is None:
                continue
            if node.recovered.get(asked.blockId, 0) > recovery_id:
                return  # A later recovery has begun.
            if asked.generationStamp <= found[1].generation_stamp < recovery_id:
                taking.append((node, *found))
        for node, _, _ in taking:
            node.recovered[asked.blockId] = recovery_id
        finalized = [entry for entry in taking if entry[2].finalized]
        taking = finalized or taking
        length = min((replica.length_bytes for _, _, replica in taking), default=0)
        if order.HasField("truncateBlock"):
            if length < order.truncateBlock.numBytes:
                return
            length = order.truncateBlock.numBytes
        # A cut of what a snapshot has makes another block of it.
        becomes = order.truncateBlock.blockId or asked.blockId
        for node, storage_id, _ in taking:
            node.put(storage_id, becomes, Replica(recovery_id, length))
        try:
            self.active.call(
                "commitBlockSynchronization",
                dn.CommitBlockSynchronizationRequestProto(
                    block=asked,
                    newGenStamp=recovery_id,
                    newLength=length,
                    closeFile=True,
                    deleteBlock=not taking,
                    newTaragets=[node.face(0).registration().datanodeID for node, _, _ in taking],
                    newTargetStorages=[storage_id for _, storage_id, _ in taking],
                ),
                address=primary.ip,
            )
        except errors.HowdahError:
            return  # It is not the latest, or somebody who may have more was not there.
        finally:
            self.pair.note()

    @rule(number=numbers)
    def die(self, number: int) -> None:
        self.nodes[number].up = False

    @rule(number=numbers)
    def restart(self, number: int) -> None:
        self.nodes[number].restart()

    # The host files.

    @rule(
        number=numbers,
        member=members,
        state=st.sampled_from(
            [AdminState.NORMAL, AdminState.DECOMMISSIONED, AdminState.IN_MAINTENANCE]
        ),
    )
    def order(self, number: int, member: int, state: AdminState) -> None:
        """The files of one namenode say something else of a datanode, and are read."""
        self.ordered[member].pop(number, None)
        if state is not AdminState.NORMAL:
            self.ordered[member][number] = state
        self.read_files(member)

    def read_files(self, member: int) -> None:
        orders = [
            HostOrder(HostEntry(ip, frozenset((ip,))), state)
            for number, state in self.ordered[member].items()
            for ip in [self.nodes[number].ip]
        ]
        Administration(self.pair.members[member].namesystem).apply_hosts(Hosts.ordered(orders))

    # Namenodes.

    @rule(count=st.integers(1, 20))
    def tail(self, count: int) -> None:
        if self.pair.stale_active is None:
            self.pair.tail(1 - self.pair.active, count)

    @precondition(lambda self: self.pair.stale_active is None)
    @rule()
    def hand_over(self) -> None:
        self.pair.hand_over()

    @precondition(lambda self: self.pair.stale_active is None)
    @rule()
    def take_over(self) -> None:
        self.pair.take_over()

    @precondition(lambda self: self.pair.stale_active is not None)
    @rule(part=st.integers(0, 4), imaged=st.integers(0, 4))
    def stale_active_ends(self, part: int, imaged: int) -> None:
        txid = 1 + (len(self.pair.log) - 1) * part // 4
        self.pair.end_stale_active(txid, txid * imaged // 4)
        self.read_files(1 - self.pair.active)

    @precondition(lambda self: self.pair.stale_active is None)
    @rule(part=st.integers(0, 4), imaged=st.integers(0, 4))
    def standby_starts_anew(self, part: int, imaged: int) -> None:
        """From so much of the log, of which an image may have had some, or all."""
        txid = 1 + (len(self.pair.log) - 1) * part // 4
        self.pair.start_standby(1 - self.pair.active, txid, txid * imaged // 4)
        self.read_files(1 - self.pair.active)

    @rule(ms=st.sampled_from([0, 3000, 65_000]), member=members)
    def time_passes(self, ms: int, member: int) -> None:
        """All that are up beat on, as they do while time passes."""
        for _ in range(-(-ms // 20_000)):
            self.pair.clock.advance(min(ms, 20_000))
            for node in self.nodes:
                if node.up:
                    node.heartbeat(0)
                    node.heartbeat(1)
        self.tick(member)

    def tick(self, member: int) -> None:
        namenode = self.pair.members[member]
        if namenode.namesystem.role.writable:
            namenode.tick()
        else:
            namenode.namesystem.tick()
            deque(namenode.namesystem.datanode_manager.membership_round() or (), maxlen=0)
        self.pair.note()

    # What must always hold.

    @invariant()
    def what_is_settled_is_on_a_disk(self) -> None:
        for block in self.blocks.values():
            if block.state is BlockState.COMPLETE:
                assert self.good_copies(block), f"nobody has {block}"

    @invariant()
    def storages_and_blocks_agree(self) -> None:
        for namenode in self.pair.members:
            namesystem = namenode.namesystem
            blocks = namesystem.namespace.blocks.values()
            storages = [
                s for node in namesystem.datanode_manager.datanodes for s in node.storages.values()
            ]
            said = {(s.storage_id, block_id) for s in storages for block_id in s.block_ids}
            assert said == {(s.storage_id, b.block_id) for b in blocks for s in b.replicas}
            bad = {(s.storage_id, block_id) for s in storages for block_id in s.corrupt}
            assert bad == {(s.storage_id, b.block_id) for b in blocks for s in b.corrupt}
            assert not said & bad
            assert namesystem.block_manager.blocks.safe_count == sum(
                block.state is BlockState.COMPLETE
                and block.replica_count >= self.settings.min_replication
                for block in blocks
            )

    @invariant()
    def a_standby_has_no_orders(self) -> None:
        for namenode in self.pair.members:
            if not namenode.namesystem.role.writable:
                assert not any(
                    node.invalidated or node.pending_deletions or node.to_transfer
                    for node in namenode.namesystem.datanode_manager.datanodes
                )

    def teardown(self) -> None:
        """Left in peace, all files are closed and have their replicas, and both agree."""
        if not hasattr(self, "nodes"):
            return
        if self.pair.stale_active is not None:
            self.pair.end_stale_active(len(self.pair.log))
        for node in self.nodes:
            if not node.up:
                node.restart()
        if any(self.ordered):
            for _ in range(3):
                self.settle()
            self.ordered = [{}, {}]
            self.read_files(0)
            self.read_files(1)
        in_peace = 0
        for _ in range(30 + 3 * len(self.blocks)):
            in_peace = 0 if self.unsettled() else in_peace + 1
            # That a block is badly placed is found in the round after it got its replicas.
            if in_peace == 3:
                break
            self.settle()
        unsettled = self.unsettled()
        assert not unsettled, unsettled
        self.check_agreement()
        for node in self.nodes:
            for member in range(2):
                node.owes_report[member] = True
                node.heartbeat(member)
                node.report(member)
        self.check_agreement()

    def check_agreement(self) -> None:
        """All is read and told: full reports are not needed to know it, and change nothing."""
        standby = 1 - self.pair.active
        active, passive = (self.pair.members[m].namesystem for m in (self.pair.active, standby))
        for namesystem in (active, passive):
            assert len(namesystem.block_manager.blocks.postponed) == 0
        assert block_facts(passive) == block_facts(active)

    def settle(self) -> None:
        for file in self.files_of(is_open=True):
            self.ask("recoverLease", pb.RecoverLeaseRequestProto(src=file.path, clientName="other"))
        self.time_passes(65_000, self.pair.active)
        self.tail(len(self.pair.log))
        for number, node in enumerate(self.nodes):
            self.heartbeat(number, self.pair.active)
            while node.orders or node.recoveries:
                self.obey(number)
            for member in range(2):
                node.tell_news(member, 1000)
                if node.owes_report[member]:
                    node.heartbeat(member)
                    node.report(member)
        self.tick(self.pair.active)
        self.tail(len(self.pair.log))

    def unsettled(self) -> list[str]:
        namesystem = self.active.namesystem
        found = [f"{file.path} is open" for file in self.files_of(is_open=True)]
        for block in self.blocks.values():
            wanted = min(namesystem.namespace.measuring.wanted_replication(block), NODES)
            if not len(self.good_copies(block)) == len(block.replicas) == wanted:
                found.append(f"{block} of {wanted}: {block.replicas}, {self.good_copies(block)}")
            if block.corrupt:
                found.append(f"{block} is corrupt at {block.corrupt}")
        misplaced = namesystem.block_manager.reconstruction.counts().misplaced
        if misplaced:
            found.append(f"{misplaced} blocks are to be spread")
        known = set(self.blocks)
        for node in self.nodes:
            for replicas in node.replicas.values():
                found += [f"{node.uuid} has {i} of no file" for i in replicas.keys() - known]
        return found


def named(block: Block, length: int | None = None) -> types_pb2.ExtendedBlockProto:
    return types_pb2.ExtendedBlockProto(
        poolId=POOL_ID,
        blockId=block.block_id,
        generationStamp=block.generation_stamp,
        numBytes=block.length_bytes if length is None else length,
    )


def block_facts(namesystem: Any) -> dict[int, tuple[Any, ...]]:
    return {
        block_id: (
            block.state.name,
            block.length_bytes,
            block.generation_stamp,
            sorted(storage.storage_id for storage in block.replicas),
            sorted(storage.storage_id for storage in block.corrupt),
        )
        for block_id, block in namesystem.namespace.blocks.items()
    }


def run(count: int, steps: int, machine: type[FailoverMachine] = FailoverMachine) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=count,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_member_that_started_from_an_image_recovers_no_block_that_is_complete() -> None:
    """The writer that opened the file for append has died, and its only block is full. A stamp
    that one member gives to the block, and does not come to log, would be unknown to the other."""
    pair = Pair(SETTINGS, {})
    nodes = [pair.join(f"dn{n}", f"10.0.0.{n + 1}", 1) for n in range(3)]
    create = pb.CreateRequestProto(
        src="/f",
        masked=OPEN,
        clientName=CLIENT,
        createFlag=1,
        createParent=True,
        replication=3,
        blockSize=BLOCK_BYTES,
    )
    pair.writer.call("create", create)
    pair.writer.call("addBlock", pb.AddBlockRequestProto(src="/f", clientName=CLIENT))
    (block,) = pair.writer.namesystem.namespace.blocks.values()
    for node in nodes:
        storage_id = next(iter(node.replicas))
        node.put(storage_id, block.block_id, Replica(block.generation_stamp, BLOCK_BYTES))
        node.tell_news(0, 1)
    last = named(block, BLOCK_BYTES)
    complete = pb.CompleteRequestProto(src="/f", clientName=CLIENT, last=last)
    assert pair.writer.call("complete", complete).result  # type: ignore[union-attr]
    pair.writer.call("append", pb.AppendRequestProto(src="/f", clientName=CLIENT, flag=4))
    pair.note()
    pair.start_standby(1, len(pair.log), len(pair.log))
    pair.take_over()
    for node in nodes:
        node.heartbeat(1)
        node.report(1)
    recover = pb.RecoverLeaseRequestProto(src="/f", clientName="other")
    assert pair.writer.call("recoverLease", recover).result  # type: ignore[union-attr]
    for node in nodes:
        node.heartbeat(1)
        assert not node.recoveries
    (block,) = pair.writer.namesystem.namespace.blocks.values()
    assert len(block.replicas) == 3


@pytest.mark.parametrize("number", [0, 1])
def test_an_active_that_was_replaced_deletes_nothing_of_its_successor(number: int) -> None:
    """It has not noticed, and the datanode has not heard of the successor yet: it believes in the
    former one. That is told of a block that the successor has added, or appended to."""
    pair = Pair(SETTINGS, {})
    nodes = [pair.join(f"dn{n}", f"10.0.0.{n + 1}", 1) for n in range(3)]
    write_block(pair, nodes, f"/f{number}")
    pair.take_over()
    for node in nodes:
        node.tell_news(1, 9)
    append = pb.AppendRequestProto(src="/f1", clientName=CLIENT, flag=4)
    write_block(pair, nodes[:2], "/f1", append if number else None)
    for _ in range(2):
        for node in nodes:
            node.tell_news(0, 9)
            node.heartbeat(0)
            node.report(0)
        pair.members[0].tick()
    assert not any(node.orders for node in nodes)
    assert pair.stale_active == 0
    pair.stale_active = None
    pair.members[0].namesystem.become_standby()
    pair.tail(0, len(pair.log))
    for node in nodes:
        node.tell_news(1, 9)
    *_, settled = block_facts(pair.members[1].namesystem).values()
    *_, known = block_facts(pair.members[0].namesystem).values()
    assert known[:4] == settled[:4]
    assert len(settled[3]) == 2


def write_block(
    pair: Pair, nodes: list[PairDatanode], path: str, append: pb.AppendRequestProto | None = None
) -> None:
    """A file of one whole block is written, or gets a byte more, at the active."""
    call, length = pair.writer.call, BLOCK_BYTES - 1
    if append is None:
        call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=OPEN,
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=len(nodes),
                blockSize=BLOCK_BYTES,
            ),
        )
        call("addBlock", pb.AddBlockRequestProto(src=path, clientName=CLIENT))
    file = pair.writer.namesystem.namespace.find(path)
    assert isinstance(file, File)
    block = file.blocks[-1]
    if append is not None:
        call("append", append)
        old, length = named(block), BLOCK_BYTES
        answer: Any = call(
            "updateBlockForPipeline",
            pb.UpdateBlockForPipelineRequestProto(block=old, clientName=CLIENT),
        )
        new = named(block)
        new.generationStamp = answer.block.b.generationStamp
        call(
            "updatePipeline",
            pb.UpdatePipelineRequestProto(
                clientName=CLIENT,
                oldBlock=old,
                newBlock=new,
                newNodes=[node.face(0).registration().datanodeID for node in nodes],
                storageIDs=[next(iter(node.replicas)) for node in nodes],
            ),
        )
    for node in nodes:
        storage_id = next(iter(node.replicas))
        node.put(storage_id, block.block_id, Replica(block.generation_stamp, length))
        node.tell_news(pair.active, 9)
    last = named(block, length)
    done: Any = call("complete", pb.CompleteRequestProto(src=path, clientName=CLIENT, last=last))
    assert done.result
    pair.note()


@pytest.mark.req("FS-055", "FS-056", "FS-063")
def test_a_failover_at_any_point_loses_nothing_that_was_settled() -> None:
    run(60, 40)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_failovers_through_long_histories_lose_nothing_that_was_settled() -> None:
    run(times(300), 100)
