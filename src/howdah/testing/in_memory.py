"""A namenode and its datanodes as plain objects: no sockets, files, threads or clocks.

The namenode is the real namesystem under both of its protocols, called with requests
that are encoded and decoded as on the wire. Time stands still until it is told to
move, and every edit is kept as the record that a journal would have got. A
datanode here holds facts about replicas, no bytes; it reports when it is told to.

    namenode = InMemoryNamenode()
    node = namenode.join("dn0", rack="/a")
    namenode.call("mkdirs", MkdirsRequestProto(...))
"""

from __future__ import annotations

import io
import random
from collections import deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from google.protobuf.message import Message

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.calls.permissions import Permissions
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.client import ClientProtocol
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.service.protocols.datanodes.protocol import DatanodeProtocol
from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.service.writing.lease_recovery import LeaseRecovery
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.blocks.pending_reports import ReplicaState
from howdah.namenode.state.blocks.topology import RackMap
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import datanode_namenode_pb2, types_pb2
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.blocks import UINT64, signed64
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Deferred, Registry

POOL_ID = "BP-1-127.0.0.1-1"
CLUSTER = ClusterIdentity(1, "CID-in-memory", POOL_ID, 0, -67)
SUPERUSER = "root"
GIB = 1 << 30


class ManualClock:
    """Both clocks of a namenode; they move when they are told to."""

    def __init__(self, wall_ms: int = 1_700_000_000_000, monotonic_ms: int = 1_000_000) -> None:
        self._wall_ms = wall_ms
        self._monotonic_ms = monotonic_ms

    def wall_ms(self) -> int:
        return self._wall_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def advance(self, ms: int) -> None:
        assert ms >= 0, "time does not go back"
        self._wall_ms += ms
        self._monotonic_ms += ms


@dataclass(slots=True)
class Replica:
    """What a datanode would find on its disk."""

    generation_stamp: int
    length_bytes: int
    finalized: bool = True
    left_over: bool = False
    """It was being written when its datanode died, and waits for recovery."""

    @property
    def state(self) -> ReplicaState:
        if self.finalized:
            return ReplicaState.FINALIZED
        return ReplicaState.RWR if self.left_over else ReplicaState.RBW


