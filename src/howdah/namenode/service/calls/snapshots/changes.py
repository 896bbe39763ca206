"""allowSnapshot, createSnapshot and the calls about them: checks first, then an edit (pure).

Hadoop's `FSDirSnapshotOp` and `SnapshotManager`. A superuser allows snapshots of a
directory; its owner creates, renames and deletes them. A snapshottable directory has no
other one below it. A directory with snapshots cannot be deleted or moved, nor can any
directory above it.
"""

from __future__ import annotations

from datetime import datetime

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.calls.snapshots.rules import attached_roots, is_within
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import Directory
from howdah.namenode.state.snapshots.snapshots import MAX_SNAPSHOT_ID, Snapshot, Snapshottable
from howdah.protocol.rpc.call import Caller


class SnapshotCalls:
    """Operations on snapshots as such."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    # Which directories may have some.

    def allow(self, caller: Caller, path: str) -> None:
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), "allow snapshots"
        )
        namesystem.safe_mode.check(f"Cannot allow snapshot for {path}")
        resolved = self._directory(caller, path)
        directory = resolved.inode
        assert isinstance(directory, Directory), "it was just looked at"
        for root in attached_roots(namesystem.namespace):
            nested = f"Nested snapshottable directories not allowed: path={resolved.path}, the "
            end = "is already a snapshottable directory."
            if root.directory is directory:
                continue
            if is_within(root.directory, directory):
                raise errors.SnapshotError(f"{nested}subdirectory {root.directory.path} {end}")
            if is_within(directory, root.directory):
                raise errors.SnapshotError(f"{nested}ancestor {root.directory.path} {end}")
        namesystem.commit(edits.AllowSnapshotOp(resolved.path))

    def disallow(self, caller: Caller, path: str) -> None:
        namesystem = self._namesystem
        namesystem.permissions.check_superuser(
            namesystem.identities.of(caller.user), "disallow snapshots"
        )
        namesystem.safe_mode.check(f"Cannot disallow snapshot for {path}")
        resolved = self._directory(caller, path)
        assert resolved.inode is not None, "it was just looked at"
        root = namesystem.namespace.snapshots.roots.get(resolved.inode.inode_id)
        if root is not None and root.snapshots:
            raise errors.SnapshotError(
                f"The directory {resolved.path} has snapshot(s). Please redo the operation after "
                "removing all the snapshots."
            )
        namesystem.commit(edits.DisallowSnapshotOp(resolved.path))

    def _directory(self, caller: Caller, path: str) -> Resolved:
        _, resolved = self._namesystem.resolver.resolve_to_change(caller, path)
        if resolved.inode is None:
            raise errors.PathNotFound(f"Directory does not exist: {resolved.path}")
        if not isinstance(resolved.inode, Directory):
            raise errors.PathIsNotDirectory(f"`{resolved.path}': Is not a directory")
        return resolved

    def _root(self, resolved: Resolved) -> Snapshottable:
        assert resolved.inode is not None, "it was just looked at"
        root = self._namesystem.namespace.snapshots.roots.get(resolved.inode.inode_id)
        if root is None:
            raise errors.SnapshotError(
                f"Directory is not a snapshottable directory: {resolved.path}"
            )
        return root

    def _own(self, caller: Caller, path: str) -> Resolved:
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require("Directory/File does not exist {}")
        namesystem.permissions.check_owner(who, inode)
        return self._directory(caller, path)

    # Snapshots.

    def create(self, caller: Caller, path: str, name: str) -> str:
        """The path of the new snapshot, which gets a name if it has none."""
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot create snapshot for {path}")
        resolved = self._own(caller, path)
        now_ms = namesystem.clock.wall_ms()
        name = name or default_name(now_ms)
        if name in (".", "..", paths.DOT_SNAPSHOT, ".reserved") or ":" in name or "/" in name:
            raise _invalid(name)
        self._check_name(resolved.path, name)
        snapshots = namesystem.namespace.snapshots
        if (
            resolved.inode is namesystem.namespace.root
            and resolved.inode.inode_id not in snapshots.roots
        ):
            raise errors.SnapshotError(
                "Failed to add snapshot: there are already 0 snapshot(s) and the snapshot quota is "
                "0: snapshots of / are not allowed"
            )
        root = self._root(resolved)
        if snapshots.next_id >= MAX_SNAPSHOT_ID:
            raise errors.SnapshotError(
                "Failed to create the snapshot. The FileSystem has run out of snapshot IDs and "
                "ID rollover is not supported and the max snapshot limit is: "
                f"{namesystem.settings.max_snapshots_per_directory}"
            )
        self._check_limit(snapshots.count, namesystem.settings.max_snapshots, "file system")
        self._check_limit(
            len(root.snapshots),
            namesystem.settings.max_snapshots_per_directory,
            "per directory",
        )
        if root.named(name) is not None:
            raise errors.SnapshotError(
                f'Failed to add snapshot: there is already a snapshot with the same name "{name}".'
            )
        namesystem.commit(
            edits.CreateSnapshotOp(
                resolved.path,
                name,
                now_ms,
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
        return snapshot_path(resolved.path, name)

    def created(self, path: str, name: str) -> str:
        """The answer to `create` once more. Of a snapshot without a name it is the newest; one
        with a name may be gone by now, and its directory, too."""
        resolved = self._namesystem.resolver.resolve(path)
        if name:
            return snapshot_path(resolved.path, name)
        if resolved.inode is None:
            raise errors.PathNotFound(f"Directory does not exist: {resolved.path}")
        root = self._root(resolved)
        if not root.snapshots:
            raise errors.SnapshotError(f"The snapshot of {resolved.path} is gone since")
        return snapshot_path(resolved.path, root.snapshots[-1].name)

    def _check_limit(self, count: int, limit: int, of: str) -> None:
        if count >= limit:
            raise errors.SnapshotError(
                f"Failed to create snapshot: there are already {count} snapshot(s) and the {of} "
                f"snapshot limit is {limit}"
            )

    def _check_name(self, path: str, name: str) -> None:
        if "/" in name:
            raise errors.IllegalArgument('Snapshot name cannot contain "/"')
        paths.check_new_name(path, name, path, self._namesystem.settings.max_component_bytes)

    def rename(self, caller: Caller, path: str, old: str, new: str) -> None:
        namesystem = self._namesystem
        namesystem.safe_mode.check(f"Cannot rename snapshot for {path}")
        resolved = self._own(caller, path)
        if new in ("", ".", ".."):
            raise _invalid(new)  # No path would lead to it.
        self._check_name(resolved.path, new)
        root = self._root(resolved)
        if root.named(old) is None:
            raise errors.SnapshotError(
                f"The snapshot {old} does not exist for directory {resolved.path}"
            )
        if new != old and root.named(new) is not None:
            raise errors.SnapshotError(
                f"The snapshot {new} already exists for directory {resolved.path}"
            )
        namesystem.commit(
            edits.RenameSnapshotOp(
                resolved.path,
                old,
                new,
                namesystem.clock.wall_ms(),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def delete(self, caller: Caller, path: str, name: str) -> None:
        namesystem = self._namesystem
        if not name:
            raise errors.RemoteError("The snapshot name is null or empty.")
        namesystem.safe_mode.check(f"Cannot delete snapshot for {path}")
        resolved = self._own(caller, path)
        root = self._root(resolved)
        if root.named(name) is None:
            raise errors.SnapshotError(
                f"Cannot delete snapshot {name} from path {resolved.path}: "
                "the snapshot does not exist."
            )
        namesystem.commit(
            edits.DeleteSnapshotOp(
                resolved.path,
                name,
                namesystem.clock.wall_ms(),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    # Looking.

    def snapshottable(self, caller: Caller) -> list[Snapshottable] | None:
        """The caller's snapshottable directories, by path; the superuser's are all. None if
        there is no such directory at all."""
        namesystem = self._namesystem
        who = namesystem.identities.of(caller.user)
        roots = attached_roots(namesystem.namespace)
        if not roots:
            return None
        return sorted(
            (root for root in roots if who.is_superuser or root.directory.owner == who.user),
            key=lambda root: (paths.parent_of(root.directory.path), root.directory.name),
        )

    def listing(self, caller: Caller, path: str) -> list[Snapshot]:
        """A directory's snapshots, by name."""
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_checked(caller, path)
        if resolved.inode is None:
            raise errors.PathNotFound(f"Directory does not exist: {resolved.path}")
        namesystem.permissions.check(who, resolved.inode, Access.READ)
        directory = self._directory(caller, path)
        roots = namesystem.namespace.snapshots.roots
        if resolved.inode is namesystem.namespace.root and resolved.inode.inode_id not in roots:
            return []
        return self._root(directory).by_name()


def _invalid(name: str) -> errors.InvalidPath:
    return errors.InvalidPath(f"Invalid path name Invalid snapshot name: {name}")


def snapshot_path(directory: str, name: str) -> str:
    """Where the snapshot of that name of the directory is read."""
    return f"{directory.rstrip('/')}/{paths.DOT_SNAPSHOT}/{name}"


def default_name(wall_ms: int) -> str:
    """As Hadoop names a snapshot without a name, by local time: `s20260102-030405.006`."""
    now = datetime.fromtimestamp(wall_ms // 1000)
    return f"s{now:%Y%m%d-%H%M%S}.{wall_ms % 1000:03}"
