"""A client's side of TLS: whom it believes, and who it says it is (shell).

`hadoop.ssl.hostname.verifier` says how the name of a server is held against its certificate.
OpenSSL's check is that of RFC 2818 and 6125, where `*` stands for one label; STRICT and
STRICT_IE6 of Hadoop are the same, and DEFAULT, with which it may stand for several, is taken as
strictly here.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.runtime.tls.contexts import Kept, client_context, paths_of
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.tls.stores import client_stores

_LOCALHOST: Final = ("localhost", "localhost.localdomain", "127.0.0.1", "::1")


class NotTrusted(errors.HowdahError, OSError):
    """A server's certificate is not believed, or is another one's."""

    java_class = "javax.net.ssl.SSLHandshakeException"


class ClientTls:
    """Of one configuration; its files are read when a connection is made first. Thread-safe,
    and fork-safe."""

    def __init__(self, conf: Configuration) -> None:
        self._conf = conf
        self._verifier = conf.get(keys.HADOOP_SSL_HOSTNAME_VERIFIER)
        self._contexts: Kept[tuple[ssl.SSLContext, ssl.SSLContext]] | None = None

    def context(self, host: str) -> ssl.SSLContext:
        """For a connection to a host. Raises InvalidConfiguration."""
        if self._contexts is None:
            stores = client_stores(self._conf)

            def make() -> tuple[ssl.SSLContext, ssl.SSLContext]:
                checked, unchecked = client_context(stores), client_context(stores)
                unchecked.check_hostname = False
                return checked, unchecked

            # Several threads may make one each: any of them will do.
            self._contexts = Kept(make, paths_of(stores), stores.reload_s)
        checked, unchecked = self._contexts.get()
        passes = self._verifier == "ALLOW_ALL" or (
            self._verifier == "DEFAULT_AND_LOCALHOST" and host in _LOCALHOST
        )
        return unchecked if passes else checked

    def wrap(self, connection: socket.socket, place: Place) -> ssl.SSLSocket:
        """The connection over TLS, after its handshake, for which the socket's time-out counts.
        Raises NotTrusted, InvalidConfiguration, and other OSErrors than NotTrusted."""
        try:
            return self.context(place.host).wrap_socket(connection, server_hostname=place.host)
        except ssl.SSLCertVerificationError as error:
            raise NotTrusted(
                f"the certificate of {place} is not believed: {error.verify_message}"
            ) from error
        except ssl.SSLError as error:
            raise ConnectionError(f"{place}: no TLS connection: {tls_error_text(error)}") from error

    def http(self, place: Place, timeout_s: float | None) -> http.client.HTTPConnection:
        """A connection for HTTP to a place, not made yet. Making it raises OSError, NotTrusted
        among them. Raises InvalidConfiguration."""
        if not place.is_secure:
            return http.client.HTTPConnection(place.host, place.port, timeout=timeout_s)
        return _Secure(self, place, timeout_s)


class _Secure(http.client.HTTPConnection):
    def __init__(self, tls: ClientTls, place: Place, timeout_s: float | None) -> None:
        super().__init__(place.host, place.port, timeout=timeout_s)
        self._tls = tls
        self._place = place

    def connect(self) -> None:
        super().connect()
        try:
            self.sock = self._tls.wrap(self.sock, self._place)
        except BaseException:
            self.close()
            raise


def tls_error_text(error: ssl.SSLError) -> str:
    """What OpenSSL says, in words."""
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "the other side does not speak TLS (is this its port for plain HTTP?)"
    return (error.reason or str(error)).replace("_", " ").lower()
