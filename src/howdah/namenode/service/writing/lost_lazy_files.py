"""Files that were to be kept in memory, and whose blocks are lost, are deleted (pure).

FSNamesystem.LazyPersistFileScrubber in Hadoop. Every
`dfs.namenode.lazypersist.file.scrub.interval.sec` all files of the storage policy LAZY_PERSIST go
that have a block without a good replica: their writers can write them again, and nobody else can
bring them back. 0 switches it off, and in safe mode nothing happens. What only snapshots show
stays.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.namespace_changes import TreeCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.redundancy import Need
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.inodes import File
from howdah.protocol.rpc.call import Caller

SLICE_BLOCKS: Final = 1000


class LazyPersistScrubber:
    """Knows when it is time, and does it."""

    def __init__(self, namesystem: Namesystem, tree: TreeCalls, *, interval_ms: int) -> None:
        self._namesystem = namesystem
        self._tree = tree
        self._interval_ms = interval_ms
        self._next_ms = namesystem.clock.monotonic_ms() + interval_ms
        self._caller = Caller(
            namesystem.permissions.superuser, edits.NO_CLIENT_ID, edits.NO_CALL_ID, -1, ""
        )

    def is_due(self) -> bool:
        """True once for each interval, and not while nothing may be changed."""
        now_ms = self._namesystem.clock.monotonic_ms()
        if not self._interval_ms or now_ms < self._next_ms or self._namesystem.safe_mode.on:
            return False
        self._next_ms = now_ms + self._interval_ms
        return True

    def round(self) -> Generator[str, None, None]:
        """In slices; each says which file it has deleted, or nothing."""
        namesystem = self._namesystem
        for _ in namesystem.block_manager.reconstruction.sort():
            yield ""
        for number, block_id in enumerate(
            namesystem.block_manager.blocks.redundancy.queues[Need.MISSING], 1
        ):
            if number % SLICE_BLOCKS == 0:
                yield ""
            if namesystem.safe_mode.on:
                return
            file = self._lost_file(block_id)
            if file is None:
                continue
            path = file.path
            try:
                self._tree.delete(self._caller, path, recursive=False)
            except errors.HowdahError as error:
                yield f"the lazy persist file {path} without replicas stays: {error}"
            else:
                yield f"Removing lazyPersist file {path} with no replicas."

    def _lost_file(self, block_id: int) -> File | None:
        namespace = self._namesystem.namespace
        block = namespace.blocks.get(block_id)
        file = None if block is None else namespace.inodes.get(block.file_id)
        if block is None or block.replica_count or not isinstance(file, File):
            return None
        if not namespace.is_attached(file):
            return None
        return file if storage_policies.is_lazy_persist(file) else None
