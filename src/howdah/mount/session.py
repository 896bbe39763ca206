"""The conversation with the kernel (shell).

A descriptor gives one request at a time, whole, and takes one answer at a time. A few threads read
from it, one at a time, so that requests begin in the kernel's order. Each answers what it has read
before it reads again, so that the kernel finds a free one while another waits for a server. When
all others wait, the last one only reads, and what it has read stands in line until one of them is
free: else nobody would hear of an interrupt while the servers are away.
Requests that are no requests, and errors that nobody foresaw, are answered with an error and told
in the log; the conversation goes on.

The kernel interrupts a request whose process got a signal, and that process cannot even be killed
before there is an answer. A request that only asks is given up then (EINTR): another thread takes
the place of the one that still waits for a server.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.mount.calls import Calls
from howdah.mount.failures import OF_THE_CALLER, Refused, number_of
from howdah.mount.mounted_tree import Answer
from howdah.mount.protocol import answers
from howdah.mount.protocol.answers import Buffer
from howdah.mount.protocol.negotiation import BUFFER_BYTES, negotiate
from howdah.mount.protocol.operations import Operation
from howdah.mount.protocol.requests import (
    Header,
    Init,
    Interrupt,
    Malformed,
    Unknown,
    parse_body,
    parse_header,
)
from howdah.runtime import unexpected_errors
from howdah.runtime.log_throttle import LogThrottleBySubject

log = logging.getLogger(__name__)

THREADS: Final = 16
_LOGGED_EVERY_MS: Final = 10_000
_AGAIN: Final = frozenset((errno.ENOENT, errno.EINTR, errno.EAGAIN))
"""A request was taken back before it was read: there will be others."""
_MOST_THREADS: Final = 64
"""With those that wait for what was given up."""
_NO_ANSWER: Final = frozenset((Operation.FORGET, Operation.BATCH_FORGET, Operation.INTERRUPT))


@dataclass(slots=True)
class _UnderWay:
    """A request that is being answered."""

    header: Header
    call: Callable[[], Answer]
    may_be_given_up: bool
    is_given_up: bool = False
    has_substitute: bool = False
    """Another thread has the place of the one that answers it."""


class Session:
    """Answers the kernel's requests from a descriptor, until it is unmounted."""

    def __init__(
        self,
        descriptor: int,
        calls: Calls,
        on_end: Callable[[], object],
        threads: int = THREADS,
    ) -> None:
        """`on_end` is called when the kernel asks for nothing any more."""
        self._descriptor: Final = descriptor
        self._calls = calls
        self._on_end = on_end
        self._threads = threads
        self._is_stopped = False
        self.is_unmounted = False
        """Whether the kernel has ended the conversation."""
        self._running: list[threading.Thread] = []
        self._numbers = itertools.count()
        self._reading_lock = threading.Lock()
        self._line_lock = threading.Lock()
        self._in_line: deque[_UnderWay] = deque()
        """What was read, and has no thread yet. While there is something, one thread reads."""
        self._readers = 0
        """Threads that read, or wait until they may."""
        self._under_way: dict[int, _UnderWay] = {}
        self._under_way_lock = threading.Lock()
        self._throttle = LogThrottleBySubject(_LOGGED_EVERY_MS)
        self._throttle_lock = threading.Lock()

    def start(self) -> None:
        """Agree with the kernel on how to speak, and begin to answer. Raises Malformed for a kernel
        that is too old, and OSError."""
        buffer = bytearray(BUFFER_BYTES)
        while True:
            count = self._next(buffer)
            if count is None:
                raise OSError(errno.ENODEV, "it was unmounted before it began")
            request = memoryview(buffer)[:count]
            header = parse_header(request)
            if header.operation != Operation.INIT:
                raise Malformed(f"the kernel begins with operation {header.operation}")
            init = parse_body(header, request)
            assert isinstance(init, Init)
            try:
                agreed = negotiate(init)
            except Malformed:
                self._send(answers.failure(header.unique, errno.EPROTO))
                raise
            self._send(answers.answer(header.unique, (agreed.answer,)))
            if agreed.is_final:
                break
        for _ in range(self._threads + 1):
            self._start_thread()

    def _start_thread(self) -> bool:
        """Whether there may be one more."""
        self._running = [thread for thread in self._running if thread.is_alive()]
        if len(self._running) >= max(_MOST_THREADS, self._threads + 1):
            return False
        thread = threading.Thread(
            target=self._work, name=f"mount-{next(self._numbers)}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            if not self._running:
                raise
            log.warning("the system has no more threads: %s", error)
            return False
        self._running.append(thread)
        return True

    def stop(self) -> None:
        """Take no more requests; those that are being answered end."""
        self._is_stopped = True

    def join(self, timeout_s: float) -> bool:
        """Wait until nothing is answered any more, which is when the kernel asks for nothing any
        more; whether it came to that."""
        give_up_at = time.monotonic() + timeout_s
        for thread in self._running:
            thread.join(max(give_up_at - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._running)

    def _work(self) -> None:
        buffer = bytearray(BUFFER_BYTES)
        try:
            while not self._is_stopped:
                begun = self._first_in_line()
                if begun is None:
                    count, begun = self._read(buffer)
                    if not count:
                        self.is_unmounted = True
                        break
                if begun is not None:
                    self._answer(begun)
                    if begun.has_substitute:
                        return
        except OSError as error:
            log.critical("the kernel's requests cannot be read: %s", error)
        self._on_end()

    def _first_in_line(self) -> _UnderWay | None:
        """What was read by another thread, which goes on to read; None if this one has to."""
        with self._line_lock:
            if self._in_line and self._readers:
                return self._in_line.popleft()
            self._readers += 1
            return None

    def _read(self, buffer: bytearray) -> tuple[int, _UnderWay | None]:
        """Read a request: its length, 0 when there will be no more, and what this thread has to
        answer, if it is not the last one that reads."""
        begun = None
        with self._reading_lock:
            try:
                count = self._next(buffer) or 0
                with self._line_lock:
                    is_last = self._readers == 1
                if count:
                    request = memoryview(buffer)[:count]
                    # What stands in line must outlive the next request.
                    begun = self._begin(memoryview(bytes(request)) if is_last else request)
            finally:
                with self._line_lock:
                    self._readers -= 1
                    if begun is not None and not self._readers:
                        self._in_line.append(begun)
                        begun = None
        return count, begun

    def _next(self, buffer: bytearray) -> int | None:
        """Read a request into a buffer; None when there will be no more."""
        while True:
            try:
                return os.readv(self._descriptor, [buffer]) or None
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return None
                if error.errno not in _AGAIN:
                    raise

    def _begin(self, request: memoryview) -> _UnderWay | None:
        """A request that has to be answered; None if it needs nothing more."""
        try:
            header = parse_header(request)
        except Malformed as error:
            log.error("the kernel sent what is no request: %s", error)
            return None
        try:
            body = parse_body(header, request)
            if isinstance(body, Interrupt):
                self._give_up(body.unique)
                return None
            begun = _UnderWay(
                header,
                self._calls.begin(header, body),
                self._calls.may_be_given_up(header, body),
            )
            with self._under_way_lock:
                self._under_way[header.unique] = begun
            return begun
        except Unknown:
            self._fail(header, errno.ENOSYS)
        except Malformed as error:
            log.error("the kernel sent what is no request: %s", error)
            self._fail(header, errno.EIO)
        return None

    def _give_up(self, unique: int) -> None:
        """The process that asked does not want to wait any more. By a thread that has read this
        in its turn."""
        with self._under_way_lock:
            begun = self._under_way.get(unique)
            if begun is None or begun.is_given_up or not begun.may_be_given_up:
                return
            begun.is_given_up = True
            begun.has_substitute = self._start_thread()
            self._fail(begun.header, errno.EINTR)

    def _is_wanted(self, begun: _UnderWay) -> bool:
        """Whether the kernel waits for an answer, which nobody gives up from here on."""
        with self._under_way_lock:
            self._under_way.pop(begun.header.unique, None)
            return not begun.is_given_up

    def _answer(self, begun: _UnderWay) -> None:
        header = begun.header
        try:
            answer = begun.call()
            if self._is_wanted(begun):
                self._send_answer(header, answer)
            elif answer is not None:
                self._calls.take_back(header, answer)
        except (errors.HowdahError, Refused, OSError, EOFError) as error:
            number = number_of(error)
            self._tell(header, number, error)
            if self._is_wanted(begun):
                self._fail(header, number)
        except Exception as error:  # noqa: BLE001 - a defect in one call is not the end of all
            unexpected_errors.note(
                _name_of(header.operation), error, "the program that asked gets EIO"
            )
            if self._is_wanted(begun):
                self._fail(header, errno.EIO)

    def _send_answer(self, header: Header, answer: Answer) -> None:
        if answer is not None and header.operation not in _NO_ANSWER:
            self._send(answers.answer(header.unique, answer))

    def _fail(self, header: Header, number: int) -> None:
        if header.operation not in _NO_ANSWER:
            self._send(answers.failure(header.unique, number))

    def _send(self, parts: Sequence[Buffer]) -> None:
        try:
            os.writev(self._descriptor, parts)
        except OSError as error:
            # ENOENT: the process that asked is gone.
            if error.errno not in (errno.ENOENT, errno.ENODEV, errno.EPIPE):
                log.error("the kernel does not take an answer: %s", error)
                if len(parts) > 1:
                    # Else whoever asked would wait for ever.
                    _, _, unique = answers.HEADER.unpack(parts[0])
                    self._send(answers.failure(unique, errno.EIO))

    def _tell(self, header: Header, number: int, error: BaseException) -> None:
        """Say in the log why something was refused or failed."""
        if number in OF_THE_CALLER:
            return
        name, what = _name_of(header.operation), self._calls.about(header)
        with self._throttle_lock:
            kept_back = self._throttle.suppressed_count(
                f"{name} {number}", time.monotonic_ns() // 1_000_000
            )
        if kept_back is None:
            return
        log.log(
            logging.WARNING if number == errno.EIO else logging.INFO,
            "%s of %s for process %d of user %d: %s (%s)%s",
            name,
            paths.printable(what),
            header.pid,
            header.uid,
            error,
            errno.errorcode.get(number, number),
            f"; {kept_back} more were like that" if kept_back else "",
        )


def _name_of(operation: int) -> str:
    try:
        return Operation(operation).name
    except ValueError:
        return f"operation {operation}"
