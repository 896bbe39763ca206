"""A simulated datanode: a machine with a disk, and the process that runs there.

The process serves WRITE_BLOCK (`receiving`), copies, reads and recoveries, and deals with
each namenode in an actor of its own (`actor`), and obeys the active. Requests and orders are
the real ones, in their protobuf form.

That a datanode is two processes is seen in one thing: what it reports is the control process's
list, which the data process's events reach one by one and later.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from howdah import errors
from howdah.datanode.control import reports
from howdah.datanode.control.active_tracker import ActiveTracker
from howdah.datanode.control.reports import BlockNews
from howdah.datanode.state.block_recovery import Answers, Candidate, Outcomes, agree
from howdah.datanode.state.block_recovery import settle as result_of
from howdah.datanode.state.commands import Order
from howdah.datanode.state.messages import (
    BlockSynchronized,
    CorruptFound,
    DeletionEnded,
    Event,
    Invalidate,
    RecoverBlock,
    ReplicaDeleted,
    ReplicaOpened,
    ReplicaReceived,
    Transfer,
)
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.block_lists import ListedReplica
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import Stage, TransferBlock, WriteBlock
from howdah.protocol.data_transfer.packets import PacketHeader
from howdah.protocol.data_transfer.responses import BlockOpResponse
from howdah.protocol.data_transfer.status import Status
from howdah.testing.in_memory import CLUSTER, POOL_ID
from howdah.testing.simulator.actor import Actor
from howdah.testing.simulator.datanodes import rewriting
from howdah.testing.simulator.datanodes.disk import Disk
from howdah.testing.simulator.datanodes.receiving import SOCKET_TIMEOUT_S, Receiver
from howdah.testing.simulator.datanodes.store import Opened, Packet, Store
from howdah.testing.simulator.namenode import Namenode
from howdah.testing.simulator.nameservice import Nameservice
from howdah.testing.simulator.network import End, Network
from howdah.testing.simulator.tasks import PAUSE, Process, Steps, Wait, World

RESTART_EXPIRY_MS = 60_000
READ_WAIT_S = 3.0
COPY_PACKET_BYTES = 8
NAMESPACE = reports.Namespace(
    CLUSTER.namespace_id, CLUSTER.cluster_id, CLUSTER.ctime_ms, POOL_ID, "3.5.0"
)
T = TypeVar("T")


class Datanode:
    """The machine. `store` and `process` are those of the present start."""

    def __init__(
        self, world: World, network: Network, namenode: Namenode | Nameservice, number: int
    ) -> None:
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
        self.used_bytes = 0
        """By anything else."""
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
        self.deletions: Counter[tuple[int, int]] = Counter()
        """Orders to delete replicas that have not come to their end: (block id, stamp)."""
        self.claim = ActiveTracker()
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
        self.world.spawn(process, "control process", self._collect_events())
        self.actors = [Actor(self, member) for member in self.namenode.members]
        for actor in self.actors:
            self.world.spawn(process, "actor", actor.live())

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

    def call(self, caller: Process, operation: str, handler: Callable[[], Steps[T]]) -> Steps[T]:
        """A call on the IPC port."""
        return self.network.call(caller, self.process, operation, handler, SOCKET_TIMEOUT_S)

    def visible_length(self, block: ExtendedBlock) -> Steps[int]:
        yield PAUSE
        return self.store.replicas.get(block).visible_bytes

    def read(self, block: ExtendedBlock, length_bytes: int) -> Steps[tuple[bytes, Opened]]:
        """READ_BLOCK from the start, with the replica's own checksums for the reader."""
        yield PAUSE
        store = self.store

        def is_there() -> bool:
            replica = store.find(block.block_id)
            growing = replica is not None and replica.state is ReplicaState.RBW
            return not growing or (replica is not None and replica.length_bytes >= length_bytes)

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
        """`howdah.datanode.recovery.worker`: ask, agree, have it done, tell the control process."""
        answers: Answers = yield from self._call_all(
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
        outcomes: Outcomes = yield from self._call_all(
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
        return rewriting.init_recovery(
            self.peers[node.transfer_address].store, order.block, order.recovery_id
        )

    def _call_all(
        self,
        nodes: tuple[DatanodeAddress, ...],
        operation: str,
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
                    answers[node] = yield from peer.call(self.process, operation, handler)
            except (errors.HowdahError, OSError) as error:
                answers[node] = error

        for node in nodes:
            self.world.spawn(self.process, f"{operation} at {node.hostname}", one(node))
        yield Wait(lambda: len(answers) == len(nodes))
        return {node: answers[node] for node in nodes}

    # --- the control process ---

    def _collect_events(self) -> Steps[None]:
        """Events of the data process reach the control process's list, and the news."""
        while True:
            yield Wait(lambda: bool(self._events))
            event = self._events.popleft()
            match event:
                case ReplicaOpened(block, _):
                    self._list(block, ReplicaState.RBW)
                    self._enqueue(event)
                case ReplicaReceived(block):
                    self._list(block, ReplicaState.FINALIZED)
                    self._enqueue(event)
                case ReplicaDeleted(block, _):
                    self._inventory.pop(block.block_id, None)
                    self._enqueue(event)
                case DeletionEnded(block):
                    key = block.block_id, block.generation_stamp
                    self.deletions[key] -= 1
                    if not self.deletions[key]:
                        del self.deletions[key]
                case BlockSynchronized() | CorruptFound():
                    self._enqueue(event)

    def _enqueue(self, news: BlockNews | BlockSynchronized | CorruptFound) -> None:
        for actor in self.actors:
            if not isinstance(news, BlockSynchronized) or news.ordered_by == actor.name:
                actor.news.append(news)

    def _list(self, block: ExtendedBlock, state: ReplicaState) -> None:
        self._inventory[block.block_id] = ListedReplica(
            block.block_id, block.length_bytes, block.generation_stamp, state
        )

    def listed(self) -> list[ListedReplica]:
        """What a full report names."""
        return [
            replica
            for replica in self._inventory.values()
            if (replica.block_id, replica.generation_stamp) not in self.deletions
        ]

    # --- orders ---

    def obey(self, order: Order, ordered_by: str) -> None:
        """An order of the active namenode."""
        match order:
            case Invalidate(blocks):
                self.deletions.update((b.block_id, b.generation_stamp) for b in blocks)
                self.world.spawn(self.process, "deletions", self._delete(blocks))
            case Transfer():
                self.world.spawn(self.process, f"copy of {order.block}", self._copy(order))
            case RecoverBlock():
                self.world.note(self, f"is primary of {order.recovery_id}: {order.block}")
                ordered = replace(order, ordered_by=ordered_by)
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
            self._events.append(DeletionEnded(block))
