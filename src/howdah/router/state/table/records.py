"""Mount entries as Hadoop's records (pure): on the admin port, and in files of the state store.

A record of the store is one line, the protobuf message in base 64, in a file named after its
primary key. Hadoop: MountTablePBImpl, DisabledNameservicePBImpl, StateStoreSerializerPBImpl.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.proto import router_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import StorageType
from howdah.protocol.messages import parse
from howdah.router.state.table.mount_table import Destination, MountEntry, Order, Quota
from howdah.router.state.table.quotas import Usage

M = TypeVar("M", bound=Message)

_SIGN: Final = 1 << 63
_WRAP: Final = 1 << 64
_MOST_CHARACTERS: Final = 4096
_MOST_DESTINATIONS: Final = 256


def from_uint64(number: int) -> int:
    """What Java writes into an unsigned field is signed."""
    return number - _WRAP if number & _SIGN else number


def to_uint64(number: int) -> int:
    return number % _WRAP


def entry_to_proto(entry: MountEntry, used: Usage | None = None) -> pb.MountTableRecordProto:
    """With what the destinations use now, for those who show it."""
    used = used or Usage()
    return pb.MountTableRecordProto(
        srcPath=entry.source,
        destinations=[
            pb.RemoteLocationProto(nameserviceId=destination.nameservice, path=destination.path)
            for destination in entry.destinations
        ],
        dateCreated=entry.created_ms,
        dateModified=entry.modified_ms,
        readOnly=entry.read_only,
        destOrder=entry.order.name,
        ownerName=entry.owner,
        groupName=entry.group,
        mode=entry.mode,
        quota=types_pb2.QuotaUsageProto(
            fileAndDirectoryCount=to_uint64(used.names),
            quota=to_uint64(entry.quota.names),
            spaceConsumed=to_uint64(used.space_bytes),
            spaceQuota=to_uint64(entry.quota.space_bytes),
            typeQuotaInfos=type_quotas_to_proto(entry.quota, used),
        ),
        faultTolerant=entry.fault_tolerant,
    )


def type_quotas_to_proto(quota: Quota, used: Usage) -> types_pb2.StorageTypeQuotaInfosProto | None:
    """None for a quota that has none."""
    if not quota.by_type:
        return None
    consumed = dict(used.by_type)
    return types_pb2.StorageTypeQuotaInfosProto(
        typeQuotaInfo=[
            types_pb2.StorageTypeQuotaInfoProto(
                type=storage_type.name,
                quota=to_uint64(limit),
                consumed=to_uint64(consumed.get(storage_type, 0)),
            )
            for storage_type, limit in quota.by_type
        ]
    )


def consumed_by_type(quota: types_pb2.QuotaUsageProto) -> tuple[tuple[StorageType, int], ...]:
    """Return what a namenode, or a router, reports as used on storages of types with a quota."""
    return tuple(
        sorted(
            (StorageType(usage.type), max(from_uint64(usage.consumed), 0))
            for usage in quota.typeQuotaInfos.typeQuotaInfo
        )
    )


def _limits_by_type(quota: types_pb2.QuotaUsageProto) -> tuple[tuple[StorageType, int], ...]:
    """Return the quotas by storage type. Hadoop sends -1 for types without one."""
    limits = {
        StorageType(usage.type): from_uint64(usage.quota)
        for usage in quota.typeQuotaInfos.typeQuotaInfo
    }
    return tuple(
        sorted((storage_type, limit) for storage_type, limit in limits.items() if limit >= 0)
    )


def entry_from_proto(message: pb.MountTableRecordProto) -> MountEntry:
    """Raises IllegalArgument for a record that is no valid entry."""
    if len(message.destinations) > _MOST_DESTINATIONS:
        raise errors.IllegalArgument(
            f"{len(message.destinations)} destinations; at most {_MOST_DESTINATIONS} are allowed"
        )
    texts = [message.srcPath, message.ownerName, message.groupName]
    texts += [
        text
        for destination in message.destinations
        for text in (destination.nameserviceId, destination.path)
    ]
    if any(len(text) > _MOST_CHARACTERS or "\0" in text or "\n" in text for text in texts):
        raise errors.IllegalArgument("Invalid entry, a text is too long or has control characters")
    quota = Quota()
    if message.HasField("quota"):
        names, space = message.quota.quota, message.quota.spaceQuota
        quota = Quota(
            max(from_uint64(names), -1),
            max(from_uint64(space), -1),
            _limits_by_type(message.quota),
        )
    mode = message.mode if message.HasField("mode") else 0o755
    if not 0 <= mode <= 0o7777:
        raise errors.IllegalArgument(f"Invalid entry, the mode {mode:o} is none")
    entry = MountEntry(
        message.srcPath,
        tuple(
            Destination(destination.nameserviceId, destination.path)
            for destination in message.destinations
        ),
        Order[pb.MountTableRecordProto.DestOrder.Name(message.destOrder)],
        message.readOnly,
        message.faultTolerant,
        message.ownerName,
        message.groupName,
        mode,
        quota,
        message.dateCreated,
        message.dateModified,
    )
    entry.check()
    return entry


def file_name(primary_key: str) -> str:
    """The name of the file of a record.

    >>> file_name("/data/a")
    '0SLASH0data0SLASH0a'
    """
    return primary_key.replace("/", "0SLASH0").replace(":", "_")


def to_line(message: Message) -> bytes:
    return base64.b64encode(message.SerializeToString())


def from_lines(data: bytes, kind: type[M]) -> M:
    """The record in a file. Raises IllegalArgument if there is none."""
    for line in data.splitlines():
        if line and not line.startswith(b"#"):
            try:
                return parse(kind, base64.b64decode(line, validate=True))
            except (binascii.Error, DecodeError) as error:
                raise errors.IllegalArgument(f"the record cannot be read: {error}") from error
    raise errors.IllegalArgument("the file holds no record")
