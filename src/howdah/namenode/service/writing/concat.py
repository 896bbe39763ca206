"""concat: the blocks of some files are moved to the end of another file (pure).

Hadoop's `FSDirConcatOp`. No byte moves, and the sources are gone afterwards. As in
Hadoop, target and sources are in one directory, none of them is open, each source has
blocks and is named once, and no source has a larger block size than the target. The
target, and the sources, may end in the middle of a block.
"""

from __future__ import annotations

from collections.abc import Sequence

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import File
from howdah.namenode.state.tree import quotas
from howdah.namenode.state.tree.encryption_zones import zone_of
from howdah.protocol.rpc.call import Caller


class Concat:
    """The one operation on several files."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def concat(self, caller: Caller, target_path: str, source_paths: Sequence[str]) -> None:
        """Raises PathNotFound, AccessDenied, IllegalArgument, SafeMode; then nothing changed."""
        namesystem = self._namesystem
        _check_paths(target_path, source_paths)
        namesystem.safe_mode.check(f"Cannot concat {target_path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, target_path)
        # The access first, as in Hadoop: who may not write is not told what is there.
        if resolved.inode is not None:
            namesystem.permissions.check(who, resolved.inode, Access.WRITE)
        target = resolved.require_file()
        if namesystem.namespace.zones and zone_of(target) is not None:
            # Each file has its own key.
            raise errors.IllegalArgument(
                "concat can not be called for files in an encryption zone."
            )
        if target.under_construction:
            raise errors.IllegalArgument(f"concat: target file {target_path} is under construction")
        sources = [self._source(caller, path, target) for path in source_paths]
        if len(set(sources)) < len(sources):
            raise errors.IllegalArgument("concat: at least two of the source files are the same")
        change = quotas.Usage()
        measuring = namesystem.namespace.measuring
        for source in sources:
            count = measuring.file_bytes(source)
            change.add(measuring.of_bytes(target, count))
            change.add(measuring.of_bytes(source, count), -1)
        namesystem.limits.check_quota(target.parent, change)
        namesystem.commit(
            edits.ConcatDeleteOp(
                resolved.path,
                tuple(source.path for source in sources),
                namesystem.clock.wall_ms(),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def _source(self, caller: Caller, path: str, target: File) -> File:
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        if resolved.inode is not None:
            namesystem.permissions.check(who, resolved.inode, Access.READ)
        namesystem.permissions.check_ancestor(who, resolved.trail, Access.WRITE)
        source = resolved.require_file()
        if resolved.parent is not None:
            namesystem.permissions.check_sticky(who, resolved.parent, source)
        if source.parent is not target.parent:
            raise errors.IllegalArgument(
                f"Source file {path} is not in the same directory with the target {target.path}"
            )
        if source == target:
            raise errors.IllegalArgument(
                f"concat: the src file {path} is the same with the target file {target.path}"
            )
        if source.coding_policy_id != target.coding_policy_id:
            raise errors.IllegalArgument(
                f"Source file {path} and target file {target.path} have different erasure coding "
                "policy"
            )
        if namesystem.namespace.snapshots.shows(source):
            raise errors.SnapshotError(f"Concat: the source file {path} is in snapshot")
        if source.under_construction or not source.blocks:
            raise errors.IllegalArgument(
                f"concat: source file {path} is invalid or empty or underConstruction"
            )
        if source.block_size_bytes > target.block_size_bytes:
            raise errors.IllegalArgument(
                f"concat: source file {path} has preferred block size "
                f"{source.block_size_bytes} which is greater than the target file's "
                f"preferred block size {target.block_size_bytes}"
            )
        return source


def _check_paths(target: str, sources: Sequence[str]) -> None:
    plain = "java.lang.IllegalArgumentException"
    if not target:
        raise errors.IllegalArgument("Target file name is empty", java_class=plain)
    if not sources:
        raise errors.IllegalArgument("No sources given", java_class=plain)
    for path in (target, *sources):
        if path.startswith((paths.RESERVED_INODES, paths.RESERVED_RAW)):
            raise errors.RemoteError(
                f"Concat operation doesn't support .reserved relative path : {path}"
            )
