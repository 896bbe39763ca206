"""A Hadoop RPC server on blocking sockets, a thread a connection.

For processes that have no event loop and few calls, such as a datanode's data
process: a reader that asks for a visible length now and then. The protocol is
`session.ServerSession`, as in the asyncio shell; this one reads, runs the call
and writes, in that order. Connections over the limit are closed at once, and
those that stay silent after a while. Calls are small here: a frame that isn't is
refused before any of it is kept. Whatever befalls one connection, be it that there is no
thread for it, the next one is accepted.
"""

from __future__ import annotations

import logging
import socket
import threading
import time

from google.protobuf.message import Message

from howdah import errors
from howdah.rpc import wire
from howdah.rpc.service import Answer, Deferred, Registry, defect
from howdah.rpc.session import Call, Reply, ServerSession

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 256
MAX_FRAME_BYTES = 64 * 1024
IDLE_TIMEOUT_S = 120.0
_RECEIVE_BYTES = 16 * 1024


class ThreadedRpcServer:
    """Answers calls on a listening socket from a registry of services."""

    def __init__(
        self,
        listener: socket.socket,
        registry: Registry,
        *,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        max_connections: int = MAX_CONNECTIONS,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
    ) -> None:
        self._listener = listener
        self._registry = registry
        self._max_frame_bytes = max_frame_bytes
        self._max_connections = max_connections
        self._idle_timeout_s = idle_timeout_s
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._closing = False
        self._acceptor = threading.Thread(target=self._accept, name="rpc acceptor", daemon=True)

    @property
    def active(self) -> int:
        """Connections that are open."""
        return len(self._open)

    def start(self) -> None:
        self._acceptor.start()

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop listening, end every connection, wait for the threads.

        A call that is being served is answered first: it may be the one that asks for the end.
        """
        if self._closing:
            return
        self._closing = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(timeout_s)
        self._listener.close()
        with self._lock:
            running = list(self._open.items())
        for sock, _ in running:
            _shutdown(sock, socket.SHUT_RD)
        deadline_s = time.monotonic() + timeout_s
        for sock, thread in running:
            thread.join(max(deadline_s - time.monotonic(), 0.0))
            if thread.is_alive():
                _shutdown(sock, socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closing:
            try:
                sock, address = self._listener.accept()
            except OSError as error:
                if self._closing:
                    return
                log.error("cannot accept an RPC connection: %s", error)
                time.sleep(0.1)  # out of descriptors: only waiting helps
                continue
            try:
                self._begin(sock, str(address[0]))
            except Exception:
                log.exception("the RPC connection of %s is closed: nobody serves it", address)
                self._forget(sock)

    def _begin(self, sock: socket.socket, address: str) -> None:
        if len(self._open) >= self._max_connections:
            log.warning("more than %d RPC connections; one is refused", self._max_connections)
            sock.close()
            return
        thread = threading.Thread(target=self._serve, args=(sock, address), name="rpc", daemon=True)
        with self._lock:
            self._open[sock] = thread
        try:
            thread.start()
        except RuntimeError as error:
            log.error("no thread for the RPC connection of %s, which is closed: %s", address, error)
            self._forget(sock)

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._open.pop(sock, None)
        sock.close()

    def _serve(self, sock: socket.socket, address: str) -> None:
        session = ServerSession(self._max_frame_bytes)
        try:
            sock.settimeout(self._idle_timeout_s)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := sock.recv(_RECEIVE_BYTES):
                for event in session.receive(data):
                    if isinstance(event, Call):
                        sock.sendall(self._answer(event, address))
                    elif isinstance(event, Reply):
                        sock.sendall(event.data)
                    else:
                        log.warning("connection from %s ended: %r", address, event.reason)
                        return
        except TimeoutError:
            log.debug("connection from %s was idle for %g s", address, self._idle_timeout_s)
        except OSError as error:
            log.debug("connection from %s broke: %s", address, error)
        finally:
            self._forget(sock)

    def _answer(self, call: Call, address: str) -> bytes:
        try:
            outcome = _complete(self._registry.dispatch(call, address))
        except errors.HowdahError as error:
            return wire.encode_error(call.call_id, call.client_id, call.retry_count, error)
        except Exception as error:  # noqa: BLE001 - it must not end the caller's connection
            told = defect(call.method, error)
            return wire.encode_error(call.call_id, call.client_id, call.retry_count, told)
        return wire.encode_answer(call.call_id, call.client_id, call.retry_count, outcome)


def _complete(answer: Answer) -> Message:
    """Run an answer in slices to its end, wait for one that comes later."""
    if isinstance(answer, Message):
        return answer
    if isinstance(answer, Deferred):
        settled = threading.Event()
        outcomes: list[Message | errors.HowdahError] = []

        def keep(outcome: Message | errors.HowdahError) -> None:
            outcomes.append(outcome)
            settled.set()

        answer.when_settled(keep)
        settled.wait()
        if isinstance(outcomes[0], errors.HowdahError):
            raise outcomes[0]
        return outcomes[0]
    while True:
        try:
            next(answer)
        except StopIteration as stop:
            message: Message = stop.value
            return message


def _shutdown(sock: socket.socket, direction: int) -> None:
    try:
        sock.shutdown(direction)
    except OSError:
        log.debug("a connection was closed already")
