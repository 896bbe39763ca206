"""The states of a block at the namenode, and what moves a block between them (pure).

Hadoop's `BlockUCState`. The code keeps a block's state in two places: in its row
(`BlockState`), and, while its length is being recovered, in `writing.block_recovery`.
This module has the table of both. Most events are edits, so that a restart and a
standby find the same states; only the report of the last replica that a committed block
needs, and the attempts of a recovery, are not in the log. A start from an image finds the
states that the log has made until then. An image of Hadoop's does not say them: there the
last block of an open file is under construction, and those before it are committed.
"""

from __future__ import annotations

import enum
from typing import Final

from howdah.namenode.state.inodes.block_table import BlockState
from howdah.runtime.state_table import Transition


class BlockPhase(enum.Enum):
    """Where a block is on its way."""

    NONE = "no such block, or not yet"
    UNDER_CONSTRUCTION = "a client writes it"
    UNDER_RECOVERY = "its datanodes agree on its length, ordered by the namenode"
    COMMITTED = "its length is final, but too few replicas have been reported"
    COMPLETE = "its length is final, and enough replicas were reported once"
    REMOVED = "no file and no snapshot has it"


def phase_of(state: BlockState, *, is_recovered: bool) -> BlockPhase:
    """The phase of a block in the table of blocks. `is_recovered`: an attempt to recover it
    has begun."""
    if state is BlockState.UNDER_CONSTRUCTION and is_recovered:
        return BlockPhase.UNDER_RECOVERY
    return BlockPhase[state.name]


REPORTED: Final = "replicas reported"
ATTEMPT: Final = "recovery attempt"
REMOVED: Final = "removed"

_P: Final = BlockPhase
_LISTED: Final = "replay of a log of Hadoop that names the block in this edit first"
_FOLLOWED: Final = "replay of a log of Hadoop that names another block behind it in this edit"

BLOCK_TRANSITIONS: Final[tuple[Transition[BlockPhase], ...]] = (
    Transition(_P.NONE, "OP_ADD_BLOCK", _P.UNDER_CONSTRUCTION, "client: `addBlock`"),
    Transition(
        _P.NONE,
        "OP_TRUNCATE",
        _P.UNDER_CONSTRUCTION,
        "client: `truncate` within a block of a snapshot; this is the copy",
    ),
    Transition(_P.NONE, "OP_ADD", _P.UNDER_CONSTRUCTION, _LISTED),
    Transition(_P.NONE, "OP_UPDATE_BLOCKS", _P.UNDER_CONSTRUCTION, _LISTED),
    Transition(_P.NONE, "OP_CLOSE", _P.UNDER_CONSTRUCTION, f"{_LISTED}; complete at once"),
    Transition(
        _P.UNDER_CONSTRUCTION,
        "OP_ADD_BLOCK",
        _P.COMMITTED,
        "client: `addBlock` gives the final length of the block before",
    ),
    Transition(_P.UNDER_CONSTRUCTION, "OP_ADD", _P.COMMITTED, _FOLLOWED),
    Transition(_P.UNDER_CONSTRUCTION, "OP_UPDATE_BLOCKS", _P.COMMITTED, _FOLLOWED),
    Transition(
        _P.COMMITTED,
        REPORTED,
        _P.COMPLETE,
        "datanodes: `dfs.namenode.replication.min` finalized replicas were reported",
    ),
    Transition(
        _P.UNDER_CONSTRUCTION,
        "OP_CLOSE",
        _P.COMPLETE,
        "client: `complete`, with enough finalized replicas",
    ),
    Transition(
        _P.COMMITTED,
        ATTEMPT,
        _P.COMMITTED,
        "namenode: lease recovery, when restarts of datanodes have left unfinished replicas alone; "
        "whole ones are made of these",
    ),
    Transition(
        _P.COMMITTED,
        "OP_CLOSE",
        _P.COMPLETE,
        "namenode: lease recovery, with a replica of each, or none for long; replay of the log: "
        "no replica was reported before the file was closed",
    ),
    Transition(
        _P.COMPLETE,
        "OP_APPEND",
        _P.UNDER_CONSTRUCTION,
        "client: `append`; the last block is not full",
    ),
    Transition(
        _P.COMPLETE,
        "OP_TRUNCATE",
        _P.UNDER_CONSTRUCTION,
        "client: `truncate` within the block; its recovery follows at once",
    ),
    Transition(
        _P.UNDER_CONSTRUCTION,
        ATTEMPT,
        _P.UNDER_RECOVERY,
        "namenode: a silent writer, `recoverLease`, or `truncate`",
    ),
    Transition(
        _P.UNDER_RECOVERY,
        ATTEMPT,
        _P.UNDER_RECOVERY,
        "namenode: the attempt before timed out, was refused, or lost its primary; or another "
        "namenode is active now",
    ),
    Transition(
        _P.UNDER_RECOVERY,
        "OP_CLOSE",
        _P.COMPLETE,
        "primary datanode: `commitBlockSynchronization` with the agreed length; or no replica has "
        "a byte, and a snapshot shows some",
    ),
    Transition(
        _P.UNDER_CONSTRUCTION,
        "OP_UPDATE_BLOCKS",
        _P.COMPLETE,
        "replay of the log: its file is without the block, and a snapshot shows it",
    ),
    Transition(
        _P.UNDER_RECOVERY,
        "OP_UPDATE_BLOCKS",
        _P.COMPLETE,
        "primary datanode: no replica has a byte, a snapshot shows some; the file stays open",
    ),
    Transition(
        _P.UNDER_CONSTRUCTION,
        REMOVED,
        _P.REMOVED,
        "client: `abandonBlock`, or its file is deleted; namenode: lease recovery of a block "
        "that nobody wrote",
    ),
    Transition(
        _P.UNDER_RECOVERY,
        REMOVED,
        _P.REMOVED,
        "primary datanode: no replica has a byte; or its file is deleted",
    ),
    Transition(_P.COMMITTED, REMOVED, _P.REMOVED, "client: its file is deleted"),
    Transition(
        _P.COMPLETE,
        REMOVED,
        _P.REMOVED,
        "client: its file is deleted, replaced or truncated, or its last snapshot is deleted",
    ),
)
