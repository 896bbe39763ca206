"""GSSAPI as a SASL mechanism (RFC 4752): how a Kerberos ticket proves itself.

The tokens of a security context go to and fro until it is established. Then the server offers
protections, and how much it takes at once, in four bytes that are wrapped, and the client chooses
in four of its own. The context itself is given (`SecurityContext`): it asks a KDC.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from howdah import errors
from howdah.protocol.sasl.protection import (
    Protection,
    check_room,
    choose_protection,
    show_protections,
)

MECHANISM: Final = "GSSAPI"
MOST_WRAPPED_BYTES: Final = 65536
"""How long a message may be that is received, as Java's client says."""
_MASK: Final = {
    Protection.AUTHENTICATION: 1,
    Protection.INTEGRITY: 2,
    Protection.PRIVACY: 4,
}


class SecurityContext(Protocol):
    """One side of a GSSAPI context. Used by one thread at a time."""

    @property
    def is_established(self) -> bool: ...

    def step(self, token: bytes) -> bytes:
        """Return the next token, which may be empty. Raises AuthenticationFailed."""

    def wrap(self, data: bytes, *, confidential: bool) -> bytes: ...

    def unwrap(self, token: bytes) -> tuple[bytes, bool]:
        """Return the data, and whether it was encrypted. Raises ProtocolViolation for what was
        changed, repeated, or is not the next."""

    def wrap_limit(self, most_bytes: int, *, confidential: bool) -> int:
        """How many bytes of data a message of `most_bytes` can carry."""


class AcceptedContext(SecurityContext, Protocol):
    """The server's side of a GSSAPI context."""

    @property
    def client(self) -> str:
        """The principal of the client; known when the context is established."""

    @property
    def is_confidential(self) -> bool:
        """Whether the client asked for a context that can encrypt."""

    @property
    def is_ordered(self) -> bool:
        """Whether the client asked for a context that notices what was repeated or left out."""


class GssapiLayer:
    """What a context wraps and unwraps, with a protection that is never less than agreed."""

    def __init__(self, context: SecurityContext, protection: Protection, most_bytes: int) -> None:
        self._context = context
        self._confidential = protection is Protection.PRIVACY
        limit = context.wrap_limit(most_bytes, confidential=self._confidential)
        if limit < 1:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the far end takes messages of {most_bytes} bytes at most, which "
                "leaves no room for data"
            )
        self.most_clear_bytes: Final = limit

    def wrap(self, data: bytes) -> bytes:
        return self._context.wrap(data, confidential=self._confidential)

    def unwrap(self, token: bytes) -> bytes:
        data, was_confidential = self._context.unwrap(token)
        if self._confidential and not was_confidential:
            raise errors.ProtocolViolation("a message is not encrypted, though privacy was agreed")
        return data


class GssapiClient:
    """The side of who has a ticket. `setting` is the key that `protections` come from."""

    def __init__(
        self, context: SecurityContext, protections: Sequence[Protection], *, setting: str
    ) -> None:
        self._context = context
        self._protections = tuple(protections)
        self._setting = setting
        self.protection = Protection.AUTHENTICATION
        self.layer: GssapiLayer | None = None
        self.is_complete = False

    def evaluate(self, challenge: bytes) -> bytes | None:
        if self.is_complete:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a challenge came behind the last word")
        if not self._context.is_established:
            return self._context.step(challenge)
        return self._choose(challenge)

    def _choose(self, challenge: bytes) -> bytes:
        try:
            offer, _ = self._context.unwrap(challenge)
        except errors.ProtocolViolation as error:
            raise errors.AuthenticationFailed(f"{MECHANISM}: {error}") from error
        if len(offer) != 4:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the server's offer has {len(offer)} bytes, not 4"
            )
        mask, most_bytes = offer[0], int.from_bytes(offer[1:], "big")
        offered = [protection for protection, bit in _MASK.items() if mask & bit]
        chosen = choose_protection(self._protections, offered, self._setting)
        size = 0
        if chosen is not Protection.AUTHENTICATION:
            size = MOST_WRAPPED_BYTES
            self.layer = GssapiLayer(self._context, chosen, min(most_bytes, MOST_WRAPPED_BYTES))
        self.protection = chosen
        answer = bytes((_MASK[chosen],)) + size.to_bytes(3, "big")
        self.is_complete = True
        return self._context.wrap(answer, confidential=False)


class GssapiServer:
    """The side of who has a keytab. `setting` is the key that `protections` come from.

    The client speaks first. Once the context is established it is offered protections, in the
    answer to a response without a token where the context's last token was still to be sent.
    """

    def __init__(
        self, context: AcceptedContext, protections: Sequence[Protection], *, setting: str
    ) -> None:
        self._context = context
        self._protections = tuple(protections)
        self._setting = setting
        self._offered: tuple[Protection, ...] | None = None
        self.protection = Protection.AUTHENTICATION
        self.layer: GssapiLayer | None = None
        self.is_complete = False

    @property
    def client(self) -> str:
        return self._context.client

    def evaluate(self, response: bytes) -> bytes | None:
        if self.is_complete:
            raise errors.AuthenticationFailed(f"{MECHANISM}: a response came behind the last word")
        if not self._context.is_established:
            token = self._context.step(response)
            if token or not self._context.is_established:
                return token
            return self._offer()
        if self._offered is None:
            if response:
                raise errors.AuthenticationFailed(
                    f"{MECHANISM}: a token came behind the context's last one"
                )
            return self._offer()
        self._agree(response, self._offered)
        return None

    def _offer(self) -> bytes:
        self._offered = tuple([each for each in self._protections if self._is_possible(each)])
        if not self._offered:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the client's context cannot do what {self._setting} = "
                f"{show_protections(self._protections)} asks for here"
            )
        mask = sum(_MASK[each] for each in self._offered)
        size = 0 if mask == _MASK[Protection.AUTHENTICATION] else MOST_WRAPPED_BYTES
        return self._context.wrap(bytes((mask,)) + size.to_bytes(3, "big"), confidential=False)

    def _is_possible(self, protection: Protection) -> bool:
        context = self._context
        if protection is Protection.AUTHENTICATION:
            return True
        return context.is_ordered and (
            context.is_confidential or protection is Protection.INTEGRITY
        )

    def _agree(self, response: bytes, offered: Sequence[Protection]) -> None:
        try:
            answer, _ = self._context.unwrap(response)
        except errors.ProtocolViolation as error:
            raise errors.AuthenticationFailed(f"{MECHANISM}: {error}") from error
        if len(answer) < 4:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the client's choice has {len(answer)} bytes, not 4 or more"
            )
        mask, most_bytes = answer[0], int.from_bytes(answer[1:4], "big")
        chosen = next((each for each in offered if _MASK[each] == mask), None)
        if chosen is None:
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: the client chose {mask:#x} of the protections, and "
                f"{show_protections(offered)} was offered ({self._setting})"
            )
        wanted = answer[4:]
        if wanted and wanted != self.client.encode():
            raise errors.AuthenticationFailed(
                f"{MECHANISM}: {self.client} asks to be treated as {wanted[:200]!r}"
            )
        if chosen is not Protection.AUTHENTICATION:
            check_room(most_bytes, MECHANISM)
            self.layer = GssapiLayer(self._context, chosen, min(most_bytes, MOST_WRAPPED_BYTES))
        self.protection = chosen
        self.is_complete = True
