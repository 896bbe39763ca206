"""Who asks over WebHDFS, where that is proven (shell: waits for the loop).

A delegation token in the request goes before all else, as in Hadoop: whoever shows it is its owner.
Otherwise the guard of the web port has seen a ticket or a cookie (`Request.proven`). Over HTTP a
user is known by his short name alone, as at Hadoop's namenodes; tokens that are issued there are of
that name.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.token import Token
from howdah.protocol.rpc.proven import Proven
from howdah.runtime.users.names import ProxyUser
from howdah.security.server_methods import IssuedTokens, MethodsAtServer
from howdah.web.http import Request
from howdah.web.server import Run
from howdah.web.webhdfs.parameters import ParsedRequest, parse_request
from howdah.web.webhdfs.patterns import Patterns


def _not_proven(error: errors.HowdahError) -> errors.RemoteError:
    """What Hadoop's WebHDFS says of a token that is not good."""
    return errors.RemoteError(
        f"Failed to obtain user group information: {error.remote_class}: {error.message}",
        java_class="java.lang.SecurityException",
    )


@dataclass(frozen=True, slots=True)
class Proofs:
    """Of one namenode. `run` does something on its loop. With `needs_proof` nobody is believed
    who shows neither a token nor a ticket."""

    tokens: IssuedTokens
    methods: MethodsAtServer
    run: Run
    needs_proof: bool

    def parsed(self, request: Request, patterns: Patterns) -> ParsedRequest:
        """What is asked for. Raises InvalidParameter, MissingParameter."""
        short_name = self.methods.user_of
        return parse_request(request, patterns, takes_tokens=True, short_name=short_name)

    def proven(self, request: Request, wanted: ParsedRequest) -> Proven | None:
        """Who has proven to ask; None who is believed. Raises AuthorizationFailed, RemoteError, and
        StandbyError or RetriableError where this namenode may not know a token yet."""
        if wanted.delegation is not None:
            return self._by_token(wanted.delegation)
        proven = request.proven
        if proven is None:
            if self.needs_proof:
                raise errors.AuthorizationFailed(
                    "Authentication required: show a Kerberos ticket (SPNEGO) or a delegation token"
                )
            return None
        return Proven(proven.method, proven.user, proven.user)

    def is_good(self, token: Token) -> bool:
        """Whether a token was issued here, and is neither over nor cancelled. Raises StandbyError
        or RetriableError where this namenode may not know."""
        try:
            self._check(token)
        except errors.InvalidToken:
            return False
        return True

    def _check(self, token: Token) -> None:
        """Raises InvalidToken, StandbyError, RetriableError."""
        password: bytes = self.run(lambda: self.tokens.password_of(token.identifier))
        if not hmac.compare_digest(password, token.password):
            raise errors.InvalidToken("the password of the token is wrong")

    def _by_token(self, text: str) -> Proven:
        try:
            token = Token.from_url_string(text)
            self._check(token)
            return self.methods.proven_by_token(token.identifier)
        except (errors.InvalidToken, errors.IllegalArgument, errors.AuthenticationFailed) as error:
            raise _not_proven(error) from None
        except MalformedRecord as error:
            raise _not_proven(errors.InvalidToken(str(error))) from None


def caller_of(proven: Proven, wanted: ParsedRequest) -> tuple[str, str | None]:
    """Return as whom calls are made, and whom that one still has to be allowed to act for.

    A name in the request (`user.name`) counts for nothing then, as at Hadoop's. Raises
    AuthorizationFailed for a token with which one wants to act for somebody.
    """
    if wanted.delegation is None:
        return proven.user, wanted.acts_for_another(proven.user)
    if wanted.acts_for not in (None, proven.user):
        raise errors.AuthorizationFailed(
            f"a token of {proven.user} is good for {proven.user} alone, not for {wanted.acts_for}"
        )
    if proven.real_user is None:
        return proven.user, None
    return ProxyUser(proven.user, proven.real_user), None
