"""The tree of files and directories, and `apply(edit)`, the only function that changes it.

Hadoop's `FSNamesystem`, `FSDirectory` and `FSEditLogLoader`, without permissions or RPC.

Live calls, the replay at a start and a standby all use `apply` (D4). It does not check
users, quotas or modes: a request is checked before it becomes an edit. It checks that an
edit fits the tree, and raises `EditDoesNotFit` when it does not: a log that contradicts
itself must stop a start, not be repaired by guesswork.

A deletion takes an inode off the tree at once. The memory of what hung below it is
given back in slices (`deletion`), so that a huge tree delays nobody.

Pure: no clock, no files; times come with the edits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.state.caching.pools import CachePools
from howdah.namenode.state.inodes import limits, paths
from howdah.namenode.state.inodes.block_events import (
    BlockEvent,
    BlockOpened,
    BlockRemoved,
    BlockRestamped,
    BlockSettled,
    EditDoesNotFit,
    ReplicationChanged,
)
from howdah.namenode.state.inodes.directory import MODE_MASK
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import (
    LAST_RESERVED_BLOCK_ID,
    LAST_RESERVED_GENERATION_STAMP,
    ROOT_INODE_ID,
    Block,
    BlockState,
    Directory,
    File,
    INode,
    Inodes,
    Symlink,
    Traits,
)
from howdah.namenode.state.snapshots.edits import SnapshotEdits
from howdah.namenode.state.snapshots.places import find_in_snapshot, path_in_snapshot
from howdah.namenode.state.snapshots.snapshots import Snapshots
from howdah.namenode.state.tree.attribute_edits import AttributeEdits, begin_with
from howdah.namenode.state.tree.coding_policies import CodingPolicies
from howdah.namenode.state.tree.delegation_tokens import DelegationTokens
from howdah.namenode.state.tree.deletion import Deletion
from howdah.namenode.state.tree.encryption_zones import ZoneIndex
from howdah.namenode.state.tree.leases import LeaseRegistry
from howdah.namenode.state.tree.path_cache import Way, Ways
from howdah.namenode.state.tree.quota_edits import QuotaEdits
from howdah.namenode.state.tree.quota_usage import Tally
from howdah.namenode.state.tree.rolling_upgrade import RollingUpgrade
from howdah.namenode.state.tree.satisfier_queue import SatisfierQueue
from howdah.namenode.state.tree.usage import Measuring
from howdah.native.mypyc_compat import mypyc_attr
from howdah.protocol.striping.layout import group_id_of

_MAX_TRUNCATIONS: Final = 10_000
GROUP_REPLICATION: Final = 1
"""What files with block groups have for a replication, in edits and answers."""
NO_GROUP_ID: Final = -(1 << 63)
"""The last id of a block group before any was given out."""


def _fits(wrong: str | None, edit: edits.Edit) -> None:
    """Raises EditDoesNotFit if something is wrong."""
    if wrong is not None:
        raise EditDoesNotFit(f"{edit.opcode.name}: {wrong}")


def _check_numbers(block: edits.EditBlock, edit: edits.Edit) -> None:
    _fits(limits.wrong_block(block.block_id, block.length_bytes, block.generation_stamp), edit)


def _fits_policy(file: File, block_id: int, policy_id: int) -> None:
    """Raises EditDoesNotFit unless a file with a policy gets a group, and one without a block."""
    wrong = limits.wrong_group_id(block_id) if policy_id else f"block {block_id} is a group"
    if wrong is not None:
        raise EditDoesNotFit(f"{file.path} has the erasure coding policy {policy_id}: {wrong}")


def _nobody_listens(*arguments: object) -> None:
    """Ignore a change, as in a replay: what follows is made from the namespace afterwards."""


# Those who check histories note what it is after each edit.
@mypyc_attr(allow_interpreted_subclasses=True)
class Namespace:
    """One namespace. `root` is there from the start; edits make the rest."""

    def __init__(self, leases: LeaseRegistry | None = None) -> None:
        self.root: Final = Directory(ROOT_INODE_ID, "", "", "", 0o755, 0)
        self.inodes: Final = Inodes()
        self.inodes[ROOT_INODE_ID] = self.root
        self._files: Final = self.inodes.files
        self._ways: Final = Ways(self.root, self._files)
        self.blocks: Final = self._files.blocks
        self.leases: Final = leases if leases is not None else LeaseRegistry()
        self.marks: Final = SatisfierQueue()
        self.zones: Final = ZoneIndex()
        self.last_inode_id = ROOT_INODE_ID
        self.last_block_id = LAST_RESERVED_BLOCK_ID
        self.last_group_id = NO_GROUP_ID
        self.generation_stamp = LAST_RESERVED_GENERATION_STAMP
        self._tell: Callable[[BlockEvent], None] = _nobody_listens
        self._tell_call: Callable[[bytes, int, int | None], None] = _nobody_listens
        self.snapshots: Final = Snapshots(
            self._free_block, self.leases.release, self._replication_changed
        )
        self.measuring: Final = Measuring(self._files, self.snapshots)
        self.tally: Final = Tally(self.find, self.snapshots, self.measuring)
        self.snapshots.changing = self.tally.changing
        self.snapshots.changing_moved = self.tally.changing_moved
        self.failed_edit: edits.Edit | None = None
        """The edit that `apply` raised at. The tree may lie between two transactions."""
        self.truncations: Final[dict[int, tuple[str, int]]] = {}
        """Of files that were truncated lately, by inode id: the last client that did, and to which
        length. Whoever has answered that client takes the entry out.

        Edits fill it, so a standby has it, and a start has what comes behind its image. What is
        in the image is forgotten, since Hadoop's image has no place for it: a truncation that was
        made, saved in an image and not answered before the process ended is made again when its
        client repeats the call to the process that starts from that image. What another client
        appended between the two goes then, as it always does in Hadoop."""
        self.rolling_upgrade: Final = RollingUpgrade()
        self.caching: Final = CachePools()
        self.tokens: Final = DelegationTokens()
        self.coding_policies: Final = CodingPolicies(self.blocks.groups.policies)
        self._departures: Final = Deletion(
            self.inodes,
            self.snapshots,
            self.leases,
            self.tally,
            self.marks,
            self.truncations,
            self._free_block,
        )
        self._appliers: Final[dict[type[edits.Edit], Callable[[Any], None]]] = {
            edits.AddOp: self._add,
            edits.CloseOp: self._close,
            edits.AddBlockOp: self._add_block,
            edits.UpdateBlocksOp: self._update_blocks,
            edits.AppendOp: self._append,
            edits.TruncateOp: self._truncate,
            edits.ConcatDeleteOp: self._concat_delete,
            edits.ReassignLeaseOp: self._reassign_lease,
            edits.MkdirOp: self._mkdir,
            edits.SymlinkOp: self._symlink,
            edits.RenameOldOp: self._rename_old,
            edits.RenameOp: self._rename,
            edits.DeleteOp: self._delete,
            edits.SetGenstampV2Op: self._set_generation_stamp,
            edits.AllocateBlockIdOp: self._allocate_block_id,
            edits.StartLogSegmentOp: self._no_change,
            edits.EndLogSegmentOp: self._no_change,
            **self.rolling_upgrade.appliers,
            **self.caching.appliers,
            **self.coding_policies.appliers,
            **self.tokens.appliers,
            **AttributeEdits(
                self.existing, self._file, self._replication_changed, self.marks, self.zones
            ).appliers,
            **QuotaEdits(self.existing, self.directory, self.inodes, self.tally).appliers,
        }
        self._snapshot_edits: Final = SnapshotEdits(self)
        self._appliers.update(self._snapshot_edits.appliers)

    # Looking.

    def find(self, path: str) -> INode | None:
        """The inode at `path`, or None. Symbolic links are not followed."""
        head, _, name = path.rpartition("/")
        if not name:
            head = path.rstrip("/")
            return self.find(head) if head else self.root
        way = self._ways.to(head)
        if way is None:
            return None
        entry = way.end.entries.get(name)
        return self._files[entry] if isinstance(entry, int) else entry

    def way_to(self, path: str) -> Way | None:
        """The root and all directories on the way to the directory at `path`; None if there is
        no such directory. Nobody changes what is returned."""
        return self._ways.to(path)

    def known_ways(self) -> dict[str, Way]:
        """Ways to directories that were asked for lately, by path. Nobody changes them."""
        return self._ways.known()

    def trail(self, components: list[str]) -> list[INode | None]:
        """Return the root and the inodes along `components`; None from the first that is not there.

        Always of length `len(components) + 1`. A file in the middle counts as
        the end of the trail: what would lie below it is None.
        """
        trail: list[INode | None] = [self.root]
        node: INode | None = self.root
        for name in components:
            entry = node.entries.get(name) if isinstance(node, Directory) else None
            node = self._files[entry] if isinstance(entry, int) else entry
            trail.append(node)
        return trail

    def file_of(self, block: Block) -> File:
        """The file that the block belongs to. Raises KeyError if it is gone."""
        return self._files.of(block)

    @property
    def next_inode_id(self) -> int:
        """The id of a new inode; it counts as used once an edit carries it."""
        return self.last_inode_id + 1

    def may_come(self, block_id: int, generation_stamp: int) -> bool:
        """Whether edits to come may add a block of that id and stamp. Both are given out in
        order, and the edit that adds the block follows those that give them out."""
        last_id = self.last_block_id if block_id >= 0 else self.last_group_id
        return block_id >= last_id or generation_stamp >= self.generation_stamp

    def was_given_out(self, block_id: int) -> bool:
        """Whether there ever was a block group with an internal block of that id."""
        return NO_GROUP_ID < group_id_of(block_id) <= self.last_group_id

    def is_attached(self, inode: INode) -> bool:
        """True unless the inode, or a directory above it, was deleted."""
        node: INode | None = inode
        while node is not None:
            if node is self.root:
                return True
            node = node.parent
        return False

    def path_in_snapshot(self, file: File) -> str | None:
        """Where the newest snapshot that shows the file has it; None if none does."""
        return path_in_snapshot(self.snapshots, file)

    def display_path(self, file: File) -> str:
        """Where an administrator finds the file: in the tree, or in the newest snapshot that shows
        it. The path of what was deleted is one below the cut, and may be another file's."""
        if self.is_attached(file):
            return file.path
        return self.path_in_snapshot(file) or file.path

    # Telling.

    def follow_blocks(self, tell: Callable[[BlockEvent], None]) -> None:
        """Tell of every event of a block from now on. There is one follower: the block map."""
        self._tell = tell

    def follow_calls(self, tell: Callable[[bytes, int, int | None], None]) -> None:
        """Tell client id and call id of every edit that carries them: the call was made, and
        must not run twice; and the inode id of the file that it was given. There is one follower:
        the retry cache."""
        self._tell_call = tell

    def _replication_changed(self, file: File) -> None:
        """How many replicas the file's blocks have to have, also those that only snapshots
        have."""
        for block_id in sorted(self.snapshots.all_block_ids(file)):
            block = self.blocks.get(block_id)
            if block is not None:
                self._tell(ReplicationChanged(block))

    # Changing.

    def apply(self, edit: edits.Edit) -> None:
        """Make the change. Raises EditDoesNotFit, UnsupportedOperation for edits of
        features that are not there.

        Whatever is raised, the edit may have been applied in part: the namespace is done
        for. It is not to be changed any more, and no image is written of it.
        """
        applier = self._appliers.get(type(edit))
        if applier is None:
            raise errors.UnsupportedOperation(
                f"the edit {edit.opcode.name} is of a feature that is not supported: {edit}"
            )
        try:
            if self.snapshots.count:
                self._snapshot_edits.preserve(edit)
            if self.tally.directories:
                noted = self.tally.before(edit)
                applier(edit)
                self.tally.after(noted)
            else:
                applier(edit)
            self._departures.settle()
            if isinstance(edit, edits.RetryableEdit) and edit.has_call:
                self._tell_call(edit.rpc_client_id, edit.rpc_call_id, self.file_of_call(edit))
        except BaseException:
            self.failed_edit = edit
            raise

    def file_of_call(self, edit: edits.Edit) -> int | None:
        """The inode id of the file that the edit, which was just applied, gave to a writer: a
        repeated call is to get that one, whoever has its path by then."""
        if isinstance(edit, edits.AddOp):
            return edit.inode_id or None
        if isinstance(edit, edits.AppendOp):
            file = self.find(edit.path)
            return None if file is None else file.inode_id
        return None

    def reap(self, max_inodes: int) -> None:
        """Free up to `max_inodes` inodes that were deleted, with their blocks."""
        self._departures.reap(max_inodes)

    def _free_block(self, block_id: int) -> None:
        block = self.blocks.pop(block_id)
        if block is not None:
            self._tell(BlockRemoved(block))

    @property
    def reaped(self) -> int:
        """How many inodes `reap` has freed."""
        return self._departures.reaped

    @property
    def must_reap(self) -> bool:
        """True while `reap` has work."""
        return self._departures.must_reap

    # The edits, one by one.

    def _parent(self, path: str, edit: edits.Edit) -> tuple[Directory, str]:
        head, _, name = path.rpartition("/")
        way = self._ways.to(head)
        if way is None or not name:
            raise EditDoesNotFit(f"{edit.opcode.name} of {path}: there is no such directory")
        return way.end, name

    def existing(self, path: str, edit: edits.Edit) -> INode:
        inode = self.find(path)
        if inode is None:
            raise EditDoesNotFit(f"{edit.opcode.name} of {path}: there is no such path")
        return inode

    def _file(self, path: str, edit: edits.Edit) -> File:
        inode = self.existing(path, edit)
        if not isinstance(inode, File):
            raise EditDoesNotFit(f"{edit.opcode.name} of {path}: it is no file")
        return inode

    def _check_new_id(self, inode_id: int, edit: edits.Edit) -> None:
        _fits(limits.wrong_inode_id(inode_id), edit)
        if inode_id <= self.last_inode_id and inode_id in self.inodes:
            raise EditDoesNotFit(f"{edit.opcode.name}: there is an inode {inode_id} already")

    def _attach(self, inode: INode, parent: Directory, edit: edits.Edit) -> None:
        if inode.name in parent.entries:
            raise EditDoesNotFit(f"{edit.opcode.name}: {inode.name} exists in {parent.path}")
        self._check_new_id(inode.inode_id, edit)
        self.last_inode_id = max(self.last_inode_id, inode.inode_id)
        self.inodes[inode.inode_id] = inode
        parent.add(inode)
        if self.snapshots.count:
            self.snapshots.linked(inode)

    def _detach(self, inode: INode) -> None:
        """Take the inode off the tree."""
        assert inode.parent is not None, "the root stays"
        if self.snapshots.count:
            self.snapshots.unlink(inode, moved=False)
        inode.parent.remove(inode)
        if isinstance(inode, File):
            self.leases.release(inode.inode_id)
        if not self.snapshots.count or not self.snapshots.stays(inode):
            self._departures.release([inode])

    def release(self, inodes: Iterable[INode]) -> None:
        """These have no link any more, neither in the tree nor in a snapshot."""
        self._departures.release(inodes)

    def _add(self, op: edits.AddOp) -> None:
        parent, name = self._parent(op.path, op)
        if op.erasure_coding_policy_id:
            self._check_coding_policy(op)
        _fits(limits.wrong_file(op.replication, op.block_size_bytes, op.storage_policy_id), op)
        if name in parent.entries:
            old = parent.child(name)
            if not (op.overwrite and isinstance(old, File)):
                raise EditDoesNotFit(f"OP_ADD of {op.path}: the path exists")
            self._check_new_id(op.inode_id, op)
            self._detach(old)
        else:
            self._check_new_id(op.inode_id, op)
        traits = Traits(
            sys.intern(op.permission.owner),
            sys.intern(op.permission.group),
            op.permission.mode & MODE_MASK,
            GROUP_REPLICATION if op.erasure_coding_policy_id else op.replication,
            op.block_size_bytes,
        )
        inode_id, files = op.inode_id, self._files
        files.add(inode_id, name, traits, op.mtime_ms, op.atime_ms, parent.inode_id)
        self.last_inode_id = max(self.last_inode_id, inode_id)
        parent.enter(name, inode_id)
        if (
            self.snapshots.count
            or op.storage_policy_id
            or op.acl
            or op.xattrs
            or op.erasure_coding_policy_id
        ):
            self._begin_with(files[inode_id], op)
        files.begin_writing(inode_id, op.client_name, op.client_machine)
        parent.mtime_ms = op.mtime_ms
        if op.blocks:
            self._set_blocks(files[inode_id], op.blocks, BlockState.UNDER_CONSTRUCTION)
        self.leases.grant(op.client_name, inode_id)

    def _check_coding_policy(self, op: edits.AddOp) -> None:
        if self.coding_policies.by_id(op.erasure_coding_policy_id) is None:
            raise EditDoesNotFit(
                f"OP_ADD of {op.path}: there is no erasure coding policy "
                f"{op.erasure_coding_policy_id}"
            )

    def _begin_with(self, file: File, op: edits.AddOp) -> None:
        """What few new files have."""
        if self.snapshots.count:
            self.snapshots.linked(file)
        if op.storage_policy_id:
            file.storage_policy_id = op.storage_policy_id
        if op.erasure_coding_policy_id:
            file.coding_policy_id = op.erasure_coding_policy_id
        begin_with(file, op)
        if op.xattrs:
            self.marks.follow(file)

    def _in_snapshot(self, op: edits.CloseOp | edits.UpdateBlocksOp) -> File | None:
        """The file that was deleted while it was open, if the edit's path is in a snapshot: its
        last block gets its length. What the snapshot shows of it stays."""
        if not self.snapshots.count or f"/{paths.DOT_SNAPSHOT}/" not in op.path:
            return None
        inode = find_in_snapshot(self.snapshots, self.find, op.path)
        if not isinstance(inode, File) or self.is_attached(inode):
            raise EditDoesNotFit(f"{op.opcode.name} of {op.path}: no such file was deleted")
        self.snapshots.preserve(inode)
        return inode

    def _close(self, op: edits.CloseOp) -> None:
        file = self._in_snapshot(op)
        if file is None:
            self._close_file(self._file(op.path, op), op)
            return
        with self.tally.changing(file):
            self._close_file(file, op)

    def _close_file(self, file: File, op: edits.CloseOp) -> None:
        inode_id, files = file.inode_id, self._files
        for block in self._set_blocks(file, op.blocks, BlockState.COMPLETE):
            was_complete = block.state is BlockState.COMPLETE
            block.state = BlockState.COMPLETE
            self._is_cut(file, block)
            if not was_complete:
                self._tell(BlockSettled(block))
        files.close(inode_id, op.mtime_ms, op.atime_ms)
        self.leases.release(inode_id)

    def _is_cut(self, file: File, block: Block) -> None:
        if block.truncating:
            block.truncating = False
            if self.snapshots.copies:
                self.snapshots.copied(file)

    def _add_block(self, op: edits.AddBlockOp) -> None:
        file = self._file(op.path, op)
        before = op.penultimate_block
        last = file.last_block
        _check_numbers(op.last_block, op)
        if before is not None:
            _check_numbers(before, op)
            if last is None or last.block_id != before.block_id:
                raise EditDoesNotFit(f"OP_ADD_BLOCK of {op.path}: {before} is not its last block")
            was_open = last.state is BlockState.UNDER_CONSTRUCTION
            self._change_block(last, before)
            if was_open:
                last.state = BlockState.COMMITTED
                self._tell(BlockSettled(last))
        elif last is not None:
            raise EditDoesNotFit(f"OP_ADD_BLOCK of {op.path}: it has blocks already")
        self._tell(BlockOpened(self._new_block(file, op.last_block, BlockState.UNDER_CONSTRUCTION)))

    def _update_blocks(self, op: edits.UpdateBlocksOp) -> None:
        file = self._in_snapshot(op)
        if file is None:
            self._set_blocks(self._file(op.path, op), op.blocks, BlockState.UNDER_CONSTRUCTION)
            return
        with self.tally.changing(file):
            self._set_blocks(file, op.blocks, BlockState.UNDER_CONSTRUCTION)

    def _append(self, op: edits.AppendOp) -> None:
        file = self._file(op.path, op)
        if file.writer is not None:
            raise EditDoesNotFit(f"OP_APPEND of {op.path}: {file.writer} writes it")
        file.begin_writing(op.client_name, op.client_machine)
        self.leases.grant(op.client_name, file.inode_id)
        if file.blocks and not op.new_block:
            last = file.blocks[-1]
            if isinstance(last, Group):
                raise EditDoesNotFit(f"OP_APPEND of {op.path}: {last.name} is a block group")
            if last.length_bytes < file.block_size_bytes:
                last.state = BlockState.UNDER_CONSTRUCTION
                self._tell(BlockOpened(last, last.length_bytes))

    def _truncate(self, op: edits.TruncateOp) -> None:
        file = self._file(op.path, op)
        if file.writer is not None:
            raise EditDoesNotFit(f"OP_TRUNCATE of {op.path}: {file.writer} writes it")
        if file.coding_policy_id:
            raise EditDoesNotFit(f"OP_TRUNCATE of {op.path}: it is erasure coded")
        if not 0 <= op.new_length_bytes < file.length_bytes:
            raise EditDoesNotFit(
                f"OP_TRUNCATE of {op.path} to {op.new_length_bytes} bytes: "
                f"it has {file.length_bytes}"
            )
        length, count = file.length_bytes, len(file.blocks)
        while count and length - file.blocks[count - 1].length_bytes >= op.new_length_bytes:
            count -= 1
            length -= file.blocks[count].length_bytes
        cut = op.truncate_block
        if cut is not None:
            _check_numbers(cut, op)
        if (cut is None) is not (length == op.new_length_bytes):
            raise EditDoesNotFit(f"OP_TRUNCATE of {op.path} does not say where it cuts: {op}")
        self.truncations.pop(file.inode_id, None)
        if len(self.truncations) >= _MAX_TRUNCATIONS:
            del self.truncations[next(iter(self.truncations))]
        self.truncations[file.inode_id] = op.client_name, op.new_length_bytes
        while len(file.blocks) > count:
            self._drop_last_block(file)
        file.mtime_ms = op.timestamp_ms
        if cut is None:
            return
        last = file.blocks[-1]
        kept = last.length_bytes - (length - op.new_length_bytes)
        if cut.block_id != last.block_id:
            # It is in a snapshot; or Hadoop was being upgraded, and wants to be able to go back.
            file.blocks.pop()
            self._new_block(file, cut, BlockState.UNDER_CONSTRUCTION)
            self.snapshots.copies[cut.block_id] = last.block_id
            last = file.blocks[-1]
        replica_length = last.length_bytes
        last.length_bytes = kept
        last.state = BlockState.UNDER_CONSTRUCTION
        last.truncating = True
        if cut.block_id in self.snapshots.copies:
            self._tell(BlockOpened(last))
        else:
            self._tell(BlockOpened(last, replica_length))
        self.generation_stamp = max(self.generation_stamp, cut.generation_stamp)
        file.begin_writing(op.client_name, op.client_machine)
        self.leases.grant(op.client_name, file.inode_id)

    def _concat_delete(self, op: edits.ConcatDeleteOp) -> None:
        target = self._file(op.target, op)
        parent = target.parent
        assert parent is not None, "it is attached"
        sources = [self._file(path, op) for path in op.sources]
        for path, source in zip(op.sources, sources, strict=True):
            if source == target or source.writer is not None or target.writer is not None:
                raise EditDoesNotFit(f"OP_CONCAT_DELETE of {path} to {op.target}")
            if source.coding_policy_id != target.coding_policy_id:
                raise EditDoesNotFit(
                    f"OP_CONCAT_DELETE of {path} to {op.target}: they are coded differently"
                )
        if len(set(sources)) < len(sources):
            raise EditDoesNotFit(f"OP_CONCAT_DELETE to {op.target} names a source twice: {op}")
        for source in sources:
            moved = list(source.blocks)
            target.blocks.extend(moved)
            source.blocks.clear()
            self._detach(source)
            for block in moved:
                self._tell(ReplicationChanged(block))
        target.mtime_ms = op.timestamp_ms
        parent.mtime_ms = op.timestamp_ms

    def _reassign_lease(self, op: edits.ReassignLeaseOp) -> None:
        file = self._file(op.path, op)
        if file.writer is None:
            raise EditDoesNotFit(f"OP_REASSIGN_LEASE of {op.path}: nobody writes it")
        self.leases.release(file.inode_id)
        file.writer = op.new_holder
        self.leases.grant(op.new_holder, file.inode_id)

    def _mkdir(self, op: edits.MkdirOp) -> None:
        parent, name = self._parent(op.path, op)
        directory = Directory(
            op.inode_id,
            name,
            op.permission.owner,
            op.permission.group,
            op.permission.mode & MODE_MASK,
            op.timestamp_ms,
        )
        begin_with(directory, op)
        self._attach(directory, parent, op)
        if op.xattrs:
            self.marks.follow(directory)
            self.zones.follow(directory, op.xattrs)
        parent.mtime_ms = op.timestamp_ms

    def _symlink(self, op: edits.SymlinkOp) -> None:
        parent, name = self._parent(op.path, op)
        link = Symlink(
            op.inode_id,
            name,
            op.permission.owner,
            op.permission.group,
            op.permission.mode & MODE_MASK,
            op.mtime_ms,
            op.target,
        )
        link.atime_ms = op.atime_ms
        self._attach(link, parent, op)
        parent.mtime_ms = op.mtime_ms

    def _rename_old(self, op: edits.RenameOldOp) -> None:
        self._move(op.src, op.dst, op.timestamp_ms, overwrite=False, edit=op)

    def _rename(self, op: edits.RenameOp) -> None:
        overwrite = edits.RenameFlag.OVERWRITE in op.options
        self._move(op.src, op.dst, op.timestamp_ms, overwrite=overwrite, edit=op)

    def _move(
        self, src: str, dst: str, timestamp_ms: int, *, overwrite: bool, edit: edits.Edit
    ) -> None:
        inode = self.existing(src, edit)
        if inode is self.root or src == dst or paths.is_under(dst, src) or paths.is_under(src, dst):
            raise EditDoesNotFit(f"{edit.opcode.name}: {src} cannot go to {dst}")
        parent, name = self._parent(dst, edit)
        old = parent.child(name)
        if old is not None:
            if not overwrite:
                raise EditDoesNotFit(f"{edit.opcode.name}: {dst} exists")
            self._detach(old)
        source = inode.parent
        assert source is not None, f"{src} is attached"
        policy_id = self.measuring.policy_id(source)
        if self.snapshots.count:
            self.snapshots.unlink(inode, moved=True)
        source.remove(inode)
        source.mtime_ms = timestamp_ms
        inode.name = name
        parent.add(inode)
        if self.snapshots.count:
            self.snapshots.linked(inode)
        if self.tally.directories:
            self.tally.moved(self.inodes, inode, policy_id)
        parent.mtime_ms = timestamp_ms

    def _delete(self, op: edits.DeleteOp) -> None:
        inode = self.existing(op.path, op)
        parent = inode.parent
        if parent is None:
            raise EditDoesNotFit("OP_DELETE of the root")
        self._detach(inode)
        parent.mtime_ms = op.timestamp_ms

    def directory(self, path: str, edit: edits.Edit) -> Directory:
        inode = self.existing(path, edit)
        if not isinstance(inode, Directory):
            raise EditDoesNotFit(f"{edit.opcode.name} of {path}: it is no directory")
        return inode

    def _set_generation_stamp(self, op: edits.SetGenstampV2Op) -> None:
        _fits(limits.wrong_stamp(op.generation_stamp), op)
        if op.generation_stamp < self.generation_stamp:
            raise EditDoesNotFit(
                f"the generation stamp would go back from {self.generation_stamp} "
                f"to {op.generation_stamp}"
            )
        self.generation_stamp = op.generation_stamp

    def _allocate_block_id(self, op: edits.AllocateBlockIdOp) -> None:
        if op.block_id < 0:
            self._allocate_group_id(op)
            return
        if op.block_id < self.last_block_id:
            raise EditDoesNotFit(
                f"the block id would go back from {self.last_block_id} to {op.block_id}"
            )
        self.last_block_id = op.block_id

    def _allocate_group_id(self, op: edits.AllocateBlockIdOp) -> None:
        _fits(limits.wrong_group_id(op.block_id), op)
        if op.block_id < self.last_group_id:
            raise EditDoesNotFit(
                f"the id of block groups would go back from {self.last_group_id} to {op.block_id}"
            )
        self.last_group_id = op.block_id

    def _no_change(self, op: edits.Edit) -> None:
        """A segment's first and last record say nothing about the tree."""

    # Blocks of one file.

    def _new_block(self, file: File, new: edits.EditBlock, state: BlockState) -> Block:
        if new.block_id in self.blocks:
            raise EditDoesNotFit(f"block {new.block_id} of {file.path} exists already")
        policy_id = file.coding_policy_id
        if policy_id or new.block_id < 0:
            _fits_policy(file, new.block_id, policy_id)
            block: Block = self.blocks.groups.new(
                new.block_id,
                new.length_bytes,
                new.generation_stamp,
                file.inode_id,
                state,
                policy_id,
            )
        else:
            block = self.blocks.new(
                new.block_id, new.length_bytes, new.generation_stamp, file.inode_id, state
            )
        file.append_block(block)
        return block

    def _set_blocks(
        self, file: File, wanted: tuple[edits.EditBlock, ...], new_state: BlockState
    ) -> list[Block]:
        """Make the file's blocks those of the list: known ones updated, one more at
        the end added, one fewer at the end dropped. Nothing else is a legal change.
        Returns the blocks."""
        if not wanted and not self._files.has_blocks(file.inode_id):
            return []
        blocks = self.blocks
        known = [blocks[block_id] for block_id in file.block_ids]
        for index, want in enumerate(wanted):
            self._check_block(file, index, want, known[index] if index < len(known) else None)
        for index, want in enumerate(wanted):
            if index == len(known):
                block = self._new_block(file, want, BlockState.UNDER_CONSTRUCTION)
                known.append(block)
                self._tell(BlockOpened(block))
                block.state = new_state
                if new_state is not BlockState.UNDER_CONSTRUCTION:
                    self._tell(BlockSettled(block))
                continue
            block = known[index]
            if want.generation_stamp > block.generation_stamp:
                # Its replicas were rebuilt; if it was to be cut, it is.
                self._is_cut(file, block)
            self._change_block(block, want)
        while len(known) > len(wanted):
            known.pop()
            self._drop_last_block(file)
        if new_state is BlockState.UNDER_CONSTRUCTION:
            # One block at most is being written.
            for block in known[:-1]:
                if block.state is BlockState.UNDER_CONSTRUCTION:
                    block.state = BlockState.COMMITTED
                    self._tell(BlockSettled(block))
        return known

    def _change_block(self, block: Block, want: edits.EditBlock) -> None:
        old_stamp = block.generation_stamp
        block.length_bytes = want.length_bytes
        if want.generation_stamp != old_stamp:
            block.generation_stamp = want.generation_stamp
            self._tell(BlockRestamped(block, old_stamp))

    def _check_block(
        self, file: File, index: int, want: edits.EditBlock, known: Block | None
    ) -> None:
        wrong = limits.wrong_block(want.block_id, want.length_bytes, want.generation_stamp)
        if wrong is not None:
            raise EditDoesNotFit(f"the blocks of {file.path}: {wrong}")
        if known is None:
            if want.block_id in self.blocks:
                raise EditDoesNotFit(f"block {want.block_id} of {file.path} exists already")
        elif known.block_id != want.block_id:
            raise EditDoesNotFit(
                f"block {index} of {file.path} is {known.name}, "
                f"not blk_{want.block_id}_{want.generation_stamp}"
            )
        elif want.generation_stamp < known.generation_stamp:
            raise EditDoesNotFit(
                f"the generation stamp of {known.name} of {file.path} would go back "
                f"to {want.generation_stamp}"
            )

    def _drop_last_block(self, file: File) -> None:
        dropped = file.blocks.pop()
        if not self.snapshots.count or not self.snapshots.holds(file, dropped.block_id):
            self._free_block(dropped.block_id)
        elif not dropped.is_settled:
            # No edit will name it again: what a snapshot shows of it is its length.
            dropped.state = BlockState.COMPLETE
            self._tell(BlockSettled(dropped))
