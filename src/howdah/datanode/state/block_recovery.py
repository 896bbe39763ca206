"""What the replicas of a block become when it is recovered (pure).

BlockRecoveryWorker.RecoveryTaskContiguous in Hadoop.

A writer is gone, or a file is truncated, and the block's replicas may differ. The
namenode makes one datanode the primary and gives the attempt a recovery id, which is
also the block's next generation stamp. The steps, at the primary:

1. ask each datanode of the block to take its replica under recovery: nobody writes it
   any more, and it says what it has;
2. agree (`agree`): which replicas count, and at what length;
3. have each of them set to that length and the new stamp, and finalized. Those that
   fail are left out;
4. tell the namenode who has the block now, and how long it is.

**Which replicas count.** One that is older than the block fell out of its pipeline, and
lacks what came after. Among the others a finalized one beats one that was being
written (RBW), and that beats one whose datanode restarted (RWR): the best state that is
there sets the length.

**The length never drops a byte that a client was told is safe.** A client is told when
every datanode of the pipeline has acknowledged, and each acknowledges what it has
written. So of the replicas that were members of the pipeline:

- a finalized one got the end of the block: it has all there is. Another one that has as
  much, or more (an attempt that died half-way may have cut this one alone), can be set
  to the same;
- every RBW one has at least what was acknowledged, so their shortest has, and all of them
  can be set to it. What is longer was on its way, and nobody was told of it;
- an RWR one had that, too, but its machine may have lost power, and with it what was not
  synced. It cannot know. So the longest counts, whose checksums were all verified: it has
  every acknowledged byte that is left anywhere. The others lack bytes and are made anew.

What the namenode knows of the length (`block.length_bytes`: acknowledged when a pipeline
was rebuilt or a length was synced) is a floor: a replica below it has lost bytes, and
doesn't count while there is one that hasn't.

**No bytes anywhere.** Where all answer and none has a byte, the block is dropped. So it is
where a live member of the pipeline says that it has none, as nothing was acknowledged
then. But where some don't answer and others just don't know the block, those that are
silent may have it all: the attempt fails, and the namenode makes another.

A truncate says which length it wants, and every replica that has so much takes part.

Two attempts may run at once. Each replica goes to the higher id, and whoever is refused
one gives up. A primary that dies half-way leaves replicas with its id as their stamp,
which is newer than the block's and older than the next attempt's: they count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from howdah import errors
from howdah.datanode.state.messages import BlockSynchronized, RecoverBlock
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replica under recovery, and what it was before (ReplicaRecoveryInfo)."""

    block_id: int
    generation_stamp: int
    length_bytes: int
    state: ReplicaState

    def as_block(self, pool_id: str) -> ExtendedBlock:
        return ExtendedBlock(pool_id, self.block_id, self.generation_stamp, self.length_bytes)

    def __str__(self) -> str:
        return f"{self.length_bytes} bytes, {self.state.name}, stamp {self.generation_stamp}"


Answers = Mapping[DatanodeAddress, Candidate | Exception | None]
"""What each datanode said when it was asked: None if it has no replica."""

