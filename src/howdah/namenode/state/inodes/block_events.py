"""The effects of an edit: block events of `Namespace.apply`, and what it raises (pure).

`apply` emits an event for each block that an edit changes: at a live call, in the replay
at a start, and at a standby. The block map subscribes to the events. So the same edits and
the same reports always give the same map.

An edit does not name storages (FS-024). Only the active namenode knows the storages of a
pipeline: it chose them, or the client named them. It tells its own block map in a separate
step, which is in no log (`BlockMap.allocated`,
`BlockMap.new_pipeline`). A namenode that did not take part learns it from reports.

An event is emitted in the middle of `apply`, right after its block has changed. A
subscriber must not rely on the rest of the tree at that moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.namenode.state.inodes.block_table import Block


@dataclass(frozen=True, slots=True)
class BlockOpened:
    """The block is under construction now: it is new, or it was complete, and is appended
    to or cut. Its replicas, if it had any, are `replica_length_bytes` long."""

    block: Block
    replica_length_bytes: int | None = None
    """None: the block is new."""


@dataclass(frozen=True, slots=True)
class BlockRestamped:
    """The block has a new generation stamp: replicas with `old_stamp` are stale."""

    block: Block
    old_stamp: int


@dataclass(frozen=True, slots=True)
class BlockSettled:
    """The block has its final length: it is committed, or complete."""

    block: Block


@dataclass(frozen=True, slots=True)
class BlockRemoved:
    """No file and no snapshot has the block any more."""

    block: Block


@dataclass(frozen=True, slots=True)
class ReplicationChanged:
    """The block may have to have more replicas than before, or fewer."""

    block: Block


BlockEvent = BlockOpened | BlockRestamped | BlockSettled | BlockRemoved | ReplicationChanged


class EditDoesNotFit(errors.HowdahError, RuntimeError):
    """An edit contradicts the namespace that it is applied to."""


class NamespaceBroken(RuntimeError):
    """An edit failed in a namenode that serves. The namespace may be between two states:
    nothing that it says may be answered, logged or checkpointed, and the process ends.

    No `HowdahError`, which handlers catch to go on without what failed.
    """
