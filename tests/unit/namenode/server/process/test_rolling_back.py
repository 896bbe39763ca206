"""A rolling upgrade at a start: it goes on, it was finalized, or everything goes back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.formats.edits import edits as ed
from howdah.formats.edits.codec import encode_record
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.server.process.rolling_back import roll_back_upgrade
from howdah.namenode.state.images.image import write_image
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.runtime import disk
from howdah.storage.image_files import (
    check_image,
    end_rollback_images,
    finish_image,
    list_images,
    write_unfinished,
)
from howdah.storage.layout import StorageDirectory
from howdah.storage.retention import Retention, purgeable
from howdah.storage.segments import SegmentWriter, list_segments

OWNED = ed.Permission("alice", "staff", 0o750)


class Directory:
    """A name directory with an upgrade in it: `/before` is in the rollback image, `/after` in
    the log and in a newer image."""

    def __init__(self, root: Path, *, starts_in_image: bool = True) -> None:
        self.root = root
        self.conf = Configuration({"dfs.namenode.name.dir": root.as_uri()})
        self.version = format_namenode(self.conf)
        self.next_txid = 1
        start = [ed.RollingUpgradeStartOp(1)]
        self.log(ed.MkdirOp(16386, "/before", 1, OWNED), *(start if starts_in_image else []))
        self.image_txid = self.next_txid - 1
        self.save(rollback=True)
        self.log(
            *([] if starts_in_image else start),
            ed.MkdirOp(16387, "/after", 1, OWNED),
            ed.AllocateBlockIdOp(1073741825),
            ed.AllocateBlockIdOp(FIRST_GROUP_ID),
            ed.AllocateBlockIdOp(FIRST_GROUP_ID + 16),
            ed.SetGenstampV2Op(1001),
        )

    def log(self, *logged: ed.Edit) -> None:
        whole = (ed.StartLogSegmentOp(), *logged, ed.EndLogSegmentOp())
        writer = SegmentWriter(self.root / "current", self.next_txid, preallocation_bytes=4096)
        for txid, edit in enumerate(whole, self.next_txid):
            writer.append(encode_record(txid, edit))
        StorageDirectory(self.root).write_seen_txid(self.next_txid)
        self.next_txid += len(whole)
        writer.finalize(self.next_txid - 1)

    def load(self) -> Loaded:
        loaded = load([self.root], [self.root])
        for lock in loaded.locks:
            lock.release()
        return loaded

    def save(self, *, rollback: bool = False) -> None:
        """An image of what there is now."""
        namespace = self.load().namespace
        written = write_unfinished(
            [self.root / "current"],
            self.next_txid - 1,
            lambda sink: write_image(
                namespace, self.version.namespace_id, self.next_txid - 1, sink
            ),
        )
        written = type(written)(
            written.txid, written.md5, written.size_bytes, written.directories, (), rollback
        )
        finish_image(written)

    def files(self) -> set[str]:
        return {path.name for path in (self.root / "current").iterdir()}


@pytest.fixture
def upgraded(tmp_path: Path) -> Directory:
    return Directory(tmp_path / "name")


def names(loaded: Loaded) -> list[str]:
    return sorted(loaded.namespace.root.entries)


@pytest.mark.parametrize("starts_in_image", [True, False])
def test_a_start_goes_on_with_a_rolling_upgrade(tmp_path: Path, starts_in_image: bool) -> None:
    directory = Directory(tmp_path / "name", starts_in_image=starts_in_image)
    for _ in range(2):
        loaded = directory.load()
        assert names(loaded) == ["after", "before"]
        assert loaded.namespace.rolling_upgrade.start_ms == 1
        directory.save()


def test_a_newer_image_tells_of_the_upgrade_too(upgraded: Directory) -> None:
    upgraded.save()
    loaded = upgraded.load()
    assert loaded.image_txid == upgraded.next_txid - 1
    assert loaded.namespace.rolling_upgrade.start_ms == 1


@pytest.mark.req("FS-203")
@pytest.mark.parametrize("starts_in_image", [True, False])
def test_a_rollback_ends_where_the_upgrade_was_prepared(
    tmp_path: Path, starts_in_image: bool
) -> None:
    directory = Directory(tmp_path / "name", starts_in_image=starts_in_image)
    directory.save()
    assert roll_back_upgrade(directory.conf) == directory.image_txid
    loaded = directory.load()
    assert names(loaded) == ["before"]
    assert loaded.last_txid == directory.image_txid
    assert not loaded.namespace.rolling_upgrade.is_under_way
    assert [image.txid for image in list_images(loaded.name_directories)] == [
        directory.image_txid,
        0,
    ]
    with pytest.raises(errors.InconsistentStorage, match="nothing can be gone back to"):
        roll_back_upgrade(directory.conf)


@pytest.mark.req("FS-030")
def test_a_directory_of_images_has_seen_no_more_than_what_a_rollback_leaves(
    tmp_path: Path, upgraded: Directory
) -> None:
    """The start would miss the end of the log otherwise, which was given up."""
    root, images = upgraded.root, tmp_path / "images"
    shutil.copytree(root, images)
    for path in (images / "current").glob("edits_*"):
        path.unlink()
    names = f"{root.as_uri()},{images.as_uri()}"
    settings = {"dfs.namenode.name.dir": names, "dfs.namenode.edits.dir": root.as_uri()}
    roll_back_upgrade(Configuration(settings))
    loaded = load([root, images], [root])
    for lock in loaded.locks:
        lock.release()
    assert loaded.last_txid == upgraded.image_txid
    assert StorageDirectory(images).read_seen_txid() == upgraded.image_txid


def test_names_of_blocks_are_not_given_twice_after_a_rollback(upgraded: Directory) -> None:
    given = upgraded.load().namespace
    roll_back_upgrade(upgraded.conf)
    namespace = upgraded.load().namespace
    assert namespace.last_block_id >= given.last_block_id
    assert namespace.last_group_id >= given.last_group_id == FIRST_GROUP_ID + 16
    assert namespace.generation_stamp >= given.generation_stamp


def test_segments_that_are_given_up_keep_their_bytes(upgraded: Directory) -> None:
    before = {path: path.read_bytes() for path in (upgraded.root / "current").glob("edits_*")}
    roll_back_upgrade(upgraded.conf)
    trashed = [path for path in before if not path.exists()]
    assert len(trashed) == 1
    for path in trashed:
        assert path.with_name(path.name + ".trash").read_bytes() == before[path]


def test_a_segment_that_goes_beyond_the_image_stops_a_rollback_unchanged(
    upgraded: Directory,
) -> None:
    (upgraded.root / "current" / "edits_0000000000000000001-0000000000000000099").touch()
    before = upgraded.files()
    with pytest.raises(errors.InconsistentStorage, match="cannot be cut there"):
        roll_back_upgrade(upgraded.conf)
    assert upgraded.files() == before


def test_a_damaged_rollback_image_is_nothing_to_go_back_to(upgraded: Directory) -> None:
    image = next(each for each in list_images([upgraded.root / "current"]) if each.rollback)
    image.path.write_bytes(image.path.read_bytes()[:-1] + b"x")
    with pytest.raises(errors.InconsistentStorage, match="no sound fsimage_rollback"):
        roll_back_upgrade(upgraded.conf)


class Crash(Exception):
    """The process dies here."""


def crash_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change of a file that comes after so many does not happen, nor does what follows."""
    left = [steps]

    def stepping(act: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: object, **named: object) -> object:
            if not left[0]:
                raise Crash
            left[0] -= 1
            return act(*arguments, **named)

        return step

    for name in ("rename", "unlink", "open_file"):
        monkeypatch.setattr(disk, name, stepping(getattr(disk, name)))


