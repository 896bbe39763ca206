"""Files that are written, appended to, cut, moved, replaced and deleted under their readers."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator

import pytest

import howdah
from howdah import errors
from howdah.fs.tail import Change, TailReader
from howdah.options import FileRange
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import blocks_of, replica_files

MIB = 1 << 20
DATA = random.Random(6).randbytes(3 * MIB + 77)
MORE = random.Random(7).randbytes(MIB // 2)
_numbers = itertools.count()


@pytest.fixture
def fs(howdah_cluster: MiniCluster) -> Iterator[howdah.FileSystem]:
    with howdah_cluster.connect() as connected:
        yield connected


@pytest.fixture
def path(fs: howdah.FileSystem) -> str:
    return f"/read-changes/file-{next(_numbers)}"


@pytest.fixture
def written(fs: howdah.FileSystem, path: str) -> str:
    """A file of four blocks."""
    with fs.create(path, block_size=MIB) as out:
        out.write(DATA)
    return path


# --- a live writer ------------------------------------------------------------------------


@pytest.mark.req("OS-082")
def test_every_flush_is_seen_by_the_next_reader_to_the_byte(
    fs: howdah.FileSystem, path: str
) -> None:
    randomness = random.Random(1)
    with fs.create(path, block_size=MIB) as out:
        end = 0
        # Small pieces, and over the ends of blocks.
        for size in (1, 511, 512, 3, MIB - 1000, 4000, 700_000, 1):
            out.write(DATA[end : end + size])
            out.hflush()
            end += size
            with fs.open(path) as stream:
                assert stream.size == end
                start = randomness.randrange(end)
                assert stream.pread(start, end) == DATA[start:end]


def test_a_file_whose_first_block_has_no_replica_yet_is_empty(
    fs: howdah.FileSystem, path: str
) -> None:
    with fs.create(path) as out:
        with fs.open(path) as stream:
            assert (stream.size, stream.read()) == (0, b"")
        out.write(b"not yet sent")
        with fs.open(path) as stream:
            assert stream.read() in (b"", b"not yet sent")


def test_a_reader_of_an_open_file_reads_on_after_it_was_closed(
    fs: howdah.FileSystem, path: str
) -> None:
    with fs.create(path, block_size=MIB) as out:
        out.write(DATA[: MIB + 500])
        out.hflush()
        stream = fs.open(path)
        begin = stream.read(10)
        out.write(DATA[MIB + 500 :])
    with stream:
        assert begin + stream.read() == DATA[: MIB + 500]
    with fs.open(path) as again:
        assert again.read() == DATA


def test_a_reader_goes_on_while_the_lease_of_the_writer_is_taken_and_its_block_recovered(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, path: str
) -> None:
    with howdah_cluster.connect() as writer:
        out = writer.create(path, block_size=MIB)
        out.write(DATA[: MIB + 5000])
        out.hflush()
        with fs.open(path) as stream:
            begin = stream.read(10)
            fs.recover_lease(path)
            wait_until(lambda: fs.is_file_closed(path), 60)
            # The last block has a new generation stamp, and other locations maybe.
            assert begin + stream.read() == DATA[: MIB + 5000]
            assert stream.pread(MIB + 1, 5000) == DATA[MIB + 1 : MIB + 5000]
        with pytest.raises(errors.HowdahError):
            out.close()


# --- other changes under an open stream -------------------------------------------------------


@pytest.mark.req("OS-088")
def test_a_reader_does_not_notice_that_the_file_is_appended_to(
    fs: howdah.FileSystem, written: str
) -> None:
    with fs.open(written) as stream:
        begin = stream.read(10)
        with fs.append(written) as out:
            out.write(MORE)
            out.hflush()
            # The last block has a new generation stamp now, and more bytes.
            assert stream.pread(3 * MIB, MIB) == DATA[3 * MIB :]
        assert begin + stream.read() == DATA
        assert stream.size == len(DATA)
    with fs.open(written) as again:
        assert again.read() == DATA + MORE


def test_a_reader_does_not_notice_that_the_file_is_moved(
    fs: howdah.FileSystem, written: str
) -> None:
    with fs.open(written) as stream:
        begin = stream.read(10)
        fs.rename(written, f"{written}-moved")
        assert begin + stream.read() == DATA


def test_a_reader_of_a_replaced_file_gets_no_byte_of_the_new_one(
    howdah_cluster: MiniCluster, written: str
) -> None:
    conf = howdah_cluster.conf.with_values({"dfs.client.read.prefetch.size": str(MIB)})
    with howdah.connect(howdah_cluster.uri, conf=conf) as fs, fs.open(written) as stream:
        assert stream.pread(0, 10) == DATA[:10]
        with fs.create(written, overwrite=True, block_size=MIB) as out:
            out.write(bytes(len(DATA)))
        # The next block, and one that is far from all that the stream knows.
        for offset in (MIB, 2 * MIB):
            with pytest.raises(errors.FileChanged, match=f"{written} is not the file any more"):
                stream.pread(offset, 10)


def test_a_reader_of_a_deleted_file_is_told_so(
    howdah_cluster: MiniCluster, fs: howdah.FileSystem, written: str
) -> None:
    blocks = blocks_of(howdah_cluster, written)
    with fs.open(written) as stream:
        assert stream.pread(0, 10) == DATA[:10]
        fs.delete(written)
        wait_until(lambda: not replica_files(howdah_cluster, blocks), 60)
        with pytest.raises(FileNotFoundError, match=f"{written} was deleted or renamed"):
            stream.pread(2 * MIB, 10)


def test_a_reader_of_a_file_that_was_cut_reads_what_is_left_and_no_more(
    fs: howdah.FileSystem, written: str
) -> None:
    with fs.open(written) as stream:
        assert fs.truncate(written, MIB)
        assert stream.read(MIB) == DATA[:MIB]
        with contextlib.suppress(errors.FileChanged):
            # The replicas behind the cut may be there for a moment still.
            assert stream.pread(2 * MIB, 10) == DATA[2 * MIB : 2 * MIB + 10]
    with fs.open(written) as again:
        assert again.read() == DATA[:MIB]


def test_a_reader_of_a_file_that_was_cut_within_a_block_reads_up_to_there(
    fs: howdah.FileSystem, written: str
) -> None:
    with fs.open(written) as stream:
        if not fs.truncate(written, MIB + 1000):
            wait_until(lambda: fs.is_file_closed(written), 60)
        assert stream.pread(0, MIB + 1000) == DATA[: MIB + 1000]
        with pytest.raises(errors.FileChanged, match=f"{written} was cut or replaced"):
            stream.pread(MIB + 900, 200)
    with fs.open(written) as again:
        assert again.read() == DATA[: MIB + 1000]


# --- reads of several ranges --------------------------------------------------------------


def test_vectored_reads_come_from_all_blocks_at_once(fs: howdah.FileSystem, written: str) -> None:
    randomness = random.Random(9)
    starts = sorted(randomness.sample(range(0, len(DATA), 4096), 40))
    ranges = [FileRange(start, 1 + randomness.randrange(4000)) for start in starts]
    ranges = [each for each in ranges if each.end <= len(DATA)]
    randomness.shuffle(ranges)
    with fs.open(written) as stream:
        futures = stream.read_vectored(ranges)
        for wanted, future in zip(ranges, futures, strict=True):
            assert future.result(60) == DATA[wanted.offset : wanted.end]
        assert stream.statistics().total_bytes >= sum(each.length for each in ranges)


# --- following ------------------------------------------------------------------------------


@pytest.mark.req("OS-159")
def test_a_follower_sees_each_flush_of_a_live_writer(fs: howdah.FileSystem, path: str) -> None:
    with fs.create(path, block_size=MIB) as out:
        reader = TailReader(fs, path)
        assert b"".join(reader.read_new()) == b""
        for number in range(20):
            out.write(f"line {number}\n".encode())
            out.hflush()
            assert b"".join(reader.read_new()) == f"line {number}\n".encode()


@pytest.mark.req("OS-159")
def test_a_follower_goes_on_through_blocks_close_append_cut_and_replacement(
    fs: howdah.FileSystem, path: str
) -> None:
    noted: list[Change] = []
    reader = TailReader(fs, path, changed=noted.append)
    with fs.create(path, block_size=MIB) as out:
        out.write(DATA[: 2 * MIB + 5])
        out.hflush()
        assert b"".join(reader.read_new()) == DATA[: 2 * MIB + 5]
        out.write(b"end")
    assert b"".join(reader.read_new()) == b"end"
    with fs.append(path) as out:
        out.write(b"appended")
    assert b"".join(reader.read_new()) == b"appended"
    assert fs.truncate(path, MIB)
    assert b"".join(reader.read_new()) == b""
    with fs.append(path) as out:
        out.write(b"behind the cut")
    assert b"".join(reader.read_new()) == b"behind the cut"
    with fs.create(path, overwrite=True) as out:
        out.write(b"another file")
    assert b"".join(reader.read_new()) == b"another file"
    assert noted == [Change.CUT, Change.REPLACED]
