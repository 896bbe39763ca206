"""truncate: a file gets shorter (pure).

Hadoop's `FSDirTruncateOp`.

1. The file must be closed. If its writer was silent too long, it is recovered first.
2. One edit drops the blocks behind the new end. From then on nobody reads beyond it.
3. If the new end is at a block's border, the answer is true.
4. Otherwise the replicas of the last block are still longer. The file is under
   construction, under the lease of the caller, and the block under recovery with the
   length that it should have (`block_recovery`); the answer is false. The file is closed
   when its datanodes have cut their replicas. A block of a snapshot is not cut: the file
   gets another block, and its datanodes make copies.

An encrypted file that is emptied gets another key of its own: what is written to it next is no
second text under the key stream of the first, which old replicas and snapshots still have. Hadoop's
namenodes leave it the old one. A file that is cut anywhere else has to keep its key.

To ask again for the same length is harmless while nobody else has written the file: the
answer is false while the cut is under way, and true afterwards. Between the call and its
repetition another client may have appended. The retry cache knows the calls that this
namenode has answered. The log has no call ids for a truncation: of one that a namenode before
has made it says client and length (`Namespace.truncations`, which also says when it does not).
A repeated call that may be that one is refused if the file has another length by now
(`_check_repeated`), and the bytes that were appended stay.
"""

from __future__ import annotations

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.encryption_zones import ZoneCalls
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.writing.block_recovery import BlockRecovery
from howdah.namenode.service.writing.lease_recovery import LeaseRecovery
from howdah.namenode.state.inodes import paths, storage_policies
from howdah.namenode.state.inodes.inodes import Block, File
from howdah.namenode.state.tree.leases import check_client_name
from howdah.protocol.rpc.call import Caller


