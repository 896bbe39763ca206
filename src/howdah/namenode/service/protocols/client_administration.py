"""The namenode itself: safe mode, edit log, images, upgrades, its HA state (pure).

The part of ClientProtocol that DFSAdmin calls, and inotify's reading of the edit log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.rolling_upgrade import RollingUpgradeCalls, UpgradeInfo
from howdah.namenode.service.calls.storage import ImageCalls, Images, NameStorage, StorageCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred

log = logging.getLogger(__name__)


class NamenodeMethods:
    """Calls about the namenode, its log and its directories."""

    def __init__(
        self,
        namesystem: Namesystem,
        administration: Administration,
        storage: NameStorage | None,
        images: Images | None,
        ha_state: Callable[[], str],
    ) -> None:
        self._ha_state = ha_state
        self._namesystem = namesystem
        self._administration = administration
        self._storage = StorageCalls(namesystem, storage)
        self._images = ImageCalls(namesystem, images)
        self._rolling_upgrade = RollingUpgradeCalls(namesystem, storage, images)

    def set_safe_mode(
        self, request: pb.SetSafeModeRequestProto, caller: Caller
    ) -> pb.SetSafeModeResponseProto:
        namesystem = self._namesystem
        if request.action != pb.SAFEMODE_GET:
            self._administration.check_superuser(caller, "change safe mode")
            if request.action == pb.SAFEMODE_ENTER:
                namesystem.safe_mode.enter()
                log.info("safe mode is on: %s says so", caller.user)
            elif namesystem.safe_mode.leave(force=request.action == pb.SAFEMODE_FORCE_EXIT):
                log.info("safe mode is off: %s says so", caller.user)
                if request.action == pb.SAFEMODE_FORCE_EXIT:
                    namesystem.block_manager.blocks.give_up_future()
            else:
                log.warning("safe mode is not left: %s", namesystem.safe_mode.status())
        return pb.SetSafeModeResponseProto(result=namesystem.safe_mode.on)

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
        answer = Deferred()
        self._storage.finalize_upgrade(
            caller, answer.fed_by("finalizeUpgrade", lambda _: pb.FinalizeUpgradeResponseProto())
        )
        return answer

    def upgrade_status(
        self, request: pb.UpgradeStatusRequestProto, caller: Caller
    ) -> pb.UpgradeStatusResponseProto:
        return pb.UpgradeStatusResponseProto(upgradeFinalized=self._storage.is_upgrade_finalized())

    def rolling_upgrade(
        self, request: pb.RollingUpgradeRequestProto, caller: Caller
    ) -> pb.RollingUpgradeResponseProto | Deferred:
        if request.action == pb.QUERY:
            return self._upgrade_answer(self._rolling_upgrade.query(caller))
        if request.action == pb.FINALIZE:
            return self._upgrade_answer(self._rolling_upgrade.finalize(caller))
        answer = Deferred()
        found = self._rolling_upgrade.prepare(
            caller, answer.fed_by("rollingUpgrade", self._upgrade_answer)
        )
        return answer if found is None else self._upgrade_answer(found)

    def _upgrade_answer(self, info: UpgradeInfo | None) -> pb.RollingUpgradeResponseProto:
        if info is None:
            return pb.RollingUpgradeResponseProto()
        status = types_pb2.RollingUpgradeStatusProto(
            blockPoolId=self._namesystem.settings.block_pool_id, finalized=bool(info.finalize_ms)
        )
        return pb.RollingUpgradeResponseProto(
            rollingUpgradeInfo=pb.RollingUpgradeInfoProto(
                status=status,
                startTime=info.start_ms,
                finalizeTime=info.finalize_ms,
                createdRollbackImages=info.has_rollback_image,
            )
        )

    def save_namespace(
        self, request: pb.SaveNamespaceRequestProto, caller: Caller
    ) -> pb.SaveNamespaceResponseProto | Deferred:
        return self._images.save_namespace(request, caller)

    def meta_save(self, request: pb.MetaSaveRequestProto, caller: Caller) -> Deferred:
        answer = Deferred()
        self._administration.save_meta(
            caller,
            request.filename,
            answer.fed_by("metaSave", lambda _: pb.MetaSaveResponseProto()),
        )
        return answer

    def get_current_edit_log_txid(
        self, request: pb.GetCurrentEditLogTxidRequestProto, caller: Caller
    ) -> pb.GetCurrentEditLogTxidResponseProto:
        return pb.GetCurrentEditLogTxidResponseProto(txid=self._administration.last_txid(caller))

    def get_edits_from_txid(
        self, request: pb.GetEditsFromTxidRequestProto, caller: Caller
    ) -> Deferred:
        answer = Deferred()
        self._administration.read_events(
            caller,
            request.txid,
            answer.fed_by(
                "getEditsFromTxid",
                lambda found: pb.GetEditsFromTxidResponseProto(eventsList=found),
            ),
        )
        return answer

    def msync(self, request: pb.MsyncRequestProto, caller: Caller) -> pb.MsyncResponseProto:
        return pb.MsyncResponseProto()

    def get_haservice_state(
        self, request: pb.HAServiceStateRequestProto, caller: Caller
    ) -> pb.HAServiceStateResponseProto:
        return pb.HAServiceStateResponseProto(state=self._ha_state())
