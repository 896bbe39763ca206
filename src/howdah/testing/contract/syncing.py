"""`hflush` and `hsync`: what others see afterwards (OS-009 to OS-011, OS-082 to OS-097)."""

from __future__ import annotations

from collections.abc import Callable

from howdah import errors
from howdah.fs import capabilities
from howdah.options import SyncFlag
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal, expect_refused

SYNCS = (capabilities.HFLUSH, capabilities.HSYNC)


def _sync(out: object, name: str) -> Callable[[], None]:
    method: Callable[[], None] = getattr(out, name)
    return method


@check(
    "OS-009", "OS-010", "OS-011", "OS-082", "OS-087", "OS-096", "OS-122", "OS-123", "OS-143",
    "OS-003", "OS-074", "OS-085", "OS-094", "OS-090", "OS-097", "FS-149", needs=SYNCS,
)  # fmt: skip
def everything_written_is_seen_after_a_sync(subject: Subject) -> None:
    """By every new reader, from the first byte, however much and however often."""
    for name in SYNCS:
        path = subject.new_path()
        written = b""
        with subject.fs.create(path) as out:
            for size in (1, 511, 512, 513, 3, 200_000, 0, 70_000):
                data = bytes([size % 251]) * size
                out.write(data)
                written += data
                _sync(out, name)()
                expect(
                    subject.see(path) == written, f"{name} doesn't show all {len(written)} bytes"
                )
        expect(subject.see(path) == written, "the content differs in the end")


@check("OS-009", "OS-015", "OS-082", needs=(*SYNCS, capabilities.APPEND))
def a_sync_of_an_append_shows_old_and_new(subject: Subject) -> None:
    """The whole buffer, with what was there before."""
    path = subject.new_path()
    subject.put(path, b"old " * 200)
    with subject.fs.append(path) as out:
        for name in SYNCS:
            out.write(name.encode())
            _sync(out, name)()
            expect(subject.see(path).endswith(name.encode()), f"{name} doesn't show new bytes")
            expect(subject.see(path).startswith(b"old "), f"{name} doesn't show old bytes")
    expect_equal(subject.see(path), b"old " * 200 + b"hflushhsync", "content")


@check("OS-082", "OS-073", needs=(*SYNCS, "builders"))
def a_reader_of_the_builder_sees_what_was_synced(subject: Subject) -> None:
    """`open_file(path).build()`, of a stream from `create_file(path).build()`."""
    path = subject.new_path()
    with subject.fs.create_file(path).build() as out:
        for name in SYNCS:
            out.write(name.encode())
            _sync(out, name)()
            with subject.other.open_file(path).build() as stream:
                expect(stream.read().endswith(name.encode()), f"{name} is not seen")


@check("OS-011", "OS-073", needs=SYNCS)
def a_sync_without_new_bytes_changes_nothing(subject: Subject) -> None:
    """Right after create, and twice in a row."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for name in SYNCS:
            _sync(out, name)()
        expect_equal(subject.see(path), b"", "content after a sync of nothing")
        out.write(b"x")
        for name in SYNCS * 2:
            _sync(out, name)()
        expect_equal(subject.see(path), b"x", "content")


@check("OS-086", "OS-095", "OS-017", needs=SYNCS)
def syncs_of_a_closed_stream_are_refused(subject: Subject) -> None:
    """With an I/O error."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.close()
    for name in SYNCS:
        expect_refused(_sync(out, name), OSError, f"{name} of a closed stream")


@check("OS-089", "OS-101", needs=capabilities.HFLUSH)
def a_stream_that_flushes_to_readers_also_syncs(subject: Subject) -> None:
    """`hsync` includes what `hflush` promises; both probes answer alike."""
    expect(subject.stream_claims(capabilities.HSYNC), "hflush is claimed and hsync is not")


@check(
    "OS-075", "OS-085", "OS-094", "OS-079", "OS-184", "OS-186", "OS-163",
    needs=f"!{capabilities.HSYNC}",
)  # fmt: skip
def syncs_that_are_not_claimed_are_refused_or_mere_flushes(subject: Subject) -> None:
    """`UnsupportedOperation`, or the public stream's downgrade; the file is whole in the end."""
    path = subject.new_path()
    expect(not subject.stream_claims(capabilities.HFLUSH), "hflush is claimed and hsync is not")
    with subject.fs.create(path) as out:
        out.write(b"data")
        for name in SYNCS:
            try:
                _sync(out, name)()
            except errors.UnsupportedOperation:
                expect(not out.closed, f"a refused {name} closed the stream")
        out.write(b" and more")
    expect_equal(subject.see(path), b"data and more", "content")


@check("OS-139", "XC-003", "FS-150", "FS-153", "LM-044", needs=(*SYNCS, "exact_length"))
def the_length_is_exact_after_a_sync(subject: Subject) -> None:
    """Better than the reference, whose length lags until a block ends."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for name in SYNCS:
            out.write(b"content")
            _sync(out, name)()
            expect_equal(subject.length(path), out.get_pos(), f"length after {name}")


@check("OS-154", needs=capabilities.HSYNC)
def sync_flags_are_followed_or_refused(subject: Subject) -> None:
    """A stream without blocks says that it has none; nothing is lost either way."""
    path = subject.new_path()
    wanted = b""
    with subject.fs.create(path) as out:
        for flags in (SyncFlag.UPDATE_LENGTH, SyncFlag.END_BLOCK, ~SyncFlag.NONE):
            out.write(b"record")
            wanted += b"record"
            try:
                out.hsync(flags)
            except errors.UnsupportedOperation:
                continue
            expect_equal(subject.see(path), wanted, f"content after hsync({flags})")
            expect_equal(subject.length(path), len(wanted), f"length after hsync({flags})")
    expect_equal(subject.see(path), wanted, "content")


@check("OS-159", "LM-046", needs=SYNCS)
def a_tail_follower_reads_what_comes(subject: Subject) -> None:
    """Status, reopen, seek, read: all that was written, in order, and none of it twice."""
    path = subject.new_path()
    followed = b""
    written = b""

    def follow() -> None:
        nonlocal followed
        # A length that lags says nothing, so whether it has grown or not: look (OS-160).
        with subject.other.open(path) as stream:
            stream.seek(len(followed))
            followed += stream.read()

    with subject.fs.create(path) as out:
        for number in range(12):
            line = b"line %d\n" % number * (1 + number * 300)
            out.write(line)
            written += line
            out.hflush()
            follow()
            expect(followed == written, f"after line {number} the follower has something else")
    follow()
    expect(followed == written, "the follower has something else in the end")


@check("OS-083", "OS-129", "LM-046", needs=SYNCS)
def an_earlier_reader_is_not_disturbed_by_a_writer(subject: Subject) -> None:
    """What it sees of later data is undefined; what it saw before stays."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        out.write(b"first")
        out.hflush()
        with subject.other.open(path) as stream:
            expect_equal(stream.read(5), b"first", "what the reader sees")
            out.write(b"second")
            out.hflush()
            stream.seek(0)
            seen = stream.read()
            expect(b"firstsecond".startswith(seen), f"the reader sees {seen!r}")
            expect(seen.startswith(b"first"), f"the reader lost {seen!r}")
