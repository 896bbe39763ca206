"""Permission checks: POSIX modes and ACLs of the tree (pure).

Hadoop's `FSPermissionChecker`. Superusers are the user who started the namenode, and the
members of `dfs.permissions.superusergroup`. Every other user needs execute permission on
all directories above, and the access that the operation wants. In a sticky directory
only the owner of an entry, or of the directory, may remove it.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import AclKind, AclScope
from howdah.namenode.state.inodes import xattrs
from howdah.namenode.state.inodes.inodes import (
    STICKY_BIT,
    Directory,
    File,
    INode,
    Symlink,
    mode_string,
)


class Access(enum.IntFlag):
    """Bits of an rwx digit."""

    NONE = 0
    EXECUTE = 1
    WRITE = 2
    READ = 4


_NAMES: Final = {
    0: "NONE",
    1: "EXECUTE",
    2: "WRITE",
    3: "WRITE_EXECUTE",
    4: "READ",
    5: "READ_EXECUTE",
    6: "READ_WRITE",
    7: "ALL",
}


MAX_IDENTITIES: Final = 10_000
"""Users that are remembered with their groups."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A user with groups, as the server knows them."""

    user: str
    groups: tuple[str, ...]
    is_superuser: bool


class Permissions:
    """The checks. `groups_of` asks the server's user database."""

    def __init__(
        self,
        *,
        enabled: bool,
        superuser: str,
        supergroup: str,
        groups_of: Callable[[str], Sequence[str]],
        forget_groups: Callable[[], None] = lambda: None,
    ) -> None:
        self.enabled = enabled
        self.superuser = superuser
        self.supergroup = supergroup
        self._groups_of = groups_of
        self.forget_groups = forget_groups

    def identity(self, user: str) -> Identity:
        groups = tuple(self._groups_of(user))
        return Identity(user, groups, user == self.superuser or self.supergroup in groups)

    def is_exempt(self, who: Identity) -> bool:
        """Whether nothing is checked of this user."""
        return who.is_superuser or not self.enabled

    @staticmethod
    def _allows(who: Identity, inode: INode, access: int) -> bool:
        # As a number: what Python makes of two flags, for every directory of a path, takes as
        # long as all the rest.
        access = int(access)
        if inode.acl and inode.acl[0].scope is AclScope.ACCESS:
            return _acl_allows(who, inode, access)
        if who.user == inode.owner:
            granted = inode.mode >> 6
        elif inode.group in who.groups:
            granted = inode.mode >> 3
        else:
            granted = inode.mode
        return granted & access == access

    def _require(self, who: Identity, inode: INode, access: Access) -> None:
        if not self._allows(who, inode, access):
            raise errors.AccessDenied(
                f"Permission denied: user={who.user}, access={_NAMES[access]}, "
                f'inode="{inode.path}":{inode.owner}:{inode.group}:{mode_string(inode)}'
            )

    def check_traverse(self, who: Identity, trail: Sequence[INode | None]) -> None:
        """Execute on every directory above the last of `trail`.

        Raises AccessDenied, and PathThroughFile where a file stands in the way. A link
        in the way is for the caller to deal with: nobody walks through it here.
        """
        exempt = self.is_exempt(who)
        if exempt and len(trail) > 1 and isinstance(trail[-2], Directory):
            return  # So all above it are directories, too.
        for inode, below in itertools.pairwise(trail):
            if inode is None:
                return
            if isinstance(inode, Directory):
                if not exempt:
                    self._require(who, inode, Access.EXECUTE)
            elif below is None and not isinstance(inode, Symlink):
                raise errors.PathThroughFile(inode.path + errors.PathThroughFile.MESSAGE_END)

    def check(self, who: Identity, inode: INode, access: Access) -> None:
        """The access itself, on one inode. Raises AccessDenied."""
        if not self.is_exempt(who):
            self._require(who, inode, access)

    def check_ancestor(self, who: Identity, trail: Sequence[INode | None], access: Access) -> None:
        """The access to the nearest directory that exists above the path."""
        for inode in reversed(trail[:-1]):
            if inode is not None:
                self.check(who, inode, access)
                return

    def check_readable(self, who: Identity, file: File) -> None:
        """Read access to the bytes of a file, which some keep from the superuser, too.

        A file in a snapshot has the attributes that it had then. Raises AccessDenied.
        """
        self.check(who, file, Access.READ)
        if not (self.enabled and who.is_superuser and file.xattrs):
            return
        if any(xattrs.name_of(have) == xattrs.UNREADABLE_BY_SUPERUSER for have in file.xattrs):
            raise errors.AccessDenied(
                f"Access is denied for {who.user} since the superuser is not allowed to perform "
                f"this operation. {file.path} has the extended attribute "
                "security.hdfs.unreadable.by.superuser"
            )

    def check_sticky(self, who: Identity, parent: INode, inode: INode) -> None:
        """Raises AccessDenied if `inode` may not be taken out of a sticky directory."""
        if self.is_exempt(who) or not parent.mode & STICKY_BIT:
            return
        if who.user not in (parent.owner, inode.owner):
            raise errors.AccessDenied(
                f"Permission denied by sticky bit: user={who.user}, "
                f'path="{inode.path}":{inode.owner}:{inode.group}:{mode_string(inode)}, '
                f'parent="{parent.path}":{parent.owner}:{parent.group}:{mode_string(parent)}'
            )

    def check_owner(self, who: Identity, inode: INode) -> None:
        """Raises AccessDenied unless `who` owns the inode or is superuser."""
        if not self.is_exempt(who) and who.user != inode.owner:
            raise errors.AccessDenied(
                f"Permission denied. user={who.user} is not the owner of inode={inode.path}"
            )

    def check_superuser(self, who: Identity, action: str) -> None:
        if self.enabled and not who.is_superuser:
            raise errors.AccessDenied(
                f"Access denied for user {who.user}. Superuser privilege is required to {action}"
            )

    def check_subtree_delete(self, who: Identity, top: Directory) -> None:
        """Write and execute on every directory that a recursive delete would empty."""
        if self.is_exempt(who):
            return
        stack: list[Directory] = [top]
        while stack:
            directory = stack.pop()
            if directory.children:
                self._require(who, directory, Access.READ | Access.WRITE | Access.EXECUTE)
            if directory.mode & STICKY_BIT:
                for child in directory.children.values():
                    self.check_sticky(who, directory, child)
            stack += directory.subdirectories()


