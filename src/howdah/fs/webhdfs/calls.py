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
from typing import Final, TypeVar, cast

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
from howdah.web.webhdfs.requests import RestRequest, make_request

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
_BODY: Final = {
    "Content-Type": "application/octet-stream",
    "Transfer-Encoding": "chunked",
    "Expect": "100-continue",
}


class RestCalls:
    """One namespace, as one user. Thread-safe and fork-safe."""

    def __init__(
        self,
        namenodes: Mapping[str, Place],
        connections: Connections,
        policy: FailoverPolicy,
        user: str,
        headers: Mapping[str, str],
        *,
        sleep: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """`namenodes` by their names; `headers` go with each request."""
        self.connections = connections
        self.headers = headers
        self._namenodes = namenodes
        self._policy = policy
        self._user = user
        self._sleep = sleep
        self._draw = draw
        self._names = tuple(namenodes)
        self._current = self._names[0]

    @property
    def user(self) -> str:
        return self._user

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

    def send(self, what: RestRequest) -> bytes:
        """The body of the answer."""
        return self._at_active(what, lambda exchange, _: exchange.body(MAX_ANSWER_BYTES))

    def followed(self, what: RestRequest) -> Exchange:
        """The answer of whoever the namenode sends to, which may be itself, with its body to be
        read; the caller closes it."""

        def where(exchange: Exchange, head: Head) -> Exchange | tuple[Place, str]:
            if head.status not in REDIRECTIONS:
                return exchange
            return redirection(head, exchange.place)

        found = self._at_active(what, where)
        if isinstance(found, Exchange):
            return found
        place, target = found
        there = self.connections.exchange(place)
        try:
            head = self._sent(there, what.method, target)
            if head.status >= 300:
                raise _error(there, head, what)
        except BaseException:
            there.close()
            raise
        return there

    def writing(self, what: RestRequest) -> Exchange:
        """A request to whoever the namenode sends to, for the body of which that waits: the file
        is open. The caller sends it, ends the request and closes it.

        A datanode to which there is no connection is named to the namenode, which sends to
        another one if it has any.
        """

        def where(exchange: Exchange, head: Head) -> tuple[Place, str]:
            if head.status not in REDIRECTIONS:
                raise errors.ProtocolViolation(
                    f"{exchange.place} sends {what.operation} nowhere (HTTP status {head.status})"
                )
            return redirection(head, exchange.place)

        place, target = self._at_active(what, where)
        try:
            there = self.connections.exchange(place, fresh=True)
        except BrokenOff as error:
            log.info("%s of %s again, but not at %s", what.operation, what.path, place)
            query = (*what.query, ("excludedatanodes", place.host))
            try:
                place, target = self._at_active(replace(what, query=query), where)
            except errors.RemoteError:
                # There is no other one.
                raise error from None
            there = self.connections.exchange(place, fresh=True)
        try:
            there.begin(what.method, target, {**self.headers, **_BODY})
            refusal = there.refused()
            if refusal is not None:
                raise _error(there, refusal, what)
        except BaseException:
            there.close()
            raise
        return there

    def _at_active(self, what: RestRequest, act: Callable[[Exchange, Head], T]) -> T:
        """What `act` makes of the answer of the active namenode, which is no error. The exchange
        is closed then, unless that is what `act` returns."""
        attempts = Attempts(self._policy, self._names)
        while True:
            name = self._current
            try:
                return self._at(self._namenodes[name], what, act)
            except FAILOVER_ERRORS as error:
                step = attempts.failed(name, error, self._draw())
                if step is None or (len(self._names) == 1 and step.elsewhere):
                    raise
                if step.elsewhere:
                    self._switch_namenode(name)
                again = f"namenode {self._current}" if step.elsewhere else "again"
                say_again(what.operation, f"{error}; trying {again}", step.pause_s, attempts.pauses)
                if step.pause_s:
                    self._sleep(step.pause_s)

    def _switch_namenode(self, name: str) -> None:
        """Go on with the next one, unless another thread has left it already."""
        if self._current == name:
            place = self._names.index(name)
            self._current = self._names[(place + 1) % len(self._names)]

    def _at(self, place: Place, what: RestRequest, act: Callable[[Exchange, Head], T]) -> T:
        exchange = self.connections.exchange(place)
        found: T | None = None
        try:
            exchange, head = self._answered(exchange, what)
            if head.status >= 400:
                raise _error(exchange, head, what)
            found = act(exchange, head)
            return found
        except (errors.Unreachable, errors.CallTimeout) as error:
            if what.is_repeatable:
                raise
            raise AnswerLost(
                f"nobody knows whether {what.operation} of {what.path} was done: {error}"
            ) from error
        finally:
            if found is not exchange:
                exchange.close()

    def _answered(self, exchange: Exchange, what: RestRequest) -> tuple[Exchange, Head]:
        target = what.target(self._user)
        try:
            return exchange, self._sent(exchange, what.method, target)
        except errors.Unreachable:
            exchange.close()
            # What was kept may have ended just now, and had no time to be heard.
            if not exchange.was_kept or exchange.is_answered or not what.is_repeatable:
                raise
        again = self.connections.exchange(exchange.place, fresh=True)
        try:
            return again, self._sent(again, what.method, target)
        except BaseException:
            again.close()
            raise

    def _sent(self, exchange: Exchange, method: str, target: str) -> Head:
        """Send a request without a body; the head of its answer."""
        headers = dict(self.headers)
        if method in ("PUT", "POST"):
            headers["Content-Length"] = "0"
        exchange.begin(method, target, headers)
        exchange.end()
        return exchange.head()

    def close(self) -> None:
        self.connections.close()


def _error(exchange: Exchange, head: Head, what: RestRequest) -> errors.HowdahError:
    """The exception that an answer stands for."""
    body = exchange.body(MAX_ERROR_BYTES)
    return remote_error(head.status, body, f"{what.operation} {what.path}").about(what.path)
