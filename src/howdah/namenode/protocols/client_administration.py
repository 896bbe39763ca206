"""The part of ClientProtocol that is about the cluster as a whole (pure).

Datanodes, figures, safe mode, the name directories: protobuf in, operations on the
core, protobuf out. `client_protocol.ClientProtocol` inherits these.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.blocks.datanodes import Datanode
from howdah.namenode.calls.administration import Administration, Done
from howdah.namenode.calls.core import Core
from howdah.namenode.calls.images import ImageCalls
from howdah.namenode.calls.storage import NameStorage, StorageCalls
from howdah.namenode.protocols import messages
from howdah.namenode.protocols.client_snapshots import ClientSnapshots
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import ha_pb2, types_pb2
from howdah.rpc.service import Caller, Deferred, Slices

log = logging.getLogger(__name__)


class ClientAdministration(ClientSnapshots):
    """`ClientSnapshots`, and what is asked and changed of the cluster."""

    def __init__(self, core: Core, storage: NameStorage | None = None) -> None:
        super().__init__(core)
        self._storage = StorageCalls(core, storage)
        self.image_calls = ImageCalls(core)
        self.administration = Administration(core)

    # Figures.

    def get_fs_stats(
        self, request: pb.GetFsStatusRequestProto, caller: Caller
    ) -> pb.GetFsStatsResponseProto:
        nodes = self._core.datanodes.live()
        counts = self._core.reconstruction.counts()
        return pb.GetFsStatsResponseProto(
            capacity=sum(n.capacity_bytes for n in nodes),
            used=sum(n.used_bytes for n in nodes),
            remaining=sum(n.remaining_bytes for n in nodes),
            under_replicated=counts.low_redundancy,
            corrupt_blocks=counts.corrupt,
            missing_blocks=counts.missing,
            missing_repl_one_blocks=counts.missing_single,
            blocks_in_future=self._core.safe_mode.future_bytes,
            pending_deletion_blocks=self._core.pending_deletions,
        )

    def get_fs_replicated_block_stats(
        self, request: pb.GetFsReplicatedBlockStatsRequestProto, caller: Caller
    ) -> pb.GetFsReplicatedBlockStatsResponseProto:
        counts = self._core.reconstruction.counts()
        return pb.GetFsReplicatedBlockStatsResponseProto(
            low_redundancy=counts.low_redundancy,
            corrupt_blocks=counts.corrupt,
            missing_blocks=counts.missing,
            missing_repl_one_blocks=counts.missing_single,
            blocks_in_future=self._core.safe_mode.future_bytes,
            pending_deletion_blocks=self._core.pending_deletions,
            highest_prio_low_redundancy_blocks=counts.last_replica,
            badly_distributed_blocks=0,
        )

    def get_fs_ecblock_group_stats(
        self, request: pb.GetFsECBlockGroupStatsRequestProto, caller: Caller
    ) -> pb.GetFsECBlockGroupStatsResponseProto:
        """No file is erasure-coded here, so there is no group in any state."""
        return pb.GetFsECBlockGroupStatsResponseProto(
            low_redundancy=0,
            corrupt_blocks=0,
            missing_blocks=0,
            blocks_in_future=0,
            pending_deletion_blocks=0,
            highest_prio_low_redundancy_blocks=0,
            badly_distributed_blocks=0,
        )

    def list_corrupt_file_blocks(
        self, request: pb.ListCorruptFileBlocksRequestProto, caller: Caller
    ) -> Slices:
        files, cookie = yield from self.administration.corrupt_files(
            caller, request.path, request.cookie
        )
        return pb.ListCorruptFileBlocksResponseProto(
            corrupt=types_pb2.CorruptFileBlocksProto(files=files, cookie=cookie)
        )

    def meta_save(self, request: pb.MetaSaveRequestProto, caller: Caller) -> Deferred:
        return _settled(
            pb.MetaSaveResponseProto(),
            lambda done: self.administration.save_meta(caller, request.filename, done),
        )

    # Datanodes.

    def get_datanode_report(
        self, request: pb.GetDatanodeReportRequestProto, caller: Caller
    ) -> pb.GetDatanodeReportResponseProto:
        self.administration.check_superuser(caller, "list the datanodes")
        kind = pb.DatanodeReportTypeProto.Name(request.type).lower()
        answer = pb.GetDatanodeReportResponseProto(
            di=[self._described(node) for node in self._queries.datanodes(kind)]
        )
        if kind in ("all", "dead"):
            known = [node.identity for node in self._core.datanodes]
            for entry in self._core.hosts.missing(known):
                answer.di.append(messages.unknown_datanode(entry))
        return answer

    def _described(self, node: Datanode) -> types_pb2.DatanodeInfoProto:
        clock = self._core.clock
        return messages.datanode_description(node, clock.monotonic_ms(), clock.wall_ms())

    def get_datanode_storage_report(
        self, request: pb.GetDatanodeStorageReportRequestProto, caller: Caller
    ) -> pb.GetDatanodeStorageReportResponseProto:
        self.administration.check_superuser(caller, "list the storages of datanodes")
        kind = pb.DatanodeReportTypeProto.Name(request.type).lower()
        return pb.GetDatanodeStorageReportResponseProto(
            datanodeStorageReports=[
                pb.DatanodeStorageReportProto(
                    datanodeInfo=self._described(node),
                    storageReports=[
                        types_pb2.StorageReportProto(
                            storageUuid=storage.storage_id,
                            capacity=storage.capacity_bytes,
                            dfsUsed=storage.used_bytes,
                            remaining=storage.remaining_bytes,
                            blockPoolUsed=storage.pool_used_bytes,
                            nonDfsUsed=storage.non_dfs_used_bytes,
                            mount="",
                            storage=types_pb2.DatanodeStorageProto(
                                storageUuid=storage.storage_id,
                                state=types_pb2.DatanodeStorageProto.NORMAL,
                                storageType=storage.storage_type,  # type: ignore[arg-type]
                            ),
                        )
                        for storage in node.storages.values()
                    ],
                )
                for node in self._queries.datanodes(kind)
            ]
        )

    def get_slow_datanode_report(
        self, request: pb.GetSlowDatanodeReportRequestProto, caller: Caller
    ) -> pb.GetSlowDatanodeReportResponseProto:
        """Datanodes do not measure each other here, so that none is known to be slow."""
        return pb.GetSlowDatanodeReportResponseProto()

    def refresh_nodes(self, request: pb.RefreshNodesRequestProto, caller: Caller) -> Deferred:
        return _settled(
            pb.RefreshNodesResponseProto(),
            lambda done: self.administration.refresh_nodes(caller, done),
        )

    def set_balancer_bandwidth(
        self, request: pb.SetBalancerBandwidthRequestProto, caller: Caller
    ) -> pb.SetBalancerBandwidthResponseProto:
        self.administration.set_balancer_bandwidth(caller, request.bandwidth)
        return pb.SetBalancerBandwidthResponseProto()

    def satisfy_storage_policy(
        self, request: pb.SatisfyStoragePolicyRequestProto, caller: Caller
    ) -> pb.SatisfyStoragePolicyResponseProto:
        raise errors.UnsupportedOperation(
            f"cannot satisfy the storage policy of {request.src}: this namenode has no storage "
            "policy satisfier; a policy holds for blocks that are written from now on"
        )

    # What happens.

    def get_current_edit_log_txid(
        self, request: pb.GetCurrentEditLogTxidRequestProto, caller: Caller
    ) -> pb.GetCurrentEditLogTxidResponseProto:
        return pb.GetCurrentEditLogTxidResponseProto(txid=self.administration.last_txid(caller))

    def get_edits_from_txid(
        self, request: pb.GetEditsFromTxidRequestProto, caller: Caller
    ) -> Deferred:
        answer = Deferred()

        def done(found: pb.EventsListProto | errors.HowdahError) -> None:
            if isinstance(found, errors.HowdahError):
                answer.settle(found)
            else:
                answer.settle(pb.GetEditsFromTxidResponseProto(eventsList=found))

        self.administration.read_events(caller, request.txid, done)
        return answer

    # The namenode.

    def msync(self, request: pb.MsyncRequestProto, caller: Caller) -> pb.MsyncResponseProto:
        return pb.MsyncResponseProto()

    def get_haservice_state(
        self, request: pb.HAServiceStateRequestProto, caller: Caller
    ) -> pb.HAServiceStateResponseProto:
        return pb.HAServiceStateResponseProto(state=ha_pb2.ACTIVE)

    def set_safe_mode(
        self, request: pb.SetSafeModeRequestProto, caller: Caller
    ) -> pb.SetSafeModeResponseProto:
        core = self._core
        if request.action != pb.SAFEMODE_GET:
            self.administration.check_superuser(caller, "change safe mode")
            if request.action == pb.SAFEMODE_ENTER:
                core.safe_mode.enter()
                log.info("safe mode is on: %s says so", caller.user)
            elif core.safe_mode.leave(force=request.action == pb.SAFEMODE_FORCE_EXIT):
                log.info("safe mode is off: %s says so", caller.user)
            else:
                log.warning("safe mode is not left: %s", core.safe_mode.status())
        return pb.SetSafeModeResponseProto(result=core.safe_mode.on)

    def roll_edits(
        self, request: pb.RollEditsRequestProto, caller: Caller
    ) -> pb.RollEditsResponseProto:
        return pb.RollEditsResponseProto(newSegmentTxId=self._storage.roll_edits(caller))

    def restore_failed_storage(
        self, request: pb.RestoreFailedStorageRequestProto, caller: Caller
    ) -> pb.RestoreFailedStorageResponseProto:
        return pb.RestoreFailedStorageResponseProto(
            result=self._storage.restore_failed(caller, request.arg)
        )

    def finalize_upgrade(self, request: pb.FinalizeUpgradeRequestProto, caller: Caller) -> Deferred:
        return _settled(
            pb.FinalizeUpgradeResponseProto(),
            lambda done: self._storage.finalize_upgrade(caller, done),
        )

    def upgrade_status(
        self, request: pb.UpgradeStatusRequestProto, caller: Caller
    ) -> pb.UpgradeStatusResponseProto:
        return pb.UpgradeStatusResponseProto(upgradeFinalized=self._storage.is_upgrade_finalized())

    def rolling_upgrade(
        self, request: pb.RollingUpgradeRequestProto, caller: Caller
    ) -> pb.RollingUpgradeResponseProto:
        """There is none, and none can be begun."""
        self._core.permissions.check_superuser(self._core.identity(caller), "upgrade")
        if request.action != pb.QUERY:
            raise errors.UnsupportedOperation(
                "rolling upgrades are not supported: stop the namenode, and start it with "
                "'howdah namenode -upgrade'"
            )
        return pb.RollingUpgradeResponseProto()

    def save_namespace(
        self, request: pb.SaveNamespaceRequestProto, caller: Caller
    ) -> pb.SaveNamespaceResponseProto | Deferred:
        return self.image_calls.save_namespace(request, caller)


def _settled(response: Message, begin: Callable[[Done], None]) -> Deferred:
    """An answer for when what `begin` began is done. What it raises goes to the caller."""
    answer = Deferred()
    begin(lambda error: answer.settle(error or response))
    return answer
