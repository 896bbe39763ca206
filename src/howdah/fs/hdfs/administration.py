"""What administrators ask of a namenode and of datanodes, typed.

HdfsAdmin and DistributedFileSystem in Hadoop.

`Administration` are ClientProtocol's calls about the cluster, and those of the small
protocols that have settings read anew; `DatanodeAdministration` is what a datanode's
IPC port offers. Most of it only the superuser may do.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes import providers
from howdah.client.namenodes.target import target_of
from howdah.client.settings.settings import ClientSettings
from howdah.config import Configuration
from howdah.diskbalancer.plan_files import VERSION, plan_id
from howdah.diskbalancer.status import WorkResult, WorkStatus, parse_state
from howdah.errors import HowdahError, ProtocolViolation
from howdah.proto import client_datanode_pb2 as datanode_pb
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import ha_pb2, refresh_pb2, types_pb2
from howdah.rpc.client import AnswerType, RpcClient

M = TypeVar("M")

_log = logging.getLogger(__name__)

AUTHORIZATION_PROTOCOL = "org.apache.hadoop.security.authorize.RefreshAuthorizationPolicyProtocol"
USER_MAPPINGS_PROTOCOL = "org.apache.hadoop.security.RefreshUserMappingsProtocol"
CALL_QUEUE_PROTOCOL = "org.apache.hadoop.ipc.RefreshCallQueueProtocol"
GROUPS_PROTOCOL = "org.apache.hadoop.tools.GetUserMappingsProtocol"
RECONFIGURATION_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ReconfigurationProtocol"
DATANODE_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"


@dataclass(frozen=True, slots=True)
class OpenFileEntry:
    """A file that somebody is writing."""

    file_id: int
    path: str
    client_name: str
    client_machine: str


@dataclass(frozen=True, slots=True)
class RollingUpgrade:
    """One that is under way, or was finalized just now; Unix milliseconds."""

    block_pool_id: str
    start_ms: int
    finalize_ms: int | None
    has_rollback_image: bool


class Administration:
    """A namenode's calls for administrators; of several namenodes, the active one's."""

    def __init__(self, namenode: NamenodeProxy) -> None:
        self._namenode = namenode

    @property
    def address(self) -> tuple[str, int]:
        """Where the namenode is."""
        return self._namenode.address

    def ha_state(self) -> str:
        """`ACTIVE`, `STANDBY`, `OBSERVER` or `INITIALIZING`."""
        answer = self._namenode.call(
            "getHAServiceState", pb.HAServiceStateRequestProto(), pb.HAServiceStateResponseProto
        )
        return ha_pb2.HAServiceStateProto.Name(answer.state)

    # Figures.

    def replicated_block_stats(self) -> pb.GetFsReplicatedBlockStatsResponseProto:
        return self._namenode.call(
            "getFsReplicatedBlockStats",
            pb.GetFsReplicatedBlockStatsRequestProto(),
            pb.GetFsReplicatedBlockStatsResponseProto,
        )

    def block_group_stats(self) -> pb.GetFsECBlockGroupStatsResponseProto:
        return self._namenode.call(
            "getFsECBlockGroupStats",
            pb.GetFsECBlockGroupStatsRequestProto(),
            pb.GetFsECBlockGroupStatsResponseProto,
        )

    def slow_datanodes(self) -> list[types_pb2.DatanodeInfoProto]:
        answer = self._namenode.call(
            "getSlowDatanodeReport",
            pb.GetSlowDatanodeReportRequestProto(),
            pb.GetSlowDatanodeReportResponseProto,
        )
        return list(answer.datanodeInfoProto)

    def datanodes(self, kind: str) -> list[types_pb2.DatanodeInfoProto]:
        """`kind` is a name of DatanodeReportTypeProto, such as `LIVE`."""
        return self._namenode.get_datanode_report(kind)

    def storage_reports(self) -> list[pb.DatanodeStorageReportProto]:
        """How full each volume of the datanodes is that live."""
        answer = self._namenode.call(
            "getDatanodeStorageReport",
            pb.GetDatanodeStorageReportRequestProto(type=pb.LIVE),
            pb.GetDatanodeStorageReportResponseProto,
        )
        return list(answer.datanodeStorageReports)

    def open_files(
        self, path: str = "/", *, blocking_decommission: bool = False
    ) -> Iterator[OpenFileEntry]:
        """The files below `path` that are being written, page by page, by inode id."""
        kind = pb.BLOCKING_DECOMMISSION if blocking_decommission else pb.ALL_OPEN_FILES
        last_id = 0
        while True:
            answer = self._namenode.call(
                "listOpenFiles",
                pb.ListOpenFilesRequestProto(id=last_id, types=[kind], path=path),
                pb.ListOpenFilesResponseProto,
            )
            for entry in answer.entries:
                yield OpenFileEntry(entry.id, entry.path, entry.clientName, entry.clientMachine)
                last_id = entry.id
            if not answer.hasMore or not answer.entries:
                return

    def corrupt_files(self, path: str = "/") -> Iterator[str]:
        """Files below `path` with a block of which no good replica is left."""
        cookie = ""
        while True:
            answer = self._namenode.call(
                "listCorruptFileBlocks",
                pb.ListCorruptFileBlocksRequestProto(path=path, cookie=cookie or None),
                pb.ListCorruptFileBlocksResponseProto,
            ).corrupt
            if not answer.files:
                return
            yield from answer.files
            cookie = answer.cookie

    # The namenode's state.

    def safe_mode(self, action: str) -> bool:
        """`enter`, `leave`, `force_exit` or `get`; whether it is in safe mode then."""
        return self._namenode.set_safe_mode(f"SAFEMODE_{action.upper()}")

    def save_namespace(self, time_window_s: int = 0, transaction_gap: int = 0) -> bool:
        """Write an image; False where the newest one is no older than `time_window_s` and
        lacks no more than `transaction_gap` transactions."""
        request = pb.SaveNamespaceRequestProto(timeWindow=time_window_s, txGap=transaction_gap)
        return self._namenode.call("saveNamespace", request, pb.SaveNamespaceResponseProto).saved

    def roll_edits(self) -> int:
        """End the segment that is being written; the next one's first transaction."""
        return self._namenode.call(
            "rollEdits", pb.RollEditsRequestProto(), pb.RollEditsResponseProto
        ).newSegmentTxId

    def restore_failed_storage(self, argument: str) -> bool:
        """`true`, `false` or `check`; whether failed directories are tried again then."""
        request = pb.RestoreFailedStorageRequestProto(arg=argument)
        return self._namenode.call(
            "restoreFailedStorage", request, pb.RestoreFailedStorageResponseProto
        ).result

    def finalize_upgrade(self) -> None:
        """Give up what was kept of the time before an upgrade."""
        self._namenode.call(
            "finalizeUpgrade", pb.FinalizeUpgradeRequestProto(), pb.FinalizeUpgradeResponseProto
        )

    def is_upgrade_finalized(self) -> bool:
        """Whether nothing is kept of the time before an upgrade."""
        return self._namenode.call(
            "upgradeStatus", pb.UpgradeStatusRequestProto(), pb.UpgradeStatusResponseProto
        ).upgradeFinalized

    def rolling_upgrade(self, action: str) -> RollingUpgrade | None:
        """`query`, `prepare` or `finalize`; None if none is under way, nor was one finalized by
        this call."""
        request = pb.RollingUpgradeRequestProto(
            action={"query": pb.QUERY, "prepare": pb.START, "finalize": pb.FINALIZE}[action]
        )
        answer = self._namenode.call("rollingUpgrade", request, pb.RollingUpgradeResponseProto)
        if not answer.HasField("rollingUpgradeInfo"):
            return None
        info = answer.rollingUpgradeInfo
        return RollingUpgrade(
            info.status.blockPoolId,
            info.startTime,
            info.finalizeTime or None,
            info.createdRollbackImages,
        )

    def meta_save(self, name: str) -> None:
        """Have what is known of datanodes and blocks written to the log directory."""
        request = pb.MetaSaveRequestProto(filename=name)
        self._namenode.call("metaSave", request, pb.MetaSaveResponseProto)

    def refresh_nodes(self) -> None:
        """Have the host files read anew."""
        self._namenode.call(
            "refreshNodes", pb.RefreshNodesRequestProto(), pb.RefreshNodesResponseProto
        )

    def set_balancer_bandwidth(self, bytes_per_second: int) -> None:
        request = pb.SetBalancerBandwidthRequestProto(bandwidth=bytes_per_second)
        self._namenode.call("setBalancerBandwidth", request, pb.SetBalancerBandwidthResponseProto)

    # Settings that are read anew.

    def refresh_service_acl(self) -> None:
        self._other(
            AUTHORIZATION_PROTOCOL,
            "refreshServiceAcl",
            refresh_pb2.RefreshServiceAclRequestProto(),
            refresh_pb2.RefreshServiceAclResponseProto,
        )

    def refresh_user_to_groups_mappings(self) -> None:
        self._other(
            USER_MAPPINGS_PROTOCOL,
            "refreshUserToGroupsMappings",
            refresh_pb2.RefreshUserToGroupsMappingsRequestProto(),
            refresh_pb2.RefreshUserToGroupsMappingsResponseProto,
        )

    def refresh_super_user_groups_configuration(self) -> None:
        self._other(
            USER_MAPPINGS_PROTOCOL,
            "refreshSuperUserGroupsConfiguration",
            refresh_pb2.RefreshSuperUserGroupsConfigurationRequestProto(),
            refresh_pb2.RefreshSuperUserGroupsConfigurationResponseProto,
        )

    def refresh_call_queue(self) -> None:
        self._other(
            CALL_QUEUE_PROTOCOL,
            "refreshCallQueue",
            refresh_pb2.RefreshCallQueueRequestProto(),
            refresh_pb2.RefreshCallQueueResponseProto,
        )

    def groups_of(self, user: str) -> list[str]:
        """The groups of a user, as the namenode knows them; none of one unknown to it.

        Raises IllegalArgument for an empty name, RpcNoSuchProtocol where the server does
        not tell groups.
        """
        return list(
            self._other(
                GROUPS_PROTOCOL,
                "getGroupsForUser",
                refresh_pb2.GetGroupsForUserRequestProto(user=user),
                refresh_pb2.GetGroupsForUserResponseProto,
            ).groups
        )

    def _other(
        self, protocol: str, method: str, request: Message, response_type: AnswerType[M]
    ) -> M:
        """A call of another protocol than ClientProtocol, at the same address."""
        rpc = RpcClient(self._namenode.address, protocol, user=self._namenode.user)
        try:
            return rpc.call(method, request, response_type)
        finally:
            rpc.close()


