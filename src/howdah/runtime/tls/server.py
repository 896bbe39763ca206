"""A server's side of a handshake (shell).

It runs on the thread of its connection, never on a loop. A peer that waits costs a socket and a
thread, of which the HTTP server has so many at most; all of the handshake has to be over in
`HANDSHAKE_S`. What costs time is OpenSSL's arithmetic: no more than `AT_ONCE` connections of a
process compute at the same time, however many come, so that RPC has its share of the machine.
OpenSSL takes no greeting (ClientHello) of more than 128 KiB.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from typing import Final

from howdah.config import Configuration
from howdah.runtime.tls.contexts import Kept, paths_of, server_context
from howdah.runtime.tls.stores import Stores, server_stores

HANDSHAKE_S: Final = 10.0
AT_ONCE: Final = 4

_turns = threading.BoundedSemaphore(AT_ONCE)


class NoHandshake(ConnectionError):
    """The other side and this server did not agree on a TLS connection. `is_plain`: it sent a
    request of HTTP instead."""

    def __init__(self, why: str, *, is_plain: bool = False) -> None:
        super().__init__(why)
        self.is_plain = is_plain


class ServerTls:
    """The certificate of a server, and what it asks of its clients. Thread-safe."""

    def __init__(self, stores: Stores) -> None:
        """Raises InvalidConfiguration."""
        self._contexts = Kept(
            lambda: server_context(stores), paths_of(stores), interval_s=stores.reload_s
        )

    @classmethod
    def of(cls, conf: Configuration, resource: str | None = None) -> ServerTls:
        """As `server_stores`. Raises InvalidConfiguration."""
        return cls(server_stores(conf, resource))

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """The connection over TLS, before its handshake; `connection` is not used any more."""
        context = self._contexts.get()
        return context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)


def shake_hands(connection: ssl.SSLSocket, limit_s: float = HANDSHAKE_S) -> None:
    """Raises NoHandshake, also when it takes longer than `limit_s`."""
    deadline_s = time.monotonic() + limit_s
    connection.settimeout(0)
    try:
        while True:
            try:
                with _turns:
                    connection.do_handshake()
                return
            except ssl.SSLWantReadError:
                _wait(connection, select.POLLIN, deadline_s)
            except ssl.SSLWantWriteError:
                _wait(connection, select.POLLOUT, deadline_s)
    except ssl.SSLError as error:
        # What `sslv3 alert` and the like mean, without the names of OpenSSL's sources.
        why = (error.reason or str(error)).replace("_", " ").lower()
        raise NoHandshake(why, is_plain=error.reason == "HTTP_REQUEST") from error
    except (OSError, ValueError) as error:
        # ValueError: the socket was closed by another thread.
        raise NoHandshake(str(error) or type(error).__name__) from error


def _wait(connection: ssl.SSLSocket, events: int, deadline_s: float) -> None:
    left_s = deadline_s - time.monotonic()
    poll = select.poll()
    poll.register(connection, events)
    if left_s <= 0 or not poll.poll(left_s * 1000):
        raise NoHandshake("it was not over in time")


def say_farewell(connection: ssl.SSLSocket) -> None:
    """Tell the other side that nothing follows, which an end of the connection alone, anybody's
    work, does not. Does not wait for an answer."""
    with contextlib.suppress(OSError, ValueError):
        connection.settimeout(0)
        connection.unwrap()


def send_plain(connection: ssl.SSLSocket, data: bytes) -> None:
    """To one who speaks no TLS. Does not wait."""
    with contextlib.suppress(OSError):
        socket.socket.send(connection, data)


def shut_down(connection: socket.socket, how: int) -> None:
    """As `socket.shutdown`; from another thread too, which of a TLS connection would take the
    protocol away under the one that reads."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, how)


def has_left(connection: socket.socket) -> bool:
    """Whether the other side of a TLS connection has gone, as far as the system knows."""
    gone = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)
    poll = select.poll()
    poll.register(connection, gone)
    return bool(poll.poll(0))
