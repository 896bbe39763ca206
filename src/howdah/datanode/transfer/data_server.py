"""The data port: accepts connections and gives each a thread.

DataXceiverServer in Hadoop.

Threads, because all that a connection does is wait in system calls, which free
the interpreter: measured, one stream costs 0.5 s of CPU a GiB, and eight streams
reach what the machine can copy. Connections over the limit are closed at once
(the far end tries elsewhere), and an idle one costs its thread and 8 KiB.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Protocol

from howdah import errors
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.transfer.balancing import Balancing
from howdah.datanode.transfer.operations import Operations
from howdah.runtime.sockets import Connection

log = logging.getLogger(__name__)

BACKLOG = 256
_STACK_BYTES = 512 * 1024
_ACCEPT_PAUSE_S = 0.1
_FAILURES_A_LOG_LINE = 100
"""Of failures without a success between them, one in so many is logged."""


class Listener(Protocol):
    """A listening socket, or what is like one."""

    def accept(self) -> tuple[socket.socket, object]: ...
    def shutdown(self, how: int, /) -> None: ...
    def close(self) -> None: ...


class DataServer:
    """Serves DataTransferProtocol on a listening socket."""

    def __init__(
        self,
        listener: Listener,
        store: BlockStore,
        settings: DataSettings,
        balancing: Balancing | None = None,
    ) -> None:
        """`balancing`: the limits of moves, which the servers of one datanode share."""
        self.balancing = balancing or Balancing(settings.balance_moves, settings.balance_bandwidth)
        self._listener = listener
        self._store = store
        self._settings = settings
        self._lock = threading.Lock()
        self._connections: set[Connection] = set()
        self._threads: set[threading.Thread] = set()
        self._closing = False
        self.on_count: Callable[[int], None] | None = None
        """Told how many connections there are whenever that changes."""
        self._acceptor = threading.Thread(target=self._accept, name="data acceptor", daemon=True)

    @property
    def active(self) -> int:
        """Connections that are being served (xceivers)."""
        return len(self._connections)

    def start(self) -> None:
        threading.stack_size(_STACK_BYTES)
        self._acceptor.start()

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop accepting, end every connection, wait for their threads."""
        if self._closing:
            return
        self._closing = True
        # On a listening socket this wakes up accept().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(timeout_s)
        self._listener.close()
        with self._lock:
            connections, threads = list(self._connections), list(self._threads)
        for connection in connections:
            connection.shutdown()
        # Those may wait for their mirrors and not for their clients.
        for writer in self._store.writers.all():
            writer.stop("the datanode stops")
        deadline_s = time.monotonic() + timeout_s
        for thread in threads:
            thread.join(max(deadline_s - time.monotonic(), 0.0))

    def _accept(self) -> None:
        failures = 0
        while not self._closing:
            try:
                sock, _ = self._listener.accept()
            except (OSError, MemoryError) as error:
                if self._closing:
                    return
                if not failures % _FAILURES_A_LOG_LINE:
                    log.error("cannot accept a data connection: %s", str(error) or repr(error))
                failures += 1
                # Waiting is all that helps: each operation that ends frees some descriptors.
                time.sleep(_ACCEPT_PAUSE_S)
                continue
            failures = 0
            try:
                self._begin(sock)
            except Exception:
                # The next one must find somebody who accepts it.
                log.exception("a data connection is closed: nobody serves it")
                sock.close()

    def _begin(self, sock: socket.socket) -> None:
        settings = self._settings
        if len(self._connections) >= settings.max_connections:
            log.warning(
                "Xceiver count %d exceeds the limit of concurrent xceivers: %d "
                "(dfs.datanode.max.transfer.threads); a connection is refused",
                len(self._connections) + 1,
                settings.max_connections,
            )
            sock.close()
            return
        try:
            connection = Connection(
                sock,
                read_timeout_s=settings.socket_timeout_s,
                write_timeout_s=settings.write_timeout_s,
            )
        except OSError as error:
            log.info("a data connection was gone before it was served: %s", error)
            sock.close()
            return
        thread = threading.Thread(
            target=self._serve, args=(connection,), name=f"data of {connection.peer}", daemon=True
        )
        with self._lock:
            self._connections.add(connection)
            self._threads.add(thread)
            self._tell_count()
        try:
            thread.start()
        except RuntimeError as error:
            log.error("no thread for the connection of %s: %s", connection.peer, error)
            self._forget(connection, thread)

    def _serve(self, connection: Connection) -> None:
        try:
            known = self._admit(connection)
            if known is not None:
                Operations(known, self._store, self._settings, self.balancing).serve()
        except Exception:
            # One operation's defect must not end the others, nor leave this one open.
            log.exception("serving %s failed", connection.peer)
        finally:
            self._forget(connection, threading.current_thread())

    def _admit(self, connection: Connection) -> Connection | None:
        """The connection as it is served; None for who is not."""
        guard = self._settings.guard
        if guard is None:
            return connection
        try:
            return guard.accept(connection)
        except (errors.HowdahError, OSError) as error:
            log.warning("%s is not served: %s", connection.peer, error)
            return None

    def _forget(self, connection: Connection, thread: threading.Thread) -> None:
        connection.close()
        with self._lock:
            self._connections.discard(connection)
            self._threads.discard(thread)
            self._tell_count()

    def _tell_count(self) -> None:
        if self.on_count is not None:
            self.on_count(len(self._connections))


def listen(address: tuple[str, int]) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise errors.Unreachable(f"cannot listen on {host}:{port}: {error}") from error
    return sock
