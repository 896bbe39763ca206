"""The trash: what `rm` deletes can be had back for a while.

Mirrors Hadoop's default trash policy, so both see each other's deleted files:

1. Each user's trash is `.Trash` in the home directory, mode 0700.
2. `/a/b` goes to `.Trash/Current/a/b`. Where that is taken, the time in
   milliseconds is added to the name; where a directory on the way is a file in
   the trash already, to the name of that directory.
3. A checkpoint renames `Current` to the local time, `yyMMddHHmmss`, with `-1`,
   `-2` … added when there are several in a second.
4. A checkpoint is deleted when it is older than `fs.trash.interval`.
5. What is in the trash is not moved to the trash; what contains it can't be.

The paths are pure functions; `Trash` moves things over any `FileSystem`, with
the time given by the caller.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from howdah import errors
from howdah.fs import paths
from howdah.protocol.trash_names import (
    CURRENT_NAME,
    MOST_CHECKPOINTS_A_SECOND,
    TRASH_NAME,
    checkpoint_name,
    checkpoint_time_s,
)

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem

DIRECTORY_MODE = 0o700
MOST_TRIES = 3


def root_of(home: str) -> str:
    """The trash of the user with this home directory."""
    return paths.join(home, TRASH_NAME)


def place_of(root: str, path: str) -> str:
    """Where a path goes in a trash."""
    return paths.join(root, CURRENT_NAME, path.lstrip(paths.SEPARATOR))


@dataclass(frozen=True, slots=True)
class Moved:
    """Something went to the trash."""

    source: str
    target: str


class Trash:
    """Moves paths to the trash of the filesystem's user."""

    def __init__(
        self, fs: FileSystem, *, now: Callable[[], float], root: str | None = None
    ) -> None:
        """Without a `root`, things go to the trash that is theirs (`FileSystem.trash_root`), and
        what is closed and emptied is the one in the user's home."""
        self._fs = fs
        self._now = now
        self._is_of_path = root is None
        self.root = root_of(fs.home_directory()) if root is None else root

    def move(self, path: str) -> Moved | None:
        """Move a path to the trash. Return None if it is already in the trash and should be
        deleted.

        Raises `IllegalArgument` for a path that contains the trash.
        """
        target = ""
        for _ in range(MOST_TRIES):
            try:
                place = self.make_place(path)
                if place is None:
                    return None
                target = place
                self._fs.rename_to_trash(path, target)
            except (errors.PathExists, errors.ParentNotDirectory, errors.PathIsNotDirectory):
                continue  # someone else put something there meanwhile
            return Moved(path, target)
        raise errors.PathExists(
            f"{target} was taken again and again while moving {path} to it"
        ).about(path, target)

    def make_place(self, path: str) -> str | None:
        """A place in the trash that is free now, its directory made; None for what is in
        the trash already.

        Raises `IllegalArgument` for what contains the trash.
        """
        root = self._fs.trash_root(path) if self._is_of_path else self.root
        if paths.is_under(path, root):
            return None
        if paths.is_under(root, path):
            raise errors.IllegalArgument(
                f'Cannot move "{self._fs.uri}{path}" to the trash, as it contains the trash'
            )
        target = place_of(root, path)
        directory = self._free_directory(root, paths.parent_of(target) or root)
        target = paths.join(directory, paths.name_of(target))
        target = self._free(target, self._fs.exists)
        self._fs.mkdirs(directory, DIRECTORY_MODE)
        return target

    def _free_directory(self, root: str, directory: str) -> str:
        """The directory, its first component that is a file renamed by the time."""
        below = directory.removeprefix(root).strip(paths.SEPARATOR)
        current = root
        for name in below.split(paths.SEPARATOR):
            current = self._free(paths.join(current, name), self._fs.is_file)
        return current

    def _free(self, name: str, is_taken: Callable[[str], bool]) -> str:
        """The name, or the name and the time: the next millisecond that is free."""
        if not is_taken(name):
            return name
        names = (f"{name}{time_ms}" for time_ms in itertools.count(int(self._now() * 1000)))
        return next(name for name in names if not is_taken(name))

    def checkpoint(self) -> str | None:
        """Close `Current`; the path of the checkpoint, None if there was nothing to close."""
        current = paths.join(self.root, CURRENT_NAME)
        if not self._fs.exists(current):
            return None
        now_s = self._now()
        for attempt in range(MOST_CHECKPOINTS_A_SECOND):
            target = paths.join(self.root, checkpoint_name(now_s, attempt))
            try:
                self._fs.rename(current, target)
            except errors.PathExists:
                continue
            return target
        raise errors.PathExists(f"No name left for a checkpoint of {current}").about(current)

    def expunge(self, older_than_s: float) -> list[str]:
        """Delete the checkpoints that are older; their paths."""
        if not self._fs.exists(self.root):
            return []
        limit_s = self._now() - older_than_s
        deleted = []
        for status in self._fs.list_status(self.root):
            made_s = checkpoint_time_s(status.name)
            if made_s is not None and made_s <= limit_s and self._fs.delete(status.path, True):
                deleted.append(status.path)
        return deleted
