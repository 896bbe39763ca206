"""Moves replicas to the types of storage that the policies of their files name: the mover.

Hadoop's `org.apache.hadoop.hdfs.server.mover.Mover`. An iteration goes over the files, and begins
the moves of each (`violations`) when their datanodes have a turn to spare. Files that only
snapshots have are left as they are.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.balancer.moves import Moves
from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.settings import BalancerSettings
from howdah.balancer.state.iteration import Move
from howdah.balancer.state.nodes import FileBlocks, domains_of, groups_of
from howdah.balancer.state.termination import Status
from howdah.balancer.state.violations import repairs, wanted_policy
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.protocol.data_transfer.blocks import StorageType

log = logging.getLogger(__name__)

ID_PATH: Final = "/system/mover.id"


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
    """Moves replicas of one namespace to where storage policies want them."""

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
        self._found = Found()
        self._moves = Moves(namenode.pool_id, settings, self._ended, access=namenode.access)
        self._policies = {
            policy.policy_id: tuple(StorageType[name] for name in policy.storage_types)
            for policy in fs.get_storage_policies()
        }

    def iterate(self) -> tuple[Status, Found]:
        """Look at all files once, move what can be moved, and wait for it. SUCCESS if nothing had
        to be moved."""
        findings = self._found = Found()
        reports = self._namenode.reports()
        groups = {group.key: group for report in reports for group in groups_of(report)}
        racks = {report.node.uuid: report.rack for report in reports}
        domains = domains_of(reports)
        left_bytes = {key: group.most_bytes for key, group in groups.items()}
        threads: list[threading.Thread] = []
        for path in self._paths:
            for status in self._files(path):
                file = self._blocks(status)
                policy_id = wanted_policy(status.storage_policy, is_striped=file.is_striped)
                if policy_id is None:
                    log.info(
                        "%s is erasure coded and has none of the storage policies that count for "
                        "such files: its blocks stay where they are",
                        status.path,
                    )
                    continue
                policy = self._policies.get(policy_id, ())
                for needed in repairs(file.blocks, policy, groups, racks, left_bytes, domains):
                    findings.unplaced += needed.unplaced
                    for move in needed.moves:
                        threads.append(self._moves.begin(move))
                threads = [thread for thread in threads if thread.is_alive()]
        for thread in threads:
            thread.join()
        return self._judge(findings), findings

    def _judge(self, findings: Found) -> Status:
        if not findings.remains:
            return Status.SUCCESS
        if findings.failed and not findings.moved:
            self._retries += 1
            if self._retries > self._settings.mover_retries:
                return Status.NO_MOVE_PROGRESS
            return Status.IN_PROGRESS
        self._retries = 0
        return Status.IN_PROGRESS if findings.moved else Status.NO_MOVE_BLOCK

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

    def _blocks(self, status: FileStatus) -> FileBlocks:
        if not status.length:
            return FileBlocks(())
        try:
            return self._namenode.file_blocks(self._fs.resolve(status.path))
        except errors.PathNotFound:
            return FileBlocks(())

    def _ended(self, move: Move, is_success: bool) -> None:
        with self._lock:
            if is_success:
                self._found.moved += 1
                self._found.moved_bytes += move.block.length_bytes
            else:
                self._found.failed += 1
