"""A start takes the newest sound image and the edits after it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import encode_record
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageWriter
from howdah.formats.image.sections import Sink
from howdah.namenode.server.process.checkpoint_import import import_checkpoint
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.state.images.image import write_image
from howdah.storage.image_files import image_name, md5_path, save_image, write_unfinished
from howdah.storage.layout import StorageDirectory
from howdah.storage.retention import Retention, purge
from howdah.storage.segments import SegmentWriter

OWNED = ed.Permission("alice", "staff", 0o750)


@pytest.fixture
def conf(tmp_path: Path) -> Configuration:
    return Configuration(
        {
            keys.DFS_NAMENODE_NAME_DIR.name: f"{tmp_path / 'a'},{tmp_path / 'b'}",
            keys.DFS_NAMENODE_CHECKPOINT_DIR.name: str(tmp_path / "a"),
        }
    )


@pytest.fixture
def roots(conf: Configuration, tmp_path: Path) -> list[Path]:
    format_namenode(conf)
    return [tmp_path / "a", tmp_path / "b"]


def start(roots: list[Path]) -> Loaded:
    loaded = load(roots, roots)
    for lock in loaded.locks:
        lock.release()
    return loaded


def log_on(roots: list[Path], first: int, count: int) -> int:
    """A finished segment that makes `count` directories; its last transaction."""
    for root in roots:
        writer = SegmentWriter(root / "current", first)
        writer.append(encode_record(first, ed.StartLogSegmentOp()))
        for txid in range(first + 1, first + 1 + count):
            edit = ed.MkdirOp(16385 + txid, f"/d{txid}", txid, OWNED)
            writer.append(encode_record(txid, edit))
        last = first + 1 + count
        writer.append(encode_record(last, ed.EndLogSegmentOp()))
        writer.finalize(last)
        StorageDirectory(root).write_seen_txid(first)
    return last


def checkpoint(roots: list[Path]) -> int:
    loaded = start(roots)
    namespace_id, txid = loaded.version.namespace_id, loaded.last_txid
    save_image(
        [root / "current" for root in roots],
        txid,
        lambda sink: write_image(loaded.namespace, namespace_id, txid, sink),
    )
    return txid


def damage(roots: list[Path], txid: int) -> None:
    for root in roots:
        image = root / "current" / image_name(txid)
        data = bytearray(image.read_bytes())
        data[len(data) // 2] ^= 1
        image.write_bytes(data)


def names(loaded: Loaded) -> list[str]:
    return loaded.namespace.root.sorted_names()


def test_format_writes_the_first_image(roots: list[Path]) -> None:
    assert start(roots).image_txid == 0


@pytest.mark.req("FS-031")
def test_only_the_edits_after_the_image_are_replayed(roots: list[Path]) -> None:
    last = log_on(roots, 1, 3)
    checkpoint(roots)
    for root in roots:
        next(iter((root / "current").glob("edits_*-*"))).unlink()
    log_on(roots, last + 1, 2)
    assert names(start(roots)) == ["d2", "d3", "d4", "d7", "d8"]


def test_an_image_in_the_middle_of_a_segment_is_no_hindrance(roots: list[Path]) -> None:
    log_on(roots, 1, 3)
    (state,) = [start(roots)]
    namespace = type(state.namespace)()
    for txid in (2, 3):
        namespace.apply(ed.MkdirOp(16385 + txid, f"/d{txid}", txid, OWNED))
    save_image(
        [roots[0] / "current"],
        3,
        lambda sink: write_image(namespace, state.version.namespace_id, 3, sink),
    )
    assert names(start(roots)) == ["d2", "d3", "d4"]


def test_a_damaged_image_is_passed_over_for_the_one_before_it(roots: list[Path]) -> None:
    last = log_on(roots, 1, 3)
    damage(roots, checkpoint(roots))
    assert (start(roots).image_txid, start(roots).last_txid) == (0, last)


def test_a_damaged_image_is_named_loudly(
    roots: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    log_on(roots, 1, 3)
    txid = checkpoint(roots)
    damage(roots, txid)
    with caplog.at_level(logging.ERROR):
        start(roots)
    assert f"{image_name(txid)} is damaged: its sum is" in caplog.text


def test_a_sound_copy_in_another_directory_is_taken(roots: list[Path]) -> None:
    log_on(roots, 1, 3)
    txid = checkpoint(roots)
    damage(roots[:1], txid)
    assert start(roots).image_txid == txid


def test_a_damaged_image_stops_the_start_if_the_edits_before_it_are_gone(
    roots: list[Path],
) -> None:
    last = log_on(roots, 1, 3)
    damage(roots, checkpoint(roots))
    log_on(roots, last + 1, 2)
    for root in roots:
        (root / "current" / "edits_0000000000000000001-0000000000000000005").unlink()
    with pytest.raises(errors.CorruptEditLog, match="no transactions 1 to 5"):
        start(roots)


def test_a_start_without_any_sound_image_is_refused(roots: list[Path]) -> None:
    damage(roots, 0)
    with pytest.raises(errors.CorruptImage, match="none of the images can be used"):
        start(roots)


def test_an_image_without_its_sum_is_not_used(roots: list[Path]) -> None:
    log_on(roots, 1, 3)
    txid = checkpoint(roots)
    for root in roots:
        md5_path(root / "current" / image_name(txid)).unlink()
    assert start(roots).image_txid == 0


def test_what_an_unfinished_image_left_is_removed(roots: list[Path]) -> None:
    directory = roots[0] / "current"
    write_unfinished([directory], 7, lambda sink: sink.write(b"half"))
    start(roots)
    assert not list(directory.glob("fsimage.ckpt*"))


@pytest.mark.parametrize("step", ["replace_file", "disk.rename", "fsync_directory"])
def test_a_crash_while_an_image_gets_its_name_leaves_a_directory_that_starts(
    roots: list[Path], step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = log_on(roots, 1, 3)

    class Crash(BaseException):
        pass

    def crash(*_: object, **__: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(f"howdah.storage.image_files.{step}", crash)
        with pytest.raises(Crash):
            checkpoint(roots)
    assert start(roots).last_txid == last


def test_images_and_segments_that_no_start_needs_are_removed(roots: list[Path]) -> None:
    last = 0
    for _ in range(4):
        last = log_on(roots, last + 1, 2)
        checkpoint(roots)
    directories = [root / "current" for root in roots]
    purge(directories, directories, Retention(images=2, extra_edits=0))
    left = sorted(path.name for path in directories[1].glob("*_*"))
    assert left == [
        "edits_0000000000000000013-0000000000000000016",
        "fsimage_0000000000000000012",
        "fsimage_0000000000000000012.md5",
        "fsimage_0000000000000000016",
        "fsimage_0000000000000000016.md5",
        "seen_txid",
    ]


def test_a_checkpoint_is_imported_into_empty_directories(
    roots: list[Path], tmp_path: Path, conf: Configuration
) -> None:
    log_on(roots, 1, 3)
    fresh = tmp_path / "fresh"
    import_checkpoint(
        Configuration(
            {
                keys.DFS_NAMENODE_NAME_DIR.name: str(fresh),
                keys.DFS_NAMENODE_CHECKPOINT_DIR.name: str(roots[0]),
            }
        )
    )
    assert names(start([fresh])) == ["d2", "d3", "d4"]


def test_a_checkpoint_is_not_imported_over_an_image(roots: list[Path], conf: Configuration) -> None:
    with pytest.raises(errors.InconsistentStorage, match="already contains an image"):
        import_checkpoint(conf)


def test_an_image_with_what_is_not_supported_stops_the_start(roots: list[Path]) -> None:
    def write(sink: Sink) -> None:
        writer = ImageWriter(sink)
        writer.namesystem(rec.NamesystemRecord(77, 1000, 1000, 1000, 1073741824, 90))
        writer.erasure_coding(())
        writer.inodes(16385, 0, [])
        writer.children([])
        writer.open_files([])
        writer.snapshots(rec.SnapshotsRecord())
        writer.secrets(rec.SecretsRecord())
        writer.cache(rec.CacheRecord())
        writer.finish()

    save_image([roots[0] / "current"], 90, write)
    with pytest.raises(errors.UnsupportedOperation, match="blocks from before Hadoop 2"):
        start(roots)


@pytest.mark.req("FS-030")
def test_a_directory_of_images_alone_may_lack_its_seen_txid(
    roots: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    """It may have been filled by hand; the directories of edits have theirs."""
    last = log_on(roots, 1, 3)
    (roots[0] / "current" / "seen_txid").unlink()
    loaded = load(roots, roots[1:])
    for lock in loaded.locks:
        lock.release()
    assert loaded.last_txid == last
    assert f"{roots[0]} does not say how far" in caplog.text
    (roots[1] / "current" / "seen_txid").unlink()
    with pytest.raises(errors.InconsistentStorage, match="seen_txid is missing"):
        load(roots, roots[1:])
