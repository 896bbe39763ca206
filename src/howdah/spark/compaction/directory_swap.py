"""Replacing a directory by a new one, with a way back.

1. The new files are written in `.howdah-compact.NAME~building.RUN`, beside the directory.
2. When they are complete, that directory is renamed to `…~ready.ID.RUN.DIGEST`: the inode id of
   the old directory, and a digest of its contents (`compaction.directory_state`).
3. The old directory is renamed into the trash, as `NAME~RUN`, and the new one to NAME: two
   renames, each of them one edit. The namenode refuses the first to those who may not delete the
   old directory. HDFS cannot do both in one, since a rename replaces only empty
   directories. So both are sent in one piece (`rpc.together`): our namenode serves them in one
   turn, and no reader finds a time without the directory. Hadoop's serves them at the same time
   as other calls; while the old directory is there, it refuses the second rename, which is then
   sent again at growing intervals. If it fails otherwise, the old directory is renamed back.
4. Another program may create the directory between the two renames, to write to it. Then that
   directory is renamed to `…~came.ID.RUN`, the new directory takes its place as in 3, and its
   files are moved into the new directory.
5. A writer that had a file open in the old directory goes on writing it in the trash. So the old
   directory is looked at again there: if it has changed, or has an open file, it is renamed back.

If files of the old directory stay, its new one is called `…~part.ID.RUN.DIGEST` instead, and
`compaction.keeping_swap` does what 3 says.

So a reader sees the old files or the new ones, or, of Hadoop's namenodes, routers and observers,
for a moment no directory. File names are never
used twice (`compaction.joining`): a reader that listed the old directory and opens a file later
finds none, or the old one if it has a path handle, but never another file of that name.

Two runs on the same directory use different names, and the later one finds files that it has not
read. The next run recovers what a killed run left (`compaction.exchange_recovery`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.renames import CallPair, together
from howdah.fs.status import FileStatus
from howdah.fs.trash import Trash
from howdah.spark.compaction.attributes import DirectoryAttributes
from howdah.spark.compaction.directory_state import DirectoryState, state_of
from howdah.spark.compaction.keeping_swap import swap_keeping
from howdah.spark.compaction.plan import (
    away_name,
    building_name,
    came_name,
    is_hidden,
    kept_name,
    part_name,
    ready_name,
)

MOST_TRIES: Final = 5
RUN_CHARS: Final = 12
FIRST_PAUSE_S: Final = 0.001
LONGEST_PAUSE_S: Final = 0.1
_OWN_MODE: Final = 0o700


class ChangedMeanwhile(errors.HowdahError, RuntimeError):
    """The directory was written to while it was compacted."""


def new_run() -> str:
    """An id for a run, which is in the names that it gives."""
    return uuid.uuid4().hex[:RUN_CHARS]


class Exchange:
    """Exchanges one directory. `confirm` is called before the old one is touched."""

    def __init__(
        self,
        fs: FileSystem,
        directory: str,
        *,
        run: str | None = None,
        confirm: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.time,
        most_bytes: int | None = None,
    ) -> None:
        """`most_bytes`: data files that are longer stay as they are (`kept`)."""
        parent = paths.parent_of(directory)
        if parent is None:
            raise errors.IllegalArgument("the root can't be exchanged")
        self._fs = fs
        self._trash = Trash(fs, now=now)
        self._confirm = confirm
        self._run = run or new_run()
        self.directory = directory
        self.status: FileStatus = fs.get_file_status(directory)
        self.before: DirectoryState = state_of(fs, directory)
        name, file_id = paths.name_of(directory), self.status.file_id
        self.building = paths.join(parent, building_name(name, self._run))
        self.kept = tuple(
            status.name
            for status in self.before.statuses
            if most_bytes is not None and status.length > most_bytes and _is_data(status)
        )
        self.like: DirectoryState = self.before.without(self.kept) if self.kept else self.before
        """The state of the files that are replaced."""
        name_when_ready = part_name if self.kept else ready_name
        self._ready = paths.join(
            parent, name_when_ready(name, file_id, self._run, self.before.digest)
        )
        self._away = paths.join(parent, away_name(name, file_id, self._run))
        self._came = paths.join(parent, came_name(name, file_id, self._run))
        self._like = DirectoryAttributes(fs, self.status)
        self._built: DirectoryState | None = None
        self._has_begun = False

    def begin(self) -> None:
        """Create the directory for the new files."""
        self._fs.mkdirs(self.building)
        self._like.prepare(self.building, self.like.file)

    def drop(self) -> None:
        """Delete the new files; but not if the directory's name is free by now, as then the old
        files are in the trash, and the next run ends the exchange; nor if another program has
        written to the new files."""
        self._delete(self.building)
        if not self._has_begun or self._is_in_place():
            self._drop_ready()

    def _delete(self, path: str) -> None:
        try:
            remove(self._fs, path)
        except errors.PathNotFound:
            return

    def _is_in_place(self) -> bool:
        try:
            return self._fs.get_file_status(self.directory).file_id == self.status.file_id
        except errors.PathNotFound:
            return False

    def finish(self, order: str = "") -> str:
        """Exchange the directories; return where the old one is now. `order`: that of the rows in
        the new files.

        Raises `ChangedMeanwhile` with nothing changed.
        """
        fs, before = self._fs, self.before
        self._like.give(
            self.building,
            self.like.file,
            self.like.modification_time_ms,
            self.like.access_time_ms,
            order,
        )
        self._built = state_of(fs, self.building)
        self._confirm()
        fs.rename(self.building, self._ready)
        if self.kept:
            return self._finish_keeping()
        for _ in range(MOST_TRIES):
            kept_at = self._place_in_trash()
            self._refuse_if_changed(self.directory)
            self._confirm()
            self._has_begun = True
            try:
                swap(fs, self.directory, kept_at, self._ready, self._came, to_trash=True)
            except errors.PathNotFound as error:
                self._has_begun = False
                if self._is_in_place():
                    continue  # the trash was emptied, and a new one begun
                # Somebody deleted the directory: the new files are not wanted.
                self._drop_ready()
                raise ChangedMeanwhile(
                    f"{self.directory} was deleted while it was compacted"
                ) from error
            if state_of(fs, kept_at).digest != before.digest:
                # Somebody has just written to it, or has a file open: rename it back.
                swap(fs, self.directory, self._ready, kept_at, self._came)
                raise ChangedMeanwhile(self._changed() + self._give_back())
            return kept_at
        raise errors.PathNotFound(f"places for {self.directory} in the trash go all the time")

    def _finish_keeping(self) -> str:
        """`finish`, where files of the old directory stay."""
        fs = self._fs
        self._place_in_trash()
        self._refuse_if_changed(self.directory)
        self._confirm()
        self._has_begun = True
        try:
            self._swap_keeping(self._away, self._ready, as_deleted=True)
        except errors.PathNotFound as error:
            if self._is_in_place() or fs.exists(self._away):
                raise
            self._drop_ready()
            raise ChangedMeanwhile(
                f"{self.directory} was deleted while it was compacted"
            ) from error
        if state_of(fs, self._away).digest != self.like.digest:
            # Somebody has just written to it, or has a file open: rename it back.
            self._swap_keeping(self._ready, self._away)
            raise ChangedMeanwhile(self._changed() + self._give_back())
        fs.set_times(self.directory, self.status.modification_time_ms)
        for _ in range(MOST_TRIES):
            kept_at = self._place_in_trash()
            try:
                fs.rename_to_trash(self._away, kept_at)
            except errors.PathNotFound:
                if not fs.exists(self._away):
                    raise
                continue  # the trash was emptied, and a new one begun
            return kept_at
        raise errors.PathNotFound(f"places for {self.directory} in the trash go all the time")

    def _swap_keeping(self, away: str, ready: str, *, as_deleted: bool = False) -> None:
        def replace() -> None:
            swap(self._fs, self.directory, self._came, ready, self._came)

        swap_keeping(
            self._fs, self.directory, away, ready, self.kept, replace, as_deleted=as_deleted
        )

    def _place_in_trash(self) -> str:
        kept_at = self._trash.make_place(kept_name(self.directory, self._run))
        if kept_at is None:
            self.drop()
            raise errors.IllegalArgument(f"{self.directory} is in the trash")
        return kept_at

    def _refuse_if_changed(self, directory: str) -> None:
        try:
            status = self._fs.get_file_status(directory)
            state = state_of(self._fs, directory)
        except errors.PathNotFound as error:
            self._drop_ready()
            raise ChangedMeanwhile(f"{directory} was deleted while it was compacted") from error
        if state.digest != self.before.digest:
            self.drop()
            raise ChangedMeanwhile(self._changed(state.written))
        if _attributes(status) != _attributes(self.status):
            self.drop()
            raise ChangedMeanwhile(
                f"owner, mode or another attribute of {directory} was changed while it was "
                "compacted"
            )

    def _changed(self, written: str = "") -> str:
        who = f" ({written} is open)" if written else ""
        return f"{self.directory} was written to while it was compacted{who}"

    # --- new files that others may have seen, and that are discarded -------------------------

    def _drop_ready(self) -> None:
        try:
            state = state_of(self._fs, self._ready)
        except errors.PathNotFound:
            return
        if self._built is None or state.digest == self._built.digest:
            self._delete(self._ready)
        else:
            self._trash.move(self._ready)

    def _give_back(self) -> str:
        """After the old directory came back: what others have put to the new one meanwhile
        is theirs. What is to be said of that."""
        fs, built = self._fs, self._built
        assert built is not None, "there are new files"
        ours = {status.name: status.file_id for status in built.statuses}
        for status in state_of(fs, self._ready).statuses:
            if ours.get(status.name) != status.file_id:
                fs.rename(status.path, paths.join(self.directory, status.name))
        if state_of(fs, self._ready).digest == built.digest:
            self._delete(self._ready)
            return ""
        moved = self._trash.move(self._ready)
        where = moved.target if moved else self._ready
        return f"; one of its new files was written to as well, they are in {where}"


def _is_data(status: FileStatus) -> bool:
    return status.is_file and not is_hidden(status.name)


def _attributes(status: FileStatus) -> tuple[object, ...]:
    """Return the attributes that the new directory got from the old one at the beginning."""
    return (
        status.owner,
        status.group,
        status.permission,
        status.has_acl,
        status.storage_policy,
        status.erasure_coding_policy,
        status.is_snapshot_enabled,
    )


def swap(
    fs: FileSystem, directory: str, away: str, ready: str, came: str, *, to_trash: bool = False
) -> None:
    """Rename a directory to `away` and `ready` to the directory. If another program creates
    the directory between the two, its files go by way of `came` into the new directory.

    Raises, with nothing changed, `PathExists` if `away` exists, `PathNotFound` if the directory
    does not; and if `away` is in the trash (`to_trash`), `AccessDenied` if the user may not delete
    the directory.
    """
    for _ in range(MOST_TRIES):
        pair = together()
        # To the namenode both are the same call, and the pair is served in one turn either way.
        move = fs.rename_to_trash if to_trash and away != came else fs.rename

        def move_away(
            pair: CallPair = pair, away: str = away, move: Callable[[str, str], None] = move
        ) -> None:
            with pair.slot(0):
                move(directory, away)

        with ThreadPoolExecutor(1, thread_name_prefix="exchange") as pool:
            leaving = pool.submit(move_away)
            is_placed = _take_place(fs, ready, directory, away, leaving, pair)
        if is_placed:
            if away == came:
                move_in(fs, came, directory)
            return
        if away == came:
            # The directory was created once more; the earlier one has been moved away.
            move_in(fs, came, ready)
        away = came
    raise errors.PathExists(
        f"{directory} is made anew all the time; its files are in {ready} and {away}"
    )


def _take_place(
    fs: FileSystem, ready: str, directory: str, away: str, leaving: Future[None], pair: CallPair
) -> bool:
    """Rename the new directory as soon as the old one is gone; False if another program has
    created the directory by then."""
    pause_s = FIRST_PAUSE_S
    while True:
        has_left = leaving.done()
        try:
            with pair.slot(1):
                fs.rename(ready, directory)
        except errors.PathExists:
            if has_left:
                leaving.result()
                return False
            wait((leaving,), pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            continue
        except BaseException as error:
            # The error of the first rename, if there is one, says more.
            leaving.result()
            if not _has_moved(fs, ready, directory, error):
                _put_back(fs, away, directory, error)
                raise
        break
    try:
        leaving.result()
    except errors.PathNotFound:
        fs.rename(directory, ready)
        raise
    except errors.Unreachable:
        # The name was free, so the first rename was done, and its answer lost.
        return True
    return True


def _has_moved(fs: FileSystem, ready: str, directory: str, cause: BaseException) -> bool:
    """Whether a rename was done whose answer was lost."""
    if not isinstance(cause, (errors.HowdahError, OSError)):
        return False
    try:
        return fs.exists(directory) and not fs.exists(ready)
    except (errors.HowdahError, OSError) as error:
        cause.add_note(f"it is unknown whether {ready} was renamed: {error}")
        return False


def _put_back(fs: FileSystem, away: str, directory: str, cause: BaseException) -> None:
    """Rename the old directory back, as the new one cannot take its place."""
    try:
        fs.rename(away, directory)
    except (errors.HowdahError, OSError) as error:
        cause.add_note(
            f"{directory} could not be renamed back either, and is in {away} ({error}): the next "
            "run recovers it"
        )


def remove(fs: FileSystem, path: str) -> None:
    """Delete a directory of new files. It may have got the mode of an old one from which nobody
    may delete."""
    try:
        fs.delete(path, recursive=True)
    except errors.AccessDenied:
        fs.set_permission(path, _OWN_MODE)
        fs.delete(path, recursive=True)


def move_in(fs: FileSystem, source: str, target: str) -> None:
    """Move all entries of `source` to `target`, and delete `source`."""
    for status in fs.list_status(source):
        fs.rename(status.path, paths.join(target, status.name))
    fs.delete(source)
