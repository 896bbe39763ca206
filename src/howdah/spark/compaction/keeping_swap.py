"""Replacing a directory by a new one, into which some of its files are moved.

1. The old directory is renamed to `.howdah-compact.NAME~away.ID.RUN`, beside its place. It is not
   put to the trash, which is emptied: it has files that stay.
2. The files that stay are moved into the new directory, one by one.
3. The new directory gets the name.

All these renames are one call (`HdfsFileSystem.rename_in_turn`), and our namenode makes them in
one turn: no reader finds a time without the directory, or without a file. Hadoop's namenodes and
routers do the first of them only; the others follow one by one, and while they do there is no
directory.

If a step fails, those before it are undone. A run that is killed leaves the old directory and the
new one, and no file in both; the next run undoes what was done (`compaction.exchange_recovery`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from howdah import errors
from howdah.copy.common.filesystems import for_each
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem

Replace = Callable[[], None]
Step = tuple[str, str]


def can_keep_files(fs: FileSystem) -> bool:
    """Whether files can be moved from an old directory to a new one: it takes renames that are no
    copies, and ids of inodes by which the next run tells old files from new ones."""
    return isinstance(fs, HdfsFileSystem) or fs.scheme == "mem"


def swap_keeping(
    fs: FileSystem,
    directory: str,
    away: str,
    ready: str,
    kept: Sequence[str],
    replace: Replace,
    *,
    as_deleted: bool = False,
) -> None:
    """Rename `directory` to `away`, the files `kept` from there into `ready`, and that to
    `directory`. `as_deleted`: only somebody who may delete the directory may do this. `replace` is
    called if another program has created the directory meanwhile, and puts `ready` in its place.

    Raises, with nothing changed, `PathNotFound` if the directory does not exist.
    """
    moves = [(paths.join(away, name), paths.join(ready, name)) for name in kept]
    steps = [(directory, away), *moves, (ready, directory)]
    done = _in_one_turn(fs, steps, as_deleted)
    if done == len(steps):
        return
    if not done:
        (fs.rename_to_trash if as_deleted else fs.rename)(directory, away)
        done = 1
    try:
        for_each(lambda move: _move(fs, move), steps[done:-1])
        _take_place(fs, ready, directory, replace)
    except BaseException as error:
        try:
            for_each(lambda move: _move(fs, (move[1], move[0])), moves)
            fs.rename(away, directory)
        except (errors.HowdahError, OSError) as failure:
            error.add_note(
                f"{directory} could not be renamed back either, and is in {away} ({failure}): the "
                "next run recovers it"
            )
        raise


def _in_one_turn(fs: FileSystem, steps: Sequence[Step], as_deleted: bool) -> int:
    """Do as many steps as the namenode does in one turn; how many."""
    if not isinstance(fs, HdfsFileSystem):
        return 0
    try:
        return fs.rename_in_turn(steps, to_trash=as_deleted)
    except errors.UnresolvedPath:
        return 0  # a link above the directory: to be followed step by step


def _move(fs: FileSystem, move: Step) -> None:
    """Move a file; not one that is there already, or that somebody has deleted."""
    source, target = move
    try:
        fs.rename(source, target)
    except errors.PathNotFound:
        if fs.exists(target):
            return
        if fs.exists(source) or not fs.exists(paths.parent_of(source) or paths.SEPARATOR):
            raise


def _take_place(fs: FileSystem, ready: str, directory: str, replace: Replace) -> None:
    try:
        fs.rename(ready, directory)
    except errors.PathExists:
        replace()
    except (errors.PathNotFound, errors.Unreachable):
        # It may be the answer that was lost.
        if fs.exists(ready) or not fs.exists(directory):
            raise
