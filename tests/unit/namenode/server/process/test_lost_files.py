"""Each file of a namenode's directories is lost, or spoilt, in each way that a disk, a backup or
a person has: the start is refused and names a file, or nothing that was acknowledged is missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.segment_scan import encode_header
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.state.images.image import write_image
from howdah.storage.image_files import save_image
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import SegmentWriter

OWNER = edits.Permission("root", "supergroup", 0o755)
MADE = [f"d{n}" for n in (2, 3, 6, 7, 10, 11)]


def mkdir(txid: int) -> edits.MkdirOp:
    return edits.MkdirOp(16385 + txid, f"/d{txid}", 1000 + txid, OWNER)


def start(names: list[Path], logs: list[Path]) -> Loaded:
    loaded = load(names, logs)
    for lock in loaded.locks:
        lock.release()
    return loaded


def log_on(root: Path, first: int, *, finish: bool) -> None:
    """Two directories are made in a segment of four transactions, or of three and no end."""
    writer = SegmentWriter(root / "current", first, preallocation_bytes=4096)
    for txid, edit in enumerate((edits.StartLogSegmentOp(), mkdir(first + 1), mkdir(first + 2))):
        writer.append(encode_record(first + txid, edit))
    writer.sync()
    if finish:
        writer.append(encode_record(first + 3, edits.EndLogSegmentOp()))
        writer.finalize(first + 3)
    else:
        writer.close()


@dataclass(frozen=True)
class Directory:
    """Where the image after transaction 4 is, the segments 1 to 4, 5 to 8, and the one from 9
    on that nobody ended. The segment that the image made superfluous was purged."""

    images: Path
    edits: Path

    @classmethod
    def at(cls, images: Path, edits_root: Path) -> Directory:
        roots = dict.fromkeys([images, edits_root])
        format_namenode(
            Configuration(
                {
                    "dfs.namenode.name.dir": images.as_uri(),
                    "dfs.namenode.edits.dir": edits_root.as_uri(),
                }
            )
        )
        log_on(edits_root, 1, finish=True)
        loaded = start([images], [edits_root])
        save_image(
            [images / "current"],
            4,
            lambda sink: write_image(loaded.namespace, loaded.version.namespace_id, 4, sink),
        )
        log_on(edits_root, 5, finish=True)
        log_on(edits_root, 9, finish=False)
        for root in roots:
            StorageDirectory(root).write_seen_txid(9)
        (edits_root / "current" / "edits_0000000000000000001-0000000000000000004").unlink()
        return cls(images, edits_root)

    def made(self) -> list[str]:
        return sorted(start([self.images], [self.edits]).namespace.root.sorted_names(), key=_number)


def _number(name: str) -> int:
    return int(name[1:])


IMAGE = "fsimage_0000000000000000004"
FINISHED = "edits_0000000000000000005-0000000000000000008"
UNFINISHED = "edits_inprogress_0000000000000000009"


def gone(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    """Without the last bytes of what it says."""
    path.write_bytes(path.read_bytes().rstrip(b"\xff\n")[:-5])


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


def old(path: Path) -> None:
    """As a backup has it that was made before: the image of the empty namespace, a segment with
    its first record, or with its header."""
    older: dict[str, Callable[[], bytes]] = {
        "seen_txid": lambda: b"0\n",
        IMAGE: path.with_name("fsimage_0000000000000000000").read_bytes,
        f"{IMAGE}.md5": path.with_name("fsimage_0000000000000000000.md5").read_bytes,
        FINISHED: lambda: encode_header() + encode_record(5, edits.StartLogSegmentOp()),
        UNFINISHED: encode_header,
        "VERSION": lambda: path.read_bytes().replace(b"layoutVersion=-6", b"layoutVersion=-9"),
    }
    path.write_bytes(older[path.name]())


FAULTS = [gone, empty, cut, garbage, old]


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory.at(tmp_path / "name", tmp_path / "name")


def test_whole_directories_have_everything(tmp_path: Path, directory: Directory) -> None:
    assert directory.made() == MADE
    assert Directory.at(tmp_path / "images", tmp_path / "edits").made() == MADE


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "name", ["VERSION", "seen_txid", IMAGE, f"{IMAGE}.md5", FINISHED, UNFINISHED]
)
def test_a_start_has_everything_or_is_refused(
    directory: Directory, name: str, fault: Callable[[Path], None]
) -> None:
    fault(directory.images / "current" / name)
    if (name, fault) == ("seen_txid", old):
        assert directory.made() == MADE
    elif (name, fault) == (UNFINISHED, cut):
        # As a power cut leaves it: no reader can tell that the end was acknowledged.
        assert directory.made() == MADE[:-1]
    else:
        with pytest.raises(errors.HowdahError, match=str(directory.images)):
            directory.made()


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", [IMAGE, f"{IMAGE}.md5", FINISHED, UNFINISHED])
def test_another_directory_has_what_one_lost(
    tmp_path: Path, directory: Directory, name: str, fault: Callable[[Path], None]
) -> None:
    other = tmp_path / "other"
    shutil.copytree(directory.images, other)
    fault(directory.images / "current" / name)
    roots = [directory.images, other]
    assert sorted(start(roots, roots).namespace.root.sorted_names(), key=_number) == MADE


@pytest.mark.req("FS-030")
def test_the_directory_of_images_knows_that_the_one_of_edits_is_an_older_copy(
    tmp_path: Path,
) -> None:
    directory = Directory.at(tmp_path / "images", tmp_path / "edits")
    current = directory.edits / "current"
    (current / UNFINISHED).unlink()
    (current / "seen_txid").write_bytes(b"5\n")
    with pytest.raises(errors.CorruptEditLog, match="had reached 9: its tail is lost"):
        directory.made()
