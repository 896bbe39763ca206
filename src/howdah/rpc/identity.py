"""Who calls: what clients of several servers share.

A call that is repeated at another namenode keeps its client id and its call id, so that the
namenode's retry cache answers it if it happened already. So the connections to all namenodes
of a nameservice share one `CallIdentity`, and what they have seen (`SeenState`).
"""

from __future__ import annotations

import itertools
import threading
import uuid

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import types_pb2
from howdah.protocol.call_ids import CLIENT_ID_BYTES
from howdah.runtime.fork_safety import PerProcess

_CALL_ID_MASK = 0x7FFFFFFF
_MOST_NAMESERVICES = 1024
"""Of which a router may say how far they are."""


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
        if client_id is not None and len(client_id) != CLIENT_ID_BYTES:
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
        self.federated_state = b""
        """The same of each nameservice behind a router, as it is sent to routers."""

    def saw(self, txid: int) -> None:
        """An answer says that its namenode was at `txid`."""
        with self._lock.get():
            self.last_txid = max(self.last_txid, txid)

    def saw_federated(self, states: bytes) -> None:
        """An answer of a router says how far its nameservices were.

        Raises ProtocolViolation for what is no such message.
        """
        if states == self.federated_state:
            return
        with self._lock.get():
            try:
                known = types_pb2.RouterFederatedStateProto.FromString(self.federated_state)
                said = types_pb2.RouterFederatedStateProto.FromString(states)
            except DecodeError as error:
                raise errors.ProtocolViolation(f"routerFederatedState: {error}") from error
            last: dict[str, int] = {}
            for state in (*known.namespaceStateIds, *said.namespaceStateIds):
                last[state.key] = max(state.value, last.get(state.key, state.value))
            if len(last) > _MOST_NAMESERVICES:
                raise errors.ProtocolViolation(
                    f"routerFederatedState names more than {_MOST_NAMESERVICES} nameservices"
                )
            merged = types_pb2.RouterFederatedStateProto()
            for name, txid in sorted(last.items()):
                merged.namespaceStateIds.add(key=name, value=txid)
            self.federated_state = merged.SerializeToString()
