"""The two kinds of files that fsspec wants beside howdah's own streams.

A file of a transaction is written beside its place and gets its name at the end. A file
with a cache of fsspec's is what callers get who name one (`cache_type`), and what
fsspec's caching filesystems put their own cache into (`blockcache::`).
"""

from __future__ import annotations

import io
import logging
import posixpath
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from howdah import errors
from howdah.fs import capabilities

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem
    from howdah.fs.streams import FSDataInputStream, FSDataOutputStream

log = logging.getLogger(__name__)


class CachedFile(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    """A file that is read through one of fsspec's caches.

    One stream is open below it, so that a connection serves many fetches.
    """

    def __init__(
        self, fs: AbstractFileSystem, path: str, stream: FSDataInputStream, **options: Any
    ) -> None:
        self._stream = stream
        super().__init__(fs, path, mode="rb", size=stream.size, **options)

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self._stream.pread(start, max(min(end, self.size) - start, 0))

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def reopened(fs: AbstractFileSystem, path: str, position: int) -> FSDataInputStream:
    """A file that was pickled while it was read: open again, at the same place."""
    stream: FSDataInputStream = fs.open(path, "rb")
    stream.seek(position)
    return stream


class UncommittedFile(io.BufferedIOBase):
    """A file of a transaction: written beside its place, renamed into it by `commit`."""

    def __init__(
        self,
        fs: FileSystem,
        path: str,
        *,
        create: Callable[[str], FSDataOutputStream],
        overwrite: bool,
    ) -> None:
        super().__init__()
        self._fs = fs
        self._overwrite = overwrite
        self.path = path
        self.temporary_path = posixpath.join(
            posixpath.dirname(path), f".{posixpath.basename(path)}.{uuid.uuid4().hex[:8]}.tmp"
        )
        self._stream = create(self.temporary_path)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._stream.write(data)

    def tell(self) -> int:
        return self._stream.tell()

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()

    def commit(self) -> None:
        """Close, and give the file its name."""
        self.close()
        self._fs.rename(self.temporary_path, self.path, overwrite=self._overwrite)

    def discard(self) -> None:
        """Give up, and delete what was written."""
        try:
            if self._stream.has_capability(capabilities.ABORTABLE_STREAM):
                self._stream.abort()
            self.close()
        except (errors.HowdahError, OSError) as error:
            # What was to be written may be why it is given up. Others of the transaction follow.
            log.info("%s is given up, and not closed in order: %s", self.temporary_path, error)
        self._fs.delete(self.temporary_path)