@contextmanager
def each_namenode(
    authority: str, conf: Configuration, user: str | None = None
) -> Iterator[dict[str, Administration]]:
    """The namenodes of a nameservice, each for itself, by their names; empty where there is
    only one."""
    target = target_of(authority, conf)
    if len(target.namenodes) < 2:
        yield {}
        return
    settings = ClientSettings.from_configuration(conf)
    clients = providers.each_namenode(target, conf, settings, user)
    try:
        yield {name: Administration(NamenodeProxy(calls)) for name, calls in clients.items()}
    finally:
        for calls in clients.values():
            calls.close()


def active_of(namenodes: Mapping[str, Administration]) -> str | None:
    """The name of the one that says that it is active."""
    for name, administration in namenodes.items():
        try:
            if administration.ha_state() == "ACTIVE":
                return name
        except HowdahError as error:
            _log.info("namenode %s does not say its role: %s", name, error)
    return None


class Reconfigurable:
    """A server that takes some settings anew while it runs: a namenode, at its RPC port. Close it
    after use."""

    _protocol = RECONFIGURATION_PROTOCOL

    def __init__(self, address: tuple[str, int], user: str) -> None:
        self._rpc = RpcClient(address, self._protocol, user=user)

    def close(self) -> None:
        self._rpc.close()

    def start_reconfiguration(self) -> None:
        """Have it read its configuration anew; `RemoteError` while it is about to."""
        self._rpc.call(
            "startReconfiguration",
            datanode_pb.StartReconfigurationRequestProto(),
            datanode_pb.StartReconfigurationResponseProto,
        )

    def reconfiguration_status(self) -> datanode_pb.GetReconfigurationStatusResponseProto:
        """Of the last time; `startTime` is 0 where there was none."""
        return self._rpc.call(
            "getReconfigurationStatus",
            datanode_pb.GetReconfigurationStatusRequestProto(),
            datanode_pb.GetReconfigurationStatusResponseProto,
        )

    def reconfigurable_properties(self) -> list[str]:
        """What it takes from its configuration while it runs."""
        answer = self._rpc.call(
            "listReconfigurableProperties",
            datanode_pb.ListReconfigurablePropertiesRequestProto(),
            datanode_pb.ListReconfigurablePropertiesResponseProto,
        )
        return list(answer.name)


