"""What changed between snapshots, and since: reports and listings."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.settings import Settings
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2

pytestmark = pytest.mark.usefixtures("nodes")


@pytest.fixture
def settings() -> Settings:
    return Settings(
        "", min_block_size_bytes=512, block_size_bytes=1024, snapshot_diff_listing_limit=3
    )


@pytest.fixture
def snap(client: Any) -> Any:
    """Two snapshots of `/d`, between which there is a bit of everything."""
    client.mkdirs("/d/sub/deep")
    for name in ("gone", "moved", "out", "same", "longer"):
        client.write(f"/d/sub/{name}", 100)
    client.write("/d/sub/deep/f", 10)
    client.call("allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/d"))
    create(client, "s1")
    client.delete("/d/sub/gone")
    client.rename("/d/sub/moved", "/d/there")
    client.rename("/d/sub/out", "/out")
    client.rename("/d/sub/deep", "/d/deeper")
    client.chmod("/d/deeper/f", 0o600)
    client.set_times("/d/sub/same", 5, 5)
    client.write("/d/sub/new", 5)
    client.truncate("/d/sub/longer", 0)
    create(client, "s2")
    return client


def create(client: Any, name: str) -> None:
    request = pb.CreateSnapshotRequestProto(snapshotRoot="/d", snapshotName=name)
    client.call("createSnapshot", request)


BETWEEN = [
    ("M", "", None),
    ("+", "there", None),
    ("+", "deeper", None),
    ("M", "sub", None),
    ("+", "sub/new", None),
    ("R", "sub/deep", "deeper"),
    ("-", "sub/gone", None),
    ("R", "sub/moved", "there"),
    ("-", "sub/out", None),
    ("M", "sub/deep/f", None),
    ("M", "sub/longer", None),
]
FORWARD = sorted(line for line in BETWEEN if line[:2] not in [("+", "there"), ("+", "deeper")])


def lines(client: Any, path: str, old: str, new: str) -> list[tuple[str, str, str | None]]:
    request = pb.GetSnapshotDiffReportRequestProto(
        snapshotRoot=path, fromSnapshot=old, toSnapshot=new
    )
    found = client.call("getSnapshotDiffReport", request).diffReport
    return [
        (
            entry.modificationLabel,
            entry.fullpath.decode(),
            entry.targetPath.decode() if entry.HasField("targetPath") else None,
        )
        for entry in found.diffReportEntries
    ]


def test_report_says_what_was_made_what_went_and_what_was_moved(snap: Any) -> None:
    assert sorted(lines(snap, "/d", "s1", "s2"), key=str) == sorted(FORWARD, key=str)


def test_report_backwards_says_the_opposite(snap: Any) -> None:
    backwards = {"+": "-", "-": "+", "M": "M"}
    expected = [
        ("R", target, path) if target else (backwards[label], path, None)
        for label, path, target in FORWARD
    ]
    assert sorted(lines(snap, "/d", "s2", "s1"), key=str) == sorted(expected, key=str)


def test_report_up_to_now_has_what_happened_since(snap: Any) -> None:
    assert lines(snap, "/d", "s2", "") == []
    snap.mkdirs("/d/later")
    assert lines(snap, "/d", "s2", "") == [("M", "", None), ("+", "later", None)]
    assert lines(snap, "/d", "", "s2") == [("M", "", None), ("-", "later", None)]
    assert lines(snap, "/d", "s1", "s1") == []


@pytest.mark.parametrize("path", ["/d", "/d/sub"])
@pytest.mark.parametrize(("old", "new"), [("s9", "s9"), ("s9", ""), ("", "s9"), ("s1", "s9")])
def test_snapshot_that_is_not_there_is_compared_with_nothing(
    snap: Any, path: str, old: str, new: str
) -> None:
    with pytest.raises(
        errors.SnapshotError, match="Cannot find the snapshot of directory /d with name s9"
    ):
        lines(snap, path, old, new)


def test_report_stays_the_same_when_what_was_moved_is_moved_again(snap: Any) -> None:
    snap.mkdirs("/d/between")
    snap.rename("/d/deeper", "/d/between/x")
    create(snap, "s3")
    before = lines(snap, "/d", "s2", "s3")
    assert ("R", "deeper", "between/x") in before
    # Into a directory that no snapshot shows, of whose links nobody knows since when.
    snap.mkdirs("/d/later/still")
    snap.rename("/d/between/x", "/d/later/still/x")
    assert lines(snap, "/d", "s2", "s3") == before
    assert ("R", "deeper", "later/still/x") in lines(snap, "/d", "s2", "")
    snap.rename("/d/later/still/x", "/d/later/x")
    assert lines(snap, "/d", "s2", "s3") == before


def test_report_of_a_directory_below_is_of_what_is_in_it(snap: Any) -> None:
    assert sorted(lines(snap, "/d/sub", "s1", "s2"), key=str) == sorted(
        [
            ("M", "", None),
            ("+", "new", None),
            ("-", "deep", None),
            ("-", "gone", None),
            ("-", "moved", None),
            ("-", "out", None),
            ("M", "longer", None),
        ],
        key=str,
    )


def listing(client: Any, old: str, new: str) -> dict[str, list[tuple[str, str, bool]]]:
    found: dict[str, list[tuple[str, str, bool]]] = {"modified": [], "created": [], "deleted": []}
    cursor = types_pb2.SnapshotDiffReportCursorProto(startPath=b"", index=-1)
    while True:
        request = pb.GetSnapshotDiffReportListingRequestProto(
            snapshotRoot="/d", fromSnapshot=old, toSnapshot=new, cursor=cursor
        )
        page = client.call("getSnapshotDiffReportListing", request).diffReport
        assert page.isFromEarlier is (old < new)
        count = 0
        for kind, some in found.items():
            entries = getattr(page, f"{kind}Entries")
            count += len(entries)
            some += [
                (entry.fullpath.decode(), entry.targetPath.decode(), entry.isReference)
                for entry in entries
            ]
        assert count <= 3
        cursor = page.cursor
        if not cursor.startPath and cursor.index == -1:
            return found


def test_listing_comes_in_pages(snap: Any) -> None:
    assert listing(snap, "s1", "s2") == {
        "modified": [
            ("", "", True),
            ("sub", "", True),
            ("sub/deep/f", "", False),
            ("sub/longer", "", False),
        ],
        "created": [("deeper", "", True), ("there", "", True), ("sub/new", "", False)],
        "deleted": [
            ("sub/deep", "deeper", True),
            ("sub/gone", "", False),
            ("sub/moved", "there", True),
            ("sub/out", "", False),
        ],
    }


def test_states_that_are_not_there_are_refused(snap: Any) -> None:
    with pytest.raises(errors.SnapshotError, match="snapshot of directory /d with name s9"):
        lines(snap, "/d", "s1", "s9")
    snap.mkdirs("/e")
    with pytest.raises(errors.SnapshotError, match="/e is neither snapshottable nor under a"):
        lines(snap, "/e", "s1", "s2")
    with pytest.raises(errors.PathNotFound):
        lines(snap, "/nothing", "s1", "s2")


def test_who_compares_must_be_able_to_read_both(snap: Any, client_of: Any) -> None:
    alice = client_of("alice")
    assert lines(alice, "/d", "s1", "s2") == lines(snap, "/d", "s1", "s2")
    snap.chmod("/d/sub", 0o700)
    create(snap, "s3")
    with pytest.raises(errors.AccessDenied):
        lines(alice, "/d", "s1", "s3")
