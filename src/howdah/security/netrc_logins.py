"""The names and passwords by which commands ask web pages where users log in (shell: reads a file).

They are those of `.netrc` (or of the file in `NETRC`), as curl's and others'. A password goes over
TLS, or to this machine itself.
"""

from __future__ import annotations

import netrc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.protocol.web_authentication import basic
from howdah.runtime.local_addresses import is_this_host
from howdah.runtime.tls.http_policy import Place

if TYPE_CHECKING:
    from howdah.security.http import Proof

_VARIABLE: Final = "NETRC"


class NetrcLogins:
    """Of this process's user."""

    shown: Final = "this name and password"
    """What a server does not take."""

    def proof(self, place: Place) -> Proof:
        """What a request to a server shows. Raises LoginFailed."""
        from howdah.security.http import Proof

        if not place.is_secure and not is_this_host(place.host):
            raise errors.LoginFailed(
                f"{place} asks for a password, and is not encrypted: no password is sent there"
            )
        path = Path(os.environ.get(_VARIABLE) or "~/.netrc").expanduser()
        try:
            # The file of the user is looked at for its rights, as by curl.
            named = os.environ.get(_VARIABLE)
            found = netrc.netrc(named).authenticators(place.host)
        except FileNotFoundError:
            found = None
        except (OSError, netrc.NetrcParseError) as error:
            raise errors.LoginFailed(f"{path} cannot be read: {error}") from None
        if found is None:
            raise errors.LoginFailed(
                f"{place} asks for a name and a password, and {path} has none for it: add a line "
                f"'machine {place.host} login NAME password PASSWORD', and chmod 600"
            )
        user, _, password = found
        return Proof((), {"Authorization": basic.header_of(user, password)})
