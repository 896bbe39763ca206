"""How a client of ZooKeeper proves who it is by SASL: the packets, and their order (pure).

    request   length(4)  xid(4)  102(4)            token: length(4) bytes
    answer    length(4)  xid(4)  zxid(8)  error(4)  token: length(4) bytes, -1 for none

1. A session begins as any other. Then the client sends the mechanism's first token, before anything
   else.
2. To each answer it sends the next token, until its side of the mechanism is complete.
3. The server answers the last one, too, and says nothing then. Whoever it has proven is known by
   `sasl:NAME` in ACLs, where the server's settings decide what is the name of a principal.

A server that is not set up for SASL answers the first token with nothing at all, and goes on with a
client that it does not know. Here that is a refusal: the mechanism is not complete, and has proven
nobody. ZooKeeperSaslClient in ZooKeeper.
"""

from __future__ import annotations

import struct
from typing import Final

from howdah import errors
from howdah.protocol.sasl.mechanism import ClientMechanism

LENGTH_BYTES: Final = 4
_SASL: Final = 102
_AUTHENTICATION_FAILED: Final = -115
_REQUEST: Final = struct.Struct(">iii")
_ANSWER: Final = struct.Struct(">iqi")
_LENGTH: Final = struct.Struct(">i")
_MOST_BYTES: Final = 64 * 1024
_MOST_STEPS: Final = 10
"""Of tokens to a server: GSSAPI has three."""


def length_of(header: bytes) -> int:
    """Return how long the answer is that follows. Raises AuthenticationFailed for what no answer
    is.

    >>> length_of(bytes((0, 0, 0, 20)))
    20
    """
    (length,) = _LENGTH.unpack(header)
    if not _ANSWER.size <= length <= _MOST_BYTES:
        raise errors.AuthenticationFailed(
            f"ZooKeeper announces an answer of {length} bytes in the middle of SASL"
        )
    return int(length)


class SaslExchange:
    """One exchange. Send `begin()`, feed each answer to `receive` and send what it returns, until
    `is_done`."""

    def __init__(self, mechanism: ClientMechanism) -> None:
        self._mechanism = mechanism
        self._xid = 0
        self.is_done = False

    def begin(self) -> bytes:
        """Return the first request. Raises AuthenticationFailed."""
        return self._next(b"")

    def receive(self, answer: bytes) -> bytes:
        """Return the next request, or nothing at the end. `answer` is without its length.

        Raises AuthenticationFailed, for a server that refuses or that proves nothing.
        """
        challenge = self._token_of(answer)
        if self._mechanism.is_complete:
            if challenge:
                raise errors.AuthenticationFailed(
                    "ZooKeeper sends a token of SASL behind the last one"
                )
            self.is_done = True
            return b""
        return self._next(challenge)

    def _token_of(self, answer: bytes) -> bytes:
        if len(answer) < _ANSWER.size:
            raise errors.AuthenticationFailed(f"ZooKeeper answers SASL by {len(answer)} bytes")
        xid, _, error = _ANSWER.unpack_from(answer)
        if error == _AUTHENTICATION_FAILED:
            raise errors.AuthenticationFailed(
                "ZooKeeper refuses the login by SASL; its log has the reason"
            )
        if error:
            raise errors.AuthenticationFailed(f"ZooKeeper answers SASL by error {error}")
        if xid != self._xid:
            raise errors.AuthenticationFailed(
                f"ZooKeeper answers request {xid} where {self._xid} of SASL is due"
            )
        body = answer[_ANSWER.size :]
        if len(body) < _LENGTH.size:
            raise errors.AuthenticationFailed("ZooKeeper answers SASL without a token")
        (length,) = _LENGTH.unpack_from(body)
        token = body[_LENGTH.size :]
        if max(length, 0) != len(token):
            raise errors.AuthenticationFailed(
                f"ZooKeeper announces a token of {length} bytes, and sends {len(token)}"
            )
        return token

    def _next(self, challenge: bytes) -> bytes:
        if self._xid and not challenge:
            raise errors.AuthenticationFailed(
                "ZooKeeper proves nothing: it is not set up for SASL (authProvider.1, and the "
                "section Server of its JAAS configuration)"
            )
        if self._xid == _MOST_STEPS:
            raise errors.AuthenticationFailed(
                f"{_MOST_STEPS} tokens of SASL prove nobody to ZooKeeper"
            )
        token = self._mechanism.evaluate(challenge) or b""
        self._xid += 1
        body = _REQUEST.pack(self._xid, _SASL, len(token)) + token
        return _LENGTH.pack(len(body)) + body
