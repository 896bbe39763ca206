"""Mending after a crash: all directories are alike, and nothing is thrown away."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.segment_scan import encode_header
from howdah.namenode.journal.directory_journal import DirectoryJournal, DirectorySource
from howdah.namenode.journal.log_reader import StoredLog
from howdah.namenode.journal.recovery import recover
from howdah.runtime import disk
from howdah.runtime.disk import Operation
from howdah.storage.segments import finished_name, in_progress_name, list_segments

LAST = 14


def record(txid: int) -> bytes:
    return encode_record(txid, edits.SetGenstampV2Op(1000 + txid))


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """No power is cut here, so nothing has to reach the disk."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


def write(current: Path, last: int = LAST) -> Path:
    """1 to 5 and 6 to 10 finished, the rest unfinished; as it was up to `last`."""
    current.mkdir(parents=True)
    for first, end in ((1, 5), (6, 10), (11, LAST + 1)):
        records = b"".join(record(txid) for txid in range(first, min(end, last) + 1))
        if end <= last:
            (current / finished_name(first, end)).write_bytes(encode_header() + records)
        elif first <= last:
            data = encode_header() + records + b"\xff" * 200
            (current / in_progress_name(first)).write_bytes(data)
    return current


def read(directories: Sequence[Path]) -> tuple[StoredLog, list[int]]:
    stored = StoredLog([DirectorySource(current) for current in directories], 1)
    return stored, [placed.logged.txid for _, placed in stored.edits()]


def mend(directories: Sequence[Path]) -> list[int]:
    stored, txids = read(directories)
    recover([DirectoryJournal(current) for current in directories], stored, txids[-1])
    return txids


def content(current: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in current.iterdir()}


# What may have become of a directory. Damage in a finished segment is found when that is read.


def whole(current: Path) -> None:
    pass


def unfinished(current: Path) -> Path | None:
    segment = list_segments(current)[-1]
    return segment.path if segment.in_progress else None


def torn(current: Path) -> None:
    path = unfinished(current)
    if path is not None:
        path.write_bytes(path.read_bytes().rstrip(b"\xff") + b"\3\0\0" + b"\xff" * 50)


def damaged(current: Path) -> None:
    path = unfinished(current)
    if path is not None:
        data = bytearray(path.read_bytes())
        data[8 + 20] ^= 0x40
        path.write_bytes(data)


def without_the_middle(current: Path) -> None:
    list_segments(current)[1].path.unlink()


def empty(current: Path) -> None:
    shutil.rmtree(current)
    current.mkdir()


def without_a_record(current: Path) -> None:
    path = unfinished(current)
    if path is not None:
        path.write_bytes(encode_header() + b"\xff" * 100)


FATES = [whole, torn, damaged, without_the_middle, empty, without_a_record]


@pytest.mark.req("FS-030")
@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(FATES), st.integers(6, LAST)), max_size=3), st.data())
def test_one_sound_directory_makes_all_alike(
    fates: list[tuple[Callable[[Path], None], int]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as where:
        found = [write(Path(where, f"d{n}", "current"), last) for n, (_, last) in enumerate(fates)]
        for current, (fate, _) in zip(found, fates, strict=True):
            fate(current)
        sound = write(Path(where, "sound", "current"))
        directories = data.draw(st.permutations([*found, sound]), label="order")
        assert mend(directories) == list(range(1, LAST + 1))
        for alone in directories:
            assert read([alone])[1] == list(range(1, LAST + 1))
            assert [s.last_txid for s in list_segments(alone)] == [5, 10, LAST]
        before = [content(current) for current in directories]
        mend(directories)
        assert [content(current) for current in directories] == before, "mended once"


def test_a_log_that_is_refused_is_left_as_it_is(tmp_path: Path) -> None:
    directories = [write(tmp_path / name / "current") for name in ("a", "b")]
    for current in directories:
        damaged(current)
    before = [content(current) for current in directories]
    with pytest.raises(errors.CorruptEditLog, match="damaged at offset"):
        mend(directories)
    assert [content(current) for current in directories] == before


class Broken:
    """Renames in one directory fail."""

    def __init__(self, current: Path) -> None:
        self.current = current

    def enter(self, operation: Operation, path: Path) -> None:
        if operation is Operation.RENAME and path.parent == self.current:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    def leave(self, operation: Operation, path: Path) -> None: ...

    def room(self, path: Path, length_bytes: int) -> int:
        return length_bytes


def test_what_one_directory_has_is_left_while_the_other_cannot_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk that has the whole log is about to fail: a shorter copy is worth a lot."""
    longer, shorter = write(tmp_path / "a" / "current"), write(tmp_path / "b" / "current", 12)
    with monkeypatch.context() as patched:
        patched.setattr(disk, "gate", Broken(longer))
        assert mend([longer, shorter]) == list(range(1, LAST + 1))
    assert f"the log in {longer.parent} can be read but not finished" in caplog.text
    assert read([shorter])[1] == list(range(1, 13))
    assert mend([longer, shorter]) == list(range(1, LAST + 1))
    assert read([shorter])[1] == list(range(1, LAST + 1))


def test_a_directory_that_cannot_be_mended_keeps_no_other_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = [write(tmp_path / name / "current") for name in ("a", "b", "c")]
    damaged(directories[0])
    damaged(directories[1])
    with monkeypatch.context() as patched:
        patched.setattr(disk, "gate", Broken(directories[0]))
        mend(directories)
    with pytest.raises(errors.CorruptEditLog):
        read(directories[:1])
    assert read(directories[1:2])[1] == list(range(1, LAST + 1))
