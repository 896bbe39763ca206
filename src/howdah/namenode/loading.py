"""From directories to a namespace: what happens between start and serving (shell).

1. lock every name directory, and see that all are of one filesystem
2. finish the segment that a dead namenode left in progress, cutting a torn tail
3. take the directory whose log reaches furthest; the others are brought up to it
4. replay its edits through `Namespace.apply`, as live calls would

Damage before the end of the log stops the start, naming file, offset and
transaction. There are no images yet: a directory that has one is refused.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from howdah import errors
from howdah.namenode.namespace import EditDoesNotFit, Namespace
from howdah.storage import edits
from howdah.storage.atomic import replace_file
from howdah.storage.layout import StorageDirectory, StorageLock, StorageState
from howdah.storage.segments import (
    Segment,
    list_segments,
    read_segment,
    recover_segment,
    select_segments,
)
from howdah.storage.version import NamenodeVersion

log = logging.getLogger(__name__)

REMEMBERED_CALLS = 100_000


@dataclass(slots=True)
class Loaded:
    """What a start found."""

    namespace: Namespace
    version: NamenodeVersion
    last_txid: int
    edits_directories: list[Path]
    locks: list[StorageLock]
    answered_calls: deque[tuple[bytes, int]] = field(
        default_factory=lambda: deque(maxlen=REMEMBERED_CALLS)
    )


def load(name_directories: Sequence[Path], edits_directories: Sequence[Path]) -> Loaded:
    """Lock, check, recover, replay. On an error every lock is given back.

    Raises InconsistentStorage, IncorrectVersion, StorageLocked, CorruptEditLog.
    """
    locks: list[StorageLock] = []
    try:
        roots = list(dict.fromkeys([*name_directories, *edits_directories]))
        storages = [StorageDirectory(root) for root in roots]
        for storage in storages:
            _check_formatted(storage)
            locks.append(storage.lock())
        version = _common_version(storages)
        logs = [StorageDirectory(root) for root in edits_directories]
        namespace = Namespace()
        loaded = Loaded(namespace, version, 0, [s.current for s in logs], locks)
        _replay(_reconciled(logs), loaded)
        seen = max(storage.read_seen_txid() for storage in logs)
        if loaded.last_txid < seen - 1:
            raise errors.CorruptEditLog(
                f"the edit log in {loaded.edits_directories[0]} ends at transaction "
                f"{loaded.last_txid}, but it had reached {seen}: its tail is lost"
            )
        namespace.reap(len(namespace.inodes) * 2 + 1)
        return loaded
    except BaseException:
        for lock in locks:
            lock.release()
        raise


def _check_formatted(storage: StorageDirectory) -> None:
    state = storage.state()
    if state is not StorageState.NORMAL:
        raise errors.InconsistentStorage(
            f"name directory {storage.root} is {state.value}: format it first with "
            "'howdah namenode -format'"
        )
    images = sorted(storage.current.glob("fsimage_*"))
    if images:
        raise errors.UnsupportedOperation(
            f"{images[-1]} is a namespace image, and images cannot be read yet"
        )


def _common_version(storages: Sequence[StorageDirectory]) -> NamenodeVersion:
    first = storages[0].read_version(NamenodeVersion)
    for other in storages[1:]:
        found = other.read_version(NamenodeVersion)
        if found != first:
            raise errors.InconsistentStorage(
                f"{storages[0].root} and {other.root} are of different filesystems: "
                f"{first} and {found}"
            )
    return first


def _reconciled(logs: Sequence[StorageDirectory]) -> list[Segment]:
    """Recover what is in progress everywhere, then make all logs alike."""
    recovered = [_recover(storage) for storage in logs]
    best = max(recovered, key=lambda segments: segments[-1].last_txid or 0 if segments else 0)
    for storage, segments in zip(logs, recovered, strict=True):
        if segments is not best:
            _catch_up(storage, segments, best)
    return best


def _recover(storage: StorageDirectory) -> list[Segment]:
    for segment in list_segments(storage.current):
        if segment.in_progress:
            finished, end = recover_segment(segment)
            if end.torn_bytes:
                log.warning(
                    "cut %d torn bytes off %s: %s", end.torn_bytes, segment.path, end.torn_reason
                )
            if finished is not None:
                log.info("recovered %s", finished.path)
    return select_segments(list_segments(storage.current), 1)


def _catch_up(storage: StorageDirectory, have: list[Segment], best: list[Segment]) -> None:
    """Copy what this directory missed, setting aside segments that end too early."""
    names = {segment.path.name for segment in best}
    for segment in have:
        if segment.path.name not in names:
            segment.path.rename(segment.path.with_name(segment.path.name + ".stale"))
    mine = {segment.path.name for segment in have}
    for segment in best:
        if segment.path.name not in mine:
            log.warning("copying %s to %s, which missed it", segment.path, storage.current)
            replace_file(storage.current / segment.path.name, segment.path.read_bytes())


def _replay(segments: Sequence[Segment], loaded: Loaded) -> None:
    namespace = loaded.namespace
    for segment in segments:
        for placed in read_segment(segment):
            edit = placed.logged.edit
            try:
                namespace.apply(edit)
            except (EditDoesNotFit, errors.UnsupportedOperation) as error:
                raise errors.CorruptEditLog(
                    f"{segment.path}, offset {placed.offset}, transaction "
                    f"{placed.logged.txid}: {error}"
                ) from error
            if isinstance(edit, edits.RetryableEdit) and edit.rpc_client_id:
                loaded.answered_calls.append((edit.rpc_client_id, edit.rpc_call_id))
            loaded.last_txid = placed.logged.txid
