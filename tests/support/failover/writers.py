"""A load that must not be disturbed: somebody who writes while something else happens."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Final

from howdah.errors import HowdahError
from howdah.fs.api import FileSystem
from howdah.testing.waiting import wait_until

TIMEOUT_S: Final = 60.0


class Writer:
    """Writes files, one after the other, until the block ends; then it reads them all.

    `connect` makes its client. A failure of one file is a failure of the test.
    """

    def __init__(self, connect: Callable[[], FileSystem]) -> None:
        self._connect = connect
        self._directory = f"/load-{uuid.uuid4().hex[:8]}"
        self.written: list[str] = []
        self._stopping = threading.Event()
        self._failures: list[Exception] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            with self._connect() as fs:
                while not self._stopping.is_set():
                    path = f"{self._directory}/{len(self.written)}"
                    with fs.create(path) as out:
                        out.write(path.encode())
                        out.hflush()
                        out.write(path.encode())
                    self.written.append(path)
        except (HowdahError, OSError) as error:
            self._failures.append(error)

    def __enter__(self) -> Writer:
        self._thread.start()
        self.go_on(1)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join(TIMEOUT_S)
        assert not self._failures, self._failures
        assert not self._thread.is_alive(), "the writer does not end"
        with self._connect() as fs:
            for path in self.written:
                with fs.open(path) as source:
                    assert source.read() == path.encode() * 2

    def go_on(self, files: int = 2) -> None:
        """Wait for so many more files."""
        wanted = len(self.written) + files
        wait_until(
            lambda: len(self.written) >= wanted or self._failures, TIMEOUT_S, "the writer goes on"
        )
        assert not self._failures, self._failures
