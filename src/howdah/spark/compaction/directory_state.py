"""What a directory is like before it is exchanged: has anybody written to it since then?

A digest of names, lengths, times, inodes and rights says what was written and closed. A file
that is being written looks the same all the while, for the namenode hears of its bytes when
it is closed; so who has one open is asked for, too (`is_written`).

The new files are to be like the old ones, which have to be like each other: of one owner,
group, mode, ACL and storage policy (`differences`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.paths import shown
from howdah.fs.status import FileStatus
from howdah.spark.compaction.plan import KNOWN_HIDDEN, is_hidden
from howdah.spark.locks.tree_lock import is_lock

DIGEST_CHARS: Final = 16
_KNOWN: Final = re.compile(KNOWN_HIDDEN)


@dataclass(frozen=True, slots=True)
class DirectoryState:
    """A directory as it is: a digest of all in it; the name of a file that somebody is
    writing; one of its files, with the highest replication of them; the newest times."""

    digest: str
    written: str
    file: FileStatus | None
    modification_time_ms: int
    access_time_ms: int
    statuses: tuple[FileStatus, ...] = ()

    @property
    def is_written(self) -> bool:
        return bool(self.written)


def state_of(fs: FileSystem, directory: str) -> DirectoryState:
    """Look at a directory. The lock of a job is nothing in it."""
    digest = hashlib.sha256()
    file: FileStatus | None = None
    written = ""
    modified = accessed = replication = 0
    statuses = []
    for status, is_open in _listed(fs, directory):
        if is_lock(status.name):
            continue
        statuses.append(status)
        digest.update(_told(status, is_open))
        if is_open:
            written = written or status.name
        if status.is_file:
            if file is None or is_hidden(file.name):
                file = status
            replication = max(replication, status.replication)
            modified = max(modified, status.modification_time_ms)
            accessed = max(accessed, status.access_time_ms)
    if file is not None:
        file = replace(file, replication=replication)
    told = digest.hexdigest()[:DIGEST_CHARS]
    return DirectoryState(told, written, file, modified, accessed, tuple(statuses))


def _told(status: FileStatus, is_open: bool) -> bytes:
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
        # Nobody knows there; what was written shows when it is closed.
        return False


# --- why a directory is left alone -------------------------------------------------------


def reason_to_skip(fs: FileSystem, found: DirectoryState) -> str:
    """Why the files can't be made others; "" if they can."""
    if found.is_written:
        return f"somebody is writing {shown(found.written)}"
    for status in found.statuses:
        # Come since the tree was listed, as by a job that has begun.
        is_known = status.is_file and (not is_hidden(status.name) or _KNOWN.match(status.name))
        if not is_known:
            return f"it has {shown(status.name)} beside its files"
    files = [s for s in found.statuses if not is_hidden(s.name)]
    return differences(fs, files)


def differences(fs: FileSystem, files: list[FileStatus]) -> str:
    """What files don't have in common that new ones can have once only; "" for nothing."""
    for what, values in (
        ("owners", {status.owner for status in files}),
        ("groups", {status.group for status in files}),
        ("modes", {f"{status.permission:04o}" for status in files}),
        ("storage policies", {str(status.storage_policy) for status in files}),
    ):
        if len(values) > 1:
            return f"its files have different {what}: {', '.join(sorted(values))}"
    acls = {
        tuple(fs.get_acl_status(status.path).all_entries()) if status.has_acl else None
        for status in files
    }
    return "its files have different ACLs" if len(acls) > 1 else ""