class Identities:
    """Users with their groups, which are looked up again after `fresh_ms`."""

    def __init__(
        self, permissions: Permissions, monotonic_ms: Callable[[], int], fresh_ms: int
    ) -> None:
        self._permissions = permissions
        self._monotonic_ms = monotonic_ms
        self._fresh_ms = fresh_ms
        self._known: dict[str, tuple[int, Identity]] = {}

    def of(self, user: str) -> Identity:
        """The user with groups."""
        now_ms = self._monotonic_ms()
        known = self._known.get(user)
        if known is not None and now_ms < known[0]:
            return known[1]
        identity = self._permissions.identity(user)
        if len(self._known) > MAX_IDENTITIES:
            self._known.clear()
        self._known[user] = (now_ms + self._fresh_ms, identity)
        return identity

    def forget(self, user: str) -> None:
        """The groups of this user were just looked up."""
        self._known.pop(user, None)

    def forget_all(self) -> None:
        """The groups of users may have changed: they are looked up again."""
        self._known.clear()
        self._permissions.forget_groups()


def _acl_allows(who: Identity, inode: INode, access: int) -> bool:
    """The first that fits: the owner by the mode, an entry with the user's name, any
    entry of one of the groups; and if none does, all others by the mode. The group's bits
    of the mode are the mask here, and bound all but the owner and the others."""
    if who.user == inode.owner:
        return inode.mode >> 6 & access == access
    mask = inode.mode >> 3
    is_member = False
    for entry in inode.acl:
        if entry.scope is AclScope.DEFAULT:
            break
        grants = entry.permission & mask & access == access
        if entry.kind is AclKind.USER:
            if entry.name == who.user:
                return grants
        elif (inode.group if entry.name is None else entry.name) in who.groups:
            if grants:
                return True
            is_member = True
    return not is_member and inode.mode & access == access
