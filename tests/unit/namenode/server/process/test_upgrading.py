"""Directories of an older Hadoop: refused, upgraded, rolled back, made final.

What a crash on the way leaves is the business of tests/crash/test_upgrade.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import encode_record
from howdah.formats.version import NamenodeVersion
from howdah.namenode.server.process import upgrading
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.storage.image_files import list_images
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import SegmentWriter, list_segments

OWNED = ed.Permission("alice", "staff", 0o750)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "name"


@pytest.fixture
def conf(root: Path) -> Configuration:
    return Configuration({"dfs.namenode.name.dir": root.as_uri()})


@pytest.fixture
def version(conf: Configuration, root: Path) -> NamenodeVersion:
    version = format_namenode(conf)
    log_on(root, ed.MkdirOp(16386, "/d", 1, OWNED))
    return version


def log_on(root: Path, *logged: ed.Edit) -> None:
    first = 1 + max((s.last_txid or 0 for s in list_segments(root / "current")), default=0)
    writer = SegmentWriter(root / "current", first, preallocation_bytes=4096)
    whole = (ed.StartLogSegmentOp(), *logged, ed.EndLogSegmentOp())
    for txid, edit in enumerate(whole, first):
        writer.append(encode_record(txid, edit))
    writer.finalize(first + len(whole) - 1)


def age(root: Path, layout: int) -> None:
    text = (root / "current" / "VERSION").read_text()
    (root / "current" / "VERSION").write_text(text.replace("=-67", f"={layout}"))


def start(root: Path) -> Loaded:
    loaded = load([root], [root])
    for lock in loaded.locks:
        lock.release()
    return loaded


@pytest.mark.parametrize("layout", [-63, -64, -65, -66])
def test_older_layout_wants_an_upgrade_and_has_one(
    conf: Configuration, version: NamenodeVersion, root: Path, layout: int
) -> None:
    age(root, layout)
    with pytest.raises(errors.IncorrectVersion, match="howdah namenode -upgrade"):
        start(root)
    done = upgrading.upgrade(conf)
    loaded = start(root)
    assert loaded.namespace.find("/d") is not None
    assert loaded.version == done
    assert (done.layout_version, done.namespace_id) == (-67, version.namespace_id)
    assert (done.cluster_id, done.block_pool_id) == (version.cluster_id, version.block_pool_id)
    assert done.ctime_ms > version.ctime_ms


@pytest.mark.parametrize(
    ("layout", "advice"), [(-62, "upgrade it with Hadoop 3 first"), (-68, "newer software")]
)
def test_layout_that_nobody_here_reads_is_refused_with_what_to_do(
    conf: Configuration, version: NamenodeVersion, root: Path, layout: int, advice: str
) -> None:
    age(root, layout)
    for begin in (lambda: start(root), lambda: upgrading.upgrade(conf)):
        with pytest.raises(errors.IncorrectVersion, match=advice):
            begin()
    assert sorted(path.name for path in root.iterdir()) == ["current", "in_use.lock"]


def test_previous_is_what_was_there_and_the_log_goes_on(
    conf: Configuration, version: NamenodeVersion, root: Path
) -> None:
    before = {path.name: path.read_bytes() for path in (root / "current").iterdir()}
    upgrading.upgrade(conf)
    assert {p.name: p.read_bytes() for p in (root / "previous").iterdir()} == before
    assert [image.txid for image in list_images([root / "current"])] == [3]
    assert [s.last_txid for s in list_segments(root / "current")] == [3]


def test_rollback_takes_back_what_came_after(
    conf: Configuration, version: NamenodeVersion, root: Path
) -> None:
    age(root, -66)
    upgrading.upgrade(conf)
    log_on(root, ed.MkdirOp(16387, "/later", 1, OWNED))
    assert start(root).namespace.root.sorted_names() == ["d", "later"]
    assert upgrading.roll_back(conf).layout_version == -66
    upgrading.upgrade(conf)
    assert start(root).namespace.root.sorted_names() == ["d"]


def test_second_upgrade_waits_until_the_first_is_final(
    conf: Configuration, version: NamenodeVersion
) -> None:
    upgrading.upgrade(conf)
    with pytest.raises(errors.InconsistentStorage, match="-finalizeUpgrade"):
        upgrading.upgrade(conf)
    assert upgrading.finalize_offline(conf) is True
    assert upgrading.finalize_offline(conf) is False
    upgrading.upgrade(conf)


def test_what_is_final_cannot_be_rolled_back(
    conf: Configuration, version: NamenodeVersion, root: Path
) -> None:
    upgrading.upgrade(conf)
    upgrading.finalize_offline(conf)
    with pytest.raises(
        errors.InconsistentStorage, match=f"Cannot rollback: {root} has no previous"
    ):
        upgrading.roll_back(conf)
    assert start(root).namespace.find("/d") is not None


def test_nothing_is_changed_under_a_namenode_that_runs(
    conf: Configuration, version: NamenodeVersion, root: Path
) -> None:
    upgrading.upgrade(conf)
    with StorageDirectory(root).lock():
        for act in (upgrading.upgrade, upgrading.roll_back, upgrading.finalize_offline):
            with pytest.raises(errors.StorageLocked):
                act(conf)


def test_formatting_leaves_nothing_to_go_back_to(
    conf: Configuration, version: NamenodeVersion, root: Path
) -> None:
    upgrading.upgrade(conf)
    format_namenode(conf, force=True)
    assert not (root / "previous").exists()


def test_directory_that_is_away_keeps_the_others_from_deciding(
    conf: Configuration, version: NamenodeVersion, root: Path, tmp_path: Path
) -> None:
    (root / "current").rename(root / "previous.tmp")
    with pytest.raises(errors.InconsistentStorage, match="is missing"):
        load([root, tmp_path / "away"], [root])
    assert (root / "previous.tmp").exists()


@pytest.mark.parametrize(
    ("here", "refusal"),
    [
        (("previous.tmp", "removed.tmp"), "of which no crash leaves two"),
        (("previous.tmp", "previous"), "which no crash leaves"),
        (("removed.tmp", "previous"), "both"),
    ],
)
def test_state_that_no_crash_leaves_is_left_alone(
    version: NamenodeVersion, root: Path, here: tuple[str, ...], refusal: str
) -> None:
    for name in here:
        (root / name).mkdir()
    with pytest.raises(errors.InconsistentStorage, match=refusal):
        start(root)
    assert all((root / name).exists() for name in here)


def test_checkpoint_of_hadoop_1_is_put_where_it_belongs(
    version: NamenodeVersion, root: Path
) -> None:
    (root / "lastcheckpoint.tmp").mkdir()
    start(root)
    assert (root / "previous.checkpoint").exists()
    (root / "current").rename(root / "lastcheckpoint.tmp")
    assert start(root).namespace.find("/d") is not None


def test_command_upgrades_and_goes_back(
    version: NamenodeVersion, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"-Ddfs.namenode.name.dir={root.as_uri()}"
    assert main(["namenode", option, "-upgradeOnly"]) == 0
    assert main(["namenode", option, "-rollback"]) == 0
    assert main(["namenode", option, "-finalize"]) == 0
    assert main(["namenode", option, "-rollback", "-finalize"]) != 0
    assert main(["namenode", option, "-rollingUpgrade", "downgrade"]) != 0
    assert "downgrade" in capsys.readouterr().err
