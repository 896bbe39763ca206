"""mkdirs, rename, rename2, delete: checks first, then an edit (pure).

Hadoop's `FSDirMkdirOp`, `FSDirRenameOp` and `FSDirDeleteOp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.encryption_zones import ZoneCalls
from howdah.namenode.service.calls.known_files import NOTHING, KnownFile, check_known
from howdah.namenode.service.calls.new_inodes import ensure_parent, initial_acl
from howdah.namenode.service.calls.permissions import Access, Identity
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.calls.snapshots.rules import check_no_snapshots, check_not_nested
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import MODE_MASK, Directory, INode, Symlink
from howdah.namenode.state.tree import quotas
from howdah.protocol.rpc.call import Caller

MOST_NEXT: Final = 1000
"""Renames that may follow one in its turn: they take 50 ms or so, in which nobody is served."""

# Protected directories: who deletes or moves one that is not empty is refused.
#
# Hadoop's `DFSUtil.checkProtectedDescendants`, for `fs.protected.directories` and
# `dfs.protected.subdirectories.enable`. The check binds everybody, the superuser included:
#
# 1. a protected directory with entries stays where it is
# 2. so does every directory above a protected one that has entries
# 3. with `dfs.protected.subdirectories.enable` so does every directory with entries below a
#    protected one
#
# Files and empty directories are not protected, as in Hadoop.


def check_not_protected(namesystem: Namesystem, resolved: Resolved) -> None:
    """Raises AccessDenied where `resolved`, which is to be deleted or moved, is protected."""
    protected = namesystem.settings.protected_directories
    if not protected.paths or not _has_entries(resolved.inode):
        return
    path = resolved.path
    if path in protected:
        raise errors.AccessDenied(f"Cannot delete/rename non-empty protected directory {path}")
    # Nobody deletes or moves the root.
    for below in protected.below(path) if resolved.components else ():
        if _has_entries(namesystem.namespace.find(below)):
            raise errors.AccessDenied(
                f"Cannot delete/rename non-empty protected subdirectory {below}"
            )
    if namesystem.settings.protects_subdirectories:
        above = protected.above(path)
        if above is not None:
            raise errors.AccessDenied(
                f"Cannot delete/rename subdirectory under protected subdirectory {above}"
            )


def _has_entries(inode: object) -> bool:
    return isinstance(inode, Directory) and bool(inode.entries)


class TreeCalls:
    """Operations that change which paths there are."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._zones = ZoneCalls(namesystem)

    def mkdirs(
        self,
        caller: Caller,
        path: str,
        mode: int,
        *,
        create_parent: bool,
        unmasked: int | None = None,
    ) -> bool:
        """Make a directory and, if wanted, what is missing above it. True if it is there.

        `unmasked` is the mode before the client's umask, if it says so.
        """
        namesystem = self._namesystem
        paths.check_length("mkdirs", path)
        namesystem.safe_mode.check(f"Cannot create directory {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path, creates=True)
        if isinstance(resolved.inode, Directory):
            return True
        if resolved.inode is not None:
            raise errors.PathExists(f"Path is not a directory: {resolved.path}")
        # The nearest ancestor's permission first: who may not write there is not told what
        # is missing.
        namesystem.permissions.check_ancestor(who, resolved.trail, Access.WRITE)
        if not create_parent:
            require_parent(resolved)
        for above in resolved.trail[:-1]:
            if above is not None and not isinstance(above, Directory):
                raise errors.PathExists(f"Parent path is not a directory: {above.path}")
        namesystem.limits.check_objects()
        check_names(namesystem, resolved)
        namesystem.limits.check_quota_of_new_names(resolved)
        now_ms = namesystem.clock.wall_ms()
        mode &= MODE_MASK
        parent = ensure_parent(namesystem, who, resolved, mode, now_ms, unmasked)
        namesystem.limits.check_directory_items(parent)
        mode, acl = initial_acl(namesystem.settings, parent, mode, unmasked, is_directory=True)
        namesystem.commit(
            edits.MkdirOp(
                namesystem.namespace.next_inode_id,
                resolved.path,
                now_ms,
                edits.Permission(who.user, parent.group, mode),
                acl,
            )
        )
        return True

    def delete(
        self, caller: Caller, path: str, *, recursive: bool, known: KnownFile | None = None
    ) -> bool:
        """Take a path, and with `recursive` all under it, out of the tree; with `known` only if it
        is this file.

        False if it is not there, and for the root of an empty tree.
        """
        namesystem = self._namesystem
        if path == paths.RESERVED:
            raise errors.InvalidPath(f"Invalid path name {path}")
        namesystem.safe_mode.check(f"Cannot delete {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path, follows=False)
        inode = resolved.inode
        if resolved.parent is not None:
            self._check_removable(who, resolved.parent, inode)
        if inode is None:
            return False
        if known is not None:
            check_known(resolved, known)
        if isinstance(inode, Directory) and inode.children and not recursive:
            raise errors.DirectoryNotEmpty(
                f"`{resolved.path} is non empty': Directory is not empty"
            )
        check_not_protected(namesystem, resolved)
        if inode is namesystem.namespace.root:
            return False
        check_no_snapshots(namesystem.namespace, inode)
        namesystem.commit(
            edits.DeleteOp(
                resolved.path,
                namesystem.clock.wall_ms(),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        return True

    def _check_removable(self, who: Identity, parent: INode, inode: INode | None) -> None:
        """Also where nothing is there: who may not write in `parent` does not learn that."""
        self._namesystem.permissions.check(who, parent, Access.WRITE)
        if inode is None:
            return
        self._namesystem.permissions.check_sticky(who, parent, inode)
        if isinstance(inode, Directory):
            self._namesystem.permissions.check_subtree_delete(who, inode)

    def rename(self, caller: Caller, src: str, dst: str) -> bool:
        """The old rename: False where the tree forbids it; into `dst` if that is a directory."""
        namesystem = self._namesystem
        paths.check_length("rename", dst)
        namesystem.safe_mode.check(f"Cannot rename {src}")
        who, source = namesystem.resolver.resolve_to_change(caller, src, follows=False)
        _, target = namesystem.resolver.resolve_to_change(caller, dst, creates=True, follows=False)
        inode = source.inode
        if inode is namesystem.namespace.root:
            return False
        if isinstance(target.inode, Directory):
            namesystem.permissions.check(who, target.inode, Access.EXECUTE)
            target = namesystem.resolver.resolve(
                paths.join([*target.components, source.components[-1]])
            )
        check_not_protected(namesystem, source)
        self._check_may_move(who, source, target)
        if inode is None:
            return False
        check_no_snapshots(namesystem.namespace, inode)
        if target.path == source.path:
            return True
        if target.inode is not None or paths.is_under(target.path, source.path):
            return False
        if _is_link_to(source, target):
            return False
        parent = target.parent
        if not isinstance(parent, Directory):
            return False
        self._check_limits(source, target, parent)
        namesystem.commit(
            edits.RenameOldOp(
                source.path,
                target.path,
                namesystem.clock.wall_ms(),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        return True

    def rename2(
        self,
        caller: Caller,
        src: str,
        dst: str,
        *,
        overwrite: bool,
        trash: bool,
        replaces: KnownFile | None = None,
        known: KnownFile | None = None,
    ) -> None:
        """The new rename: `dst` is the final name; says by an exception what is wrong. With
        `replaces` it is for a `dst` that is this file, or where nothing is if that is NOTHING; with
        `known` for a `src` that is this file."""
        namesystem = self._namesystem
        paths.check_length("rename", dst)
        namesystem.safe_mode.check(f"Cannot rename {src}")
        who, source = namesystem.resolver.resolve_to_change(caller, src, follows=False)
        _, target = namesystem.resolver.resolve_to_change(caller, dst, creates=True, follows=False)
        inode = source.inode
        check_not_protected(namesystem, source)
        self._check_may_move(who, source, target, trash=trash)
        if inode is None:
            raise errors.PathNotFound(f"rename source {source.path} is not found.")
        if known is not None:
            check_known(source, known)
        if inode is namesystem.namespace.root:
            raise errors.RemoteError("rename source cannot be the root")
        if target.inode is namesystem.namespace.root:
            raise errors.RemoteError("rename destination cannot be the root")
        for moved in (inode, target.inode):
            check_no_snapshots(namesystem.namespace, moved)
        if target.path == source.path:
            raise errors.PathExists(
                f"The source {source.path} and destination {target.path} are the same"
            )
        if _is_link_to(source, target):
            raise errors.PathExists(
                f"Cannot rename symlink {source.path} to its target {target.path}"
            )
        if paths.is_under(target.path, source.path):
            raise errors.RemoteError(
                f"Rename destination {target.path} is a directory or file under "
                f"source {source.path}"
            )
        if replaces is not None and replaces != NOTHING:
            check_known(target, replaces)
            overwrite = True
        for reason in _overwrite_refusals(source, target, overwrite=overwrite):
            raise reason
        parent = target.parent
        if parent is None:
            raise errors.PathNotFound(f"rename destination parent {target.path} not found.")
        if not isinstance(parent, Directory):
            raise errors.ParentNotDirectory(f"rename destination parent {target.path} is a file.")
        if target.inode is not None:
            namesystem.permissions.check_sticky(who, parent, target.inode)
        self._check_limits(source, target, parent)
        options = [
            option
            for option, wanted in (
                (edits.RenameFlag.OVERWRITE, overwrite),
                (edits.RenameFlag.TO_TRASH, trash),
            )
            if wanted
        ]
        namesystem.commit(
            edits.RenameOp(
                source.path,
                target.path,
                namesystem.clock.wall_ms(),
                tuple(options) or (edits.RenameFlag.NONE,),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def rename_next(self, caller: Caller, following: Sequence[tuple[str, str]]) -> int:
        """Rename several, one after the other; return how many were renamed before one could not
        be: whoever asks renames that one by a call of its own, which says why not."""
        for number, (src, dst) in enumerate(following):
            try:
                self.rename2(caller, src, dst, overwrite=False, trash=False)
            except errors.HowdahError:
                return number
        return len(following)

    def _check_may_move(
        self, who: Identity, source: Resolved, target: Resolved, *, trash: bool = False
    ) -> None:
        """Check the permissions at both ends, before the call says what is there.

        A move to the trash needs what a recursive delete needs: the superuser empties the
        trash later, and asks nobody then.
        """
        for end in (source, target):
            self._namesystem.permissions.check_ancestor(who, end.trail, Access.WRITE)
        if source.parent is not None and source.inode is not None:
            self._namesystem.permissions.check_sticky(who, source.parent, source.inode)
        if trash and isinstance(source.inode, Directory):
            self._namesystem.permissions.check_subtree_delete(who, source.inode)

    def _check_limits(self, source: Resolved, target: Resolved, parent: Directory) -> None:
        namesystem = self._namesystem
        self._zones.check_move(source, target)
        paths.check_new_name(
            target.path,
            target.components[-1],
            parent.path,
            namesystem.settings.max_component_bytes,
        )
        if parent is not source.parent:
            namesystem.limits.check_directory_items(parent)
        moved = source.inode
        assert moved is not None, "it was looked for before"
        check_not_nested(namesystem.namespace, moved, parent)
        if namesystem.namespace.tally.directories:
            self._check_quotas(source, target, moved, parent)

    def _check_quotas(
        self, source: Resolved, target: Resolved, moved: INode, parent: Directory
    ) -> None:
        """What moves may have millions of files below it. It is measured only where there is a
        bound that it is new to."""
        shared = {directory for directory, _ in quotas.bounded(source.parent)}
        if all(directory in shared for directory, _ in quotas.bounded(parent)):
            return
        measuring = self._namesystem.namespace.measuring
        change = self._namesystem.namespace.tally.would_take(moved, parent)
        if target.inode is not None:
            change.add(measuring.left_of(target.inode))
            change.add(measuring.of_subtree(target.inode), -1)
        quotas.check(parent, change, shared)


def require_parent(resolved: Resolved) -> None:
    """Raises PathNotFound or ParentNotDirectory unless the parent is a directory."""
    parent = resolved.parent
    above = paths.parent_of(resolved.path)
    if parent is None:
        raise errors.PathNotFound(f"Parent directory doesn't exist: {above}")
    if not isinstance(parent, Directory):
        raise errors.ParentNotDirectory(f"Parent path is not a directory: {above}")


def check_names(namesystem: Namesystem, resolved: Resolved) -> None:
    """Every component that does not exist yet must be a legal name, before any is made."""
    if resolved.inode is not None:
        return
    for depth, name in enumerate(resolved.components):
        if resolved.trail[depth + 1] is None:
            paths.check_new_name(
                resolved.path,
                name,
                paths.join(resolved.components[:depth]),
                namesystem.settings.max_component_bytes,
            )


def _is_link_to(source: Resolved, target: Resolved) -> bool:
    """A link with the name of what it stands for would stand for itself."""
    return isinstance(source.inode, Symlink) and source.inode.target == target.path


def _overwrite_refusals(
    source: Resolved, target: Resolved, *, overwrite: bool
) -> Iterator[errors.HowdahError]:
    """Why the thing at the target may not be replaced, if so. A link counts as a file."""
    old = target.inode
    if old is None:
        return
    if isinstance(source.inode, Directory) is not isinstance(old, Directory):
        yield errors.RemoteError(
            f"Source {source.path} and destination {target.path} must both be directories"
        )
    if not overwrite:
        yield errors.PathExists(f"rename destination {target.path} already exists")
    if isinstance(old, Directory) and old.children:
        yield errors.RemoteError(f"rename destination directory is not empty: {target.path}")
