"""Requests to the pages of servers, as a user (shell): fsck, images, figures.

On a secured cluster the user proves himself by SPNEGO, and no name is sent: the ticket says it.
Tokens open WebHDFS alone, so a process that has nothing else is refused here. Without security, and
where the client has fallen back to none, a page is told the name, where it wants one. Where users
log in without Kerberos, commands show the name and password of `.netrc`.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

from howdah.config import Configuration
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.users.names import real_user_of
from howdah.security.page_proofs import PageProofs
from howdah.security.server_checks import has_logins

Pairs = tuple[tuple[str, str], ...]


class PageRequests:
    """Of one user. Thread-safe."""

    def __init__(self, conf: Configuration, user: str) -> None:
        self._user = user
        self._tls = ClientTls(conf)
        self._proofs = PageProofs(user, logs_in=has_logins(conf))

    @property
    def names(self) -> Pairs:
        """What a page that asks for a name is told: `ugi`, and for whom that one acts."""
        if self._proofs.are_needed:
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

        A page that `is_open` on some clusters is asked without a proof first. Raises as
        `PageProofs.asked`.
        """

        def connect() -> http.client.HTTPConnection:
            connection = self._tls.http(place, connect_timeout_s)
            connection.connect()
            connection.sock.settimeout(read_timeout_s)
            return connection

        with self._proofs.asked(place, connect, "GET", target, is_open=is_open) as answer:
            yield answer
