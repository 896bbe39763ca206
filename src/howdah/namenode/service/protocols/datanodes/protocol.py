"""DatanodeProtocol: what datanodes tell, and the orders they take home (pure).

Mirrors Hadoop's DatanodeProtocolServerSideTranslatorPB, and of NameNodeRpcServer and
DatanodeManager.handleHeartbeat what answers it.

    versionRequest -> registerDatanode -> blockReport, then sendHeartbeat for ever,
    blockReceivedAndDeleted as replicas come and go

A node that is not known, since the namenode restarted or declared it dead, is
told to register again by its heartbeat's answer. So is one that believes that it
has reported, while the namenode waits for its report: the registration of a process
that has died may be overtaken by the registration and the report of the next one. And
so is each one, some at a time, after this namenode has become active: what they hold
must be known for sure before anything is deleted.

A standby takes all reports and gives no orders but that one. It gives out no leases for
full reports before it has read the log to its end once: all of them would have to wait.
Every answer to a heartbeat has the role and the last transaction, by which a datanode
decides whose orders it obeys.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ClassVar, Final

from howdah import errors
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import bad_blocks, encoders
from howdah.namenode.service.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.service.protocols.datanodes import report_decoder
from howdah.namenode.service.protocols.datanodes.commands import DatanodeCommands, register_command
from howdah.namenode.service.protocols.datanodes.registration import Registrations
from howdah.namenode.service.writing.block_recovery import BlockRecovery, RecoveryResult
from howdah.namenode.state.blocks.datanodes import Datanode, Storage
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.namenode.state.blocks.report_leases import NO_LEASE, ReportLeases
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, Service, Slices
from howdah.runtime.log_throttle import LogThrottleBySubject

log = logging.getLogger(__name__)

_HA_STATES: Final = {
    "ACTIVE": pb.NNHAStatusHeartbeatProto.ACTIVE,
    "STANDBY": pb.NNHAStatusHeartbeatProto.STANDBY,
    "OBSERVER": pb.NNHAStatusHeartbeatProto.OBSERVER,
}
"""As heartbeats name the states in which they are answered."""
REPORT_OVERDUE_MS: Final = 600_000
"""So long after its registration a datanode that does not ask for a report's lease is told to
register again."""


class DatanodeProtocol:
    """The namenode as its datanodes see it.

    `replicas_changed` is called after reports, with the inodes whose blocks
    gained a finalized replica.
    """

    PROTOCOL: ClassVar = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"

    def __init__(
        self,
        namesystem: Namesystem,
        cluster: ClusterIdentity,
        recovery: BlockRecovery,
        replicas_changed: Callable[[list[int]], None],
        is_upgrade_finalized: Callable[[], bool] = lambda: False,
        ha_state: Callable[[], str] = lambda: "ACTIVE",
    ) -> None:
        """`is_upgrade_finalized`: datanodes may give up what they keep of before one.
        `ha_state` is a name of HAServiceStateProto."""
        self._ha_state = ha_state
        self._is_upgrade_finalized = is_upgrade_finalized
        self._namesystem = namesystem
        self._role = namesystem.role
        self._blocks = namesystem.block_manager.blocks
        self._datanode_manager = namesystem.datanode_manager
        self._datanodes = namesystem.datanode_manager.datanodes
        self._futures = LogThrottleBySubject(60_000)
        self._cluster = cluster
        self._recovery = recovery
        self._registrations = Registrations(namesystem, cluster, recovery)
        self._orders = DatanodeCommands(namesystem, cluster, recovery)
        self._replicas_changed = replicas_changed
        self._report_leases = ReportLeases(
            namesystem.settings.max_report_leases,
            namesystem.settings.report_lease_ms,
            first_id=namesystem.clock.wall_ms(),
        )
        namesystem.on_role.append(self._report_leases.begin_term)

    def service(self) -> Service:
        descriptor = pb.DESCRIPTOR.services_by_name["DatanodeProtocolService"]
        return Service(self.PROTOCOL, 1, descriptor, self)

    def version_request(
        self, request: pb.VersionRequestProto, caller: Caller
    ) -> pb.VersionResponseProto:
        return pb.VersionResponseProto(info=self._cluster.namespace_info())

    def register_datanode(
        self, request: pb.RegisterDatanodeRequestProto, caller: Caller
    ) -> pb.RegisterDatanodeResponseProto | Deferred:
        return self._registrations.register(request, caller)

    def _is_alive(self, uuid: str) -> bool:
        node = self._datanodes.get(uuid)
        return node is not None and node.alive

    def send_heartbeat(
        self, request: pb.HeartbeatRequestProto, caller: Caller
    ) -> pb.HeartbeatResponseProto:
        namesystem, state = self._namesystem, self._ha_state()
        ha_state = _HA_STATES.get(state, pb.NNHAStatusHeartbeatProto.STANDBY)
        gives_orders = self._role.writable and ha_state == pb.NNHAStatusHeartbeatProto.ACTIVE
        answer = pb.HeartbeatResponseProto()
        # One by one: arguments by name take a message twice as long.
        answer.fullBlockReportLeaseId = NO_LEASE
        answer.isSlownode = False
        status = answer.haStatus
        status.state = ha_state
        status.txid = namesystem.last_txid
        known = self._datanodes.get(request.registration.datanodeID.datanodeUuid)
        if known is not None:
            self._registrations.check_allowed(known.identity)
        try:
            node = self._registrations.known(request.registration, caller)
        except errors.UnregisteredNode:
            answer.cmds.append(register_command())
            return answer
        self._tell_rolling_upgrade(answer)
        self._tell_keys(node, answer)
        if request.requestFullBlockReportLease and not namesystem.is_behind:
            answer.fullBlockReportLeaseId = self._report_leases.request(
                node.identity.uuid, self._is_alive, namesystem.clock.monotonic_ms()
            )
        self._datanode_manager.heartbeat(node, report_decoder.heartbeat(request, self._datanodes))
        answer.isSlownode = self._datanode_manager.is_slow(node)
        if not request.requestFullBlockReportLease and self._wants_report(node):
            answer.cmds.append(register_command())
        elif gives_orders:
            answer.cmds.extend(self._orders.pop_commands(node))
        namesystem.update_safe_mode()
        return answer

    def _tell_keys(self, node: Datanode, answer: pb.HeartbeatResponseProto) -> None:
        """Keys of block tokens that were made since the node was told of them, by a standby, too:
        each namenode has its own."""
        tokens = self._namesystem.block_tokens
        if tokens is None or node.told_keys == tokens.generation:
            return
        node.told_keys = tokens.generation
        answer.cmds.append(
            pb.DatanodeCommandProto(
                cmdType=pb.DatanodeCommandProto.KeyUpdateCommand,
                keyUpdateCmd=pb.KeyUpdateCommandProto(keys=tokens.exported()),
            )
        )

    def _tell_rolling_upgrade(self, answer: pb.HeartbeatResponseProto) -> None:
        """Under way: datanodes keep what they delete. Finalized: they give it up. With no word
        of either they leave it as it is. Datanodes before Hadoop 2.7 know the first field
        alone, which is never about one that is over."""
        upgrade = self._namesystem.namespace.rolling_upgrade
        if not upgrade.is_under_way and upgrade.finalized is None:
            return
        status = answer.rollingUpgradeStatusV2
        status.blockPoolId = self._cluster.block_pool_id
        status.finalized = not upgrade.is_under_way
        if upgrade.is_under_way:
            answer.rollingUpgradeStatus.CopyFrom(status)

    def _wants_report(self, node: Datanode) -> bool:
        """Whether the datanode, which asks for no lease, is to be told now to register again, so
        that it reports in full."""
        now_ms = self._namesystem.clock.monotonic_ms()
        uuid = node.identity.uuid
        if self._report_leases.is_out(uuid, now_ms):
            return False
        if node.must_report:
            return not self._namesystem.is_behind and self._report_leases.is_due(uuid, now_ms)
        if (
            node.reported_registration == node.registrations
            or now_ms - node.registered_ms < REPORT_OVERDUE_MS
        ):
            return False
        log.warning(
            "datanode %s has sent no full report since it registered %d s ago, and asks for "
            "no lease to send one: it is told to register again",
            node.name,
            (now_ms - node.registered_ms) // 1000,
        )
        return True

    def cache_report(
        self, request: pb.CacheReportRequestProto, caller: Caller
    ) -> pb.CacheReportResponseProto:
        """All that a datanode has in its cache."""
        node = self._registrations.known(request.registration, caller)
        if not self._namesystem.caching.reported(node, request.blocks, len(request.blocks)):
            log.debug("the cache report of datanode %s is not heeded", node.name)
        return pb.CacheReportResponseProto()

    def block_report(self, request: pb.BlockReportRequestProto, caller: Caller) -> Slices:
        """All replicas of some storages, in slices that let others in between.

        A datanode that has to register first is told so by an order. Hadoop's would end its
        service for good on an error that says it, and may well report before it has obeyed the
        order to register that the answer to its heartbeat brought: they have a thread each.
        """
        self._check_pool(request.blockPoolId)
        try:
            node = self._registrations.known(request.registration, caller)
        except errors.UnregisteredNode as error:
            log.info("a full report counts for nothing, its datanode registers first: %s", error)
            answer = pb.BlockReportResponseProto()
            answer.cmd.CopyFrom(register_command())
            return answer
        uuid, context, registration = node.identity.uuid, request.context, node.registrations
        self._report_leases.check(uuid, context.leaseId, self._namesystem.clock.monotonic_ms())
        is_asked_for = self._report_leases.is_of_this_term(context.leaseId)
        for report in request.reports:
            if report.blocks and not report.blocksBuffers:
                raise errors.UnsupportedOperation(
                    f"datanode {node.name} sends its block report as a list of longs; "
                    "only buffers are read"
                )
            storage = node.storage(report.storage.storageUuid, report.storage.storageType)
            notes = self._namesystem.safe_mode.on and self._role.writable
            listed = block_lists.decode(
                report.numberOfBlocks,
                report.blocksBuffers,
                self._noting_future if notes else report_decoder.reported_replica,
            )
            yield from self._blocks.full_report(
                storage, listed, is_asked_for=is_asked_for, shows_orphaned=notes
            )
        is_asked_for = self._report_leases.is_of_this_term(context.leaseId)
        if context.curRpc + 1 >= context.totalRpcs:
            node.reported_registration = registration
            if is_asked_for:
                node.must_report = False
            elif self._role.writable and not all(s.reported for s in node.storages.values()):
                # It was not asked for, and leaves open what the change of roles left open.
                node.must_report = True
            if context.leaseId:
                self._report_leases.release(uuid)
        if node.last_report_ms is None or node.last_report_ms < node.registered_ms:
            log.info(
                "datanode %s has reported %d replicas on %d volumes",
                node.name,
                node.block_count,
                len(node.storages),
            )
        node.last_report_ms = self._namesystem.clock.monotonic_ms()
        self._after_reports()
        self._warn_of_future(node)
        answer = pb.BlockReportResponseProto()
        if self._role.writable and self._is_upgrade_finalized():
            # Hadoop's active says so to everybody, each time, whether or not there was one.
            answer.cmd.cmdType = pb.DatanodeCommandProto.FinalizeCommand
            answer.cmd.finalizeCmd.blockPoolId = self._cluster.block_pool_id
        return answer

    def _noting_future(
        self, block_id: int, length_bytes: int, generation_stamp: int, state: int
    ) -> ReportedReplica:
        """A replica of which the metadata that the namenode was started with may know nothing.
        It knows all about those that a report is not asked for one by one."""
        if generation_stamp > self._namesystem.namespace.generation_stamp:
            self._namesystem.safe_mode.found_future(block_id, length_bytes)
        return report_decoder.reported_replica(block_id, length_bytes, generation_stamp, state)

    def block_received_and_deleted(
        self, request: pb.BlockReceivedAndDeletedRequestProto, caller: Caller
    ) -> pb.BlockReceivedAndDeletedResponseProto:
        """News of single replicas. A datanode that has to register first may tell them again
        then: an error that says more would end the service of one of Hadoop's for good."""
        self._check_pool(request.blockPoolId)
        try:
            node = self._registrations.known(request.registration, caller)
        except errors.UnregisteredNode as error:
            raise errors.RetriableError(f"{error}: it registers first") from error
        for part in request.blocks:
            kind = part.storage.storageType if part.HasField("storage") else types_pb2.DISK
            storage = node.storage(part.storageUuid, kind)
            for info in part.blocks:
                block_id = encoders.signed(info.block.blockId)
                if info.status == pb.ReceivedDeletedBlockInfoProto.DELETED:
                    self._blocks.deleted(storage, block_id)
                    continue
                received = info.status == pb.ReceivedDeletedBlockInfoProto.RECEIVED
                self._blocks.has_news(
                    storage,
                    ReportedReplica(
                        block_id,
                        info.block.numBytes,
                        info.block.genStamp,
                        ReplicaState.FINALIZED if received else ReplicaState.RBW,
                    ),
                )
                if received and info.deleteHint:
                    source = self._datanodes.get(info.deleteHint)
                    if source is not None:
                        self._blocks.moved(storage, block_id, source)
        self._after_reports()
        self._warn_of_future(node)
        return pb.BlockReceivedAndDeletedResponseProto()

    def _after_reports(self) -> None:
        inode_ids = list(dict.fromkeys(block.file_id for block in self._blocks.take_finalized()))
        self._namesystem.update_safe_mode()
        if inode_ids:
            self._replicas_changed(inode_ids)

    def _warn_of_future(self, node: Datanode) -> None:
        replica = self._blocks.take_future()
        if replica is None:
            return
        kept_back = self._futures.suppressed_count(
            node.identity.uuid, self._namesystem.clock.monotonic_ms()
        )
        if kept_back is not None:
            log.warning(
                "datanode %s has replicas that are newer than the metadata of this namenode: one "
                "of blk_%d_%d, and generation stamp %d was given out last. Another namenode may "
                "be active since, or this one was started with old metadata. These replicas are "
                "kept; 'dfsadmin -safemode forceExit' has them deleted (%d more reports since "
                "this line was last logged of it)",
                node.name,
                replica.block_id,
                replica.generation_stamp,
                self._namesystem.namespace.generation_stamp,
                kept_back,
            )

    def _check_pool(self, pool_id: str) -> None:
        if pool_id != self._cluster.block_pool_id:
            raise errors.RemoteError(
                f"the report is about block pool {pool_id}, this namenode has "
                f"{self._cluster.block_pool_id}"
            )

    def report_bad_blocks(
        self, request: pb.ReportBadBlocksRequestProto, caller: Caller
    ) -> pb.ReportBadBlocksResponseProto:
        bad_blocks.note(self._namesystem, request.blocks)
        return pb.ReportBadBlocksResponseProto()

    def commit_block_synchronization(
        self, request: pb.CommitBlockSynchronizationRequestProto, caller: Caller
    ) -> pb.CommitBlockSynchronizationResponseProto:
        """A primary tells what came of a recovery. Datanodes that are not known, because
        the namenode was started anew, are left out: they will report by themselves."""
        targets: list[Storage] = []
        indices: list[int] = []
        for index, (target, storage_id) in enumerate(
            zip(request.newTaragets, request.newTargetStorages, strict=False)
        ):
            node = self._datanodes.get(target.datanodeUuid)
            storage = node.storages.get(storage_id) if node is not None else None
            if storage is not None:
                targets.append(storage)
                indices.append(index)
        self._recovery.commit(
            RecoveryResult(
                encoders.client_block(self._namesystem.settings, request.block),
                request.newGenStamp,
                request.newLength,
                request.closeFile,
                request.deleteBlock,
                tuple(targets),
                tuple(indices),
            )
        )
        self._after_reports()
        return pb.CommitBlockSynchronizationResponseProto()

    def error_report(
        self, request: pb.ErrorReportRequestProto, caller: Caller
    ) -> pb.ErrorReportResponseProto:
        """A datanode's trouble. A bad disk is taken out by the heartbeats that follow."""
        node = self._registrations.known(request.registartion, caller)
        if request.errorCode == pb.ErrorReportRequestProto.FATAL_DISK_ERROR:
            self._datanode_manager.lose(node)
        return pb.ErrorReportResponseProto()
