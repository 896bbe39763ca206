"""Rolling upgrades: `dfsadmin -rollingUpgrade query|prepare|finalize` (pure).

Hadoop: FSNamesystem.startRollingUpgrade, queryRollingUpgrade, finalizeRollingUpgrade.

To prepare one is an edit, and an image to go back to that ends where a segment of the log
ends, so that going back discards whole segments:

- A namenode that is alone has to be in safe mode. The image comes first, the edit follows in
  the segment after it, and the answer when the image is there; then safe mode is left. If
  the image fails, another edit ends the upgrade again.
- Namenodes that share a log stay in service. The edit comes first and ends its segment, and
  each of them makes the image there. `query` tells when the active has it.

To finalize it is another edit. There is no way back then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.storage import Images, NameStorage
from howdah.namenode.service.namesystem import Namesystem
from howdah.protocol.rpc.call import Caller

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UpgradeInfo:
    """A rolling upgrade, in Unix milliseconds; `finalize_ms` is 0 while it is under way."""

    start_ms: int
    finalize_ms: int
    has_rollback_image: bool


Answer = Callable[[UpgradeInfo | errors.HowdahError], None]


class RollingUpgradeCalls:
    """All are for the superuser alone."""

    def __init__(
        self, namesystem: Namesystem, storage: NameStorage | None, images: Images | None
    ) -> None:
        """`storage` and `images` are None where there is no disk, as in a test in memory."""
        self._namesystem = namesystem
        self._storage = storage
        self._images = images

    def query(self, caller: Caller) -> UpgradeInfo | None:
        """None if none is under way."""
        self._check(caller, "query")
        return self._info()

    def prepare(self, caller: Caller, answer: Answer) -> UpgradeInfo | None:
        """Begin one; the same if one is under way already. None if `answer` is called later.

        Raises CheckpointFailed outside safe mode (alone), SafeMode (with others),
        InconsistentStorage while another upgrade is not finalized.
        """
        self._check(caller, "prepare")
        known = self._info()
        if known is not None:
            return known
        namesystem, storage, images = self._namesystem, self._storage, self._images
        if storage is None or images is None:
            raise errors.UnsupportedOperation("this namenode keeps no images to go back to")
        if storage.is_shared():
            namesystem.safe_mode.check("Failed to start rolling upgrade")
        elif not namesystem.safe_mode.on:
            raise errors.CheckpointFailed(
                "Safe mode should be turned ON in order to create namespace image."
            )
        if not storage.is_upgrade_finalized():
            raise errors.InconsistentStorage(
                "previous fs state should not exist during upgrade. Finalize or rollback first."
            )
        if not storage.is_shared():
            images.save(self._then_leave_safe_mode(answer), rollback_begun=self._begin)
            return None
        self._begin()
        if not images.make_rollback_image():
            storage.roll_edits()
        return self._info()

    def _begin(self) -> None:
        if not self._namesystem.namespace.rolling_upgrade.is_under_way:
            self._namesystem.commit(edits.RollingUpgradeStartOp(self._namesystem.clock.wall_ms()))
            log.warning(
                "a rolling upgrade begins with transaction %d: until it is finalized, everything "
                "can go back to here",
                self._namesystem.last_txid,
            )

    def _then_leave_safe_mode(self, answer: Answer) -> Callable[[errors.HowdahError | None], None]:
        def saved(error: errors.HowdahError | None) -> None:
            info = self._info()
            if error is not None:
                self._undo()
                answer(error)
            elif info is None:
                answer(errors.CheckpointFailed("the rolling upgrade was finalized meanwhile"))
            else:
                self._namesystem.safe_mode.leave(force=False)
                answer(info)

        return saved

    def _undo(self) -> None:
        """End an upgrade that was begun for an image that was not made: without it there is no
        way back, so whoever asked hears that it failed, and it has to be true."""
        namesystem = self._namesystem
        can_commit = namesystem.role.writable and namesystem.broken is None
        if not namesystem.namespace.rolling_upgrade.is_under_way or not can_commit:
            return
        namesystem.commit(edits.RollingUpgradeFinalizeOp(namesystem.clock.wall_ms()))
        log.warning(
            "the rolling upgrade is ended again by transaction %d: there is no image to go back to",
            namesystem.last_txid,
        )

    def finalize(self, caller: Caller) -> UpgradeInfo | None:
        """End the one that is under way; None if there is none. Raises SafeMode."""
        self._check(caller, "finalize")
        namesystem = self._namesystem
        if not namesystem.namespace.rolling_upgrade.is_under_way:
            return None
        namesystem.safe_mode.check("Failed to finalize rolling upgrade")
        namesystem.commit(edits.RollingUpgradeFinalizeOp(namesystem.clock.wall_ms()))
        log.warning(
            "the rolling upgrade is finalized by transaction %d: there is no way back any more, "
            "and datanodes delete what they kept",
            namesystem.last_txid,
        )
        if self._storage is not None and self._storage.is_shared():
            self._storage.roll_edits()
        ended = namesystem.namespace.rolling_upgrade.finalized
        assert ended is not None, "it was under way"
        return UpgradeInfo(ended.start_ms, ended.finalize_ms, has_rollback_image=False)

    def _info(self) -> UpgradeInfo | None:
        start_ms = self._namesystem.namespace.rolling_upgrade.start_ms
        if start_ms is None:
            return None
        images = self._images
        return UpgradeInfo(start_ms, 0, images is not None and images.has_rollback_image)

    def _check(self, caller: Caller, action: str) -> None:
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), f"{action} a rolling upgrade"
        )
