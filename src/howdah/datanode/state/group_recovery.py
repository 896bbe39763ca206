"""What the internal blocks of a block group become when it is recovered (pure).

BlockRecoveryWorker.RecoveryTaskStriped in Hadoop.

A writer of an erasure-coded file is gone. The steps are those of any block (`block_recovery`),
but each internal block is one of its own, and the rest of them tells how long it may be:

- Nobody was ever told that bytes of an open group are safe: a writer that syncs is told that it
  cannot. So no length has to be kept, and stripes that are whole are.
- A stripe is whole where as many internal blocks as there are data units have all of their cells
  of it. The group ends behind the last of those; a stripe that was begun is dropped.
- The last stripe of a file may be short, and its parity has a whole cell nevertheless, if its first
  data cell is one. Decoded it would end in zeros that nobody wrote. So the last stripe of which
  anybody has bytes is dropped as well where a datanode has less than the whole data cell of it,
  unless the namenode knows from the writer that the group has all of it. (Hadoop keeps it, with
  the zeros.)
- Each internal block is cut to its length in such a group. One that is shorter is left out: it is
  made anew from the others, once the file is closed.

The group is dropped where it is certain that too few internal blocks have bytes, or none of them
a whole cell. Where datanodes are silent, which may have what is missing, the attempt fails, and
the namenode makes another.

A group of final length (committed), of which restarts have left unfinished replicas, keeps that
length, and is not dropped: internal blocks that are as long as they have to be are finished. Where
these are fewer than a reader needs, the attempt fails, and nothing is cut. Hadoop has no such
recovery: it leaves the group, and the file open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.state.block_recovery import Candidate
from howdah.datanode.state.messages import BlockSynchronized, RecoverGroup
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import (
    NO_DATANODE,
    DatanodeAddress,
    ExtendedBlock,
)
from howdah.protocol.striping.layout import GroupLayout, safe_length


@dataclass(frozen=True, slots=True)
class Location:
    """An internal block at one of its datanodes."""

    node: DatanodeAddress
    index: int

    def __str__(self) -> str:
        return f"block {self.index} at {self.node}"


Answers = Mapping[Location, Candidate | Exception | None]
"""What each datanode said when it was asked: None if it has no replica."""

Longest = dict[int, tuple[Location, Candidate]]
"""Of each internal block the longest that was found."""

Outcomes = Mapping[Location, str | Exception]
"""The storage on which each participant has its block now, or why it doesn't."""


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """`participants` are to have their blocks of `group`: its id, new stamp and length. None:
    too few have a byte."""

    group: ExtendedBlock
    participants: Mapping[Location, Candidate]


def agree(order: RecoverGroup, answers: Answers) -> GroupAgreement:
    """Return what the recovery comes to. Raises `RecoveryInProgress` if another attempt is ahead
    of this one, `RemoteError` if the answers are not enough to decide anything safely."""
    _give_way(order, answers)
    group = ExtendedBlock(order.group.pool_id, order.group.block_id, order.recovery_id)
    needed = order.policy.schema.data_units
    longest: Longest = {}
    for location, answer in answers.items():
        if _counts(order, answer):
            assert isinstance(answer, Candidate)
            known = longest.get(location.index)
            if known is None or known[1].length_bytes < answer.length_bytes:
                longest[location.index] = location, answer
    if order.committed_bytes is not None:
        return _keep(order, longest, answers)
    if len(longest) < needed:
        silent = [location for location, answer in answers.items() if isinstance(answer, Exception)]
        could_be = longest.keys() | {location.index for location in silent}
        if len(could_be) < needed:
            return GroupAgreement(group, {})
        raise errors.RemoteError(
            f"{len(longest)} internal blocks of {order.group} were found, {order.policy.name} "
            f"needs {needed}, and {len(silent)} datanodes don't answer: {_list(answers)}"
        )
    lengths = [candidate.length_bytes for _, candidate in longest.values()]
    layout = GroupLayout(order.policy, safe_length(order.policy, lengths))
    if _may_end_in_zeros(order, answers, longest, layout):
        layout = GroupLayout(order.policy, layout.length - layout.stripe_bytes)
    if not layout.length:
        return GroupAgreement(group, {})
    return GroupAgreement(group.with_length(layout.length), _long_enough(longest, layout))


