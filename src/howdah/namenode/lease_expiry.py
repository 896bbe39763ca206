"""What becomes of files whose writers fell silent (pure).

After the hard limit nobody waits for a writer any more, and the namenode closes its
files by itself, as far as it can without asking datanodes:

1. all blocks are complete -> the file is closed as it is
2. nothing was ever written to the last block: no byte was synced, no datanode has a
   replica, and all that were to have one have said so -> the block is dropped, and
   the file closed
3. anything else needs the datanodes to agree on the last block's length: the file
   stays open, and with it every byte that was acknowledged. It is named once.

Not in safe mode: what datanodes hold is not known yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from howdah import errors
from howdah.namenode.core import Core
from howdah.namenode.file_calls import close_edit, edit_blocks
from howdah.namenode.inodes import BlockState, File
from howdah.storage import edits


class LeaseExpiry:
    """Looks at expired leases; the shell calls `work` every second or so."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._waiting: set[int] = set()

    def work(self) -> list[str]:
        """Close what can be closed; returns what is worth a line in the log."""
        core = self._core
        if core.safe_mode.on:
            return []
        said = []
        waiting = set()
        for holder, file in list(self._expired()):
            try:
                hindrance = self._close(file)
            except errors.IllegalArgument as error:
                # Its path has become so long that no record of the log can name it.
                hindrance = str(error)
            if hindrance is None:
                said.append(f"{file.path} is closed: its writer {holder} has been silent too long")
                continue
            waiting.add(file.inode_id)
            if file.inode_id not in self._waiting:
                said.append(
                    f"{file.path} stays open though its writer {holder} has been silent too "
                    f"long: {hindrance}"
                )
        self._waiting = waiting
        return said

    def _expired(self) -> Iterator[tuple[str, File]]:
        namespace = self._core.namespace
        for lease in self._core.leases.hard_expired(self._core.clock.monotonic_ms()):
            for inode_id in sorted(lease.inode_ids):
                file = namespace.inodes.get(inode_id)
                # What hangs under a deleted directory is freed with it.
                if isinstance(file, File) and namespace.is_attached(file):
                    yield lease.holder, file

    def _close(self, file: File) -> str | None:
        """None if it is done, else what stands against it."""
        core = self._core
        for block in file.blocks[:-1]:
            if block.state is not BlockState.COMPLETE:
                return f"{block.name} has too few replicas"
        last = file.blocks[-1] if file.blocks else None
        if last is not None and last.state is not BlockState.COMPLETE:
            if not core.blocks.is_unwritten(last):
                return f"{last.name} waits for recovery by its datanodes"
            core.commit(edits.UpdateBlocksOp(file.path, edit_blocks(file.blocks[:-1])))
            core.reap()
        core.commit(close_edit(file, edit_blocks(file.blocks), core.clock.wall_ms()))
        return None
