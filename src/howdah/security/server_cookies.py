"""How servers prove themselves at each other's web ports where users log in (shell: reads a file,
the clock).

They fetch images, segments and figures from each other, and have no passwords. Whoever knows the
secret that cookies are signed by can sign one that says so: a cookie of a kind of its own, for
minutes, which opens what is for servers and pages that everybody may see, and nothing of a user's.
The secret has to be the same on all of them (`hadoop.http.authentication.signature.secret.file`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.protocol.web_authentication.signed_cookie import NAME, CookieSigner, SignedIdentity
from howdah.runtime.users.current import process_user
from howdah.runtime.users.names import ProvenUser
from howdah.security.server_checks import has_logins
from howdah.security.web_settings import cookie_rules

if TYPE_CHECKING:
    from howdah.security.http import Proof

KIND: Final = "server"
NOBODY: Final = "howdah/server"
"""As whom a server comes: no user has such a name, and none of its rights."""
_VALIDITY_MS: Final = 5 * 60 * 1000
"""As much as clocks may differ, and requests take."""


class SigningServer(ProvenUser):
    """The user of a server's process, who is believed over RPC, and signs over HTTP."""

    __slots__ = ("signer",)

    signer: CookieSigner

    def __new__(cls, user: str, signer: CookieSigner) -> SigningServer:
        made = super().__new__(cls, user)
        made.signer = signer
        return made

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("the secret of a server goes to no other process")

    def proves_itself_at(self, address: tuple[str, int]) -> bool:
        return False


class ServerCookies:
    """What `howdah.security.page_proofs` shows for a server."""

    signs: Final = True
    """Each proof is made by the secret of the cluster, and tells nothing of it."""

    def __init__(self, signer: CookieSigner) -> None:
        self._signer = signer

    def proof_by_ticket(self, address: tuple[str, int]) -> Proof:
        from howdah.security.http import Proof

        ends_ms = time.time_ns() // 1_000_000 + _VALIDITY_MS
        text = self._signer.sign(SignedIdentity(NOBODY, NOBODY, KIND, ends_ms))
        return Proof((), {"Cookie": f'{NAME}="{text}"'})

    def forget(self, address: tuple[str, int]) -> None:
        """There is nothing to forget."""

    def is_stale(self, address: tuple[str, int], proof: Proof, status: int) -> bool:
        return False

    def may_lack_proof(self, proof: Proof, headers: Mapping[str, str]) -> bool:
        return False

    def check(self, address: tuple[str, int], proof: Proof, headers: object) -> None:
        """The server that answers proves itself by TLS, where there is that."""


def signing_caller(conf: Configuration) -> SigningServer | None:
    """As whom a server calls others where users log in; None elsewhere.

    Raises InvalidConfiguration.
    """
    if not has_logins(conf):
        return None
    signer, _, _ = cookie_rules(conf)
    return SigningServer(process_user(), signer)


def check_secret_shared(conf: Configuration) -> None:
    """Raises InvalidConfiguration where servers that fetch from each other would each sign by a
    secret of its own."""
    key = keys.HADOOP_HTTP_AUTHENTICATION_SIGNATURE_SECRET_FILE
    if has_logins(conf) and not conf.is_set(key) and not Path(conf.get(key)).exists():
        raise errors.InvalidConfiguration(
            f"{key.name} is not set: with {keys.HOWDAH_HTTP_AUTHENTICATION.name} = "
            f"{conf.get(keys.HOWDAH_HTTP_AUTHENTICATION)} servers that fetch images and segments "
            "from each other prove themselves by that secret, the same file on all of them"
        )
