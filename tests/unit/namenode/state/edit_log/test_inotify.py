"""From edits to events, and the log's segments as those who watch see them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal.directory_journal import DirectorySource
from howdah.namenode.journal.edit_events import Watching
from howdah.namenode.state.edit_log.inotify import events_of
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy
from howdah.proto import client_namenode_pb2 as pb
from howdah.storage.segments import SegmentWriter

OWNED = edits.Permission("zoe", "staff", 0o640)
MESSAGES: dict[int, type[Message]] = {
    pb.EVENT_CREATE: pb.CreateEventProto,
    pb.EVENT_CLOSE: pb.CloseEventProto,
    pb.EVENT_APPEND: pb.AppendEventProto,
    pb.EVENT_RENAME: pb.RenameEventProto,
    pb.EVENT_METADATA: pb.MetadataUpdateEventProto,
    pb.EVENT_UNLINK: pb.UnlinkEventProto,
    pb.EVENT_TRUNCATE: pb.TruncateEventProto,
}


def told(edit: edits.Edit) -> list[str]:
    """The events, each in one line with what it says that is neither 0 nor empty."""
    lines = []
    for event in events_of(edit):
        contents = MESSAGES[event.type].FromString(event.contents)
        fields = [
            f"{field.name}={str(value).strip()}"
            for field, value in contents.ListFields()
            if value not in (0, "", False)
        ]
        lines.append(" ".join([pb.EventType.Name(event.type).removeprefix("EVENT_"), *fields]))
    return lines


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            edits.AddOp(7, "/f", 3, 11, 12, 1024, OWNED, "c", "m", overwrite=True),
            [
                "CREATE path=/f ctime=12 ownerName=zoe groupName=staff perms=perm: 416 "
                "replication=3 overwrite=True defaultBlockSize=1024"
            ],
        ),
        (
            edits.AddOp(
                7, "/f", 3, 1, 1, 1024, OWNED, "c", "m", blocks=(edits.EditBlock(1, 5, 9),)
            ),
            ["APPEND path=/f"],
        ),
        (
            edits.CloseOp(
                7,
                "/f",
                3,
                21,
                22,
                1024,
                OWNED,
                (edits.EditBlock(1, 1024, 9), edits.EditBlock(2, 5, 9)),
            ),
            ["CLOSE path=/f fileSize=1029 timestamp=21"],
        ),
        (edits.AppendOp("/f", "c", "m", new_block=True), ["APPEND path=/f newBlock=True"]),
        (
            edits.TruncateOp("/f", "c", "m", 17, 30),
            ["TRUNCATE path=/f fileSize=17 timestamp=30"],
        ),
        (
            edits.ConcatDeleteOp("/t", ("/a", "/b"), 40),
            [
                "APPEND path=/t",
                "UNLINK path=/a timestamp=40",
                "UNLINK path=/b timestamp=40",
                "CLOSE path=/t fileSize=-1 timestamp=40",
            ],
        ),
        (
            edits.MkdirOp(7, "/d", 50, OWNED),
            ["CREATE type=1 path=/d ctime=50 ownerName=zoe groupName=staff perms=perm: 416"],
        ),
        (
            edits.SymlinkOp(7, "/l", "/f", 59, 60, OWNED),
            [
                "CREATE type=2 path=/l ctime=60 ownerName=zoe groupName=staff "
                "perms=perm: 416 symlinkTarget=/f"
            ],
        ),
        (edits.RenameOldOp("/a", "/b", 70), ["RENAME srcPath=/a destPath=/b timestamp=70"]),
        (edits.RenameOp("/a", "/b", 71), ["RENAME srcPath=/a destPath=/b timestamp=71"]),
        (edits.DeleteOp("/d", 80), ["UNLINK path=/d timestamp=80"]),
        (
            edits.SetReplicationOp("/f", 2),
            ["METADATA path=/f type=1 replication=2"],
        ),
        (edits.SetPermissionsOp("/f", 0o644), ["METADATA path=/f type=3 perms=perm: 420"]),
        (
            edits.SetOwnerOp("/f", None, "web"),
            ["METADATA path=/f type=2 groupName=web"],
        ),
        (edits.TimesOp("/f", -1, 90), ["METADATA path=/f mtime=-1 atime=90"]),
        (edits.SetQuotaOp("/d", 1, 2), []),
        (edits.ReassignLeaseOp("c", "/f", "d"), []),
        (edits.SetGenstampV2Op(1001), []),
        (edits.CreateSnapshotOp("/d", "s", 3), []),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, edits.Edit) else "",
)
def test_edits_are_told_as_hadoop_tells_them(edit: edits.Edit, expected: list[str]) -> None:
    assert told(edit) == expected


def test_lists_and_attributes_are_told_whole() -> None:
    entry = edits.AclEntry(edits.AclScope.DEFAULT, edits.AclKind.USER, 5, "bob")
    [event] = events_of(edits.SetAclOp("/f", (entry,)))
    acl = pb.MetadataUpdateEventProto.FromString(event.contents)
    assert (acl.type, acl.acls[0].name, acl.acls[0].permissions) == (pb.META_TYPE_ACLS, "bob", 5)
    xattr = edits.XAttr(edits.XAttrNamespace.USER, "mark", b"\0")
    [event] = events_of(edits.RemoveXAttrOp("/f", (xattr,)))
    removed = pb.MetadataUpdateEventProto.FromString(event.contents)
    assert (removed.xAttrs[0].name, removed.xAttrsRemoved) == ("mark", True)


# The segments of a log.


class Log:
    """A log of directories made, with its segments in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.next_txid = 1

    def write(self, count: int, *, finished: bool) -> SegmentWriter:
        writer = SegmentWriter(self.directory, self.next_txid)
        for _ in range(count):
            edit = edits.MkdirOp(self.next_txid, f"/{self.next_txid}", 0, OWNED)
            writer.append(encode_record(self.next_txid, edit))
            self.next_txid += 1
        writer.sync()
        if finished:
            writer.finalize(self.next_txid - 1)
        return writer


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """1 to 5 are finished, 6 to 10 are being written."""
    log = Log(tmp_path)
    log.write(5, finished=True)
    log.write(5, finished=False)
    return log


