"""Who asks a key server by a delegation token (shell).

A token comes in a header, or as the parameter `delegation`. Tokens are issued and renewed for who
proves himself otherwise: whoever came by a token gets no other one by it, which would outlive the
first. Who has a token may cancel it. Hadoop: DelegationTokenAuthenticationHandler.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Final

from howdah import errors
from howdah.formats.tokens.token import Token
from howdah.kms.calls import as_json, refusal
from howdah.protocol.encryption_zones.key_calls import CONTENT_TYPE, TOKEN_HEADER, TokenCall
from howdah.security.server_tokens import ServerTokens
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Admitted, Guard, NeedsBody, Request, Response

log = logging.getLogger(__name__)

_OPERATION: Final = "op"
_SHOWN: Final = "delegation"
_CANCELLED: Final = "token"
_OPERATIONS: Final = frozenset(TokenCall)
_PROOFS: Final = ("authorization", "cookie")
"""What who proves himself otherwise shows."""


@dataclass(frozen=True, slots=True)
class TokenGuard:
    """Of one server. `inner` finds out all others who ask."""

    inner: Guard
    tokens: ServerTokens = field(repr=False)
    rules: AccessRules

    def admit(self, request: Request) -> Admitted | Response | NeedsBody:
        """Let a request pass by its token, or as `inner` has it."""
        if self.rules.of(request.path) is not Rule.USER:
            return self.inner.admit(request)
        fields = request.query
        operation = fields.get(_OPERATION, "").upper()
        shown = request.headers.get(TOKEN_HEADER.lower()) or fields.get(_SHOWN, "")
        if operation == TokenCall.CANCEL:
            shown = fields.get(_CANCELLED, "")
            if any(name in request.headers for name in _PROOFS) or "user.name" in fields:
                shown = ""
        elif operation in _OPERATIONS:
            shown = ""
        if not shown:
            return self.inner.admit(request)
        try:
            proven = self.tokens.proven(Token.from_url_string(shown))
        except errors.HowdahError as error:
            log.info("%s from %s: %s", request.shown_target, request.peer, error.message)
            if isinstance(error, errors.IllegalArgument | errors.InvalidToken):
                error = errors.AuthenticationFailed(error.message)
            status, value = refusal(error)
            return Response(status, {"Content-Type": CONTENT_TYPE}, as_json(value))
        return Admitted(replace(request, proven=proven))
