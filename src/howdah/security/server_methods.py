"""How clients prove themselves at a secured server (shell: a keytab, and dice for nonces).

A ticket is taken for one principal, whose keys are in a keytab; a token where the server issues
some. Who comes is known by his short name from then on (`hadoop.security.auth_to_local`). Between
servers it is not enough to be somebody: a protocol that is for datanodes is spoken by theirs alone.
Hadoop asks that only where `hadoop.security.authorization` is on, and gave the keys of all blocks
to whoever asked where it is not; here it is always asked.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import BlockTokenIdentifier, DelegationTokenIdentifier
from howdah.protocol.rpc.negotiation import Offer
from howdah.protocol.rpc.proven import KERBEROS, SIMPLE, TOKEN, Proven
from howdah.protocol.sasl import digest_md5, gssapi
from howdah.protocol.sasl.digest_md5 import DigestMd5Server, credentials_of
from howdah.protocol.sasl.gssapi import GssapiServer
from howdah.protocol.sasl.keytab import principals_in
from howdah.protocol.sasl.mechanism import ServerMechanism
from howdah.protocol.sasl.offered_protections import OfferedProtections
from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal, matches
from howdah.runtime.secret_files import warn_if_shared
from howdah.security.confinement import Confinement
from howdah.security.hosts import KnownHosts, canonical_host
from howdah.security.server_principals import is_of_kind
from howdah.security.strangers import STRANGERS

# The library of Kerberos is looked for where somebody comes with a ticket.
if TYPE_CHECKING:
    from howdah.security.gssapi import AcceptedContext

_SETTING: Final = "hadoop.rpc.protection"
_TOKEN_REALM: Final = "default"
_TOKEN_URI: Final = "/default"
_NONCE_BYTES: Final = 30


class IssuedTokens(Protocol):
    """The tokens that a server has issued, for whoever keeps them to answer."""

    def password_of(self, identifier: bytes) -> bytes:
        """Raises InvalidToken for one that was not issued here, was cancelled or is over; and
        StandbyError or RetriableError where this server may not know it yet."""


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """As whom a server proves itself."""

    principal: Principal
    keytab: str

    def check(self) -> None:
        """Raises LoginFailed where the keytab cannot be read, or has no key of the principal.
        Whom else it can be read by is said in the log."""
        path = Path(self.keytab)
        try:
            known = principals_in(path.read_bytes())
            # A group for servers of one machine is usual: they share the key of its web ports.
            warn_if_shared(path, "the keytab", f"be {self.principal}", may_group=True)
        except OSError as error:
            raise errors.LoginFailed(
                f"the keytab {path} cannot be read: {error.strerror or error}"
            ) from error
        except errors.LoginFailed as error:
            raise errors.LoginFailed(f"{path}: {error}") from None
        wanted = str(self.principal)
        if not any(wanted == name or wanted == name.partition("@")[0] for name in known):
            raise errors.LoginFailed(
                f"the keytab {path} has no key of {wanted}: it is of {', '.join(known) or 'nobody'}"
            )


@dataclass(frozen=True, slots=True)
class MethodsAtServer:
    """`howdah.protocol.rpc.negotiation.ServerMethods` of one port."""

    identity: ServerIdentity | None
    """None where no tickets are taken: then everybody is believed who shows no token."""
    protections: OfferedProtections
    user_of: Callable[[str], str]
    """The short name of a principal. Raises AuthenticationFailed where it has none."""
    tokens: IssuedTokens | None = None
    required: Mapping[str, str] = field(default_factory=dict)
    """By the Java names of protocols: the principal, or the pattern of one, that speaks it. `_HOST`
    stands for the host from which a connection comes."""
    hosts: KnownHosts = field(default_factory=lambda: KnownHosts(canonical_host, time.monotonic))
    confinement: Confinement = field(default_factory=Confinement)
    takes_simple: bool = False
    """Whether those who prove nothing are believed beside those who show a ticket, so that nobody
    is kept out while a cluster changes over. What is `required` is asked of tickets alone then."""

    @property
    def offers(self) -> Sequence[Offer]:
        # Clients take the first that they can: nobody who has a ticket goes without by this.
        offers = []
        if self.tokens is not None:
            offers.append(Offer(TOKEN, digest_md5.MECHANISM, "", _TOKEN_REALM))
        if self.identity is not None:
            principal = self.identity.principal
            offers.append(Offer(KERBEROS, gssapi.MECHANISM, principal.primary, principal.instance))
        if self.identity is None or self.takes_simple:
            offers.append(Offer(SIMPLE, ""))
        return offers

    def begin(self, offer: Offer, address: str, port: int) -> ServerMechanism:
        offered = self.protections.offered(address, port)
        if offer.method == TOKEN:
            assert self.tokens is not None, "tokens are offered where there are some"
            return DigestMd5Server(
                passwords_by_name(self.tokens),
                _TOKEN_REALM,
                _TOKEN_URI,
                offered,
                nonce=base64.b64encode(os.urandom(_NONCE_BYTES)),
                setting=_SETTING,
            )
        assert self.identity is not None, "tickets are taken where there is a keytab"
        context = _Accepted(self.identity, lambda client: self.established(client, address))
        return GssapiServer(context, offered, setting=_SETTING)

    def established(self, client: str, address: str) -> None:
        """Hear who a client is, where there is time to look up its host: it may be of those that
        speak a protocol from their own host alone. Nobody else waits for name servers, which may
        hang, and the threads that evaluate proofs with them."""
        for wanted in self.required.values():
            if HOST_PLACEHOLDER in wanted and is_of_kind(client, Principal.parse(wanted)):
                self.hosts.look_up(address)
                return

    def proven(self, offer: Offer, mechanism: ServerMechanism) -> Proven:
        if offer.method == KERBEROS:
            return Proven(KERBEROS, self.user_of(mechanism.client), mechanism.client)
        try:
            identifier = base64.b64decode(mechanism.client)
            return self.proven_by_token(identifier)
        except (MalformedRecord, ValueError) as error:
            raise errors.InvalidToken(f"that is no identifier of a token: {error}") from error

    def proven_by_token(self, identifier: bytes) -> Proven:
        """Whom a token of this server's proves. Raises MalformedRecord, AuthenticationFailed."""
        token = DelegationTokenIdentifier.decode(identifier)
        real = token.real_user
        owner = self.user_of(token.owner)
        if not real or real == token.owner:
            return Proven(TOKEN, owner, token.owner)
        return Proven(TOKEN, owner, token.owner, self.user_of(real), real)

    def believed(self, user: str, address: str) -> None:
        if self.takes_simple:
            STRANGERS.note(user, address)

    def speaker_of(self, protocol: str, address: str) -> str | None:
        wanted = self.required.get(protocol)
        if wanted is None or HOST_PLACEHOLDER not in wanted:
            return wanted
        return wanted.replace(HOST_PLACEHOLDER, self.hosts.known(address))

    def admit(self, proven: Proven, protocol: str, address: str) -> None:
        wanted = self.speaker_of(protocol, address)
        if wanted is None:
            self.confinement.check(proven.full_name, protocol)
            return
        if HOST_PLACEHOLDER in self.required[protocol]:
            is_one = wanted == proven.full_name
        else:
            is_one = matches(wanted, proven.full_name)
        if proven.method != KERBEROS or not is_one:
            raise errors.AuthorizationFailed(
                f"User {proven.full_name} (auth:{proven.method}) is not authorized for protocol "
                f"interface {protocol}: this service is only accessible by {wanted}"
            )


