"""From directories to a namespace: what happens between start and serving (shell).

1. lock every name directory, and see that all are of one filesystem; an empty one
   is new, and is filled from the others
2. load the newest sound image; one that is damaged is named and passed over
3. put the log after it together from all directories (`journal.reading`)
4. replay its edits through `Namespace.apply`, as live calls would
5. mend the log: all directories alike (`journal.recovery`), so that the next start can be
   from any one of them

Steps 3 and 4 change nothing on any disk.

A namenode that shares its log with others starts as a standby, and somebody else may be
writing. So step 3 reads the finished segments of the shared log and nothing of its own, whose
end nobody has agreed to; step 5 is left to the one who becomes active (`ha.transitions`).

A directory that cannot be reached stops the start, because it may be the only one that
holds the last edits. An administrator who knows better takes it out of the configuration.
An image with unsupported content stops the start too: an older image would only hide it.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.image.records import NamesystemRecord
from howdah.formats.image.sections import Source
from howdah.formats.version import NAMENODE_LAYOUT_VERSION, NamenodeVersion
from howdah.namenode.journal.directory_journal import DirectoryJournal, DirectorySource
from howdah.namenode.journal.directory_restore import fill
from howdah.namenode.journal.log_reader import StoredLog
from howdah.namenode.journal.recovery import recover
from howdah.namenode.service.calls.retry_cache import LoggedCall
from howdah.namenode.service.monitoring.startup import Phase, StartupProgress
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.namenode.state.images.image import read_image
from howdah.namenode.state.inodes.block_events import EditDoesNotFit
from howdah.namenode.state.tree.namespace import Namespace
from howdah.storage import transitions
from howdah.storage.image_files import (
    check_image,
    end_rollback_images,
    list_images,
    remove_unfinished,
)
from howdah.storage.image_files import set_aside as set_image_aside
from howdah.storage.layout import SEEN_TXID_NAME, StorageDirectory, StorageLock, StorageState
from howdah.storage.segments import list_segments

log = logging.getLogger(__name__)

REMEMBERED_CALLS = 100_000


@dataclass(slots=True)
class Loaded:
    """What a start found."""

    namespace: Namespace
    version: NamenodeVersion
    last_txid: int
    name_directories: list[Path]
    edits_directories: list[Path]
    locks: list[StorageLock]
    image_txid: int | None = None
    shared: SharedLog | None = None
    """The log that other namenodes have, too."""
    answered_calls: deque[LoggedCall] = field(
        default_factory=lambda: deque(maxlen=REMEMBERED_CALLS)
    )


def load(
    name_directories: Sequence[Path],
    edits_directories: Sequence[Path],
    *,
    of_secondary: bool = False,
    upgrades: bool = False,
    shared_log: Callable[[NamenodeVersion], SharedLog] | None = None,
    progress: StartupProgress | None = None,
) -> Loaded:
    """Lock, check, replay, mend. On an error every lock is given back. `progress` is told of
    each phase, up to the begin of safe mode.

    With a `shared_log` the namenode is about to stand by: nothing is mended. In directories
    `of_secondary` nobody says how far the log should reach: Hadoop's has no `seen_txid`. Those
    of an older layout are refused, unless the caller `upgrades` them. Raises
    InconsistentStorage, IncorrectVersion, StorageLocked, CorruptEditLog.
    """
    locks: list[StorageLock] = []
    progress = progress or StartupProgress(lambda: 0)
    progress.begin(Phase.IMAGE)
    try:
        roots = list(dict.fromkeys([*name_directories, *edits_directories]))
        storages = [StorageDirectory(root) for root in roots]
        _end_transitions(storages)
        formatted, empty = _by_state(storages)
        for storage in storages:
            locks.append(storage.lock())
        version = _common_version(formatted)
        if version.layout_version != NAMENODE_LAYOUT_VERSION and not upgrades:
            raise errors.IncorrectVersion(
                f"{formatted[0].root} has layout version {version.layout_version}, of an older "
                f"Hadoop, and this software writes {NAMENODE_LAYOUT_VERSION}: start once with "
                "'howdah namenode -upgrade', which keeps what was there until "
                "'howdah dfsadmin -finalizeUpgrade'"
            )
        logs = [storage for storage in formatted if storage.root in edits_directories]
        if not logs:
            raise errors.InconsistentStorage(
                f"no edits directory is formatted, and {formatted[0].root} has no log"
            )
        seen = 0 if of_secondary else _seen_txid(formatted, logs)
        namespace, image_txid = _load_image(
            [storage.current for storage in formatted if storage.root in name_directories],
            version,
            progress,
        )
        progress.end(Phase.IMAGE)
        progress.begin(Phase.EDITS)
        current = [StorageDirectory(root).current for root in edits_directories]
        images = [StorageDirectory(root).current for root in name_directories]
        loaded = Loaded(namespace, version, image_txid or 0, images, current, locks, image_txid)
        from_txid = loaded.last_txid + 1
        if shared_log is not None:
            shared = loaded.shared = shared_log(version)
            # How far it reaches is known when it was read.
            _watch_edits(progress, shared.name, loaded, from_txid, 0)
            _replay_shared(shared, loaded)
        else:
            sources = [DirectorySource(storage.current) for storage in logs]
            stored = StoredLog(sources, from_txid)
            _watch_edits(progress, str(logs[0].root), loaded, from_txid, stored.edit_count)
            _replay(stored, loaded)
            if loaded.last_txid < seen:
                raise errors.CorruptEditLog(
                    f"the edit log in {loaded.edits_directories[0]} ends at transaction "
                    f"{loaded.last_txid}, but it had reached {seen}: its tail is lost. Bring the "
                    "missing segment back, from another directory or a backup. To start without "
                    f"what it held, write {loaded.last_txid} to {SEEN_TXID_NAME} in each "
                    "directory that has a higher number"
                )
            recover(
                [DirectoryJournal(storage.current) for storage in logs], stored, loaded.last_txid
            )
        _end_rolling_upgrade(loaded)
        _fill(empty, logs)
        namespace.reap(len(namespace.inodes) * 2 + 1)
        progress.end(Phase.EDITS)
        progress.begin(Phase.CHECKPOINT)  # which a start does not make
        progress.end(Phase.CHECKPOINT)
        progress.begin(Phase.SAFE_MODE)
        return loaded
    except BaseException:
        for lock in locks:
            lock.release()
        raise


def _end_transitions(storages: Sequence[StorageDirectory]) -> None:
    """What a crash interrupted of an upgrade or rollback is ended in all of them."""
    states = {storage: storage.state() for storage in storages}
    if StorageState.UNFINISHED not in states.values():
        return
    for storage, state in states.items():
        if state is StorageState.MISSING:
            # It may be the one that says which way the others have to go.
            raise errors.InconsistentStorage(
                f"name directory {storage.root} is missing: "
                + _advice(storage, state, has_others=True)
            )
    with contextlib.ExitStack() as held:
        for storage in storages:
            held.enter_context(storage.lock())
        transitions.recover(storages)


def _watch_edits(
    progress: StartupProgress, name: str, loaded: Loaded, from_txid: int, total: int
) -> None:
    progress.reads(Phase.EDITS, name, None, None)
    progress.counts(Phase.EDITS, lambda: loaded.last_txid + 1 - from_txid, lambda: total)


class _Watched:
    """A file that says how far it was read."""

    def __init__(self, file: Source) -> None:
        self._file = file
        self.position = 0

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self.position = self._file.seek(offset, whence)
        return self.position

    def read(self, count: int, /) -> bytes:
        data = self._file.read(count)
        self.position += len(data)
        return data


def _read_image(path: Path, progress: StartupProgress) -> tuple[Namespace, NamesystemRecord]:
    """One image. Raises CorruptImage, UnsupportedOperation, OSError."""
    size_bytes = path.stat().st_size
    progress.reads(Phase.IMAGE, str(path), size_bytes, None)
    check_image(path)
    with open(path, "rb", buffering=0) as file:
        watched = _Watched(file)

        def began(namespace: Namespace, total: int) -> None:
            # From here on it is read from front to end, inodes first, and then what is in which
            # directory.
            progress.counts(Phase.IMAGE, namespace.inodes.__len__, lambda: total)
            progress.reads(Phase.IMAGE, str(path), size_bytes, lambda: watched.position)

        return read_image(watched, str(path), began)


def _load_image(
    directories: Sequence[Path], version: NamenodeVersion, progress: StartupProgress
) -> tuple[Namespace, int | None]:
    """Return the newest sound image of all directories; an empty namespace if there is no image.

    Raises CorruptImage if there are images and none is sound.
    """
    for directory in directories:
        remove_unfinished(directory)
    images = list_images(directories)
    damaged: list[Path] = []
    for image in images:
        try:
            namespace, counters = _read_image(image.path, progress)
        except errors.CorruptImage as error:
            log.error("cannot use %s: %s", image.path, error)
            damaged.append(image.path)
            continue
        except errors.HowdahError:
            raise  # What is not supported: an older image would only hide it.
        except OSError as error:
            log.error("cannot read the image %s: %s", image.path, error)
            continue
        if counters.namespace_id != version.namespace_id:
            raise errors.InconsistentStorage(
                f"image {image.path} is of namespace {counters.namespace_id}, its directory "
                f"of {version.namespace_id}"
            )
        if counters.txid != image.txid:
            log.error("image %s is of transaction %d", image.path, counters.txid)
            continue
        log.info("loaded %s with %d inodes", image.path, len(namespace.inodes))
        if not any(other.rollback for other in images):
            # As Hadoop's namenode: without one to go back to, it was finalized or rolled back.
            namespace.rolling_upgrade.start_ms = None
        # Only now: an image that counts as one of those to keep has to be sound.
        for path in damaged:
            set_image_aside(path)
        return namespace, image.txid
    if images:
        raise errors.CorruptImage(
            "none of the images can be used: " + ", ".join(str(image.path) for image in images)
        )
    return Namespace(), None


def _fill(empty: Sequence[StorageDirectory], logs: Sequence[StorageDirectory]) -> None:
    """Copy a whole directory into each empty one. One that cannot be filled stays empty,
    and the journal does without it."""
    for storage in empty:
        try:
            whole = [
                source
                for source in logs
                if not any(segment.in_progress for segment in list_segments(source.current))
            ]
            if not whole:
                raise OSError(None, "no other directory has a log that is finished")
            fill(storage, whole[0])
        except OSError as error:
            log.error("%s cannot be filled: %s", storage.root, error)


def _by_state(
    storages: Sequence[StorageDirectory],
) -> tuple[list[StorageDirectory], list[StorageDirectory]]:
    """The formatted ones and the empty ones. Raises InconsistentStorage for others."""
    states = [(storage, storage.state()) for storage in storages]
    formatted = [storage for storage, state in states if state is StorageState.NORMAL]
    empty = [storage for storage, state in states if state is StorageState.EMPTY]
    for storage, state in states:
        if not formatted or (storage not in formatted and storage not in empty):
            raise errors.InconsistentStorage(
                f"name directory {storage.root} is {state.value}: "
                + _advice(storage, state, has_others=bool(formatted))
            )
    return formatted, empty


def _advice(storage: StorageDirectory, state: StorageState, *, has_others: bool) -> str:
    if not has_others:
        if state is StorageState.NOT_FORMATTED and _has_metadata(storage):
            return (
                "there are images or a log in it, but no current/VERSION. Do not format it, which "
                "would erase them: move them elsewhere, with the VERSION of their namenode, and "
                "start with 'howdah namenode -importImage FILE'"
            )
        return (
            "if it is on a disk that is not mounted, mount it; a new, empty filesystem is made "
            "with 'howdah namenode -format'; one that is restored from an image or a secondary's "
            "checkpoint, with 'howdah namenode -importImage FILE' or '-importCheckpoint'"
        )
    if state is StorageState.MISSING:
        return (
            "mount it; or, if it is lost for good, make it an empty directory, "
            "which is then filled from the others, or take it out of the configuration"
        )
    return "empty it, to have it filled from the other directories"


def _has_metadata(storage: StorageDirectory) -> bool:
    places = [directory for directory in (storage.root, storage.current) if directory.is_dir()]
    return bool(list_images(places)) or any(map(list_segments, places))


def _seen_txid(formatted: Sequence[StorageDirectory], logs: Sequence[StorageDirectory]) -> int:
    """The highest of what the directories have seen, of images and of edits; one that has seen
    less is stale. A directory that has images alone may lack the file, as one does into which an
    image was copied by hand: the directories of edits say how far the log should reach."""
    seen = {}
    for storage in formatted:
        if storage not in logs and not storage.seen_txid_file.exists():
            log.warning("%s does not say how far the log had reached", storage.root)
            continue
        seen[storage.root] = storage.read_seen_txid()
    highest = max(seen.values(), default=0)
    for root, txid in seen.items():
        if txid < highest:
            log.warning(
                "%s is stale: its log had reached %d, that of others %d", root, txid, highest
            )
    return highest


def _common_version(storages: Sequence[StorageDirectory]) -> NamenodeVersion:
    first = storages[0].read_version(NamenodeVersion)
    for other in storages[1:]:
        version = other.read_version(NamenodeVersion)
        if version != first:
            raise errors.InconsistentStorage(
                f"{storages[0].root} and {other.root} are of different filesystems: "
                f"{first} and {version}"
            )
    return first


def _end_rolling_upgrade(loaded: Loaded) -> None:
    """One that was finalized has no image to go back to; a crash came before that one got its
    ordinary name."""
    if loaded.namespace.rolling_upgrade.is_under_way:
        return
    directories = [current for current in loaded.name_directories if current.is_dir()]
    try:
        end_rollback_images(directories, loaded.last_txid)
    except OSError as error:
        log.error("an image to go back to from a finalized upgrade stays: %s", error)


def _replay(stored: StoredLog, loaded: Loaded) -> None:
    for copy, placed in stored.edits():
        _apply(placed.logged, loaded, f"{copy.path}, offset {placed.offset}")


def _replay_shared(shared: SharedLog, loaded: Loaded) -> None:
    for logged in shared.edits(loaded.last_txid + 1, unfinished=False):
        _apply(logged, loaded, shared.name)


def _apply(logged: edits.LoggedEdit, loaded: Loaded, where: str) -> None:
    edit = logged.edit
    try:
        loaded.namespace.apply(edit)
    except (EditDoesNotFit, errors.UnsupportedOperation) as error:
        raise errors.CorruptEditLog(f"{where}, transaction {logged.txid}: {error}") from error
    if isinstance(edit, edits.RetryableEdit) and edit.has_call:
        call = edit.rpc_client_id, edit.rpc_call_id, loaded.namespace.file_of_call(edit)
        loaded.answered_calls.append(call)
    loaded.last_txid = logged.txid