class Truncation:
    """The one operation that takes bytes away."""

    def __init__(
        self, namesystem: Namesystem, leases: LeaseRecovery, recovery: BlockRecovery
    ) -> None:
        self._namesystem = namesystem
        self._leases = leases
        self._recovery = recovery
        self._zones = ZoneCalls(namesystem)

    def truncate(
        self, caller: Caller, path: str, new_length_bytes: int, *, client_name: str
    ) -> bool:
        """True if the file has that length now, False if its last block is being cut.

        Raises PathNotFound, AccessDenied, SafeMode, IllegalArgument for a length that the
        file does not reach, UnsupportedOperation for a file of LAZY_PERSIST,
        AlreadyBeingCreated and RecoveryInProgress where it is open; KeyAwaited where no key lies
        ready for an encrypted file that is emptied, and RemoteError without key servers.
        """
        namesystem = self._namesystem
        if new_length_bytes < 0:
            raise errors.IllegalArgument(
                f"Cannot truncate to a negative file size: {new_length_bytes}."
            )
        namesystem.safe_mode.check(f"Cannot truncate for {path}")
        check_client_name(client_name)
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        file = resolved.require_file()
        namesystem.permissions.check(who, file, Access.WRITE)
        if file.coding_policy_id:
            raise errors.UnsupportedOperation(
                f"Cannot truncate file with striped block {resolved.path}"
            )
        if storage_policies.is_lazy_persist(file):
            raise errors.UnsupportedOperation(f"Cannot truncate lazy persist file {resolved.path}")
        if file.blocks and file.blocks[-1].truncating:
            if file.length_bytes == new_length_bytes:
                return False
            raise errors.AlreadyBeingCreated(
                f"Failed to TRUNCATE_FILE {file.path} for {client_name} on {caller.machine} "
                f"because {file.path} is being truncated."
            )
        self._leases.require_free(file, client_name, caller, "TRUNCATE_FILE")
        if new_length_bytes == file.length_bytes:
            namesystem.namespace.truncations.pop(file.inode_id, None)
            return True
        self._check_repeated(caller, file, new_length_bytes, client_name)
        if new_length_bytes > file.length_bytes:
            raise errors.IllegalArgument(
                "Cannot truncate to a larger file size. Current size: "
                f"{file.length_bytes}, truncate size: {new_length_bytes}."
            )
        is_emptied = not new_length_bytes and not paths.is_raw(path)
        attributes = self._zones.attributes_for_emptied_file(file) if is_emptied else ()
        try:
            done = self._cut(caller, file, new_length_bytes, client_name)
            if attributes:
                namesystem.commit(edits.SetXAttrOp(file.path, attributes))
            return done
        finally:
            # The retry cache answers whoever repeats this call.
            namesystem.namespace.truncations.pop(file.inode_id, None)

    def _check_repeated(
        self, caller: Caller, file: File, new_length_bytes: int, client_name: str
    ) -> None:
        """Raises RemoteError for a call that a namenode before may have carried out."""
        made = self._namesystem.namespace.truncations.get(file.inode_id)
        if caller.retry_count > 0 and made == (client_name, new_length_bytes):
            raise errors.RemoteError(
                f"Failed to TRUNCATE_FILE {file.path} to {new_length_bytes} bytes for "
                f"{client_name} on {caller.machine}: the call is repeated, the file was truncated "
                f"to that length before, and has {file.length_bytes} bytes by now. Truncate it "
                "again if they are to go"
            )

    def _cut(self, caller: Caller, file: File, new_length_bytes: int, client_name: str) -> bool:
        namesystem = self._namesystem
        through = _block_to_cut(file, new_length_bytes)
        now_ms = namesystem.clock.wall_ms()
        path, machine = file.path, caller.machine
        if through is None:
            namesystem.commit(
                edits.TruncateOp(path, client_name, machine, new_length_bytes, now_ms)
            )
            return True
        if namesystem.namespace.snapshots.shows(
            file
        ) and namesystem.namespace.snapshots.has_to_keep(file, through.block_id):
            return self._copy(caller, file, new_length_bytes, through, client_name)
        old_length_bytes = through.length_bytes
        stamp = namesystem.namespace.generation_stamp + 1
        namesystem.commit(edits.SetGenstampV2Op(stamp))
        cut = edits.EditBlock(through.block_id, old_length_bytes, stamp)
        namesystem.commit(
            edits.TruncateOp(path, client_name, machine, new_length_bytes, now_ms, cut)
        )
        namesystem.leases.renew(client_name, namesystem.clock.monotonic_ms())
        self._recovery.want(through, stamp)
        return False

    def _copy(
        self, caller: Caller, file: File, new_length_bytes: int, through: Block, client_name: str
    ) -> bool:
        """A snapshot has the block: what is left of it becomes another block."""
        namesystem = self._namesystem
        at = file.blocks.index(through)
        before = sum(block.length_bytes for block in file.blocks[:at])
        freed = sum(
            block.length_bytes
            for block in file.blocks[at + 1 :]
            if not namesystem.namespace.snapshots.has_to_keep(file, block.block_id)
        )
        more = namesystem.namespace.measuring.of_bytes(file, new_length_bytes - before - freed)
        namesystem.limits.check_quota(file.parent, more)
        block_id = namesystem.block_manager.new_block_id()
        stamp = namesystem.namespace.generation_stamp + 1
        namesystem.commit(edits.AllocateBlockIdOp(block_id))
        namesystem.commit(edits.SetGenstampV2Op(stamp))
        cut = edits.EditBlock(block_id, 0, stamp)
        now_ms = namesystem.clock.wall_ms()
        namesystem.commit(
            edits.TruncateOp(file.path, client_name, caller.machine, new_length_bytes, now_ms, cut)
        )
        namesystem.leases.renew(client_name, namesystem.clock.monotonic_ms())
        self._recovery.want(file.blocks[-1])
        return False


def _block_to_cut(file: File, new_length_bytes: int) -> Block | None:
    """The block through which the new end goes; None at a border between blocks."""
    start = 0
    for block in file.blocks:
        if start < new_length_bytes < start + block.length_bytes:
            return block
        start += block.length_bytes
    return None