class MethodsAtDatanode(MethodsAtServer):
    """At the RPC port of a datanode, where block tokens are taken. Whom one names may do what it
    says, and nothing else."""

    def proven_by_token(self, identifier: bytes) -> Proven:
        user = BlockTokenIdentifier.decode(identifier).user
        return Proven(TOKEN, user, user, identifier=identifier)


def passwords_by_name(tokens: IssuedTokens) -> Callable[[bytes], bytes]:
    """Return what has the password of a token by the name that it has in SASL: its identifier in
    base64."""

    def password_of(name: bytes) -> bytes:
        try:
            identifier = base64.b64decode(name, validate=True)
        except ValueError:
            raise errors.InvalidToken("a token's name is not in base64") from None
        return credentials_of(identifier, tokens.password_of(identifier))[1]

    return password_of


def known_by_name(known: Callable[[bytes], bytes | None]) -> Callable[[bytes], bytes | None]:
    """Return the same of passwords that are `known` by identifiers without asking anybody."""

    def password_of(name: bytes) -> bytes | None:
        try:
            identifier = base64.b64decode(name, validate=True)
        except ValueError:
            return None
        password = known(identifier)
        return None if password is None else credentials_of(identifier, password)[1]

    return password_of


class _Accepted:
    """A context, of which the client hears no more than Hadoop says when a ticket is not taken;
    the log has the reason."""

    def __init__(self, identity: ServerIdentity, established: Callable[[str], None]) -> None:
        """`established` hears who the client is."""
        self._identity = identity
        self._established = established
        self._context: AcceptedContext | None = None

    @property
    def is_established(self) -> bool:
        return self._context is not None and self._context.is_established

    @property
    def _made(self) -> AcceptedContext:
        assert self._context is not None, "a client speaks first"
        return self._context

    @property
    def client(self) -> str:
        return self._made.client

    @property
    def is_confidential(self) -> bool:
        return self._made.is_confidential

    @property
    def is_ordered(self) -> bool:
        return self._made.is_ordered

    def step(self, token: bytes) -> bytes:
        from howdah.security.gssapi import AcceptedContext, AcceptorCredential, GssFailure

        try:
            if self._context is None:
                # Anew for each client: a keytab may have got new keys.
                credential = AcceptorCredential(
                    self._identity.keytab, str(self._identity.principal)
                )
                self._context = AcceptedContext(credential)
            answer = self._context.step(token)
        except GssFailure as failure:
            raise errors.AuthenticationFailed(
                errors.AuthenticationFailed.TICKET_NOT_TAKEN
            ) from failure
        if self._context.is_established:
            self._established(self._context.client)
        return answer

    def wrap(self, data: bytes, *, confidential: bool) -> bytes:
        return self._made.wrap(data, confidential=confidential)

    def unwrap(self, token: bytes) -> tuple[bytes, bool]:
        return self._made.unwrap(token)

    def wrap_limit(self, most_bytes: int, *, confidential: bool) -> int:
        return self._made.wrap_limit(most_bytes, confidential=confidential)
