"""The cluster's figures and its datanodes (pure).

The part of ClientProtocol that Hadoop's FSNamesystem serves from its DatanodeManager and
BlockManager.
"""

from __future__ import annotations

from howdah.namenode.service.calls.administration import Administration, NodeFiles
from howdah.namenode.service.calls.namespace_reads import Queries
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred, Slices


class DatanodeMethods:
    """Calls about datanodes and blocks as a whole."""

    def __init__(self, namesystem: Namesystem, administration: Administration) -> None:
        self._namesystem = namesystem
        self._datanode_manager = namesystem.datanode_manager
        self._reconstruction = namesystem.block_manager.reconstruction
        self._queries = Queries(namesystem)
        self._administration = administration

    def get_fs_stats(
        self, request: pb.GetFsStatusRequestProto, caller: Caller
    ) -> pb.GetFsStatsResponseProto:
        nodes = [node for node in self._datanode_manager.datanodes.live() if node.in_service]
        counts = self._reconstruction.counts()
        return pb.GetFsStatsResponseProto(
            capacity=sum(n.capacity_bytes for n in nodes),
            used=sum(n.used_bytes for n in nodes),
            remaining=sum(n.remaining_bytes for n in nodes),
            under_replicated=counts.low_redundancy,
            corrupt_blocks=counts.corrupt,
            missing_blocks=counts.missing,
            missing_repl_one_blocks=counts.missing_single,
            blocks_in_future=self._namesystem.safe_mode.future_bytes,
            pending_deletion_blocks=self._datanode_manager.datanodes.pending_deletions,
        )

    def get_fs_replicated_block_stats(
        self, request: pb.GetFsReplicatedBlockStatsRequestProto, caller: Caller
    ) -> pb.GetFsReplicatedBlockStatsResponseProto:
        counts = self._reconstruction.counts()
        groups = counts.groups
        return pb.GetFsReplicatedBlockStatsResponseProto(
            low_redundancy=counts.low_redundancy - groups.low_redundancy,
            corrupt_blocks=counts.corrupt - groups.corrupt,
            missing_blocks=counts.missing - groups.missing,
            missing_repl_one_blocks=counts.missing_single,
            blocks_in_future=self._namesystem.safe_mode.future_bytes,
            pending_deletion_blocks=self._datanode_manager.datanodes.pending_deletions,
            highest_prio_low_redundancy_blocks=counts.last_replica - groups.highest,
            badly_distributed_blocks=counts.misplaced,
        )

    def get_fs_ecblock_group_stats(
        self, request: pb.GetFsECBlockGroupStatsRequestProto, caller: Caller
    ) -> pb.GetFsECBlockGroupStatsResponseProto:
        """Orders to delete, and what is from the future, count with replicated blocks."""
        groups = self._reconstruction.counts().groups
        return pb.GetFsECBlockGroupStatsResponseProto(
            low_redundancy=groups.low_redundancy,
            corrupt_blocks=groups.corrupt,
            missing_blocks=groups.missing,
            blocks_in_future=0,
            pending_deletion_blocks=0,
            highest_prio_low_redundancy_blocks=groups.highest,
            badly_distributed_blocks=0,
        )

    def list_corrupt_file_blocks(
        self, request: pb.ListCorruptFileBlocksRequestProto, caller: Caller
    ) -> Slices:
        files, cookie = yield from self._administration.corrupt_files(
            caller, request.path, request.cookie
        )
        return pb.ListCorruptFileBlocksResponseProto(
            corrupt=types_pb2.CorruptFileBlocksProto(files=files, cookie=cookie)
        )

    def get_datanode_report(
        self, request: pb.GetDatanodeReportRequestProto, caller: Caller
    ) -> pb.GetDatanodeReportResponseProto:
        self._administration.check_superuser(caller, "list the datanodes")
        kind = pb.DatanodeReportTypeProto.Name(request.type).lower()
        answer = pb.GetDatanodeReportResponseProto(
            di=[self._described(node) for node in self._queries.datanodes(kind)]
        )
        if kind in ("all", "dead"):
            known = [node.identity for node in self._datanode_manager.datanodes]
            for entry in self._datanode_manager.hosts.missing(known):
                excluded = self._datanode_manager.hosts.excludes(entry)
                answer.di.append(encoders.unknown_datanode(entry, excluded=excluded))
        return answer

    def get_datanode_storage_report(
        self, request: pb.GetDatanodeStorageReportRequestProto, caller: Caller
    ) -> pb.GetDatanodeStorageReportResponseProto:
        self._administration.check_superuser(caller, "list the storages of datanodes")
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
                                # The stub wants the enum; at run time a number is one.
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
        """Those that other datanodes find slow: Hadoop's datanodes measure each other, where
        that is switched on."""
        slow = self._datanode_manager.slow_peers.slow(self._namesystem.clock.monotonic_ms())
        return pb.GetSlowDatanodeReportResponseProto(
            datanodeInfoProto=[
                self._described(node) for node in self._datanode_manager.datanodes if node in slow
            ]
        )

    def refresh_nodes(self, request: pb.RefreshNodesRequestProto, caller: Caller) -> Deferred:
        def apply(files: NodeFiles) -> pb.RefreshNodesResponseProto:
            self._administration.apply_hosts(files.hosts)
            self._datanode_manager.apply_racks(files.racks)
            return pb.RefreshNodesResponseProto()

        answer = Deferred()
        self._administration.read_node_files(caller, answer.fed_by("refreshNodes", apply))
        return answer

    def set_balancer_bandwidth(
        self, request: pb.SetBalancerBandwidthRequestProto, caller: Caller
    ) -> pb.SetBalancerBandwidthResponseProto:
        self._administration.set_balancer_bandwidth(caller, request.bandwidth)
        return pb.SetBalancerBandwidthResponseProto()

    def _described(self, node: Datanode) -> types_pb2.DatanodeInfoProto:
        clock = self._namesystem.clock
        return encoders.datanode_description(node, clock.monotonic_ms(), clock.wall_ms())
