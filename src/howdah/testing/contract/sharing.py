"""A stream, a file and a path in several hands at once (OS-026, OS-029, OS-131 to OS-136)."""

from __future__ import annotations

import threading

from howdah.fs import capabilities
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal

PATIENCE_S = 60.0
WRITERS = 6
RECORDS = 120
RECORD_BYTES = 700


def _in_threads(*tasks: object) -> None:
    """Run functions at once; raise the first error."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(tasks))

    def run(task: object) -> None:
        start.wait(PATIENCE_S)
        try:
            task()  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 (raised below, in the caller's thread)
            failures.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    expect(not any(thread.is_alive() for thread in threads), "a thread hangs")
    if failures:
        raise failures[0]


def _expect_whole_records(content: bytes, wanted: dict[int, int]) -> None:
    expect_equal(len(content), sum(wanted.values()) * RECORD_BYTES, "length")
    counts: dict[int, int] = {}
    for start in range(0, len(content), RECORD_BYTES):
        record = content[start : start + RECORD_BYTES]
        expect(record == record[:1] * RECORD_BYTES, f"the record at {start} is torn")
        counts[record[0]] = counts.get(record[0], 0) + 1
    expect_equal(counts, wanted, "records of each thread")


@check("OS-026", "OS-029", "OS-031", "OS-134", "OS-135", needs="serialises_writes")
def writes_of_several_threads_stay_whole(subject: Subject) -> None:
    """No record torn, mixed up or lost."""
    path = subject.new_path()
    with subject.fs.create(path) as out:

        def writer(number: int) -> object:
            record = bytes([number]) * RECORD_BYTES
            return lambda: [out.write(record) for _ in range(RECORDS)]

        _in_threads(*(writer(number) for number in range(WRITERS)))
        expect_equal(out.get_pos(), WRITERS * RECORDS * RECORD_BYTES, "position")
    _expect_whole_records(subject.see(path), dict.fromkeys(range(WRITERS), RECORDS))


@check("OS-026", "OS-135", needs=("serialises_writes", capabilities.HSYNC))
def threads_write_while_others_sync(subject: Subject) -> None:
    """Each of them sees its own records after its own sync."""
    path = subject.new_path()
    with subject.fs.create(path) as out:

        def writer(number: int) -> object:
            record = bytes([number]) * RECORD_BYTES

            def run() -> None:
                for count in range(1, 6):
                    out.write(record)
                    out.hflush()
                    seen = subject.see(path)
                    own = sum(seen[at] == number for at in range(0, len(seen), RECORD_BYTES))
                    expect_equal(own, count, f"own records that thread {number} sees")

            return run

        _in_threads(*(writer(number) for number in range(3)))
    _expect_whole_records(subject.see(path), dict.fromkeys(range(3), 5))


@check("OS-158", "OS-157", "OS-160", "OS-141", needs=("creates_visibly", "serialises_writes"))
def the_length_never_says_more_than_can_be_read(subject: Subject) -> None:
    """Watched while a file is written: first the length is taken, then the content."""
    path = subject.new_path()
    done = threading.Event()
    promised = 0
    with subject.fs.create(path) as out:
        flushes = subject.stream_claims(capabilities.HSYNC)

        def write() -> None:
            nonlocal promised
            try:
                for number in range(40):
                    out.write(bytes([number]) * 9000)
                    if number % 4 == 3:
                        out.flush()
                        if flushes:
                            out.hflush()
                            promised = (number + 1) * 9000
            finally:
                done.set()

        def watch() -> None:
            longest = 0
            while True:
                last, least = done.is_set(), promised
                length = subject.length(path)
                readable = len(subject.see(path))
                expect(length <= readable, f"length {length}, readable {readable}")
                # Of several replicas the last one shows bytes before the others do: the next
                # reader, who asks another one, is sure of those that were flushed.
                least = least if flushes else longest
                expect(readable >= least, f"readable fell from {least} to {readable}")
                longest = readable
                if last:
                    return

        _in_threads(write, watch)


@check("OS-131", "OS-132", "OS-133", "LM-037", needs="creates_visibly")
def a_rename_or_delete_below_a_writer_is_done_or_refused(subject: Subject) -> None:
    """What the stream does then is undefined; the filesystem goes on, and close ends."""
    for way in ("rename", "delete"):
        path = subject.new_path()
        target = subject.new_path("moved")
        out = subject.fs.create(path)
        out.write(b"data")
        try:
            if way == "rename":
                subject.fs.rename(path, target)
                expect(subject.other.exists(target), "the renamed file doesn't exist")
            else:
                subject.fs.delete(path)
            done = True
        except OSError:
            done = False
        expect_equal(subject.other.exists(path), not done, f"whether the path exists after {way}")
        try:
            out.write(b"more")
            out.close()
        except OSError:
            expect(out.closed or done, "an untouched stream broke")
        subject.put(path, b"next")
        expect_equal(subject.see(path), b"next", f"a new file at the path after {way}")


@check("OS-128", needs="one_writer")
def files_of_one_directory_have_writers_of_their_own(subject: Subject) -> None:
    """Several open streams of one client, each with its own content."""
    paths = [subject.new_path() for _ in range(4)]
    streams = [subject.fs.create(path) for path in paths]
    for turn in range(5):
        for number, out in enumerate(streams):
            out.write(b"%d:%d;" % (number, turn))
    for out in streams:
        out.close()
    for number, path in enumerate(paths):
        wanted = b"".join(b"%d:%d;" % (number, turn) for turn in range(5))
        expect_equal(subject.see(path), wanted, "content")
