"""Recovery of an exchange that a killed run left half done; the next run does it.

By the name of the leftover (`compaction.exchange`):

- building: nothing was exchanged. It is deleted.
- ready, and the old directory has its name: the leftover is deleted; or moved to the trash, if
  the old directory has changed since, as then the leftover may have had the name for a while.
- ready, and the old directory is in the trash under the name that the run gave it: the leftover
  gets the name; or, if the old directory was written to meanwhile, that gets its name back.
- ready, and neither: the old directory was deleted, so its rows are not to come back, or it was
  removed from the trash since. Its owner has to decide. The same if another directory has the
  name by now.
- part: as ready, but files of the old directory are moved into it while that is away, beside its
  place (`compaction.keeping_swap`). Then they are moved back, and the old directory gets its name
  back. If another directory has the name by now, its owner has to decide.
- away, without a part: the exchange was complete, and the old directory is moved to the trash.
- came: the files that another program wrote while the name was free are moved to where they
  belong.

Only the holder of the tree's lock may do this: leftovers of a running job look the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from howdah import errors
from howdah.copy.locks.files import TreeLocked
from howdah.copy.locks.tree_lock import places_of, refuse_if_held
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.trash import Trash
from howdah.spark.compaction.directory_state import state_of
from howdah.spark.compaction.directory_swap import move_in, remove
from howdah.spark.compaction.plan import Leftover, State, away_name, kept_name, parse_name

_NOT_THERE: Final = (errors.PathNotFound, errors.ParentNotDirectory, errors.AccessDenied)


class Undecided(errors.HowdahError, RuntimeError):
    """A leftover and the present directory contradict each other; the user has to decide."""


def recover(fs: FileSystem, leftover: str, *, now: Callable[[], float] = time.time) -> str | None:
    """Recover a leftover. Return the directory that got new files, if one did. Recover several
    leftovers in the order of their states.

    Raises `Undecided`.
    """
    parsed = parse_name(paths.name_of(leftover))
    parent = paths.parent_of(leftover)
    assert parsed is not None, f"{leftover} is no leftover"
    assert parent is not None, "the root is no leftover"
    directory = paths.join(parent, parsed.name)
    if parsed.state is State.BUILDING:
        remove(fs, leftover)
        return None
    there = _file_id(fs, directory)
    if parsed.state is State.READY:
        return _Ready(fs, Trash(fs, now=now), leftover, directory, parsed).recover(there)
    if parsed.state is State.PART:
        return _Part(fs, Trash(fs, now=now), leftover, directory, parsed).recover(there)
    if parsed.state is State.AWAY:
        return _end_away(fs, Trash(fs, now=now), leftover, directory, parsed)
    if there is None:
        fs.rename(leftover, directory)
    else:
        move_in(fs, leftover, directory)
    return directory


def _file_id(fs: FileSystem, path: str) -> int | None:
    """The inode id of a path; None if it does not exist or may not be seen."""
    try:
        return fs.get_file_status(path).file_id
    except _NOT_THERE:
        return None


class _Ready:
    """Recovers a leftover in the state ready."""

    def __init__(
        self, fs: FileSystem, trash: Trash, leftover: str, directory: str, parsed: Leftover
    ) -> None:
        self._fs = fs
        self._trash = trash
        self._leftover = leftover
        self._directory = directory
        self._parsed = parsed

    def recover(self, there: int | None) -> str | None:
        parsed = self._parsed
        if there is None:
            return self._end_or_undo()
        if there != parsed.file_id:
            raise Undecided(
                f"a run that was killed left {self._leftover}, which has the rows that "
                f"{self._directory} had, and {self._directory} was made anew since then; delete "
                "the former, or move its files"
            )
        self._discard()
        return None

    def _discard(self) -> None:
        """Get rid of the new files, which others may have written to if the directory changed."""
        fs = self._fs
        if state_of(fs, self._directory).digest == self._parsed.digest:
            remove(fs, self._leftover)
        else:
            self._trash.move(self._leftover)

    def _end_or_undo(self) -> str:
        fs, parsed = self._fs, self._parsed
        kept_at = next(
            (at for at in self._candidate_paths() if _file_id(fs, at) == parsed.file_id), None
        )
        if kept_at is None:
            raise Undecided(
                f"a run that was killed left {self._leftover}, which has the rows that "
                f"{self._directory} had, and {self._directory} was removed since then; delete "
                f"the former, or rename it to {self._directory}"
            )
        if state_of(fs, kept_at).digest == parsed.digest:
            fs.rename(self._leftover, self._directory)
            return self._directory
        fs.rename(kept_at, self._directory)
        moved = self._trash.move(self._leftover)
        raise Undecided(
            f"{self._directory} was written to when a run was killed, and is as it was; the new "
            f"files, and what others may have put to them, are in {moved and moved.target}"
        )

    def _candidate_paths(self) -> Iterator[str]:
        """Yield the possible paths of the old directory: in the current trash, or in a checkpoint
        of it."""
        below = kept_name(self._directory, self._parsed.run).lstrip(paths.SEPARATOR)
        try:
            statuses = self._fs.list_status(self._trash.root)
        except _NOT_THERE:
            return
        for status in statuses:
            if status.is_directory:
                yield paths.join(status.path, below)


class _Part(_Ready):
    """Recovers a leftover in the state part."""

    def recover(self, there: int | None) -> str | None:
        fs, parsed = self._fs, self._parsed
        away = paths.join(
            paths.parent_of(self._leftover) or paths.SEPARATOR,
            away_name(parsed.name, parsed.file_id, parsed.run),
        )
        is_away = _file_id(fs, away) == parsed.file_id
        if there == parsed.file_id:
            self._discard()
            return None
        if not is_away:
            what = "removed" if there is None else "made anew"
            raise Undecided(
                f"a run that was killed left {self._leftover}, which has rows of small files that "
                f"{self._directory} had, and that was {what} since then; delete the former, or "
                "move its files"
            )
        if there is not None:
            raise Undecided(
                f"a run that was killed left {away} and {self._leftover}, which have the files of "
                f"{self._directory}, and that was made anew since then; delete both, or move their "
                "files: the former has the old ones, the latter those that stay, and new ones"
            )
        own_id = fs.get_file_status(self._leftover).file_id or 0
        for status in fs.list_status(self._leftover):
            # Inodes have ascending ids: the new files were created in the new directory.
            if (status.file_id or 0) < own_id:
                fs.rename(status.path, paths.join(away, status.name))
        fs.rename(away, self._directory)
        if state_of(fs, self._directory).digest == parsed.digest:
            remove(fs, self._leftover)
            return None
        moved = self._trash.move(self._leftover)
        raise Undecided(
            f"{self._directory} was written to when a run was killed, and is as it was; the new "
            f"files, and what others may have put to them, are in {moved and moved.target}"
        )


def _end_away(
    fs: FileSystem, trash: Trash, leftover: str, directory: str, parsed: Leftover
) -> str | None:
    """Move an old directory to the trash that has a new one."""
    parent = paths.parent_of(leftover) or paths.SEPARATOR
    if _file_id(fs, leftover) is None:
        return None  # it was renamed back
    if _file_id(fs, leftover) != parsed.file_id:
        # Two runs at once: it is what the other one has made of the old directory.
        if _file_id(fs, directory) is not None:
            raise Undecided(
                f"two runs at once left {leftover} beside {directory}; delete it, or move its files"
            )
        fs.rename(leftover, directory)
        return None
    for status in fs.list_status(parent):
        other = parse_name(status.name)
        if other is not None and (other.state, other.run) == (State.PART, parsed.run):
            return None  # somebody has to decide
    place = trash.make_place(kept_name(directory, parsed.run))
    if place is None:
        raise Undecided(f"{leftover} was left by a run that was killed, and is in the trash")
    fs.rename_to_trash(leftover, place)
    return directory


def recover_all(
    fs: FileSystem, leftovers: Iterable[str], refuse: Callable[[str], None]
) -> tuple[list[str], list[str]]:
    """Recover all leftovers. Return the directories that got new files, and the reasons why others
    did not. `refuse` raises `TreeLocked` if another job works on a directory."""
    recovered, undecided = [], []
    for leftover in sorted(filter(_parse_leftover, leftovers), key=_order):
        parsed = _parse_leftover(leftover)
        assert parsed is not None, "only leftovers come here"
        directory = paths.join(paths.parent_of(leftover) or paths.SEPARATOR, parsed.name)
        try:
            refuse(directory)
            done = recover(fs, leftover)
        except (Undecided, TreeLocked) as error:
            undecided.append(error.message)
        else:
            if done:
                recovered.append(done)
    return recovered, undecided


def _parse_leftover(leftover: str) -> Leftover | None:
    return parse_name(paths.name_of(leftover))


def _order(leftover: str) -> int:
    parsed = _parse_leftover(leftover)
    assert parsed is not None, "only leftovers come here"
    return list(State).index(parsed.state)


class OtherJobs:
    """Other jobs that hold the lock of a part of this job's tree.

    A job that took a lock below before this one still has it; a job that comes later finds
    this job's lock. So each directory needs to be checked only once.
    """

    def __init__(self, fs: FileSystem, tree: str) -> None:
        self._fs = fs
        self._tree = tree
        self._seen: set[str] = {tree}
        self._lock = threading.Lock()

    def refuse(self, directory: str) -> None:
        """Raises `TreeLocked` if another job works on the directory."""
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
