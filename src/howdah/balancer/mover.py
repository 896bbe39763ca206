"""Moves replicas to the types of storage that the policies of their files name: the mover.

Hadoop's `org.apache.hadoop.hdfs.server.mover.Mover`. An iteration goes over the files, and begins
the moves of each (`violations`) when their datanodes have a turn to spare. Files that only
snapshots have are left as they are.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.balancer import target
from howdah.balancer.iteration import Move
from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.nodes import MOVABLE_TYPES, BlockPlaces, Group, GroupKey, NodeReport
from howdah.balancer.rounds import Status
from howdah.balancer.settings import BalancerSettings
from howdah.balancer.violations import repair
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.transfer.blocks import StorageType

log = logging.getLogger(__name__)

ID_PATH: Final = "/system/mover.id"
_HOT: Final = 7
"""The policy of files that have none, nor a directory that has one."""


@dataclass(slots=True)
class Found:
    """One iteration: replicas that were moved, that failed, and that have nowhere to go."""

    moved: int = 0
    moved_bytes: int = 0
    failed: int = 0
    unplaced: int = 0

    @property
    def remains(self) -> bool:
        """Whether another iteration has to look again."""
        return bool(self.moved or self.failed or self.unplaced)


class Mover:
    """Of one namespace."""

    def __init__(
        self,
        fs: HdfsFileSystem,
        namenode: BalancedNamenode,
        settings: BalancerSettings,
        paths: Sequence[str] = ("/",),
    ) -> None:
        self._fs = fs
        self._namenode = namenode
        self._settings = settings
        self._paths = paths
        self._retries = 0
        self._lock = threading.Lock()
        limits = settings.limits
        self._threads = threading.BoundedSemaphore(limits.moves)
        self._turns: dict[str, threading.BoundedSemaphore] = defaultdict(
            lambda: threading.BoundedSemaphore(limits.moves_per_node)
        )
        self._policies = {
            policy.policy_id: tuple(StorageType[name] for name in policy.storage_types)
            for policy in fs.get_storage_policies()
        }

    def iterate(self) -> tuple[Status, Found]:
        """Look at all files once, move what can be moved, and wait for it. SUCCESS if nothing had
        to be moved."""
        found = Found()
        reports = self._namenode.reports()
        groups = {group.key: group for report in reports for group in _groups(report)}
        racks = {report.node.uuid: report.rack for report in reports}
        left_bytes = {key: group.most_bytes for key, group in groups.items()}
        threads: list[threading.Thread] = []
        for path in self._paths:
            for status in self._files(path):
                for block in self._blocks(status):
                    policy = self._policies.get(status.storage_policy or _HOT, ())
                    needed = repair(block, policy, groups, racks, left_bytes)
                    found.unplaced += needed.unplaced
                    for each in needed.moves:
                        threads.append(self._begin(each, found))
                threads = [thread for thread in threads if thread.is_alive()]
        for thread in threads:
            thread.join()
        return self._judge(found), found

    def _judge(self, found: Found) -> Status:
        if not found.remains:
            return Status.SUCCESS
        if found.failed and not found.moved:
            self._retries += 1
            if self._retries > self._settings.mover_retries:
                return Status.NO_MOVE_PROGRESS
            return Status.IN_PROGRESS
        self._retries = 0
        return Status.IN_PROGRESS if found.moved else Status.NO_MOVE_BLOCK

    # --- files ---

    def _files(self, path: str) -> Iterator[FileStatus]:
        """All files at the path and below, each directory's before those further down."""
        waiting = [path]
        while waiting:
            here = waiting.pop()
            try:
                for status in self._fs.list_status_iter(here):
                    if status.is_directory:
                        waiting.append(status.path)
                    elif status.is_file:
                        yield status
            except errors.PathNotFound:
                log.info("%s is gone", here)

    def _blocks(self, status: FileStatus) -> Iterator[BlockPlaces]:
        if not status.length:
            return
        path = self._fs.resolve(status.path)
        try:
            located = self._fs.client.namenode.get_block_locations(path, 0, (1 << 63) - 1)
        except errors.PathNotFound:
            return
        if located.erasure_coding_policy is not None:
            log.info("%s is erasure coded: its blocks are not moved", path)
            return
        open_block = None if located.last_block_complete else located.last_block
        for each in located.blocks:
            if open_block is not None and each.block.block_id == open_block.block.block_id:
                continue
            yield BlockPlaces(
                each.block.block_id,
                each.block.generation_stamp,
                each.block.length_bytes,
                tuple(
                    (node.uuid, kind)
                    for node, kind in zip(each.nodes, each.storage_types, strict=True)
                ),
            )

    # --- moves ---

    def _begin(self, move: Move, found: Found) -> threading.Thread:
        """In a thread, when there is one to spare, and both datanodes have a turn to spare."""
        # By name, so that two who want the same never wait for each other.
        uuids = sorted({move.target.node.uuid, move.proxy.uuid})
        held = [self._threads, *(self._turns[uuid] for uuid in uuids)]
        for turn in held:
            turn.acquire()

        def run() -> None:
            try:
                self._move(move, found)
            finally:
                for turn in held:
                    turn.release()

        thread = threading.Thread(target=run, name="move", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            for turn in held:
                turn.release()
            raise
        return thread

    def _move(self, move: Move, found: Found) -> None:
        is_success = False
        try:
            target.move(
                move,
                self._namenode.pool_id,
                socket_timeout_s=self._settings.socket_timeout_s,
                use_hostname=self._settings.use_hostname,
                move_timeout_s=self._settings.move_timeout_s,
            )
            is_success = True
        except (errors.HowdahError, OSError) as error:
            log.warning("a move from %s to %s failed: %s", move.source, move.target, error)
        with self._lock:
            if is_success:
                found.moved += 1
                found.moved_bytes += move.block.length_bytes
            else:
                found.failed += 1


def _groups(report: NodeReport) -> Iterator[Group]:
    """The storages of a datanode by type; what has room may take replicas."""
    if not report.in_service:
        return
    room: dict[GroupKey, int] = {}
    for storage in report.storages:
        if storage.storage_type in MOVABLE_TYPES:
            key = report.node.uuid, storage.storage_type
            # A replica has to fit on one volume.
            room[key] = max(room.get(key, 0), storage.remaining_bytes)
    for (_, kind), left_bytes in room.items():
        yield Group(report.node, report.rack, kind, 0.0, left_bytes)
