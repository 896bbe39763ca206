"""From edits to the events that clients of the inotify call get (pure). Hadoop:
InotifyFSEditLogOpTranslator.

The translation is Hadoop's, record by record. Most edits become one event. A concat becomes
several; an edit about blocks, leases, quotas or snapshots becomes none. Events are protobuf
messages from the beginning, because nothing in the namenode reads their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from google.protobuf.message import Message

from howdah.formats.edits import edits
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

IN_SNAPSHOT: Final = "/.snapshot/"
"""In the path of a file that was deleted while it was open."""
LONG_MASK: Final = (1 << 64) - 1


def events_of(edit: edits.Edit) -> list[pb.EventProto]:
    """The events of an edit; an empty list if the edit changed nothing that clients watch."""
    translate = _TRANSLATIONS.get(type(edit))
    return translate(edit) if translate is not None else []


def _event(kind: pb.EventType, contents: Message) -> pb.EventProto:
    return pb.EventProto(type=kind, contents=contents.SerializeToString())


def _created(
    kind: pb.INodeType,
    path: str,
    ctime_ms: int,
    permission: edits.Permission,
    **more: Any,
) -> pb.EventProto:
    more.setdefault("symlinkTarget", "")
    return _event(
        pb.EVENT_CREATE,
        pb.CreateEventProto(
            type=kind,
            path=path,
            ctime=ctime_ms,
            ownerName=permission.owner,
            groupName=permission.group,
            perms=types_pb2.FsPermissionProto(perm=permission.mode),
            **more,
        ),
    )


def _add(edit: edits.AddOp) -> list[pb.EventProto]:
    if edit.blocks:
        return [_reopened(edit.path, new_block=False)]
    return [
        _created(
            pb.I_TYPE_FILE,
            edit.path,
            edit.atime_ms,
            edit.permission,
            replication=edit.replication,
            overwrite=edit.overwrite,
            defaultBlockSize=edit.block_size_bytes,
            erasureCoded=edit.erasure_coding_policy_id != edits.REPLICATION_POLICY_ID,
        )
    ]


def _mkdir(edit: edits.MkdirOp) -> list[pb.EventProto]:
    return [_created(pb.I_TYPE_DIRECTORY, edit.path, edit.timestamp_ms, edit.permission)]


def _symlink(edit: edits.SymlinkOp) -> list[pb.EventProto]:
    return [
        _created(
            pb.I_TYPE_SYMLINK,
            edit.path,
            edit.atime_ms,
            edit.permission,
            symlinkTarget=edit.target,
        )
    ]


def _reopened(path: str, *, new_block: bool) -> pb.EventProto:
    return _event(pb.EVENT_APPEND, pb.AppendEventProto(path=path, newBlock=new_block))


def _closed(path: str, length_bytes: int, timestamp_ms: int) -> pb.EventProto:
    return _event(
        pb.EVENT_CLOSE,
        pb.CloseEventProto(path=path, fileSize=length_bytes, timestamp=timestamp_ms),
    )


def _close(edit: edits.CloseOp) -> list[pb.EventProto]:
    if IN_SNAPSHOT in edit.path:
        return []  # It was deleted before; whoever watches has heard of that.
    return [_closed(edit.path, sum(b.length_bytes for b in edit.blocks), edit.mtime_ms)]


def _append(edit: edits.AppendOp) -> list[pb.EventProto]:
    return [_reopened(edit.path, new_block=edit.new_block)]


def _truncate(edit: edits.TruncateOp) -> list[pb.EventProto]:
    return [
        _event(
            pb.EVENT_TRUNCATE,
            pb.TruncateEventProto(
                path=edit.path, fileSize=edit.new_length_bytes, timestamp=edit.timestamp_ms
            ),
        )
    ]


def _unlinked(path: str, timestamp_ms: int) -> pb.EventProto:
    return _event(pb.EVENT_UNLINK, pb.UnlinkEventProto(path=path, timestamp=timestamp_ms))


def _delete(edit: edits.DeleteOp) -> list[pb.EventProto]:
    return [_unlinked(edit.path, edit.timestamp_ms)]


def _concat(edit: edits.ConcatDeleteOp) -> list[pb.EventProto]:
    """The target grows by the sources, which go. Its new length is not in the log."""
    return [
        _reopened(edit.target, new_block=False),
        *(_unlinked(source, edit.timestamp_ms) for source in edit.sources),
        _closed(edit.target, -1, edit.timestamp_ms),
    ]


def _rename(edit: edits.RenameOp | edits.RenameOldOp) -> list[pb.EventProto]:
    return [
        _event(
            pb.EVENT_RENAME,
            pb.RenameEventProto(srcPath=edit.src, destPath=edit.dst, timestamp=edit.timestamp_ms),
        )
    ]


def _changed(path: str, kind: pb.MetadataUpdateType, **attributes: Any) -> list[pb.EventProto]:
    # Java's clients read every field, whatever the kind.
    fields = {
        "mtime": 0,
        "atime": 0,
        "replication": 0,
        "ownerName": "",
        "groupName": "",
        **attributes,
    }
    return [
        _event(
            pb.EVENT_METADATA,
            pb.MetadataUpdateEventProto(path=path, type=kind, **fields),
        )
    ]


def _set_replication(edit: edits.SetReplicationOp) -> list[pb.EventProto]:
    return _changed(edit.path, pb.META_TYPE_REPLICATION, replication=edit.replication)


def _set_permissions(edit: edits.SetPermissionsOp) -> list[pb.EventProto]:
    perms = types_pb2.FsPermissionProto(perm=edit.mode)
    return _changed(edit.path, pb.META_TYPE_PERMS, perms=perms)


def _set_owner(edit: edits.SetOwnerOp) -> list[pb.EventProto]:
    return _changed(
        edit.path, pb.META_TYPE_OWNER, ownerName=edit.owner or "", groupName=edit.group or ""
    )


def _times(edit: edits.TimesOp) -> list[pb.EventProto]:
    return _changed(edit.path, pb.META_TYPE_TIMES, mtime=edit.mtime_ms, atime=edit.atime_ms)


def _set_acl(edit: edits.SetAclOp) -> list[pb.EventProto]:
    entries = [
        types_pb2.AclEntryProto(
            type=int(entry.kind),  # type: ignore[arg-type]
            scope=int(entry.scope),  # type: ignore[arg-type]
            permissions=entry.permission,  # type: ignore[arg-type]
            name=entry.name,
        )
        for entry in edit.entries
    ]
    return _changed(edit.path, pb.META_TYPE_ACLS, acls=entries)


def _xattrs(xattrs: Iterable[edits.XAttr]) -> list[types_pb2.XAttrProto]:
    return [
        types_pb2.XAttrProto(
            namespace=int(xattr.namespace),  # type: ignore[arg-type]
            name=xattr.name,
            value=xattr.value,
        )
        for xattr in xattrs
    ]


def _set_xattr(edit: edits.SetXAttrOp) -> list[pb.EventProto]:
    return _changed(
        edit.path, pb.META_TYPE_XATTRS, xAttrs=_xattrs(edit.xattrs), xAttrsRemoved=False
    )


def _remove_xattr(edit: edits.RemoveXAttrOp) -> list[pb.EventProto]:
    return _changed(edit.path, pb.META_TYPE_XATTRS, xAttrs=_xattrs(edit.xattrs), xAttrsRemoved=True)


_TRANSLATIONS: Final[dict[type[edits.Edit], Callable[[Any], list[pb.EventProto]]]] = {
    edits.AddOp: _add,
    edits.CloseOp: _close,
    edits.AppendOp: _append,
    edits.TruncateOp: _truncate,
    edits.ConcatDeleteOp: _concat,
    edits.MkdirOp: _mkdir,
    edits.SymlinkOp: _symlink,
    edits.RenameOldOp: _rename,
    edits.RenameOp: _rename,
    edits.DeleteOp: _delete,
    edits.SetReplicationOp: _set_replication,
    edits.SetPermissionsOp: _set_permissions,
    edits.SetOwnerOp: _set_owner,
    edits.TimesOp: _times,
    edits.SetAclOp: _set_acl,
    edits.SetXAttrOp: _set_xattr,
    edits.RemoveXAttrOp: _remove_xattr,
}


class EventsBuilder:
    """Builds one answer: the events of edits in order, up to about `max_events`."""

    def __init__(self, max_events: int, sync_txid: int) -> None:
        self._max_events = max_events
        self._count = 0
        self.events = pb.EventsListProto(firstTxid=-1, lastTxid=-1, syncTxid=sync_txid)

    def add(self, logged: edits.LoggedEdit) -> bool:
        """Add the events of one edit; False when the answer is full now."""
        if self.events.firstTxid < 0:
            self.events.firstTxid = logged.txid
        self.events.lastTxid = logged.txid
        events = events_of(logged.edit)
        if events:
            self.events.batch.add(txid=logged.txid, events=events)
            self._count += len(events)
        return self._count < self._max_events
