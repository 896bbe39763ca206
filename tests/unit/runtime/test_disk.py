"""A second descriptor of a file, past the page cache: where there is one, and where not."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.runtime import disk
from howdah.storage.segments import SegmentWriter


@pytest.fixture
def tmp_path(disk_directory: Path) -> Path:
    """Memory has no page cache to go past."""
    return Path(tempfile.mkdtemp(dir=disk_directory))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "file"
    found.write_bytes(bytes(3 * disk.BLOCK_BYTES))
    return found


def opened(path: Path) -> int:
    """How many descriptors of this process are of that file."""
    links = (each for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return sum(os.path.realpath(each) == os.path.realpath(path) for each in links)


def test_what_is_written_there_is_seen_by_all(path: Path) -> None:
    before = path.read_bytes()
    descriptor = disk.open_past_cache(path)
    if descriptor < 0:
        pytest.skip(f"there is no way past the cache of {path}")
    assert not os.get_inheritable(descriptor)
    with mmap.mmap(-1, disk.BLOCK_BYTES) as block:
        block[:] = b"x" * disk.BLOCK_BYTES
        assert os.pwritev(descriptor, [block], disk.BLOCK_BYTES) == disk.BLOCK_BYTES
    os.close(descriptor)
    assert path.read_bytes() == before[: disk.BLOCK_BYTES] + b"x" * disk.BLOCK_BYTES + bytes(
        disk.BLOCK_BYTES
    )


def refuse(*arguments: object, **named: object) -> int:
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda patch: patch.delattr(os, "O_DIRECT"),
        lambda patch: patch.setattr(disk, "open_file", refuse),
        lambda patch: patch.setattr(os, "preadv", refuse),
    ],
    ids=["no such flag", "a filesystem that refuses it", "one that wants other blocks"],
)
def test_where_there_is_no_such_thing_none_is_left_open(
    path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[pytest.MonkeyPatch], None]
) -> None:
    spoil(monkeypatch)
    assert disk.open_past_cache(path) == -1
    assert opened(path) == 0


@pytest.mark.parametrize("is_there", [True, False])
def test_a_segment_opens_it_once_and_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    if not is_there:
        monkeypatch.setattr(disk, "open_past_cache", lambda path: -1)
    writer = SegmentWriter(tmp_path, 1)
    lent = [writer.lend() for _ in range(3)]
    assert lent[0] is not None
    assert lent == lent[:1] * 3
    assert opened(writer.path) == (2 if lent[0][1] >= 0 else 1)
    assert is_there or lent[0][1] == -1
    writer.append(b"x")
    writer.sync()
    finished = writer.finalize(1)
    assert opened(finished) == 0


def test_no_descriptor_is_kept_where_there_is_no_memory_to_try_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(disk.BLOCK_BYTES))
    monkeypatch.setattr(mmap, "mmap", refuse)
    assert disk.open_past_cache(path) == -1
    assert opened(path) == 0


def test_a_segment_is_not_written_past_the_cache_where_its_name_is_anothers(
    tmp_path: Path,
) -> None:
    writer = SegmentWriter(tmp_path, 1)
    aside = tmp_path / "aside"
    writer.path.rename(aside)
    writer.path.write_bytes(aside.read_bytes())
    lent = writer.lend()
    assert lent is not None
    assert lent[1] == -1
    assert (opened(aside), opened(writer.path)) == (1, 0)
    writer.close()
