"""The small files of a journal, byte for byte as Hadoop has them (pure).

    last-promised-epoch, last-writer-epoch    a number as text and a line's end
                                              (PersistentLongFile)
    howdah-lease-ms                           the same; ours alone
    committed-txid                            a number in eight bytes, written in place
                                              (BestEffortLongFile)
    paxos/<first txid>                        a decision: PersistedRecoveryPaxosData with its
                                              length before it, and behind it the same as
                                              text, for people

What cannot be read raises InconsistentStorage with the file's name: an acceptor that guessed
its promises would break them.
"""

from __future__ import annotations

import struct
from typing import Final

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from howdah import errors
from howdah.journalnode.state.journal_state import MAX_NUMBER, Decision, SegmentState
from howdah.proto import qjournal_pb2 as pb
from howdah.protocol.messages import parse
from howdah.protocol.varint import decode_varint, delimited

LAST_PROMISED: Final = "last-promised-epoch"
LAST_WRITER: Final = "last-writer-epoch"
COMMITTED: Final = "committed-txid"
JOINING: Final = "howdah-joining"
"""An empty file that is there while the node has no vote. Hadoop does not know it."""
LEASE: Final = "howdah-lease-ms"
"""The longest lease that a writer may hold. Hadoop does not know it."""
DECISIONS: Final = "paxos"
"""The directory of decisions, each under the first transaction of its segment."""

_LONG: Final = struct.Struct(">q")
_INVALID_TXID: Final = -12345
"""What Hadoop writes for no transaction."""


def encode_number(number: int) -> bytes:
    return b"%d\n" % number


def decode_number(content: bytes, name: str, quantity: str) -> int:
    """Decode a number; `name` is the file's and `quantity` the number's, for errors."""
    try:
        number = int(content)
    except ValueError:
        number = -1
    if not 0 <= number <= MAX_NUMBER:
        raise errors.InconsistentStorage(f"{name} does not hold {quantity}")
    return number


def encode_committed(txid: int | None) -> bytes:
    return _LONG.pack(_INVALID_TXID if txid is None else txid)


def decode_committed(content: bytes, name: str) -> int | None:
    """None if no transaction is known to be committed, or a crash came before the first was
    written. It is a lower bound, so it may be lost; a number that is none is no loss."""
    if len(content) < _LONG.size:
        return None
    (txid,) = _LONG.unpack_from(content)
    if txid == _INVALID_TXID:
        return None
    if txid < 0:
        raise errors.InconsistentStorage(f"{name} does not hold a transaction id")
    return int(txid)


def encode_decision(decision: Decision) -> bytes:
    segment = decision.segment
    message = pb.PersistedRecoveryPaxosData(
        segmentState=pb.SegmentStateProto(
            startTxId=segment.first_txid,
            endTxId=segment.last_txid,
            isInProgress=segment.in_progress,
        ),
        acceptedInEpoch=decision.epoch,
    )
    as_text = text_format.MessageToString(message)
    return delimited(message) + b"\n" + as_text.encode() + b"\n"


def decode_decision(content: bytes, first_txid: int, name: str) -> Decision:
    try:
        length, start = decode_varint(content) or (len(content), 0)
        if len(content) < start + length:
            raise DecodeError("it is cut off")
        message = parse(pb.PersistedRecoveryPaxosData, content[start : start + length])
    except (DecodeError, errors.ProtocolViolation) as error:
        raise errors.InconsistentStorage(f"{name} does not hold a decision: {error}") from error
    segment_state = message.segmentState
    if segment_state.startTxId != first_txid:
        raise errors.InconsistentStorage(
            f"{name} holds a decision about the segment of transaction {segment_state.startTxId}"
        )
    segment = SegmentState(
        segment_state.startTxId, segment_state.endTxId, segment_state.isInProgress
    )
    return Decision(segment, message.acceptedInEpoch)
