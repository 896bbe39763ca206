"""What a start makes of a log that a crash tore, or that somebody damaged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.storage.layout import StorageDirectory
from howdah.storage.segments import SegmentWriter, list_segments

OWNER = edits.Permission("root", "supergroup", 0o755)
CLIENT_ID = bytes(range(16))
DIRECTORIES = 6


def formatted(*roots: Path) -> None:
    format_namenode(
        Configuration({"dfs.namenode.name.dir": ",".join(root.as_uri() for root in roots)})
    )


def history(count: int = DIRECTORIES) -> list[edits.Edit]:
    """A segment that makes the directories /d1, /d2, …"""
    return [
        edits.StartLogSegmentOp(),
        *(edits.MkdirOp(16385 + n, f"/d{n}", 1000 + n, OWNER) for n in range(1, count + 1)),
    ]


def write(
    root: Path, log: Sequence[edits.Edit], *, first: int = 1, finish: bool = False
) -> list[int]:
    """Log the edits as a namenode does that is then killed; the offsets of the records."""
    writer = SegmentWriter(root / "current", first)
    offsets = [8]
    for txid, edit in enumerate(log, first):
        record = encode_record(txid, edit)
        writer.append(record)
        offsets.append(offsets[-1] + len(record))
    writer.sync()
    StorageDirectory(root).write_seen_txid(first)
    if finish:
        writer.finalize(first + len(log) - 1)
    else:
        writer.close()
    return offsets


@contextmanager
def loaded(*roots: Path) -> Iterator[Loaded]:
    found = load(list(roots), list(roots))
    try:
        yield found
    finally:
        for lock in found.locks:
            lock.release()


def directories(found: Loaded) -> list[str]:
    return found.namespace.root.sorted_names()


def segment(root: Path) -> Path:
    (only,) = list_segments(root / "current")
    return only.path


def snapshot(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (root / "current").iterdir() if path.is_file()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    formatted(tmp_path / "name")
    return tmp_path / "name"


def test_log_of_a_killed_namenode_is_read_to_its_end(root: Path) -> None:
    write(root, history())
    with loaded(root) as found:
        assert directories(found) == [f"d{n}" for n in range(1, DIRECTORIES + 1)]
        assert found.last_txid == DIRECTORIES + 1
    (finished,) = list_segments(root / "current")
    assert (finished.first_txid, finished.last_txid) == (1, DIRECTORIES + 1)


@pytest.mark.req("FS-023")
def test_tail_torn_at_any_byte_is_cut_at_the_last_whole_transaction(tmp_path: Path) -> None:
    formatted(tmp_path / "whole")
    offsets = write(tmp_path / "whole", history())
    data = segment(tmp_path / "whole").read_bytes()
    for end in range(offsets[-2], offsets[-1]):
        root = tmp_path / f"torn{end}"
        formatted(root)
        write(root, history(1))
        segment(root).write_bytes(data[:end] + b"\xff" * (len(data) - end))
        with loaded(root) as found:
            assert directories(found) == [f"d{n}" for n in range(1, DIRECTORIES)]
            assert found.last_txid == DIRECTORIES


@pytest.mark.parametrize("back", [1, 17, 40])
def test_what_was_cut_is_kept_beside_the_log(root: Path, back: int) -> None:
    offsets = write(root, history())
    with open(segment(root), "r+b") as file:
        file.truncate(offsets[-1] - back)
    with loaded(root):
        (torn,) = (root / "current").glob("*.torn")
        assert 0 < torn.stat().st_size == offsets[-1] - back - offsets[-2]


def test_namenode_goes_on_behind_a_cut(root: Path) -> None:
    offsets = write(root, history())
    with open(segment(root), "r+b") as file:
        file.truncate(offsets[-1] - 1)
    with loaded(root) as found:
        write(root, [edits.StartLogSegmentOp()], first=found.last_txid + 1)
    with loaded(root) as found:
        assert found.last_txid == DIRECTORIES + 1


@pytest.mark.req("FS-023")
@pytest.mark.parametrize("record", range(1, DIRECTORIES))
def test_damage_before_the_end_stops_the_start_and_is_named(root: Path, record: int) -> None:
    offsets = write(root, history())
    path = segment(root)
    data = bytearray(path.read_bytes())
    data[offsets[record] + 20] ^= 0x40
    path.write_bytes(data)
    before = snapshot(root)
    with pytest.raises(errors.CorruptEditLog) as caught, loaded(root):
        raise AssertionError("a damaged log was taken")
    assert str(path) in caught.value.message
    assert f"at offset {offsets[record]}" in caught.value.message
    assert f"transaction {record + 1}:" in caught.value.message
    assert snapshot(root) == before, "a log that is refused is left as it is"


def test_edit_that_does_not_fit_stops_the_start_and_is_named(root: Path) -> None:
    offsets = write(root, [*history(), edits.DeleteOp("/nothing", 1)])
    with pytest.raises(errors.CorruptEditLog) as caught, loaded(root):
        raise AssertionError("a log that contradicts itself was taken")
    assert f"offset {offsets[-2]}, transaction {DIRECTORIES + 2}" in caught.value.message
    assert "OP_DELETE of /nothing" in caught.value.message


def test_edit_of_a_feature_that_is_not_there_stops_the_start(root: Path) -> None:
    write(root, [*history(), edits.SetGenstampV1Op(1)])
    with pytest.raises(errors.CorruptEditLog, match="OP_SET_GENSTAMP_V1"), loaded(root):
        raise AssertionError("what the edit says would be lost")


def test_log_that_ends_before_what_it_had_reached_is_refused(root: Path) -> None:
    write(root, history(), finish=True)
    StorageDirectory(root).write_seen_txid(50)
    with pytest.raises(errors.CorruptEditLog, match="its tail is lost"), loaded(root):
        raise AssertionError("half a log was taken")


def test_gap_between_segments_is_named(root: Path) -> None:
    write(root, history(), finish=True)
    write(root, [edits.StartLogSegmentOp()], first=20)
    with pytest.raises(errors.CorruptEditLog, match="no transactions 8 to 19"), loaded(root):
        raise AssertionError("a log with a gap was taken")


def test_calls_in_the_log_are_remembered(root: Path) -> None:
    delete = edits.DeleteOp("/d1", 1, rpc_client_id=CLIENT_ID, rpc_call_id=7)
    write(root, [*history(), delete])
    with loaded(root) as found:
        assert list(found.answered_calls) == [(CLIENT_ID, 7, None)]


# Several directories.


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("behind", [0, 1])
def test_directory_that_was_dropped_is_brought_up_to_the_others(
    tmp_path: Path, behind: int
) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    formatted(*roots)
    write(roots[behind], history(2))
    write(roots[1 - behind], history())
    with loaded(*roots) as found:
        assert found.last_txid == DIRECTORIES + 1
    for alone in roots:
        with loaded(alone) as found:
            assert directories(found) == [f"d{n}" for n in range(1, DIRECTORIES + 1)]
    assert len(list((roots[behind] / "current").glob("*.stale"))) == 1


@pytest.mark.req("FS-030")
def test_directory_that_was_torn_is_made_whole_from_the_other(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    formatted(*roots)
    for root in roots:
        offsets = write(root, history())
    with open(segment(roots[0]), "r+b") as file:
        file.truncate(offsets[-1] - 3)
    with loaded(*roots) as found:
        assert found.last_txid == DIRECTORIES + 1
    assert segment(roots[0]).read_bytes() == segment(roots[1]).read_bytes()


def test_directories_of_two_filesystems_are_refused(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    for root in roots:
        formatted(root)
    with pytest.raises(errors.InconsistentStorage, match="different filesystems"), loaded(*roots):
        raise AssertionError("two filesystems were taken for one")


def test_directory_that_was_never_formatted_is_refused(tmp_path: Path) -> None:
    (tmp_path / "name").mkdir()
    with pytest.raises(errors.InconsistentStorage, match="-format"), loaded(tmp_path / "name"):
        raise AssertionError("an empty directory was taken")


def test_directory_whose_images_are_all_damaged_is_refused(root: Path) -> None:
    write(root, history())
    for image in (root / "current").glob("fsimage_*0"):
        image.unlink()
    (root / "current" / "fsimage_0000000000000000007").touch()
    with pytest.raises(errors.CorruptImage, match="none of the images can be used"), loaded(root):
        raise AssertionError("the image's files would be lost")


def test_start_that_fails_gives_its_locks_back(root: Path) -> None:
    write(root, history())
    StorageDirectory(root).write_seen_txid(50)
    for _ in range(2):
        with pytest.raises(errors.CorruptEditLog), loaded(root):
            raise AssertionError("half a log was taken")


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x40
    path.write_bytes(data)


@pytest.mark.req("FS-030")
@pytest.mark.parametrize(("damaged", "finish"), [(0, True), (0, False), (1, False)])
def test_damage_in_one_directory_does_not_stop_the_start_where_another_is_whole(
    tmp_path: Path, damaged: int, finish: bool
) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    formatted(*roots)
    for root in roots:
        offsets = write(root, history(), finish=finish)
    flip(segment(roots[damaged]), offsets[3] + 20)
    with loaded(*roots) as found:
        assert directories(found) == [f"d{n}" for n in range(1, DIRECTORIES + 1)]
    assert len(list((roots[damaged] / "current").glob("*.corrupt"))) == 1
    assert segment(roots[0]).read_bytes() == segment(roots[1]).read_bytes()


@pytest.mark.req("FS-030")
def test_two_directories_damaged_in_different_segments_make_one_whole_log(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    formatted(*roots)
    for root in roots:
        first = write(root, history(), finish=True)
        write(root, [edits.StartLogSegmentOp(), edits.DeleteOp("/d1", 1)], first=8)
    flip(list_segments(roots[0] / "current")[0].path, first[3] + 20)
    flip(list_segments(roots[1] / "current")[1].path, 8 + 17 + 20)
    with loaded(*roots) as found:
        assert found.last_txid == 9
    assert snapshot(roots[0]).keys() - {"VERSION"} >= {"seen_txid"}
    for alone in roots:
        with loaded(alone) as found:
            assert found.last_txid == 9


@pytest.mark.req("LM-009")
def test_whole_but_shorter_log_does_not_hide_that_the_longer_one_is_damaged(
    tmp_path: Path,
) -> None:
    """The one was dropped early; what only the other had must not vanish in silence."""
    roots = [tmp_path / "a", tmp_path / "b"]
    formatted(*roots)
    write(roots[0], history(2))
    offsets = write(roots[1], history())
    flip(segment(roots[1]), offsets[2] + 20)
    with pytest.raises(errors.CorruptEditLog, match=str(roots[1])), loaded(*roots):
        raise AssertionError("acknowledged edits were dropped")


@pytest.mark.req("FS-035")
@pytest.mark.parametrize("which", ["a", "b"])
def test_copy_of_any_one_directory_starts_elsewhere(tmp_path: Path, which: str) -> None:
    formatted(tmp_path / "a", tmp_path / "b")
    for root in ("a", "b"):
        write(tmp_path / root, history())
    elsewhere = tmp_path / "another machine" / "name"
    shutil.copytree(tmp_path / which, elsewhere)
    with loaded(elsewhere) as found:
        assert directories(found) == [f"d{n}" for n in range(1, DIRECTORIES + 1)]


@pytest.mark.req("FS-030")
def test_empty_directory_is_filled_from_the_others_and_can_be_started_from(
    tmp_path: Path,
) -> None:
    formatted(tmp_path / "a")
    write(tmp_path / "a", history())
    (tmp_path / "new").mkdir()
    with loaded(tmp_path / "new", tmp_path / "a"):
        assert segment(tmp_path / "new").read_bytes() == segment(tmp_path / "a").read_bytes()
    with loaded(tmp_path / "new") as found:
        assert found.last_txid == DIRECTORIES + 1


@pytest.mark.req("FS-029")
def test_directory_that_is_missing_stops_the_start_and_is_named(root: Path) -> None:
    """It may be the only one that has the last edits."""
    write(root, history())
    gone = root.parent / "gone"
    with pytest.raises(errors.InconsistentStorage, match=f"{gone} is missing"), loaded(root, gone):
        raise AssertionError("the namenode went back in time")


def test_stale_directory_is_recognised_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    formatted(*roots)
    write(roots[0], history(2))
    write(roots[1], history(), finish=True)
    write(roots[1], [edits.StartLogSegmentOp()], first=8)
    with loaded(*roots) as found:
        assert found.last_txid == 8
    assert f"{roots[0]} is stale: its log had reached 1, that of others 8" in caplog.text


def test_two_histories_are_refused(tmp_path: Path) -> None:
    """Each was started alone: no log holds what both were told."""
    roots = [tmp_path / "a", tmp_path / "b"]
    formatted(*roots)
    write(roots[0], history(2), finish=True)
    write(roots[0], history(2), first=4)
    write(roots[1], history())
    with pytest.raises(errors.CorruptEditLog, match="overlap"), loaded(*roots):
        raise AssertionError("one of two histories was thrown away")


# Real processes.


def start(root: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            *("-m", "howdah", "namenode"),
            *("-D", f"dfs.namenode.name.dir={root.as_uri()}"),
            *("-D", "fs.defaultFS=hdfs://127.0.0.1:0"),
            *("-D", "dfs.namenode.http-address=127.0.0.1:0"),
            *("--ready-file", str(root.parent / "ready")),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HADOOP_CONF_DIR": str(root.parent)},
    )


def test_damage_ends_the_process_with_a_word_about_where(root: Path) -> None:
    offsets = write(root, history())
    data = bytearray(segment(root).read_bytes())
    data[offsets[2] + 20] ^= 1
    segment(root).write_bytes(data)
    process = start(root)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "the namenode cannot start" in said
    assert f"at offset {offsets[2]}, in transaction 3" in said
    assert "Traceback" not in said


def test_second_namenode_on_a_directory_is_refused(root: Path) -> None:
    lock = StorageDirectory(root).lock()
    try:
        process = start(root)
        _, said = process.communicate(timeout=30)
    finally:
        lock.release()
    assert process.returncode == 1
    assert f"is in use by {os.getpid()}@" in said
