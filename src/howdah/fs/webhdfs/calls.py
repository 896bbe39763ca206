"""Calls of ClientProtocol that are made over HTTP: a `NamenodeCalls` (shell).

A call goes to the namenode that answered last. One that is not active, or to which no connection
can be made, is left for the next one of `dfs.ha.namenodes.NS`, as `howdah.protocol.rpc.failover`
says of calls by RPC, with the keys `dfs.http.client.*`. There is no retry cache behind HTTP: a
change whose answer is lost is asked for again only if twice is the same as once, else `AnswerLost`.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar, cast

from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenodes.calls import say_again
from howdah.config.value_types import Address
from howdah.protocol.rpc.failover import Attempts, FailoverPolicy
from howdah.rpc.client import AnswerType
from howdah.runtime.tls.http_policy import Place
from howdah.web.connections import (
    AnswerLost,
    BrokenOff,
    Connections,
    Exchange,
    Head,
    redirection,
)
from howdah.web.webhdfs.answers import ABSENT, loaded, remote_error, response
from howdah.web.webhdfs.requests import OF_TOKENS, RestRequest, make_request

if TYPE_CHECKING:
    from howdah.security.bearer_logins import BearerLogins
    from howdah.security.http import HttpAuthentication, Proof
    from howdah.security.netrc_logins import NetrcLogins

log = logging.getLogger(__name__)
M = TypeVar("M")
T = TypeVar("T")

MAX_ANSWER_BYTES: Final = 128 << 20
"""As of an answer by RPC (`ipc.maximum.response.length`)."""
MAX_ERROR_BYTES: Final = 1 << 20
REDIRECTIONS: Final = (301, 302, 303, 307, 308)
FAILOVER_ERRORS: Final = (
    errors.Unreachable,
    errors.StandbyError,
    errors.RetriableError,
    errors.CallTimeout,
)
NO_HEADERS: Final[Mapping[str, str]] = {}
_UNAUTHORIZED: Final = 401
_BASIC: Final = "basic"
_BEARER: Final = "bearer"
_REFUSALS: Final = (_UNAUTHORIZED, 403)
_MEETING: Final = RestRequest("GET", "GETHOMEDIRECTORY", "/")
_BODY: Final = {
    "Content-Type": "application/octet-stream",
    "Transfer-Encoding": "chunked",
    "Expect": "100-continue",
}


class RestCalls:
    """Makes calls to one namespace as one user. Thread-safe and fork-safe."""

    def __init__(
        self,
        namenodes: Mapping[str, Place],
        connections: Connections,
        policy: FailoverPolicy,
        user: str,
        headers: Mapping[str, str],
        *,
        authentication: HttpAuthentication | None = None,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """`namenodes` by their names; `headers` go with each request. Without an
        `authentication` the user's name is all that is said."""
        self.connections = connections
        self.headers = headers
        self._namenodes = namenodes
        self._policy = policy
        self._user = user
        self._authentication = authentication
        self._logins: NetrcLogins | BearerLogins | None = None
        """Where a server has asked for a name and a password."""
        self._sleep = sleep
        self._draw = draw
        self._names = tuple(namenodes)
        self._current = self._names[0]

    @property
    def user(self) -> str:
        return self._user

    @property
    def has_several(self) -> bool:
        """Whether there are several namenodes, of which one is active."""
        return len(self._namenodes) > 1

    @property
    def address(self) -> Address:
        place = self._namenodes[self._current]
        return place.host, place.port

    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Raises what the namenode answers; UnsupportedOperation for what WebHDFS lacks."""
        try:
            answer = response(method, loaded(self.send(make_request(method, request))))
        except errors.PathNotFound:
            absent = ABSENT.get(method)
            if absent is None:
                raise
            answer = absent()
        # The message that its bytes would be read as.
        return cast("M", answer)

    def send(self, request: RestRequest) -> bytes:
        """Send a request, and return the body of the answer."""
        return self._at_active(request, lambda exchange, _: exchange.body(MAX_ANSWER_BYTES))

    def followed(self, request: RestRequest) -> Exchange:
        """Send a request, follow the namenode's redirection if there is one, and return the answer
        with its body unread. The caller closes it."""

        def where(exchange: Exchange, head: Head) -> Exchange | tuple[Place, str]:
            if head.status not in REDIRECTIONS:
                return exchange
            return redirection(head, exchange.place)

        destination = self._at_active(request, where)
        if isinstance(destination, Exchange):
            return destination
        place, target = destination
        proof = self._proof_at(place)
        there = self.connections.exchange(place)
        try:
            head = self._sent(there, request.method, target, proof)
            if head.status >= 300:
                raise _error(there, head, request)
        except BaseException:
            there.close()
            raise
        return there

    def writing(self, request: RestRequest) -> Exchange:
        """Begin a request at the datanode that the namenode redirects to, which then waits for the
        body: the file is open. The caller sends the body, ends the request and closes it.

        If no connection to a datanode can be made, the namenode is told its name, and redirects
        to another one if it has any.
        """

        def where(exchange: Exchange, head: Head) -> tuple[Place, str]:
            if head.status not in REDIRECTIONS:
                raise errors.ProtocolViolation(
                    f"{exchange.place} sends {request.operation} nowhere "
                    f"(HTTP status {head.status})"
                )
            return redirection(head, exchange.place)

        place, target = self._at_active(request, where)
        try:
            there = self.connections.exchange(place, fresh=True)
        except BrokenOff as error:
            log.info("%s of %s again, but not at %s", request.operation, request.path, place)
            query = (*request.query, ("excludedatanodes", place.host))
            try:
                place, target = self._at_active(replace(request, query=query), where)
            except errors.RemoteError:
                # There is no other one.
                raise error from None
            there = self.connections.exchange(place, fresh=True)
        try:
            proof = self._proof_at(place)
            there.begin(request.method, target, {**self.headers, **proof, **_BODY})
            refusal = there.refused()
            if refusal is not None:
                raise _error(there, refusal, request)
        except BaseException:
            there.close()
            raise
        return there

    def _proof_at(self, place: Place) -> Mapping[str, str]:
        """What a redirected request has to have. A datanode gets it in the address; HttpFS
        redirects to itself, and wants the same as before."""
        if self._authentication is None or place not in self._namenodes.values():
            return NO_HEADERS
        return self._authentication.proof((place.host, place.port)).headers

    def _at_active(self, request: RestRequest, act: Callable[[Exchange, Head], T]) -> T:
        """Return the result of `act` for an answer of the active namenode that is no error. Close
        the exchange, unless `act` returns it."""
        attempts = Attempts(self._policy, self._names)
        while True:
            name = self._current
            try:
                return self._at(self._namenodes[name], request, act)
            except FAILOVER_ERRORS as error:
                step = attempts.failed(name, error, self._draw())
                if step is None or (len(self._names) == 1 and step.elsewhere):
                    raise
                if step.elsewhere:
                    self._switch_namenode(name)
                again = f"namenode {self._current}" if step.elsewhere else "again"
                say_again(
                    request.operation, f"{error}; trying {again}", step.pause_s, attempts.pauses
                )
                if step.pause_s:
                    self._sleep(step.pause_s)

    def _switch_namenode(self, name: str) -> None:
        """Go on with the next one, unless another thread has left it already."""
        if self._current == name:
            place = self._names.index(name)
            self._current = self._names[(place + 1) % len(self._names)]

    def _at(self, place: Place, request: RestRequest, act: Callable[[Exchange, Head], T]) -> T:
        exchange = self.connections.exchange(place)
        result: T | None = None
        try:
            exchange, head = self._proven(exchange, request)
            if head.status >= 400:
                raise _error(exchange, head, request)
            result = act(exchange, head)
            return result
        except (errors.Unreachable, errors.CallTimeout) as error:
            if request.is_repeatable:
                raise
            raise AnswerLost(
                f"nobody knows whether {request.operation} of {request.path} was done: {error}"
            ) from error
        finally:
            if result is not exchange:
                exchange.close()

    def _proven(self, exchange: Exchange, request: RestRequest) -> tuple[Exchange, Head]:
        """The answer to a request, in which both sides have proven themselves if that is asked."""
        authentication = self._authentication
        if authentication is None:
            return self._by_login(exchange, request)
        place = exchange.place
        address = place.host, place.port
        of_token = request.operation in OF_TOKENS
        proof = authentication.proof(address, of_token=of_token)
        if authentication.has_to_be_met(address, proof, changes=request.method != "GET"):
            self._meet(place, authentication, proof)
            proof = authentication.proof(address, of_token=of_token)
        exchange, head = self._answered(exchange, request, None, proof)
        if authentication.is_stale(address, proof, head.status):
            exchange.close()
            proof = authentication.proof(address, of_token=of_token)
            exchange = self.connections.exchange(place)
            exchange, head = self._answered(exchange, request, None, proof)
        # Not even an error is believed unproven ("there is no such file"), but those that say who
        # may, and that the server cannot answer now.
        # HttpFS cancels a token without having looked at a ticket.
        is_silent = request.operation == "CANCELDELEGATIONTOKEN" and (
            "www-authenticate" not in head.headers
        )
        says_nothing = head.status in _REFUSALS or head.status >= 500
        if not says_nothing and not is_silent:
            authentication.check(address, proof, head.headers)
        return exchange, head

    def _by_login(self, exchange: Exchange, request: RestRequest) -> tuple[Exchange, Head]:
        """The answer to a request of who has no tickets and no tokens: by name, or by name and
        password where the server asks for one."""
        place = exchange.place
        proof = None if self._logins is None else self._logins.proof(place)
        exchange, head = self._answered(exchange, request, self._user, proof)
        challenge = head.headers.get("www-authenticate", "")
        if head.status != _UNAUTHORIZED or not challenge:
            return exchange, head
        scheme = challenge.lower().partition(" ")[0]
        if scheme not in (_BASIC, _BEARER):
            from howdah.security.http import refusal_without_proof

            raise refusal_without_proof(str(place))
        if self._logins is not None and proof is not None:
            said = exchange.body(MAX_ERROR_BYTES).decode("utf-8", "replace").partition("\n")[0]
            raise errors.AuthenticationFailed(f"{place} does not take {self._logins.shown}: {said}")
        from howdah.security.bearer_logins import BearerLogins
        from howdah.security.netrc_logins import NetrcLogins

        exchange.close()
        self._logins = NetrcLogins() if scheme == _BASIC else BearerLogins()
        return self._by_login(self.connections.exchange(place), request)

    def _meet(self, place: Place, authentication: HttpAuthentication, proof: Proof) -> None:
        """Ask a server for something that changes nothing, to see who it is. Raises
        AuthenticationFailed."""
        exchange, head = self._answered(self.connections.exchange(place), _MEETING, None, proof)
        try:
            exchange.body(MAX_ERROR_BYTES)
            authentication.meet((place.host, place.port), proof, head.status, head.headers)
        finally:
            exchange.close()

    def _answered(
        self,
        exchange: Exchange,
        request: RestRequest,
        user: str | None,
        proof: Proof | None,
    ) -> tuple[Exchange, Head]:
        target = request.target(user, None if proof is None else proof.parameters)
        extra = {} if proof is None else proof.headers
        try:
            return exchange, self._sent(exchange, request.method, target, extra)
        except errors.Unreachable:
            exchange.close()
            # What was kept may have ended just now, and had no time to be heard.
            if not exchange.was_kept or exchange.is_answered or not request.is_repeatable:
                raise
        again = self.connections.exchange(exchange.place, fresh=True)
        try:
            return again, self._sent(again, request.method, target, extra)
        except BaseException:
            again.close()
            raise

    def _sent(
        self, exchange: Exchange, method: str, target: str, extra: Mapping[str, str] = NO_HEADERS
    ) -> Head:
        """Send a request without a body; the head of its answer."""
        headers = {**self.headers, **extra}
        if method in ("PUT", "POST"):
            headers["Content-Length"] = "0"
        exchange.begin(method, target, headers)
        exchange.end()
        return exchange.head()

    def close(self) -> None:
        self.connections.close()


def _error(exchange: Exchange, head: Head, request: RestRequest) -> errors.HowdahError:
    """Return the exception for an answer."""
    body = exchange.body(MAX_ERROR_BYTES)
    return remote_error(head.status, body, f"{request.operation} {request.path}").about(
        request.path
    )
