"""What a filesystem with streams is: a map of paths to bytes, and who is writing which.

Each operation returns the filesystem that follows; none changes the one it is given.

What a new reader finds at a path that is being written is left open by the
specification: at least what the last sync stored (OS-009, OS-082), at most what the
writer has put in, and always a beginning of it, since a stream may write back
whenever it likes but only what its buffer holds (OS-016, OS-050). So the model answers
with a pair, `Visible`. After `close` both are the same (OS-055).

Directories are here for the sake of paths only; `howdah.model.namespace` is about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from howdah.model import streams
from howdah.model.entries import ROOT, Refused, is_under, parent_of
from howdah.model.streams import Stream


@dataclass(frozen=True, slots=True)
class Visible:
    """What a new reader may find: `at_least` or more, up to `at_most`."""

    at_least: bytes
    at_most: bytes

    def allows(self, content: bytes) -> bool:
        """Whether a reader may find `content`."""
        return content.startswith(self.at_least) and self.at_most.startswith(content)

    def allows_length(self, length_bytes: int) -> bool:
        """Whether a status may say `length_bytes`: it may lag, never lead (OS-141, OS-158)."""
        return length_bytes <= len(self.at_most)


@dataclass(frozen=True, slots=True)
class FileSystem:
    """`files` has what is stored for sure, `writers` the open stream of each path."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    directories: frozenset[str] = frozenset((ROOT,))
    writers: Mapping[str, Stream] = field(default_factory=dict)


# --- looking --------------------------------------------------------------------------


def exists(fs: FileSystem, path: str) -> bool:
    return path in fs.files or path in fs.directories


def visible(fs: FileSystem, path: str) -> Visible:
    """What a new reader of `path` may find."""
    if path not in fs.files:
        raise Refused("is a directory" if path in fs.directories else "not found")
    writer = fs.writers.get(path)
    stored = fs.files[path]
    return Visible(stored, stored if writer is None else writer.buffer)


def children(fs: FileSystem, path: str) -> list[str]:
    """The names in a directory, in order."""
    below = (*fs.files, *fs.directories)
    return sorted(
        other.rpartition("/")[2] for other in below if other != ROOT and parent_of(other) == path
    )


# --- streams --------------------------------------------------------------------------


def create(fs: FileSystem, path: str, *, overwrite: bool) -> tuple[FileSystem, Stream]:
    """Afterwards: stream = (path, true, []), stored data = [], and `path` exists.

    (OS-012, OS-013; of old data nothing is left: OS-138.) Refused for an existing file
    unless it is to be overwritten (XC-005), for a path that is being written (OS-177),
    for a directory.
    """
    if path in fs.directories:
        raise Refused("is a directory")
    if path in fs.files and not overwrite:
        raise Refused("exists")
    fs = _without_writer(mkdirs(fs, parent_of(path)), path)
    stream = Stream(path)
    return _storing(_writing(fs, stream), path, b""), stream


def append(fs: FileSystem, path: str) -> tuple[FileSystem, Stream]:
    """Afterwards: stream = (path, true, stored data) (OS-015)."""
    if path not in fs.files:
        raise Refused("is a directory" if path in fs.directories else "not found")
    if path in fs.writers:
        raise Refused("is written")  # AP-008
    stream = Stream(path, buffer=fs.files[path])
    return _writing(fs, stream), stream


def write(
    fs: FileSystem, stream: Stream, data: bytes | None, offset: int = 0, length: int | None = None
) -> tuple[FileSystem, Stream]:
    """The buffer grows; what is stored need not (OS-137)."""
    _check_writer(fs, stream)
    grown = streams.write(stream, data, offset, length)
    return _writing(fs, grown), grown


def sync(fs: FileSystem, stream: Stream) -> FileSystem:
    """`hflush` and `hsync`: stored data = buffer, all of it (OS-009, OS-011, OS-087, OS-096).

    They differ in what survives a power cut, of which the model knows nothing.
    """
    _check_writer(fs, stream)
    return _storing(fs, stream.path, stream.buffer)


def close(fs: FileSystem, stream: Stream) -> tuple[FileSystem, Stream]:
    """The first time: stored data = buffer (OS-059). Later: nothing (OS-020)."""
    if not stream.open:
        return fs, stream
    _check_writer(fs, stream)
    fs = _storing(fs, stream.path, stream.buffer)
    return _without_writer(fs, stream.path), streams.closed(stream)


# --- paths ----------------------------------------------------------------------------


def mkdirs(fs: FileSystem, path: str) -> FileSystem:
    """The directory and all above it exist."""
    if path in fs.directories:
        return fs
    if path in fs.files:
        raise Refused("parent is a file")
    fs = mkdirs(fs, parent_of(path))
    return replace(fs, directories=fs.directories | {path})


def delete(fs: FileSystem, path: str, *, recursive: bool) -> tuple[FileSystem, bool]:
    """Nothing is at `path` or below it; false if nothing was.

    What a stream that is still open there does from now on is undefined (OS-132), so
    the model refuses to say.
    """
    if not exists(fs, path):
        return fs, False
    gone = {other for other in (*fs.files, *fs.directories) if _within(other, path)}
    if len(gone) > 1 and not recursive:
        raise Refused("not empty")
    _check_unwritten(fs, gone)
    files = {other: data for other, data in fs.files.items() if other not in gone}
    return replace(fs, files=files, directories=fs.directories - gone), True


def rename(fs: FileSystem, src: str, dst: str) -> FileSystem:
    """What was at `src` is at `dst`, unchanged; nothing was there before."""
    if not exists(fs, src):
        raise Refused("not found")
    if is_under(dst, src):
        raise Refused("under itself")
    if exists(fs, dst):
        raise Refused("exists")
    if parent_of(dst) not in fs.directories:
        raise Refused("not found")
    moved = {other for other in (*fs.files, *fs.directories) if _within(other, src)}
    _check_unwritten(fs, moved)

    def named(path: str) -> str:
        return dst + path[len(src) :] if path in moved else path

    return replace(
        fs,
        files={named(path): data for path, data in fs.files.items()},
        directories=frozenset(named(path) for path in fs.directories),
    )


# --- parts ----------------------------------------------------------------------------


def _within(path: str, top: str) -> bool:
    return path == top or is_under(path, top)


def _check_writer(fs: FileSystem, stream: Stream) -> None:
    streams.check_open(stream)
    if fs.writers.get(stream.path) != stream:
        raise Refused("not the writer")  # the path was overwritten below it


def _check_unwritten(fs: FileSystem, paths: set[str]) -> None:
    if not paths.isdisjoint(fs.writers):
        raise Refused("is written")


def _storing(fs: FileSystem, path: str, data: bytes) -> FileSystem:
    return replace(fs, files={**fs.files, path: data})


def _writing(fs: FileSystem, stream: Stream) -> FileSystem:
    return replace(fs, writers={**fs.writers, stream.path: stream})


def _without_writer(fs: FileSystem, path: str) -> FileSystem:
    return replace(fs, writers={key: value for key, value in fs.writers.items() if key != path})
