"""What the datanodes of a pipeline answer, and who reads it.

The ResponseProcessor of DataStreamer in Hadoop. A thread for each pipeline does, but where a
file is closed before its first packet was full: then its closer does, who would wait anyhow. And
where a quiet stream is synced, who waits for the sync does (`howdah.client.writing.inline_sync`),
and the thread is parked.
"""

from __future__ import annotations

import threading

from howdah import errors
from howdah.client.writing.machine import Machine
from howdah.protocol.data_transfer.packets import decode_ack
from howdah.protocol.varint import read_delimited
from howdah.runtime.sockets import Connection
from howdah.runtime.tracing.span import Span

PARKED_S = 0.1
"""A reader that is parked reads again when there was no step for so long."""


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
        self._is_quiet = False
        self.has_ended = False
        # What follows is guarded by the machine's lock.
        self.is_parked = False
        """The thread reads nothing until it is woken, or a while has passed without steps."""
        self.has_steps = True
        """Somebody else may read meanwhile."""
        self.lent_to: object = None
        """The step that has the connection: nobody else reads from it, or closes it."""
        self.steps = 0
        self.unsent = b""
        """The rest of a packet of which others were sent, which comes before all else."""

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
            with self._machine.lock:
                self._machine.turn.notify_all()
            self.thread.join()
        else:
            self._end(failure)

    def read_next(self) -> bool:
        """The next ack, or several; False when it was the last one.

        Raises HowdahError, OSError where the connection breaks, or what comes is no ack.
        """
        ack = decode_ack(read_delimited(self.connection))
        machine = self._machine
        pipeline = machine.pipeline
        with machine.lock:
            ended = pipeline.acked(ack)
            done = ended or not pipeline.is_streaming
            self._is_quiet = (
                self.has_steps
                and not pipeline.queues
                and pipeline.queues.last_acked_seqno == machine.awaited_seqno
            )
            self._report(done)
        return not done

    def _report(self, done: bool) -> None:
        # Waking threads costs more than an ack does, so only those are woken
        # that have something to do; a writer that waits for room gets a lot.
        machine = self._machine
        queues = machine.pipeline.queues
        if done or machine.ack_waiters or len(queues) <= self._low_water:
            machine.progress.notify_all()
        if done or queues.is_held_back:
            machine.work.notify()

    def step_ended(self) -> None:
        """With the lock: who waits for what a step has found, or left, is woken."""
        self._report(done=False)
        if self._must_read:
            self._machine.turn.notify()

    @property
    def _must_read(self) -> bool:
        machine = self._machine
        pipeline = machine.pipeline
        return (
            machine.stopping
            or not pipeline.is_streaming
            or bool(pipeline.queues)
            or self.connection.has_read_ahead
        )

    def _park(self) -> None:
        """Read nothing while others do, and until something is due that they don't read."""
        turn = self._machine.turn
        with self._machine.lock:
            self.is_parked = True
            was_idle = False
            while self.lent_to is not None or not (self._must_read or was_idle):
                steps = self.steps
                was_idle = not turn.wait(PARKED_S) and self.steps == steps
            self.is_parked = False

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
            while self.read_next():
                if self._is_quiet:
                    self._park()
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