def _may_end_in_zeros(
    order: RecoverGroup, answers: Answers, longest: Longest, layout: GroupLayout
) -> bool:
    """Whether the last stripe of this layout may be the short one at the end of a file."""
    end = layout.stripes * order.policy.cell_bytes
    has_more = any(candidate.length_bytes > end for _, candidate in longest.values())
    if not layout.length or has_more or layout.length <= order.group.length_bytes:
        return False
    silent = {place.index for place, answer in answers.items() if isinstance(answer, Exception)}
    return any(
        index not in longest or longest[index][1].length_bytes < end
        for index in {location.index for location in answers} - silent
        if index < order.policy.schema.data_units
    )


def _keep(order: RecoverGroup, longest: Longest, answers: Answers) -> GroupAgreement:
    """The same of a group that has `committed_bytes`."""
    assert order.committed_bytes is not None, order
    layout = GroupLayout(order.policy, order.committed_bytes)
    participants = _long_enough(longest, layout)
    if len(participants) < layout.data_blocks:
        raise errors.RemoteError(
            f"{order.group} was committed with {layout.length} bytes: {len(participants)} of its "
            f"internal blocks are whole, and a reader needs {layout.data_blocks}: {_list(answers)}"
        )
    group = ExtendedBlock(order.group.pool_id, order.group.block_id, order.recovery_id)
    return GroupAgreement(group.with_length(layout.length), participants)


def _long_enough(longest: Longest, layout: GroupLayout) -> dict[Location, Candidate]:
    return {
        location: candidate
        for location, candidate in longest.values()
        if candidate.length_bytes >= layout.block_length(location.index) > 0
    }


def settle(order: RecoverGroup, agreement: GroupAgreement, outcomes: Outcomes) -> BlockSynchronized:
    """Return what the namenode is told: for each index the datanode that has it. Raises
    `RecoveryInProgress` if another attempt came in between, `RemoteError` if fewer participants
    than there are data units have what was agreed on."""
    _give_way(order, outcomes)
    done = {
        location.index: (location.node, storage_id)
        for location, storage_id in outcomes.items()
        if isinstance(storage_id, str)
    }
    schema = order.policy.schema
    needed = GroupLayout(order.policy, agreement.group.length_bytes).data_blocks
    if agreement.participants and len(done) < needed:
        raise errors.RemoteError(
            f"{len(done)} internal blocks of {order.group} could be set to their lengths in "
            f"{agreement.group.length_bytes} bytes of {order.policy.name}, and a reader needs "
            f"{needed}: {_list(outcomes)}"
        )
    held = [done.get(index, (NO_DATANODE, "")) for index in range(schema.units)] if done else []
    return BlockSynchronized(
        order.group,
        order.recovery_id,
        agreement.group.length_bytes,
        not agreement.participants,
        tuple(node for node, _ in held),
        tuple(storage_id for _, storage_id in held),
        order.ordered_by,
    )


def _counts(order: RecoverGroup, answer: Candidate | Exception | None) -> bool:
    """Whether a datanode has bytes of its block that belong to the group as it is."""
    return (
        isinstance(answer, Candidate)
        and answer.generation_stamp >= order.group.generation_stamp
        and answer.state is not ReplicaState.TEMPORARY
        and answer.length_bytes > 0
    )


def _give_way(order: RecoverGroup, said: Mapping[Location, object]) -> None:
    for location, answer in said.items():
        if isinstance(answer, errors.RecoveryInProgress):
            raise errors.RecoveryInProgress(
                f"recovery {order.recovery_id} of {order.group} gives way: {location}: {answer}"
            )


def _list(said: Mapping[Location, object]) -> str:
    return "; ".join(
        f"{location}: {'no replica' if answer is None else answer}"
        for location, answer in said.items()
    )