@dataclass(slots=True)
class InMemoryDatanode:
    """One datanode. `replicas` is its disk: by storage and block id."""

    namenode: InMemoryNamenode
    uuid: str
    ip: str
    replicas: dict[str, dict[int, Replica]]
    capacity_bytes: int = 100 * GIB
    used_bytes: int = 0
    connections: int = 0
    copies: int = 0
    """That it is sending to other datanodes."""
    commands: list[datanode_namenode_pb2.DatanodeCommandProto] = field(default_factory=list)
    lease_id: int = 0
    """For its next full report, if it has asked for a lease and got one."""
    kind: types_pb2.StorageTypeProto = types_pb2.DISK
    """Of all its volumes."""
    cache_capacity_bytes: int = 0
    cached: set[int] = field(default_factory=set)
    """Blocks in its cache."""
    is_hadoops: bool = False
    """Whether it introduces itself as a datanode of Hadoop's."""
    heard: datanode_namenode_pb2.NNHAStatusHeartbeatProto | None = None
    """What the last answer to a heartbeat said of the namenode's role."""

    @property
    def known(self) -> Datanode:
        """The datanode as the namenode knows it."""
        node = self.namenode.namesystem.datanode_manager.datanodes.get(self.uuid)
        assert node is not None, f"{self.uuid} is not registered"
        return node

    @property
    def first_storage(self) -> str:
        return next(iter(self.replicas))

    def registration(self) -> datanode_namenode_pb2.DatanodeRegistrationProto:
        return datanode_namenode_pb2.DatanodeRegistrationProto(
            datanodeID=types_pb2.DatanodeIDProto(
                ipAddr=self.ip,
                hostName=self.ip,
                datanodeUuid=self.uuid,
                xferPort=9866,
                infoPort=9864,
                ipcPort=9867,
            ),
            storageInfo=datanode_namenode_pb2.StorageInfoProto(
                layoutVersion=0xFFFFFFFF - 56,
                namespceID=CLUSTER.namespace_id,
                clusterID=CLUSTER.cluster_id,
                cTime=0,
            ),
            keys=datanode_namenode_pb2.ExportedBlockKeysProto(
                isBlockTokenEnabled=False,
                keyUpdateInterval=0,
                tokenLifeTime=0,
                currentKey=datanode_namenode_pb2.BlockKeyProto(keyId=0, expiryDate=0),
            ),
            softwareVersion="3.5.0",
            shownVersion=None if self.is_hadoops else "3.5.0",
        )

    def register(self) -> None:
        self.namenode.call(
            "registerDatanode",
            datanode_namenode_pb2.RegisterDatanodeRequestProto(registration=self.registration()),
            address=self.ip,
        )

    def heartbeat(
        self, *, wants_lease: bool = False
    ) -> list[datanode_namenode_pb2.DatanodeCommandProto]:
        """Say that it lives; the orders that it got."""
        count = len(self.replicas)
        answer = self.namenode.call(
            "sendHeartbeat",
            datanode_namenode_pb2.HeartbeatRequestProto(
                registration=self.registration(),
                xceiverCount=self.connections,
                xmitsInProgress=self.copies,
                requestFullBlockReportLease=wants_lease,
                cacheCapacity=self.cache_capacity_bytes,
                cacheUsed=sum(self._length_bytes(block_id) for block_id in self.cached),
                reports=[
                    types_pb2.StorageReportProto(
                        storageUuid=storage_id,
                        capacity=self.capacity_bytes // count,
                        dfsUsed=self.used_bytes // count,
                        remaining=(self.capacity_bytes - self.used_bytes) // count,
                        storage=_storage(storage_id, self.kind),
                    )
                    for storage_id in self.replicas
                ],
            ),
            address=self.ip,
        )
        assert isinstance(answer, datanode_namenode_pb2.HeartbeatResponseProto)
        self.heard = answer.haStatus
        if wants_lease:
            self.lease_id = answer.fullBlockReportLeaseId
        return list(answer.cmds)

    def report(self, hidden: Container[int] = ()) -> datanode_namenode_pb2.BlockReportResponseProto:
        """A full report of every storage, but for the replicas of the `hidden` blocks."""
        reports = []
        for storage_id, replicas in self.replicas.items():
            count, buffers = block_lists.encode(
                block_lists.ListedReplica(block_id, r.length_bytes, r.generation_stamp, r.state)
                for block_id, r in replicas.items()
                if block_id not in hidden
            )
            reports.append(
                datanode_namenode_pb2.StorageBlockReportProto(
                    storage=_storage(storage_id, self.kind),
                    numberOfBlocks=count,
                    blocksBuffers=buffers,
                )
            )
        lease_id, self.lease_id = self.lease_id, 0
        answer = self.namenode.call(
            "blockReport",
            datanode_namenode_pb2.BlockReportRequestProto(
                registration=self.registration(),
                blockPoolId=POOL_ID,
                reports=reports,
                context=datanode_namenode_pb2.BlockReportContextProto(
                    totalRpcs=1, curRpc=0, id=1, leaseId=lease_id
                ),
            ),
            address=self.ip,
        )
        assert isinstance(answer, datanode_namenode_pb2.BlockReportResponseProto)
        return answer

    def cache(self, *, reports: bool = True) -> None:
        """A heartbeat, and what it says of the cache is done and reported."""
        actions = datanode_namenode_pb2.BlockIdCommandProto
        for command in self.heartbeat():
            block_ids = set(command.blkIdCmd.blockIds)
            if command.blkIdCmd.action == actions.UNCACHE:
                self.cached -= block_ids
            else:
                self.cached |= block_ids
        if reports:
            self.cache_report()

    def cache_report(self) -> None:
        """All that is in its cache."""
        self.namenode.call(
            "cacheReport",
            datanode_namenode_pb2.CacheReportRequestProto(
                registration=self.registration(), blockPoolId=POOL_ID, blocks=sorted(self.cached)
            ),
            address=self.ip,
        )

    def _length_bytes(self, block_id: int) -> int:
        replicas = [held[block_id] for held in self.replicas.values() if block_id in held]
        return replicas[0].length_bytes if replicas else 0

    def store(
        self,
        block_id: int,
        generation_stamp: int,
        length_bytes: int,
        *,
        storage_id: str | None = None,
        finalized: bool = True,
        delete_hint: str = "",
    ) -> None:
        """A replica came to the disk; the namenode is told, also which datanode, by its uuid, is
        to lose its own for it."""
        where = storage_id or self.first_storage
        self.replicas[where][block_id] = Replica(generation_stamp, length_bytes, finalized)
        status = (
            datanode_namenode_pb2.ReceivedDeletedBlockInfoProto.RECEIVED
            if finalized
            else datanode_namenode_pb2.ReceivedDeletedBlockInfoProto.RECEIVING
        )
        self.report_replica(where, block_id, generation_stamp, length_bytes, status, delete_hint)

    def drop(self, block_id: int) -> None:
        """The replica went from the disk; the namenode is told."""
        for storage_id, replicas in self.replicas.items():
            gone = replicas.pop(block_id, None)
            if gone is not None:
                self.report_replica(
                    storage_id,
                    block_id,
                    gone.generation_stamp,
                    gone.length_bytes,
                    datanode_namenode_pb2.ReceivedDeletedBlockInfoProto.DELETED,
                )

    def orders(self) -> list[datanode_namenode_pb2.RecoveringBlockProto]:
        """A heartbeat: the blocks of whose recovery it is the primary now."""
        return [block for command in self.heartbeat() for block in command.recoveryCmd.blocks]

    def settle(self, block_id: int, recovery_id: int, length_bytes: int) -> None:
        """As a participant of a recovery: the replica has that length, under that stamp."""
        for replicas in self.replicas.values():
            if block_id in replicas:
                replicas[block_id] = Replica(recovery_id, length_bytes)

    def commit(
        self,
        order: datanode_namenode_pb2.RecoveringBlockProto,
        length_bytes: int,
        targets: Iterable[InMemoryDatanode],
        *,
        close_file: bool = True,
        delete_block: bool = False,
    ) -> None:
        """As a primary: the namenode is told what came of a recovery. `targets` have it."""
        holding = [
            (target, storage_id)
            for target in targets
            for storage_id, replicas in target.replicas.items()
            if signed64(order.block.b.blockId) in replicas
        ]
        self.namenode.call(
            "commitBlockSynchronization",
            datanode_namenode_pb2.CommitBlockSynchronizationRequestProto(
                block=order.block.b,
                newGenStamp=order.newGenStamp,
                newLength=length_bytes,
                closeFile=close_file,
                deleteBlock=delete_block,
                newTaragets=[target.registration().datanodeID for target, _ in holding],
                newTargetStorages=[storage_id for _, storage_id in holding],
            ),
            address=self.ip,
        )

    def recover(
        self,
        order: datanode_namenode_pb2.RecoveringBlockProto,
        length_bytes: int,
        targets: Iterable[InMemoryDatanode],
    ) -> None:
        """As a primary that meets no trouble: every target is set, the namenode is told."""
        targets = list(targets)
        becomes = order.truncateBlock.blockId or order.block.b.blockId
        for target in targets:
            if becomes != order.block.b.blockId:
                target.replicas[target.first_storage][becomes] = Replica(
                    order.newGenStamp, length_bytes
                )
            target.settle(becomes, order.newGenStamp, length_bytes)
        self.commit(order, length_bytes, targets)

    def report_replica(
        self,
        storage_id: str,
        block_id: int,
        generation_stamp: int,
        length_bytes: int,
        status: int,
        delete_hint: str = "",
    ) -> None:
        """An incremental report of one replica."""
        proto = datanode_namenode_pb2
        self.namenode.call(
            "blockReceivedAndDeleted",
            proto.BlockReceivedAndDeletedRequestProto(
                registration=self.registration(),
                blockPoolId=POOL_ID,
                blocks=[
                    proto.StorageReceivedDeletedBlocksProto(
                        storageUuid=storage_id,
                        storage=_storage(storage_id, self.kind),
                        blocks=[
                            proto.ReceivedDeletedBlockInfoProto(
                                block=types_pb2.BlockProto(
                                    blockId=block_id & UINT64,
                                    genStamp=generation_stamp,
                                    numBytes=length_bytes,
                                ),
                                status=status,  # type: ignore[arg-type]
                                deleteHint=delete_hint or None,
                            )
                        ],
                    )
                ],
            ),
            address=self.ip,
        )


