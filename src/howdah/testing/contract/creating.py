"""Where streams come from: `create`, the builder, `append` (OS-001, OS-012 to OS-015)."""

from __future__ import annotations

from howdah import errors
from howdah.fs import capabilities
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal, expect_refused


@check("OS-012", "OS-018")
def a_new_stream_is_open_and_empty(subject: Subject) -> None:
    """From `create` and from the builder: open, at position 0."""
    for way, opened in subject.open_both_ways():
        with opened(subject.new_path()) as out:
            expect(not out.closed, f"a stream from {way} is closed")
            expect_equal(out.get_pos(), 0, f"the position of a stream from {way}")
        expect(out.closed, f"a stream from {way} is open after close")


@check("OS-001", "OS-077", "OS-023", "OS-078", "OS-032")
def every_way_gives_the_public_stream(subject: Subject) -> None:
    """One type, with all the methods that the contract names."""
    kinds = set()
    for _, opened in subject.open_both_ways():
        with opened(subject.new_path()) as out:
            kinds.add(type(out))
    if subject.path_claims(capabilities.APPEND):
        path = subject.new_path()
        subject.put(path, b"x")
        with subject.fs.append(path) as out:
            kinds.add(type(out))
    expect_equal(len(kinds), 1, "types of streams")
    kind = kinds.pop()
    for name in ("write", "flush", "hflush", "hsync", "close", "set_drop_behind", "has_capability"):
        expect(callable(getattr(kind, name, None)), f"a stream has no {name}")


@check("OS-013", "OS-014", "FS-146", needs="creates_visibly")
def a_file_exists_and_is_empty_when_create_returns(subject: Subject) -> None:
    """Nothing is written or closed yet."""
    for way, opened in subject.open_both_ways():
        path = subject.new_path()
        with opened(path):
            expect(subject.other.exists(path), f"after {way} the file doesn't exist")
            expect_equal(subject.see(path), b"", f"content after {way}")
            expect_equal(subject.length(path), 0, f"length after {way}")


@check("OS-002", "OS-059")
def a_file_that_nothing_is_written_to_is_empty(subject: Subject) -> None:
    """Created and closed."""
    path = subject.new_path()
    subject.fs.create(path).close()
    expect_equal(subject.see(path), b"", "content")
    expect_equal(subject.length(path), 0, "length")


@check("XC-005", "FS-117")
def create_leaves_an_existing_file_alone(subject: Subject) -> None:
    """Unless it is told to overwrite, which is not the default."""
    path = subject.new_path()
    subject.put(path, b"old")
    expect_refused(lambda: subject.fs.create(path), FileExistsError, "creating a file again")
    expect_refused(
        lambda: subject.fs.create(path, overwrite=False), FileExistsError, "creating it again"
    )
    expect_equal(subject.see(path), b"old", "content")


@check("XC-005", needs="builders")
def a_builder_overwrites_unless_told_not_to(subject: Subject) -> None:
    """As Hadoop's does, which differs from `create`."""
    path = subject.new_path()
    subject.put(path, b"old")
    expect_refused(
        lambda: subject.fs.create_file(path).overwrite(False).build(),
        FileExistsError,
        "building a file again",
    )
    with subject.fs.create_file(path).build() as out:
        out.write(b"new")
    expect_equal(subject.see(path), b"new", "content")


@check("OS-138", needs="creates_visibly")
def overwriting_empties_a_file_at_once(subject: Subject) -> None:
    """Before anything is written or closed nobody reads old data any more."""
    path = subject.new_path()
    subject.put(path, b"old data")
    with subject.fs.create(path, overwrite=True) as out:
        expect(subject.other.exists(path), "an overwritten file doesn't exist")
        expect_equal(subject.see(path), b"", "content of an overwritten file")
        expect_equal(subject.length(path), 0, "length of an overwritten file")
        out.write(b"new")
    expect_equal(subject.see(path), b"new", "content in the end")


@check("OS-177", "XC-011", "FS-005", "LM-029", needs="one_writer")
def a_second_create_is_refused_while_the_first_is_open(subject: Subject) -> None:
    """Without overwrite, by the same client and by another."""
    path = subject.new_path()
    with subject.fs.create(path, overwrite=False) as out:
        for fs in (subject.fs, subject.other):
            expect_refused(
                lambda fs=fs: fs.create(path, overwrite=False),  # type: ignore[misc]
                OSError,
                "a second create of a file that is being written",
            )
        out.write(b"first")
    expect_equal(subject.see(path), b"first", "content")


