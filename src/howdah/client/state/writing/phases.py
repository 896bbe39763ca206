"""The phases of a write pipeline, and every transition between them, as one table (pure).

Hadoop's DataStreamer has these phases in its BlockConstructionStage, its ErrorState and the
order of its loop. `Pipeline` (`howdah.client.state.writing.pipeline`) changes its phase by this
table and in no other way; a test walks at random until every line was taken, and the
documentation prints it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Phase(enum.Enum):
    """Where the stream stands with its current block."""

    NO_BLOCK = "no block"
    ALLOCATING = "a block was asked for"
    ALLOCATED = "a block without a pipeline"
    CONNECTING = "the pipeline is being opened"
    ABANDONING = "the block could not be written anywhere"
    STREAMING = "the pipeline is open"
    BROKEN = "a datanode failed"
    REPLACING = "another datanode was asked for"
    FAILED = "the stream is over"


class Event(enum.Enum):
    """What happens to a pipeline; the values are what the documentation says."""

    ALLOCATE = "allocate"
    ALLOCATED = "allocated"
    CONNECT = "connect"
    CONNECTED = "connected"
    SETUP_FAILED = "setup failed"
    ABANDONED = "abandoned"
    BLOCK_FINISHED = "block finished"
    DATANODE_DROPPED = "datanode dropped"
    RESTART_AWAITED = "restart awaited"
    REOPENED = "reopened"
    REPLACE = "replace"
    REPLACED = "replaced"
    NOT_REPLACED = "not replaced"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Transition:
    """`event` leads from each phase of `before` to `after`."""

    event: Event
    before: tuple[Phase, ...]
    after: Phase
    meaning: str


START: Final = (Phase.NO_BLOCK, Phase.ALLOCATED)
"""Of a stream that begins; the second one for an append to the file's last block."""

TRANSITIONS: Final = (
    Transition(
        Event.ALLOCATE,
        (Phase.NO_BLOCK,),
        Phase.ALLOCATING,
        "there is data: the namenode is asked for a block",
    ),
    Transition(Event.ALLOCATED, (Phase.ALLOCATING,), Phase.ALLOCATED, "the namenode gave a block"),
    Transition(
        Event.CONNECT,
        (Phase.ALLOCATED, Phase.BROKEN),
        Phase.CONNECTING,
        "the pipeline of the block's datanodes is to be opened",
    ),
    Transition(
        Event.CONNECTED, (Phase.CONNECTING,), Phase.STREAMING, "all its datanodes are ready"
    ),
    Transition(
        Event.SETUP_FAILED,
        (Phase.CONNECTING,),
        Phase.ABANDONING,
        "a datanode of a new block cannot be reached: the block is given back",
    ),
    Transition(
        Event.ABANDONED,
        (Phase.ABANDONING,),
        Phase.NO_BLOCK,
        "the namenode has it back; another one is asked for",
    ),
    Transition(
        Event.BLOCK_FINISHED,
        (Phase.STREAMING, Phase.CONNECTING),
        Phase.NO_BLOCK,
        "the last packet is acknowledged, or its datanodes have finalized the block in recovery",
    ),
    Transition(
        Event.DATANODE_DROPPED,
        (Phase.STREAMING, Phase.CONNECTING, Phase.REPLACING),
        Phase.BROKEN,
        "a datanode of a block with data failed; the others go on",
    ),
    Transition(
        Event.RESTART_AWAITED,
        (Phase.STREAMING, Phase.CONNECTING),
        Phase.BROKEN,
        "a datanode restarts, and the writer waits for it",
    ),
    Transition(
        Event.REOPENED,
        (Phase.STREAMING,),
        Phase.BROKEN,
        "another internal block of an erasure coded group failed: this one needs a new stamp",
    ),
    Transition(
        Event.REPLACE,
        (Phase.BROKEN,),
        Phase.REPLACING,
        "the policy wants another datanode in its place",
    ),
    Transition(
        Event.REPLACED, (Phase.REPLACING,), Phase.BROKEN, "another datanode has the data so far"
    ),
    Transition(
        Event.NOT_REPLACED, (Phase.REPLACING,), Phase.BROKEN, "no other datanode could take it"
    ),
    Transition(
        Event.FAIL,
        tuple(Phase),
        Phase.FAILED,
        "no datanode is left, attempts are used up, or the namenode refuses",
    ),
)

_ALLOWED: Final = frozenset(
    (rule.event, before, rule.after) for rule in TRANSITIONS for before in rule.before
)


def is_allowed(event: Event, before: Phase, after: Phase) -> bool:
    return (event, before, after) in _ALLOWED


def markdown() -> str:
    """The table as the documentation has it."""
    lines = ["| event | from | to | what happens |", "|---|---|---|---|"]
    for rule in TRANSITIONS:
        every = len(rule.before) == len(Phase)
        before = "any" if every else ", ".join(phase.name for phase in rule.before)
        lines.append(f"| {rule.event.value} | {before} | {rule.after.name} | {rule.meaning} |")
    return "\n".join(lines) + "\n"
