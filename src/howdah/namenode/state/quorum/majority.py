"""Which edits are durable, as the nodes that hold them tell it (pure). Hadoop: what
QuorumJournalManager.selectRpcInputStreams makes of getJournaledEdits.

Q16. A reader believes the records that a majority has alike, byte for byte, from where it
     asks. What a majority has is committed. To compare the numbers of records alone would not
     do: a node that was cut off may still have records of a former writer that no majority
     ever had, in the place of those that are the log now.

     The first record of a segment is the same from every writer, so a majority that has it
     alike may have it of different writers, and lose it again. A reader believes that record
     when another one follows, or when a node knows that it is committed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence


def agreed(logs: Sequence[Sequence[bytes]], needed: int) -> Sequence[bytes]:
    """The longest beginning that `needed`, a majority, of `logs` have alike."""
    alike = [log for log in logs if log]
    count = 0
    while len(alike) >= needed:
        longest = max(alike, key=len)
        if all(log == longest for log in alike):
            return longest
        record, has_it = Counter(log[count] for log in alike).most_common(1)[0]
        if has_it < needed:
            break
        count += 1
        alike = [log for log in alike if log[count - 1] == record]
        if sum(len(log) > count for log in alike) < needed:
            break
        alike = [log for log in alike if len(log) > count]
    return alike[0][:count] if alike else ()


def trusted_records(
    records: Sequence[bytes],
    first_txid: int,
    committed_txid: int,
    begins_segment: Callable[[bytes], bool],
) -> Sequence[bytes]:
    """What a reader believes of agreed records, of which the first has `first_txid`, when it
    knows that transactions up to `committed_txid` are committed."""
    if records and begins_segment(records[-1]):
        last_txid = first_txid + len(records) - 1
        if last_txid > committed_txid:
            return records[:-1]
    return records


def agreed_bytes(blocks: Sequence[bytes], needed: int) -> bytes:
    """The same of bytes."""
    if len(set(blocks)) == 1:
        return blocks[0]
    low, high = 0, max(map(len, blocks), default=0)
    # A shorter beginning is shared by as many at least: the longest is found by halving.
    while low < high:
        middle = (low + high + 1) // 2
        if _most_common(blocks, middle)[1] >= needed:
            low = middle
        else:
            high = middle - 1
    return _most_common(blocks, low)[0]


def _most_common(blocks: Sequence[bytes], length: int) -> tuple[bytes, int]:
    """The beginning of some length that most have, and how many have it."""
    beginnings = Counter(block[:length] for block in blocks if len(block) >= length)
    return beginnings.most_common(1)[0] if beginnings else (b"", 0)
