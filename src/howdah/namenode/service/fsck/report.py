"""One run of fsck, from its first line to its last (pure).

Hadoop's `NamenodeFsck.fsck`. The last line decides the exit code of clients:

    last line                                   code
    ------------------------------------------  ----
    The filesystem under path '/' is HEALTHY    0
    The filesystem under path '/' is CORRUPT    1
    Path '/nowhere' does not exist              0
    Fsck on path '/' FAILED                     255; the line before says why

Whoever asks sees what he may list and read. At the first thing that he may not, the run
fails. Single blocks and the list of corrupt ones are for superusers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.namespace_reads import Queries
from howdah.namenode.service.calls.snapshots.changes import SnapshotCalls
from howdah.namenode.service.fsck.block_ids import describe_blocks
from howdah.namenode.service.fsck.check import FsckCheck
from howdah.namenode.service.fsck.corrupt_files import list_corrupt
from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.fsck.summary import summary
from howdah.namenode.service.fsck.traversal import Walk
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import File, INode
from howdah.protocol.rpc.call import Caller
from howdah.runtime.units import java_date
from howdah.runtime.users.names import real_user_of

log = logging.getLogger(__name__)

SLICE_WORK: Final = 250
"""Entries and blocks of one slice, each some microseconds."""
_DEPRECATED: Final = (
    "The fsck switch -showprogress is deprecated and no longer has any effect. "
    "Progress is now shown by default.\n"
)
_NO_MOVE: Final = (
    "this namenode does not copy blocks to /lost+found: no file was moved or deleted. "
    "Run 'howdah fsck <path> -move', which copies them itself"
)

Text = Generator[str, None, None]
"""Slices of work; each yields what it has written."""


class Fsck:
    """Runs of one namenode."""

    def __init__(
        self, namesystem: Namesystem, check_read: Callable[[], None] = lambda: None
    ) -> None:
        """`check_read` raises while this namenode may not be read, as a standby."""
        self._namesystem = namesystem
        self._check_read = check_read
        self._queries = Queries(namesystem)
        self._snapshots = SnapshotCalls(namesystem)

    def run(self, user: str, address: str, options: Options) -> Generator[str, None, bool]:
        """The whole text of a run, which `user` asks for from `address`. Returns False if he
        may not have it."""
        begun_ms = self._namesystem.clock.monotonic_ms()
        caller = Caller(
            str(user),
            edits.NO_CLIENT_ID,
            edits.NO_CALL_ID,
            -1,
            address,
            real_user=real_user_of(user),
        )
        if options.show_progress:
            yield _DEPRECATED
        try:
            if options.block_ids is not None:
                yield from self._single_blocks(caller, options, options.block_ids)
            else:
                yield from self._tree(caller, options, begun_ms)
        except errors.HowdahError as error:
            log.info("fsck of %s for %s failed: %s", options.path, user, error)
            yield (
                f"{self._ended(begun_ms)}{error.message}\n\n\nFsck on path '{options.path}' FAILED"
            )
            return not isinstance(error, errors.AccessDenied)
        return True

    def _started(self, caller: Caller, of: str) -> str:
        return (
            f"FSCK started by {caller.display_name} from /{caller.address}{of} at "
            f"{java_date(self._namesystem.clock.wall_ms())}\n"
        )

    def _ended(self, begun_ms: int) -> str:
        clock = self._namesystem.clock
        took_ms = clock.monotonic_ms() - begun_ms
        return f"FSCK ended at {java_date(clock.wall_ms())} in {took_ms} milliseconds\n"

    def _check_superuser(self, caller: Caller, operation: str) -> None:
        permissions = self._namesystem.permissions
        if permissions.enabled and not self._namesystem.identities.of(caller.user).is_superuser:
            raise errors.AccessDenied(
                f"Access denied for user {caller.user}. Superuser privilege is required for "
                f"operation {operation}"
            )

    def _single_blocks(self, caller: Caller, options: Options, names: tuple[str, ...]) -> Text:
        namesystem = self._namesystem
        self._check_superuser(caller, "fsck")
        yield self._started(caller, "")
        yield from describe_blocks(namesystem, names, options)

    def _tree(self, caller: Caller, options: Options, begun_ms: int) -> Text:
        namesystem, path = self._namesystem, options.path
        yield self._started(caller, f" for path {path}")
        self._check_read()
        if options.move:
            raise errors.UnsupportedOperation(_NO_MOVE)
        snapshottable = self._snapshottable(caller) if options.include_snapshots else []
        inode = self._queries.file_info(caller, path, follows=False)
        if inode is None:
            yield f"\n\nPath '{path}' does not exist"
            return
        if options.list_corrupt:
            self._check_superuser(caller, "listCorruptFileBlocks")
            pages = list_corrupt(namesystem, path, options.skip, snapshottable)
            yield (yield from _quiet(pages))
            return
        check = FsckCheck(namesystem, caller, namesystem.identities.of(caller.user), options)
        yield from self._walk(check, caller, options, inode, snapshottable)
        yield summary(
            check.figures,
            check.group_figures,
            datanodes=len(namesystem.datanode_manager.datanodes.live()),
            racks=check.racks.count,
            default_replication=namesystem.settings.default_replication,
            minimum=namesystem.settings.min_replication,
        )
        if options.storage_policies:
            yield check.storage_types.text()
        yield self._ended(begun_ms)
        if check.has_failed:
            raise errors.RemoteError("fsck encountered internal errors!")
        is_healthy = check.figures.is_healthy and check.group_figures.is_healthy
        status = "is HEALTHY" if is_healthy else "is CORRUPT"
        yield f"\n\nThe filesystem under path '{path}' {status}"

    def _snapshottable(self, caller: Caller) -> list[str]:
        roots = self._snapshots.snapshottable(caller)
        return [root.directory.path for root in roots or ()]

    def _walk(
        self,
        check: FsckCheck,
        caller: Caller,
        options: Options,
        inode: INode,
        snapshottable: list[str],
    ) -> Text:
        walk = Walk(self._namesystem, self._namesystem.identities.of(caller.user), snapshottable)
        work = 0
        try:
            for path, child in walk.entries(options.path, inode):
                work += 1 + (len(child.blocks) if isinstance(child, File) else 0)
                for _ in check.entry(path, child):
                    yield check.take_text()
                    work = self._go_on(walk, check)
                if work >= SLICE_WORK:
                    yield check.take_text()
                    work = self._go_on(walk, check)
        except errors.HowdahError:
            yield check.take_text()  # What was found before the failure.
            raise
        yield check.take_text()

    def _go_on(self, walk: Walk, check: FsckCheck) -> int:
        """Others had their turn. Raises StandbyError if the role has changed."""
        self._check_read()
        walk.slice_ended()
        check.look_around()
        return 0


def _quiet(slices: Generator[None, None, str]) -> Generator[str, None, str]:
    """Slices that write nothing before the last one."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            text: str = end.value
            return text
        yield ""
