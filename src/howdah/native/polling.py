"""`select.poll`, and what does the same by `select.select` on systems that lack it (Windows).

`select` is quick for few sockets, and knows sockets alone there; no more is asked for.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Final, Protocol

POLLIN: Final[int] = getattr(select, "POLLIN", 1)
POLLOUT: Final[int] = getattr(select, "POLLOUT", 4)


KERNEL_TIME_OUTS: Final[bool] = hasattr(select, "poll")
"""Whether SO_RCVTIMEO takes a `timeval`, after which a read raises BlockingIOError. Windows has no
such option: there whoever reads asks `comes` first."""


class HasDescriptor(Protocol):
    """A socket."""

    def fileno(self) -> int: ...


class Poll(Protocol):
    """What `select.poll` makes."""

    def register(self, fd: HasDescriptor, eventmask: int, /) -> None: ...
    def unregister(self, fd: HasDescriptor, /) -> None: ...
    def poll(self, timeout: float | None = None, /) -> Sequence[tuple[int, int]]: ...


class SelectPoll:
    """The same by `select.select`. A far end that has closed is readable."""

    def __init__(self) -> None:
        self._wanted: dict[HasDescriptor, int] = {}

    def register(self, fd: HasDescriptor, eventmask: int, /) -> None:
        """Wait for `fd` from now on."""
        self._wanted[fd] = eventmask

    def unregister(self, fd: HasDescriptor, /) -> None:
        """Wait for `fd` no more."""
        del self._wanted[fd]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        """Who is ready, and for what, within so many milliseconds."""
        reading = [fd for fd, events in self._wanted.items() if events & POLLIN]
        writing = [fd for fd, events in self._wanted.items() if events & POLLOUT]
        # A connection that failed is in the third list on Windows, in the second elsewhere.
        readable, writable, failed = select.select(
            reading, writing, writing, None if timeout is None else max(timeout, 0) / 1000
        )
        found: dict[int, int] = {}
        for ready, event in ((readable, POLLIN), (writable, POLLOUT), (failed, POLLOUT)):
            for fd in ready:
                found[fd.fileno()] = found.get(fd.fileno(), 0) | event
        return list(found.items())


def comes(sock: HasDescriptor, timeout_s: float) -> bool:
    """Whether a read would not wait, within so many seconds; 0 waits for ever."""
    arrival = poll()
    arrival.register(sock, POLLIN)
    return bool(arrival.poll(timeout_s * 1000 if timeout_s else None))


def poll() -> Poll:
    """Something to register sockets with, and to wait for them."""
    make = getattr(select, "poll", SelectPoll)
    made: Poll = make()
    return made
