"""Points in a datanode's life at which a test can make it fail (pure).

A process that is killed from outside is hit wherever it happens to be. To hit it in the
first packet, or between the data and its ack, the code says by `reach` where it is, and
`howdah.testing.faults` listens. In a server nobody does, and `reach` costs a comparison.

A listener may end the process, stop it, or raise an `OSError` as a disk would.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final


class Point(enum.StrEnum):
    """Where a datanode is; the values are what tests write down."""

    SET_UP = "set-up"
    """A client's pipeline is about to be set up here."""
    FIRST_PACKET = "first-packet"
    """The first packets of a pipeline arrived; nothing of them is written."""
    MIDDLE = "middle"
    """Packets that are neither the first nor the last arrived."""
    LAST_PACKET = "last-packet"
    """The packet that ends the block arrived; the replica isn't finalized."""
    CLOSE = "close"
    """The replica is finalized; nobody was told."""
    REBUILD = "rebuild"
    """A pipeline that failed is about to be set up anew here."""
    INIT_RECOVERY = "init-recovery"
    """A block's recovery is about to begin here."""
    UPDATE_RECOVERY = "update-recovery"
    """The replica is about to be set to what the recovery agreed on."""
    SAVE_BEGUN = "save-begun"
    """The block file of a replica in memory is copied to a disk, and its meta file is not."""
    SAVE_COPIED = "save-copied"
    """Both files are copied and on the disk, in `tmp`."""
    SAVE_NAMED = "save-named"
    """They have their names in `lazypersist`; nobody knows."""
    SAVED = "saved"
    """The replica counts as saved."""
    EVICT = "evict"
    """A replica is about to leave the memory, its copy in `lazypersist` still."""
    EVICT_PLACED = "evict-placed"
    """The copy is finalized and on the disk; the files in memory are there still, and nobody
    was told."""
    CACHE_LOCKED = "cache-locked"
    """A replica that is to be cached is locked in memory; it is not verified, and nobody knows."""
    COMMIT_RECOVERY = "commit-recovery"
    """The primary is about to tell the namenode what was agreed on."""


Listener = Callable[[Point, int, int], None]
"""Takes the point, the block's id, and how many datanodes of the pipeline are behind."""

_listeners: Final[list[Listener]] = []


def listen(listener: Listener) -> None:
    """Call `listener` at every point from now on, in this process and its forks."""
    _listeners.append(listener)


def is_listened() -> bool:
    """Whether anybody wants to hear of every point."""
    return bool(_listeners)


def reach(point: Point, block_id: int, behind: int = 0) -> None:
    """This process is at `point`."""
    if _listeners:
        for listener in _listeners:
            listener(point, block_id, behind)
