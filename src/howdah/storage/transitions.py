"""A storage directory on its way to another version, and back (shell).

Mirrors the states of Hadoop's storage directories, so that what one has begun the other
ends. Beside `current` stand:

    previous            what `current` was before the upgrade, until that is finalized
    previous.tmp        `current` was put away, and a new one is being made
    removed.tmp         a rollback put the new `current` away
    finalized.tmp       `previous`, being deleted
    lastcheckpoint.tmp  left by a checkpoint of Hadoop 1

    upgrade    current -> previous.tmp; a new current, VERSION last; previous.tmp -> previous
    rollback   current -> removed.tmp; previous -> current; removed.tmp deleted
    finalize   previous -> finalized.tmp; that deleted

A crash leaves one of these states, and `recover` ends it one way or the other, before
anything else looks at the directories. Several directories that belong together go
the same way: forward if one of them is past the point where all are whole in their
new form, and back otherwise.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Sequence
from typing import Final

from howdah import errors
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.storage.layout import PREVIOUS_NAME, StorageDirectory

log = logging.getLogger(__name__)

PREVIOUS_TMP: Final = "previous.tmp"
REMOVED_TMP: Final = "removed.tmp"
FINALIZED_TMP: Final = "finalized.tmp"
CHECKPOINT_TMP: Final = "lastcheckpoint.tmp"
PREVIOUS_CHECKPOINT: Final = "previous.checkpoint"
ASIDE: Final = (
    PREVIOUS_NAME,
    PREVIOUS_CHECKPOINT,
    PREVIOUS_TMP,
    REMOVED_TMP,
    FINALIZED_TMP,
    CHECKPOINT_TMP,
)
"""All that may stand beside `current`."""
_TEMPORARY: Final = (PREVIOUS_TMP, REMOVED_TMP, FINALIZED_TMP, CHECKPOINT_TMP)


class Transition(enum.Enum):
    """What a crash interrupted, and how far it had come."""

    NONE = "none"
    UPGRADE_BEGUN = "an upgrade that was begun"
    UPGRADE_DONE = "an upgrade whose new files are complete"
    ROLLBACK_BEGUN = "a rollback that was begun"
    ROLLBACK_DONE = "a rollback whose old files are back"
    FINALIZATION = "a finalization"
    CHECKPOINT_BEGUN = "a checkpoint that was begun"
    CHECKPOINT_DONE = "a checkpoint that was complete"


def interrupted(storage: StorageDirectory) -> Transition:
    """Return what a crash interrupted. Raises InconsistentStorage for what no crash leaves."""
    leftovers = [name for name in _TEMPORARY if (storage.root / name).exists()]
    if not leftovers:
        return Transition.NONE
    if len(leftovers) > 1:
        raise errors.InconsistentStorage(
            f"{storage.root} has {' and '.join(leftovers)}, of which no crash leaves two: "
            "put it right by hand, or empty it to have it filled from another directory"
        )
    is_whole = storage.version_file.is_file()
    has_previous = (storage.root / PREVIOUS_NAME).exists()
    match leftovers[0]:
        case "removed.tmp":
            if is_whole is has_previous:
                raise errors.InconsistentStorage(
                    f"{storage.root} has {REMOVED_TMP} and "
                    + ("both" if is_whole else "neither")
                    + f" of current/VERSION and {PREVIOUS_NAME}"
                )
            return Transition.ROLLBACK_DONE if is_whole else Transition.ROLLBACK_BEGUN
        case "lastcheckpoint.tmp":
            return Transition.CHECKPOINT_DONE if is_whole else Transition.CHECKPOINT_BEGUN
    if has_previous:
        raise errors.InconsistentStorage(
            f"{storage.root} has both {PREVIOUS_NAME} and {leftovers[0]}, which no crash leaves"
        )
    if leftovers[0] == FINALIZED_TMP:
        return Transition.FINALIZATION
    return Transition.UPGRADE_DONE if is_whole else Transition.UPGRADE_BEGUN


def recover(storages: Sequence[StorageDirectory]) -> None:
    """End what was interrupted in directories that belong together; all are locked.

    Raises InconsistentStorage, OSError.
    """
    states = {storage: interrupted(storage) for storage in storages}
    if Transition.UPGRADE_BEGUN in states.values():
        # One of them is not whole in its new form, so none is to have it.
        forward = any(
            state is Transition.NONE and (storage.root / PREVIOUS_NAME).exists()
            for storage, state in states.items()
        )
    else:
        forward = not any(
            state is Transition.NONE and not (storage.root / PREVIOUS_NAME).exists()
            for storage, state in states.items()
            if storage.version_file.is_file()
        )
    rolls_back = Transition.ROLLBACK_DONE in states.values()
    for storage, state in states.items():
        if state is Transition.NONE:
            continue
        log.warning("%s was left in the middle of %s", storage.root, state.value)
        match state:
            case Transition.UPGRADE_BEGUN:
                undo_upgrade(storage)
            case Transition.UPGRADE_DONE:
                if forward:
                    end_upgrade(storage)
                else:
                    undo_upgrade(storage)
            case Transition.ROLLBACK_BEGUN:
                if rolls_back:
                    bring_back_previous(storage)
                    _remove(storage, REMOVED_TMP)
                else:
                    undo_rollback(storage)
            case Transition.ROLLBACK_DONE:
                _remove(storage, REMOVED_TMP)
            case Transition.FINALIZATION:
                _remove(storage, FINALIZED_TMP)
            case Transition.CHECKPOINT_BEGUN:
                _replace_current(storage, CHECKPOINT_TMP)
            case Transition.CHECKPOINT_DONE:
                _remove(storage, PREVIOUS_CHECKPOINT)
                _move(storage, CHECKPOINT_TMP, PREVIOUS_CHECKPOINT)
    if Transition.FINALIZATION in states.values():
        # There is no way back for one of them, and so for none.
        for storage in storages:
            finalize(storage)


# Upgrade.


def begin_upgrade(storage: StorageDirectory) -> None:
    """Put `current` away, and make an empty one."""
    _move(storage, storage.current.name, PREVIOUS_TMP)
    storage.create()


def end_upgrade(storage: StorageDirectory) -> None:
    """The new `current` is whole: the old one becomes `previous`."""
    _move(storage, PREVIOUS_TMP, PREVIOUS_NAME)


def undo_upgrade(storage: StorageDirectory) -> None:
    """The old `current` as it was."""
    _replace_current(storage, PREVIOUS_TMP)


# Rollback.


def begin_rollback(storage: StorageDirectory) -> None:
    _move(storage, storage.current.name, REMOVED_TMP)


def undo_rollback(storage: StorageDirectory) -> None:
    _move(storage, REMOVED_TMP, storage.current.name)


def bring_back_previous(storage: StorageDirectory) -> None:
    _move(storage, PREVIOUS_NAME, storage.current.name)


def end_rollback(storage: StorageDirectory) -> None:
    _remove(storage, REMOVED_TMP)


# Finalization.


def finalize(storage: StorageDirectory) -> bool:
    """Give `previous` up; False if there was none."""
    if not (storage.root / PREVIOUS_NAME).exists():
        return False
    _move(storage, PREVIOUS_NAME, FINALIZED_TMP)
    _remove(storage, FINALIZED_TMP)
    return True


def _move(storage: StorageDirectory, name: str, new_name: str) -> None:
    disk.rename(storage.root / name, storage.root / new_name)
    fsync_directory(storage.root)


def _remove(storage: StorageDirectory, name: str) -> None:
    if (storage.root / name).exists():
        disk.remove_tree(storage.root / name)
        fsync_directory(storage.root)


def _replace_current(storage: StorageDirectory, name: str) -> None:
    """VERSION goes first, so that what a crash leaves of `current` never counts as whole."""
    if storage.current.exists():
        disk.unlink(storage.version_file, missing_ok=True)
        fsync_directory(storage.current)
        _remove(storage, storage.current.name)
    _move(storage, name, storage.current.name)
