"""Replicas of a full report that hold no surprise, thousands in one call (pure).

Nearly all replicas of nearly all reports are good replicas of complete blocks: counted
before, or new since the namenode was started. The kernel takes them from the report's
bytes to the rows of the block table. Others belong to no block, since their files were
deleted: where these are to be deleted anyhow, the kernel makes them a list.
`BlockMap.reported` has every other replica, and all of them where there is no kernel.
"""

from __future__ import annotations

from array import array
from collections.abc import Container
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from howdah.namenode.state.inodes.block_table import STORAGE_BITS, BlockTable
from howdah.namenode.state.inodes.row_table import Remaining
from howdah.native.loader import kernel
from howdah.protocol.data_transfer.block_lists import ReplicaList

if TYPE_CHECKING:
    from howdah.namenode.state.blocks.datanodes import Storage

MOST_SIBLINGS: Final = 64
"""Other storages of a node, beyond which all replicas go one by one."""
MOST_SINGLES: Final = 32
"""So many are taken one by one at the most until the kernel is asked again."""
_NO_IDS: Final = array("q")
_NO_PAIRS: Final = array("Q")


class ReportFastPath:
    """Those of one report."""

    def __init__(
        self,
        native: ModuleType,
        listed: ReplicaList[Any],
        blocks: BlockTable,
        storage: Storage,
        siblings: tuple[int, ...],
        missing: Remaining,
        exceptions: tuple[Container[int], ...],
    ) -> None:
        self._native = native
        self._listed = listed
        self._pages = blocks.rows.pages
        self._number = blocks.number_of(storage)
        self._siblings = siblings
        self._missing = missing
        self._exceptions = exceptions
        self._pause = 0
        self._singles = 0

    @classmethod
    def of(
        cls,
        replicas: object,
        blocks: BlockTable,
        storage: Storage,
        missing: Remaining,
        exceptions: tuple[Container[int], ...],
    ) -> ReportFastPath | None:
        """None where replicas are to be taken one by one: there is no kernel, they are not
        there as bytes, or the storage is too much for it. `exceptions` are containers of ids
        of blocks that are never taken here; they may change between two calls."""
        native = kernel()
        if native is None or not isinstance(replicas, ReplicaList):
            return None
        if blocks.number_of(storage) >> STORAGE_BITS:
            return None
        siblings = tuple(
            number
            for number, other in enumerate(blocks.storages, 1)
            if other.node is storage.node and other is not storage
        )
        if len(siblings) > MOST_SIBLINGS:
            return None
        return cls(native, replicas, blocks, storage, siblings, missing, exceptions)

    def take_batch(
        self, most: int, last_orphaned: int
    ) -> tuple[int, array[int], bytes, array[int]]:
        """Count the next replicas in the rows of their blocks, and cross them out; `most` at
        the most, until one that is not plain. Those that belong to no block are plain, too, up
        to the generation stamp `last_orphaned`; none of them if it is negative. How many there
        were, the ids of the blocks that have one more by that, and how many each of those has
        now; then ids and generation stamps, as unsigned numbers in turn, of those that belong to
        no block."""
        if self._singles < self._pause:
            self._singles += 1
            return 0, _NO_IDS, b"", _NO_PAIRS
        listed, missing = self._listed, self._missing
        position, count, ids, counts, orphaned = self._native.take_reported(
            listed.buffer,
            listed.position,
            most,
            self._pages,
            self._number,
            self._siblings,
            self._exceptions,
            missing.touched,
            missing.parts,
            last_orphaned,
        )
        listed.passed(position, count)
        self._singles = 0
        self._pause = 0 if count else min(2 * self._pause + 1, MOST_SINGLES)
        return count, array("q", ids), counts, array("Q", orphaned)
