"""A pipeline's state machine among threads: one lock guards it, and whoever waits is woken.

Writers wait for room and for acks (`progress`), the streamer for something to do (`work`), an
ack reader that is parked for something to read (`turn`). No I/O happens under the lock but what
cannot block. Nobody waits for ever: whatever ends the stream fails the machine or says `stopping`,
and wakes everybody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.client.writing.pipeline import Pipeline


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

    def check(self) -> None:
        """Raise what ended the stream, if something did."""
        error = self.pipeline.error
        if error is not None:
            # A new exception for each caller: one object would collect all their traces.
            again = type(error)(error.message, java_class=error.remote_class)
            raise again.about(self.pipeline.path) from error

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """With the lock: until the condition holds. Raises what ended the stream before."""
        self.ack_waiters += 1
        try:
            while not condition() and self.pipeline.error is None and not self.stopping:
                self.progress.wait()
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
