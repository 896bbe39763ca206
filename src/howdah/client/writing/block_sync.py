"""Brings finished blocks to the disk that were written without an order to sync.

1. Every datanode of every such block is asked, several at once: the first `hsync` of a long
   file would make three connections a block one after the other otherwise.
2. One yes is enough for a block, as one survivor of a pipeline is; the disks of those that
   are gone count for nothing.
3. Where nobody says yes the block may have been moved since (by the balancer, or off a
   decommissioned node): the namenode is asked where it is, and who is new there is asked.
4. A block that stays without a yes fails the sync, when all others have had their turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.state.blocks import LocatedBlock
from howdah.client.thread_pool import Workers
from howdah.client.writing.pipeline_setup import PipelineSetup, SetupFailed
from howdah.protocol.data_transfer.blocks import DatanodeAddress

MAX_THREADS = 16
"""Of the whole process, as for vectored reads."""
_WHOLE_FILE = 2**63 - 1

_workers = Workers(MAX_THREADS, "howdah-late-sync")
_log = logging.getLogger(__name__)
Refusals = dict[DatanodeAddress, str]


class BlockSync:
    """Syncs the finished blocks of one file. Keeps no state of them."""

    def __init__(self, path: str, namenode: NamenodeProxy, setup: PipelineSetup) -> None:
        self._path = path
        self._namenode = namenode
        self._setup = setup

    def sync(self, blocks: Iterable[LocatedBlock], synced: Callable[[LocatedBlock], None]) -> None:
        """Sync `blocks`, and tell of each that is; raises for the first that can't be."""
        asked = [(block, self._request_syncs(block)) for block in blocks]
        first: errors.HowdahError | None = None
        for block, answers in asked:
            try:
                self._check(block, answers)
            except errors.HowdahError as error:
                first = first or error
            else:
                synced(block)
        if first is not None:
            raise first

    def _request_syncs(self, block: LocatedBlock) -> dict[DatanodeAddress, Future[None]]:
        def one(node: DatanodeAddress) -> Callable[[], None]:
            return lambda: self._setup.sync_at(node, block)

        return {node: _workers.submit(one(node)) for node in block.nodes}

    def _check(self, block: LocatedBlock, answers: dict[DatanodeAddress, Future[None]]) -> None:
        refusals = self._refusals(block, answers)
        if len(refusals) < len(block.nodes):
            return
        where = ""
        try:
            now = self._find(block)
        except (errors.HowdahError, OSError) as error:
            now, where = None, f"; where it is now cannot be asked: {error}"
        for node in () if now is None else now.nodes:
            if now is not None and node not in refusals:
                moved = self._refusals(now, self._request_syncs(now.at(node)))
                if not moved:
                    return
                refusals |= moved
        said = "; ".join(f"{node}: {why}" for node, why in refusals.items())
        raise errors.PipelineFailed(
            f"the finished block {block.block.name} could not be brought to the disk of "
            f"any datanode: {said or 'it has none'}{where}"
        )

    def _refusals(
        self, block: LocatedBlock, answers: dict[DatanodeAddress, Future[None]]
    ) -> Refusals:
        refusals: Refusals = {}
        for node, answer in answers.items():
            try:
                answer.result()
            except SetupFailed as failure:
                _log.warning(
                    "%s: %s is not synced at %s: %s", self._path, block.block, node, failure
                )
                refusals[node] = failure.reason
        return refusals

    def _find(self, block: LocatedBlock) -> LocatedBlock | None:
        """Return where the block is now; None if the file does not have it any more."""
        # The offset is what the namenode said when it gave the block, which may be nothing.
        for offset, length in ((block.offset, 1), (0, _WHOLE_FILE)):
            for current in self._namenode.get_block_locations(self._path, offset, length).blocks:
                if current.block.is_same_as(block.block):
                    return current
        return None
