"""The access token by which commands ask web pages where users log in by OpenID Connect (shell:
reads a file).

Whoever gets tokens from the provider writes the newest one into a file: it is read for each
request. A token goes over TLS, or to this machine itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.runtime.local_addresses import is_this_host
from howdah.runtime.tls.http_policy import Place
from howdah.security.netrc_logins import NetrcLogins

if TYPE_CHECKING:
    from howdah.security.http import Proof

SCHEME: Final = "bearer"
VARIABLE: Final = "HOWDAH_BEARER_TOKEN_FILE"
_MOST_BYTES: Final = 16 * 1024


class BearerLogins:
    """Of this process's user."""

    shown: Final = "this access token"
    """What a server does not take."""

    def proof(self, place: Place) -> Proof:
        """What a request to a server shows. Raises LoginFailed."""
        from howdah.security.http import Proof

        if not place.is_secure and not is_this_host(place.host):
            raise errors.LoginFailed(
                f"{place} asks for an access token, and is not encrypted: none is sent there"
            )
        named = os.environ.get(VARIABLE)
        if not named:
            raise errors.LoginFailed(
                f"{place} asks for an access token of its provider of OpenID Connect: write it "
                f"into a file (chmod 600), and name that in {VARIABLE}"
            )
        path = Path(named).expanduser()
        try:
            with path.open("rb") as file:
                token = file.read(_MOST_BYTES + 1).strip()
        except OSError as error:
            raise errors.LoginFailed(
                f"{path} ({VARIABLE}) cannot be read: {error.strerror}"
            ) from None
        if not token or len(token) > _MOST_BYTES or not all(0x21 <= byte < 0x7F for byte in token):
            raise errors.LoginFailed(f"{path} ({VARIABLE}) has no access token")
        return Proof((), {"Authorization": f"Bearer {token.decode()}"})


def logins_of_user() -> NetrcLogins | BearerLogins:
    """Return what this process's user shows: a token where a file of one is named, and else a name
    and a password."""
    return BearerLogins() if os.environ.get(VARIABLE) else NetrcLogins()
