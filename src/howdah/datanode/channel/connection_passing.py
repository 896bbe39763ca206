"""Pass connections from the control process to the data process, over a socket pair.

The control process reads replicas for those who ask over HTTP. It asks for their files as
short-circuit readers do, over a connection that nobody else can make: it has no name anywhere.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
from typing import Final

_DIAL_TIMEOUT_S: Final = 10.0
"""So long the data process may take to accept those before."""


class Dialer:
    """The control process's end. Thread-safe."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock = threading.Lock()
        sock.settimeout(_DIAL_TIMEOUT_S)

    def fileno(self) -> int:
        return self._sock.fileno()

    def dial(self) -> socket.socket:
        """One end of a new connection. Raises OSError."""
        own, other = socket.socketpair()
        try:
            with other, self._lock:
                socket.send_fds(self._sock, [b"\0"], [other.fileno()])
        except BaseException:
            own.close()
            raise
        return own

    def close(self) -> None:
        self._sock.close()


class Dialed:
    """The data process's end, which a server accepts from as from a listening socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._over = threading.Event()

    def accept(self) -> tuple[socket.socket, str]:
        """The next connection, and who made it; waits for ever when the control process is gone,
        until `shutdown`. Raises OSError."""
        data, descriptors, _, _ = socket.recv_fds(self._sock, 1, 1)
        if not data:
            # The end of the link, which has the same far end, ends this process.
            self._over.wait()
            raise OSError(errno.EINVAL, "nobody dials any more")
        if not descriptors:
            raise OSError(errno.EMFILE, "this process may open no more files")
        return socket.socket(fileno=descriptors[0]), "the control process"

    def shutdown(self, how: int) -> None:
        """Wakes up who accepts."""
        self._over.set()
        with contextlib.suppress(OSError):  # the control process has gone first
            self._sock.shutdown(how)

    def close(self) -> None:
        self._over.set()
        self._sock.close()


def pair() -> tuple[Dialer, Dialed]:
    """Both ends; each message between them is one connection."""
    control, data = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return Dialer(control), Dialed(data)
