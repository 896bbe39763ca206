"""What is known of the logs of nameservices, so that reads may go to observers (pure).

Hadoop: RouterStateIdContext, PoolAlignmentContext. Rules:

1. Every answer of a namenode says the last transaction that it may show. The router keeps the
   last one of each nameservice whose reads go to observers, and sends them all along with its
   own answers (`routerFederatedState`): whatever a client was answered, it knows at least the
   state that the answer was made of.
2. A client sends back what it knows, to this router or another one. A read goes to an observer
   under the transaction that its caller knows, and the observer waits until it has reached it:
   a client sees what it has done itself. What one client says moves nothing for others.
3. A caller who says nothing of a nameservice is served by its active namenode.
4. While no answer of the active namenode has come for `refresh_s`, reads go there: so clients
   that only read are not left behind with an observer that lags.
5. Where more than `most_sent` nameservices have observers, nothing is sent, and so all reads go
   to active namenodes: the header of every answer would be too long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from google.protobuf.message import DecodeError

from howdah import errors
from howdah.proto import types_pb2
from howdah.protocol.client_methods import COORDINATED_METHODS
from howdah.protocol.messages import parse

MOST_BYTES: Final = 16 * 1024
"""Of what a caller may say of itself; more is passed over, and the active serves the call."""
_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


def decode_states(data: bytes) -> Mapping[str, int]:
    """The last transaction of each nameservice. Raises ProtocolViolation for what is no such
    message; nameservices of which nothing was seen are left out."""
    if not data or len(data) > MOST_BYTES:
        return _NOTHING
    return _decoded(data)


@lru_cache(256)
def _decoded(data: bytes) -> Mapping[str, int]:
    try:
        proto = parse(types_pb2.RouterFederatedStateProto, data)
    except DecodeError as error:
        raise errors.ProtocolViolation(f"routerFederatedState of the call: {error}") from error
    # Hadoop's routers say the smallest number of a nameservice that they have not heard of.
    return {
        state_id.key: state_id.value for state_id in proto.namespaceStateIds if state_id.value >= 0
    }


def encode_states(states: Mapping[str, int]) -> bytes:
    proto = types_pb2.RouterFederatedStateProto()
    for name in sorted(states):
        proto.namespaceStateIds.add(key=name, value=states[name])
    return proto.SerializeToString()


class States:
    """Of one router. It never goes back."""

    def __init__(
        self,
        nameservices: Iterable[str] = (),
        *,
        by_default: bool = False,
        overrides: Collection[str] = (),
        most_sent: int = 5,
        refresh_s: float = 15.0,
    ) -> None:
        """Reads of a nameservice go to observers `by_default`, or where it is in `overrides`
        the other way round. `refresh_s` below 0: rule 4 does not hold."""
        self.with_observers = frozenset(
            nameservice for nameservice in nameservices if by_default != (nameservice in overrides)
        )
        self._most_sent = most_sent
        self._refresh_s = refresh_s
        self._txids: dict[str, int] = {}
        self._active_s: dict[str, float] = {}
        self._header: bytes | None = b""

    def saw(self, nameservice: str, txid: int) -> None:
        """An answer of one of its namenodes says that it was made at `txid`."""
        if nameservice in self.with_observers and txid > self._txids.get(nameservice, -1):
            self._txids[nameservice] = txid
            self._header = None

    def heard_active(self, nameservice: str, now_s: float) -> None:
        """Its active namenode answered."""
        if nameservice in self.with_observers:
            self._active_s[nameservice] = now_s

    def header(self) -> bytes:
        """What goes along with an answer that is made now."""
        if self._header is None:
            sent = self._txids if len(self._txids) <= self._most_sent else {}
            self._header = encode_states(sent)
        return self._header

    def required_txid(self, nameservice: str, method: str, said: bytes, now_s: float) -> int | None:
        """The transaction that an observer must have reached to answer a call whose caller
        has `said` what it knows. None: the call is for the active namenode."""
        if nameservice not in self.with_observers or method not in COORDINATED_METHODS:
            return None
        heard_s = self._active_s.get(nameservice)
        is_fresh = heard_s is not None and now_s - heard_s <= self._refresh_s
        if self._refresh_s >= 0 and not is_fresh:
            return None
        return decode_states(said).get(nameservice)
