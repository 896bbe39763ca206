"""Input streams: what a reader may rely on (FS-086, FS-091 to FS-096)."""

from __future__ import annotations

import io
import threading

from howdah import errors
from howdah.options import FileRange
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal, expect_refused

DATA = bytes(range(256)) * 1500


@check("FS-086", "FS-091", "FS-096")
def a_reader_seeks_and_reads(subject: Subject) -> None:
    """Forward, back, relative, from the end, beyond it; large and small pieces."""
    path = subject.new_path()
    subject.put(path, DATA)
    size = len(DATA)
    with subject.other.open(path) as stream:
        expect(stream.read(10) == DATA[:10], "the first bytes differ")
        for offset in (200_000, 5, 262_143, size - 1, 0, 65_536):
            expect_equal(stream.seek(offset), offset, "what seek says")
            expect_equal(stream.tell(), offset, "position")
            expect(stream.read(300) == DATA[offset : offset + 300], f"bytes at {offset} differ")
        stream.seek(-7, io.SEEK_END)
        expect_equal(stream.read(), DATA[-7:], "the last bytes")
        expect_equal(stream.read(1), b"", "what is read at the end")
        stream.seek(100)
        stream.seek(28, io.SEEK_CUR)
        expect_equal(stream.read(3), DATA[128:131], "bytes after a relative seek")
        stream.seek(size + 10)
        expect_equal(stream.read(5), b"", "what is read beyond the end")
        expect_refused(lambda: stream.seek(-1), (OSError, ValueError), "a seek to -1")
    expect_refused(lambda: stream.read(1), (OSError, ValueError), "a read of a closed stream")


@check("OS-087", "FS-091")
def positioned_reads_leave_the_position_alone(subject: Subject) -> None:
    """`pread`, `read_fully`: anywhere, short only at the end."""
    path = subject.new_path()
    subject.put(path, DATA)
    size = len(DATA)
    with subject.other.open(path) as stream:
        stream.seek(77)
        expect(stream.pread(100_000, 500) == DATA[100_000:100_500], "bytes at 100,000 differ")
        expect_equal(stream.pread(size - 3, 10), DATA[-3:], "a read across the end")
        expect_equal(stream.pread(size, 10), b"", "a read at the end")
        expect_equal(stream.pread(0, 0), b"", "a read of nothing")
        expect_refused(lambda: stream.pread(-1, 1), (OSError, ValueError), "a read at -1")
        expect_refused(lambda: stream.read_fully(size - 3, 10), EOFError, "a full read at the end")
        expect_equal(stream.tell(), 77, "position")


@check("FS-091")
def threads_read_one_stream_by_position(subject: Subject) -> None:
    """Each gets the bytes that it asked for."""
    path = subject.new_path()
    subject.put(path, DATA)
    wrong: list[object] = []
    with subject.other.open(path) as stream:

        def read(seed: int) -> None:
            try:
                for turn in range(20):
                    offset = (seed * 7919 + turn * 104_729) % (len(DATA) - 1000)
                    if stream.pread(offset, 1000) != DATA[offset : offset + 1000]:
                        wrong.append(offset)
            except (errors.HowdahError, OSError) as error:
                wrong.append(error)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expect_equal(wrong, [], "offsets of wrong bytes, and errors")


@check("FS-091", needs="builders")
def vectored_reads_give_each_range_its_bytes(subject: Subject) -> None:
    """In the order of the ranges; overlaps and what is behind the end are refused."""
    path = subject.new_path()
    subject.put(path, DATA)
    ranges = [FileRange(300_000, 1000), FileRange(0, 10), FileRange(10, 0), FileRange(5000, 70_000)]
    with subject.other.open(path) as stream:
        futures = stream.read_vectored(ranges)
        for file_range, future in zip(ranges, futures, strict=True):
            piece = bytes(future.result(60))
            expect(
                piece == DATA[file_range.offset : file_range.end],
                f"the bytes of {file_range} differ",
            )
        expect_equal(stream.read_vectored([]), [], "what no ranges give")
        expect_refused(
            lambda: stream.read_vectored([FileRange(0, 10), FileRange(5, 10)]),
            (errors.UnsupportedOperation, ValueError),
            "ranges that overlap",
        )
        expect_refused(
            lambda: stream.read_vectored([FileRange(len(DATA) - 1, 2)]), EOFError, "a range too far"
        )
        expect_refused(
            lambda: stream.read_vectored([FileRange(-1, 2)]), ValueError, "a range before the start"
        )


@check("OS-101", "FS-096")
def closing_a_reader_twice_is_harmless(subject: Subject) -> None:
    """And other readers of the file go on."""
    path = subject.new_path()
    subject.put(path, b"data")
    with subject.other.open(path) as first, subject.other.open(path) as second:
        first.close()
        first.close()
        expect_equal(second.read(), b"data", "what the other reader reads")


@check("OS-181", "FS-086")
def what_is_not_there_cannot_be_opened(subject: Subject) -> None:
    """Nor can a directory."""
    expect_refused(
        lambda: subject.fs.open(subject.new_path()), FileNotFoundError, "opening nothing"
    )
    directory = subject.new_path("dir")
    subject.fs.mkdirs(directory)
    expect_refused(lambda: subject.fs.open(directory), OSError, "opening a directory")
