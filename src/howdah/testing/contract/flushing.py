"""`flush`: cheap, harmless, promising nothing (OS-027, OS-048 to OS-052, OS-170)."""

from __future__ import annotations

from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal


@check(
    "OS-048", "OS-049", "OS-050", "OS-016", "OS-121", "OS-125", "OS-137", needs="creates_visibly"
)
def flush_shows_a_beginning_of_what_was_written(subject: Subject) -> None:
    """Possibly all, possibly nothing; the stream stays open."""
    path = subject.new_path()
    data = bytes(range(256)) * 40
    with subject.fs.create(path) as out:
        for end in (0, 10, 1000, len(data)):
            out.write(data[out.get_pos() : end])
            out.flush()
            expect(not out.closed, "flush closed the stream")
            seen = subject.see(path)
            expect(
                data[:end].startswith(seen),
                f"{len(seen)} bytes are seen that are no beginning of the {end} written ones",
            )
            expect(subject.length(path) <= end, "the length says more than was written")
    expect_equal(subject.see(path), data, "content in the end")


@check("OS-051", "OS-027", "OS-170")
def flush_on_a_closed_stream_does_nothing(subject: Subject) -> None:
    """However often: no error, and the file stays as it is."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.write(b"data")
    out.close()
    mtime_ms = subject.mtime_ms(path)
    for _ in range(3):
        out.flush()
    expect_equal(subject.see(path), b"data", "content")
    expect_equal(subject.mtime_ms(path), mtime_ms, "modification time")


@check("OS-052", "OS-126", "LM-038")
def flushing_after_each_line_is_cheap(subject: Subject) -> None:
    """10,000 lines, each flushed: ends well within the patience of any test."""
    path = subject.new_path()
    lines = [b"line %d\n" % number for number in range(10_000)]
    with subject.fs.create(path) as out:
        for line in lines:
            out.write(line)
            out.flush()
    expect(subject.see(path) == b"".join(lines), "the content differs")