@pytest.mark.req("FS-205")
def test_a_rollback_that_was_broken_off_anywhere_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for steps in range(100):
        directory = Directory(tmp_path / str(steps))
        directory.save()
        given = directory.load().namespace
        with monkeypatch.context() as patched:
            crash_after(steps, patched)
            try:
                roll_back_upgrade(directory.conf)
                break
            except Crash:
                pass
        if any(image.rollback for image in list_images([directory.root / "current"])):
            roll_back_upgrade(directory.conf)
        namespace = directory.load().namespace
        assert sorted(namespace.root.entries) == ["before"], steps
        assert namespace.generation_stamp >= given.generation_stamp, steps
    assert 8 < steps < 99


def test_a_crash_after_finalization_leaves_nothing_to_go_back_to(upgraded: Directory) -> None:
    upgraded.log(ed.RollingUpgradeFinalizeOp(2))
    loaded = upgraded.load()
    assert not loaded.namespace.rolling_upgrade.is_under_way
    found = list_images([upgraded.root / "current"])
    assert [(image.txid, image.rollback) for image in found] == [
        (upgraded.image_txid, False),
        (0, False),
    ]
    check_image(found[0].path)
    assert names(upgraded.load()) == ["after", "before"]


def test_an_image_with_a_start_and_no_rollback_image_is_of_no_upgrade(upgraded: Directory) -> None:
    end_rollback_images([upgraded.root / "current"], upgraded.image_txid)
    assert not upgraded.load().namespace.rolling_upgrade.is_under_way


@pytest.mark.req("FS-202")
def test_the_log_after_a_rollback_image_stays_and_so_does_the_image(upgraded: Directory) -> None:
    upgraded.save()
    upgraded.log()
    upgraded.save()
    current = upgraded.root / "current"
    retention = Retention(images=1, extra_edits=0)
    found, segments = purgeable(list_images([current]), list_segments(current), retention)
    assert [(image.txid, image.rollback) for image in found if image.txid] == [
        (upgraded.next_txid - 3, False)
    ]
    assert [segment.last_txid for segment in segments] == [upgraded.image_txid]


def test_the_command_rolls_back_before_it_starts(
    upgraded: Directory, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"-Ddfs.namenode.name.dir={upgraded.root.as_uri()}"
    # The start fails after that: the address is nobody's here.
    address = "-Ddfs.namenode.rpc-address=192.0.2.1:1"
    assert main(["namenode", option, address, "-rollingUpgrade", "ROLLBACK"]) != 0
    assert names(upgraded.load()) == ["before"]
    assert main(["namenode", option, "-rollingUpgrade", "rollback", "-upgrade"]) != 0
    assert "goes with no other option" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["no sum", "a sum that is none"])
def test_a_rollback_image_that_is_damaged_becomes_no_ordinary_one(
    upgraded: Directory, what: str
) -> None:
    upgraded.log(ed.RollingUpgradeFinalizeOp(2))
    broken = upgraded.root / "current" / f"fsimage_rollback_{upgraded.next_txid - 1:019d}"
    broken.write_bytes(b"image")
    if what == "a sum that is none":
        broken.with_name(f"{broken.name}.md5").write_bytes(b"nonsense\n")
    with pytest.raises(OSError, match="no sum"):
        end_rollback_images([upgraded.root / "current"], upgraded.next_txid)
    assert names(upgraded.load()) == ["after", "before"]
    assert broken.with_name(f"{broken.name}.damaged").exists()
