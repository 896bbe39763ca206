"""How a simulated datanode deals with one namenode.

As `howdah.datanode.control.namenode_actor`: it registers, sends heartbeats and full reports,
tells the news of the datanode's replicas in their order and again until it is heard, and
takes orders home. Whose orders count is decided by the real `ActiveTracker`.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from google.protobuf.message import Message

from howdah import errors
from howdah.datanode.control import reports
from howdah.datanode.control.active_tracker import ActiveTracker
from howdah.datanode.control.reports import BlockNews
from howdah.datanode.state.commands import Order, Register, decode_orders
from howdah.datanode.state.messages import BlockSynchronized, CorruptFound
from howdah.datanode.state.report_schedule import ReportSchedule
from howdah.datanode.volumes.volumes import Volume
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.block_lists import ListedReplica
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.testing.in_memory import GIB, POOL_ID
from howdah.testing.simulator.tasks import Process, Steps, Wait, World

HEARTBEAT_S = 10.0
REPORT_INTERVAL_S = 21_600.0


class Member(Protocol):
    """One namenode."""

    @property
    def name(self) -> str: ...

    def call(
        self, caller: Process, method: str, request: Message, address: str
    ) -> Steps[Message]: ...


class Node(Protocol):
    """The datanode, and what its actors share."""

    world: World
    process: Process
    address: DatanodeAddress
    registration: pb.DatanodeRegistrationProto
    volume: Volume
    used_bytes: int
    claim: ActiveTracker

    def listed(self) -> list[ListedReplica]: ...

    def obey(self, order: Order, ordered_by: str) -> None: ...


class _Unknown(Exception):
    """The namenode does not know this datanode."""


class Actor:
    """Of one start of the datanode."""

    def __init__(self, node: Node, namenode: Member) -> None:
        self._node = node
        self._namenode = namenode
        self.name = namenode.name
        self.news: deque[BlockNews | BlockSynchronized | CorruptFound] = deque()
        self._reports = ReportSchedule(REPORT_INTERVAL_S)
        self._world = node.world
        self._process = node.process

    def live(self) -> Steps[None]:
        joined = False
        self._heartbeat_due_ms = 0
        while True:
            try:
                if not joined:
                    yield from self._call(
                        "registerDatanode",
                        pb.RegisterDatanodeRequestProto(registration=self._node.registration),
                    )
                    self._heartbeat_due_ms = 0
                    self._reports.registered()
                    joined = True
                yield from self._do_what_is_due()
                yield Wait(lambda: bool(self.news), self._heartbeat_due_ms)
            except _Unknown:
                joined = False
            except (errors.HowdahError, OSError) as error:
                self._world.note(self._node, f"namenode: {type(error).__name__} {error}")
                self._heartbeat_due_ms = 0
                yield from self._world.sleep(1.0)

    def _do_what_is_due(self) -> Steps[None]:
        if self._world.now_ms >= self._heartbeat_due_ms:
            yield from self._heartbeat()
        if self._reports.may_report(self._world.now_s):
            yield from self._full_report()
        yield from self._tell_news()

    def _call(self, method: str, request: Message) -> Steps[Message]:
        try:
            return (
                yield from self._namenode.call(
                    self._process, method, request, self._node.address.ip
                )
            )
        except errors.UnregisteredNode as error:
            raise _Unknown from error

    def _heartbeat(self) -> Steps[None]:
        due_ms = self._world.now_ms + round(HEARTBEAT_S * 1000)
        storage = types_pb2.StorageReportProto(
            storageUuid=self._node.volume.storage_id,
            capacity=GIB,
            remaining=GIB - self._node.used_bytes,
            storage=reports.storage_of(self._node.volume),
        )
        answer = yield from self._call(
            "sendHeartbeat",
            pb.HeartbeatRequestProto(
                registration=self._node.registration,
                reports=[storage],
                requestFullBlockReportLease=self._reports.wants_lease(self._world.now_s),
            ),
        )
        assert isinstance(answer, pb.HeartbeatResponseProto)
        self._heartbeat_due_ms = due_ms
        self._reports.granted(answer.fullBlockReportLeaseId)
        claims = answer.haStatus.state == pb.NNHAStatusHeartbeatProto.ACTIVE
        self._node.claim.note_heartbeat(self.name, claims=claims, txid=answer.haStatus.txid)
        for order in decode_orders(answer.cmds):
            if isinstance(order, Register):
                raise _Unknown
            if self._node.claim.obeys(self.name, order):
                self._node.obey(order, self.name)

    def _full_report(self) -> Steps[None]:
        kept = [news for news in self.news if not isinstance(news, BlockNews)]
        listed = self._node.listed()
        self._reports.begin()
        self.news.clear()
        self.news.extend(kept)
        try:
            for request in reports.full_reports(
                self._node.registration,
                POOL_ID,
                [self._node.volume],
                {self._node.volume.storage_id: listed},
                report_id=1,
                lease_id=self._reports.lease_id,
                split_threshold=1000,
            ):
                answer = yield from self._call("blockReport", request)
                assert isinstance(answer, pb.BlockReportResponseProto)
                if answer.HasField("cmd") and Register() in decode_orders([answer.cmd]):
                    raise _Unknown
        except errors.InvalidReportLease as error:
            self._world.note(self._node, f"cannot report now: {error}")
            self._reports.lost()
        except (errors.HowdahError, _Unknown):
            self._reports.lost()
            raise
        else:
            self._reports.reported(self._world.now_s, 1.0)

    def _tell_news(self) -> Steps[None]:
        while self.news:
            news = list(self.news)
            of_blocks = [item for item in news if isinstance(item, BlockNews)]
            volumes = {self._node.volume.storage_id: self._node.volume}
            if of_blocks:
                yield from self._call(
                    "blockReceivedAndDeleted",
                    reports.incremental_report(
                        self._node.registration, POOL_ID, of_blocks, volumes
                    ),
                )
            for item in news:
                if isinstance(item, CorruptFound):
                    report = reports.bad_block_report(item, self._node.address, volumes)
                    try:
                        yield from self._call("reportBadBlocks", report)
                    except errors.StandbyError:
                        continue  # The active is told of it.
                elif isinstance(item, BlockSynchronized):
                    yield from self._commit(item)
            for _ in news:
                self.news.popleft()

    def _commit(self, recovery: BlockSynchronized) -> Steps[None]:
        try:
            yield from self._call("commitBlockSynchronization", reports.synchronization(recovery))
        except (errors.Unreachable, errors.CallTimeout, errors.SafeMode):
            raise
        except errors.HowdahError as error:
            self._world.note(self._node, f"recovery {recovery.new_stamp} is not taken: {error}")
