"""An answer as facts: each field that is set, by its path, with its value (pure).

A value that no two runs have in common (an id, a time, a port) stands as `*`: that the
field is there is the fact, and that it is empty where it is. What the answer has beyond
our definitions is a fact, too, by its number. Two encoders of one set of facts give the
same bytes, but for such values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

Facts = dict[str, str]

ANY: Final = "*"
# Ids, times, addresses, sizes of disks, and words that are for people.
_VOLATILE: Final = re.compile(
    r"""\b(
    blockId | generationStamp | genStamp | newGenStamp | fileId | poolId | blockpoolID |
    blockPoolID | blockPoolId | clusterID | namespceID | cTime | layoutVersion |
    modification_time | access_time | modificationTime | accessTime | mtime | atime |
    ipAddr | hostName | datanodeUuid | xferPort | infoPort | ipcPort | infoSecurePort |
    storageUuid | storageUuids | storageIDs | storageId | location |
    lastUpdate | lastUpdateMonotonic | lastBlockReportTime | lastBlockReportMonotonic |
    capacity | remaining | used | dfsUsed | nonDfsUsed | blockPoolUsed | dfsUsedPercent |
    xceiverCount | numBlocks | pending_deletion_blocks | fullBlockReportLeaseId | challenge |
    bandwidth | freeSpace | usedSpace | reservedSpace | path |
    owner | group | clientId | callId | message | errorMsg | firstBadLink |
    softwareVersion | configVersion | uptime | buildVersion | snapshotQuota |
    txid | txId | firstTxid | lastTxid | curSegmentTxId | mostRecentCheckpointTxId |
    startTxId | endTxId | committedTxnId | newSegmentTxId | id | parentFullpath |
    localPath | localMetaPath | httpTimeout | syncTxid | seqno | serverId | proto
    )$""",
    re.VERBOSE,
)


def facts_of(message: Message, at: str = "") -> Facts:
    """Every field of `message` that is set; an empty message is a fact by itself."""
    return dict(_facts(message, at))


def _facts(message: Message, at: str) -> Iterator[tuple[str, str]]:
    for field, value in message.ListFields():
        path = f"{at}.{field.name}" if at else field.name
        if field.is_repeated:
            for number, part in enumerate(value):
                yield from _of_field(field, part, f"{path}[{number}]")
        else:
            yield from _of_field(field, value, path)
    for unknown in UnknownFieldSet(message):  # type: ignore[attr-defined]  # it has __iter__
        yield f"{at}#{unknown.field_number}", ANY


def _of_field(field: FieldDescriptor, value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Message):
        yield path, "{}"
        yield from _facts(value, path)
    elif value not in ("", b"") and _VOLATILE.search(re.sub(r"\[\d+\]$", "", path)):
        yield path, ANY
    elif field.enum_type is not None:
        known = field.enum_type.values_by_number.get(int(str(value)))
        yield path, known.name if known else str(value)
    else:
        yield path, repr(value)


@dataclass(frozen=True, slots=True)
class Allowed:
    """A difference that is meant: in which exchanges, at which fields, and why."""

    exchange: str
    field: str
    why: str

    def covers(self, exchange: str, field: str) -> bool:
        return fnmatchcase(exchange, self.exchange) and fnmatchcase(field, self.field)


def differences(
    theirs: Mapping[str, Facts], ours: Mapping[str, Facts]
) -> Iterator[tuple[str, str, str]]:
    """Exchange, field, and what differs, in words."""
    for exchange in {**theirs, **ours}:
        there, here = theirs.get(exchange), ours.get(exchange)
        if there is None or here is None:
            yield exchange, "", "only Hadoop was asked" if here is None else "only we were asked"
            continue
        for field in {**there, **here}:
            value, own = there.get(field), here.get(field)
            if value != own:
                yield exchange, field, f"Hadoop: {value}, howdah: {own}"
