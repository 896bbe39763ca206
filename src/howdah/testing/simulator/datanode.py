"""A simulated datanode: a machine with a disk, and the process that runs there (pure).

The process serves WRITE_BLOCK (`receiving`), copies, reads and recoveries, and deals with
the namenode as `howdah.datanode.keeper.namenode_actor` does: it registers, sends heartbeats and a
full report, tells the news of its replicas in their order and again until it is heard, and
obeys. Requests and orders are the real ones, in their protobuf form.

That a datanode is two processes is seen in one thing: what it reports is the keeper's list,
which the data process's events reach one by one and later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.datanode.channel.commands import Register, decode_orders
from howdah.datanode.channel.messages import (
    BlockSynchronized,
    CorruptFound,
    Event,
    Invalidate,
    RecoverBlock,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    Transfer,
)
from howdah.datanode.keeper import reports
from howdah.datanode.keeper.report_schedule import ReportSchedule
from howdah.datanode.keeper.reports import BlockNews
from howdah.datanode.recovery.block_recovery import Answers, Candidate, Outcomes, agree
from howdah.datanode.recovery.block_recovery import settle as result_of
from howdah.datanode.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.testing.in_memory import CLUSTER, GIB, POOL_ID
from howdah.testing.simulator import rewriting
from howdah.testing.simulator.disk import Disk
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.network import End, Network
from howdah.testing.simulator.receiving import SOCKET_TIMEOUT_S, Receiver
from howdah.testing.simulator.store import Opened, Packet, Store
from howdah.testing.simulator.tasks import PAUSE, Process, Steps, Wait, World
from howdah.transfer.block_lists import ListedReplica
from howdah.transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.transfer.ops import Stage, TransferBlock, WriteBlock
from howdah.transfer.packets import PacketHeader
from howdah.transfer.responses import BlockOpResponse
from howdah.transfer.status import Status

HEARTBEAT_S = 10.0
REPORT_INTERVAL_S = 21_600.0
RESTART_EXPIRY_MS = 60_000
READ_WAIT_S = 3.0
COPY_PACKET_BYTES = 8
NAMESPACE = reports.Namespace(
    CLUSTER.namespace_id, CLUSTER.cluster_id, CLUSTER.ctime_ms, POOL_ID, "3.5.0"
)
T = TypeVar("T")


class _Unknown(Exception):
    """The namenode does not know this datanode."""


class Datanode:
    """The machine. `store` and `process` are those of the present start."""

    def __init__(self, world: World, network: Network, namenode: Namenode, number: int) -> None:
        self.world = world
        self.network = network
        self.namenode = namenode
        self.name = f"dn{number}"
        self.address = DatanodeAddress(
            f"10.0.0.{number + 1}", self.name, f"uuid-{number}", 9866, 9864, 9867
        )
        self.disk = Disk()
        self.volume = Volume("/disk", f"DS-{number}")
        self.registration = reports.registration(self.address, NAMESPACE)
        self.peers: dict[str, Datanode] = {}
        """All datanodes by transfer address."""
        self.process = Process(self.name, self.name)
        self.start()

    def __repr__(self) -> str:
        return self.name

    def start(self) -> None:
        """A process that finds what the disk holds."""
        self.process = Process(self.name, self.name)
        self.started_at = self.world.steps
        process = self.process
        process.at_death.append(lambda: self.network.process_died(process))
        self._events: deque[Event] = deque()
        self._reports = ReportSchedule(REPORT_INTERVAL_S)
        self._news: deque[BlockNews | BlockSynchronized | CorruptFound] = deque()
        self.store = Store(self.world, self.disk, self.volume.storage_id, self._events.append)
        self._inventory = {
            replica.block_id: ListedReplica(
                replica.block_id,
                replica.length_bytes,
                replica.generation_stamp,
                replica.state,
            )
            for replica in self.store.replicas.of_pool(POOL_ID)
        }
        self.world.spawn(process, "keeper", self._keep())
        self.world.spawn(process, "actor", self._live())

    def kill(self) -> None:
        self.world.kill(self.process)

    def announce_restart(self) -> None:
        """Step 1 and 2 of `howdah.datanode.transfer.restart`; the process ends a little later."""
        until_ms = self.world.clock.wall_ms() + RESTART_EXPIRY_MS
        for holder in self.store.writers():
            if isinstance(holder, Receiver):
                try:
                    holder.announce_restart(until_ms)
                except (errors.HowdahError, OSError) as error:
                    self.world.note(self, f"cannot tell its client of the restart: {error}")

    # --- serving ---

    def connect(self, node: DatanodeAddress) -> End:
        """From here to another datanode."""
        return self.peers[node.transfer_address].accept(self.process)

    def accept(self, client: Process) -> End:
        """A data connection from `client`. `Unreachable` if this datanode is down."""

        def serve(end: End) -> None:
            self.world.spawn(self.process, f"data for {client}", self._serve(end))

        return self.network.connect(client, self.process, serve)

    def _serve(self, end: End) -> Steps[None]:
        request = yield from end.receive(SOCKET_TIMEOUT_S)
        try:
            match request:
                case WriteBlock():
                    yield from Receiver(self, end, request).run()
                case TransferBlock():
                    yield from self._copy_for_pipeline(request, end)
        except (errors.HowdahError, OSError):
            end.shutdown()
            raise
        yield from end.receive(SOCKET_TIMEOUT_S)

    def call(self, caller: Process, what: str, handler: Callable[[], Steps[T]]) -> Steps[T]:
        """A call on the IPC port."""
        return self.network.call(caller, self.process, what, handler, SOCKET_TIMEOUT_S)

    def visible_length(self, block: ExtendedBlock) -> Steps[int]:
        yield PAUSE
        return self.store.replicas.get(block).visible_bytes

    def read(self, block: ExtendedBlock, length_bytes: int) -> Steps[tuple[bytes, Opened]]:
        """READ_BLOCK from the start, with the replica's own checksums for the reader."""
        yield PAUSE
        store = self.store

        def is_there() -> bool:
            found = store.find(block.block_id)
            growing = found is not None and found.state is ReplicaState.RBW
            return not growing or (found is not None and found.length_bytes >= length_bytes)

        yield from self.world.wait(is_there, READ_WAIT_S)
        opened = store.open(block)
        if opened.length_bytes < length_bytes:
            raise errors.IllegalArgument(f"{length_bytes} bytes don't match {opened.replica!r}")
        return opened.data[:length_bytes], opened

    # --- copies ---

    def _copy_for_pipeline(self, request: TransferBlock, end: End) -> Steps[None]:
        try:
            yield from self._transfer_to(request)
        except (errors.HowdahError, OSError) as error:
            end.send(BlockOpResponse(Status.ERROR, str(error)))
            return
        end.send(BlockOpResponse(Status.SUCCESS))

    def _transfer_to(self, request: TransferBlock) -> Steps[None]:
        opened = self.store.open(request.block)
        match opened.state:
            case ReplicaState.RBW:
                stage = Stage.TRANSFER_RBW
            case ReplicaState.FINALIZED:
                stage = Stage.TRANSFER_FINALIZED
            case _:
                raise errors.ReplicaNotFound(f"{opened.replica!r} is not to be copied")
        block = opened.replica.as_block(POOL_ID).with_length(opened.replica.visible_bytes)
        write = WriteBlock(
            block, request.client_name, stage, opened.spec, request.targets[1:], pipeline_size=0
        )
        end = self.connect(request.targets[0])
        yield from self._send(end, write, opened)
        answer: BlockOpResponse = yield from end.receive(SOCKET_TIMEOUT_S)
        end.shutdown()
        if not answer.is_success:
            raise errors.PipelineFailed(f"{request.targets[0]} did not take the copy: {answer}")

    def _send(self, end: End, request: WriteBlock, opened: Opened) -> Steps[None]:
        end.send(request)
        step = max(COPY_PACKET_BYTES // opened.spec.bytes_per_checksum, 1)
        step *= opened.spec.bytes_per_checksum
        for seqno, start in enumerate(range(0, opened.length_bytes, step)):
            yield PAUSE
            data = opened.data[start : start + step]
            first = start // opened.spec.bytes_per_checksum * 4
            sums = opened.sums[first : first + opened.spec.sums_length(len(data))]
            end.send(Packet(PacketHeader(start, seqno, False, len(data)), sums, data))
        sync = opened.replica.synced
        end.send(Packet(PacketHeader(opened.length_bytes, 1 << 20, True, 0, sync), b"", b""))

    def _copy(self, order: Transfer) -> Steps[None]:
        """The namenode wants another replica."""
        opened = self.store.open(order.block)
        if opened.state is not ReplicaState.FINALIZED:
            raise errors.ReplicaNotFound(f"only a final replica is copied, not {opened.replica!r}")
        request = WriteBlock(
            order.block.with_length(opened.length_bytes),
            "",
            Stage.PIPELINE_SETUP_CREATE,
            opened.spec,
            order.targets[1:],
            self.address,
            pipeline_size=0,
        )
        end = self.connect(order.targets[0])
        yield from self._send(end, request, opened)
        yield from end.receive(SOCKET_TIMEOUT_S)

    # --- recoveries, as their primary ---

    def recover(self, order: RecoverBlock) -> Steps[None]:
        """`howdah.datanode.recovery.worker`: ask, agree, have it done, tell the keeper."""
        answers: Answers = yield from self._ask(
            order.nodes, "initReplicaRecovery", lambda node: self._take_at(node, order)
        )
        agreement = agree(order, answers)
        self.world.note(
            self,
            f"recovery {order.recovery_id} of {order.block.name} agrees on "
            f"{agreement.block.length_bytes} bytes: "
            + "; ".join(f"{node.hostname}: {answer}" for node, answer in answers.items()),
        )
        target = agreement.block
        outcomes: Outcomes = yield from self._ask(
            tuple(agreement.participants),
            "updateReplicaUnderRecovery",
            lambda node: rewriting.settle(
                self.peers[node.transfer_address].store,
                agreement.participants[node].as_block(POOL_ID),
                order.recovery_id,
                target.length_bytes,
            ),
        )
        self._events.append(result_of(order, agreement, outcomes))

    def _take_at(self, node: DatanodeAddress, order: RecoverBlock) -> Steps[Candidate | None]:
        return rewriting.take(
            self.peers[node.transfer_address].store, order.block, order.recovery_id
        )

    def _ask(
        self,
        nodes: tuple[DatanodeAddress, ...],
        what: str,
        question: Callable[[DatanodeAddress], Steps[Any]],
    ) -> Steps[dict[DatanodeAddress, Any]]:
        """All at once; what each answers, or how it fails."""
        answers: dict[DatanodeAddress, Any] = {}

        def one(node: DatanodeAddress) -> Steps[None]:
            def handler() -> Steps[Any]:
                yield PAUSE
                return (yield from question(node))

            try:
                if node.uuid == self.address.uuid:
                    answers[node] = yield from handler()
                else:
                    peer = self.peers[node.transfer_address]
                    answers[node] = yield from peer.call(self.process, what, handler)
            except (errors.HowdahError, OSError) as error:
                answers[node] = error

        for node in nodes:
            self.world.spawn(self.process, f"{what} at {node.hostname}", one(node))
        yield Wait(lambda: len(answers) == len(nodes))
        return {node: answers[node] for node in nodes}

    # --- the keeper ---

    def _keep(self) -> Steps[None]:
        """Events of the data process reach the keeper's list, and the news."""
        while True:
            yield Wait(lambda: bool(self._events))
            event = self._events.popleft()
            match event:
                case ReplicaOpened(block, _):
                    self._list(block, ReplicaState.RBW)
                    self._news.append(event)
                case ReplicaReceived(block, _):
                    self._list(block, ReplicaState.FINALIZED)
                    self._news.append(event)
                case ReplicaDeleted(block, _):
                    self._inventory.pop(block.block_id, None)
                    self._news.append(event)
                case BlockSynchronized() | CorruptFound():
                    self._news.append(event)

    def _list(self, block: ExtendedBlock, state: ReplicaState) -> None:
        self._inventory[block.block_id] = ListedReplica(
            block.block_id, block.length_bytes, block.generation_stamp, state
        )

    def _live(self) -> Steps[None]:
        joined = False
        self._heartbeat_due_ms = 0
        while True:
            try:
                if not joined:
                    yield from self._call(
                        "registerDatanode",
                        pb.RegisterDatanodeRequestProto(registration=self.registration),
                    )
                    self._heartbeat_due_ms = 0
                    self._reports.registered()
                    joined = True
                yield from self._do_what_is_due()
                yield Wait(lambda: bool(self._news), self._heartbeat_due_ms)
            except _Unknown:
                joined = False
            except (errors.HowdahError, OSError) as error:
                self.world.note(self, f"namenode: {type(error).__name__} {error}")
                self._heartbeat_due_ms = 0
                yield from self.world.sleep(1.0)

    def _do_what_is_due(self) -> Steps[None]:
        if self.world.now_ms >= self._heartbeat_due_ms:
            yield from self._heartbeat()
        if self._reports.may_report(self.world.now_s):
            yield from self._full_report()
        yield from self._tell_news()

    def _call(self, method: str, request: Message) -> Steps[Message]:
        try:
            return (yield from self.namenode.call(self.process, method, request, self.address.ip))
        except errors.UnregisteredNode as error:
            raise _Unknown from error

    def _heartbeat(self) -> Steps[None]:
        due_ms = self.world.now_ms + round(HEARTBEAT_S * 1000)
        storage = types_pb2.StorageReportProto(
            storageUuid=self.volume.storage_id,
            capacity=GIB,
            remaining=GIB,
            storage=reports.storage_of(self.volume),
        )
        answer = yield from self._call(
            "sendHeartbeat",
            pb.HeartbeatRequestProto(
                registration=self.registration,
                reports=[storage],
                requestFullBlockReportLease=self._reports.wants_lease(self.world.now_s),
            ),
        )
        assert isinstance(answer, pb.HeartbeatResponseProto)
        self._heartbeat_due_ms = due_ms
        self._reports.granted(answer.fullBlockReportLeaseId)
        for order in decode_orders(answer.cmds):
            match order:
                case Register():
                    raise _Unknown
                case Invalidate(blocks):
                    self.world.spawn(self.process, "deletions", self._delete(blocks))
                case Transfer():
                    self.world.spawn(self.process, f"copy of {order.block}", self._copy(order))
                case RecoverBlock():
                    self.world.note(self, f"is primary of {order.recovery_id}: {order.block}")
                    ordered = replace(order, ordered_by="namenode")
                    self.world.spawn(
                        self.process, f"recovery {order.recovery_id}", self.recover(ordered)
                    )

    def _delete(self, blocks: tuple[ExtendedBlock, ...]) -> Steps[None]:
        for block in blocks:
            yield PAUSE
            try:
                yield from self.store.invalidate(block)
            except errors.HowdahError as error:
                self.world.note(self, f"cannot delete {block}: {error}")

    def _full_report(self) -> Steps[None]:
        kept = [news for news in self._news if not isinstance(news, BlockNews)]
        listed = list(self._inventory.values())
        self._reports.begin()
        self._news.clear()
        self._news.extend(kept)
        try:
            for request in reports.full_reports(
                self.registration,
                POOL_ID,
                [self.volume],
                {self.volume.storage_id: listed},
                report_id=1,
                lease_id=self._reports.lease_id,
                split_threshold=1000,
            ):
                yield from self._call("blockReport", request)
        except errors.InvalidReportLease as error:
            self.world.note(self, f"cannot report now: {error}")
            self._reports.lost()
        except errors.HowdahError:
            self._reports.lost()
            raise
        else:
            self._reports.reported(self.world.now_s, 1.0)

    def _tell_news(self) -> Steps[None]:
        while self._news:
            news = list(self._news)
            of_blocks = [item for item in news if isinstance(item, BlockNews)]
            volumes = {self.volume.storage_id: self.volume}
            if of_blocks:
                yield from self._call(
                    "blockReceivedAndDeleted",
                    reports.incremental_report(self.registration, POOL_ID, of_blocks, volumes),
                )
            for item in news:
                if isinstance(item, CorruptFound):
                    yield from self._call(
                        "reportBadBlocks", reports.bad_block_report(item, self.address, volumes)
                    )
                elif isinstance(item, BlockSynchronized):
                    yield from self._commit(item)
            for _ in news:
                self._news.popleft()

    def _commit(self, recovery: BlockSynchronized) -> Steps[None]:
        try:
            yield from self._call("commitBlockSynchronization", reports.synchronization(recovery))
        except (errors.Unreachable, errors.CallTimeout, errors.SafeMode):
            raise
        except errors.HowdahError as error:
            self.world.note(self, f"recovery {recovery.new_stamp} is not taken: {error}")
