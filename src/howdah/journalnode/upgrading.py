"""A journal that is formatted, and one on its way to another version of the software and back
(shell). Hadoop: JNStorage.format, and NNUpgradeUtil as a journal node uses it.

    begin      current -> previous.tmp; a new current with the finished edits by hard link, and
               copies of unfinished ones, promises, the lease and decisions
    end        VERSION, which makes the new current whole; previous.tmp -> previous
    roll_back  previous -> current, with what was promised since: the epoch, the lease
    finalize   previous is deleted

A crash leaves one of the states of `howdah.storage.transitions`, which the next start ends.
A promise never goes back, whatever happens to the rest.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from howdah import errors
from howdah.formats.version import JournalVersion
from howdah.journalnode.journal_storage import SYNC_DIRECTORY, JournalStorage
from howdah.journalnode.state.formats import (
    COMMITTED,
    DECISIONS,
    JOINING,
    LAST_PROMISED,
    LAST_WRITER,
    LEASE,
    decode_number,
    encode_number,
)
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory, replace_file, replacing
from howdah.storage import transitions
from howdah.storage.layout import CURRENT_NAME, PREVIOUS_NAME, VERSION_NAME
from howdah.storage.segments import list_segments


def check_free(storage: JournalStorage, *, force: bool) -> None:
    """Lock the directory, and check that nothing is there. Raises InconsistentStorage if there is
    something already and not `force`: edits, or what an upgrade has put away; OSError."""
    directory = storage.directory
    disk.make_directory(directory.root, 0o700)
    storage.open()
    if force:
        return
    current = directory.current
    existing = [name for name in transitions.ASIDE if (directory.root / name).exists()]
    if existing or (current.exists() and any(current.iterdir())):
        raise errors.InconsistentStorage(
            f"Journal directory {directory.root} is not empty: format it with force"
        )


def format_journal(
    storage: JournalStorage,
    version: JournalVersion,
    now_ms: int,
    *,
    joins_from_epoch: int | None = None,
) -> None:
    """Make a new, empty journal where that was checked. VERSION goes first and comes last, so a
    crash leaves the journal unformatted. With `joins_from_epoch` it takes the place of one that
    was lost: that epoch is promised, and it has no vote yet (A13). Raises OSError."""
    directory = storage.directory
    storage.release()
    for name in (CURRENT_NAME, SYNC_DIRECTORY, *transitions.ASIDE):
        path = directory.root / name
        if path.is_dir():
            disk.unlink(path / VERSION_NAME, missing_ok=True)
            disk.remove_tree(path)
    directory.create()
    storage.make_decisions_directory()
    if joins_from_epoch is not None:
        replace_file(directory.current / JOINING, b"")
        replace_file(directory.current / LAST_PROMISED, encode_number(joins_from_epoch))
    directory.write_version(version, now_ms)


def check_no_upgrade(storage: JournalStorage) -> bool:
    """True; raises InconsistentStorage where an upgrade can be rolled back already."""
    root = storage.directory.root
    if has_previous(storage):
        raise errors.InconsistentStorage(
            f"{root} holds {PREVIOUS_NAME}: finalize or roll back the upgrade before"
        )
    if not storage.is_formatted():
        raise errors.InconsistentStorage(f"{root} is not formatted: there is nothing to upgrade")
    return True


def has_previous(storage: JournalStorage) -> bool:
    """Whether there is something to go back to."""
    return (storage.directory.root / PREVIOUS_NAME).exists()


def check_begun(storage: JournalStorage) -> None:
    """Raises InconsistentStorage if no upgrade was begun."""
    root = storage.directory.root
    if not (root / transitions.PREVIOUS_TMP).exists():
        raise errors.InconsistentStorage(f"no upgrade of {root} was begun")


def begin(storage: JournalStorage) -> None:
    """Put `current` away, and make one that lacks VERSION only, where that was checked. Raises
    OSError."""
    directory = storage.directory
    transitions.begin_upgrade(directory)
    old = directory.root / transitions.PREVIOUS_TMP
    for segment in list_segments(old):
        if segment.in_progress:
            # It is cut and finished later, and what is put away stays as it is.
            with open(segment.path, "rb") as whole:
                with replacing(directory.current / segment.path.name) as file:
                    shutil.copyfileobj(whole, file)
        else:
            disk.link(segment.path, directory.current / segment.path.name)
    for name in (LAST_PROMISED, LAST_WRITER, LEASE, COMMITTED, JOINING):
        with contextlib.suppress(FileNotFoundError):
            replace_file(directory.current / name, (old / name).read_bytes())
    decisions = directory.current / DECISIONS
    disk.make_directory(decisions)
    if (old / DECISIONS).is_dir():
        for path in (old / DECISIONS).iterdir():
            replace_file(decisions / path.name, path.read_bytes())
    fsync_directory(directory.current)


def end(storage: JournalStorage, ctime_ms: int, layout_version: int, now_ms: int) -> None:
    """Make the new `current` whole, where one was begun. Raises InconsistentStorage."""
    directory = storage.directory
    old = directory.root / transitions.PREVIOUS_TMP
    source = old / directory.version_file.name
    before = JournalVersion.parse(source.read_text("latin-1"), str(source))
    version = JournalVersion(before.namespace_id, before.cluster_id, ctime_ms, layout_version)
    directory.write_version(version, now_ms)
    transitions.end_upgrade(directory)


def finalize(storage: JournalStorage) -> None:
    """Give `previous` up, if there is one."""
    transitions.finalize(storage.directory)


def can_roll_back(storage: JournalStorage, target_layout_version: int) -> bool:
    """Whether there is something to go back to. Raises IncorrectVersion if the software that
    asks cannot read it."""
    directory = storage.directory
    path = directory.root / PREVIOUS_NAME / directory.version_file.name
    if not path.exists():
        return False
    version = JournalVersion.parse(path.read_text("latin-1"), str(path))
    if version.layout_version != target_layout_version:
        raise errors.IncorrectVersion(
            f"Cannot rollback to storage version {version.layout_version} using this version "
            f"of the NameNode, which uses storage version {target_layout_version}"
        )
    return True


def roll_back(storage: JournalStorage) -> None:
    """Bring back what was there before the upgrade, if there was one."""
    directory = storage.directory
    previous = directory.root / PREVIOUS_NAME
    if not previous.exists():
        return
    for name, quantity in ((LAST_PROMISED, "an epoch"), (LEASE, "the length of a lease")):
        _keep_highest(directory.current / name, previous / name, quantity)
    transitions.begin_rollback(directory)
    transitions.bring_back_previous(directory)
    transitions.end_rollback(directory)


def _keep_highest(current: Path, previous: Path, quantity: str) -> None:
    """Keep what was promised since the upgrade: it holds behind a rollback, too."""
    known = []
    for path in (current, previous):
        with contextlib.suppress(FileNotFoundError):
            known.append(decode_number(path.read_bytes(), str(path), quantity))
    if known:
        replace_file(previous, encode_number(max(known)))
