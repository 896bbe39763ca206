"""The namenode empties trash (pure).

Hadoop's `TrashPolicyDefault.Emptier`. At each full `fs.trash.checkpoint.interval` of the
clock, for every user with a trash:

1. checkpoints older than `fs.trash.interval` are deleted
2. `Current` becomes a checkpoint, named by the time

So a deleted file stays for at least the interval, and at most one checkpoint interval
longer. These are ordinary renames and deletions of the superuser, one trash per step.
Nothing happens in safe mode. A step that fails is logged, and tried again next time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.encryption_zones import zones_after
from howdah.namenode.service.calls.namespace_changes import TreeCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import Directory
from howdah.protocol.rpc.call import Caller
from howdah.protocol.trash_names import (
    CURRENT_NAME,
    MOST_CHECKPOINTS_A_SECOND,
    TRASH_NAME,
    checkpoint_name,
    checkpoint_time_s,
)

HOMES: Final = "/user"


class TrashEmptier:
    """Knows when it is time, and does it. An interval of 0 switches it off."""

    def __init__(
        self,
        namesystem: Namesystem,
        tree: TreeCalls,
        *,
        interval_ms: int,
        checkpoint_interval_ms: int,
    ) -> None:
        self._namesystem = namesystem
        self._tree = tree
        self._interval_ms = interval_ms
        self._every_ms = min(checkpoint_interval_ms or interval_ms, interval_ms)
        self._caller = Caller(
            namesystem.permissions.superuser, edits.NO_CLIENT_ID, edits.NO_CALL_ID, -1, ""
        )
        self._next_ms = self._after(namesystem.clock.wall_ms())

    def _after(self, wall_ms: int) -> int:
        """The next full interval."""
        return (wall_ms // self._every_ms + 1) * self._every_ms if self._every_ms else 0

    def is_due(self) -> bool:
        """True once for each interval, and not while nothing may be changed."""
        wall_ms = self._namesystem.clock.wall_ms()
        if not self._every_ms or wall_ms < self._next_ms or self._namesystem.safe_mode.on:
            return False
        self._next_ms = self._after(wall_ms)
        return True

    def round(self) -> Generator[str, None, None]:
        """All trashes, one at a step; each step says what went wrong, or nothing."""
        for trash in self._trashes():
            if self._namesystem.safe_mode.on:
                return
            try:
                self._empty(trash)
            except errors.HowdahError as error:
                yield f"the trash {trash} is left as it is: {error}"
            else:
                yield ""

    def _trashes(self) -> Iterator[str]:
        """Those in the homes of users, and of each encryption zone, out of which nothing moves."""
        for name in self._names_in(HOMES):
            yield paths.join([*paths.split(HOMES), name, TRASH_NAME])
        for zone in zones_after(self._namesystem):
            of_zone = paths.join([*paths.split(zone.directory.path), TRASH_NAME])
            for name in self._names_in(of_zone):
                yield f"{of_zone}/{name}"

    def _names_in(self, path: str) -> list[str]:
        directory = self._namesystem.namespace.find(path)
        return list(directory.sorted_names()) if isinstance(directory, Directory) else []

    def _empty(self, trash: str) -> None:
        directory = self._namesystem.namespace.find(trash)
        if not isinstance(directory, Directory):
            return
        now_ms = self._namesystem.clock.wall_ms()
        for name in list(directory.sorted_names()):
            made_s = checkpoint_time_s(name)
            if made_s is not None and made_s * 1000 < now_ms - self._interval_ms:
                self._tree.delete(self._caller, f"{trash}/{name}", recursive=True)
        if isinstance(directory.child(CURRENT_NAME), Directory):
            self._close(trash, directory, now_ms)

    def _close(self, trash: str, directory: Directory, now_ms: int) -> None:
        for attempt in range(MOST_CHECKPOINTS_A_SECOND):
            name = checkpoint_name(now_ms / 1000, attempt)
            if directory.child(name) is None:
                self._tree.rename2(
                    self._caller,
                    f"{trash}/{CURRENT_NAME}",
                    f"{trash}/{name}",
                    overwrite=False,
                    trash=False,
                )
                return
        raise errors.PathExists(f"no name is left for a checkpoint of {trash}/{CURRENT_NAME}")
