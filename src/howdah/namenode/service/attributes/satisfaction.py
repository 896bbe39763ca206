"""satisfyStoragePolicy and what a storage policy satisfier asks (pure).

Hadoop's `FSDirSatisfyStoragePolicyOp` and `StoragePolicySatisfyManager`. The namenode moves
nothing: it marks a path by an edit, and hands marks out to the satisfier, a process of its own
(`howdah sps`), which takes each mark off when all below it is in its place.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import XAttr
from howdah.namenode.service.attributes.policies import check_policies_enabled
from howdah.namenode.service.attributes.xattrs import check_one_more
from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import xattrs
from howdah.namenode.state.inodes.inodes import File, INode
from howdah.protocol.rpc.call import Caller

log = logging.getLogger(__name__)

_MARK: Final = XAttr(*xattrs.SATISFY_STORAGE_POLICY)
_SLICE_MARKS: Final = 200
"""Marks that are taken off in one go: some milliseconds."""


class SatisfactionCalls:
    """Marks are set, and handed out."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def satisfy(self, caller: Caller, path: str) -> None:
        """Mark a path. Raises UnsupportedAction where no satisfier may run, RemoteError when too
        many marks wait."""
        namesystem = self._namesystem
        check_policies_enabled(namesystem, "satisfy")
        if not namesystem.settings.satisfier_is_external:
            raise errors.UnsupportedAction(
                "Cannot request to satisfy storage policy when storage policy satisfier feature "
                "has been disabled by admin. Seek for an admin help to enable it or use Mover tool."
            )
        limit = namesystem.settings.max_marks_waiting
        if namesystem.namespace.marks.waiting >= limit:
            raise errors.RemoteError(
                f"Outstanding satisfier queue limit: {limit} exceeded, try later!"
            )
        namesystem.safe_mode.check(f"Cannot satisfy storage policy for {path}")
        who, resolved = namesystem.resolver.resolve_to_change(caller, path)
        if resolved.inode is not None:
            namesystem.permissions.check(who, resolved.inode, Access.WRITE)
        inode = resolved.require("cannot find {}")
        if isinstance(inode, File) and not inode.block_ids:
            log.info("%s has no blocks: its storage policy is satisfied as it is", resolved.path)
            return
        if xattrs.is_marked(inode.xattrs):
            self._marked_twice(inode)
            return
        check_one_more(namesystem, inode)
        namesystem.commit(
            edits.SetXAttrOp(
                resolved.path, (_MARK,), rpc_client_id=caller.client_id, rpc_call_id=caller.call_id
            )
        )

    @staticmethod
    def _marked_twice(inode: INode) -> None:
        """Of a file Hadoop's namenode notes it; of a directory it says so to the caller, as of
        any attribute that exists."""
        if not isinstance(inode, File):
            raise errors.RemoteError(
                f"XAttr: {_MARK.name} already exists. The REPLACE flag must be specified."
            )
        log.warning("%s is marked for the storage policy satisfier already", inode.path)

    def next_path(self, caller: Caller) -> int | None:
        """The inode id of a mark that this satisfier was not told yet."""
        namesystem = self._namesystem
        if not namesystem.role.writable:
            raise errors.StandbyError("Not supported by Standby Namenode.")
        if not namesystem.settings.satisfier_is_external:
            raise errors.RemoteError(
                "SPS service mode is NONE, so external SPS service is not allowed to fetch the "
                "path Ids"
            )
        inodes = namesystem.namespace.inodes

        def is_there(inode_id: int) -> bool:
            inode = inodes.get(inode_id)
            return inode is not None and namesystem.namespace.is_attached(inode)

        return namesystem.namespace.marks.next(caller.client_id, is_there)


def change_mode(namesystem: Namesystem, *, is_external: bool) -> None:
    """A running namenode is told whether a satisfier may run. When none may any more, the marks
    that wait are taken off (`unmarking`); when one may, it is told of all marks. Raises
    UnsupportedAction in a namenode that is not active."""
    if not namesystem.role.writable:
        raise errors.UnsupportedAction(
            "Enabling or disabling storage policy satisfier service on standby NameNode is not "
            "allowed"
        )
    namesystem.settings = replace(namesystem.settings, satisfier_is_external=is_external)
    marks = namesystem.namespace.marks
    if is_external:
        marks.start_over()
    else:
        marks.retire()
        log.info(
            "no storage policy satisfier may run any more: %d marks that wait are taken off",
            len(marks.retired),
        )


def unmarking(namesystem: Namesystem) -> Generator[Iterable[str], None, None] | None:
    """A round that takes off the marks that `change_mode` retired, in slices; None if there are
    none, or as long as nothing may be changed."""
    retired = namesystem.namespace.marks.retired
    return _unmark(namesystem, retired) if retired and not namesystem.safe_mode.on else None


def _unmark(namesystem: Namesystem, retired: deque[int]) -> Generator[Iterable[str], None, None]:
    while retired:
        for _ in range(min(len(retired), _SLICE_MARKS)):
            inode_id = retired.popleft()
            inode = namesystem.namespace.inodes.get(inode_id)
            if inode is None or inode_id not in namesystem.namespace.marks:
                continue
            if namesystem.namespace.is_attached(inode):
                namesystem.commit(edits.RemoveXAttrOp(inode.path, (_MARK,)))
        yield ()