class InMemoryNamenode:
    """One namenode."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        racks: Mapping[str, str] | None = None,
        groups: Mapping[str, tuple[str, ...]] | None = None,
        namespace: Namespace | None = None,
        clock: ManualClock | None = None,
        seed: int = 0,
    ) -> None:
        self.clock = clock or ManualClock()
        self.racks = dict(racks or {})
        self.settings = replace(settings or Settings(""), block_pool_id=POOL_ID)
        self.groups = dict(groups or {})
        self.nodes: list[InMemoryDatanode] = []
        self.namesystem = Namesystem(
            namespace or Namespace(),
            self.settings,
            Permissions(
                enabled=True,
                superuser=SUPERUSER,
                supergroup="supergroup",
                groups_of=lambda user: self.groups.get(user, ()),
            ),
            self.clock,
            random.Random(seed),
            RackMap(self.racks),
        )
        self.log = []
        if not self.namesystem.namespace.root.owner:
            self.namesystem.commit(edits.SetOwnerOp("/", SUPERUSER, "supergroup"))
        recovery = self.recovery = BlockRecovery(self.namesystem)
        self.leases = LeaseRecovery(self.namesystem, recovery)
        self.client = ClientProtocol(self.namesystem, self.leases, recovery)
        self.datanode = DatanodeProtocol(
            self.namesystem,
            CLUSTER,
            recovery,
            self.client.look_at_waiting,
            ha_state=lambda: "ACTIVE" if self.namesystem.role.writable else "STANDBY",
        )
        self._registry = Registry([self.client.service(), self.datanode.service()])
        nodes = datanode_namenode_pb2.DESCRIPTOR.services_by_name["DatanodeProtocolService"]
        self._datanode_methods = {method.name for method in nodes.methods}

    def call(
        self,
        method: str,
        request: Message,
        *,
        user: str = SUPERUSER,
        client_id: bytes = b"",
        call_id: int = 0,
        retry_count: int = 0,
        address: str | None = None,
    ) -> Message | Deferred:
        """One call, to its end. Raises what the caller would be told.

        It comes from `address`; of what is not said a datanode calls from where it is.
        A `Deferred` comes back where the answer waits for something to happen.
        """
        protocol = (
            DatanodeProtocol.PROTOCOL
            if method in self._datanode_methods and method != "reportBadBlocks"
            else ClientProtocol.PROTOCOL
        )
        whence = _whence(request) if address is None else address
        caller = Caller(user, client_id, call_id, retry_count, whence)
        answer = self._registry.dispatch(
            Call(caller, protocol, 1, method, request.SerializeToString())
        )
        if isinstance(answer, Message | Deferred):
            return answer
        while True:
            try:
                next(answer)
            except StopIteration as end:
                message: Message = end.value
                return message

    def tick(self, ms: int = 0) -> list[str]:
        """Time passes, and what happens by itself happens. Returns what would be logged."""
        self.clock.advance(ms)
        self.namesystem.tick()
        deque(self.namesystem.datanode_manager.membership_round() or (), maxlen=0)
        deque(self.namesystem.block_manager.redundancy_round(), maxlen=0)
        deque(self.namesystem.caching.round() or (), maxlen=0)
        self.client.look_at_waiting()
        said = [line for lines in self.leases.round() for line in lines]
        while self.namesystem.reap():
            continue
        return said

    @property
    def log(self) -> list[bytes]:
        """The records of all edits, in order."""
        return self._log

    @log.setter
    def log(self, records: list[bytes]) -> None:
        self._log = self.namesystem.journal = records

    def join(
        self,
        name: str,
        *,
        ip: str | None = None,
        rack: str = "/default-rack",
        volumes: int = 1,
        kind: types_pb2.StorageTypeProto = types_pb2.DISK,
    ) -> InMemoryDatanode:
        """A new datanode, which has registered and reported that it holds nothing."""
        address = ip or f"10.0.0.{len(self.nodes) + 1}"
        node = InMemoryDatanode(
            self,
            name,
            address,
            {f"DS-{name}-{number}": {} for number in range(volumes)},
            kind=kind,
        )
        table = {**self.racks, address: rack}
        self.racks = table
        self.namesystem.datanode_manager.racks = RackMap(table)
        self.nodes.append(node)
        node.register()
        node.heartbeat()
        node.report()
        return node

    def edits(self) -> list[edits.Edit]:
        """The log, read back from its records."""
        return [decode_record(record).edit for record in self.log]

    def restarted(self, *, from_image: bool = False) -> InMemoryNamenode:
        """A second namenode that starts from this one's log, or from an image of it; its
        datanodes are not there yet."""
        namespace = reloaded(self.namesystem.namespace) if from_image else replayed(self.edits())
        fresh = InMemoryNamenode(
            self.settings,
            racks=self.racks,
            groups=self.groups,
            namespace=namespace,
            clock=self.clock,
        )
        fresh.log = list(self.log)
        fresh.namesystem.retry_cache.rebuild(
            (
                (edit.rpc_client_id, edit.rpc_call_id, _made_by(edit))
                for edit in self.edits()
                if isinstance(edit, edits.RetryableEdit) and edit.has_call
            ),
            self.clock.monotonic_ms(),
        )
        return fresh


def _made_by(edit: edits.Edit) -> int | None:
    """Of a file's creation its inode id; an append has none in its record."""
    return edit.inode_id if isinstance(edit, edits.AddOp) else None


