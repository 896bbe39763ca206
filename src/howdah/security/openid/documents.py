"""What a provider answers over HTTPS, within bounds of time and size (shell: sockets, threads).

An answer is waited for on a thread of its own, for a time that counts for all of it: a name server
that hangs and a byte now and then hold nobody longer. What is too long is not read. Redirects are
not followed, and no proxy is asked.
"""

from __future__ import annotations

import http.client
import json
import logging
import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from howdah import errors
from howdah.protocol.web_authentication.openid.metadata import MalformedDocument
from howdah.runtime.background_threads import NoThread, begin
from howdah.runtime.tls.client import tls_error_text

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 10.0
MOST_BYTES: Final = 512 * 1024
_AT_ONCE: Final = 4
_CHUNK_BYTES: Final = 64 * 1024


class ProviderUnreachable(errors.HowdahError, ConnectionError):
    """A provider gave no answer that can be used, and why."""


class ProviderDocuments:
    """Asks one provider. Thread-safe."""

    def __init__(self, ca_file: Path | None, timeout_s: float = TIMEOUT_S) -> None:
        """Raises InvalidConfiguration for a file that has no certificates."""
        self._timeout_s = timeout_s
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        try:
            self._context = ssl.create_default_context(cafile=None if ca_file is None else ca_file)
        except (ssl.SSLError, OSError) as error:
            raise errors.InvalidConfiguration(f"{ca_file} has no certificates: {error}") from None

    def fetch(self, url: str) -> object:
        """Return the JSON at an address. Raises ProviderUnreachable, MalformedDocument."""
        status, document = self._asked("GET", url, None, {})
        if status != 200:
            raise ProviderUnreachable(f"{url} answers {status}")
        return document

    def post(
        self, url: str, form: str, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, object]]:
        """Send a form; return the status, and the JSON object of the answer. Raises
        ProviderUnreachable, MalformedDocument."""
        sent = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
        status, document = self._asked("POST", url, form.encode("ascii"), sent)
        if not isinstance(document, dict):
            raise MalformedDocument(f"{url} answers {status} by no JSON object")
        return status, document

    def _asked(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, object]:
        if not self._turns.acquire(timeout=self._timeout_s):
            raise ProviderUnreachable(f"{url} is asked by too many at once: try again")
        connection = self._connection(url)

        def ask() -> tuple[int, bytes]:
            try:
                return _answer(connection, method, url, body, headers)
            finally:
                connection.close()
                self._turns.release()

        asked = begin(ask, "openid provider")
        try:
            status, data = asked.result(self._timeout_s)
        except NoThread as error:
            self._turns.release()
            raise ProviderUnreachable(f"{url}: {error.strerror}") from None
        except ProviderUnreachable:
            raise
        except TimeoutError:
            _break_off(connection)
            raise ProviderUnreachable(
                f"{url} does not answer within {self._timeout_s:g} s"
            ) from None
        except ssl.SSLCertVerificationError as error:
            raise ProviderUnreachable(
                f"{url}: its certificate is not believed: {error.verify_message}"
            ) from None
        except ssl.SSLError as error:
            raise ProviderUnreachable(
                f"{url}: no TLS connection: {tls_error_text(error)}"
            ) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise ProviderUnreachable(f"{url}: {error or repr(error)}") from None
        try:
            return status, json.loads(data) if data else None
        except (ValueError, RecursionError):
            raise MalformedDocument(f"{url} answers {status} by no JSON") from None

    def _connection(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, parts.port, timeout=self._timeout_s, context=self._context
            )
        return http.client.HTTPConnection(host, parts.port, timeout=self._timeout_s)


def _answer(
    connection: http.client.HTTPConnection,
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> tuple[int, bytes]:
    parts = urlsplit(url)
    target = parts.path or "/"
    if parts.query:
        target = f"{target}?{parts.query}"
    connection.request(method, target, body, {"Accept": "application/json", **headers})
    answer = connection.getresponse()
    data = bytearray()
    while chunk := answer.read(_CHUNK_BYTES):
        data += chunk
        if len(data) > MOST_BYTES:
            raise ProviderUnreachable(f"{url} answers by more than {MOST_BYTES} bytes")
    return answer.status, bytes(data)


def _break_off(connection: http.client.HTTPConnection) -> None:
    """End what a thread waits for; it closes the connection itself."""
    sock = connection.sock
    if sock is not None:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError as error:
            log.debug("a connection to a provider had ended already: %s", error)
