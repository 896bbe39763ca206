"""Rolling upgrades that one begins and the other goes on with: Hadoop's namenode and ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.server.process.rolling_back import roll_back_upgrade
from howdah.namenode.state.images.image import write_image
from howdah.storage.image_files import finish_image, list_images, write_unfinished
from howdah.storage.segments import SegmentWriter, list_segments

pytestmark = pytest.mark.timeout(300)
OWNER = edits.Permission("root", "supergroup", 0o755)


def conf(top: Path) -> Configuration:
    return Configuration({"dfs.namenode.name.dir": (top / "name").as_uri()})


def log_on(top: Path, *logged: edits.Edit) -> int:
    """One more segment; its last transaction."""
    current = top / "name" / "current"
    first = 1 + max((s.last_txid or 0 for s in list_segments(current)), default=0)
    writer = SegmentWriter(current, first)
    whole = (edits.StartLogSegmentOp(), *logged, edits.EndLogSegmentOp())
    for txid, edit in enumerate(whole, first):
        writer.append(encode_record(txid, edit))
    writer.finalize(first + len(whole) - 1)
    return first + len(whole) - 1


def ours(top: Path) -> Loaded:
    """What our namenode finds there."""
    root = top / "name"
    # Hadoop's process, which goes on, has not let go of it.
    (root / "in_use.lock").unlink(missing_ok=True)
    loaded = load([root], [root])
    for lock in loaded.locks:
        lock.release()
    return loaded


def names(top: Path) -> list[str]:
    return ours(top).namespace.root.sorted_names()


def is_under_way(top: Path) -> bool:
    return ours(top).namespace.rolling_upgrade.is_under_way


@pytest.fixture(params=["alone", "with others"])
def prepared(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What holds a name directory of ours in a rolling upgrade, as a namenode that is alone
    prepares it, or one with others: with `/before`, and `/after` from the time since."""
    version = format_namenode(conf(tmp_path))
    start, made = edits.RollingUpgradeStartOp(1795219821354), edits.MkdirOp
    alone = request.param == "alone"
    before = made(16386, "/before", 1, OWNER)
    txid = log_on(tmp_path, before) if alone else log_on(tmp_path, before, start)
    namespace = ours(tmp_path).namespace
    written = write_unfinished(
        [tmp_path / "name" / "current"],
        txid,
        lambda sink: write_image(namespace, version.namespace_id, txid, sink),
    )
    finish_image(replace(written, rollback=True))
    after = made(16387, "/after", 1, OWNER)
    log_on(tmp_path, *((start, after) if alone else (after,)))
    return tmp_path


@pytest.mark.req("FS-201", "FS-203")
def test_hadoop_goes_on_with_our_upgrade_and_rolls_it_back(
    hadoop_tools: Callable[..., None], prepared: Path
) -> None:
    hadoop_tools("rolling", prepared, "started")
    hadoop_tools("stop")
    assert names(prepared) == ["after", "before"]
    assert is_under_way(prepared)
    hadoop_tools("rolling", prepared, "rollback")
    hadoop_tools("stop")
    assert names(prepared) == ["before"]
    assert not is_under_way(prepared)


@pytest.mark.req("FS-201")
def test_hadoop_finalizes_our_upgrade(hadoop_tools: Callable[..., None], prepared: Path) -> None:
    hadoop_tools("rolling", prepared, "started")
    hadoop_tools("end")
    hadoop_tools("stop")
    assert names(prepared) == ["after", "before"]
    assert not is_under_way(prepared)
    assert not any(image.rollback for image in list_images([prepared / "name" / "current"]))


@pytest.mark.req("FS-201", "FS-203")
def test_we_go_on_with_hadoops_upgrade_and_roll_it_back(
    hadoop_tools: Callable[..., None], tmp_path: Path
) -> None:
    format_namenode(conf(tmp_path))
    hadoop_tools("start", tmp_path)
    hadoop_tools("prepare", "/before", "/after")
    hadoop_tools("stop")
    assert names(tmp_path) == ["after", "before"]
    assert is_under_way(tmp_path)
    roll_back_upgrade(conf(tmp_path))
    assert names(tmp_path) == ["before"]
    assert not is_under_way(tmp_path)
    hadoop_tools("start", tmp_path)
    hadoop_tools("stop")
    assert names(tmp_path) == ["before"]
