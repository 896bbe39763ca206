"""The parts of a namenode that shares its log with others (shell)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.version import NamenodeVersion
from howdah.namenode.server.ha.edit_log_tailer import EditLogTailer, TailSettings
from howdah.namenode.server.ha.log_writer import LogWriter
from howdah.namenode.server.ha.transitions import Transitions
from howdah.namenode.server.nameservice.peers import Peers
from howdah.namenode.service.ha.roles import Role, Roles
from howdah.namenode.service.ha.standby import OwnImages, Standby
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols.ha_service import Done, HASettings
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.proto import ha_pb2
from howdah.runtime import background_threads, unexpected_errors
from howdah.runtime.process_identity import ProcessIdentity
from howdah.storage.image_files import WrittenImage
from howdah.storage.layout import StorageDirectory
from howdah.storage.retention import Retention, purge_before

log = logging.getLogger(__name__)


class HighAvailability:
    """`protocols.ha_service.RoleChanges` of one namenode, with all that it needs."""

    def __init__(
        self,
        conf: Configuration,
        namesystem: Namesystem,
        shared: SharedLog,
        log_writer: LogWriter,
        edits_directories: Sequence[Path],
        *,
        peers: Peers,
        applied: Callable[[], object],
        fail: Callable[[str], None],
    ) -> None:
        """`applied` is told when edits of another namenode were applied; `fail` ends the
        process."""
        self.shared = shared
        self._peers = peers
        self._conf = conf
        self._namesystem = namesystem
        self._log = log_writer
        self._directories = edits_directories
        self._fail = fail
        self._sending = False
        self._changing: set[asyncio.Task[None]] = set()
        self._transitions: Transitions | None = None
        namesystem.safe_mode.callers_wait = True
        self.tailing = EditLogTailer(
            namesystem, shared, tail_settings(conf), ask_for_roll=peers.roll_active, applied=applied
        )

    def standbys(self, images: OwnImages) -> list[Role]:
        """The roles that follow the log. A standby makes images if it is to, an observer takes
        those of a standby."""
        makes = self._conf.get(keys.DFS_HA_STANDBY_CHECKPOINTS)
        interval_ms = round(1000 * self._conf.get(keys.DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS))
        return [
            Standby(
                state,
                self._namesystem,
                self.tailing,
                images,
                makes_images=makes and state is HAState.STANDBY,
                soon=asyncio.get_running_loop().call_soon,
                redundancy_interval_ms=interval_ms,
            )
            for state in (HAState.STANDBY, HAState.OBSERVER)
        ]

    def image_made(self, version: NamenodeVersion, written: WrittenImage) -> None:
        """A standby sends its images to the others, beside the loop."""
        if self._log.is_open or self._sending:
            return
        self._sending = True
        sending = background_threads.beside(
            lambda: self._peers.send_image(version, written), "sending of an image"
        )
        sending.add_done_callback(lambda sent: self._sent(written.txid, sent))

    def _sent(self, txid: int, sent: asyncio.Future[None]) -> None:
        self._sending = False
        error = sent.exception()
        if error is None:
            return
        if isinstance(error, OSError | errors.HowdahError):
            log.error("the image of transaction %d was not sent: %s", txid, error)
        else:
            unexpected_errors.note("sending an image", error, "the next image is sent again")

    def purge(self, kept_txid: int, retention: Retention) -> None:
        """On a thread: the active removes from the shared log what no image needs."""
        if self._log.shared is None:
            return
        try:
            finished = [
                (copy.first_txid, copy.last_txid)
                for copy in self.shared.source().segments(scans=False)
                if copy.last_txid is not None
            ]
            before = purge_before(kept_txid, dict.fromkeys(finished), retention)
            self.shared.purge_before(before)
        except OSError as error:
            log.error("nothing is purged in %s: %s", self.shared.name, error)

    def changes(self, roles: Roles) -> None:
        """From now on `change` changes these roles."""
        self._transitions = Transitions(
            self._namesystem,
            roles,
            self.shared,
            self.tailing,
            self._log,
            self._directories,
            lambda: highest_seen_txid(self._directories),
            self._fail,
        )

    def change(self, state: str, done: Done) -> None:
        assert self._transitions is not None, "there are roles to change"
        task = asyncio.get_running_loop().create_task(self._transitions.become(HAState[state]))
        self._changing.add(task)
        task.add_done_callback(lambda task: self._changed(task, done))

    def _changed(self, task: asyncio.Task[None], done: Done) -> None:
        self._changing.discard(task)
        if task.cancelled():
            done(errors.ServiceFailed("the namenode stops"))
            return
        error = task.exception()
        if error is None or isinstance(error, errors.HowdahError):
            done(error)
            return
        unexpected_errors.note("a change of role", error, "whoever ordered it gets an error")
        done(errors.ServiceFailed(f"{type(error).__name__}: {error}"))


def tail_settings(conf: Configuration) -> TailSettings:
    return TailSettings(
        period_s=conf.get(keys.DFS_HA_TAIL_EDITS_PERIOD),
        unfinished=conf.get(keys.DFS_HA_TAIL_EDITS_IN_PROGRESS),
        roll_period_s=conf.get(keys.DFS_HA_LOG_ROLL_PERIOD),
    )


def ha_settings(conf: Configuration) -> HASettings:
    return HASettings(
        automatic=conf.get(keys.DFS_HA_AUTOMATIC_FAILOVER_ENABLED),
        not_active_in_safe_mode=conf.get(keys.DFS_HA_NN_NOT_BECOME_ACTIVE_IN_SAFEMODE),
    )


def serving_process(
    log_writer: LogWriter, identity: ProcessIdentity | None
) -> ha_pb2.HowdahProcessProto | None:
    """What the failover controller on this machine is told of this process."""
    if identity is None:
        return None
    shared = log_writer.shared
    return ha_pb2.HowdahProcessProto(
        pid=identity.pid,
        startTicks=identity.start_ticks,
        bootId=identity.boot_id,
        writerEpoch=None if shared is None else shared.epoch,
    )


def highest_seen_txid(current_directories: Sequence[Path]) -> int:
    """How far the log had reached, by those directories that can be read."""
    seen = [0]
    for current in current_directories:
        try:
            seen.append(StorageDirectory(current.parent).read_seen_txid())
        except OSError as error:
            log.warning("%s does not say how far the log had reached: %s", current, error)
    return max(seen)