def txids(events: pb.EventsListProto) -> tuple[int, int, list[int]]:
    return events.firstTxid, events.lastTxid, [batch.txid for batch in events.batch]


def watching(log: Log, max_events: int = 100, *, before: Sequence[Path] = ()) -> Watching:
    return Watching(lambda: [*before, log.directory], max_events)


def test_events_go_on_from_one_segment_to_the_next(log: Log) -> None:
    assert txids(watching(log).events(4, 10)) == (4, 10, [4, 5, 6, 7, 8, 9, 10])


def test_nothing_is_told_that_is_not_durable(log: Log) -> None:
    events = watching(log).events(4, 8)
    assert (txids(events), events.syncTxid) == ((4, 8, [4, 5, 6, 7, 8]), 8)


def test_who_has_seen_it_all_gets_nothing(log: Log) -> None:
    assert txids(watching(log).events(11, 10)) == (-1, -1, [])


def test_an_answer_ends_when_it_has_events_enough(log: Log) -> None:
    assert txids(watching(log, 3).events(4, 10)) == (4, 6, [4, 5, 6])


def test_going_on_reads_from_where_the_last_answer_ended(log: Log) -> None:
    watch = watching(log, 2)
    seen: list[int] = []
    while len(seen) < 10:
        seen += txids(watch.events(len(seen) + 1, 10))[2]
    assert seen == list(range(1, 11))
    log.write(3, finished=False)
    assert txids(watch.events(11, 13)) == (11, 12, [11, 12])


def test_what_was_purged_shows_in_the_first_number(log: Log) -> None:
    next(log.directory.glob("edits_*-*")).unlink()
    assert txids(watching(log).events(2, 10))[0] == 6


class Silent(DirectorySource):
    """A shared log of which not enough journal nodes answer."""

    def segments(self, *, scans: bool) -> list[SegmentCopy]:
        raise TimeoutError("2 of 3 journal nodes are needed, and 0 answered")


def test_what_a_silent_shared_log_may_have_is_not_called_purged(log: Log, tmp_path: Path) -> None:
    """An active has by itself what it wrote since it became one: all before is in the shared log
    alone, and who was told that it is gone would begin anew."""
    next(log.directory.glob("edits_*-*")).unlink()
    shared = Silent(tmp_path / "shared")
    watch = Watching(lambda: [log.directory], 100, shared)
    with pytest.raises(errors.RemoteError, match="0 answered"):
        watch.events(2, 10)
    assert txids(watch.events(6, 10)) == (6, 10, [6, 7, 8, 9, 10])


def test_another_directory_is_asked_where_one_fails(log: Log, tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    assert txids(watching(log, before=[missing]).events(9, 10)) == (9, 10, [9, 10])


def test_with_no_directory_left_the_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(errors.RemoteError, match="gone"):
        Watching(lambda: [tmp_path / "gone"], 10).events(1, 10)
