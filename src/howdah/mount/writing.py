"""A file that is being written, for all who write it through this mount (shell).

HDFS takes bytes at the end of a file only, from one writer. Rules:

1. Whoever opens a file without O_TRUNC is undecided: the first write or truncation decides. An
   editor that opens, truncates to nothing and writes loses no text.
2. A write goes where the file ends, or it is refused (EOPNOTSUPP). With O_APPEND the end is where
   it ends now, whatever the kernel thinks.
3. A file that was written to is completed when a descriptor is closed (FLUSH), not when the last
   one is gone (RELEASE), for which `close` does not wait: the next program finds it whole. If
   another write follows, the file is opened again, to append. Shells close copies of descriptors
   before anything is written.
4. Times that are set while it is written are set once more when it is complete, which would have
   changed them.
5. After a failed write nothing more is taken: what the file holds is unknown. All who have
   written to it are told so whenever they close a descriptor, for one of them may be the copy of
   a child that begins another program, and nobody looks at what that one is told.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.streams import FSDataOutputStream
from howdah.mount.failures import Refused
from howdah.mount.times import set_times

log = logging.getLogger(__name__)

RECOVERY_TIMEOUT_S = 120.0
"""How long a truncation waits for the last block to be cut."""
_RECOVERY_POLL_S = 0.1


class WrittenFile:
    """The end of one file. Thread-safe; its length may be asked while a write waits."""

    def __init__(
        self,
        fs: FileSystem,
        path: Callable[[], str],
        length: int,
        stream: FSDataOutputStream | None = None,
    ) -> None:
        """`path` is where the file is now, and raises PathNotFound if it has no place."""
        self.fs: Final = fs
        self._path = path
        self._stream = stream
        self._lock = threading.RLock()
        self._failure: BaseException | None = None
        self._times_ms: tuple[int, int] | None = None
        self._is_abandoned = False
        self._was_written = False
        self._is_on_disks = True
        self._is_completing = False
        self.length = length
        """Bytes in the file, with all that was written."""
        self.cuts = 0
        """How often it was cut, after which it may have other bytes."""

    @property
    def is_open(self) -> bool:
        """Whether the filesystem thinks that it is being written, and may not know its length."""
        return self._stream is not None or self._is_completing

    @property
    def times_ms(self) -> tuple[int, int] | None:
        """Modification and access, if they were set since the last write; -1 for one that was
        not."""
        return self._times_ms

    def write(self, offset: int | None, data: memoryview) -> None:
        """Put bytes at `offset`, or wherever the file ends. Raises Refused."""
        with self._lock:
            self._check()
            if offset is not None and offset != self.length:
                raise Refused(
                    errno.EOPNOTSUPP,
                    f"a write at byte {offset} of a file of {self.length} bytes: HDFS takes "
                    "bytes at the end only",
                )
            if not data:
                return
            stream = self._opened()
            try:
                stream.write(data)
            except BaseException as error:
                self._failed(error)
                raise
            self.length += len(data)
            self._times_ms = None
            self._was_written = True
            self._is_on_disks = False

    def truncate(self, length: int) -> None:
        """Raises Refused for a length beyond the end."""
        with self._lock:
            self._check()
            if length == self.length:
                return
            if length > self.length:
                raise Refused(
                    errno.EOPNOTSUPP,
                    f"a file of {self.length} bytes cannot be made {length} bytes long: HDFS has "
                    "no holes",
                )
            self._complete()
            self.cuts += 1
            self._cut(length)
            self.length = length
            self._times_ms = None

    def _cut(self, length: int) -> None:
        path = self._path()
        try:
            done = self.fs.truncate(path, length)
        except errors.UnsupportedOperation:
            if length:
                raise
            self._stream = self._made_anew(path)
            return
        give_up_at = time.monotonic() + RECOVERY_TIMEOUT_S
        while not done and not self.fs.is_file_closed(path):
            if time.monotonic() > give_up_at:
                raise errors.RecoveryInProgress(
                    f"{path} was cut to {length} bytes, but its last block is not recovered after "
                    f"{RECOVERY_TIMEOUT_S:.0f} s"
                )
            time.sleep(_RECOVERY_POLL_S)

    def _made_anew(self, path: str) -> FSDataOutputStream:
        """An empty file in the place of one that is to be empty: all that is left of that one is
        its name and its mode."""
        mode = self.fs.get_file_status(path).permission
        return self.fs.create(path, overwrite=True, permission=mode)

    def look_again(self) -> None:
        """See how long the file is by now, if nobody here writes it: others may have changed it."""
        with self._lock:
            if self._stream is None and self._failure is None:
                self.length = self.fs.get_file_status(self._path()).length

    @property
    def has_failed(self) -> bool:
        """Whether nobody knows what it holds."""
        return self._failure is not None

    def flush(self, *, of_a_writer: bool) -> None:
        """Complete the file, if anything was written to it, so that it is whole for whoever opens
        it next. Raises what keeps it from that, and tells it again to all who have written."""
        with self._lock:
            if self._was_written and not self.has_failed:
                self._complete()
            elif of_a_writer and not self._is_abandoned:
                self._check()

    def close(self) -> None:
        """Complete the file."""
        with self._lock:
            self._complete()

    def hflush(self) -> None:
        """Show all to readers."""
        with self._lock:
            if self._stream is not None:
                self._stream.hflush()

    def hsync(self) -> None:
        """Have all on disks."""
        with self._lock:
            self._check()
            stream = self._stream
            if stream is None:
                if self._is_on_disks or self._is_abandoned or not self.length:
                    return
                # A copy of the descriptor was closed, and a file that is complete is in memory.
                try:
                    stream = self._opened()
                except errors.UnsupportedOperation:
                    self._is_on_disks = True  # as object stores have what is complete
                    return
                self._was_written = True
            stream.hsync()
            self._is_on_disks = True

    def set_times(self, mtime_ms: int, atime_ms: int) -> bool:
        """Set times when the file is complete; false if it is, and the caller sets them."""
        with self._lock:
            if self._stream is None:
                self._times_ms = None
                return False
            before = self._times_ms or (-1, -1)
            self._times_ms = (
                before[0] if mtime_ms < 0 else mtime_ms,
                before[1] if atime_ms < 0 else atime_ms,
            )
            return True

    def abandon(self) -> None:
        """Another file has taken the name of this one, or nothing has it: what becomes of it is
        nobody's concern."""
        self._is_abandoned = True

    def _check(self) -> None:
        if self._failure is not None:
            raise errors.PipelineFailed(f"an earlier write has failed: {self._failure}")

    def _opened(self) -> FSDataOutputStream:
        if self._stream is None:
            path = self._path()
            try:
                # A block group that has ended gets no more bytes.
                new_block = self.fs.get_file_status(path).is_erasure_coded
                self._stream = self.fs.append(path, new_block=new_block)
            except errors.UnsupportedOperation:
                if self.length:
                    raise
                self._stream = self._made_anew(path)
            found = self._stream.get_pos()
            if found != self.length:
                # Somebody else has written meanwhile: this is not where the caller thinks it is.
                self._complete()
                ours, self.length = self.length, found
                raise Refused(
                    errno.ESTALE,
                    f"the file has {found} bytes by now, and had {ours} when it was opened",
                )
        return self._stream

    def _complete(self) -> None:
        stream = self._stream
        if stream is None:
            return
        self._is_completing = True
        try:
            self._stream, self._was_written = None, False
            self._end(stream)
        finally:
            self._is_completing = False

    def _end(self, stream: FSDataOutputStream) -> None:
        try:
            stream.close()
        except BaseException as error:
            if self._is_abandoned:
                log.info("a file that has no name any more is not completed: %s", error)
                return
            self._failed(error)
            raise
        if self._times_ms is not None and not self._is_abandoned:
            # They stay known: whoever asks meanwhile may have got those of the completion.
            set_times(self.fs, self._path(), *self._times_ms)

    def _failed(self, error: BaseException) -> None:
        self._failure = error
        stream, self._stream = self._stream, None
        if stream is not None:
            try:
                stream.close()
            except (errors.HowdahError, OSError) as later:
                log.info("closing %s failed as well: %s", stream.name, later)
