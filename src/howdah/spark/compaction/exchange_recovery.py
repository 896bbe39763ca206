"""What a run that was killed in the middle of an exchange has left, put right by the next.

By the name that the new directory has by then (`howdah.spark.compaction.exchange`):

- building: nothing has happened. It is dropped.
- ready, and the old directory is in its place: it is dropped; to the trash, if the old one
  has changed since, for then it may have been in the place already and came back.
- ready, and the old directory is in the trash under the name that the run gave it: the new
  one takes the place; or the old one comes back, if it was written to meanwhile.
- ready, and neither: somebody has removed the directory, so its rows are not to come back,
  or it has been removed from the trash since; that is for its owner to say. So it is if
  there is another directory by now.
- came: what somebody put in the place when it was free is moved to where it belongs.

Only who has the lock of the tree may do this: a run that is alive looks the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.trash import Trash
from howdah.spark.compaction.directory_state import state_of
from howdah.spark.compaction.exchange import move_in
from howdah.spark.compaction.plan import Leftover, State, kept_name, parse_name
from howdah.spark.locks.files import TreeLocked
from howdah.spark.locks.tree_lock import places_of, refuse_if_held

_NOT_THERE: Final = (errors.PathNotFound, errors.ParentNotDirectory, errors.AccessDenied)


class Undecided(errors.HowdahError, RuntimeError):
    """What a killed run had made, and what has become of the directory since then, leave it
    to somebody to say which is to be."""


def recover(fs: FileSystem, leftover: str, *, now: Callable[[], float] = time.time) -> str | None:
    """Put right what a killed run left at this path; the directory that got its new
    files, if one did. Of several leftovers those that are ready come first.

    Raises `Undecided`.
    """
    found = parse_name(paths.name_of(leftover))
    parent = paths.parent_of(leftover)
    assert found is not None, f"{leftover} is no leftover"
    assert parent is not None, "the root is no leftover"
    directory = paths.join(parent, found.name)
    if found.state is State.BUILDING:
        fs.delete(leftover, recursive=True)
        return None
    there = _file_id(fs, directory)
    if found.state is State.READY:
        return _Ready(fs, Trash(fs, now=now), leftover, directory, found).recover(there)
    if there is None:
        fs.rename(leftover, directory)
    else:
        move_in(fs, leftover, directory)
    return directory


def _file_id(fs: FileSystem, path: str) -> int | None:
    """None if it is not there, or not for us to see."""
    try:
        return fs.get_file_status(path).file_id
    except _NOT_THERE:
        return None


class _Ready:
    """New files that are complete."""

    def __init__(
        self, fs: FileSystem, trash: Trash, leftover: str, directory: str, found: Leftover
    ) -> None:
        self._fs = fs
        self._trash = trash
        self._leftover = leftover
        self._directory = directory
        self._found = found

    def recover(self, there: int | None) -> str | None:
        fs, found = self._fs, self._found
        if there is None:
            return self._end_or_undo()
        if there != found.file_id:
            raise Undecided(
                f"a run that was killed left {self._leftover}, which has the rows that "
                f"{self._directory} had, and {self._directory} was made anew since then; delete "
                "the former, or move its files"
            )
        if state_of(fs, self._directory).digest == found.digest:
            fs.delete(self._leftover, recursive=True)
        else:
            self._trash.move(self._leftover)
        return None

    def _end_or_undo(self) -> str:
        fs, found = self._fs, self._found
        kept_at = next((at for at in self._places() if _file_id(fs, at) == found.file_id), None)
        if kept_at is None:
            raise Undecided(
                f"a run that was killed left {self._leftover}, which has the rows that "
                f"{self._directory} had, and {self._directory} was removed since then; delete "
                f"the former, or rename it to {self._directory}"
            )
        if state_of(fs, kept_at).digest == found.digest:
            fs.rename(self._leftover, self._directory)
            return self._directory
        fs.rename(kept_at, self._directory)
        moved = self._trash.move(self._leftover)
        raise Undecided(
            f"{self._directory} was written to when a run was killed, and is as it was; the new "
            f"files, and what others may have put to them, are in {moved and moved.target}"
        )

    def _places(self) -> Iterator[str]:
        """Where the run has put the old directory: in the trash of today, or in one that was
        closed since."""
        below = kept_name(self._directory, self._found.run).lstrip(paths.SEPARATOR)
        try:
            found = self._fs.list_status(self._trash.root)
        except _NOT_THERE:
            return
        for status in found:
            if status.is_directory:
                yield paths.join(status.path, below)


def recover_all(
    fs: FileSystem, leftovers: Iterable[str], refuse: Callable[[str], None]
) -> tuple[list[str], list[str]]:
    """The directories that got their new files, and why others did not. `refuse` raises
    `TreeLocked` where another job is at work on a directory."""
    recovered, undecided = [], []
    for leftover in sorted(filter(_found, leftovers), key=_order):
        found = _found(leftover)
        assert found is not None, "only leftovers come here"
        directory = paths.join(paths.parent_of(leftover) or paths.SEPARATOR, found.name)
        try:
            refuse(directory)
            done = recover(fs, leftover)
        except (Undecided, TreeLocked) as error:
            undecided.append(error.message)
        else:
            if done:
                recovered.append(done)
    return recovered, undecided


def _found(leftover: str) -> Leftover | None:
    return parse_name(paths.name_of(leftover))


def _order(leftover: str) -> int:
    found = _found(leftover)
    assert found is not None, "only leftovers come here"
    return list(State).index(found.state)


class OtherJobs:
    """Those at work on a part of the tree that this job has the lock of.

    Who took a lock below before that still has it; who comes now finds this one. So each
    directory has to be looked at once.
    """

    def __init__(self, fs: FileSystem, tree: str) -> None:
        self._fs = fs
        self._tree = tree
        self._seen: set[str] = {tree}
        self._lock = threading.Lock()

    def refuse(self, directory: str) -> None:
        """Raises `TreeLocked` for one that somebody else is at work on."""
        current: str | None = directory
        while current is not None and current != self._tree:
            with self._lock:
                is_known = current in self._seen
            if not is_known:
                for place in places_of(current):
                    refuse_if_held(self._fs, place)
                with self._lock:
                    self._seen.add(current)
            current = paths.parent_of(current)
