"""Two namenodes of one nameservice as plain objects, and datanodes that report to both.

The members have one log, of encoded records. The active's edits are in it when its call
returns; a standby takes a record when it is told to (`tail`), and decodes it. A datanode
has one disk, a list of news for each namenode, and one belief in who is active
(`ActiveTracker`, the real one). What happens when is up to the caller: news, heartbeats,
reports, tailed edits and obeyed orders may cross in any order.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from howdah import errors
from howdah.datanode.control.active_tracker import ActiveTracker
from howdah.datanode.state.messages import Invalidate
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.images.image import read_image, write_image
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.testing.fingerprint import Fingerprint, fingerprint
from howdah.testing.in_memory import (
    CLUSTER,
    InMemoryDatanode,
    InMemoryNamenode,
    ManualClock,
    Replica,
    replayed,
)

_Info = dn.ReceivedDeletedBlockInfoProto


class Pair:
    """`active` is the index of the member that writes the log. The other one is a standby, or
    believes that it is active still (`stale_active`)."""

    def __init__(self, settings: Settings, racks: dict[str, str]) -> None:
        self.settings = settings
        self.racks = racks
        self.clock = ManualClock()
        self.nodes: list[PairDatanode] = []
        first = InMemoryNamenode(settings, racks=racks, clock=self.clock)
        self.log = first.log
        self.members = [first, self._standby(len(first.log))]
        self.active = 0
        self.stale_active: int | None = None
        self.after: dict[int, Fingerprint] = {}
        """What the active had after a transaction, of those at which a call ended."""
        first.namesystem.become_standby()
        self._activate(0)
        self.tail(1, len(self.log))

    def _standby(self, txid: int, image_txid: int = 0) -> InMemoryNamenode:
        """A process that has started with so much of the log, of which an image had so much."""
        namespace = replayed(decode_record(record).edit for record in self.log[:image_txid])
        if image_txid:
            image = io.BytesIO()
            write_image(namespace, CLUSTER.namespace_id, image_txid, image)
            namespace, _ = read_image(image, "fsimage")
        for record in self.log[image_txid:txid]:
            namespace.apply(decode_record(record).edit)
        started = InMemoryNamenode(
            self.settings, racks=self.racks, namespace=namespace, clock=self.clock
        )
        while started.namesystem.reap():
            continue
        started.namesystem.last_txid = txid
        started.namesystem.become_standby()
        return started

    @property
    def writer(self) -> InMemoryNamenode:
        return self.members[self.active]

    def join(self, uuid: str, ip: str, volumes: int) -> PairDatanode:
        node = PairDatanode(self, uuid, ip, {f"DS-{uuid}-{n}": {} for n in range(volumes)})
        self.nodes.append(node)
        for member in range(2):
            node.register(member)
            node.heartbeat(member)
            node.report(member)
        return node

    # The log.

    def note(self) -> None:
        """A call of the active has ended."""
        self.after[len(self.log)] = fingerprint(self.writer.namesystem.namespace)

    def lag(self, member: int) -> int:
        """How many records the member has yet to read."""
        return len(self.log) - self.members[member].namesystem.last_txid

    def tail(self, member: int, count: int) -> None:
        """A standby reads so many records. Raises AssertionError if its namespace differs from
        the one that the active had then."""
        namesystem = self.members[member].namesystem
        assert not namesystem.role.writable, "only a standby tails"
        for record in self.log[namesystem.last_txid : namesystem.last_txid + count]:
            namesystem.follow(decode_record(record))
            expected = self.after.get(namesystem.last_txid)
            if expected is not None:
                while namesystem.reap():
                    continue
                assert fingerprint(namesystem.namespace) == expected, (
                    f"transaction {namesystem.last_txid}"
                )
        if not self.lag(member):
            namesystem.caught_up()

    # Roles.

    def hand_over(self) -> None:
        """A graceful failover."""
        assert self.stale_active is None, "there is one active"
        self.writer.namesystem.become_standby()
        self._activate(1 - self.active)

    def take_over(self) -> None:
        """The standby becomes active. The active before does not know: it goes on, but nothing
        that it decides gets into the log."""
        assert self.stale_active is None, "there is one active"
        self.stale_active = self.active
        self.writer.log = list(self.log)
        self._activate(1 - self.active)

    def end_stale_active(self, txid: int, image_txid: int = 0) -> None:
        """It has noticed, its process ends, and starts as a standby."""
        assert self.stale_active is not None, "there is one"
        member, self.stale_active = self.stale_active, None
        self.start_standby(member, txid, image_txid)

    def start_standby(self, member: int, txid: int, image_txid: int = 0) -> None:
        """Its process ends, and another one starts with so much of the log, from an image of
        an earlier transaction if one is named."""
        assert member != self.active, "it is a standby"
        self.members[member] = self._standby(txid, image_txid)
        for node in self.nodes:
            node.known_to[member] = False

    def _activate(self, member: int) -> None:
        self.tail(member, self.lag(member))
        chosen = self.members[member]
        chosen.log = self.log
        self.active = member
        chosen.namesystem.become_active()
        chosen.namesystem.commit(edits.StartLogSegmentOp())
        chosen.tick()
        chosen.namesystem.safe_mode.leave(force=True)
        self.note()

    def may_answer(self, member: int) -> bool:
        """Whether answers of the member leave: they wait until all that it decided is in the
        log, and what a stale active decides never is."""
        return member != self.stale_active or self.members[member].namesystem.last_txid <= len(
            self.log
        )


@dataclass(slots=True, eq=False)
class PairDatanode:
    """One datanode. `replicas` is its disk: by storage and block id. `orders` are the deletions
    and copies that it obeys and has yet to carry out, `recoveries` those of which it is the
    primary."""

    pair: Pair
    uuid: str
    ip: str
    replicas: dict[str, dict[int, Replica]]
    up: bool = True
    used_bytes: int = 0
    claim: ActiveTracker = field(default_factory=ActiveTracker)
    orders: deque[dn.BlockCommandProto] = field(default_factory=deque)
    recoveries: deque[dn.RecoveringBlockProto] = field(default_factory=deque)
    news: list[deque[Callable[[InMemoryDatanode], None]]] = field(
        default_factory=lambda: [deque(), deque()]
    )
    known_to: list[bool] = field(default_factory=lambda: [False, False])
    owes_report: list[bool] = field(default_factory=lambda: [True, True])
    recovered: dict[int, int] = field(default_factory=dict)
    """The latest recovery id of each block."""
    leases: dict[int, int] = field(default_factory=dict)
    """For the next full report to each namenode, if it has one."""

    def face(self, member: int) -> InMemoryDatanode:
        """As the member sees it."""
        return InMemoryDatanode(
            self.pair.members[member],
            self.uuid,
            self.ip,
            self.replicas,
            used_bytes=self.used_bytes,
        )

    # The disk.

    def find(self, block_id: int) -> tuple[str, Replica] | None:
        for storage_id, replicas in self.replicas.items():
            if block_id in replicas:
                return storage_id, replicas[block_id]
        return None

    def put(self, storage_id: str, block_id: int, replica: Replica) -> None:
        """The replica is on the disk; all namenodes will be told."""
        self.replicas[storage_id][block_id] = replica
        status = _Info.RECEIVED if replica.finalized else _Info.RECEIVING
        stamp, length = replica.generation_stamp, replica.length_bytes
        for news in self.news:
            news.append(
                lambda face: face.report_replica(storage_id, block_id, stamp, length, status)
            )

    def delete(self, block_id: int) -> None:
        """The replica goes from the disk; all namenodes will be told."""
        found = self.find(block_id)
        if found is None:
            return
        storage_id, gone = found
        del self.replicas[storage_id][block_id]
        stamp, length = gone.generation_stamp, gone.length_bytes
        for news in self.news:
            news.append(
                lambda face: face.report_replica(storage_id, block_id, stamp, length, _Info.DELETED)
            )

    def to_delete(self) -> set[int]:
        """The blocks whose replicas here are to be deleted: no full report names them."""
        return {
            told.blockId
            for order in self.orders
            if order.action == dn.BlockCommandProto.INVALIDATE
            for told in order.blocks
        }

    def restart(self) -> None:
        """The process dies, and comes back with what is on the disk."""
        self.up = True
        self.orders.clear()
        self.recoveries.clear()
        self.recovered.clear()
        self.claim = ActiveTracker()
        for replicas in self.replicas.values():
            for replica in replicas.values():
                replica.left_over = not replica.finalized
        for member in range(2):
            self.known_to[member] = False
            self.news[member].clear()

    # Namenodes.

    def register(self, member: int) -> None:
        self.face(member).register()
        self.known_to[member] = True
        self.owes_report[member] = True

    def heartbeat(self, member: int) -> None:
        """Register if it has to, beat, and take the orders home if they count."""
        if not self.known_to[member]:
            self.register(member)
        face = self.face(member)
        commands = face.heartbeat(wants_lease=self.owes_report[member])
        if not self.pair.may_answer(member):
            return
        heard = face.heard
        assert heard is not None, "a namenode says what it is"
        self.leases[member] = face.lease_id
        name = f"namenode{member}"
        claims = heard.state == dn.NNHAStatusHeartbeatProto.ACTIVE
        self.claim.note_heartbeat(name, claims=claims, txid=heard.txid)
        for command in commands:
            if command.cmdType == dn.DatanodeCommandProto.RegisterCommand:
                self.known_to[member] = False
            elif self.claim.obeys(name, Invalidate(())):
                if command.cmdType == dn.DatanodeCommandProto.BlockRecoveryCommand:
                    self.recoveries.extend(command.recoveryCmd.blocks)
                elif command.cmdType == dn.DatanodeCommandProto.BlockCommand:
                    self.orders.append(command.blkCmd)

    def report(self, member: int) -> None:
        """In full, under the lease that it has, if it has one."""
        face = self.face(member)
        face.lease_id = self.leases.pop(member, 0)
        if not self.known_to[member]:
            return
        self.news[member].clear()
        self.owes_report[member] = False
        try:
            told = face.report(self.to_delete())
        except errors.InvalidReportLease:
            self.owes_report[member] = True
        else:
            if told.cmd.cmdType == dn.DatanodeCommandProto.RegisterCommand:
                self.known_to[member] = False
                self.owes_report[member] = True

    def tell_news(self, member: int, count: int) -> None:
        """The oldest of what the member was not told yet."""
        news = self.news[member]
        if not self.known_to[member]:
            return
        for _ in range(min(count, len(news))):
            try:
                news[0](self.face(member))
            except errors.RetriableError:
                self.known_to[member] = False
                return
            news.popleft()
