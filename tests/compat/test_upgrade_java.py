"""Upgrades that one begins and the other ends: Hadoop's namenode and ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.segment_scan import PlacedEdit, SegmentReader
from howdah.formats.version import NamenodeVersion
from howdah.namenode.server.process import upgrading
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import load
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import SegmentWriter, list_segments

pytestmark = pytest.mark.timeout(300)
OWNER = edits.Permission("root", "supergroup", 0o755)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """What holds a name directory with `/before`, made by ours."""
    format_namenode(conf(tmp_path))
    log_on(tmp_path / "name", "/before", 16386)
    return tmp_path


def conf(top: Path) -> Configuration:
    return Configuration({"dfs.namenode.name.dir": (top / "name").as_uri()})


def log_on(root: Path, path: str, inode_id: int) -> None:
    first = 1 + max((s.last_txid or 0 for s in list_segments(root / "current")), default=0)
    writer = SegmentWriter(root / "current", first)
    made = edits.MkdirOp(inode_id, path, 1, OWNER)
    for txid, edit in enumerate((edits.StartLogSegmentOp(), made, edits.EndLogSegmentOp()), first):
        writer.append(encode_record(txid, edit))
    writer.finalize(first + 2)


def ours(top: Path) -> tuple[list[str], NamenodeVersion]:
    """What our namenode finds there."""
    root = top / "name"
    # Hadoop's process, which goes on, has not let go of it.
    (root / "in_use.lock").unlink(missing_ok=True)
    loaded = load([root], [root])
    for lock in loaded.locks:
        lock.release()
    return loaded.namespace.root.sorted_names(), loaded.version


@pytest.mark.req("FS-029")
def test_hadoop_starts_on_what_we_upgraded_and_rolls_it_back(
    hadoop_tools: Callable[..., None], top: Path
) -> None:
    _, before = ours(top)
    after = upgrading.upgrade(conf(top))
    hadoop_tools("start", top)
    hadoop_tools("stop")
    names, version = ours(top)
    assert (names, version) == (["before"], after)
    hadoop_tools("rollback", top)
    names, version = ours(top)
    assert (names, version) == (["before"], before)


def test_we_start_on_what_hadoop_upgraded_and_roll_it_back(
    hadoop_tools: Callable[..., None], top: Path
) -> None:
    _, before = ours(top)
    hadoop_tools("upgrade", top)
    hadoop_tools("stop")
    names, version = ours(top)
    assert names == ["before"]
    assert version.ctime_ms > before.ctime_ms
    assert upgrading.roll_back(conf(top)) == before
    assert ours(top) == (["before"], before)


@pytest.mark.req("FS-022")
def test_we_start_from_a_log_in_which_snapshots_were_deleted_in_order(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    """Hadoop logs the deletion twice: when it marks the snapshot, and when it deletes it."""
    hadoop_tools("ordered", tmp_path)
    hadoop_tools("stop")
    root = tmp_path / "name"
    (root / "in_use.lock").unlink(missing_ok=True)
    loaded = load([root], [root])
    for lock in loaded.locks:
        lock.release()
    assert [snapshot.name for snapshot in loaded.namespace.snapshots.all()] == ["s3", "s2"]
    names = [deleted_name(placed.logged.edit) for placed in edits_in(root / "current")]
    assert [name for name in names if name] == ["s2", "s1", "s2#1"]


def deleted_name(edit: edits.Edit) -> str | None:
    return edit.name if isinstance(edit, edits.DeleteSnapshotOp) else None


def edits_in(current: Path) -> Iterator[PlacedEdit]:
    for path in sorted(current.glob("edits_*")):
        with path.open("rb") as source:
            yield from SegmentReader(source, path.name)


def test_hadoop_makes_our_upgrade_final(hadoop_tools: Callable[..., None], top: Path) -> None:
    after = upgrading.upgrade(conf(top))
    hadoop_tools("start", top)
    hadoop_tools("finalize")
    hadoop_tools("stop")
    assert not (top / "name" / "previous").exists()
    assert ours(top) == (["before"], after)


@pytest.mark.parametrize("done", [False, True])
def test_hadoop_ends_the_upgrade_in_which_we_died(
    hadoop_tools: Callable[..., None], top: Path, done: bool
) -> None:
    _, before = ours(top)
    after = upgrading.upgrade(conf(top))
    root = StorageDirectory(top / "name")
    (root.root / "previous").rename(root.root / "previous.tmp")
    if not done:
        root.version_file.unlink()
    hadoop_tools("start", top)
    hadoop_tools("stop")
    assert ours(top) == (["before"], after if done else before)
    assert (root.root / "previous").exists() is done
