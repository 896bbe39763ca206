"""Putting a new directory in the place of an old one, with a way back.

1. The new files are made in `.howdah-compact.NAME~building`, beside the directory.
2. When they are complete it becomes `…~ready.ID`, with the inode id of the old directory.
3. The old directory goes to the trash, and the new one takes its name: two renames, each
   of them one edit. HDFS can't do both in one, for a rename replaces empty directories
   only. So that there is no such directory for as short a time as can be, the second rename
   does not wait for the answer to the first, which comes when the edit is on disk; while the
   old directory is there it is refused, and tried again.
4. Somebody may make the directory anew between the two, to write to it. Then it is moved to
   `…~came.ID`, the new directory takes its place as in 3, and what came is moved into it.

So a reader sees the old files or the new ones, or for a moment no directory. Names of
files are never used again (`howdah.spark.joining_lines`): who has listed the old
directory and opens a file later finds none, or the old one if it has a path handle, and
never another one of that name.

A run that was killed is put right by the next one (`recover`): what was being made
is dropped; what is complete takes its place if that is free, is dropped if the old directory
is there yet, and is left to its owner if there is another one by now.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.fs.trash import Trash
from howdah.spark.compaction_plan import (
    Leftover,
    State,
    building_name,
    came_name,
    parse_name,
    ready_name,
)
from howdah.spark.resembling import Resemblance

MOST_TRIES = 5


class ChangedMeanwhile(errors.HowdahError, RuntimeError):
    """Somebody wrote to the directory while it was compacted."""


class Undecided(errors.HowdahError, RuntimeError):
    """What a killed run had made, and a directory that was made since then, are for the
    same place."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A directory as it is: a digest of names, lengths and times of all in it, one of its
    files, and the newest times of them."""

    digest: bytes
    file: FileStatus | None
    modification_time_ms: int
    access_time_ms: int


def survey(fs: FileSystem, directory: str) -> Surveyed:
    """Look at a directory."""
    digest = hashlib.sha256()
    file: FileStatus | None = None
    modified = accessed = 0
    for status in fs.list_status_iter(directory):
        told = f"{status.name}\0{status.length}\0{status.modification_time_ms}\0{status.file_id}\n"
        digest.update(told.encode("utf-8", "surrogateescape"))
        if status.is_file:
            if file is None or file.name.startswith(("_", ".")):
                file = status
            modified = max(modified, status.modification_time_ms)
            accessed = max(accessed, status.access_time_ms)
    return Surveyed(digest.digest(), file, modified, accessed)


class Exchange:
    """The exchange of one directory."""

    def __init__(
        self, fs: FileSystem, directory: str, *, now: Callable[[], float] = time.time
    ) -> None:
        parent = paths.parent_of(directory)
        if parent is None:
            raise errors.IllegalArgument("the root can't be exchanged")
        self._fs = fs
        self._now = now
        self.directory = directory
        self.status: FileStatus = fs.get_file_status(directory)
        name, file_id = paths.name_of(directory), self.status.file_id
        self.building = paths.join(parent, building_name(name))
        self._ready = paths.join(parent, ready_name(name, file_id))
        self._came = paths.join(parent, came_name(name, file_id))
        self._before = survey(fs, directory)
        self._like = Resemblance(fs, self.status)

    def begin(self) -> None:
        """Make the directory for the new files."""
        self.drop()
        self._fs.mkdirs(self.building)
        self._like.prepare(self.building)

    def drop(self) -> None:
        """Forget the new files; but not those that wait for a place which is free by now,
        for then the old ones are in the trash, and the next run ends the exchange."""
        unwanted = [self.building]
        if self._is_in_place():
            unwanted.append(self._ready)
        for path in unwanted:
            try:
                self._fs.delete(path, recursive=True)
            except errors.PathNotFound:
                continue

    def _is_in_place(self) -> bool:
        try:
            return self._fs.get_file_status(self.directory).file_id == self.status.file_id
        except errors.PathNotFound:
            return False

    def finish(self) -> str:
        """Exchange; where the old directory is now.

        Raises `ChangedMeanwhile` with nothing changed.
        """
        fs = self._fs
        before = self._before
        self._like.give(
            self.building, before.file, before.modification_time_ms, before.access_time_ms
        )
        trash = Trash(fs, now=self._now)
        fs.rename(self.building, self._ready)
        for _ in range(MOST_TRIES):
            kept_at = trash.make_place(self.directory)
            if kept_at is None:
                self.drop()
                raise errors.IllegalArgument(f"{self.directory} is in the trash")
            if survey(fs, self.directory).digest != before.digest:
                self.drop()
                raise ChangedMeanwhile(f"{self.directory} was written to while it was compacted")
            try:
                swap(fs, self.directory, kept_at, self._ready, self._came)
            except errors.PathExists:
                continue  # another one took the place in the trash
            except errors.PathNotFound as error:
                # Deleted by somebody, who won't want what was made of it.
                self._fs.delete(self._ready, recursive=True)
                raise ChangedMeanwhile(
                    f"{self.directory} was deleted while it was compacted"
                ) from error
            if survey(fs, kept_at).digest != before.digest:
                # Somebody wrote to it in the last moment: have it back.
                swap(fs, self.directory, self._ready, kept_at, self._came)
                self.drop()
                raise ChangedMeanwhile(f"{self.directory} was written to while it was compacted")
            return kept_at
        raise errors.PathExists(f"places for {self.directory} in the trash are taken all the time")


def swap(fs: FileSystem, directory: str, away: str, ready: str, came: str) -> None:
    """Move a directory away and `ready` in its place. What somebody puts there between the
    two goes by way of `came` into the new directory.

    Raises, with nothing changed, `PathExists` where `away` is taken, and `PathNotFound`
    where there is no such directory.
    """
    for _ in range(MOST_TRIES):
        with ThreadPoolExecutor(1, thread_name_prefix="exchange") as pool:
            leaving = pool.submit(fs.rename, directory, away)
            is_placed = _take_place(fs, ready, directory, leaving)
        if is_placed:
            if away == came:
                _move_in(fs, came, directory)
            return
        if away == came:
            # Somebody came again, and what had come before is out of the way.
            _move_in(fs, came, ready)
        away = came
    raise errors.PathExists(
        f"{directory} is made anew all the time; its files are in {ready} and {away}"
    )


def _take_place(fs: FileSystem, ready: str, directory: str, leaving: Future[None]) -> bool:
    """Give the name to the new directory as soon as the old one has left; false if it is
    taken once more by then."""
    while True:
        has_left = leaving.done()
        try:
            fs.rename(ready, directory)
        except errors.PathExists:
            if has_left:
                leaving.result()
                return False
            continue
        except BaseException:
            # What was wrong with the first rename says more.
            leaving.result()
            raise
        break
    try:
        leaving.result()
    except errors.PathNotFound:
        fs.rename(directory, ready)
        raise
    except errors.Unreachable:
        # The place was free, so the first rename did happen: its answer was lost.
        return True
    return True


def _move_in(fs: FileSystem, source: str, target: str) -> None:
    for status in fs.list_status(source):
        fs.rename(status.path, paths.join(target, status.name))
    fs.delete(source)


def recover(fs: FileSystem, leftover: str) -> str | None:
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
    try:
        there: int | None = fs.get_file_status(directory).file_id
    except errors.PathNotFound:
        there = None
    if found.state is State.READY:
        return _recover_ready(fs, leftover, directory, found, there)
    if there is None:
        fs.rename(leftover, directory)
    else:
        _move_in(fs, leftover, directory)
    return directory


def _recover_ready(
    fs: FileSystem, leftover: str, directory: str, found: Leftover, there: int | None
) -> str | None:
    if there is None:
        fs.rename(leftover, directory)
        return directory
    if there == found.file_id:
        fs.delete(leftover, recursive=True)
        return None
    raise Undecided(
        f"a run that was killed left {leftover}, which has the rows that {directory} had, and "
        f"{directory} was made anew since then; delete the former, or move its files"
    )
