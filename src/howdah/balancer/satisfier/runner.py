"""Runs a satisfier: the clock, threads, and what it asks the namenode (shell).

Hadoop's `ExternalStoragePolicySatisfier` and `ExternalSPSContext`. One loop owns the pure state
machine, and asks the namenode; moves run in threads of their own, and put their end into a queue.
A namenode that does not answer, or is in safe mode, is asked again after a pause; what is in hand
stays in hand, also over a failover.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

from howdah import errors
from howdah.balancer.moves import Moves
from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.satisfier.scan import Walk, path_of
from howdah.balancer.settings import BalancerSettings
from howdah.balancer.state.iteration import Move
from howdah.balancer.state.satisfier_queue import (
    Action,
    AskForMark,
    Cluster,
    Facts,
    Limits,
    List,
    Look,
    Outcome,
    SatisfierWork,
    Unmark,
)
from howdah.balancer.state.violations import wanted_policy
from howdah.config import Configuration, keys
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.data_transfer.blocks import StorageType

log = logging.getLogger(__name__)

NAME: Final = "ExternalStoragePolicySatisfier"
MARK: Final = "user.hdfs.sps"
_LONGEST_RECHECK_S: Final = 60.0
_LOOK_S: Final = 0.5
"""How often it is looked whether something is due."""
_REFRESH_AFTER_FAILURE_S: Final = 3.0
_SAFE_MODE_S: Final = 3.0
"""How long an answer about safe mode counts."""

Told = Callable[[int, Outcome], None]
"""Hears of a mark that was taken off, by its inode id, and what came of it."""


def limits_of(conf: Configuration) -> Limits:
    recheck_s = conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_RECHECK_TIMEOUT_MILLIS)
    return Limits(
        files=conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_QUEUE_LIMIT),
        moves_per_node=conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_WORK_MULTIPLIER_PER_ITERATION),
        moves=conf.get(keys.DFS_MOVER_MOVERTHREADS),
        attempts=conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_RETRY_MAX_ATTEMPTS),
        # As Hadoop has it: 0 is no time at all, and means the longest.
        recheck_ms=_ms(min(recheck_s or _LONGEST_RECHECK_S, _LONGEST_RECHECK_S)),
        timeout_ms=_ms(conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_SELF_RETRY_TIMEOUT_MILLIS)),
    )


class Satisfier:
    """Has the blocks of one namespace moved to where storage policies want them."""

    def __init__(
        self,
        fs: HdfsFileSystem,
        namenode: BalancedNamenode,
        conf: Configuration,
        on_outcome: Told = lambda mark, outcome: None,
    ) -> None:
        self._fs = fs
        self._namenode = namenode
        self._on_outcome = on_outcome
        self._work = SatisfierWork(limits_of(conf))
        self._refresh_s = conf.get(
            keys.DFS_STORAGE_POLICY_SATISFIER_DATANODE_CACHE_REFRESH_INTERVAL_MS
        )
        self._happened: SimpleQueue[tuple[Move, bool]] = SimpleQueue()
        self._moves = Moves(
            namenode.pool_id,
            BalancerSettings.of_mover(conf),
            lambda move, is_success: self._happened.put((move, is_success)),
            access=namenode.access,
            retries=conf.get(keys.DFS_STORAGE_POLICY_SATISFIER_MOVE_TASK_RETRY_MAX_ATTEMPTS),
        )
        self._policies: dict[int, tuple[StorageType, ...]] = {}
        self._walk: Walk | None = None
        self._cluster: Cluster | None = None
        self._cluster_s = 0.0
        self._has_failed = False
        """Whether a move has failed since the datanodes were reported."""
        self._safe_mode_until_s = 0.0
        self._is_safe = False
        self._trouble = ""

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set. Moves that are under way then go on at the datanodes."""
        while not stop.is_set():
            self._take_ended(wait_s=0.0 if self.step() else _LOOK_S)

    def step(self) -> bool:
        """Do what is due; False if nothing is."""
        action = self._work.next(_now_ms())
        if action is None:
            return False
        try:
            if self._is_in_safe_mode():
                raise errors.SafeMode("the namenode is in safe mode")
            self._do(action)
        except errors.HowdahError as error:
            self._failed(action, error)
            return False
        self._trouble = ""
        return True

    def _do(self, action: Action) -> None:
        work = self._work
        match action:
            case AskForMark():
                mark = self._namenode.next_mark()
                if mark is None:
                    work.no_mark(_now_ms())
                elif work.marked(mark):
                    self._walk = Walk(mark, self._fs.client.namenode.get_listing)
                    log.info("the storage policy of inode %d is to be satisfied", mark)
            case List(_, files):
                assert self._walk is not None
                for file_id, name in self._walk.more(files):
                    work.add_file(file_id, name, _now_ms())
                if self._walk.is_over:
                    self._walk = None
                    work.listed()
            case Look(file_id, name):
                cluster = self._fresh_cluster()
                judged = work.judge(file_id, self._facts(file_id), cluster, _now_ms())
                if judged.line:
                    log.warning("%s", judged.line)
                for move in judged.moves:
                    log.info(
                        "blk_%d of %s goes from %s to %s",
                        move.block.block_id,
                        name,
                        move.source,
                        move.target,
                    )
                    self._begin(move)
            case Unmark(mark):
                self._unmark(mark)
                outcome = work.unmarked(mark, is_success=True, now_ms=_now_ms())
                assert outcome is not None
                self._end(mark, outcome)

    def _begin(self, move: Move) -> None:
        try:
            self._moves.begin(move, waits=False)
        except RuntimeError as error:
            log.warning("there is no thread for a move to %s: %s", move.target, error)
            self._happened.put((move, False))

    def _end(self, mark: int, outcome: Outcome) -> None:
        log.info(
            "the storage policy of inode %d is %s: %d files, %d replicas moved (%d bytes), "
            "%d moves failed, %d files given up; the mark is taken off",
            mark,
            "not satisfied" if outcome.given_up else "satisfied",
            outcome.files,
            outcome.moved,
            outcome.moved_bytes,
            outcome.failed,
            outcome.given_up,
        )
        self._on_outcome(mark, outcome)

    def _failed(self, action: Action, error: errors.HowdahError) -> None:
        text = str(error)
        if text != self._trouble:
            self._trouble = text
            log.warning("the namenode is asked again later: %s", text)
        now_ms = _now_ms()
        match action:
            case Look(file_id, _):
                self._work.look_failed(file_id, now_ms)
            case Unmark(mark):
                self._work.unmarked(mark, is_success=False, now_ms=now_ms)
            case _:
                self._work.no_mark(now_ms)

    def _take_ended(self, wait_s: float) -> None:
        try:
            move, is_success = self._happened.get(timeout=wait_s) if wait_s else self._now()
            while True:
                self._work.ended(move, is_success=is_success, now_ms=_now_ms())
                self._has_failed |= not is_success
                move, is_success = self._now()
        except Empty:
            return

    def _now(self) -> tuple[Move, bool]:
        return self._happened.get_nowait()

    # --- questions ---

    def _facts(self, file_id: int) -> Facts | None:
        path = path_of(file_id)
        try:
            status = self._fs.get_file_status(path)
            if not status.is_file:
                return None
            blocks = self._namenode.file_blocks(path)
        except errors.PathNotFound:
            return None
        if not self._policies:
            self._policies = {
                policy.policy_id: tuple(StorageType[name] for name in policy.storage_types)
                for policy in self._fs.get_storage_policies()
            }
        policy_id = wanted_policy(status.storage_policy, is_striped=blocks.is_striped)
        policy = None if policy_id is None else self._policies.get(policy_id, ())
        return Facts(blocks, status.replication, policy)

    def _fresh_cluster(self) -> Cluster:
        now_s = time.monotonic()
        age_s = now_s - self._cluster_s
        if (
            self._cluster is None
            or age_s >= self._refresh_s
            # A datanode may have died, or be full.
            or (self._has_failed and age_s >= _REFRESH_AFTER_FAILURE_S)
        ):
            self._cluster, self._cluster_s = Cluster(self._namenode.reports()), now_s
            self._has_failed = False
        return self._cluster

    def _is_in_safe_mode(self) -> bool:
        now_s = time.monotonic()
        if now_s >= self._safe_mode_until_s:
            self._is_safe = self._fs.set_safe_mode("get", checked=True)
            self._safe_mode_until_s = now_s + _SAFE_MODE_S
        return self._is_safe

    def _unmark(self, mark: int) -> None:
        """Raises what keeps the namenode from answering; a mark that is gone is all right."""
        path = path_of(mark)
        try:
            self._fs.remove_xattr(path, MARK)
        except errors.PathNotFound:
            log.info("inode %d is gone, and its mark with it", mark)
        except errors.RemoteError:
            # Hadoop's words for "there is none" have no class of their own.
            if MARK in self._fs.list_xattrs(path):
                raise
            log.info("the mark of inode %d was taken off by somebody else", mark)


def _now_ms() -> int:
    return int(time.monotonic() * 1000)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
