"""What requests to the pages of servers are proven by, one after the other (shell).

The side of who asks: commands, and servers that fetch images and segments from each other. The
first request to a server shows a ticket, and later ones the cookie that came for it, if cookies are
kept. A server that shows no proof of its own for a ticket is refused, whatever it answers; for a
cookie it shows none. Servers therefore keep no cookies: what they fetch, they live by.

    with PageProofs(user).asked(place, connect, "GET", "/fsck") as answer:
        ...

What must not be sent to a stranger, or cannot be sent twice, is sent after `meet`.

Users without Kerberos prove nothing, and nothing of Kerberos is loaded for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from howdah import errors
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.users.names import ProvenUser

if TYPE_CHECKING:
    from howdah.security.bearer_logins import BearerLogins
    from howdah.security.http import HttpAuthentication, Proof
    from howdah.security.netrc_logins import NetrcLogins
    from howdah.security.server_cookies import ServerCookies

log = logging.getLogger(__name__)

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_REFUSALS: Final = (_UNAUTHORIZED, _FORBIDDEN)
"""What a server answers who does not know yet, or does not like, who asks: it proves nothing."""
_CHALLENGE: Final = "www-authenticate"
_REHEARSAL: Final = "OPTIONS"
_NO_HEADERS: Final[Mapping[str, str]] = {}
_MOST_BYTES: Final = 64 * 1024
"""Of an answer that nobody reads."""


class PageProofs:
    """Of one user. Thread-safe."""

    def __init__(
        self, user: str | None, *, keeps_cookies: bool = True, logs_in: bool = False
    ) -> None:
        """Without cookies each request shows a ticket, and each answer proves the server. Whoever
        `logs_in` has a name and a password, or an access token, where there are no tickets."""
        self._user = user
        self._proving = _authentication_of(user)
        self._logins: NetrcLogins | BearerLogins | None = None
        if logs_in and self._authentication is None:
            from howdah.security.bearer_logins import logins_of_user

            self._logins = logins_of_user()
        self._keeps_cookies = keeps_cookies

    @property
    def _authentication(self) -> HttpAuthentication | ServerCookies | None:
        """None as well where the namenodes of the user ask for no proof, and give none. They may
        begin to."""
        has_fallen_back = bool(getattr(self._user, "has_fallen_back", False))
        return None if has_fallen_back else self._proving

    @property
    def are_needed(self) -> bool:
        """Whether the user proves himself, and is not just named."""
        return self._authentication is not None or self._logins is not None

    @property
    def _signs(self) -> bool:
        """Whether a proof costs nothing, and nobody hears a secret by it."""
        return self._authentication is not None and self._authentication.signs

    @contextmanager
    def asked(
        self,
        place: Place,
        connect: Callable[[], HTTPConnection],
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] = _NO_HEADERS,
        is_open: bool = False,
    ) -> Iterator[HTTPResponse]:
        """The answer to a request without a body, whatever its status, with both sides proven. It
        is asked once more where a cookie has ended; `connect` makes a connection for each time.

        A page that `is_open` on some clusters is asked without a proof first, but by servers that
        sign: without a proof they would hear that plain HTTP is not private, and not 401. Raises
        AuthenticationFailed for a server that wants a proof and gets none that it takes, or gives
        none itself, LoginFailed where there is no ticket, and what `http.client` raises.
        """
        proof = None if is_open and not self._signs else self.proof(place)
        while True:
            connection = connect()
            try:
                connection.request(
                    method, with_parameters(target, proof), headers={**headers, **headers_of(proof)}
                )
                answer = connection.getresponse()
                if self.wants_another(place, proof, answer.status):
                    proof = self.proof(place)
                    continue
                self.check(place, proof, answer.status, dict(answer.getheaders()))
                yield answer
                return
            finally:
                connection.close()

    def meet(self, place: Place, connection: HTTPConnection, target: str) -> None:
        """Have a server prove itself, by a request for nothing, as Hadoop's clients do. Nothing is
        asked without Kerberos.

        Raises AuthenticationFailed for a server that proves nothing or takes no proof, LoginFailed,
        and what `http.client` raises.
        """
        if not self.are_needed:
            return
        proof = self.proof(place, fresh=True)
        connection.request(_REHEARSAL, with_parameters(target, proof), headers=headers_of(proof))
        answer = connection.getresponse()
        answer.read(_MOST_BYTES)
        self.check(place, proof, answer.status, dict(answer.getheaders()))
        if answer.status in _REFUSALS:
            raise errors.AuthenticationFailed(
                f"{place} refuses who asks: {answer.status} {answer.reason}"
            )
        if not answer.isclosed():
            connection.close()  # There is more of it. The next request connects anew.

    def proof(self, place: Place, *, fresh: bool = False) -> Proof | None:
        """What goes with a request; a ticket rather than a cookie if it is to be `fresh`. Raises
        LoginFailed."""
        if self._logins is not None:
            return self._logins.proof(place)
        if self._authentication is None:
            return None
        address = place.host, place.port
        if fresh or not self._keeps_cookies:
            self._authentication.forget(address)
        return self._authentication.proof_by_ticket(address)

    def wants_another(self, place: Place, proof: Proof | None, status: int) -> bool:
        """Whether a further request may do what this one did not."""
        authentication = self._authentication
        if self._logins is not None:
            return status == _UNAUTHORIZED and proof is None
        if status != _UNAUTHORIZED or authentication is None:
            return False
        return proof is None or authentication.is_stale((place.host, place.port), proof, status)

    def check(
        self, place: Place, proof: Proof | None, status: int, headers: Mapping[str, str]
    ) -> None:
        """Look at an answer; names of headers may be in any case.

        Raises AuthenticationFailed for a server that wants a proof and got none that it takes, or
        gives none itself: not even an error is believed then, but that this user may not.
        """
        if self._logins is not None and status == _UNAUTHORIZED and proof is not None:
            raise errors.AuthenticationFailed(f"{place} does not take {self._logins.shown}")
        if proof is None and status != _UNAUTHORIZED:
            return
        lower = {name.lower(): value for name, value in headers.items()}
        if status == _UNAUTHORIZED and lower.get(_CHALLENGE, "").lower().startswith("negotiate"):
            from howdah.security.http import refusal_of_ticket, refusal_without_proof

            where = str(place)
            raise refusal_without_proof(where) if proof is None else refusal_of_ticket(where)
        authentication = self._authentication
        if proof is None or authentication is None or status in _REFUSALS:
            return
        if authentication.may_lack_proof(proof, lower):
            log.warning("%s asks for no proof of who a client is, and gives none", place)
            return
        try:
            authentication.check((place.host, place.port), proof, lower)
        except errors.AuthenticationFailed as error:
            if status < 400:
                raise
            raise errors.AuthenticationFailed(
                f"{error.message} (its answer, which is not believed, is an error {status})"
            ) from error


def with_parameters(target: str, proof: Proof | None) -> str:
    """Return a target with what a proof adds to it."""
    if proof is None or not proof.parameters:
        return target
    return f"{target}{'&' if '?' in target else '?'}{urlencode(proof.parameters)}"


def headers_of(proof: Proof | None) -> dict[str, str]:
    """Return the headers of a proof."""
    return {} if proof is None else dict(proof.headers)


def _authentication_of(user: str | None) -> HttpAuthentication | ServerCookies | None:
    if not isinstance(user, ProvenUser):
        return None
    from howdah.security.server_cookies import ServerCookies, SigningServer

    if isinstance(user, SigningServer):
        return ServerCookies(user.signer)
    from howdah.security.http import HttpAuthentication
    from howdah.security.users import SecuredUser

    if not isinstance(user, SecuredUser) or not user.settings.is_enabled:
        return None
    return HttpAuthentication(user, None)
