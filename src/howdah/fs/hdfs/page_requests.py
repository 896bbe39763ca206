"""Requests to the pages of servers, as a user (shell): fsck, images, figures.

On a secured cluster the user proves himself by SPNEGO, and no name is sent: the ticket says it.
Tokens open WebHDFS alone, so a process that has nothing else is refused here. Without security, and
where the client has fallen back to none, a page is told the name, where it wants one.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from howdah.config import Configuration
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.users.names import ProvenUser, real_user_of

if TYPE_CHECKING:
    from howdah.security.http import HttpAuthentication, Proof

_UNAUTHORIZED: Final = 401
_CHALLENGE: Final = "WWW-Authenticate"

Pairs = tuple[tuple[str, str], ...]


class PageRequests:
    """Of one user. Thread-safe."""

    def __init__(self, conf: Configuration, user: str) -> None:
        self._user = user
        self._tls = ClientTls(conf)
        self._authentication = _authentication_of(user)

    @property
    def names(self) -> Pairs:
        """What a page that asks for a name is told: `ugi`, and for whom that one acts."""
        if self._authentication is not None:
            return ()
        real_user = real_user_of(self._user)
        if real_user is None:
            return (("ugi", self._user),)
        return (("ugi", real_user), ("doas", self._user))

    @contextmanager
    def get(
        self,
        place: Place,
        target: str,
        *,
        connect_timeout_s: float | None,
        read_timeout_s: float | None,
        is_open: bool = False,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer of a server, whatever its status. Time-outs are for one wait.

        A page that `is_open` on some clusters is asked without a proof first. Raises
        AuthenticationFailed for a server that wants a proof and gets none, or gives none itself,
        LoginFailed where there is no ticket, and what `http.client` raises.
        """
        proof = None if is_open else self._proof(place)
        while True:
            connection = self._tls.http(place, connect_timeout_s)
            try:
                connection.connect()
                connection.sock.settimeout(read_timeout_s)
                headers = {} if proof is None else dict(proof.headers)
                connection.request("GET", _with_parameters(target, proof), headers=headers)
                answer = connection.getresponse()
                if self._wants_another(place, proof, answer):
                    proof = self._proof(place)
                    continue
                self._check(place, proof, answer)
                yield answer
                return
            finally:
                connection.close()

    def _proof(self, place: Place) -> Proof | None:
        if self._authentication is None:
            return None
        return self._authentication.proof_by_ticket((place.host, place.port))

    def _wants_another(
        self, place: Place, proof: Proof | None, answer: http.client.HTTPResponse
    ) -> bool:
        """Whether a further request may do what this one did not."""
        authentication = self._authentication
        if answer.status != _UNAUTHORIZED or authentication is None:
            return False
        return proof is None or authentication.is_stale(
            (place.host, place.port), proof, answer.status
        )

    def _check(self, place: Place, proof: Proof | None, answer: http.client.HTTPResponse) -> None:
        challenge = answer.getheader(_CHALLENGE, "")
        if answer.status == _UNAUTHORIZED and challenge.lower().startswith("negotiate"):
            from howdah.security.http import refusal_of_ticket, refusal_without_proof

            where = str(place)
            raise refusal_without_proof(where) if proof is None else refusal_of_ticket(where)
        if proof is not None and self._authentication is not None and answer.status < 400:
            headers = {name.lower(): value for name, value in answer.getheaders()}
            self._authentication.check((place.host, place.port), proof, headers)


def _with_parameters(target: str, proof: Proof | None) -> str:
    if proof is None or not proof.parameters:
        return target
    from urllib.parse import urlencode

    return f"{target}{'&' if '?' in target else '?'}{urlencode(proof.parameters)}"


def _authentication_of(user: str) -> HttpAuthentication | None:
    if not isinstance(user, ProvenUser):
        return None
    from howdah.security.http import HttpAuthentication
    from howdah.security.users import SecuredUser

    if not isinstance(user, SecuredUser) or not user.settings.is_enabled:
        return None
    if user.has_fallen_back:
        return None  # Its namenodes ask for no proof, and give none.
    return HttpAuthentication(user, None)
