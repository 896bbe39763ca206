"""What stands before every edit: who asks, for which path, and what forbids it (pure).

Part of Hadoop's `FSDirectory`: its path resolution, and the checks that families of calls share.
Nothing is changed here. `namesystem` makes the edits.
"""

from __future__ import annotations

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Access, Identity, Permissions
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.calls.settings import Clock, Settings
from howdah.namenode.state.inodes import acls, paths
from howdah.namenode.state.inodes.inodes import MODE_MASK, Directory, File, INode
from howdah.namenode.state.tree import quotas
from howdah.namenode.state.tree.namespace import Namespace
from howdah.namenode.state.tree.quotas import Usage
from howdah.namenode.state.tree.snapshot_views import view_trail
from howdah.namenode.state.tree.symlinks import check_no_link
from howdah.protocol.rpc.service import Caller


class Checks:
    """The questions that calls ask of the namespace before they change it."""

    def __init__(
        self, namespace: Namespace, settings: Settings, permissions: Permissions, clock: Clock
    ) -> None:
        self.namespace = namespace
        self.settings = settings
        self.permissions = permissions
        self.clock = clock
        self._identities: dict[str, tuple[int, Identity]] = {}

    # Who asks.

    def identity(self, caller: Caller) -> Identity:
        """The caller with groups, looked up again after `identity_ms`."""
        return self.identity_of(caller.user)

    def identity_of(self, user: str) -> Identity:
        """A user with groups, as `identity`."""
        now_ms = self.clock.monotonic_ms()
        known = self._identities.get(user)
        if known is not None and now_ms < known[0]:
            return known[1]
        identity = self.permissions.identity(user)
        if len(self._identities) > 10_000:
            self._identities.clear()
        self._identities[user] = (now_ms + self.settings.identity_ms, identity)
        return identity

    def forget_identities(self) -> None:
        """The groups of users may have changed: they are looked up again."""
        self._identities.clear()
        self.permissions.forget_groups()

    def forget_identity(self, user: str) -> None:
        """The groups of this user were just looked up."""
        self._identities.pop(user, None)

    # Which path.

    def resolve(self, path: str) -> Resolved:
        """A path from a request. `/.reserved/.inodes/ID/…` is resolved by id, and
        `/.reserved/raw/…` is the path without that."""
        # As nearly all paths are: written as they are kept, without a name that begins
        # with a dot, in a directory that is there.
        head, _, name = path.rpartition("/")
        if name and path[0] == "/" and "/." not in path and "//" not in path:
            is_short = len(path) <= paths.LONGEST_PATH_CHARACTERS
            way = self.namespace.way_to(head) if is_short else None
            if way is not None:
                entry = way.end.entries.get(name)
                end = self.namespace.inodes.files[entry] if isinstance(entry, int) else entry
                return Resolved(path, [*way.components, name], [*way.trail, end])
        components = paths.split(path)
        if components[:2] == [".reserved", "raw"]:
            if components[2:] != [".reserved"]:
                components = components[2:]
        elif len(components) > 2 and components[:2] == [".reserved", ".inodes"]:
            components = self._by_inode_id(path, components)
        if self.namespace.snapshots.roots and paths.DOT_SNAPSHOT in components:
            trail = view_trail(self.namespace, components)
            if trail is not None:
                return Resolved(paths.join(components), components, trail, in_snapshot=True)
        return Resolved(paths.join(components), components, self.namespace.trail(components))

    def _by_inode_id(self, path: str, components: list[str]) -> list[str]:
        number = components[2]
        if not (number.isascii() and number.isdigit() and len(number) < 20):
            raise errors.PathNotFound(f"Invalid inode path: {path}")
        inode = self.namespace.inodes.get(int(number))
        if inode is None or not self.namespace.is_attached(inode):
            raise errors.PathNotFound(f"File for given inode path does not exist: {path}")
        found = paths.split(inode.path)
        # As NFS gateways ask for what is above an inode.
        if components[3:4] == [".."]:
            return [*found[:-1], *components[4:]]
        return [*found, *components[3:]]

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
        who = self.identity(caller)
        found = self.resolve(path)
        try:
            self.permissions.check_traverse(who, found.trail)
        except errors.PathThroughFile as error:
            if creates:
                raise errors.ParentNotDirectory(error.message) from None
            raise
        end = found.trail[-1]
        if end is None:
            check_no_link(found.components, found.trail, found.last_existing)
        elif follows:
            check_no_link(found.components, found.trail, end)
        return who, found

    def resolve_to_change(
        self, caller: Caller, path: str, *, creates: bool = False, follows: bool = True
    ) -> tuple[Identity, Resolved]:
        """The same for a call that changes something. Raises SnapshotReadOnly, too.

        Below `/.reserved/raw` only superusers change anything; others read what they may.
        """
        if paths.is_raw(path):
            self.permissions.check_superuser(
                self.identity(caller), f"change anything below {paths.RESERVED_RAW}"
            )
        who, found = self.resolve_checked(caller, path, creates=creates, follows=follows)
        if found.in_snapshot:
            raise errors.SnapshotReadOnly("Modification on a read-only snapshot is disallowed")
        return who, found

    def require(self, found: Resolved, words: str = "File does not exist: {}") -> INode:
        """Raises PathNotFound if nothing is there, in the words that Hadoop has for the call."""
        if found.inode is None:
            raise errors.PathNotFound(words.format(found.path))
        return found.inode

    def require_file(self, found: Resolved) -> File:
        inode = self.require(found)
        if not isinstance(inode, File):
            raise errors.PathNotFound(f"Path is not a file: {found.path}")
        return inode

    # What forbids it.

    def check_parent_write(self, who: Identity, found: Resolved) -> None:
        """Write access to the nearest directory that exists above the path."""
        if found.parent is not None:
            self.permissions.check(who, found.parent, Access.WRITE)
            return
        for inode in reversed(found.trail[:-1]):
            if inode is not None:
                self.permissions.check(who, inode, Access.WRITE)
                return

    def check_object_limit(self) -> None:
        """Raises RemoteError where there are as many files, directories and blocks as there
        may be."""
        limit = self.settings.max_objects
        namespace = self.namespace
        if limit and len(namespace.inodes) + len(namespace.blocks) >= limit:
            raise errors.RemoteError(
                f"Exceeded the configured number of objects {limit} in the filesystem."
            )

    def check_room(self, parent: Directory) -> None:
        limit = self.settings.max_directory_items
        if limit and len(parent.entries) >= limit:
            raise errors.MaxDirectoryItemsExceeded(
                f"The directory item limit of {parent.path} is exceeded: "
                f"limit={limit} items={len(parent.entries)}"
            )

    def check_quota(self, parent: INode | None, change: Usage) -> None:
        """Raises QuotaExceeded where `change` would break a bound of `parent` or above."""
        if self.namespace.tally.directories:
            quotas.check(parent, change)

    def check_new_names(self, found: Resolved) -> None:
        """The same for the path and the directories above it that are to be made."""
        if not self.namespace.tally.directories:
            return
        missing = sum(1 for inode in found.trail if inode is None)
        if found.inode is not None and self.namespace.snapshots.leaves_link(found.inode):
            missing = 1  # It is overwritten, and snapshots keep it.
        self.check_quota(found.last_existing, Usage(missing))

    # What a new inode is.

    def initial_acl(
        self, parent: Directory, mode: int, unmasked: int | None, *, is_directory: bool
    ) -> tuple[int, tuple[edits.AclEntry, ...]]:
        """Mode and whole ACL (empty: the mode says all) of what is about to be made.

        In a directory with a default ACL that takes the place of the client's umask, if
        the client says what the mode was before.
        """
        if not parent.acl:
            return mode, ()
        if unmasked is None or not self.settings.posix_acl_inheritance:
            unmasked = mode
        inherits = any(entry.scope is edits.AclScope.DEFAULT for entry in parent.acl)
        bound = unmasked & MODE_MASK if inherits else mode
        mode, stored = acls.inherited(parent.acl, bound, by_directory=is_directory)
        return mode, acls.entries_of(mode, stored) if stored else ()

    def new_inode_id(self) -> int:
        """The next id; it counts as used once an edit carries it."""
        return self.namespace.last_inode_id + 1