Outcomes = Mapping[DatanodeAddress, str | Exception]
"""The storage on which each participant has the block now, or why it doesn't."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """`participants` are to have `block`: its id, stamp and length. None: nobody has a byte."""

    block: ExtendedBlock
    participants: Mapping[DatanodeAddress, Candidate]


def agree(order: RecoverBlock, answers: Answers) -> Agreement:
    """What the recovery comes to. `RecoveryInProgress` if another attempt is ahead of this
    one, `RemoteError` if the answers are not enough to decide anything safely."""
    for node, answer in answers.items():
        if isinstance(answer, errors.RecoveryInProgress):
            raise errors.RecoveryInProgress(
                f"recovery {order.recovery_id} of {order.block} gives way: {node}: {answer}"
            )
    block = order.target or order.block
    result = ExtendedBlock(order.block.pool_id, block.block_id, order.recovery_id)
    members = {
        node: answer
        for node, answer in answers.items()
        if isinstance(answer, Candidate)
        and answer.generation_stamp >= order.block.generation_stamp
        and answer.state is not ReplicaState.TEMPORARY
    }
    candidates = {node: member for node, member in members.items() if member.length_bytes > 0}
    if order.target is not None:
        return _truncate(order, result.with_length(order.target.length_bytes), candidates, answers)
    if not candidates:
        _check_empty(order, members, answers)
        return Agreement(result, {})
    floor = order.block.length_bytes
    whole = {node: one for node, one in candidates.items() if one.length_bytes >= floor}
    length, participants = _choose(whole or candidates)
    return Agreement(result.with_length(length), participants)


def _choose(
    candidates: Mapping[DatanodeAddress, Candidate],
) -> tuple[int, dict[DatanodeAddress, Candidate]]:
    """(the length, those that can be set to it)"""
    best = min((one.state for one in candidates.values()), key=_STATES.index)
    of_best = [one for one in candidates.values() if one.state is best]
    states: tuple[ReplicaState, ...] = (best,)
    match best:
        case ReplicaState.FINALIZED:
            # An attempt that died half-way finalized some under its id: the latest says.
            latest = max(of_best, key=lambda one: (one.generation_stamp, one.length_bytes))
            length, states = latest.length_bytes, (ReplicaState.FINALIZED, ReplicaState.RBW)
        case ReplicaState.RBW:
            length = min(one.length_bytes for one in of_best)
        case _:
            length = max(one.length_bytes for one in of_best)
    return length, {
        node: one
        for node, one in candidates.items()
        if one.state in states and one.length_bytes >= length
    }


_STATES = (ReplicaState.FINALIZED, ReplicaState.RBW, ReplicaState.RWR)


def _truncate(
    order: RecoverBlock,
    result: ExtendedBlock,
    candidates: Mapping[DatanodeAddress, Candidate],
    answers: Answers,
) -> Agreement:
    length = result.length_bytes
    participants = {node: one for node, one in candidates.items() if one.length_bytes >= length}
    if not participants:
        raise errors.RemoteError(
            f"no replica of {order.block} has {length} bytes, to which it is truncated: "
            f"{_list(answers)}"
        )
    return Agreement(result, participants)


def _check_empty(
    order: RecoverBlock, members: Mapping[DatanodeAddress, Candidate], answers: Answers
) -> None:
    """Whether it is certain that nothing of the block was ever acknowledged."""
    live = (ReplicaState.FINALIZED, ReplicaState.RBW)
    failed = [node for node, answer in answers.items() if isinstance(answer, Exception)]
    if failed and not any(member.state in live for member in members.values()):
        raise errors.RemoteError(
            f"{len(failed)} of {len(answers)} datanodes of {order.block} don't answer, and no "
            f"other has a byte of it: {_list(answers)}"
        )


def settle(order: RecoverBlock, agreement: Agreement, outcomes: Outcomes) -> BlockSynchronized:
    """What the namenode is told. `RecoveryInProgress` if another attempt came in between,
    `RemoteError` if no participant has what was agreed on."""
    for node, outcome in outcomes.items():
        if isinstance(outcome, errors.RecoveryInProgress):
            raise errors.RecoveryInProgress(
                f"recovery {order.recovery_id} of {order.block} gives way: {node}: {outcome}"
            )
    done = {node: outcome for node, outcome in outcomes.items() if isinstance(outcome, str)}
    if agreement.participants and not done:
        raise errors.RemoteError(
            f"no replica of {order.block} could be set to {agreement.block.length_bytes} bytes: "
            f"{_list(outcomes)}"
        )
    return BlockSynchronized(
        order.block,
        order.recovery_id,
        agreement.block.length_bytes,
        not agreement.participants,
        tuple(done),
        tuple(done.values()),
        order.ordered_by,
    )


def _list(said: Mapping[DatanodeAddress, object]) -> str:
    return "; ".join(
        f"{node}: {'no replica' if answer is None else answer}" for node, answer in said.items()
    )
