"""What comes before a new file, directory or link: its id, its ACL, the directories above (pure).

Part of Hadoop's `FSDirMkdirOp`.
"""

from __future__ import annotations

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.permissions import Identity
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import acls, paths
from howdah.namenode.state.inodes.inodes import MODE_MASK, Directory, INode


def initial_acl(
    settings: Settings, parent: Directory, mode: int, unmasked: int | None, *, is_directory: bool
) -> tuple[int, tuple[edits.AclEntry, ...]]:
    """Mode and whole ACL (empty: the mode says all) of what is about to be made.

    In a directory with a default ACL that takes the place of the client's umask, if
    the client says what the mode was before.
    """
    if not parent.acl:
        return mode, ()
    if unmasked is None or not settings.posix_acl_inheritance:
        unmasked = mode
    inherits = any(entry.scope is edits.AclScope.DEFAULT for entry in parent.acl)
    bound = unmasked & MODE_MASK if inherits else mode
    mode, stored = acls.inherited(parent.acl, bound, by_directory=is_directory)
    return mode, acls.entries_of(mode, stored) if stored else ()


def ensure_parent(
    namesystem: Namesystem,
    who: Identity,
    resolved: Resolved,
    mode: int | None,
    now_ms: int,
    unmasked: int | None = None,
) -> Directory:
    """The directory of a path that is about to be made: it is there, or is made now, as
    `create_missing_parents` says."""
    parent = resolved.parent
    if isinstance(parent, Directory):
        return parent
    create_missing_parents(namesystem, who, resolved, mode, now_ms, unmasked)
    way = namesystem.namespace.way_to(paths.join(resolved.components[:-1]))
    assert way is not None, "it was just made"
    return way.end


def create_missing_parents(
    namesystem: Namesystem,
    who: Identity,
    resolved: Resolved,
    mode: int | None,
    now_ms: int,
    unmasked: int | None = None,
) -> None:
    """Commit one MkdirOp for each missing directory above the path.

    With `mode` None they inherit the mode of the nearest existing one; either way the owner may
    write and enter them. Raises ParentNotDirectory where something else is in the way.
    """
    settings = namesystem.settings
    parent: INode = namesystem.namespace.root
    for depth, name in enumerate(resolved.components[:-1]):
        if not isinstance(parent, Directory):
            raise errors.ParentNotDirectory(f"Parent path is not a directory: {parent.path} {name}")
        child = parent.child(name)
        if child is None:
            path = paths.join(resolved.components[: depth + 1])
            paths.check_new_name(resolved.path, name, parent.path, settings.max_component_bytes)
            namesystem.limits.check_directory_items(parent)
            permission, acl = initial_acl(
                settings,
                parent,
                (parent.mode if mode is None else mode) | 0o300,
                None if unmasked is None else unmasked | 0o300,
                is_directory=True,
            )
            namesystem.commit(
                edits.MkdirOp(
                    namesystem.namespace.next_inode_id,
                    path,
                    now_ms,
                    edits.Permission(who.user, parent.group, permission),
                    acl,
                )
            )
            child = parent.children[name]
        parent = child
    if not isinstance(parent, Directory):
        raise errors.ParentNotDirectory(f"Parent path is not a directory: {parent.path}")
