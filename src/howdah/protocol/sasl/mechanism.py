"""What a side of a SASL exchange, and the layer that comes of it, can do."""

from __future__ import annotations

from typing import Protocol

from howdah.protocol.sasl.protection import Protection


class Layer(Protocol):
    """Protects what is sent after the exchange, in the order in which it is sent.

    One thread wraps and one thread unwraps: each message has the number of its place. What a
    layer refuses ends the connection.
    """

    @property
    def most_clear_bytes(self) -> int:
        """How many bytes one message may carry, as the far end allows."""

    def wrap(self, data: bytes) -> bytes: ...

    def unwrap(self, token: bytes) -> bytes:
        """Raises ProtocolViolation for what was changed, repeated, left out or not protected."""


class ClientMechanism(Protocol):
    """The side that begins. Used once."""

    @property
    def is_complete(self) -> bool:
        """Whether the exchange is over, and both sides are proven."""

    @property
    def protection(self) -> Protection:
        """What was agreed; known when the exchange is complete."""

    @property
    def layer(self) -> Layer | None:
        """None if nothing is wrapped after the exchange: `Protection.AUTHENTICATION`."""

    def evaluate(self, challenge: bytes) -> bytes | None:
        """Return the answer to a challenge, which is empty at the beginning of a mechanism in
        which the client speaks first; None if nothing is to be answered.

        Raises AuthenticationFailed.
        """


class ServerMechanism(Protocol):
    """The side that is asked to believe. Used once."""

    @property
    def is_complete(self) -> bool:
        """Whether the exchange is over, and both sides are proven."""

    @property
    def client(self) -> str:
        """Whom the client has proven to be, in the mechanism's own terms; known when the exchange
        is complete."""

    @property
    def protection(self) -> Protection:
        """What was agreed; known when the exchange is complete."""

    @property
    def layer(self) -> Layer | None:
        """None if nothing is wrapped after the exchange: `Protection.AUTHENTICATION`."""

    def evaluate(self, response: bytes) -> bytes | None:
        """Return what the client is told, which ends the exchange if it is complete now; None if
        it is told nothing more than that. The first response is empty where this side begins.

        Raises AuthenticationFailed, and InvalidToken for a token that is not known.
        """