class DatanodeAdministration(Reconfigurable):
    """One datanode's calls for administrators, at its IPC port. Close it after use."""

    _protocol = DATANODE_PROTOCOL

    def info(self) -> types_pb2.DatanodeLocalInfoProto:
        return self._rpc.call(
            "getDatanodeInfo",
            datanode_pb.GetDatanodeInfoRequestProto(),
            datanode_pb.GetDatanodeInfoResponseProto,
        ).localInfo

    def volumes(self) -> list[types_pb2.DatanodeVolumeInfoProto]:
        answer = self._rpc.call(
            "getVolumeReport",
            datanode_pb.GetVolumeReportRequestProto(),
            datanode_pb.GetVolumeReportResponseProto,
        )
        return list(answer.volumeInfo)

    def shutdown(self, *, for_upgrade: bool) -> None:
        request = datanode_pb.ShutdownDatanodeRequestProto(forUpgrade=for_upgrade)
        self._rpc.call("shutdownDatanode", request, datanode_pb.ShutdownDatanodeResponseProto)

    def evict_writers(self) -> None:
        self._rpc.call(
            "evictWriters",
            datanode_pb.EvictWritersRequestProto(),
            datanode_pb.EvictWritersResponseProto,
        )

    def trigger_block_report(self, *, incremental: bool, namenode: str | None = None) -> None:
        request = datanode_pb.TriggerBlockReportRequestProto(
            incremental=incremental, nnAddress=namenode
        )
        self._rpc.call("triggerBlockReport", request, datanode_pb.TriggerBlockReportResponseProto)

    # The disk balancer. Each raises `DiskBalancerError` where the datanode refuses.

    def submit_disk_balancer_plan(
        self, text: str, plan_file: str, *, skip_date_check: bool = False
    ) -> None:
        """Have the datanode work on a plan; `plan_file` is its name for people."""
        request = datanode_pb.SubmitDiskBalancerPlanRequestProto(
            planID=plan_id(text),
            plan=text,
            planVersion=VERSION,
            ignoreDateCheck=skip_date_check,
            planFile=plan_file,
        )
        self._rpc.call(
            "submitDiskBalancerPlan", request, datanode_pb.SubmitDiskBalancerPlanResponseProto
        )

    def cancel_disk_balancer_plan(self, plan: str) -> None:
        """`plan` is its id."""
        request = datanode_pb.CancelPlanRequestProto(planID=plan)
        self._rpc.call("cancelDiskBalancerPlan", request, datanode_pb.CancelPlanResponseProto)

    def disk_balancer_status(self) -> WorkStatus:
        """How far its plan is; `ProtocolViolation` if the answer cannot be read."""
        answer = self._rpc.call(
            "queryDiskBalancerPlan",
            datanode_pb.QueryPlanStatusRequestProto(),
            datanode_pb.QueryPlanStatusResponseProto,
        )
        try:
            result = WorkResult(answer.result)
        except ValueError as error:
            raise ProtocolViolation(f"the datanode says that its plan is {error}") from error
        return WorkStatus(result, answer.planID, answer.planFile, parse_state(answer.currentStatus))

    def disk_balancer_setting(self, key: str) -> str:
        request = datanode_pb.DiskBalancerSettingRequestProto(key=key)
        return self._rpc.call(
            "getDiskBalancerSetting", request, datanode_pb.DiskBalancerSettingResponseProto
        ).value

    def delete_block_pool(self, pool_id: str, *, force: bool) -> None:
        request = datanode_pb.DeleteBlockPoolRequestProto(blockPool=pool_id, force=force)
        self._rpc.call("deleteBlockPool", request, datanode_pb.DeleteBlockPoolResponseProto)

    def refresh_namenodes(self) -> None:
        self._rpc.call(
            "refreshNamenodes",
            datanode_pb.RefreshNamenodesRequestProto(),
            datanode_pb.RefreshNamenodesResponseProto,
        )

    def balancer_bandwidth(self) -> int:
        """Bytes a second."""
        return self._rpc.call(
            "getBalancerBandwidth",
            datanode_pb.GetBalancerBandwidthRequestProto(),
            datanode_pb.GetBalancerBandwidthResponseProto,
        ).bandwidth
