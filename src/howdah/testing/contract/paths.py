"""Operations on paths: what is claimed is done, what is not claimed is refused."""

from __future__ import annotations

from collections.abc import Callable

from howdah import errors
from howdah.fs import capabilities
from howdah.testing.contract.registry import check
from howdah.testing.contract.subject import Subject, expect, expect_equal, expect_refused

REFUSED = (errors.UnsupportedOperation, NotImplementedError)
OPERATIONS = {
    capabilities.TRUNCATE: "truncate",
    capabilities.CONCAT: "concat",
    capabilities.PERMISSIONS: "set_permission",
    capabilities.PATH_HANDLES: "get_path_handle",
    capabilities.MULTIPART_UPLOADER: "multipart_uploader",
    capabilities.LEASE_RECOVERABLE: "recover_lease",
}


@check("OS-105", "OS-101")
def path_capabilities_ignore_case_and_know_no_strange_names(subject: Subject) -> None:
    """As those of streams."""
    fs = subject.fs
    for name in sorted(capabilities.PATH_CAPABILITIES):
        expect_equal(
            fs.has_path_capability(subject.root, name.upper()),
            fs.has_path_capability(subject.root, name),
            f"the answer to {name.upper()}",
        )
    for name in ("", "append", "fs.capability.paths.unknown", "fs.capability.paths.append "):
        expect(not fs.has_path_capability(subject.root, name), f"{name!r} is claimed")


@check("OS-105", needs="builders")
def operations_that_are_not_claimed_are_refused(subject: Subject) -> None:
    """With the error that says so; the file stays as it is."""
    path = subject.new_path()
    subject.put(path, b"data")
    status = subject.fs.get_file_status(path)
    calls: dict[str, Callable[[], object]] = {
        "truncate": lambda: subject.fs.truncate(path, 1),
        "concat": lambda: subject.fs.concat(path, [path]),
        "set_permission": lambda: subject.fs.set_permission(path, 0o600),
        "get_path_handle": lambda: subject.fs.get_path_handle(status),
        "multipart_uploader": lambda: subject.fs.multipart_uploader(path),
        "recover_lease": lambda: subject.fs.recover_lease(path),
    }
    for capability, operation in OPERATIONS.items():
        if not subject.path_claims(capability):
            expect_refused(calls[operation], REFUSED, operation)
    expect_equal(subject.see(path), b"data", "content")


@check("OS-105", "LM-028", needs=capabilities.TRUNCATE)
def truncate_cuts_a_file(subject: Subject) -> None:
    """To a shorter length, at once or a little later; not to a longer one."""
    for length in (100_000, 512, 0):
        path = subject.new_path()
        data = bytes(range(256)) * 400
        subject.put(path, data)
        done = subject.fs.truncate(path, length)
        if not done:
            subject.until_closed(path)
        expect(subject.see(path) == data[:length], f"content after truncate to {length}")
        expect_equal(subject.length(path), length, "length")
        expect_refused(
            lambda path=path: subject.fs.truncate(path, 200_000),  # type: ignore[misc]
            (OSError, ValueError),
            "truncating to more than there is",
        )


@check("OS-105", needs=capabilities.CONCAT)
def concat_moves_files_to_the_end_of_another(subject: Subject) -> None:
    """In order; they are gone then."""
    directory = subject.new_path("dir")
    names = [f"{directory}/{name}" for name in ("target", "one", "two")]
    size = subject.fs.get_file_status(subject.root).block_size or 1024
    contents = [bytes([65 + number]) * min(size, 4096) for number in range(3)]
    for name, content in zip(names, contents, strict=True):
        subject.put(name, content)
    subject.fs.concat(names[0], names[1:])
    expect(subject.see(names[0]) == b"".join(contents), "the content differs")
    for name in names[1:]:
        expect(not subject.other.exists(name), f"{name} is still there")


@check("OS-105", needs=capabilities.PERMISSIONS)
def permissions_are_kept(subject: Subject) -> None:
    """As they are set."""
    path = subject.new_path()
    subject.put(path, b"data")
    for mode in (0o640, 0o600):
        subject.fs.set_permission(path, mode)
        expect_equal(subject.other.get_file_status(path).permission & 0o777, mode, "mode")


