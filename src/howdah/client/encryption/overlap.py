"""Decrypts what has come while more is received.

AES takes a third of the time in which a file is read. So of a large read the part that has come is
decrypted by another thread, where it lies in the reader's buffer, while this one receives the next.
The last part is decrypted by the reader's own thread, and so is what comes while no thread is free.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Final

from howdah.client.encryption.cipher import FileCipher
from howdah.client.thread_pool import Workers

LEAST_BYTES: Final = 2 << 20
"""Of a read for which it is worth another thread."""
_PART_BYTES: Final = 1 << 20
_MOST_THREADS: Final = 4
_workers: Final = Workers(_MOST_THREADS, "howdah-decrypt")
_IS_ALONE: Final = (os.cpu_count() or 1) == 1


class OverlappedDecryption:
    """Of one read. All is decrypted when its block ends, whatever ends it."""

    def __init__(self, cipher: FileCipher, workers: Workers = _workers) -> None:
        self._cipher = cipher
        self._start = workers.try_submit
        self._begun: list[Future[None]] = []
        self._offset = 0
        self._view = memoryview(b"")
        self._length = 0

    def __enter__(self) -> OverlappedDecryption:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._decrypt()
        finally:
            self._wait()
        for future in self._begun:
            future.result()

    def add(self, offset: int, view: memoryview, count: int) -> None:
        """Take `count` bytes at the beginning of a view, which are at an offset of the file. What
        follows them in the file comes into the buffer behind them."""
        if self._length and offset != self._offset + self._length:
            self._decrypt()
        if not self._length:
            self._offset, self._view = offset, view
        self._length += count
        if self._length >= _PART_BYTES and len(self._view) > self._length and not _IS_ALONE:
            task = self._taken()
            future = self._start(task)
            if future is None:
                task()
            else:
                self._begun.append(future)

    def _wait(self) -> None:
        """The buffer is the reader's again only when no thread writes into it: whoever presses
        Ctrl-C waits for that as well, a part of a millisecond."""
        interruption: BaseException | None = None
        for future in self._begun:
            while not future.done():
                try:
                    future.exception()
                except BaseException as error:  # noqa: BLE001 - it is raised when all has ended
                    interruption = error
        if interruption is not None:
            raise interruption

    def _decrypt(self) -> None:
        if self._length:
            self._taken()()

    def _taken(self) -> Callable[[], None]:
        offset, view = self._offset, self._view[: self._length]
        self._length = 0
        return partial(self._cipher.apply, offset, view)
