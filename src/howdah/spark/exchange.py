"""Putting a new directory in the place of an old one, with a way back.

1. The new files are made in `.howdah-compact.NAME~building`, beside the directory.
2. When they are complete it becomes `…~ready`.
3. The old directory goes to the trash, and the new one takes its name: two renames, each
   of them one edit. A reader sees the old files or the new ones and never both; between
   the two, for as long as a call takes, there is no such directory.

A run that was killed is put right by the next one (`recover`): what was being made
is dropped; what is complete takes its place if the old directory has gone already, and is
dropped otherwise.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.fs.trash import Trash
from howdah.spark.compaction_plan import building_name, parse_name, ready_name


class ChangedMeanwhile(errors.HowdahError, RuntimeError):
    """Somebody wrote to the directory while it was compacted."""


def fingerprint(fs: FileSystem, directory: str) -> bytes:
    """What stands for the content of a directory: names, lengths and times of all in it."""
    digest = hashlib.sha256()
    for status in fs.list_status_iter(directory):
        told = f"{status.name}\0{status.length}\0{status.modification_time_ms}\0{status.file_id}\n"
        digest.update(told.encode("utf-8", "surrogateescape"))
    return digest.digest()


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
        name = paths.name_of(directory)
        self.building = paths.join(parent, building_name(name))
        self._ready = paths.join(parent, ready_name(name))
        self._before = fingerprint(fs, directory)

    def begin(self) -> None:
        """Make the directory for the new files."""
        self.drop()
        self._fs.mkdirs(self.building)

    def drop(self) -> None:
        """Forget the new files; but not those that wait for a place which is free by now,
        for then the old ones are in the trash, and the next run ends the exchange."""
        unwanted = [self.building]
        if self._fs.exists(self.directory):
            unwanted.append(self._ready)
        for path in unwanted:
            try:
                self._fs.delete(path, recursive=True)
            except errors.PathNotFound:
                continue

    def finish(self) -> str:
        """Exchange; where the old directory is now.

        Raises `ChangedMeanwhile` with nothing changed.
        """
        fs = self._fs
        self._give_attributes()
        if fingerprint(fs, self.directory) != self._before:
            self.drop()
            raise ChangedMeanwhile(f"{self.directory} was written to while it was compacted")
        fs.rename(self.building, self._ready)
        moved = Trash(fs, now=self._now).move(self.directory)
        if moved is None:
            self.drop()
            raise errors.IllegalArgument(f"{self.directory} is in the trash")
        fs.rename(self._ready, self.directory)
        return moved.target

    def _give_attributes(self) -> None:
        """The new directory and its files are like the old ones: owner, group, mode,
        replication. What is the same already is left alone."""
        fs = self._fs
        first = next(
            (each for each in fs.list_status_iter(self.directory) if each.is_file), self.status
        )
        for status in fs.list_status(self.building):
            self._alike(status, first)
            if status.replication != first.replication:
                fs.set_replication(status.path, first.replication)
        self._alike(fs.get_file_status(self.building), self.status)

    def _alike(self, status: FileStatus, like: FileStatus) -> None:
        if status.permission != like.permission:
            self._fs.set_permission(status.path, like.permission)
        if (status.owner, status.group) != (like.owner, like.group):
            self._fs.set_owner(status.path, like.owner, like.group)


def recover(fs: FileSystem, leftover: str) -> str | None:
    """Put right what a killed run left at this path; the directory that got its new
    files, if one did."""
    found = parse_name(paths.name_of(leftover))
    parent = paths.parent_of(leftover)
    assert found is not None, f"{leftover} is no leftover"
    assert parent is not None, "the root is no leftover"
    name, is_ready = found
    directory = paths.join(parent, name)
    if is_ready and not fs.exists(directory):
        fs.rename(leftover, directory)
        return directory
    fs.delete(leftover, recursive=True)
    return None
