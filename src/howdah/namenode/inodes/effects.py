"""What becomes of an edit: what `Namespace.apply` tells of blocks, and what it raises (pure).

An edit says what happened to blocks; `apply` tells it as events, at the live call, in the
replay at a start and at a standby alike. The block map follows them, so that wherever the
same edits are applied, and the same replicas reported, there is the same map.

An edit does not say where replicas are (FS-024). Which storages a pipeline consists of
only the active namenode knows, that chose them or was told by the client: it tells its own
block map in a step of its own, which is in no log (`BlockMap.allocated`,
`BlockMap.new_pipeline`). A namenode that did not take part learns it from reports.

An event is told in the middle of `apply`, when what it tells has just become true of its
block; of the rest of the tree nothing may be concluded then.
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.namenode.inodes.block_table import Block


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
