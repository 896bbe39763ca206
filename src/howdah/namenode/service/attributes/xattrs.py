"""Extended attributes: names with small values on any inode (pure).

Hadoop's `FSDirXAttrOp` and `XAttrPermissionFilter`.

A name is in one of five namespaces, and each has its own guard:

* `user`: read permission on the inode allows reading, write permission setting; on a
  sticky directory only the owner and superusers set them
* `trusted`: for superusers
* `security`, `system`: for the namenode. One exception: a client may set
  `UNREADABLE_BY_SUPERUSER` on a file, without a value; it is never removed
* `raw`: seen only below `/.reserved/raw`, where only superusers set it

Checks first, then an edit.
"""

from __future__ import annotations

from collections.abc import Sequence

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.namenode.service.calls.permissions import Access, Identity
from howdah.namenode.service.calls.resolved_path import Resolved
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths, xattrs
from howdah.namenode.state.inodes.inodes import STICKY_BIT, Directory, File, INode
from howdah.namenode.state.inodes.xattrs import ENCRYPTION_ZONE, UNREADABLE_BY_SUPERUSER
from howdah.protocol.rpc.call import Caller


class XAttrCalls:
    """Operations on extended attributes."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def set(self, caller: Caller, path: str, xattr: XAttr, *, create: bool, replace: bool) -> None:
        """Give the inode an attribute: a new one with `create`, another value of one that
        it has with `replace`."""
        namesystem = self._namesystem
        self._check_enabled()
        if not xattr.name:
            raise errors.IllegalArgument("XAttr name cannot be empty.")
        self._check_size(xattr)
        namesystem.safe_mode.check(f"Cannot set XAttr on {path}")
        who = namesystem.identities.of(caller.user)
        _check_namespace(who, xattr, is_raw=paths.is_raw(path))
        resolved, inode = self._writable(caller, path, xattr)
        exists = any(xattrs.name_of(have) == xattrs.name_of(xattr) for have in inode.xattrs)
        _check_flags(xattr, exists=exists, create=create, replace=replace)
        if not exists and _is_counted(xattr):
            check_one_more(namesystem, inode)
        if xattrs.name_of(xattr) == UNREADABLE_BY_SUPERUSER and not isinstance(inode, File):
            raise errors.RemoteError(f"Can only set '{xattrs.full_name(xattr)}' on a file.")
        namesystem.commit(
            edits.SetXAttrOp(
                resolved.path,
                (xattr,),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def remove(self, caller: Caller, path: str, xattr: XAttr) -> None:
        namesystem = self._namesystem
        self._check_enabled()
        namesystem.safe_mode.check(f"Cannot remove XAttr entry on {path}")
        _check_namespace(namesystem.identities.of(caller.user), xattr, is_raw=paths.is_raw(path))
        resolved, inode = self._writable(caller, path, xattr)
        if xattrs.name_of(xattr) == ENCRYPTION_ZONE:
            raise errors.IllegalArgument("The encryption zone xattr should never be deleted.")
        if xattrs.name_of(xattr) == UNREADABLE_BY_SUPERUSER:
            raise errors.AccessDenied(f"The xattr '{xattrs.full_name(xattr)}' can not be deleted.")
        if not any(xattrs.name_of(have) == xattrs.name_of(xattr) for have in inode.xattrs):
            raise errors.RemoteError("No matching attributes found for remove operation")
        namesystem.commit(
            edits.RemoveXAttrOp(
                resolved.path,
                (XAttr(xattr.namespace, xattr.name),),
                rpc_client_id=caller.client_id,
                rpc_call_id=caller.call_id,
            )
        )

    def get(self, caller: Caller, path: str, wanted: Sequence[XAttr]) -> list[XAttr]:
        """Those that are asked for, or all that the caller may see."""
        self._check_enabled()
        who = self._namesystem.identities.of(caller.user)
        is_raw = paths.is_raw(path)
        for xattr in wanted:
            _check_namespace(who, xattr, is_raw=is_raw)
        visible = self.list(caller, path)
        if not wanted:
            return visible
        by_name = {xattrs.name_of(xattr): xattr for xattr in visible}
        try:
            return [by_name[xattrs.name_of(xattr)] for xattr in wanted]
        except KeyError:
            raise errors.AttributeNotFound(errors.AttributeNotFound.WORDS) from None

    def list(self, caller: Caller, path: str) -> list[XAttr]:
        """All that the caller may see."""
        namesystem = self._namesystem
        self._check_enabled()
        who, resolved = namesystem.resolver.resolve_checked(caller, path)
        inode = resolved.inode
        if inode is None:
            raise errors.PathNotFound(f"cannot find {resolved.path}")  # Hadoop's words, here alone
        namesystem.permissions.check(who, inode, Access.READ)
        is_raw = paths.is_raw(path)
        return [xattr for xattr in inode.xattrs if _may_see(who, xattr, is_raw=is_raw)]

    def _check_enabled(self) -> None:
        if not self._namesystem.settings.xattrs_enabled:
            raise errors.RemoteError(
                "The XAttr operation has been rejected.  Support for XAttrs has been disabled "
                "by setting dfs.namenode.xattrs.enabled to false."
            )

    def _check_size(self, xattr: XAttr) -> None:
        limit = self._namesystem.settings.max_xattr_bytes
        size = len(xattr.name.encode()) + len(xattr.value or b"")
        if size > limit:
            raise errors.IllegalArgument(
                "The XAttr is too big. The maximum combined size of the name and value is "
                f"{limit}, but the total size is {size}"
            )

    def _writable(self, caller: Caller, path: str, xattr: XAttr) -> tuple[Resolved, INode]:
        namesystem = self._namesystem
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        inode = resolved.require("cannot find {}")
        if xattr.namespace is XAttrNamespace.USER:
            if isinstance(inode, Directory) and inode.mode & STICKY_BIT:
                namesystem.permissions.check_owner(who, inode)
            else:
                namesystem.permissions.check(who, inode, Access.WRITE)
        return resolved, inode


def check_one_more(namesystem: Namesystem, inode: INode) -> None:
    """Raises RemoteError for an inode that has as many attributes as one may have."""
    limit = namesystem.settings.max_xattrs_per_inode
    if sum(map(_is_counted, inode.xattrs)) >= limit:
        raise errors.RemoteError(
            f"Cannot add additional XAttr to inode, would exceed limit of {limit}"
        )


def _is_counted(xattr: XAttr) -> bool:
    """The limit on their number is for those that users make."""
    return xattr.namespace in (XAttrNamespace.USER, XAttrNamespace.TRUSTED)


def _may_see(who: Identity, xattr: XAttr, *, is_raw: bool) -> bool:
    match xattr.namespace:
        case XAttrNamespace.USER:
            return True
        case XAttrNamespace.TRUSTED:
            return who.is_superuser
        case XAttrNamespace.RAW:
            return is_raw
        case _:
            return xattrs.name_of(xattr) == UNREADABLE_BY_SUPERUSER


def _check_namespace(who: Identity, xattr: XAttr, *, is_raw: bool) -> None:
    if not _may_see(who, xattr, is_raw=is_raw):
        raise errors.AccessDenied(
            f"User doesn't have permission for xattr: {xattrs.full_name(xattr)}"
        )
    if xattrs.name_of(xattr) == UNREADABLE_BY_SUPERUSER and xattr.value is not None:
        raise errors.AccessDenied(
            f"Attempt to set a value for '{xattrs.full_name(xattr)}'. "
            "Values are not allowed for this xattr."
        )


def _check_flags(xattr: XAttr, *, exists: bool, create: bool, replace: bool) -> None:
    if not create and not replace:
        raise errors.IllegalArgument("A flag must be specified.")
    if exists and not replace:
        raise errors.RemoteError(
            f"XAttr: {xattr.name} already exists. The REPLACE flag must be specified."
        )
    if not exists and not create:
        raise errors.RemoteError(
            f"XAttr: {xattr.name} does not exist. The CREATE flag must be specified."
        )
