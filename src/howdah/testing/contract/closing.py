"""`close`: writes all, once, and lets go (OS-002, OS-008, OS-017 to OS-022, OS-053 to OS-062)."""

from __future__ import annotations

import os
import threading

from howdah.fs import capabilities
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal, expect_refused
from howdah.testing.waiting import wait_until

PATIENCE_S = 60.0
SPARE = 12
"""How many connections or threads may stay for the next file."""


@check("OS-002", "OS-055", "OS-059", "OS-054", "OS-070", "OS-124", "OS-191", "FS-154", "OS-179")
def everything_written_is_seen_after_close(subject: Subject) -> None:
    """Without any flush before it, at once, by everybody."""
    for size in (0, 1, 511, 512, 513, 65_536, 400_003):
        path = subject.new_path()
        data = bytes([size % 251]) * size
        out = subject.fs.create(path)
        out.write(data)
        out.close()
        expect(subject.see(path) == data, f"not all of {size} bytes are there after close")
        expect_equal(subject.length(path), size, "length after close")


@check("OS-019", "OS-020", "XC-009")
def only_the_first_close_does_anything(subject: Subject) -> None:
    """Later ones return, and write nothing: not over what came since either."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.write(b"first")
    out.close()
    mtime_ms = subject.mtime_ms(path)
    for _ in range(4):
        out.close()
    expect_equal(subject.mtime_ms(path), mtime_ms, "modification time after further closes")
    expect_equal(subject.see(path), b"first", "content after further closes")
    subject.put(path, b"second")
    out.close()
    expect_equal(subject.see(path), b"second", "content after a close of the first stream")


@check("OS-008", "OS-017", "OS-018")
def a_closed_stream_says_that_it_is_closed(subject: Subject) -> None:
    """And its position is refused with an error that is an `OSError` or `ValueError`."""
    out = subject.fs.create(subject.new_path())
    expect(not out.closed, "an open stream says that it is closed")
    out.close()
    expect(out.closed, "a closed stream says that it is open")
    expect_refused(out.tell, (OSError, ValueError), "tell of a closed stream")


@check("OS-168", "OS-019", "LM-050")
def threads_that_close_at_once_complete_the_file_once(subject: Subject) -> None:
    """Ten of them; none fails, none returns before all is written."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.write(b"data" * 5000)
    start = threading.Barrier(10)
    lengths: list[int] = []
    failures: list[Exception] = []

    def close() -> None:
        start.wait(PATIENCE_S)
        try:
            out.close()
            lengths.append(subject.length(path))
        except Exception as error:  # noqa: BLE001 (whatever it is, the check fails with it)
            failures.append(error)

    threads = [threading.Thread(target=close) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    expect_equal(failures, [], "errors of closes at once")
    expect_equal(lengths, [20_000] * 10, "lengths after each close")
    expect(subject.see(path) == b"data" * 5000, "the content differs")


@check("OS-058", "AP-043", "AP-044", needs=capabilities.APPEND)
def close_lets_another_writer_in_at_once(subject: Subject) -> None:
    """Another client appends and overwrites without waiting for anything to expire."""
    path = subject.new_path()
    subject.put(path, b"one")
    with subject.other.append(path) as out:
        out.write(b" two")
    expect_equal(subject.see(path), b"one two", "content")
    with subject.other.create(path, overwrite=True) as out:
        out.write(b"three")
    expect_equal(subject.see(path), b"three", "content")


@check("OS-002", "OS-020")
def leaving_a_with_block_closes(subject: Subject) -> None:
    """Also when an exception leaves it; the exception goes on."""
    path = subject.new_path()

    def fail() -> None:
        with subject.fs.create(path) as out:
            out.write(b"data")
            raise KeyError("the caller's own")

    expect_refused(fail, KeyError, "an exception in a with block")
    expect_equal(subject.see(path), b"data", "content")


@check("OS-053", "FS-096")
def closed_streams_hold_nothing(subject: Subject) -> None:
    """Neither threads nor descriptors grow with the number of files written and read."""

    def write_and_read(count: int) -> None:
        for number in range(count):
            path = subject.new_path()
            subject.put(path, b"%d" % number)
            expect_equal(subject.see(path), b"%d" % number, "content")

    write_and_read(6)  # what is kept for the next file is there now
    before = _held()
    write_and_read(3 * SPARE)
    wait_until(
        lambda: all(now <= held + SPARE for now, held in zip(_held(), before, strict=True)),
        PATIENCE_S,
        f"threads and descriptors to be about {before} again, after {3 * SPARE} files",
    )


def _held() -> tuple[int, int]:
    """Threads and open descriptors of this process, where they can be counted."""
    try:
        descriptors = len(os.listdir("/proc/self/fd"))
    except FileNotFoundError:
        descriptors = 0
    return threading.active_count(), descriptors


@check(
    "OS-021", "OS-022", "OS-060", "OS-062", "OS-069", "LM-033", needs="faults",
)  # fmt: skip
def a_failed_close_is_the_only_attempt(subject: Subject) -> None:
    """It raises; later closes write nothing even if they could, and the stream is closed."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.write(b"lost")
    assert subject.write_faults is not None
    with subject.write_faults():
        expect_refused(out.close, OSError, "a close that writes nothing")
    expect(out.closed, "a stream whose close failed says that it is open")
    for _ in range(3):
        try:
            out.close()
        except OSError:
            continue  # raising again is allowed
    if subject.other.exists(path):
        expect(subject.see(path) != b"lost", "a later close wrote the data after all")
    expect_refused(lambda: out.write(b"x"), OSError, "a write after a failed close")
    expect_refused(lambda: out.write(1), OSError, "a write of a byte after a failed close")
    out.flush()
