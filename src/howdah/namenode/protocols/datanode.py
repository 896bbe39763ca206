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
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from howdah import errors
from howdah.namenode.blocks.datanode_claims import (
    Claim,
    Latency,
    Rivals,
    address_of,
    check_sound,
)
from howdah.namenode.blocks.datanodes import (
    Datanode,
    DatanodeIdentity,
    StorageReport,
    Transfer,
    VolumeFailures,
)
from howdah.namenode.blocks.replica_reports import ReplicaState, ReportedReplica
from howdah.namenode.blocks.report_leases import ReportLeases
from howdah.namenode.calls.core import Core
from howdah.namenode.inodes.inodes import Block, BlockState
from howdah.namenode.protocols import messages
from howdah.namenode.protocols.cluster_identity import ClusterIdentity
from howdah.namenode.rarely import Rarely
from howdah.namenode.writing.block_recovery import BlockRecovery, RecoveryOrder, RecoveryResult
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.service import Caller, Deferred, Service, Slices
from howdah.transfer import block_lists

log = logging.getLogger(__name__)

_STATES: Final = tuple(ReplicaState)
_HA_STATES: Final = {
    "ACTIVE": pb.NNHAStatusHeartbeatProto.ACTIVE,
    "STANDBY": pb.NNHAStatusHeartbeatProto.STANDBY,
    "OBSERVER": pb.NNHAStatusHeartbeatProto.OBSERVER,
}
"""As heartbeats name the states in which they are answered."""
_MOST_FAILURES: Final = 1000
"""Failed volumes of a datanode that are remembered."""
_SAID_AGAIN_MS: Final = 60_000
_MOST_MS: Final = (1 << 63) - 1
MAX_VOLUME_BYTES: Final = 1 << 50
REPORT_OVERDUE_MS: Final = 600_000
"""So long after its registration a datanode that does not ask for a report's lease is told to
register again."""