@check("OS-013")
def a_directory_is_not_overwritten_by_a_file(subject: Subject) -> None:
    """With and without overwrite."""
    path = subject.new_path("dir")
    subject.fs.mkdirs(path)
    for overwrite in (False, True):
        expect_refused(
            lambda overwrite=overwrite: subject.fs.create(path, overwrite=overwrite),  # type: ignore[misc]
            OSError,
            f"creating a directory as a file, overwrite={overwrite}",
        )
    expect(subject.other.is_directory(path), "the directory is gone")


@check("OS-012")
def missing_directories_are_made_unless_told_not_to(subject: Subject) -> None:
    """`create_parent`."""
    path = subject.new_path("dir") + "/below/file"
    expect_refused(
        lambda: subject.fs.create(path, create_parent=False),
        FileNotFoundError,
        "creating a file without its directory",
    )
    subject.fs.create(path).close()
    expect(subject.other.is_file(path), "the file doesn't exist")


@check("OS-015", "OS-016", "AP-002", needs=capabilities.APPEND)
def append_goes_on_after_what_is_there(subject: Subject) -> None:
    """D + W, for a D that ends anywhere."""
    for old in (b"", b"D", b"0123456789" * 1000, bytes(range(256)) * 1024):
        path = subject.new_path()
        subject.put(path, old)
        with subject.fs.append(path) as out:
            expect_equal(out.get_pos(), len(old), "the position of an appending stream")
            out.write(b"W")
        expect_equal(subject.see(path), old + b"W", "content after append")
        expect_equal(subject.length(path), len(old) + 1, "length after append")


@check("OS-015", needs=capabilities.APPEND)
def append_takes_a_buffer_size_and_a_progress_callback(subject: Subject) -> None:
    """Both may be left out."""
    path = subject.new_path()
    subject.put(path, b"D")
    with subject.fs.append(path, buffer_size=4096, progress=lambda: None) as out:
        out.write(b"W")
    expect_equal(subject.see(path), b"DW", "content after append")


@check("OS-014", "OS-015", needs=capabilities.APPEND)
def opening_for_append_changes_nothing_yet(subject: Subject) -> None:
    """What is there stays readable, and stays if nothing is written."""
    path = subject.new_path()
    subject.put(path, b"old")
    with subject.fs.append(path):
        expect_equal(subject.see(path), b"old", "content while open for append")
    expect_equal(subject.see(path), b"old", "content after an append of nothing")


@check("AP-006", needs=capabilities.APPEND)
def append_wants_a_file(subject: Subject) -> None:
    """Neither nothing nor a directory can be appended to."""
    expect_refused(
        lambda: subject.fs.append(subject.new_path()), FileNotFoundError, "appending to nothing"
    )
    directory = subject.new_path("dir")
    subject.fs.mkdirs(directory)
    expect_refused(lambda: subject.fs.append(directory), OSError, "appending to a directory")


@check("AP-008", "AP-013", "OS-128", needs=(capabilities.APPEND, "one_writer"))
def a_second_append_is_refused_while_the_first_is_open(subject: Subject) -> None:
    """By the same client and by another; the first goes on."""
    path = subject.new_path()
    subject.put(path, b"D")
    with subject.fs.append(path) as out:
        for fs in (subject.fs, subject.other):
            expect_refused(
                lambda fs=fs: fs.append(path),  # type: ignore[misc]
                OSError,
                "a second append to a file that is being written",
            )
        out.write(b"W")
    expect_equal(subject.see(path), b"DW", "content")


@check("OS-105", needs=f"!{capabilities.APPEND}")
def append_is_refused_where_it_is_not_claimed(subject: Subject) -> None:
    """With the error that says so; the file stays as it is."""
    path = subject.new_path()
    subject.put(path, b"D")
    expect_refused(
        lambda: subject.fs.append(path),
        (errors.UnsupportedOperation, NotImplementedError),
        "append",
    )
    expect_equal(subject.see(path), b"D", "content")
