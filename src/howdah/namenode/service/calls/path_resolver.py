"""From the path of a request to what the tree has along it (pure).

Part of Hadoop's `FSDirectory`: `resolvePath`, and the permission to walk as far as the path's
parent. Nothing is changed here.
"""

from __future__ import annotations

from howdah import errors
from howdah.namenode.service.calls.permissions import Identities, Identity, Permissions
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.tree.namespace import Namespace
from howdah.namenode.state.tree.snapshot_views import view_trail
from howdah.namenode.state.tree.symlinks import check_no_link
from howdah.protocol.rpc.call import Caller


class PathResolver:
    """Resolves the paths of requests."""

    def __init__(
        self, namespace: Namespace, permissions: Permissions, identities: Identities
    ) -> None:
        self._namespace = namespace
        self._permissions = permissions
        self._identities = identities

    def resolve(self, path: str) -> Resolved:
        """A path from a request. `/.reserved/.inodes/ID/…` is resolved by id, and
        `/.reserved/raw/…` is the path without that."""
        # As nearly all paths are: written as they are kept, without a name that begins
        # with a dot, in a directory that is there.
        head, _, name = path.rpartition("/")
        if name and path[0] == "/" and "/." not in path and "//" not in path:
            is_short = len(path) <= paths.LONGEST_PATH_CHARACTERS
            way = self._namespace.way_to(head) if is_short else None
            if way is not None:
                entry = way.end.entries.get(name)
                end = self._namespace.inodes.files[entry] if isinstance(entry, int) else entry
                return Resolved(path, [*way.components, name], [*way.trail, end])
        components = paths.split(path)
        if components[:2] == [".reserved", "raw"]:
            if components[2:] != [".reserved"]:
                components = components[2:]
        elif len(components) > 2 and components[:2] == [".reserved", ".inodes"]:
            components = self._by_inode_id(path, components)
        if self._namespace.snapshots.roots and paths.DOT_SNAPSHOT in components:
            trail = view_trail(self._namespace, components)
            if trail is not None:
                return Resolved(paths.join(components), components, trail, in_snapshot=True)
        return Resolved(paths.join(components), components, self._namespace.trail(components))

    def _by_inode_id(self, path: str, components: list[str]) -> list[str]:
        number = components[2]
        if not (number.isascii() and number.isdigit() and len(number) < 20):
            raise errors.PathNotFound(f"Invalid inode path: {path}")
        inode = self._namespace.inodes.get(int(number))
        if inode is None or not self._namespace.is_attached(inode):
            raise errors.PathNotFound(f"File for given inode path does not exist: {path}")
        of_inode = paths.split(inode.path)
        # As NFS gateways ask for what is above an inode.
        if components[3:4] == [".."]:
            return [*of_inode[:-1], *components[4:]]
        return [*of_inode, *components[3:]]

    def resolve_checked(
        self, caller: Caller, path: str, *, creates: bool = False, follows: bool = True
    ) -> tuple[Identity, Resolved]:
        """The path, and who asks, who may walk as far as the path's parent.

        A file in the way is an AccessDenied; where the call `creates` the path it is
        a ParentNotDirectory, and a path that is not canonical is an InvalidPath. A link in
        the way is an UnresolvedPath, and so is one at the end, unless the call is about the
        link itself and `follows` none there.
        """
        if creates:
            paths.check_creatable(path)
        who = self._identities.of(caller.user)
        resolved = self.resolve(path)
        try:
            self._permissions.check_traverse(who, resolved.trail)
        except errors.PathThroughFile as error:
            if creates:
                raise errors.ParentNotDirectory(error.message) from None
            raise
        end = resolved.trail[-1]
        if end is None:
            check_no_link(resolved.components, resolved.trail, resolved.last_existing)
        elif follows:
            check_no_link(resolved.components, resolved.trail, end)
        return who, resolved

    def resolve_written(self, caller: Caller, path: str, inode_id: int) -> Resolved:
        """The path of a file that is being written. Its writer knows its `inode_id`, which is found
        whatever has become of the path; where there is none (0), the caller has to be able to walk
        there. Who may write is who holds the lease."""
        if inode_id:
            return self.resolve(path)
        return self.resolve_checked(caller, path)[1]

    def resolve_to_change(
        self, caller: Caller, path: str, *, creates: bool = False, follows: bool = True
    ) -> tuple[Identity, Resolved]:
        """The same for a call that changes something. Raises SnapshotReadOnly, too.

        Below `/.reserved/raw` only superusers change anything; others read what they may.
        """
        if paths.is_raw(path):
            self._permissions.check_superuser(
                self._identities.of(caller.user), f"change anything below {paths.RESERVED_RAW}"
            )
        who, resolved = self.resolve_checked(caller, path, creates=creates, follows=follows)
        if resolved.in_snapshot:
            raise errors.SnapshotReadOnly("Modification on a read-only snapshot is disallowed")
        return who, resolved
