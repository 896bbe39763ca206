"""Watching the namespace of a running cluster."""

from __future__ import annotations

import pytest

from howdah.errors import AccessDenied
from howdah.fs.acl import parse_acl
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.inotify import (
    AppendEvent,
    CloseEvent,
    CreateEvent,
    Event,
    InotifyStream,
    MetadataEvent,
    MetadataKind,
    NodeKind,
    RenameEvent,
    TruncateEvent,
    UnlinkEvent,
)
from howdah.testing import MiniCluster


def seen(watched: InotifyStream, last: type[Event]) -> list[Event]:
    """The events up to the first one of type `last`."""
    events: list[Event] = []
    while not events or not isinstance(events[-1], last):
        batch = watched.take(20)
        assert batch is not None, f"nothing came behind {events}"
        events += batch.events
    return events


def test_what_happens_to_a_file_is_told_in_order_over_segments(
    howdah_cluster: MiniCluster,
) -> None:
    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        watched = fs.inotify()
        fs.mkdirs("/watched")
        with fs.create("/watched/f", replication=1) as out:
            out.write(b"12345")
        with fs.append("/watched/f") as out:
            out.write(b"6")
        fs.truncate("/watched/f", 0)
        fs.administration.roll_edits()
        fs.set_permission("/watched/f", 0o600)
        fs.modify_acl_entries("/watched/f", parse_acl("user:bob:r--"))
        fs.set_xattr("/watched/f", "user.mark", b"x")
        fs.rename("/watched/f", "/watched/g")
        fs.delete("/watched", recursive=True)
        events = [
            event
            for event in seen(watched, UnlinkEvent)
            if isinstance(event, RenameEvent) or event.path.startswith("/watched")
        ]
    kinds = [type(event) for event in events]
    assert kinds == [
        CreateEvent,
        CreateEvent,
        CloseEvent,
        AppendEvent,
        CloseEvent,
        TruncateEvent,
        MetadataEvent,
        MetadataEvent,
        MetadataEvent,
        RenameEvent,
        UnlinkEvent,
    ]
    directory, file, closed, *_ = events
    assert isinstance(directory, CreateEvent)
    assert isinstance(file, CreateEvent)
    assert (directory.kind, file.kind) == (NodeKind.DIRECTORY, NodeKind.FILE)
    assert isinstance(closed, CloseEvent)
    assert closed.length == 5
    changes = [event for event in events if isinstance(event, MetadataEvent)]
    assert [change.kind for change in changes] == [
        MetadataKind.PERMISSION,
        MetadataKind.ACL,
        MetadataKind.XATTRS,
    ]
    assert changes[2].xattrs == (("user.mark", b"x"),)


def test_only_the_superuser_may_watch(howdah_cluster: MiniCluster) -> None:
    with howdah_cluster.connect(user="mallory") as fs:
        assert isinstance(fs, HdfsFileSystem)
        with pytest.raises(AccessDenied):
            fs.inotify()
        with pytest.raises(AccessDenied):
            fs.inotify(0).poll()
