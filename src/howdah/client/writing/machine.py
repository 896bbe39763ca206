"""A pipeline's state machine among threads: one lock guards it, and whoever waits is woken.

Writers wait for room and for acks (`progress`), the streamer for something to do (`work`), an
ack reader that is parked for something to read (`turn`). No I/O happens under the lock but what
cannot block. Nobody waits for ever: whatever ends the stream fails the machine or says `stopping`,
and wakes everybody.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.client.state.writing.pipeline import Pipeline
from howdah.rpc import wait_notices


class Machine:
    """What the threads of one output stream share."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline: Final = pipeline
        # Reentrant, for the garbage collector may close a forgotten stream on a thread of
        # its own that holds it.
        self.lock: Final = threading.RLock()
        self.work: Final = threading.Condition(self.lock)
        self.progress: Final = threading.Condition(self.lock)
        self.turn: Final = threading.Condition(self.lock)
        self.ack_waiters = 0
        self.awaited_seqno = -1
        """The last packet that was queued by who waits for its ack: by a sync."""
        self.stopping = False
        self.waits_for = ""
        """How long the writer waits for datanodes, for the notice to the user."""
        self._is_notified = False

    def check(self) -> None:
        """Raise what ended the stream, if something did."""
        error = self.pipeline.error
        if error is not None:
            # A new exception for each caller: one object would collect all their traces.
            raise copy.copy(error).about(self.pipeline.path) from error

    def wait(self) -> None:
        """Wait for progress, with the lock held. After a long wait print one notice."""
        if not wait_notices.are_wanted():
            self.progress.wait()
        elif self.progress.wait(wait_notices.FIRST_NOTICE_S):
            self._is_notified = False
        elif not self._is_notified:
            self._is_notified = True
            wait_notices.show(self._what_is_slow())

    def _what_is_slow(self) -> str:
        path, block = self.pipeline.path, self.pipeline.block
        waits = f"; {self.waits_for}" if self.waits_for else ""
        if block is None or not block.nodes:
            return f"{path}: no datanode takes its next block yet{waits}"
        nodes = ", ".join(map(str, block.nodes))
        return f"{path}: {block.block.name} goes on at none of {nodes} for a while{waits}"

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """With the lock: until the condition holds. Raises what ended the stream before."""
        self.ack_waiters += 1
        try:
            while not condition() and self.pipeline.error is None and not self.stopping:
                self.wait()
        finally:
            self.ack_waiters -= 1
        self.check()
        if not condition():
            path = self.pipeline.path
            raise errors.ClosedStream(f"{path} was closed in the meantime").about(path)

    def fail(self, error: errors.HowdahError | OSError) -> None:
        """End the stream; the first error is kept."""
        path = self.pipeline.path
        known = (
            error
            if isinstance(error, errors.HowdahError)
            else errors.PipelineFailed(f"{path}: {error}")
        )
        with self.lock:
            self.pipeline.fail(known.naming(path))
            self.wake()

    def wake(self) -> None:
        """With the lock: everybody looks at the state anew."""
        self.progress.notify_all()
        self.work.notify_all()
        self.turn.notify_all()
