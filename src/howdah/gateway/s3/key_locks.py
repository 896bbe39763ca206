"""Locks of keys (shell): one at a time changes what it has looked at before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class KeyLocks:
    """Of one gateway. Another one beside it has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def held(self, path: str) -> Iterator[None]:
        """Hold the lock of a path."""
        with self._lock:
            lock, users = self._held.get(path, (threading.Lock(), 0))
            self._held[path] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, users = self._held[path]
                if users == 1:
                    del self._held[path]
                else:
                    self._held[path] = lock, users - 1
