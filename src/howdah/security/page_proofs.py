"""What requests to the pages of servers are proven by, one after the other (shell).

The side of who asks: commands, and servers that fetch images and segments from each other. The
first request to a server shows a ticket, and later ones the cookie that came for it. A server that
shows no proof of its own is refused.

    proofs = PageProofs(user)
    proof = proofs.proof(place)                        its headers and parameters go along
    while proofs.wants_another(place, proof, status):  the cookie has ended: ask once more
        proof = proofs.proof(place)
    proofs.check(place, proof, status, headers)

Users without Kerberos prove nothing, and nothing of Kerberos is loaded for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from howdah.runtime.tls.http_policy import Place
from howdah.runtime.users.names import ProvenUser

if TYPE_CHECKING:
    from howdah.security.http import HttpAuthentication, Proof

_UNAUTHORIZED: Final = 401
_CHALLENGE: Final = "www-authenticate"


class PageProofs:
    """Of one user. Thread-safe."""

    def __init__(self, user: str | None) -> None:
        self._authentication = _authentication_of(user)

    @property
    def are_needed(self) -> bool:
        """Whether the user proves himself, and is not just named."""
        return self._authentication is not None

    def proof(self, place: Place, *, fresh: bool = False) -> Proof | None:
        """What goes with a request; a ticket rather than a cookie if it is to be `fresh`, as for
        what cannot be sent twice. Raises LoginFailed."""
        if self._authentication is None:
            return None
        address = place.host, place.port
        if fresh:
            self._authentication.forget(address)
        return self._authentication.proof_by_ticket(address)

    def wants_another(self, place: Place, proof: Proof | None, status: int) -> bool:
        """Whether a further request may do what this one did not."""
        authentication = self._authentication
        if status != _UNAUTHORIZED or authentication is None:
            return False
        return proof is None or authentication.is_stale((place.host, place.port), proof, status)

    def check(
        self, place: Place, proof: Proof | None, status: int, headers: Mapping[str, str]
    ) -> None:
        """Look at an answer; names of headers may be in any case.

        Raises AuthenticationFailed for a server that wants a proof and got none that it takes, or
        gives none itself.
        """
        if proof is None and status != _UNAUTHORIZED:
            return
        lower = {name.lower(): value for name, value in headers.items()}
        if status == _UNAUTHORIZED and lower.get(_CHALLENGE, "").lower().startswith("negotiate"):
            from howdah.security.http import refusal_of_ticket, refusal_without_proof

            where = str(place)
            raise refusal_without_proof(where) if proof is None else refusal_of_ticket(where)
        if proof is not None and self._authentication is not None and status < 400:
            self._authentication.check((place.host, place.port), proof, lower)


def with_parameters(target: str, proof: Proof | None) -> str:
    """Return a target with what a proof adds to it."""
    if proof is None or not proof.parameters:
        return target
    return f"{target}{'&' if '?' in target else '?'}{urlencode(proof.parameters)}"


def headers_of(proof: Proof | None) -> dict[str, str]:
    """Return the headers of a proof."""
    return {} if proof is None else dict(proof.headers)


def _authentication_of(user: str | None) -> HttpAuthentication | None:
    if not isinstance(user, ProvenUser):
        return None
    from howdah.security.http import HttpAuthentication
    from howdah.security.users import SecuredUser

    if not isinstance(user, SecuredUser) or not user.settings.is_enabled:
        return None
    if user.has_fallen_back:
        return None  # Its namenodes ask for no proof, and give none.
    return HttpAuthentication(user, None)
