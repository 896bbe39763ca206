"""What inner output streams have in common where a file is there when it is closed, and nothing
of it before: there is no `hflush`, no `hsync`, and a failure stays.

An exception may come in the middle of a write, Ctrl-C above all. How much of the write was taken
is unknown then, and what follows would be put in the wrong place: that is a failure as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from howdah import errors
from howdah.fs.file_output import PositionedOutput, Writable
from howdah.options import SyncFlag
from howdah.runtime.fork_safety import process_id


class OutputUntilClose(PositionedOutput):
    """Implements an `InnerOutput`, except for `_take` and `close`."""

    store: ClassVar[str] = "it"
    """What takes the file, as errors name it."""

    def __init__(self, path: str, progress: Callable[[], None] | None = None) -> None:
        """`progress` is called behind each write."""
        super().__init__(path)
        self._progress = progress
        self._failure: Exception | None = None
        self._lock = threading.RLock()
        self._pid = process_id()

    def write(self, data: Writable) -> None:
        """Takes all of it; raises what became of what was written before."""
        self._check_process()
        with self._lock:
            self._check_open()
            with memoryview(data) as view:
                try:
                    self._accept(view)
                except BaseException as error:
                    if self._failure is None:
                        self._give_up(error)
                    raise
        if self._progress is not None:
            self._progress()

    def _accept(self, view: memoryview) -> None:
        """All of it, and move the position; with the lock held."""
        raise NotImplementedError

    def _give_up(self, cause: BaseException) -> None:
        """Nothing more can come of this stream; every later call says why."""
        if isinstance(cause, Exception):
            self._failure = cause
            return
        self._failure = errors.WriteInterrupted(
            f"{self._path}: a write was interrupted half-way, nothing of it stays; write it again"
        ).about(self._path)

    def _is_parents(self) -> bool:
        """Whether this is a forked child's copy: connections and file are the parent's."""
        return self._pid != process_id()

    def _check_process(self) -> None:
        # Comes before any lock: the parent may have held it when the child was forked.
        if self._is_parents():
            raise errors.ClosedStream(
                f"{self._path} was opened for writing by process {self._pid}, which a forked "
                "child cannot share; open it in the child"
            ).about(self._path)

    def _check_open(self) -> None:
        self._check_process()
        if self._closed:
            raise errors.ClosedStream(f"{self._path} is closed").about(self._path)
        if self._failure is not None:
            raise self._failure

    def flush(self) -> None:
        """Promises nothing."""

    def hflush(self) -> None:
        self._check_open()
        raise self._lacks("hflush")

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        self._check_open()
        raise self._lacks("hsync")

    def set_drop_behind(self, drop: bool | None) -> None:
        raise self._lacks("set_drop_behind")

    def _lacks(self, feature: str) -> errors.HowdahError:
        said = f"{self._path}: {self.store} has no {feature}"
        return errors.UnsupportedOperation(said).about(self._path)
