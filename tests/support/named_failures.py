"""Calls of a filesystem that fail, and the path that the error of each must name.

As Python's own errors of files have it: `filename` is the path that was asked for, and of two
paths `filename2` is the second. What a filesystem does not offer is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream

Call = Callable[[FileSystem, str], object]

FAILING: Final[dict[str, tuple[Call, str, str | None]]] = {
    "open nothing": (lambda fs, at: fs.open(f"{at}/gone"), "gone", None),
    "open a directory": (lambda fs, at: fs.open(f"{at}/d").read(), "d", None),
    "open below a file": (lambda fs, at: fs.open(f"{at}/f/x"), "f/x", None),
    "read nothing": (lambda fs, at: fs.read_bytes(f"{at}/gone"), "gone", None),
    "create over a file": (lambda fs, at: fs.create(f"{at}/f"), "f", None),
    "create over a directory": (lambda fs, at: fs.create(f"{at}/d", overwrite=True), "d", None),
    "create below a file": (lambda fs, at: fs.create(f"{at}/f/x"), "f/x", None),
    "create deep below a file": (lambda fs, at: fs.create(f"{at}/f/x/y"), "f/x/y", None),
    "create without a parent": (
        lambda fs, at: fs.create(f"{at}/gone/x", create_parent=False),
        "gone/x",
        None,
    ),
    "append to nothing": (lambda fs, at: fs.append(f"{at}/gone"), "gone", None),
    "append to a directory": (lambda fs, at: fs.append(f"{at}/d"), "d", None),
    "truncate nothing": (lambda fs, at: fs.truncate(f"{at}/gone", 0), "gone", None),
    "truncate a directory": (lambda fs, at: fs.truncate(f"{at}/d", 0), "d", None),
    "concat nothing": (lambda fs, at: fs.concat(f"{at}/f", [f"{at}/gone"]), "f", None),
    "concat to nothing": (lambda fs, at: fs.concat(f"{at}/gone", [f"{at}/f"]), "gone", None),
    "make what is there": (lambda fs, at: fs.mkdir(f"{at}/d"), "d", None),
    "make without a parent": (lambda fs, at: fs.mkdir(f"{at}/gone/x"), "gone/x", None),
    "make below a file": (lambda fs, at: fs.mkdir(f"{at}/f/x"), "f/x", None),
    "make all over a file": (lambda fs, at: fs.mkdirs(f"{at}/f"), "f", None),
    "make all below a file": (lambda fs, at: fs.mkdirs(f"{at}/f/x/y"), "f/x/y", None),
    "rename nothing": (lambda fs, at: fs.rename(f"{at}/gone", f"{at}/n"), "gone", "n"),
    "rename to a file": (lambda fs, at: fs.rename(f"{at}/d/x", f"{at}/f"), "d/x", "f"),
    "rename to itself": (lambda fs, at: fs.rename(f"{at}/f", f"{at}/f"), "f", "f"),
    "rename below itself": (lambda fs, at: fs.rename(f"{at}/d", f"{at}/d/e"), "d", "d/e"),
    "rename to no parent": (lambda fs, at: fs.rename(f"{at}/f", f"{at}/gone/x"), "f", "gone/x"),
    "rename below a file": (lambda fs, at: fs.rename(f"{at}/d", f"{at}/f/x"), "d", "f/x"),
    "rename a file over a directory": (
        lambda fs, at: fs.rename(f"{at}/f", f"{at}/d", overwrite=True),
        "f",
        "d",
    ),
    "delete what is not empty": (lambda fs, at: fs.delete(f"{at}/d"), "d", None),
    "remove nothing": (lambda fs, at: fs.rm(f"{at}/gone"), "gone", None),
    "status of nothing": (lambda fs, at: fs.get_file_status(f"{at}/gone"), "gone", None),
    "status below a file": (lambda fs, at: fs.get_file_status(f"{at}/f/x"), "f/x", None),
    "link status of nothing": (lambda fs, at: fs.get_file_link_status(f"{at}/gone"), "gone", None),
    "link target of nothing": (lambda fs, at: fs.get_link_target(f"{at}/gone"), "gone", None),
    "link target of a file": (lambda fs, at: fs.get_link_target(f"{at}/f"), "f", None),
    "link over a file": (lambda fs, at: fs.create_symlink("f", f"{at}/f"), "f", None),
    "list nothing": (lambda fs, at: fs.list_status(f"{at}/gone"), "gone", None),
    "list below a file": (lambda fs, at: fs.list_status(f"{at}/f/x"), "f/x", None),
    "walk through nothing": (lambda fs, at: list(fs.walk(f"{at}/gone")), "gone", None),
    "sum up nothing": (lambda fs, at: fs.content_summary(f"{at}/gone"), "gone", None),
    "locate nothing": (lambda fs, at: fs.block_locations(f"{at}/gone", 0, 1), "gone", None),
    "mode of nothing": (lambda fs, at: fs.set_permission(f"{at}/gone", 0o700), "gone", None),
    "owner of nothing": (lambda fs, at: fs.set_owner(f"{at}/gone", "root"), "gone", None),
    "times of nothing": (lambda fs, at: fs.set_times(f"{at}/gone", 1, 1), "gone", None),
    "access to nothing": (lambda fs, at: fs.access(f"{at}/gone", 4), "gone", None),
    "attributes of nothing": (lambda fs, at: fs.list_xattrs(f"{at}/gone"), "gone", None),
    "take nothing": (lambda fs, at: fs.recover_lease(f"{at}/gone"), "gone", None),
    "nothing is closed": (lambda fs, at: fs.is_file_closed(f"{at}/gone"), "gone", None),
    "read what is closed": (lambda fs, at: _closed(fs.open(f"{at}/f")).pread(0, 1), "f", None),
    "write what is closed": (lambda fs, at: _closed(fs.create(f"{at}/w")).write(b"x"), "w", None),
    "flush what is closed": (lambda fs, at: _closed(fs.create(f"{at}/w")).hflush(), "w", None),
    "tell of what is closed": (lambda fs, at: _closed(fs.create(f"{at}/w")).tell(), "w", None),
}
"""Each call, the path that it is about, and the second one; relative to the directory `at`."""


def make_ground(fs: FileSystem, at: str) -> None:
    """What the calls expect to find: a file `f`, and a directory `d` with a file `x`."""
    fs.write_bytes(f"{at}/f", b"f")
    fs.write_bytes(f"{at}/d/x", b"x")


def unnamed(fs: FileSystem, at: str) -> Iterator[str]:
    """A line for each call whose error does not name its path, or that does not fail."""
    for name, (call, path, other) in FAILING.items():
        wanted = (f"{at}/{path}", None if other is None else f"{at}/{other}")
        try:
            call(fs, at)
        except errors.UnsupportedOperation:
            pass
        except OSError as error:
            if (error.filename, error.filename2) != wanted:
                said = f"{type(error).__name__} of {error.filename} and {error.filename2}"
                yield f"{name}: {said}: {error}"
        else:
            yield f"{name}: no error"
        finally:
            fs.delete(f"{at}/w")


S = TypeVar("S", FSDataInputStream, FSDataOutputStream)


def _closed(stream: S) -> S:
    stream.close()
    return stream
