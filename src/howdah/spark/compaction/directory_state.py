"""The state of a directory: has anybody written to it since?

A digest of names, lengths, times, inode ids and permissions shows files that were written and
closed. A file being written looks the same all the time, since the namenode learns its length
when it is closed; so open files are looked up as well (`is_written`).

The new files are to be like the old ones, so these must be like each other: of one owner, group,
mode, ACL, storage policy and extended attributes (`differences`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.copy.common.filesystems import for_each
from howdah.copy.locks.tree_lock import is_lock
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.paths import printable
from howdah.fs.status import FileStatus
from howdah.spark.compaction.attributes import xattrs_of
from howdah.spark.compaction.plan import KNOWN_HIDDEN, is_hidden

DIGEST_CHARS: Final = 16
_TO_MOVE_FILES: Final = 0o3
_KNOWN: Final = re.compile(KNOWN_HIDDEN)


@dataclass(frozen=True, slots=True)
class DirectoryState:
    """The state of a directory: a digest of its entries; `written`, the name of an open file;
    one of its files, with the highest replication and the largest block size of all; the newest
    times."""

    digest: str
    written: str
    file: FileStatus | None
    modification_time_ms: int
    access_time_ms: int
    statuses: tuple[FileStatus, ...] = ()

    @property
    def is_written(self) -> bool:
        return bool(self.written)

    def without(self, names: Collection[str]) -> DirectoryState:
        """The state as it will be without these entries, if nobody writes to the others."""
        return _state((status, False) for status in self.statuses if status.name not in names)


def state_of(fs: FileSystem, directory: str) -> DirectoryState:
    """The present state of a directory; lock files of jobs do not count."""
    return _state(found for found in _listed(fs, directory) if not is_lock(found[0].name))


def _state(entries: Iterable[tuple[FileStatus, bool]]) -> DirectoryState:
    digest = hashlib.sha256()
    file: FileStatus | None = None
    written = ""
    modified = accessed = replication = block_size = 0
    statuses = []
    for status, is_open in entries:
        statuses.append(status)
        digest.update(_line_of(status, is_open))
        if is_open:
            written = written or status.name
        if status.is_file:
            if file is None or is_hidden(file.name):
                file = status
            replication = max(replication, status.replication)
            if not is_hidden(status.name):
                block_size = max(block_size, status.block_size)
            modified = max(modified, status.modification_time_ms)
            accessed = max(accessed, status.access_time_ms)
    if file is not None:
        file = replace(file, replication=replication, block_size=block_size or file.block_size)
    text = digest.hexdigest()[:DIGEST_CHARS]
    return DirectoryState(text, written, file, modified, accessed, tuple(statuses))


def _line_of(status: FileStatus, is_open: bool) -> bytes:
    facts = (
        status.name,
        status.length,
        status.modification_time_ms,
        status.file_id,
        *_rights(status),
        is_open,
    )
    return ("\0".join(map(str, facts)) + "\n").encode("utf-8", "surrogateescape")


def _rights(status: FileStatus) -> tuple[object, ...]:
    return status.owner, status.group, status.permission, status.has_acl


def _listed(fs: FileSystem, directory: str) -> Iterator[tuple[FileStatus, bool]]:
    if isinstance(fs, HdfsFileSystem):
        yield from fs.list_with_writers(directory)
        return
    for status in fs.list_status_iter(directory):
        yield status, status.is_file and _is_open(fs, status.path)


def _is_open(fs: FileSystem, path: str) -> bool:
    try:
        return not fs.is_file_closed(path)
    except errors.UnsupportedOperation:
        # The filesystem does not know; writes show when the file is closed.
        return False


# --- why a directory is left alone -------------------------------------------------------


def reason_to_skip(
    fs: FileSystem,
    state: DirectoryState,
    quiet_since_ms: int = 0,
    most_bytes: int | None = None,
) -> str:
    """Return why the directory cannot be compacted; "" if it can. `quiet_since_ms`: no file may
    have been modified after that; 0 for any time. With `most_bytes` longer files stay as they
    are."""
    if state.is_written:
        return f"somebody is writing {printable(state.written)}"
    for status in state.statuses:
        if quiet_since_ms and status.is_file and status.modification_time_ms > quiet_since_ms:
            return f"{printable(status.name)} was modified a short time ago"
        # Created since the tree was listed, perhaps by a job that has begun.
        is_known = status.is_file and (not is_hidden(status.name) or _KNOWN.match(status.name))
        if not is_known:
            return f"it has {printable(status.name)} beside its files"
    files = [
        status
        for status in state.statuses
        if not is_hidden(status.name) and (most_bytes is None or status.length <= most_bytes)
    ]
    return differences(fs, files)


def reason_to_stay(fs: FileSystem, directory: FileStatus, *, keeps_files: bool = False) -> str:
    """Return why the directory cannot be moved away; "" if it can. HDFS moves no directory with
    snapshots, which are read by its path. `keeps_files`: files of it are moved, too."""
    if keeps_files:
        try:
            fs.access(directory.path, _TO_MOVE_FILES)
        except errors.AccessDenied as error:
            return f"its files that are large enough cannot be moved: {error.message}"
    if not directory.is_snapshot_enabled or not isinstance(fs, HdfsNamespace):
        return ""
    return "it has snapshots" if fs.list_snapshots(directory.path) else ""


def differences(fs: FileSystem, files: list[FileStatus]) -> str:
    """Return the attribute in which files differ, though a new file can have only one; "" for
    none."""
    for attribute, values in (
        ("owners", {status.owner for status in files}),
        ("groups", {status.group for status in files}),
        ("modes", {f"{status.permission:04o}" for status in files}),
        ("storage policies", {str(status.storage_policy) for status in files}),
        ("erasure coding policies", {status.erasure_coding_policy or "none" for status in files}),
    ):
        if len(values) > 1:
            return f"its files have different {attribute}: {', '.join(sorted(values))}"
    acls = {
        tuple(fs.get_acl_status(status.path).all_entries()) if status.has_acl else None
        for status in files
    }
    if len(acls) > 1:
        return "its files have different ACLs"
    xattrs = set(for_each(lambda status: _xattrs_of(fs, status.path), files))
    return "its files have different extended attributes" if len(xattrs) > 1 else ""


def _xattrs_of(fs: FileSystem, path: str) -> tuple[tuple[str, bytes], ...]:
    return tuple(sorted(xattrs_of(fs, path).items()))
