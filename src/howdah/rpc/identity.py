"""Who calls: what clients of several servers share.

A call that is repeated at another namenode keeps its client id and its call id, so that the
namenode's retry cache answers it if it happened already. So the connections to all namenodes
of a nameservice share one `CallIdentity`, and what they have seen (`SeenState`).
"""

from __future__ import annotations

import itertools
import threading
import uuid

from howdah import errors
from howdah.forks import PerProcess
from howdah.rpc import wire

_CALL_ID_MASK = 0x7FFFFFFF


class _OneProcess:
    def __init__(self, client_id: bytes) -> None:
        self.client_id = client_id
        self._numbers = itertools.count()

    def next_call_id(self) -> int:
        return next(self._numbers) & _CALL_ID_MASK  # one step, which no other thread divides


class CallIdentity:
    """A client id, and call ids one after the other. Thread-safe; a forked child has another.

    A given `client_id` is that of the process that was given it: a child's calls have one of
    their own.
    """

    def __init__(self, client_id: bytes | None = None) -> None:
        if client_id is not None and len(client_id) != wire.CLIENT_ID_LENGTH:
            raise errors.IllegalArgument(f"A client id has 16 bytes, not {len(client_id)}")
        given = iter(() if client_id is None else (client_id,))
        self._own = PerProcess(lambda: _OneProcess(next(given, None) or uuid.uuid4().bytes))

    @property
    def client_id(self) -> bytes:
        """The 16 bytes that name this client in a server's retry cache."""
        return self._own.get().client_id

    def next_call_id(self) -> int:
        """A number that no call of this client had before."""
        return self._own.get().next_call_id()


class SeenState:
    """The last transaction of which a client has seen the effect: ClientGSIContext in Hadoop.

    Sent with every call and brought back by every answer; it never goes back. A namenode that
    lags behind it (an observer) holds a read until it has caught up.
    """

    def __init__(self) -> None:
        self._lock = PerProcess(threading.Lock)
        self.last_txid = 0

    def saw(self, txid: int) -> None:
        """An answer says that its namenode was at `txid`."""
        with self._lock.get():
            self.last_txid = max(self.last_txid, txid)
