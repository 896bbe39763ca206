"""A journal that is formatted, and one on its way to another version of the software and back
(shell). Hadoop: JNStorage.format, and NNUpgradeUtil as a journal node uses it.

    begin      current -> previous.tmp; a new current with the edits by hard link, and copies
               of promises and decisions
    end        VERSION, which makes the new current whole; previous.tmp -> previous
    roll_back  previous -> current, with the promises that were made since
    finalize   previous is deleted

A crash leaves one of the states of `howdah.storage.transitions`, which the next start ends.
A promise never goes back, whatever happens to the rest.
"""

from __future__ import annotations

import contextlib

from howdah import errors
from howdah.journalnode.formats import (
    COMMITTED,
    DECISIONS,
    JOINING,
    LAST_PROMISED,
    LAST_WRITER,
    decode_number,
    encode_number,
)
from howdah.journalnode.journal_storage import SYNC_DIRECTORY, JournalStorage
from howdah.storage import disk, transitions
from howdah.storage.atomic import fsync_directory, replace_file
from howdah.storage.edits.segments import list_segments
from howdah.storage.layout import CURRENT_NAME, PREVIOUS_NAME, VERSION_NAME
from howdah.storage.version import JournalVersion


def format_journal(
    storage: JournalStorage,
    version: JournalVersion,
    now_ms: int,
    *,
    force: bool,
    joins_from_epoch: int | None = None,
) -> None:
    """Make a new, empty journal. VERSION goes first and comes last, so a crash leaves the
    journal unformatted. With `joins_from_epoch` it takes the place of one that was lost: that
    epoch is promised, and it has no vote yet (A13).

    Raises InconsistentStorage if there is something already and not `force`; OSError.
    """
    directory = storage.directory
    disk.make_directory(directory.root, 0o700)
    storage.open()
    if not force and directory.current.exists() and any(directory.current.iterdir()):
        raise errors.InconsistentStorage(
            f"Journal directory {directory.root} is not empty: format it with force"
        )
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


def begin(storage: JournalStorage) -> None:
    """Put `current` away, and make one that lacks VERSION only. Raises InconsistentStorage."""
    directory = storage.directory
    if (directory.root / PREVIOUS_NAME).exists():
        raise errors.InconsistentStorage(
            f"{directory.root} holds {PREVIOUS_NAME}: finalize or roll back the upgrade before"
        )
    transitions.begin_upgrade(directory)
    old = directory.root / transitions.PREVIOUS_TMP
    for segment in list_segments(old):
        disk.link(segment.path, directory.current / segment.path.name)
    for name in (LAST_PROMISED, LAST_WRITER, COMMITTED, JOINING):
        with contextlib.suppress(FileNotFoundError):
            replace_file(directory.current / name, (old / name).read_bytes())
    decisions = directory.current / DECISIONS
    disk.make_directory(decisions)
    if (old / DECISIONS).is_dir():
        for path in (old / DECISIONS).iterdir():
            replace_file(decisions / path.name, path.read_bytes())
    fsync_directory(directory.current)


def end(storage: JournalStorage, ctime_ms: int, layout_version: int, now_ms: int) -> None:
    """Make the new `current` whole. Raises InconsistentStorage if none was begun."""
    directory = storage.directory
    old = directory.root / transitions.PREVIOUS_TMP
    if not old.exists():
        raise errors.InconsistentStorage(f"no upgrade of {directory.root} was begun")
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
    """What was there before the upgrade, if there was one."""
    directory = storage.directory
    previous = directory.root / PREVIOUS_NAME
    if not previous.exists():
        return
    promised = directory.current / LAST_PROMISED
    with contextlib.suppress(FileNotFoundError):
        epoch = decode_number(promised.read_bytes(), str(promised), "an epoch")
        replace_file(previous / LAST_PROMISED, encode_number(epoch))
    transitions.begin_rollback(directory)
    transitions.bring_back_previous(directory)
    transitions.end_rollback(directory)
