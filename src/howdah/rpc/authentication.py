"""Proves who a client is at the beginning of an RPC connection (shell: asks KDCs, and for names).

The exchange is `howdah.protocol.rpc.negotiation`. Here is what it cannot know: which offer of the
server this client can take, by the token or the login of its user, and whether the server is the
one that the configuration expects.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config.value_types import Address
from howdah.protocol.rpc.negotiation import ClientNegotiation, Offer
from howdah.protocol.rpc.proven import SIMPLE
from howdah.protocol.sasl import digest_md5, gssapi
from howdah.protocol.sasl.digest_md5 import DigestMd5Client, credentials_of
from howdah.protocol.sasl.gssapi import GssapiClient
from howdah.protocol.sasl.mechanism import ClientMechanism, Layer
from howdah.runtime.users.names import ProvenUser
from howdah.security.hosts import host_names
from howdah.security.login import clock_difference
from howdah.security.settings import SecuritySettings
from howdah.security.users import Prover

TOKEN: Final = "TOKEN"
KERBEROS: Final = "KERBEROS"
_CNONCE_BYTES: Final = 30
_RPC_PROTECTION: Final = "hadoop.rpc.protection"
_FALLBACK: Final = "ipc.client.fallback-to-simple-auth-allowed"


@dataclass(frozen=True, slots=True)
class Authenticated:
    """What came of it: the users that the connection's context names, and its layer."""

    user: str | None
    real_user: str | None
    layer: Layer | None


def authenticate(
    user: ProvenUser,
    protocol: str,
    address: Address,
    timeout_s: float,
    exchange: Callable[[bytes], bytes],
    send: Callable[[bytes], None],
) -> Authenticated:
    """Prove who `user` is to the server at `address`, of which `exchange` sends a frame and returns
    the one that answers it; `send` expects no answer.

    Raises AuthenticationFailed, what the server failed with, ProtocolViolation, and what
    `exchange` raises.
    """
    assert isinstance(user, Prover), "whoever is proven has something to prove it by"
    chooser = _Chooser(user, protocol, address, timeout_s)
    negotiation = ClientNegotiation(chooser.choose)
    request = negotiation.begin()
    try:
        while not negotiation.is_done:
            request = negotiation.receive(exchange(request))
    except (errors.AuthenticationFailed, errors.InvalidToken) as error:
        raise chooser.explain(error) from error
    if request:
        send(request)
    mechanism = negotiation.mechanism
    if mechanism is None:
        user.fell_back()
        return Authenticated(str(user), user.real_name, None)
    user.was_proven()
    if chooser.method == TOKEN:
        # The server knows the token's owner, and who got it for whom.
        return Authenticated(None, None, mechanism.layer)
    return Authenticated(*user.context_names, mechanism.layer)


class _Chooser:
    def __init__(self, user: Prover, protocol: str, address: Address, timeout_s: float) -> None:
        self._user = user
        self._protocol = protocol
        self._address = address
        self._timeout_s = timeout_s
        self._server = f"{address[0]}:{address[1]}"
        self.method = SIMPLE
        self._target = ""

    def choose(self, offers: Sequence[Offer]) -> tuple[Offer, ClientMechanism] | None:
        settings = self._user.settings
        reasons: list[str] = []
        for offer in offers:
            if offer.method == TOKEN:
                mechanism = self._by_token(offer, reasons)
            elif offer.method == KERBEROS:
                mechanism = self._by_ticket(offer, reasons)
            elif offer.method == SIMPLE and _may_go_without_proof(settings):
                return None
            else:
                continue
            if mechanism is not None:
                self.method = offer.method
                return offer, mechanism
        methods = [offer.method for offer in offers]
        if SIMPLE in methods and settings.is_enabled:
            raise errors.AuthenticationFailed(
                f"{self._server} asks for no proof of who a client is (SIMPLE), and this client is "
                f"set to prove itself (hadoop.security.authentication). Set {_FALLBACK} = true to "
                "talk to such servers all the same"
            )
        raise errors.AuthenticationFailed(
            f"Client cannot authenticate via:[{', '.join(methods)}] at {self._server}"
            f"{': ' if reasons else ''}{'; '.join(reasons)}"
        )

    def _by_token(self, offer: Offer, reasons: list[str]) -> ClientMechanism | None:
        token = self._user.token_for(self._address)
        if token is None:
            reasons.append(f"no delegation token for it ({self._user.show_tokens()})")
            return None
        wanted = self._user.settings.token_mechanism
        if offer.mechanism != digest_md5.MECHANISM or wanted != digest_md5.MECHANISM:
            raise errors.UnsupportedOperation(
                f"tokens prove themselves by {offer.mechanism} at {self._server}, and by {wanted} "
                f"(hadoop.security.sasl.mechanism) here: only {digest_md5.MECHANISM} is supported"
            )
        name, password = credentials_of(token.identifier, token.password)
        return DigestMd5Client(
            name,
            password,
            f"{offer.protocol}/{offer.server_id}",
            self._user.settings.rpc_protections,
            cnonce=base64.b64encode(os.urandom(_CNONCE_BYTES)),
            setting=_RPC_PROTECTION,
        )

    def _by_ticket(self, offer: Offer, reasons: list[str]) -> ClientMechanism | None:
        login = self._user.login
        if login is None:
            reasons.append(
                "no Kerberos ticket"
                if self._user.settings.is_enabled
                else "hadoop.security.authentication is simple here: set it to kerberos"
            )
            return None
        if offer.mechanism != gssapi.MECHANISM:
            raise errors.UnsupportedOperation(
                f"{self._server} offers Kerberos by {offer.mechanism}: only {gssapi.MECHANISM} is "
                "supported"
            )
        accepted = self._user.settings.principals_for(self._protocol)
        target = accepted.accept(
            offer.protocol, offer.server_id, host_names(self._address[0]), self._server
        )
        self._target = str(target)
        context = login.context(target, self._timeout_s)
        return GssapiClient(context, self._user.settings.rpc_protections, setting=_RPC_PROTECTION)

    def explain(self, error: errors.HowdahError) -> errors.HowdahError:
        """The same with the server, and with what there is of tokens where one was refused, or
        with what may be wrong with a ticket."""
        where = "" if self._server in error.message else f"{self._server}: "
        hint = f" ({self._user.show_tokens()})" if self.method == TOKEN else ""
        if errors.AuthenticationFailed.TICKET_NOT_TAKEN in error.message:
            hint = (
                f" (it got a ticket for {self._target}: has its keytab that principal, with the "
                f"key that the KDC has, and is its clock right?{clock_difference()})"
            )
        error.message = f"{where}{error.message}{hint}"
        error.args = (error.message,)
        return error


def _may_go_without_proof(settings: SecuritySettings) -> bool:
    if settings.needs_token:
        return False
    return settings.fallback_allowed or not settings.is_enabled
