"""What a key server answers over HTTP (shell): calls below `/kms/v1`, health and figures."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from howdah import errors
from howdah.kms.calls import (
    MAX_BODY_BYTES,
    KeyRequest,
    NoSuchCall,
    answer,
    answer_about_token,
    as_json,
    refusal,
    token_call,
)
from howdah.kms.service import KeyService, KeyStore
from howdah.protocol.encryption_zones.key_calls import CONTENT_TYPE, VERSION
from howdah.protocol.rpc.proven import TOKEN
from howdah.runtime.users.impersonation import OnThread
from howdah.security.delegation_tokens import ShortName
from howdah.security.server_tokens import ServerTokens
from howdah.web.channel import Channel
from howdah.web.http import Request, Response
from howdah.web.monitoring.health import Check, Report
from howdah.web.monitoring.pages import Monitoring

log = logging.getLogger(__name__)

ROLE: Final = "kms"
SERVICE: Final = "KMS"
PATH: Final = "/kms"
_PREFIX: Final = PATH + VERSION


class KeyPages:
    """Answers all requests of a key server."""

    def __init__(
        self,
        service: KeyService,
        store: KeyStore,
        tokens: ServerTokens,
        impersonation: OnThread,
        *,
        short_name: ShortName = str,
    ) -> None:
        """`impersonation` says who may act for whom; `short_name` has the user of a name that may
        be a principal: rules, lists and tokens know a user by one name."""
        self._short_name = short_name
        self._service = service
        self._store = store
        self._tokens = tokens
        self._impersonation = impersonation
        self._watch = Monitoring(SERVICE, alive=self._alive, ready=self._ready)

    def answer(self, request: Request) -> Response | KeyExchange:
        if self._watch.wants(request):
            return self._watch.answer(request, [], list)
        return KeyExchange(self, request)

    def called(self, request: Request, body: bytes) -> Response:
        """The answer to a call."""
        try:
            wanted = self._with_users(KeyRequest.of(request.method, request.target, _PREFIX))
            user = self._user(request, wanted)
            call = token_call(wanted)
            if call is not None:
                value = answer_about_token(
                    self._tokens, user, _real_user(request, user), call, wanted
                )
                status = 200
            else:
                status, value = answer(self._service, user, wanted, body)
        except errors.HowdahError as error:
            status, value = refusal(error)
            kind = logging.INFO if status != 500 else logging.WARNING
            log.log(kind, "%s %s is refused: %s", request.method, request.path, error.message)
            if isinstance(error, NoSuchCall) and request.path.rstrip("/") == PATH:
                log.info("clients' addresses of key servers end in %s", PATH)
        if value is None:
            return Response(status)
        return Response(status, {"Content-Type": CONTENT_TYPE}, as_json(value))

    def _with_users(self, wanted: KeyRequest) -> KeyRequest:
        """A request that names who is acted for by his short name, before anything is decided by
        that. Raises IllegalArgument for the name of nobody."""
        if not any(_says_for_whom(name) for name, _ in wanted.query):
            return wanted
        query = [
            (name, self._named(value) if value and _says_for_whom(name) else value)
            for name, value in wanted.query
        ]
        return replace(wanted, query=tuple(query))

    def _named(self, name: str) -> str:
        try:
            return self._short_name(name)
        except errors.AuthenticationFailed as error:
            raise errors.IllegalArgument(f"Illegal principal name {name}: {error}") from None

    def _user(self, request: Request, wanted: KeyRequest) -> str:
        """Who asks, or for whom he does. Raises AuthenticationFailed, AuthorizationFailed."""
        assert request.proven is not None, "a guard let it pass"
        real_user = request.proven.user
        user = wanted.acts_for or real_user
        if not user.isprintable():
            raise errors.IllegalArgument("the name of a user cannot be printed")
        if user == real_user:
            return user
        if request.proven.method == TOKEN:
            raise errors.AuthorizationFailed(
                f"a token of {real_user} is good for {real_user} alone, not for {user}"
            )
        self._impersonation.check(real_user, user, request.peer)
        return user

    def _alive(self) -> Report:
        return Report(ROLE, [Check("process", True, "it answers")])

    def _ready(self) -> Report:
        try:
            count = len(self._store.keys())
        except errors.HowdahError as error:
            check = Check("keys", False, error.message)
        else:
            check = Check("keys", True, f"{count} keys")
        return Report(ROLE, [*self._alive().checks, check])


def _real_user(request: Request, user: str) -> str:
    """Who asks for a user; nobody where he asks himself."""
    assert request.proven is not None, "a guard let it pass"
    return "" if request.proven.user == user else request.proven.user


def _says_for_whom(name: str) -> bool:
    return name.lower() == "doas"


class KeyExchange:
    """Reads the body of one call, and answers it."""

    def __init__(self, pages: KeyPages, request: Request) -> None:
        self._pages = pages
        self._request = request

    def run(self, channel: Channel) -> None:
        body = channel.read_form(MAX_BODY_BYTES)
        if body is None:
            channel.respond(Response(413))
            return
        channel.respond(self._pages.called(self._request, body))

    def done(self) -> None:
        return None
