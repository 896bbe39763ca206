"""The channel between control process and data process: a socket pair and its frames.

Whoever dies closes its end, and the other one notices at once: the end of the
channel is the end of both.
"""

from __future__ import annotations

import math
import select
import socket
import threading
import time
from typing import Final

from howdah import errors
from howdah.datanode.state.messages import Message, MessageBuffer, encode
from howdah.runtime import unexpected_errors

_RECEIVE_BYTES = 64 * 1024
_MEMORY_PAUSE_S: Final = 0.5
"""How long a process without memory for messages waits before it reads again."""


def wait_readable(*descriptors: int, timeout_s: float | None = None) -> set[int]:
    """Those that can be read, or are at their end; none of them after `timeout_s`.

    By `poll`, as `select` refuses descriptors from 1024 on, which a busy datanode has.
    """
    arrival = select.poll()
    for descriptor in descriptors:
        arrival.register(descriptor, select.POLLIN)
    left_ms = None if timeout_s is None else math.ceil(max(timeout_s, 0) * 1000)
    return {descriptor for descriptor, _ in arrival.poll(left_ms)}


class LinkClosed(errors.HowdahError, ConnectionError):
    """The other process is gone."""


class Link:
    """One end. Any thread sends; one thread receives."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        self._buffer = MessageBuffer()

    @classmethod
    def pair(cls) -> tuple[Link, Link]:
        left, right = socket.socketpair()
        return cls(left), cls(right)

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, message: Message) -> None:
        """`LinkClosed` when the other process is gone."""
        data = encode(message)
        try:
            with self._lock:
                self._sock.sendall(data)
        except OSError as error:
            raise LinkClosed(f"the other process of this datanode is gone: {error}") from error

    def receive(self, *, once: bool = False) -> list[Message]:
        """Wait for messages; `LinkClosed` when no more will come. With `once` for some bytes,
        which may be part of one."""
        while True:
            try:
                data = self._sock.recv(_RECEIVE_BYTES)
            except MemoryError as error:
                # Nothing was read. Whoever has the memory may give it back.
                unexpected_errors.note("reading from the other process", error, "it goes on")
                time.sleep(_MEMORY_PAUSE_S)
                continue
            except OSError as error:
                raise LinkClosed(f"the other process of this datanode is gone: {error}") from error
            if not data:
                raise LinkClosed("the other process of this datanode is gone")
            messages = self._buffer.feed(data)
            if messages or once:
                return messages

    def close(self) -> None:
        self._sock.close()
