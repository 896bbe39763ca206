"""createSymlink: checks first, then an edit (pure). Clients follow links, the namenode does not.

Hadoop's `FSDirSymlinkOp`.
"""

from __future__ import annotations

from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.namespace_changes import check_names, require_parent
from howdah.namenode.service.calls.new_inodes import create_missing_parents
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import Directory
from howdah.protocol.rpc.call import Caller

LINK_MODE: Final = 0o777
"""Nobody asks for the mode of a link: that of its target counts."""


class LinkCalls:
    """Operations that make links."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def create(self, caller: Caller, link: str, target: str, *, create_parent: bool) -> None:
        """A link at `link` to `target`, which need not be there, and may be a URI."""
        namesystem = self._namesystem
        if not target:
            raise errors.RemoteError("Invalid symlink target")
        if target == paths.RESERVED or target.startswith(paths.RESERVED + "/"):
            raise errors.InvalidPath(f"Invalid path name Invalid target name: {target}")
        paths.check_creatable(link, "Invalid link name: ")
        paths.check_length("createSymlink", link)
        paths.check_length("createSymlink", target)
        namesystem.safe_mode.check(f"Cannot create symlink {link}")
        who, resolved = namesystem.resolver.resolve_to_change(
            caller, link, creates=True, follows=False
        )
        if resolved.inode is not None:
            raise errors.PathExists(f"failed to create link {resolved.path}: the path exists")
        if not create_parent:
            require_parent(resolved)
        namesystem.permissions.check_ancestor(who, resolved.trail, Access.WRITE)
        namesystem.limits.check_objects()
        check_names(namesystem, resolved)
        namesystem.limits.check_quota_of_new_names(resolved)
        now_ms = namesystem.clock.wall_ms()
        # With the mode of what is above: Hadoop's namenode takes no notice of the client's, either.
        create_missing_parents(namesystem, who, resolved, None, now_ms)
        parent = namesystem.namespace.find(paths.parent_of(resolved.path))
        assert isinstance(parent, Directory), "its parents exist now"
        namesystem.limits.check_directory_items(parent)
        namesystem.commit(
            edits.SymlinkOp(
                namesystem.namespace.next_inode_id,
                resolved.path,
                target,
                now_ms,
                now_ms,
                edits.Permission(who.user, parent.group, LINK_MODE),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )
