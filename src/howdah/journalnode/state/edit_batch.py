"""A batch of records, as a writer sends it and as a reader gets it (pure).

What comes from outside is checked before it is acknowledged: a batch is as many whole records
as it says, each with the right checksum and the right transaction id.
"""

from __future__ import annotations

from howdah import errors
from howdah.formats.edits.codec import MAX_RECORD_BYTES, check_record, record_length
from howdah.formats.malformed import MalformedRecord


def offsets(records: bytes, first_txid: int, count: int) -> tuple[int, ...]:
    """Return where each of the records begins.

    Raises CorruptEditLog if they are not `count` whole ones from `first_txid` on.
    """
    starts: list[int] = []
    at = 0
    try:
        while at < len(records) and len(starts) < count:
            length = record_length(records, at, limit=MAX_RECORD_BYTES)
            txid = check_record(records[at : at + length])
            if txid != first_txid + len(starts):
                raise MalformedRecord(f"transaction {txid} stands in its place")
            starts.append(at)
            at += length
    except MalformedRecord as error:
        raise errors.CorruptEditLog(
            f"the record of transaction {first_txid + len(starts)} is damaged: {error}"
        ) from error
    if at != len(records) or len(starts) != count:
        raise errors.CorruptEditLog(
            f"{len(records)} bytes are not {count} records from transaction {first_txid} on"
        )
    return tuple(starts)
