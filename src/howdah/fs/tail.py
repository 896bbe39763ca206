"""Following a file that grows: `tail -f` for any filesystem (OS-159).

Streams end where the file ended when they were opened, so each look opens the file
anew. By the specification's rule: the status may tell that the file has grown; where it
doesn't, the file is opened and read from the last position all the same, since a store
may show data that its metadata doesn't count yet. HDFS is one: what a live writer has
flushed is in no status before it closes the file or syncs its length.

What happens to a file under its follower:

- Appended to, flushed, renamed onto by something longer: the new bytes come.
- Cut: the follower goes on behind the new end, as Hadoop's `-tail -f` does. What was cut
  off has been given out already, and what is appended afterwards is new.
- Replaced by another file (by its id, where the filesystem has ids): all of the new file
  comes, from its beginning.
- Deleted or renamed away: `FileNotFoundError`.
- Not readable for the moment, since its writer died and its last block is being
  recovered: `follow` looks again, ten times in a row, and then it is that error.
"""

from __future__ import annotations

import enum
import io
import threading
import time
from collections.abc import Callable, Iterator

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.paths import PathLike
from howdah.fs.streams import FSDataInputStream

PIECE_BYTES = 1 << 20
POLL_S = 1.0
MAX_FAILED_LOOKS = 10
"""How often a file that was readable may not be so, in a row."""

_PASSING = (
    errors.CannotObtainBlockLength,
    errors.BlockMissing,
    errors.FileChanged,
    errors.Unreachable,
    errors.RetriableError,
)


class Change(enum.Enum):
    """What a follower found beside new bytes."""

    CUT = "was cut; following from its new end"
    REPLACED = "was replaced; following the new file from its beginning"


class TailReader:
    """The position in a file that grows, and one look after the other.

    `position`: where to begin, in bytes; below 0 it counts from the end of the file,
    though never from before its beginning. `changed` is told of what is not just growth.
    """

    def __init__(
        self,
        fs: FileSystem,
        path: PathLike,
        position: int = 0,
        changed: Callable[[Change], None] | None = None,
    ) -> None:
        self._fs = fs
        self._path = path
        self._changed = changed
        self._from_end = min(position, 0)
        self._longest = 0
        self._file_id = 0
        self._seemed_cut = False
        self.position: int | None = position if position >= 0 else None
        """The offset of the next byte; None before a first look that counts from the end."""

    def read_new(self) -> Iterator[bytes]:
        """What is there behind the position now, in pieces; nothing where nothing is new.

        Raises `FileNotFoundError` when the file is gone, and `PathIsDirectory`.
        """
        status = self._fs.get_file_status(self._path)
        if status.is_directory:
            raise errors.PathIsDirectory(f"{status.path} is a directory").about(status.path)
        if self._file_id and status.file_id and status.file_id != self._file_id:
            self._note(Change.REPLACED)
            self.position = self._longest = 0
        self._file_id = status.file_id
        # Whatever the status says of the length, it takes an open to know.
        with self._fs.open(self._path) as stream:
            size = stream.seek(0, io.SEEK_END)
            position = self._resume_position(stream, size)
            if size < position:
                return
            stream.seek(position)
            while piece := stream.read(PIECE_BYTES):
                self.position = position = position + len(piece)
                self._longest = max(self._longest, position)
                yield piece

    def _resume_position(self, stream: FSDataInputStream, size: int) -> int:
        """Where to go on in a file of `size` bytes."""
        if self.position is None:
            self.position = max(size + self._from_end, 0)
        elif size >= self.position or self._longest < self.position:
            # Grown, unchanged, or not yet as long as where to begin.
            self._seemed_cut = False
        elif getattr(stream.raw, "under_construction", False) and not self._seemed_cut:
            # One datanode of a pipeline may show a little less than another did; by the
            # next look it has caught up.
            self._seemed_cut = True
            return self.position
        else:
            self._seemed_cut = False
            self._note(Change.CUT)
            self.position = self._longest = size
        self._longest = max(self._longest, size)
        return self.position

    def _note(self, change: Change) -> None:
        if self._changed is not None:
            self._changed(change)


def follow(
    fs: FileSystem,
    path: PathLike,
    position: int = 0,
    *,
    poll_s: float = POLL_S,
    until: threading.Event | None = None,
    changed: Callable[[Change], None] | None = None,
) -> Iterator[bytes]:
    """The bytes of a file from `position` on (below 0: from the end), as they come.

    Looks every `poll_s` seconds, for ever or until the event `until` is set: what is
    there then still comes. `changed` is called when the file was cut or replaced.

    >>> for piece in follow(fs, "/logs/today", -1024):  # doctest: +SKIP
    ...     sys.stdout.buffer.write(piece)
    """
    reader = TailReader(fs, path, position, changed)
    # A file that can't be read to begin with is an error at once.
    patience = 0
    while True:
        ended = until is not None and until.is_set()
        try:
            yield from reader.read_new()
        except _PASSING:
            if not patience:
                raise
            patience -= 1
        else:
            patience = MAX_FAILED_LOOKS
        if ended:
            return
        if until is None:
            time.sleep(poll_s)
        else:
            until.wait(poll_s)
