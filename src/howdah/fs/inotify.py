"""Watching a namespace: `fs.inotify()` gives what happens, in the order of the edit log.

    with howdah.connect("hdfs://host:8020") as fs:
        for batch in fs.inotify():
            for event in batch.events:
                match event:
                    case CloseEvent(path):
                        print("written:", path)

A batch is what one transaction did. Whoever keeps `batch.txid` goes on behind it with
`fs.inotify(last_txid=…)`, also in another process. The namenode keeps its edits for
some time only: who asks too late gets MissingEvents, with the first transaction that
is left. Only the superuser may watch, because events name paths of everybody.

Mirrors Hadoop's DFSInotifyEventInputStream.
"""

from __future__ import annotations

import enum
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.fs.acl import AclEntry
from howdah.fs.hdfs.attributes import acl_entry, full_name
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0


class NodeKind(enum.Enum):
    """What was created."""

    FILE = pb.I_TYPE_FILE
    DIRECTORY = pb.I_TYPE_DIRECTORY
    SYMLINK = pb.I_TYPE_SYMLINK


class MetadataKind(enum.Enum):
    """What of a path changed."""

    TIMES = pb.META_TYPE_TIMES
    REPLICATION = pb.META_TYPE_REPLICATION
    OWNER = pb.META_TYPE_OWNER
    PERMISSION = pb.META_TYPE_PERMS
    ACL = pb.META_TYPE_ACLS
    XATTRS = pb.META_TYPE_XATTRS


@dataclass(frozen=True, slots=True)
class CreateEvent:
    """A file, directory or link came into being; a file is still to be written."""

    path: str
    kind: NodeKind
    created_ms: int
    owner: str
    group: str
    permission: int
    replication: int = 0
    block_size: int = 0
    overwrite: bool = False
    symlink_target: str | None = None


@dataclass(frozen=True, slots=True)
class CloseEvent:
    """A file is complete; `length` is -1 where files were joined to it."""

    path: str
    length: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class AppendEvent:
    """A file was opened again, to grow at its end."""

    path: str
    new_block: bool


@dataclass(frozen=True, slots=True)
class RenameEvent:
    """A path, with all below, has another name; an overwritten target has no event."""

    source: str
    destination: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class MetadataEvent:
    """An attribute changed; the fields that `kind` does not speak of say nothing."""

    path: str
    kind: MetadataKind
    modification_time_ms: int
    access_time_ms: int
    replication: int
    owner: str
    group: str
    permission: int | None
    acl: tuple[AclEntry, ...]
    xattrs: tuple[tuple[str, bytes | None], ...]
    xattrs_removed: bool


@dataclass(frozen=True, slots=True)
class UnlinkEvent:
    """A path, with all below, is gone."""

    path: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class TruncateEvent:
    """A file was cut to `length`."""

    path: str
    length: int
    timestamp_ms: int


Event = (
    CreateEvent
    | CloseEvent
    | AppendEvent
    | RenameEvent
    | MetadataEvent
    | UnlinkEvent
    | TruncateEvent
)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """What one transaction did."""

    txid: int
    events: tuple[Event, ...]


class MissingEvents(errors.HowdahError, LookupError):
    """Edits that were asked for are not there any more; `first_txid` is the oldest one
    that is."""

    java_class: ClassVar[str] = "org.apache.hadoop.hdfs.inotify.MissingEventsException"

    def __init__(self, expected_txid: int, first_txid: int) -> None:
        super().__init__(
            f"the edits from transaction {expected_txid} on were purged: the oldest that is left "
            f"is {first_txid}"
        )
        self.expected_txid = expected_txid
        self.first_txid = first_txid


