"""How a writer takes over the log (pure). Hadoop: QuorumJournalManager's
createNewUniqueEpoch and recoverUnclosedSegment, SegmentRecoveryComparator.

The steps are those of docs/how-it-works/journal.md:

Q1. **Ask** a majority which epoch it has promised.
Q2. **Take the next epoch.** When a majority has promised it, no former writer gets another
    edit to a majority.
Q3. **Find the last segment**: the one that begins last, of those that the promises name. All
    before it were finished on a majority before it could begin.
Q4. **Wait for the former writer's lease**, while the rest goes on: until then it may answer
    reads. A node says how long such a writer may still serve, by what that one said.
Q5. **Prepare**: what does each node of a majority know of that segment?
Q6. **Choose.** A finished segment is the log. Else what was accepted, or written, in the
    latest epoch; of these the longest. So whatever a majority had is in it.
Q7. **Accept**: a majority has the choice as its own, with its records, before anybody acts
    on it. A later recovery finds it there.
Q8. **Finish** the segment, on a majority. Then the log can be read, and goes on behind it.

A step that gets no majority ends the writer, and the next one begins with Q1; whatever is
left half done is found by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from howdah import errors
from howdah.namenode.state.quorum.messages import (
    AcceptRecovery,
    Answer,
    FinalizeSegment,
    GetState,
    NewEpoch,
    NodeState,
    Prepared,
    PrepareRecovery,
    Promise,
    SegmentState,
)
from howdah.namenode.state.quorum.quorum import QuorumCall, Steps, Writer, settled


@dataclass(frozen=True, slots=True)
class Recovered:
    """`segment` is the one that was recovered; None if there is none, or if only a minority
    had begun one, with nothing in it that was ever acknowledged.

    The log ends with `end_txid`. Where it has no segment any more, because images made them
    all superfluous, that is the last transaction that a node knows to be committed, and
    `is_exact` is False: the log may have ended a little later.
    """

    epoch: int
    segment: SegmentState | None
    serve_from_ms: int
    end_txid: int
    is_exact: bool = True


def recover(writer: Writer) -> Steps[Recovered]:
    """Make `writer` the one that writes, and finish what the former one left.

    Raises QuorumLost, WriterFenced; CorruptEditLog if the nodes contradict each other.
    """
    states = yield from settled(writer.enqueue("getJournalState", GetState()))  # Q1
    promised = [state.promised_epoch for state in states.values() if isinstance(state, NodeState)]
    epoch = max(promised) + 1
    call = writer.enqueue(f"newEpoch({epoch})", NewEpoch(epoch))  # Q2
    answers = yield from settled(call)
    writer.begin_epoch(epoch)
    promises = {node: promise for node, promise in answers.items() if isinstance(promise, Promise)}
    serve_from_ms = _serve_from_ms(call, promises, writer.lease_ms)  # Q4
    writer.others_until_ms = serve_from_ms
    begun = [
        txid for promise in promises.values() if (txid := promise.last_segment_txid) is not None
    ]
    if not begun:
        known_txid = yield from _known_end(writer)
        return Recovered(epoch, None, serve_from_ms, known_txid, is_exact=False)
    segment = yield from _finish(writer, max(begun))  # Q3
    # What comes before a segment that began is finished, and goes up to it.
    end_txid = max(begun) - 1 if segment is None else segment.last_txid
    return Recovered(epoch, segment, serve_from_ms, end_txid)


def _known_end(writer: Writer) -> Steps[int]:
    """Return how far a log without segments had come, as far as a majority knows. Q5 of any segment
    tells that, too."""
    answers = yield from settled(writer.enqueue("prepareRecovery(1)", PrepareRecovery(1)))
    prepared = [answer for answer in answers.values() if isinstance(answer, Prepared)]
    return max((answer.committed_txid or 0 for answer in prepared), default=0)


def _serve_from_ms(call: QuorumCall, promises: Mapping[str, Promise], lease_ms: int) -> int:
    """Q4. The former writer has its lease from answers of a majority, so one of the nodes that
    promised gave one of them, and knows how long it is good. Where a node does not say, the
    former lease counts as one like ours, of just now."""
    latest_ms = 0
    for node, promise in promises.items():
        left_ms = promise.lease_left_ms
        if left_ms is None:
            left_ms = lease_ms
        if left_ms:
            latest_ms = max(latest_ms, call.answered_at_ms[node] + left_ms + _slack_ms(left_ms))
    return latest_ms


def _slack_ms(lease_ms: int) -> int:
    """For clocks that are read in whole milliseconds, and do not run alike."""
    return 2 + lease_ms // 1000


def _finish(writer: Writer, segment_txid: int) -> Steps[SegmentState | None]:
    name = f"prepareRecovery({segment_txid})"
    answers = yield from settled(writer.enqueue(name, PrepareRecovery(segment_txid)))  # Q5
    best = choose(segment_txid, answers)
    if best is None:
        return None
    segment = best.segment
    assert segment is not None, "what is chosen has a segment"
    name = f"acceptRecovery({segment.first_txid}-{segment.last_txid})"
    yield from settled(writer.enqueue(name, AcceptRecovery(segment, best.url)))  # Q7
    name = f"finalizeLogSegment({segment.first_txid}-{segment.last_txid})"
    finish = FinalizeSegment(segment.first_txid, segment.last_txid)
    yield from settled(writer.enqueue(name, finish))  # Q8
    return SegmentState(segment.first_txid, segment.last_txid, in_progress=False)


def choose(segment_txid: int, answers: Mapping[str, Answer]) -> Prepared | None:
    """Choose what the nodes are to accept (Q6). None if nobody has anything of the segment. Raises
    CorruptEditLog if two nodes have finished it differently, or one knows more to be committed than
    would be chosen."""
    prepared = {node: answer for node, answer in answers.items() if isinstance(answer, Prepared)}
    best = max(prepared.values(), key=_weight, default=None)
    if best is not None and best.segment is None:
        best = None
    end_txid = segment_txid - 1
    if best is not None and best.segment is not None:
        end_txid = best.segment.last_txid
        for node, answer in prepared.items():
            other = answer.segment
            if other is not None and not other.in_progress and other.last_txid != end_txid:
                raise errors.CorruptEditLog(
                    f"{node} has finished the segment {segment_txid} with transaction "
                    f"{other.last_txid}, another journal node with {end_txid}"
                )
    for node, answer in prepared.items():
        if answer.committed_txid is not None and answer.committed_txid > end_txid:
            raise errors.CorruptEditLog(
                f"the log would end with transaction {end_txid}, but {node} knows that it had "
                f"reached {answer.committed_txid}: too many journal nodes have lost their edits"
            )
    return best


def _weight(prepared: Prepared) -> tuple[int, int, int]:
    """What is chosen has the highest."""
    segment = prepared.segment
    if segment is None:
        return 0, 0, 0
    if not segment.in_progress:
        return 2, 0, 0
    # A decision counts as if its epoch had written it.
    epoch = max(prepared.accepted_epoch or 0, prepared.writer_epoch)
    return 1, epoch, segment.last_txid