@check("OS-105", needs=capabilities.CHECKSUMS)
def equal_content_has_equal_checksums(subject: Subject) -> None:
    """And another content another one."""
    first, second, third = (subject.new_path() for _ in range(3))
    subject.put(first, b"data" * 300)
    subject.put(second, b"data" * 300)
    subject.put(third, b"date" * 300)
    sums = [subject.fs.get_file_checksum(path) for path in (first, second, third)]
    expect(sums[0] is not None, "there is no checksum")
    expect_equal(sums[0], sums[1], "checksums of equal content")
    expect(sums[0] != sums[2], "other content has the same checksum")


@check("OS-105", needs=capabilities.PATH_HANDLES)
def a_path_handle_is_good_for_the_same_file_only(subject: Subject) -> None:
    """Changed or moved, as far as it allows."""
    fs = subject.fs
    path, moved = subject.new_path(), subject.new_path("moved")
    subject.put(path, b"data")
    status = fs.get_file_status(path)
    by_name = fs.get_path_handle(status, may_change=False)
    with fs.open_path_handle(by_name) as stream:
        expect_equal(stream.read(), b"data", "what a handle opens")
    try:
        by_id = fs.get_path_handle(status, may_move=True)
    except errors.UnsupportedOperation:
        by_id = None  # files are found by their names alone
    fs.rename(path, moved)
    subject.put(path, b"other")
    if by_id is not None:
        with fs.open_path_handle(by_id) as stream:
            expect_equal(stream.read(), b"data", "what a handle of a moved file opens")
    expect_refused(
        lambda: fs.open_path_handle(by_name), errors.InvalidPathHandle, "another file at the path"
    )
    directory = subject.new_path("dir")
    fs.mkdirs(directory)
    expect_refused(
        lambda: fs.get_path_handle(fs.get_file_status(directory)), ValueError, "a directory's"
    )


@check("OS-105", needs=capabilities.BULK_DELETE)
def a_bulk_delete_says_what_stayed(subject: Subject) -> None:
    """Files and empty directories go; nothing outside of the base path does."""
    fs = subject.fs
    base = subject.new_path("dir")
    for name in ("a", "b", "full/file"):
        subject.put(f"{base}/{name}", b"x")
    bulk = fs.bulk_delete(base)
    failed = bulk.delete([f"{base}/a", f"{base}/none", f"{base}/full", f"{base}/b"])
    expect_equal([path for path, _ in failed], [f"{base}/full"], "what stayed")
    expect_equal([status.name for status in fs.list_status(base)], ["full"], "what is listed")
    expect_refused(lambda: bulk.delete([subject.root]), ValueError, "a path that is not below")
    expect_refused(
        lambda: bulk.delete([f"{base}/x"] * (bulk.page_size + 1)), ValueError, "too many paths"
    )


@check("OS-142")
def names_are_given_and_taken(subject: Subject) -> None:
    """`mkdirs`, `rename`, `delete`, `exists`, for files and directories."""
    fs = subject.fs
    top = subject.new_path("dir")
    fs.mkdirs(f"{top}/a/b")
    fs.mkdirs(f"{top}/a/b")
    subject.put(f"{top}/a/b/file", b"data")
    fs.rename(f"{top}/a", f"{top}/c")
    expect(not subject.other.exists(f"{top}/a/b/file"), "the old name is still there")
    expect_equal(subject.see(f"{top}/c/b/file"), b"data", "content at the new name")
    subject.put(f"{top}/other", b"other")
    expect_refused(lambda: fs.rename(f"{top}/other", f"{top}/c/b/file"), OSError, "renaming over")
    expect_equal(subject.see(f"{top}/c/b/file"), b"data", "content that was not renamed over")
    expect_refused(lambda: fs.delete(f"{top}/c"), OSError, "deleting a full directory")
    expect(fs.delete(f"{top}/c", recursive=True), "a recursive delete found nothing")
    expect(not fs.delete(f"{top}/c", recursive=True), "a second delete found something")
    expect_equal(
        [status.name for status in subject.other.list_status(top)], ["other"], "what is left"
    )
    expect_refused(
        lambda: fs.get_file_status(f"{top}/c"), FileNotFoundError, "the status of nothing"
    )
