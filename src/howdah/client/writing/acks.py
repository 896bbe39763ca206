"""What the datanodes of a pipeline answer, and who reads it.

The ResponseProcessor of DataStreamer in Hadoop. A thread for each pipeline does, but where a
file is closed before its first packet was full: then its closer does, who would wait anyhow.
"""

from __future__ import annotations

import threading

from howdah import errors
from howdah.client.writing.machine import Machine
from howdah.tracing.span import Span
from howdah.transfer.packets import decode_ack
from howdah.transfer.sockets import Connection
from howdah.transfer.varint import read_delimited


class Acks:
    """The acks of one pipeline, from its set-up to its end."""

    def __init__(
        self, machine: Machine, connection: Connection, span: Span, low_water: int
    ) -> None:
        """Writers that wait for room are woken when so many packets are left; `span` is that of
        the pipeline."""
        self.connection = connection
        self.thread: threading.Thread | None = None
        self._machine = machine
        self._span = span
        self._low_water = low_water
        self.has_ended = False

    def begin(self) -> None:
        """Have a thread read them. Raises RuntimeError where the system has none."""
        self.thread = threading.Thread(
            target=self._run,
            name=f"howdah-ack-reader {self._machine.pipeline.path}",
            daemon=True,
        )
        self.thread.start()

    def close(self, failure: Exception | None = None) -> None:
        """No ack of it comes any more, and nothing can be sent; because of that, if it failed."""
        if self.thread is not None:
            self.connection.shutdown()
            self.thread.join()
        else:
            self._end(failure)

    def take(self) -> bool:
        """The next ack, or several; False when it was the last one.

        Raises HowdahError, OSError where the connection breaks, or what comes is no ack.
        """
        ack = decode_ack(read_delimited(self.connection))
        machine = self._machine
        pipeline = machine.pipeline
        with machine.lock:
            ended = pipeline.acked(ack)
            done = ended or not pipeline.is_streaming
            # Waking threads costs more than an ack does, so only those are woken
            # that have something to do; a writer that waits for room gets a lot.
            if done or machine.ack_waiters or len(pipeline.queues) <= self._low_water:
                machine.progress.notify_all()
            if done or pipeline.queues.is_held_back:
                machine.work.notify()
        return not done

    def broke(self, error: Exception) -> None:
        """The machine learns that none come any more."""
        machine = self._machine
        with machine.lock:
            if not machine.stopping:
                machine.pipeline.broken(f"failed: {error}")
            machine.wake()

    def _run(self) -> None:
        done = False
        failure: Exception | None = None
        try:
            while self.take():
                pass
            done = True
        except (errors.HowdahError, OSError) as error:
            failure = error
            self.broke(error)
            done = True
        finally:
            machine = self._machine
            with machine.lock:
                if not done and not machine.stopping:
                    # Keeps an earlier error; without one this thread must not die in silence.
                    machine.pipeline.fail(
                        errors.PipelineFailed(
                            f"{machine.pipeline.path}: acks that could not be followed"
                        )
                    )
                    machine.wake()
            self._end(failure)

    def _end(self, failure: Exception | None) -> None:
        if not self.has_ended:
            self.has_ended = True
            self._span.end(failure)
            # Wakes the streamer, should it be blocked in a send to a broken pipeline.
            self.connection.shutdown()
            self.connection.close()
