"""A directory that is open for listing (shell).

The kernel asks for as many entries as fit into its buffer, from an offset that it was given with
an entry. Pages of a large directory are fetched as they are asked for, and not kept: whoever goes
back begins anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from howdah.fs.status import FileStatus


class Listing:
    """Entries by number, from 0. Thread-safe."""

    def __init__(self, fetch: Callable[[], Iterator[FileStatus]]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._entries: Iterator[FileStatus] | None = None
        self._number = 0
        self._pending: FileStatus | None = None

    def begin(self) -> None:
        """Fetch the first page. Raises what a listing does."""
        with self._lock:
            self._entries, self._number = self._fetch(), 0
            self._pending = next(self._entries, None)

    def take(self, number: int, accept: Callable[[int, FileStatus], bool]) -> None:
        """Hand entries from `number` on to `accept`, until it has no room for one (false) or
        there are no more. Raises what a listing does."""
        with self._lock:
            if self._entries is None or number < self._number:
                self._entries, self._number, self._pending = self._fetch(), 0, None
            while True:
                if self._pending is None:
                    self._pending = next(self._entries, None)
                    if self._pending is None:
                        return
                if self._number >= number and not accept(self._number, self._pending):
                    return
                self._pending = None
                self._number += 1
