"""From the event loop to the audit log's own thread (shell).

1. The loop puts a record into a queue, in the order in which calls were answered; that is all it
   does. The thread makes lines of records and writes them, in the order of the calls. It waits
   a moment before it looks at the queue, so that it seldom takes the interpreter from the loop,
   and does not keep it for long.
2. The queue is bounded. A disk that hangs must not stop the namenode: records that do not fit are
   left out, and the namenode's log says how many.
3. If the file cannot be written, the lines of that moment are lost, and the thread goes on with
   the next ones. When the file can be written again, the namenode's log says how many are lost.
4. `close` writes what is in the queue, for some seconds.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.service.audit.calls import OF_OTHER_PROTOCOLS, RULES, Subject
from howdah.namenode.service.audit.line_format import LineFormat, Record, Shown
from howdah.protocol.call_ids import NO_CALL_ID, NO_CLIENT_ID
from howdah.protocol.client_methods import METHODS
from howdah.protocol.rpc.call import Caller
from howdah.runtime import unexpected_errors
from howdah.runtime.users.names import real_user_of

log = logging.getLogger(__name__)

MOST_RECORDS: Final = 100_000
"""Some hundred megabytes at most, and seconds of a busy namenode."""
MOST_AT_ONCE: Final = 250
"""Less than a millisecond's work, in which the loop may have to wait."""
GATHER_S: Final = 0.02
CLOSE_TIMEOUT_S: Final = 10.0


class Output(Protocol):
    """Where lines go: whole ones, in order."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class AuditLog:
    """Sees the answers of the clients' protocol, and of those that have something read anew
    (`howdah.protocol.rpc.service.Observer`)."""

    def __init__(
        self,
        protocol: str,
        form: LineFormat,
        output: Output,
        wall_ms: Callable[[], int],
        shown: Callable[[str], Shown | None],
        most: int = MOST_RECORDS,
    ) -> None:
        """`shown` looks up owner, group and mode at a path; None if nothing is there."""
        self._protocol = protocol
        self._form = form
        self._output = output
        self._wall_ms = wall_ms
        self._shown = shown
        self._most = most
        self._queue: queue.SimpleQueue[Record | None] = queue.SimpleQueue()
        self._left_out = 0
        self._lost = 0
        self._ends = threading.Event()
        self._second, self._shown_second = -1, ""
        self._thread = threading.Thread(target=self._run, name="audit log", daemon=True)

    def start(self) -> None:
        self._thread.start()

    # --- on the loop -------------------------------------------------------------------

    def watches(self, protocol: str, method: str) -> bool:
        if protocol == self._protocol:
            return method in METHODS and method in RULES
        return (protocol, method) in OF_OTHER_PROTOCOLS

    def answered(
        self,
        method: str,
        request: Message,
        caller: Caller,
        outcome: Message | errors.HowdahError,
    ) -> None:
        """A call has its answer."""
        rule = RULES[method]
        answer: Message | None = None
        allowed = False
        if isinstance(outcome, Message):
            answer = outcome if rule.keeps_answer else None
            judged = True if rule.is_allowed is None else rule.is_allowed(outcome)
            if judged is None:
                return
            allowed = judged
        elif not isinstance(outcome, errors.AccessDenied):
            return
        shown = self._shown(rule.shown(request)) if allowed and rule.shown is not None else None
        self._note(Record(self._wall_ms(), allowed, method, request, answer, caller, shown))

    def fsck_ended(self, user: str, address: str, target: str, allowed: bool) -> None:
        """Note that a run of fsck is over; `target` is its path, or its blocks."""
        subject = Subject("fsck", target)
        caller = Caller(
            str(user), NO_CLIENT_ID, NO_CALL_ID, -1, address, real_user=real_user_of(user)
        )
        self._note(Record(self._wall_ms(), allowed, "fsck", subject, None, caller, None))

    def _note(self, record: Record) -> None:
        if self._queue.qsize() >= self._most:
            self._left_out += 1
            if self._left_out == 1:
                log.error("the audit log is too slow: calls are left out of it from now on")
            return
        if self._left_out:
            log.error("%d calls were left out of the audit log", self._left_out)
            self._left_out = 0
        self._queue.put(record)

    def close(self) -> None:
        """Write what is left, and end."""
        self._ends.set()
        self._queue.put(None)
        self._thread.join(CLOSE_TIMEOUT_S)
        if self._thread.is_alive():
            log.error("the audit log is not written to its end: its disk does not answer")
        elif self._left_out:
            log.error("%d calls were left out of the audit log", self._left_out)

    # --- on the thread -----------------------------------------------------------------

    def _run(self) -> None:
        ends = False
        while not ends:
            lines: list[str] = []
            record = self._queue.get()
            if self._queue.qsize() < MOST_AT_ONCE:
                self._ends.wait(GATHER_S)
            while True:
                if record is None:
                    ends = True
                    break
                line = self._line(record)
                if line is not None:
                    lines.append(line)
                if len(lines) >= MOST_AT_ONCE:
                    break
                try:
                    record = self._queue.get_nowait()
                except queue.Empty:
                    break
            if lines:
                self._try_to_write(lines)
        if self._lost:
            log.error("%d lines of the audit log are lost", self._lost)
        self._output.close()

    def _line(self, record: Record) -> str | None:
        try:
            return self._form.line(record, self._stamp(record.wall_ms))
        except Exception as error:  # noqa: BLE001 - the only thread: no call would be in the log
            unexpected_errors.note(
                f"a line of the audit log for {record.method}", error, "it is lost"
            )
            self._lost += 1
            return None

    def _try_to_write(self, lines: list[str]) -> None:
        try:
            self._write(lines)
        except Exception as error:  # noqa: BLE001 - the only thread: no call would be in the log
            unexpected_errors.note("the audit log", error, f"{len(lines)} lines of it are lost")
            self._lost += len(lines)

    def _stamp(self, wall_ms: int) -> str:
        """As log4j's ISO8601: the local time, with a comma before the milliseconds."""
        seconds, millis = divmod(wall_ms, 1000)
        if seconds != self._second:
            self._second = seconds
            self._shown_second = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
        return f"{self._shown_second},{millis:03}"

    def _write(self, lines: list[str]) -> None:
        try:
            self._output.write("".join(lines).encode())
        except OSError as error:
            if not self._lost:
                log.error(
                    "the audit log cannot be written: %s; lines are lost until it can be", error
                )
            self._lost += len(lines)
        else:
            if self._lost:
                log.warning("the audit log is written again; %d lines are lost", self._lost)
            self._lost = 0
