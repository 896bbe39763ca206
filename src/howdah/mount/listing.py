"""A directory that is open for listing (shell).

The kernel asks for as many entries as fit into its buffer, from an offset that it was given with
an entry. Pages of a large directory are fetched as they are asked for. Of what was given only the
last answer is kept, for programs with a small buffer come back for the end of it. Whoever goes
back further begins anew, and so does whoever goes on after an error.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count

from howdah.fs.status import FileStatus


class Listing:
    """Entries by number, from 0. Thread-safe."""

    def __init__(
        self, fetch: Callable[[], Iterator[FileStatus]], changes: Callable[[], int] = lambda: 0
    ) -> None:
        """`changes` is how often this mount has changed the directory or what is in it."""
        self._fetch = fetch
        self._changes = changes
        self._changes_before = 0
        self._lock = threading.Lock()
        self._entries: Iterator[FileStatus] | None = None
        self._kept: deque[FileStatus] = deque()
        self._first = 0
        """The number of the first entry that is kept."""

    @property
    def is_current(self) -> bool:
        """Whether this mount has changed nothing since the first page was fetched: how many there
        are, and when they are fetched, is the filesystem's affair."""
        return self._changes() == self._changes_before

    def begin(self) -> None:
        """Fetch the first page. Raises what a listing does."""
        with self._lock:
            self._begin()
            self._has(0)

    def _begin(self) -> None:
        self._changes_before = self._changes()
        self._entries = self._fetch()
        self._kept.clear()
        self._first = 0

    def _has(self, place: int) -> bool:
        """Whether there is an entry behind so many that are kept, which is kept then, too."""
        if place < len(self._kept):
            return True
        assert self._entries is not None, "it has begun"
        try:
            found = next(self._entries, None)
        except BaseException:
            # An iterator that has failed is at its end for whoever asks again.
            self._entries = None
            raise
        if found is None:
            return False
        self._kept.append(found)
        return True

    def take(self, number: int, accept: Callable[[int, FileStatus], bool]) -> None:
        """Hand entries from `number` on to `accept`, until it has no room for one (false) or
        there are no more. Raises what a listing does."""
        with self._lock:
            if self._entries is None or number < self._first:
                self._begin()
            while self._first < number:
                if not self._has(0):
                    return
                self._kept.popleft()
                self._first += 1
            for place in count():
                if not self._has(place) or not accept(number + place, self._kept[place]):
                    return
