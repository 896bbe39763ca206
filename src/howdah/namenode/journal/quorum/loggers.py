"""A thread for each journal node, around one `Writer` (shell). Hadoop: AsyncLoggerSet,
IPCLoggerChannel.

A node that hangs holds up its own thread and nothing else. Everything pure is done under one
lock, which nobody keeps while it waits for the network.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final, Protocol, TypeVar

from howdah import errors
from howdah.namenode.state.quorum.messages import Answer, Heartbeat, Request, Stamp
from howdah.namenode.state.quorum.quorum import QuorumCall, Sending, Steps, Writer
from howdah.runtime import unexpected_errors
from howdah.runtime.background_threads import NoThread

log = logging.getLogger(__name__)

T = TypeVar("T")

_PAUSE_S: Final = 1.0
"""Behind a defect: the next turn may meet it again."""


class Node(Protocol):
    """One journal node, as its writer sees it."""

    def call(self, request: Request, stamp: Stamp | None) -> Answer:
        """Raises OSError."""
        ...

    def close(self) -> None: ...


class Loggers:
    """Sends what a writer has to send. Any thread may call; one at a time may `run`."""

    def __init__(
        self,
        writer: Writer,
        nodes: Mapping[str, Node],
        timeouts_s: Mapping[type[Request], float],
        clock_ms: Callable[[], int],
    ) -> None:
        """The nodes belong to the loggers from here on. Raises NoThread; then they are closed."""
        assert set(nodes) == set(writer.nodes), "each node has a name that the writer knows"
        self._writer = writer
        self._nodes = dict(nodes)
        self._timeouts_s = timeouts_s
        self._clock_ms = clock_ms
        self._lock = threading.Lock()
        self._work = {name: threading.Condition(self._lock) for name in nodes}
        self._decided = threading.Condition(self._lock)
        self._awaited: QuorumCall | None = None
        self._closed = False
        for name in nodes:
            thread = threading.Thread(
                target=self._serve, args=(name,), name=f"journal node {name}", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                self.close()
                raise NoThread(f"journal node {name}", error) from error

    def run(self, steps: Steps[T]) -> T:
        """Do all of `steps`, and wait for each call. Raises what they raise."""
        with self._lock:
            while True:
                try:
                    call = next(steps)
                except StopIteration as end:
                    result: T = end.value
                    return result
                finally:
                    self._wake()
                self._wait(call)

    def now(self, act: Callable[[], T]) -> T:
        """Do something with the writer that waits for nothing."""
        with self._lock:
            result = act()
            self._wake()
            return result

    def resign(self, timeout_s: float) -> None:
        """Tell all nodes that this writer serves nothing more, so that the next one need not
        wait for its lease. Nodes that don't answer in time don't know it."""
        with self._lock:
            self._writer.resigned = True
            call = self._writer.enqueue("heartbeat", Heartbeat(resigns=True))
            self._wake()
            answered = len(self._nodes)
            self._decided.wait_for(
                lambda: len(call.answers) + len(call.failures) >= answered, timeout_s
            )

    def close(self) -> None:
        """Send nothing more. A call under way ends by itself. Safe to repeat."""
        with self._lock:
            self._closed = True
            self._wake()
            self._decided.notify_all()
        for node in self._nodes.values():
            node.close()

    # Under the lock.

    def _wake(self) -> None:
        for condition in self._work.values():
            condition.notify()

    def _wait(self, call: QuorumCall) -> None:
        timeout_s = self._timeouts_s[type(call.request)]
        self._awaited = call
        decided = self._decided.wait_for(lambda: call.is_decided or self._closed, timeout_s)
        self._awaited = None
        if self._closed and not call.is_decided:
            call.expire("the journal is closed")
        elif not decided:
            call.expire(f"no answer within {timeout_s:g} s")

    # On the thread of a node.

    def _serve(self, name: str) -> None:
        with self._lock:
            while not self._closed:
                try:
                    self._turn(name)
                except Exception as error:  # noqa: BLE001 - without this thread the node is deaf
                    unexpected_errors.note(
                        f"the writer of journal node {name}", error, "it is left out"
                    )
                    why = errors.ProtocolViolation(f"{type(error).__name__}: {error}")
                    self._writer.leave_out(name, why, self._clock_ms())
                    self._decided.notify_all()
                    self._work[name].wait(_PAUSE_S)

    def _turn(self, name: str) -> None:
        sending = self._writer.pop(name, self._clock_ms())
        if sending is None:
            self._sleep(name)
            return
        self._lock.release()
        try:
            outcome = self._request(self._nodes[name], sending)
        finally:
            self._lock.acquire()
        was_failing = self._writer.is_failing(name)
        if isinstance(outcome, OSError):
            self._note(name, sending, outcome, was_failing=was_failing)
            self._writer.failed(sending, outcome, self._clock_ms())
        else:
            if was_failing:
                log.info("journal node %s answers again", name)
            self._writer.answered(sending, outcome, self._clock_ms())
        # An answer that decides nothing wakes nobody.
        if self._awaited is None or self._awaited.is_decided:
            self._decided.notify_all()

    def _sleep(self, name: str) -> None:
        due_ms = self._writer.next_heartbeat_ms(name)
        left_s = None if due_ms is None else max(due_ms - self._clock_ms(), 1) / 1000
        self._work[name].wait(left_s)

    def _request(self, node: Node, sending: Sending) -> Answer | OSError:
        try:
            return node.call(sending.request, sending.stamp)
        except OSError as error:
            return error
        except Exception as error:
            # If this thread ended, nothing would be sent to the node any more.
            log.exception("%s failed at a request on a defect", sending.node)
            return errors.ProtocolViolation(f"{type(error).__name__}: {error}")

    def _note(self, name: str, sending: Sending, error: OSError, *, was_failing: bool) -> None:
        """A node that stays away says the same at every heartbeat: once is enough."""
        if self._closed:
            return
        kind = type(sending.request).__name__
        is_known = was_failing and isinstance(sending.request, Heartbeat)
        level = logging.DEBUG if is_known else logging.WARNING
        log.log(level, "journal node %s failed at %s: %s", name, kind, error)
