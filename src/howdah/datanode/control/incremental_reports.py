"""Incremental reports to one namenode: what has happened here and it has not heard yet.

IncrementalBlockReportManager and the queue of BPServiceActorAction in Hadoop. News of
replicas are told in the order in which they happened, many in a call. What could not be told
because the namenode is away stays and is told again. What the namenode refuses is not: a
full report makes news of replicas good, a bad replica is found again by its next reader, and
the end of a recovery by the next recovery of its block. A standby refuses the last two, and
has the former from the active by way of the edit log.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from howdah import errors
from howdah.datanode.control import reports
from howdah.datanode.control.reports import BlockNews
from howdah.datanode.state.fault_points import Point, reach
from howdah.datanode.state.messages import BlockSynchronized, CorruptFound
from howdah.datanode.volumes.volumes import Volume
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import DatanodeAddress

log = logging.getLogger(__name__)

AWAY: Final = (
    errors.Unreachable,
    errors.CallTimeout,
    errors.StandbyError,
    errors.RetriableError,
    errors.SafeMode,
)
"""How calls fail at a namenode that may take them later."""

News = BlockNews | CorruptFound | BlockSynchronized
_MAX_NEWS = 1000
"""Replicas in one incremental report."""
MOST_KEPT = 100_000
"""News that are kept for a namenode that is away; then a full report is to make them good."""


class IncrementalReports:
    """Reports to one namenode what has happened. Others append while its one thread tells:
    `deque` allows that."""

    def __init__(
        self,
        namenode: str,
        volumes: Mapping[str, Volume],
        node: Callable[[], DatanodeAddress],
        call: Callable[..., Any],
        refused: Callable[[str, errors.HowdahError], None],
    ) -> None:
        """`call` takes a method, its request and the type of its answer. `refused` is told of
        news of replicas that the namenode does not want, and why."""
        self._namenode = namenode
        self._volumes = volumes
        self._node = node
        self._call = call
        self._refused = refused
        self._queue: deque[News] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def append(self, news: News) -> None:
        self._queue.append(news)

    @property
    def is_too_long(self) -> bool:
        return len(self._queue) > MOST_KEPT

    def clear(self) -> None:
        """Nobody may append meanwhile."""
        self._queue.clear()

    def shorten(self) -> None:
        """A full report is to have it all. Nobody may append meanwhile."""
        self.drop_news_of_blocks(len(self))
        while self.is_too_long:
            self._queue.popleft()

    def drop_news_of_blocks(self, count: int) -> None:
        """A full report has what the first `count` news tell. Nobody may append meanwhile."""
        first = [self._queue.popleft() for _ in range(count)]
        self._queue.extendleft(news for news in reversed(first) if not isinstance(news, BlockNews))

    def send_all(self, registration: pb.DatanodeRegistrationProto, pool_id: str) -> None:
        """Until nothing is left, or one of `AWAY` is raised."""
        while self._queue:
            news = [self._queue[index] for index in range(min(len(self._queue), _MAX_NEWS))]
            of_blocks = [item for item in news if isinstance(item, BlockNews)]
            mine = [item for item in of_blocks if item.block.pool_id == pool_id]
            if mine:
                self._report_blocks(registration, pool_id, mine)
            for item in news:
                if isinstance(item, CorruptFound):
                    self._report_bad_block(item)
                elif isinstance(item, BlockSynchronized):
                    self._commit(item)
            # Only now: what the namenode has not heard is told again.
            for _ in news:
                self._queue.popleft()

    def _report_blocks(
        self, registration: pb.DatanodeRegistrationProto, pool_id: str, news: list[BlockNews]
    ) -> None:
        try:
            self._call(
                "blockReceivedAndDeleted",
                reports.incremental_report(registration, pool_id, news, self._volumes),
                pb.BlockReceivedAndDeletedResponseProto,
            )
        except AWAY:
            raise
        except errors.HowdahError as error:
            self._refused(f"news of {len(news)} replicas, first {news[0].block}", error)

    def _report_bad_block(self, corrupt: CorruptFound) -> None:
        """Report a corrupt replica. A namenode that does not want the report knows the block, or
        the node, by another name or not at all: the source of a copy is what its sender says."""
        try:
            self._call(
                "reportBadBlocks",
                reports.bad_block_report(corrupt, self._node(), self._volumes),
                pb.ReportBadBlocksResponseProto,
            )
        except errors.StandbyError:
            log.debug("namenode %s is a standby: the active is told of %s", self._namenode, corrupt)
        except AWAY:
            raise
        except errors.HowdahError as error:
            log.warning(
                "namenode %s does not take it that %s at %s is damaged (%s): %s",
                self._namenode,
                corrupt.block,
                corrupt.node or "this datanode",
                corrupt.reason,
                error,
            )

    def _commit(self, recovery: BlockSynchronized) -> None:
        """What a recovery agreed on. A namenode that doesn't want it has given the block to
        another recovery meanwhile, has lost its file, or is a standby now, whose successor
        begins recoveries of its own: there is nothing to repeat."""
        reach(Point.COMMIT_RECOVERY, recovery.block.block_id)
        try:
            self._call(
                "commitBlockSynchronization",
                reports.synchronization(recovery),
                pb.CommitBlockSynchronizationResponseProto,
            )
        except errors.HowdahError as error:
            if isinstance(error, AWAY) and not isinstance(error, errors.StandbyError):
                raise
            log.warning(
                "namenode %s does not take recovery %d of %s: %s",
                self._namenode,
                recovery.new_stamp,
                recovery.block,
                error,
            )
            return
        log.info(
            "recovery %d of %s is committed: %d bytes at %d nodes",
            recovery.new_stamp,
            recovery.block,
            recovery.new_length_bytes,
            len(recovery.nodes),
        )