class DatanodeProtocol:
    """The namenode as its datanodes see it.

    `replicas_changed` is called after reports, with the inodes whose blocks
    gained a finalized replica.
    """

    PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"

    def __init__(
        self,
        core: Core,
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
        self._core = core
        self._cluster = cluster
        self._recovery = recovery
        self._replicas_changed = replicas_changed
        self._storage_info = cluster.storage_info()
        self._report_leases = ReportLeases(
            core.settings.max_report_leases,
            core.settings.report_lease_ms,
            first_id=core.clock.wall_ms(),
        )
        core.on_role.append(self._report_leases.begin_term)
        self._rivals = Rivals(lambda: core.settings.datanode_moves_ms)
        self._two_of_a_kind = Rarely(_SAID_AGAIN_MS)

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
        """Answered at once, or when somebody has told where in the network the node is."""
        core = self._core
        registration = request.registration
        told = registration.datanodeID
        ip = address_of(caller.address, told.ipAddr)
        check_sound(told, ip)
        self._check_cluster(registration, f"{ip}:{told.xferPort}")
        identity = DatanodeIdentity(
            uuid=told.datanodeUuid,
            ip=ip,
            hostname=told.hostName or ip,
            transfer_port=told.xferPort,
            info_port=told.infoPort,
            ipc_port=told.ipcPort,
            info_secure_port=told.infoSecurePort,
            software_version=registration.softwareVersion,
        )
        self._check_allowed(identity)
        self._check_rival(identity)
        location = core.racks.known_location(ip, identity.hostname)
        if location is not None:
            return self._register(identity, location, registration)

        def register(found: str) -> pb.RegisterDatanodeResponseProto:
            # The lists of hosts may be others by now, and so may whoever has this uuid.
            self._check_allowed(identity)
            self._check_rival(identity)
            return self._register(identity, found, registration)

        answer = Deferred()
        core.racks.look_up(ip, answer.fed_by("registerDatanode", register))
        return answer

    def _register(
        self,
        identity: DatanodeIdentity,
        location: str,
        registration: pb.DatanodeRegistrationProto,
    ) -> pb.RegisterDatanodeResponseProto:
        core = self._core
        now_ms = core.clock.monotonic_ms()
        known = core.datanodes.get(identity.uuid)
        before = None if known is None else (known.alive, now_ms - known.last_heartbeat_ms)
        node, displaced = core.datanodes.register(identity, location, now_ms)
        _log_registration(node, before)
        core.blocks.registered(node)
        core.reconstruction.registered(node)
        core.caching.registered(node)
        self._recovery.registered(node)
        for other in displaced:
            log.warning(
                "datanode %s is known as %s from now on: %s, which had that address, is forgotten "
                "with its %d replicas",
                node.name,
                identity.uuid,
                other.identity.uuid,
                other.block_count,
            )
            core.blocks.node_gone(other)
            core.caching.node_gone(other)
            core.membership.forget(other)
        core.membership.obey(node, core.hosts, core.clock.wall_ms())
        answer = pb.RegisterDatanodeResponseProto(registration=registration)
        # All that Hadoop's namenode sends back, whatever the datanode left out.
        answer.registration.datanodeID.ipAddr = identity.ip
        answer.registration.datanodeID.infoSecurePort = identity.info_secure_port
        answer.registration.keys.currentKey.keyBytes = registration.keys.currentKey.keyBytes
        return answer

    def _check_allowed(self, identity: DatanodeIdentity) -> None:
        if not self._core.hosts.allows(identity):
            raise errors.DisallowedDatanode(
                f"Datanode denied communication with namenode because the host is not in the "
                f"include-list: {identity.transfer_address} ({identity.uuid})"
            )

    def _check_rival(self, identity: DatanodeIdentity) -> None:
        """Raises DisallowedDatanode if there are two datanodes of this uuid, and RetriableError
        while that is not known."""
        core = self._core
        known = core.datanodes.get(identity.uuid)
        address = identity.transfer_address
        if known is None or known.name == address:
            return
        now_ms = core.clock.monotonic_ms()
        silent_s = (now_ms - known.last_heartbeat_ms) / 1000
        match self._rivals.judge(known, address, now_ms):
            case Claim.IT_HAS_MOVED:
                log.warning(
                    "datanode %s has moved from %s, where it was last heard %.0f s ago, to %s",
                    identity.uuid,
                    known.name,
                    silent_s,
                    address,
                )
            case Claim.TOO_EARLY:
                raise errors.RetriableError(
                    f"datanode {identity.uuid} was at {known.name} {silent_s:.1f} s ago, and one "
                    f"at {address} says that it is the same: it is registered when nothing more is "
                    f"heard of {known.name}"
                )
            case Claim.ANOTHER_LIVES:
                said = (
                    f"two datanodes have the uuid {identity.uuid}: {known.name}, which is alive "
                    f"and keeps it, and {address}, which is refused. One was started on a copy of "
                    "the other's data directories"
                )
                kept_back = self._two_of_a_kind.due(now_ms)
                if kept_back is not None:
                    log.error("%s (said %d times since this line was last logged)", said, kept_back)
                raise errors.DisallowedDatanode(
                    f"{said}. Stop one of them. If it is to be a datanode of its own, delete "
                    "its data directories"
                )

    def _check_cluster(self, registration: pb.DatanodeRegistrationProto, address: str) -> None:
        info = registration.storageInfo
        cluster = self._cluster
        if (info.namespceID, info.clusterID) != (cluster.namespace_id, cluster.cluster_id):
            raise errors.UnregisteredNode(
                f"datanode {address} ({registration.datanodeID.datanodeUuid}) belongs to cluster "
                f"{info.clusterID}, namespace {info.namespceID}; this is cluster "
                f"{cluster.cluster_id}, namespace {cluster.namespace_id}"
            )

    def _known(self, registration: pb.DatanodeRegistrationProto, caller: Caller) -> Datanode:
        """The live datanode that calls. Raises UnregisteredNode: it must register (again)."""
        told = registration.datanodeID
        node = self._core.datanodes.known(told.datanodeUuid, f"{told.ipAddr}:{told.xferPort}")
        if told.xferPort != node.identity.transfer_port:
            raise errors.UnregisteredNode(
                f"Data node {told.ipAddr}:{told.xferPort} is attempting to report storage ID "
                f"{told.datanodeUuid}. Node {node.name} is expected to serve this storage."
            )
        here = node.identity.ip
        if caller.address != here and address_of(caller.address, here) != here:
            raise errors.UnregisteredNode(
                f"Data node {told.datanodeUuid} is at {node.name}, and this call comes from "
                f"{caller.address}: a datanode that has moved registers first"
            )
        return node

    def _is_alive(self, uuid: str) -> bool:
        node = self._core.datanodes.get(uuid)
        return node is not None and node.alive

    def send_heartbeat(
        self, request: pb.HeartbeatRequestProto, caller: Caller
    ) -> pb.HeartbeatResponseProto:
        core, state = self._core, self._ha_state()
        ha_state = _HA_STATES.get(state, pb.NNHAStatusHeartbeatProto.STANDBY)
        gives_orders = core.writable and ha_state == pb.NNHAStatusHeartbeatProto.ACTIVE
        answer = pb.HeartbeatResponseProto(
            haStatus=pb.NNHAStatusHeartbeatProto(state=ha_state, txid=core.last_txid),
            fullBlockReportLeaseId=0,
            isSlownode=False,
        )
        known = core.datanodes.get(request.registration.datanodeID.datanodeUuid)
        if known is not None:
            self._check_allowed(known.identity)
        try:
            node = self._known(request.registration, caller)
        except errors.UnregisteredNode:
            answer.cmds.append(_register_command())
            return answer
        self._tell_rolling_upgrade(answer)
        if request.requestFullBlockReportLease and not core.is_behind:
            answer.fullBlockReportLeaseId = self._report_leases.request(
                node.identity.uuid, self._is_alive, core.clock.monotonic_ms()
            )
        now_ms = core.clock.monotonic_ms()
        if request.slowPeers:
            core.slow_peers.reported(node, self._slow_peers(request), now_ms)
        if request.slowDisks:
            core.slow_peers.disks_reported(node, _slow_disks(request), now_ms)
        answer.isSlownode = node in core.slow_peers.slow(now_ms)
        node.transfers_running = request.xmitsInProgress
        node.cache_capacity_bytes = request.cacheCapacity
        node.cache_used_bytes = request.cacheUsed
        core.caching.heard_of(node)
        node.volume_failures = _volume_failures(request.volumeFailureSummary)
        gone = core.datanodes.heartbeat(
            node,
            [_storage_report(report) for report in request.reports],
            request.xceiverCount,
            core.clock.monotonic_ms(),
        )
        for storage in gone:
            if storage.reported or storage.block_ids:
                log.warning(
                    "volume %s of datanode %s %s: its %d replicas do not count any more",
                    storage.storage_id,
                    node.name,
                    "has failed" if storage.failed else "is gone",
                    len(storage.block_ids),
                )
            core.blocks.storage_gone(storage)
        if not request.requestFullBlockReportLease and self._wants_report(node):
            answer.cmds.append(_register_command())
        elif gives_orders:
            answer.cmds.extend(self._orders(node))
        core.update_safe_mode()
        return answer

    def _slow_peers(self, request: pb.HeartbeatRequestProto) -> dict[Datanode, Latency]:
        found = {}
        for report in request.slowPeers:
            peer = self._core.datanodes.at(report.dataNodeId)
            if peer is not None:
                found[peer] = Latency(
                    _figure(report.aggregateLatency),
                    _figure(report.median),
                    _figure(report.mad),
                    _figure(report.upperLimitLatency),
                )
        return found

    def _tell_rolling_upgrade(self, answer: pb.HeartbeatResponseProto) -> None:
        """Under way: datanodes keep what they delete. Finalized: they give it up. With no word
        of either they leave it as it is. Datanodes before Hadoop 2.7 know the first field
        alone, which is never about one that is over."""
        upgrade = self._core.namespace.rolling_upgrade
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
        now_ms = self._core.clock.monotonic_ms()
        uuid = node.identity.uuid
        if self._report_leases.is_out(uuid, now_ms):
            return False
        if node.must_report:
            return not self._core.is_behind and self._report_leases.ask(uuid, now_ms)
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

    def _orders(self, node: Datanode) -> list[pb.DatanodeCommandProto]:
        orders = self._settings_for(node)
        pool_id = self._cluster.block_pool_id
        recoveries = self._recovery.take_orders(node)
        if recoveries:
            orders.append(
                pb.DatanodeCommandProto(
                    cmdType=pb.DatanodeCommandProto.BlockRecoveryCommand,
                    recoveryCmd=pb.BlockRecoveryCommandProto(
                        blocks=[self._recovering(order) for order in recoveries]
                    ),
                )
            )
        if node.to_transfer:
            command = pb.BlockCommandProto(
                action=pb.BlockCommandProto.TRANSFER, blockPoolId=pool_id
            )
            streams = self._core.reconstruction.streams
            room = streams.may_run(node) - node.transfers_running
            while node.to_transfer and len(command.blocks) < room:
                order = node.to_transfer.popleft()
                block = self._core.namespace.blocks.get(order.block_id)
                if block is None or block.state is not BlockState.COMPLETE:
                    # Deleted, or open again for an append, since the order was given.
                    continue
                _add_transfer(command, block, order)
            if command.blocks:
                orders.append(_block_command(command))
        deletions = self._deletions(node)
        if deletions:
            command = pb.BlockCommandProto(
                action=pb.BlockCommandProto.INVALIDATE, blockPoolId=pool_id
            )
            for block_id, stamp in deletions:
                command.blocks.add(blockId=block_id, genStamp=stamp)
                command.targets.add()
            orders.append(_block_command(command))
        to_cache, to_uncache = self._core.caching.orders(node)
        for action, block_ids in (
            (pb.BlockIdCommandProto.CACHE, to_cache),
            (pb.BlockIdCommandProto.UNCACHE, to_uncache),
        ):
            if block_ids:
                orders.append(
                    pb.DatanodeCommandProto(
                        cmdType=pb.DatanodeCommandProto.BlockIdCommand,
                        blkIdCmd=pb.BlockIdCommandProto(
                            action=action, blockPoolId=pool_id, blockIds=block_ids
                        ),
                    )
                )
        return orders

    def cache_report(
        self, request: pb.CacheReportRequestProto, caller: Caller
    ) -> pb.CacheReportResponseProto:
        """All that a datanode has in its cache."""
        node = self._known(request.registration, caller)
        if not self._core.caching.reported(node, request.blocks, len(request.blocks)):
            log.debug("the cache report of datanode %s is not heeded", node.name)
        return pb.CacheReportResponseProto()

    def _deletions(self, node: Datanode) -> list[tuple[int, int]]:
        core = self._core
        if core.safe_mode.on:
            return []
        return core.blocks.invalidation.take(node, core.settings.deletions_per_command)

    @staticmethod
    def _settings_for(node: Datanode) -> list[pb.DatanodeCommandProto]:
        bandwidth, node.new_bandwidth = node.new_bandwidth, None
        if bandwidth is None:
            return []
        return [
            pb.DatanodeCommandProto(
                cmdType=pb.DatanodeCommandProto.BalancerBandwidthCommand,
                balancerCmd=pb.BalancerBandwidthCommandProto(bandwidth=bandwidth),
            )
        ]

    def block_report(self, request: pb.BlockReportRequestProto, caller: Caller) -> Slices:
        """All replicas of some storages, in slices that let others in between.

        A datanode that has to register first is told so by an order. Hadoop's would end its
        service for good on an error that says it, and may well report before it has obeyed the
        order to register that the answer to its heartbeat brought: they have a thread each.
        """
        self._check_pool(request.blockPoolId)
        try:
            node = self._known(request.registration, caller)
        except errors.UnregisteredNode as error:
            log.info("a full report counts for nothing, its datanode registers first: %s", error)
            answer = pb.BlockReportResponseProto()
            answer.cmd.CopyFrom(_register_command())
            return answer
        uuid, context, registration = node.identity.uuid, request.context, node.registrations
        self._report_leases.check(uuid, context.leaseId, self._core.clock.monotonic_ms())
        is_asked_for = self._report_leases.is_of_this_term(context.leaseId)
        for report in request.reports:
            if report.blocks and not report.blocksBuffers:
                raise errors.UnsupportedOperation(
                    f"datanode {node.name} sends its block report as a list of longs; "
                    "only buffers are read"
                )
            storage = node.storage(report.storage.storageUuid, report.storage.storageType)
            listed = block_lists.decode(report.numberOfBlocks, report.blocksBuffers, _reported)
            if self._core.safe_mode.on and self._core.writable:
                listed = self._noting_future(listed)
            yield from self._core.blocks.full_report(storage, listed, is_asked_for=is_asked_for)
        is_asked_for = self._report_leases.is_of_this_term(context.leaseId)
        if context.curRpc + 1 >= context.totalRpcs:
            node.reported_registration = registration
            if is_asked_for:
                node.must_report = False
            elif self._core.writable and not all(s.reported for s in node.storages.values()):
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
        node.last_report_ms = self._core.clock.monotonic_ms()
        self._after_reports()
        answer = pb.BlockReportResponseProto()
        if self._core.writable and self._is_upgrade_finalized():
            # Hadoop's active says so to everybody, each time, whether or not there was one.
            answer.cmd.cmdType = pb.DatanodeCommandProto.FinalizeCommand
            answer.cmd.finalizeCmd.blockPoolId = self._cluster.block_pool_id
        return answer

    def _noting_future(self, listed: Iterable[ReportedReplica]) -> Iterator[ReportedReplica]:
        """Replicas of which the metadata that the namenode was started with cannot know."""
        core = self._core
        for replica in listed:
            if replica.generation_stamp > core.namespace.generation_stamp:
                core.safe_mode.found_future(replica.block_id, replica.length_bytes)
            yield replica

    def block_received_and_deleted(
        self, request: pb.BlockReceivedAndDeletedRequestProto, caller: Caller
    ) -> pb.BlockReceivedAndDeletedResponseProto:
        """News of single replicas. A datanode that has to register first may tell them again
        then: an error that says more would end the service of one of Hadoop's for good."""
        self._check_pool(request.blockPoolId)
        try:
            node = self._known(request.registration, caller)
        except errors.UnregisteredNode as error:
            raise errors.RetriableError(f"{error}: it registers first") from error
        for part in request.blocks:
            kind = part.storage.storageType if part.HasField("storage") else types_pb2.DISK
            storage = node.storage(part.storageUuid, kind)
            for info in part.blocks:
                if info.status == pb.ReceivedDeletedBlockInfoProto.DELETED:
                    self._core.blocks.deleted(storage, info.block.blockId)
                    continue
                received = info.status == pb.ReceivedDeletedBlockInfoProto.RECEIVED
                self._core.blocks.has_news(
                    storage,
                    ReportedReplica(
                        info.block.blockId,
                        info.block.numBytes,
                        info.block.genStamp,
                        ReplicaState.FINALIZED if received else ReplicaState.RBW,
                    ),
                )
                if received and info.deleteHint:
                    source = self._core.datanodes.get(info.deleteHint)
                    if source is not None:
                        self._core.blocks.moved(storage, info.block.blockId, source)
        self._after_reports()
        return pb.BlockReceivedAndDeletedResponseProto()

    def _after_reports(self) -> None:
        inode_ids = list(
            dict.fromkeys(block.file_id for block in self._core.blocks.take_finalized())
        )
        self._core.update_safe_mode()
        if inode_ids:
            self._replicas_changed(inode_ids)

    def _check_pool(self, pool_id: str) -> None:
        if pool_id != self._cluster.block_pool_id:
            raise errors.RemoteError(
                f"the report is about block pool {pool_id}, this namenode has "
                f"{self._cluster.block_pool_id}"
            )

    def report_bad_blocks(
        self, request: pb.ReportBadBlocksRequestProto, caller: Caller
    ) -> pb.ReportBadBlocksResponseProto:
        for located in request.blocks:
            for node in located.locs:
                named = messages.client_block(self._core.settings, located.b)
                self._core.blocks.found_corrupt(
                    self._core.datanodes.get(node.id.datanodeUuid),
                    named.block_id,
                    named.generation_stamp,
                )
        return pb.ReportBadBlocksResponseProto()

    def _recovering(self, order: RecoveryOrder) -> pb.RecoveringBlockProto:
        """The block with what is known of its length: the recovery is not to end below.
        For a cut it is named as it was, and `truncateBlock` is what it is to be: itself,
        or another block."""
        block = order.block
        recovering = pb.RecoveringBlockProto(
            newGenStamp=order.recovery_id,
            block=messages.located_block(self._core.settings, order.source, 0, list(order.places)),
        )
        recovering.block.b.numBytes = order.source.length_bytes
        if block.truncating:
            recovering.truncateBlock.blockId = block.block_id
            recovering.truncateBlock.genStamp = order.recovery_id
            recovering.truncateBlock.numBytes = block.length_bytes
        return recovering

    def commit_block_synchronization(
        self, request: pb.CommitBlockSynchronizationRequestProto, caller: Caller
    ) -> pb.CommitBlockSynchronizationResponseProto:
        """A primary tells what came of a recovery. Datanodes that are not known, because
        the namenode was started anew, are left out: they will report by themselves."""
        targets = []
        for told, storage_id in zip(request.newTaragets, request.newTargetStorages, strict=False):
            node = self._core.datanodes.get(told.datanodeUuid)
            storage = node.storages.get(storage_id) if node is not None else None
            if storage is not None:
                targets.append(storage)
        self._recovery.commit(
            RecoveryResult(
                messages.client_block(self._core.settings, request.block),
                request.newGenStamp,
                request.newLength,
                request.closeFile,
                request.deleteBlock,
                tuple(targets),
            )
        )
        self._after_reports()
        return pb.CommitBlockSynchronizationResponseProto()

    def error_report(
        self, request: pb.ErrorReportRequestProto, caller: Caller
    ) -> pb.ErrorReportResponseProto:
        """A datanode's trouble. A bad disk is taken out by the heartbeats that follow."""
        node = self._known(request.registartion, caller)
        if request.errorCode == pb.ErrorReportRequestProto.FATAL_DISK_ERROR:
            self._core.datanodes.lose(node)
            self._core.blocks.node_gone(node)
            self._core.caching.node_gone(node)
        return pb.ErrorReportResponseProto()


def _log_registration(node: Datanode, before: tuple[bool, int] | None) -> None:
    """`before`: whether it lived, and for how long it had said nothing."""
    if before is None:
        how = "for the first time since this namenode was started"
    else:
        was_alive, silent_ms = before
        how = f"again, after {silent_ms / 1000:.0f} s" + ("" if was_alive else "; it was lost")
    log.info(
        "datanode %s (%s, version %s) registered in rack %s %s; its block report comes next",
        node.name,
        node.identity.uuid,
        node.identity.software_version,
        node.location,
        how,
    )


def _volume_failures(proto: pb.VolumeFailureSummaryProto) -> VolumeFailures:
    return VolumeFailures(
        tuple(proto.failedStorageLocations[:_MOST_FAILURES]),
        min(proto.lastVolumeFailureDate, _MOST_MS),
        min(proto.estimatedCapacityLostTotal, MAX_VOLUME_BYTES),
    )


def _slow_disks(request: pb.HeartbeatRequestProto) -> Iterator[tuple[str, dict[str, float]]]:
    for report in request.slowDisks:
        latencies = {
            "METADATA": _figure(report.meanMetadataOpLatency),
            "READ": _figure(report.meanReadIoLatency),
            "WRITE": _figure(report.meanWriteIoLatency),
        }
        yield report.basePath, {name: mean for name, mean in latencies.items() if mean > 0}


def _figure(told: float) -> float:
    return told if math.isfinite(told) else 0.0


def _storage_report(report: types_pb2.StorageReportProto) -> StorageReport:
    return StorageReport(
        storage_id=report.storage.storageUuid or report.storageUuid,
        storage_type=report.storage.storageType,
        failed=report.failed,
        capacity_bytes=_volume_bytes(report.capacity),
        used_bytes=_volume_bytes(report.dfsUsed),
        remaining_bytes=_volume_bytes(report.remaining),
        pool_used_bytes=_volume_bytes(report.blockPoolUsed),
        non_dfs_used_bytes=_volume_bytes(report.nonDfsUsed),
    )


def _volume_bytes(told: int) -> int:
    """What a volume can have, so that sums over a cluster fit the field that they are
    told in: a figure below zero, in an unsigned field, counts as nothing."""
    return min(max(messages.signed(told), 0), MAX_VOLUME_BYTES)


def _reported(
    block_id: int, length_bytes: int, generation_stamp: int, state: int
) -> ReportedReplica:
    if state >= len(_STATES):
        raise errors.ProtocolViolation(f"a replica is reported in state {state}")
    return ReportedReplica(block_id, length_bytes, generation_stamp, _STATES[state])


def _register_command() -> pb.DatanodeCommandProto:
    return pb.DatanodeCommandProto(
        cmdType=pb.DatanodeCommandProto.RegisterCommand, registerCmd=pb.RegisterCommandProto()
    )


def _block_command(command: pb.BlockCommandProto) -> pb.DatanodeCommandProto:
    return pb.DatanodeCommandProto(cmdType=pb.DatanodeCommandProto.BlockCommand, blkCmd=command)


def _add_transfer(command: pb.BlockCommandProto, block: Block, order: Transfer) -> None:
    command.blocks.add(
        blockId=block.block_id, genStamp=block.generation_stamp, numBytes=block.length_bytes
    )
    command.targets.add(datanodes=[messages.datanode_info(target.node) for target in order.targets])
    command.targetStorageUuids.add(storageUuids=[t.storage_id for t in order.targets])
    command.targetStorageTypes.add(storageTypes=[t.storage_type for t in order.targets])