class InotifyStream:
    """Reads the events of one namenode. Not thread-safe."""

    def __init__(
        self,
        namenode: NamenodeProxy,
        last_txid: int | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begins behind `last_txid`, or with what happens from now on."""
        self._namenode = namenode
        self._sleep = sleep
        self._now_s = now_s
        self._waiting: deque[EventBatch] = deque()
        self._sync_txid = -1
        self._last_txid = self._newest_txid() if last_txid is None else last_txid

    def _newest_txid(self) -> int:
        return self._namenode.call(
            "getCurrentEditLogTxid",
            pb.GetCurrentEditLogTxidRequestProto(),
            pb.GetCurrentEditLogTxidResponseProto,
        ).txid

    @property
    def read_txid(self) -> int:
        """How far the log was read; `poll` may still have batches from before that."""
        return self._last_txid

    @property
    def durable_txid(self) -> int:
        """The last transaction that no crash takes back, when this stream last asked; -1 if it has
        not. What lies before it can be read again."""
        return -1 if self._sync_txid < 0 else max(self._sync_txid, self._last_txid)

    @property
    def transactions_behind(self) -> int:
        """How many transactions the log was ahead of this stream when it last asked; -1 if
        it has not."""
        return -1 if self._sync_txid < 0 else max(self._sync_txid - self._last_txid, 0)

    def poll(self) -> EventBatch | None:
        """Return the next batch, or None if there is none yet. Does not wait for events.

        Raises MissingEvents; the next call continues with the events that are left.
        """
        while not self._waiting:
            expected = self._last_txid + 1
            edits = self._namenode.call(
                "getEditsFromTxid",
                pb.GetEditsFromTxidRequestProto(txid=expected),
                pb.GetEditsFromTxidResponseProto,
            ).eventsList
            if edits.lastTxid < 0:
                return None
            self._sync_txid = edits.syncTxid
            self._last_txid = edits.lastTxid
            self._waiting.extend(map(event_batch, edits.batch))
            if edits.firstTxid != expected:
                raise MissingEvents(expected, edits.firstTxid)
        return self._waiting.popleft()

    def take(self, timeout_s: float | None = None) -> EventBatch | None:
        """The next batch, waiting for it up to `timeout_s`; None if that was not enough."""
        deadline_s = None if timeout_s is None else self._now_s() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            batch = self.poll()
            if batch is not None:
                return batch
            if deadline_s is not None:
                pause_s = min(pause_s, deadline_s - self._now_s())
                if pause_s <= 0:
                    return None
            self._sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def __iter__(self) -> Iterator[EventBatch]:
        """Every batch, for ever."""
        while True:
            batch = self.take()
            assert batch is not None, "it waits as long as it takes"
            yield batch


def event_batch(proto: pb.EventBatchProto) -> EventBatch:
    """What one transaction did, of its message."""
    return EventBatch(proto.txid, tuple(map(_event, proto.events)))


def _event(proto: pb.EventProto) -> Event:
    data = proto.contents
    match proto.type:
        case pb.EVENT_CREATE:
            return _created(pb.CreateEventProto.FromString(data))
        case pb.EVENT_CLOSE:
            closed = pb.CloseEventProto.FromString(data)
            return CloseEvent(closed.path, closed.fileSize, closed.timestamp)
        case pb.EVENT_APPEND:
            reopened = pb.AppendEventProto.FromString(data)
            return AppendEvent(reopened.path, reopened.newBlock)
        case pb.EVENT_RENAME:
            renamed = pb.RenameEventProto.FromString(data)
            return RenameEvent(renamed.srcPath, renamed.destPath, renamed.timestamp)
        case pb.EVENT_METADATA:
            return _changed(pb.MetadataUpdateEventProto.FromString(data))
        case pb.EVENT_UNLINK:
            unlinked = pb.UnlinkEventProto.FromString(data)
            return UnlinkEvent(unlinked.path, unlinked.timestamp)
        case pb.EVENT_TRUNCATE:
            cut = pb.TruncateEventProto.FromString(data)
            return TruncateEvent(cut.path, cut.fileSize, cut.timestamp)
        case other:
            raise errors.ProtocolViolation(f"there is no event of type {other}")


def _created(proto: pb.CreateEventProto) -> CreateEvent:
    return CreateEvent(
        path=proto.path,
        kind=NodeKind(proto.type),
        created_ms=proto.ctime,
        owner=proto.ownerName,
        group=proto.groupName,
        permission=proto.perms.perm,
        replication=proto.replication,
        block_size=proto.defaultBlockSize,
        overwrite=proto.overwrite,
        symlink_target=proto.symlinkTarget if proto.type == pb.I_TYPE_SYMLINK else None,
    )


def _changed(proto: pb.MetadataUpdateEventProto) -> MetadataEvent:
    return MetadataEvent(
        path=proto.path,
        kind=MetadataKind(proto.type),
        modification_time_ms=proto.mtime,
        access_time_ms=proto.atime,
        replication=proto.replication,
        owner=proto.ownerName,
        group=proto.groupName,
        permission=proto.perms.perm if proto.HasField("perms") else None,
        acl=tuple(map(acl_entry, proto.acls)),
        xattrs=tuple((full_name(attribute), _xattr_value(attribute)) for attribute in proto.xAttrs),
        xattrs_removed=proto.xAttrsRemoved,
    )


def _xattr_value(proto: types_pb2.XAttrProto) -> bytes | None:
    return proto.value if proto.HasField("value") else None
