"""Who a client has proven to be (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from howdah.runtime.users.names import PROXY

SIMPLE: Final = "SIMPLE"
TOKEN: Final = "TOKEN"
KERBEROS: Final = "KERBEROS"
PASSWORD: Final = "PASSWORD"
"""By a name and a password, over HTTP alone. Hadoop has no such proof."""
OPENID: Final = "OPENID"
"""By a provider of OpenID Connect, over HTTP alone."""
SERVER: Final = "SERVER"
"""By the secret that servers share at whose web ports users log in."""
LOGINS: Final = frozenset({PASSWORD, OPENID})
"""Proofs of people at web ports of clusters without Kerberos."""


@dataclass(frozen=True, slots=True)
class Proven:
    """Who a connection is of, as it was proven."""

    method: str
    user: str
    """By the short name: whom the server knows."""
    full_name: str
    """The principal: what the client may call itself."""
    real_user: str | None = None
    """Who acts for the user, by a token that he got for that."""
    real_full_name: str | None = None
    """The same by his principal."""
    identifier: bytes = field(default=b"", repr=False)
    """Of the token that was shown, where that says more than who it is of."""

    def display_name(self, user: str, real_user: str | None) -> str:
        """The user of a call as Hadoop's UserGroupInformation shows him; `real_user` acts for him,
        if somebody does."""
        if real_user is None:
            return f"{self.full_name} (auth:{self.method})"
        who, real = self.acting(user, real_user)
        return f"{who} (auth:{PROXY}) via {real} (auth:{self.method})"

    def acting(self, user: str, real_user: str | None) -> tuple[str, str]:
        """The full names of a call's user and of who acts for him; that is empty where nobody
        does."""
        if real_user is None:
            return self.full_name, ""
        if self.real_user is not None:
            return self.full_name, self.real_full_name or self.real_user
        return user, self.full_name
