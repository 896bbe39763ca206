"""ClientDatanodeProtocol: the few calls that clients and administrators make here.

Served by the data process, which is the one that knows how much of a replica that
is being written can be read. What is for the control process is passed on to it.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from howdah import errors
from howdah.datanode.disk_balancer.worker import DiskBalancer
from howdah.datanode.process.reconfiguration import NamenodesRefresh, ReconfigurationTask
from howdah.datanode.replicas.startup_scan import pools_on
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import RECONFIGURABLE
from howdah.datanode.state.disk_balancer.checks import Submitted
from howdah.datanode.state.messages import Event, ReportAsked, ShutdownAsked
from howdah.datanode.transfer.guard import Guard
from howdah.datanode.volumes.volumes import Volume
from howdah.diskbalancer.plan_files import VERSION
from howdah.diskbalancer.status import state_text
from howdah.formats.version import SHOWN_VERSION
from howdah.proto import client_datanode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import ExtendedBlock
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.proven import TOKEN
from howdah.protocol.rpc.service import Service
from howdah.storage.dir_walk import all_below

# `dfsadmin -deleteBlockPool`: the directories of a pool that this datanode serves no more.
#
# They are left over from a namenode whose datanode this was once, or one that was taken
# out of the configuration. Only an empty pool goes without being forced.

log = logging.getLogger(__name__)


def remove_pool(volumes: Iterable[Volume], pool_id: str, *, force: bool) -> None:
    """Raises IllegalArgument for a pool that is on no volume, RemoteError if it has replicas
    and is not forced, and OSError."""
    holding = [volume for volume in volumes if pool_id in pools_on(volume)]
    if not holding:
        raise errors.IllegalArgument(f"there is no block pool {pool_id} on this datanode")
    if not force:
        for volume in holding:
            first = _first_block(volume.pool_path(pool_id))
            if first is not None:
                raise errors.RemoteError(
                    f"Cannot delete block pool, it contains some block files: {first}"
                )
    for volume in holding:
        path = volume.pool_path(pool_id)
        log.warning("deleting block pool %s in %s", pool_id, path)
        shutil.rmtree(path)


def _first_block(path: str) -> Path | None:
    for directory, _, names in all_below(path):
        for name in names:
            if name.startswith("blk_"):
                return Path(directory, name)
    return None


PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
_UNSIGNED = (1 << 64) - 1


class ClientDatanodeProtocol:
    """Each method answers the call of its name."""

    def __init__(
        self,
        store: BlockStore,
        notify: Callable[[Event], None],
        owner: str,
        *,
        balance_bandwidth: Callable[[], int] = lambda: 0,
        disk_balancer: DiskBalancer,
        guard: Guard | None = None,
    ) -> None:
        """`balance_bandwidth`: how many bytes a second balancing may take now. `guard` knows who
        may read a block; None where everybody may."""
        self._guard = guard
        self._disk_balancer = disk_balancer
        self._balance_bandwidth = balance_bandwidth
        self._store = store
        self._notify = notify
        self._owner = owner
        self.reconfiguration = ReconfigurationTask(notify)
        self.refresh = NamenodesRefresh(notify)
        self.awaited: tuple[str, ...] = ()
        """Nameservices whose block pools nobody knows yet."""
        self._started_s = time.monotonic()

    def get_replica_visible_length(
        self, request: pb.GetReplicaVisibleLengthRequestProto, caller: Caller
    ) -> pb.GetReplicaVisibleLengthResponseProto:
        """How much of a block can be read here; a file's reader asks while it is written."""
        block = ExtendedBlock.from_proto(request.block)
        if self._guard is not None:
            self._guard.check_caller(caller, block)
        length = self._store.visible_length(block)
        # -1, for a replica that waits for recovery, crosses as Java would write it.
        return pb.GetReplicaVisibleLengthResponseProto(length=length & _UNSIGNED)

    def get_datanode_info(
        self, request: pb.GetDatanodeInfoRequestProto, caller: Caller
    ) -> pb.GetDatanodeInfoResponseProto:
        return pb.GetDatanodeInfoResponseProto(
            localInfo=types_pb2.DatanodeLocalInfoProto(
                softwareVersion=SHOWN_VERSION,
                configVersion="core-site, hdfs-site",
                uptime=int(time.monotonic() - self._started_s),
            )
        )

    def get_volume_report(
        self, request: pb.GetVolumeReportRequestProto, caller: Caller
    ) -> pb.GetVolumeReportResponseProto:
        self._check_administrator(caller, "getVolumeReport")
        counts = self._store.block_counts()
        answer = pb.GetVolumeReportResponseProto()
        for volume in self._store.volumes.working():
            usage = volume.usage()
            answer.volumeInfo.add(
                path=volume.path,
                storageType=volume.storage_type.name,
                usedSpace=usage.used_bytes,
                freeSpace=usage.remaining_bytes,
                reservedSpace=volume.reserved_bytes,
                reservedSpaceForReplicas=volume.promised_bytes,
                numBlocks=counts[volume.storage_id],
            )
        return answer

    def get_block_local_path_info(
        self, request: pb.GetBlockLocalPathInfoRequestProto, caller: Caller
    ) -> pb.GetBlockLocalPathInfoResponseProto:
        raise errors.AccessDenied(
            "getBlockLocalPathInfo is not offered: block files are read through the datanode"
        )

    def trigger_block_report(
        self, request: pb.TriggerBlockReportRequestProto, caller: Caller
    ) -> pb.TriggerBlockReportResponseProto:
        self._check_administrator(caller, "triggerBlockReport")
        self._notify(ReportAsked(request.incremental, request.nnAddress))
        return pb.TriggerBlockReportResponseProto()

    def shutdown_datanode(
        self, request: pb.ShutdownDatanodeRequestProto, caller: Caller
    ) -> pb.ShutdownDatanodeResponseProto:
        self._check_administrator(caller, "shutdownDatanode")
        self._notify(ShutdownAsked(request.forUpgrade))
        return pb.ShutdownDatanodeResponseProto()

    def evict_writers(
        self, request: pb.EvictWritersRequestProto, caller: Caller
    ) -> pb.EvictWritersResponseProto:
        """Their clients go on with the other datanodes of their pipelines."""
        self._check_administrator(caller, "evictWriters")
        for writer in self._store.writers.all():
            writer.stop("an administrator has it end")
        return pb.EvictWritersResponseProto()

    def get_balancer_bandwidth(
        self, request: pb.GetBalancerBandwidthRequestProto, caller: Caller
    ) -> pb.GetBalancerBandwidthResponseProto:
        return pb.GetBalancerBandwidthResponseProto(bandwidth=self._balance_bandwidth())

    def delete_block_pool(
        self, request: pb.DeleteBlockPoolRequestProto, caller: Caller
    ) -> pb.DeleteBlockPoolResponseProto:
        self._check_administrator(caller, "deleteBlockPool")
        served = self._store.served_pools()
        if not served:
            raise errors.RetriableError(
                "this datanode has yet to hear from a namenode which block pool is its own"
            )
        if request.blockPool in served:
            raise errors.RemoteError(
                "The block pool is still running. First do a refreshNamenodes to shutdown the "
                "block pool service"
            )
        if self.awaited:
            # Hadoop deletes it, and the namespace has lost its blocks when its namenode is back.
            raise errors.RetriableError(
                f"no namenode of nameservice {', '.join(self.awaited)} has said yet which block "
                f"pool is its own, and it may be {request.blockPool}. If that nameservice is "
                "gone, take it out of the configuration and refresh the namenodes"
            )
        volumes = self._store.volumes.working()
        try:
            remove_pool(volumes, request.blockPool, force=request.force)
        except errors.HowdahError:
            raise
        except OSError as error:
            raise errors.RemoteError(f"cannot delete {request.blockPool}: {error}") from error
        self._store.trouble.pool_deleted(request.blockPool, volumes)
        return pb.DeleteBlockPoolResponseProto()

    def start_reconfiguration(
        self, request: pb.StartReconfigurationRequestProto, caller: Caller
    ) -> pb.StartReconfigurationResponseProto:
        self._check_administrator(caller, "startReconfiguration")
        self.reconfiguration.start()
        return pb.StartReconfigurationResponseProto()

    def get_reconfiguration_status(
        self, request: pb.GetReconfigurationStatusRequestProto, caller: Caller
    ) -> pb.GetReconfigurationStatusResponseProto:
        self._check_administrator(caller, "getReconfigurationStatus")
        return self.reconfiguration.status()

    def list_reconfigurable_properties(
        self, request: pb.ListReconfigurablePropertiesRequestProto, caller: Caller
    ) -> pb.ListReconfigurablePropertiesResponseProto:
        self._check_administrator(caller, "listReconfigurableProperties")
        return pb.ListReconfigurablePropertiesResponseProto(name=RECONFIGURABLE)

    def refresh_namenodes(
        self, request: pb.RefreshNamenodesRequestProto, caller: Caller
    ) -> pb.RefreshNamenodesResponseProto:
        self._check_administrator(caller, "refreshNamenodes")
        self.refresh.run()
        return pb.RefreshNamenodesResponseProto()

    def submit_disk_balancer_plan(
        self, request: pb.SubmitDiskBalancerPlanRequestProto, caller: Caller
    ) -> pb.SubmitDiskBalancerPlanResponseProto:
        self._check_administrator(caller, "submitDiskBalancerPlan")
        # Who leaves out the version has the first one, as in Hadoop.
        version = request.planVersion if request.HasField("planVersion") else VERSION
        self._disk_balancer.submit(
            Submitted(request.planID, version, request.plan, request.ignoreDateCheck),
            request.planFile,
        )
        return pb.SubmitDiskBalancerPlanResponseProto()

    def cancel_disk_balancer_plan(
        self, request: pb.CancelPlanRequestProto, caller: Caller
    ) -> pb.CancelPlanResponseProto:
        self._check_administrator(caller, "cancelDiskBalancerPlan")
        self._disk_balancer.cancel(request.planID)
        return pb.CancelPlanResponseProto()

    def query_disk_balancer_plan(
        self, request: pb.QueryPlanStatusRequestProto, caller: Caller
    ) -> pb.QueryPlanStatusResponseProto:
        self._check_administrator(caller, "queryDiskBalancerPlan")
        status = self._disk_balancer.status()
        return pb.QueryPlanStatusResponseProto(
            result=status.result,
            planID=status.plan_id,
            currentStatus=state_text(status.entries),
            planFile=status.plan_file,
        )

    def get_disk_balancer_setting(
        self, request: pb.DiskBalancerSettingRequestProto, caller: Caller
    ) -> pb.DiskBalancerSettingResponseProto:
        self._check_administrator(caller, "getDiskBalancerSetting")
        return pb.DiskBalancerSettingResponseProto(value=self._disk_balancer.setting(request.key))

    def _check_administrator(self, caller: Caller, operation: str) -> None:
        # Who has a token to a block of the owner's is not the owner.
        is_by_token = caller.proven is not None and caller.proven.method == TOKEN
        if caller.user != self._owner or is_by_token:
            raise errors.AccessDenied(
                f"{operation}: {caller.user} is not {self._owner}, who runs this datanode"
            )


def service(implementation: ClientDatanodeProtocol) -> Service:
    descriptor = pb.DESCRIPTOR.services_by_name["ClientDatanodeProtocolService"]
    return Service(PROTOCOL, 1, descriptor, implementation)