def _whence(request: Message) -> str:
    registration = getattr(request, "registration", None) or getattr(request, "registartion", None)
    if isinstance(registration, datanode_namenode_pb2.DatanodeRegistrationProto):
        return registration.datanodeID.ipAddr
    return "10.9.9.9"


def replayed(log: Iterable[edits.Edit]) -> Namespace:
    """A namespace made from a log alone."""
    namespace = Namespace()
    for edit in log:
        namespace.apply(edit)
    while namespace.must_reap:
        namespace.reap(1000)
    return namespace


def reloaded(namespace: Namespace) -> Namespace:
    """What an image keeps of a namespace."""
    image = io.BytesIO()
    write_image(namespace, CLUSTER.namespace_id, 0, image)
    image.seek(0)
    return read_image(image, "fsimage")[0]


def outcome(answer: Message | Deferred) -> Message | None:
    """What a deferred answer has come to so far; raises if that is an error."""
    if isinstance(answer, Message):
        return answer
    outcomes: list[Message | errors.HowdahError] = []
    answer.when_settled(outcomes.append)
    if not outcomes:
        return None
    if isinstance(outcomes[0], errors.HowdahError):
        raise outcomes[0]
    return outcomes[0]


def _storage(storage_id: str, kind: types_pb2.StorageTypeProto) -> types_pb2.DatanodeStorageProto:
    return types_pb2.DatanodeStorageProto(
        storageUuid=storage_id,
        storageType=kind,
        state=types_pb2.DatanodeStorageProto.NORMAL,
    )
