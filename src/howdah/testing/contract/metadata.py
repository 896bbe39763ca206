"""What a status says once a file is closed (OS-056, OS-142 to OS-150)."""

from __future__ import annotations

from collections.abc import Callable

from howdah.fs import capabilities
from howdah.fs.status import FileStatus
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal


@check("OS-056", "OS-142", "OS-144")
def length_and_time_are_final_after_close(subject: Subject) -> None:
    """Nothing changes any more when nobody writes."""
    path = subject.new_path()
    subject.put(path, b"x" * 12_345)
    first = subject.other.get_file_status(path)
    expect_equal(first.length, 12_345, "length")
    subject.see(path)
    second = subject.other.get_file_status(path)
    expect_equal(second.length, first.length, "length later")
    expect_equal(second.modification_time_ms, first.modification_time_ms, "modification time later")


@check("OS-148", "OS-149", "OS-150", "OS-056")
def the_modification_time_is_when_the_store_handled_the_close(subject: Subject) -> None:
    """By its own clock: not before the close began, not after it ended."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.write(b"data")
    before = subject.clock_ms()
    out.close()
    after = subject.clock_ms()
    mtime_ms = subject.mtime_ms(path)
    expect(before <= mtime_ms <= after, f"modified at {mtime_ms}, closed from {before} to {after}")


@check("OS-056", "OS-148", needs=capabilities.APPEND)
def an_append_sets_length_and_time_anew(subject: Subject) -> None:
    """When it is closed."""
    path = subject.new_path()
    subject.put(path, b"old")
    with subject.fs.append(path) as out:
        out.write(b"new")
        before = subject.clock_ms()
    after = subject.clock_ms()
    status = subject.other.get_file_status(path)
    expect_equal(status.length, 6, "length")
    mtime_ms = status.modification_time_ms
    expect(before <= mtime_ms <= after, f"modified at {mtime_ms}, closed from {before} to {after}")


@check("OS-145", "OS-142")
def every_listing_agrees_with_the_status(subject: Subject) -> None:
    """The directory's, the file's own, the glob's, the walk's."""
    directory = subject.new_path("dir")
    path = f"{directory}/file"
    subject.put(path, b"x" * 777)
    wanted = _essence(subject.other.get_file_status(path))
    fs = subject.other
    ways: dict[str, Callable[[], list[FileStatus]]] = {
        "list_status of the directory": lambda: fs.list_status(directory),
        "list_status of the file": lambda: fs.list_status(path),
        "list_status_iter": lambda: list(fs.list_status_iter(directory)),
        "glob_status": lambda: fs.glob_status(f"{directory}/f*"),
        "glob_status without a pattern": lambda: fs.glob_status(path),
        "walk": lambda: next(iter(fs.walk(directory)))[2],
    }
    for name, way in ways.items():
        expect_equal([_essence(status) for status in way()], [wanted], name)
    summary = fs.content_summary(directory)
    expect_equal((summary.length, summary.file_count), (777, 1), "content_summary")
    expect_equal(fs.du(path), 777, "du")


def _essence(status: FileStatus) -> tuple[object, ...]:
    return (
        status.path,
        status.length,
        status.modification_time_ms,
        status.is_directory,
        status.permission,
        status.owner,
    )


@check("OS-145", "OS-140", "OS-188", needs="creates_visibly")
def a_file_that_is_being_written_is_listed(subject: Subject) -> None:
    """With a length that may lag and never leads."""
    directory = subject.new_path("dir")
    subject.fs.mkdirs(directory)
    with subject.fs.create(f"{directory}/file") as out:
        out.write(b"x" * 1000)
        statuses = subject.other.list_status(directory)
        expect_equal([status.name for status in statuses], ["file"], "names")
        expect(statuses[0].length <= 1000, "the length says more than was written")
        expect(statuses[0].is_file, "it is not listed as a file")


@check("FS-147", "XC-004", "LM-038", needs=("creates_visibly", "flush_shows_nothing"))
def a_flush_leaves_a_small_files_length_at_zero(subject: Subject) -> None:
    """Where flushing doesn't reach the store, the metadata is not told either."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        out.write(b"content")
        out.flush()
        expect_equal(subject.length(path), 0, "length after flush")
