"""`has_capability` and what it speaks of (OS-099 to OS-118)."""

from __future__ import annotations

from collections.abc import Callable

from howdah import errors
from howdah.fs import capabilities
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal, expect_refused

UNKNOWN = ("", "unknown", "hsync ", "fs.hsync", "in:hsync", "hsyncs", "ſ", "HŞYNC", "None", "\0")
OUTPUT_NAMES = sorted(capabilities.OUTPUT_CAPABILITIES)
INPUT_NAMES = sorted(capabilities.INPUT_CAPABILITIES)


def _cases(name: str) -> tuple[str, ...]:
    return (name.lower(), name.upper(), name.title(), name.swapcase())


@check("OS-099", "OS-100", "OS-185", "OS-081")
def the_case_of_a_capability_does_not_matter(subject: Subject) -> None:
    """Every spelling has the same answer, which is a bool."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for name in OUTPUT_NAMES:
            answers = {out.has_capability(spelling) for spelling in _cases(name)}
            expect(answers in ({True}, {False}), f"{name} has the answers {answers}")
    with subject.fs.open(path) as stream:
        for name in INPUT_NAMES:
            answers = {stream.has_capability(spelling) for spelling in _cases(name)}
            expect(answers in ({True}, {False}), f"{name} has the answers {answers}")


@check("OS-101", "OS-104")
def an_unknown_capability_is_not_claimed(subject: Subject) -> None:
    """By neither kind of stream."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for name in UNKNOWN:
            expect(out.has_capability(name) is False, f"an output stream claims {name!r}")
        for name in sorted(capabilities.INPUT_CAPABILITIES - capabilities.OUTPUT_CAPABILITIES):
            expect(out.has_capability(name) is False, f"an output stream claims {name!r}")
    with subject.fs.open(path) as stream:
        for name in UNKNOWN:
            expect(stream.has_capability(name) is False, f"an input stream claims {name!r}")
        for name in (capabilities.HSYNC, capabilities.HFLUSH):
            expect(stream.has_capability(name) is False, f"an input stream claims {name!r}")


@check("OS-107", "OS-108", "LM-054", "OS-004", "OS-101", "LM-052")
def both_names_of_syncing_have_the_same_answer(subject: Subject) -> None:
    """`hflush` is deprecated and must still answer."""
    with subject.fs.create(subject.new_path()) as out:
        expect_equal(out.has_capability("hflush"), out.has_capability("hsync"), "hflush")


@check("OS-102", "OS-103", "XC-009", "OS-017")
def a_closed_stream_answers_as_it_did_when_it_was_open(subject: Subject) -> None:
    """Or false to everything, which would be allowed as well; and it does not raise."""
    path = subject.new_path()
    out = subject.fs.create(path)
    before = {name: out.has_capability(name) for name in (*OUTPUT_NAMES, *UNKNOWN)}
    out.close()
    after = {name: out.has_capability(name) for name in before}
    expect(
        after == before or not any(after.values()),
        f"the answers changed from {before} to {after}",
    )
    stream = subject.fs.open(path)
    stream.close()
    for name in INPUT_NAMES:
        stream.has_capability(name)


@check("OS-105", "OS-106", "OS-115", "OS-118", "XC-007", "OS-024", needs=capabilities.DROP_BEHIND)
def drop_behind_is_set_where_it_is_claimed(subject: Subject) -> None:
    """True, false, and None for the default, at any time; the data is the same."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for drop in (True, False, None, True):
            out.set_drop_behind(drop)
            out.write(b"data")
    expect_equal(subject.see(path), b"data" * 4, "content")


@check("OS-116", "OS-017", needs=capabilities.DROP_BEHIND)
def drop_behind_of_a_closed_stream_is_an_error(subject: Subject) -> None:
    """It cannot be changed any more: an I/O error."""
    out = subject.fs.create(subject.new_path())
    out.close()
    expect_refused(lambda: out.set_drop_behind(True), OSError, "set_drop_behind after close")


@check("OS-105", "OS-106", "OS-117", "OS-024", needs=f"!{capabilities.DROP_BEHIND}")
def drop_behind_is_refused_where_it_is_not_claimed(subject: Subject) -> None:
    """With the error that says so; the stream goes on."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        for drop in (True, False, None):
            expect_refused(
                lambda drop=drop: out.set_drop_behind(drop),  # type: ignore[misc]
                errors.UnsupportedOperation,
                f"set_drop_behind({drop})",
            )
        out.write(b"data")
    expect_equal(subject.see(path), b"data", "content")


@check("OS-183", needs=capabilities.ABORTABLE_STREAM)
def an_aborted_stream_leaves_nothing_to_see(subject: Subject) -> None:
    """Neither after the abort nor after a close that follows it."""
    path = subject.new_path()
    out = subject.fs.create(path)
    out.write(b"secret")
    result = out.abort()
    expect(not result.already_closed, "an open stream was closed already")
    out.close()
    if subject.other.exists(path):
        expect_equal(subject.see(path), b"", "content after an abort")
    expect(out.abort().already_closed, "a second abort found an open stream")


@check("OS-183", "OS-105", needs=f"!{capabilities.ABORTABLE_STREAM}")
def abort_is_refused_where_it_is_not_claimed(subject: Subject) -> None:
    """With the error that says so; the stream goes on."""
    path = subject.new_path()
    with subject.fs.create(path) as out:
        out.write(b"data")
        expect_refused(out.abort, errors.UnsupportedOperation, "abort")
        out.write(b" more")
    expect_equal(subject.see(path), b"data more", "content")


@check("OS-109", "OS-110", "OS-111", "OS-112", "OS-105", "XC-014")
def what_an_input_stream_claims_it_does(subject: Subject) -> None:
    """What it doesn't claim it refuses, or takes as a hint that it cannot follow."""
    path = subject.new_path()
    data = bytes(range(256)) * 300
    subject.put(path, data)
    buffer = bytearray(1000)
    with subject.other.open(path) as stream:
        hints: dict[str, Callable[[], object]] = {
            capabilities.READAHEAD: lambda: stream.set_readahead(4096),
            capabilities.UNBUFFER: stream.unbuffer,
            capabilities.DROP_BEHIND: lambda: stream.set_drop_behind(True),
        }
        for name, operation in hints.items():
            try:
                operation()
            except errors.UnsupportedOperation:
                expect(not stream.has_capability(name), f"{name} is claimed and refused")
            stream.seek(100)
            expect_equal(stream.read(10), data[100:110], f"what is read after {name}")
        if stream.has_capability(capabilities.READ_BYTE_BUFFER):
            stream.seek(7)
            count = stream.readinto(buffer)
            expect_equal(bytes(buffer[:count]), data[7 : 7 + count], "what is read into a buffer")
        if stream.has_capability(capabilities.PREAD_BYTE_BUFFER):
            position = stream.tell()
            count = stream.pread_into(5000, buffer)
            expect_equal(bytes(buffer[:count]), data[5000 : 5000 + count], "a positioned read")
            expect_equal(stream.tell(), position, "the position after a positioned read")


@check("OS-113", "OS-114")
def own_names_begin_with_the_scheme(subject: Subject) -> None:
    """Whatever is claimed at a path and is no common name begins with `fs.SCHEME.`."""
    for name in subject.fs.path_capabilities(subject.root):
        expect(capabilities.is_well_named(name, subject.scheme), f"{name} is claimed")
        expect(subject.path_claims(name), f"{name} is listed and not claimed")
