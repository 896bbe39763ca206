"""Lease recovery: the namenode takes files from silent writers, and closes them (pure).

Hadoop's `LeaseManager.Monitor` and `FSNamesystem.internalReleaseLease`. A file is taken
when its writer was silent beyond the hard limit; when another client wants it and the
writer was silent beyond the soft limit; or when a client asks for it by `recoverLease`.
The steps are those of docs/how-it-works/recovery.md:

1. If all blocks are complete, or a datanode has each that is committed, the file is closed.
2. If nobody wrote the last block, one edit drops it and closes the file: no byte was
   synced, no datanode has a replica with its stamp, and all that may have one have
   reported. Those of a pipeline report a replica that is being written with a later heartbeat:
   they have some time for it since the file was taken (`BlockRecovery.is_droppable`), in which
   step 4 asks them. A restart forgets pipelines, and a failover does: then all live datanodes
   must have come back and reported (`BlockManager.unreported_holder`).
3. Otherwise the namenode takes the lease, by an edit. From here on every call of the old
   writer is refused, even if it asked for the recovery itself.
4. Once a datanode has each of the earlier blocks, the datanodes of the last one agree on its length
   (`block_recovery`), and the file is closed with that length. Where restarts of datanodes have
   left unfinished replicas alone of a block, whole ones are made of these first.

The namenode checks its own leases again and again until their files are closed, also
those that it, or another active, held before a restart or a failover. Nothing is done in
safe mode: the namenode does not know yet what datanodes have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.incremental_tasks import Round
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.state.inodes.file_blocks import close_edit, edit_blocks
from howdah.namenode.state.inodes.inodes import BlockState, File
from howdah.namenode.state.tree.leases import Lease, is_namenode_holder, namenode_holder
from howdah.protocol.rpc.call import Caller

FILES_PER_SLICE: Final = 50
"""Some milliseconds: calls wait no longer while the files of a dead client are closed."""


class LeaseRecovery:
    """Takes files from silent writers. The shell begins a round every second or so."""

    def __init__(self, namesystem: Namesystem, recovery: BlockRecovery) -> None:
        self._namesystem = namesystem
        self._recovery = recovery
        self.holder = namenode_holder(namesystem.clock.wall_ms())
        self._next_round_ms = 0
        self._waiting: set[int] = set()
        """Files whose delay is in the log already."""
        namesystem.on_role.append(self._role_changed)

    def _role_changed(self) -> None:
        self._next_round_ms = 0
        self._waiting.clear()

    # Asked for by clients.

    def recover(self, caller: Caller, path: str) -> bool:
        """`recoverLease`: True if the file is closed, False while it is recovered."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot recover the lease of {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        file = resolved.require_file()
        if file.writer is None:
            return True
        namesystem.permissions.check(who, file, Access.WRITE)
        return self.take_over(file)

    def require_free(self, file: File, client_name: str, caller: Caller, action: str) -> None:
        """Return if no client writes the file. If its writer is silent beyond the soft limit
        the file is recovered, and may be free at once.

        Raises AlreadyBeingCreated, or RecoveryInProgress: try again later.
        """
        if file.writer is None:
            return
        namesystem = self._namesystem
        failed = f"Failed to {action} {file.path} for {client_name} on {caller.machine} because "
        if file.writer == client_name:
            raise errors.AlreadyBeingCreated(
                f"{failed}{client_name} is already the current lease holder."
            )
        if namesystem.leases.soft_expired(file.writer, namesystem.clock.monotonic_ms()):
            if self.take_over(file):
                return
            raise errors.RecoveryInProgress(
                f"{failed}lease recovery is in progress. Try again later."
            )
        if is_namenode_holder(file.writer) or (file.blocks and file.blocks[-1].truncating):
            raise errors.RecoveryInProgress(
                f"{failed}another recovery is in progress by {file.writer} on {file.writer_machine}"
            )
        raise errors.AlreadyBeingCreated(
            f"{failed}this file lease is currently owned by {file.writer} on {file.writer_machine}"
        )

    # Steps.

    def take_over(self, file: File) -> bool:
        """One file through the steps above; True if it is closed."""
        namesystem = self._namesystem
        if file.last_block is not None and not file.last_block.is_settled:
            self._recovery.note_taken(file.last_block)
        if self._close(file):
            return True
        assert file.writer is not None, "it is open"
        if file.writer != self.holder:
            namesystem.commit(edits.ReassignLeaseOp(file.writer, file.path, self.holder))
        namesystem.leases.renew(self.holder, namesystem.clock.monotonic_ms())
        last = file.blocks[-1]
        if last.state is BlockState.UNDER_CONSTRUCTION:
            self._recovery.want(last)
        self._recovery.recover_lacking(file)
        return False

    def _close(self, file: File) -> bool:
        namesystem = self._namesystem
        if self._recovery.lacking(file) is not None:
            return False
        last = file.last_block
        unwritten = last if last is not None and not last.is_settled else None
        if unwritten is not None and not self._recovery.is_droppable(unwritten):
            return False
        # One edit for both: a crash between two would leave a writer without its block.
        kept = file.blocks if unwritten is None else file.blocks[:-1]
        namesystem.commit(close_edit(file, edit_blocks(kept), namesystem.clock.wall_ms()))
        return True

    # In rounds.

    def round(self) -> Round:
        """Go on with every recovery that can go on, in slices. Each yields lines for the log."""
        namesystem = self._namesystem
        now_ms = namesystem.clock.monotonic_ms()
        if namesystem.safe_mode.on or now_ms < self._next_round_ms:
            return
        waiting: set[int] = set()
        for lease in [*namesystem.leases.hard_expired(now_ms), *namesystem.leases.of_namenodes()]:
            said: list[str] = []
            for count, file in enumerate(self._files(lease), 1):
                line = self._go_on_with(file, lease.holder, waiting)
                if line:
                    said.append(line)
                if count % FILES_PER_SLICE == 0:
                    yield said
                    said = []
                    if namesystem.safe_mode.on:
                        return
            yield said
        self._waiting = waiting
        self._next_round_ms = namesystem.clock.monotonic_ms() + namesystem.settings.lease_recheck_ms
        yield from self._recovery.round()

    def _go_on_with(self, file: File, holder: str, waiting: set[int]) -> str:
        """One file of a lease. Returns a line for the log, or nothing."""
        why = (
            "its lease was taken by recovery"
            if is_namenode_holder(holder)
            else f"its writer {holder} has been silent too long"
        )
        path = file.path
        try:
            if self.take_over(file):
                return f"{path} is closed: {why}"
            hindrance = self._hindrance(file)
        except errors.HowdahError as error:
            # For example, the path has become too long for a record of the log.
            hindrance = error.message
        waiting.add(file.inode_id)
        if file.inode_id in self._waiting:
            return ""
        return f"lease recovery of {path} goes on: {hindrance} ({why})"

    def _files(self, lease: Lease) -> Iterator[File]:
        """The files of the lease. Files and holders may change between two of them."""
        namesystem = self._namesystem
        for inode_id in sorted(lease.inode_ids):
            file = namesystem.namespace.inodes.get(inode_id)
            # A file below a deleted directory is freed with it.
            if not isinstance(file, File) or not namesystem.namespace.is_attached(file):
                continue
            if file.writer != lease.holder:
                continue  # It was closed since; another client may write it.
            if not is_namenode_holder(lease.holder) and not namesystem.leases.is_hard_expired(
                lease.holder, namesystem.clock.monotonic_ms()
            ):
                return  # The holder has renewed its lease.
            yield file

    def _hindrance(self, file: File) -> str:
        lacking = self._recovery.lacking(file)
        if lacking is not None and self._recovery.recovery_id(lacking):
            return f"the datanodes of {lacking.name} finish what restarts have left of it"
        if lacking is not None:
            return f"{lacking.name} has no replica"
        last = file.blocks[-1]
        if self._recovery.is_hopeless(last):
            return f"no datanode that may have {last.name} is up; the next attempt waits for one"
        return f"the datanodes of {last.name} are asked for its length"
