"""Tokens for Cloud Storage: google-auth's credentials, over our connections (shell).

google-auth knows the kinds of credentials and their files; how it reaches a server of tokens is
ours to say, so that time-outs and certificates are those of the configuration. Neither a token
nor what it was asked for with is in a message.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from howdah import errors
from howdah.fs.objects.google.settings import GoogleSettings
from howdah.fs.objects.http_client import Request, Requests
from howdah.fs.objects.retrying import Failed
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.tls.http_policy import Place

try:
    import google.auth
    import google.auth.transport
    from google.auth import compute_engine, exceptions
    from google.oauth2 import credentials as user_credentials
    from google.oauth2 import service_account
except ImportError as error:
    raise errors.UnsupportedOperation(
        f"gs:// needs google-auth, as howdah[gs] has it: {error}"
    ) from error

_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
_TOKEN_URL: Final = "https://oauth2.googleapis.com/token"


class _Response(google.auth.transport.Response):
    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self._status, self._headers, self._data = status, headers, data

    @property
    def status(self) -> int:
        return self._status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    @property
    def data(self) -> bytes:
        return self._data


class _Transport(google.auth.transport.Request):
    """google-auth's requests. Raises `TransportError`."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **more: Any,
    ) -> _Response:
        parts = urlsplit(url)
        is_secure = parts.scheme == "https"
        place = Place(is_secure, parts.hostname or "", parts.port or (443 if is_secure else 80))
        target = parts.path or "/"
        data = body.encode() if isinstance(body, str) else body or b""
        try:
            answer = self._requests.send(
                place,
                Request(
                    "a token",
                    f"a token of {place}",
                    method,
                    f"{target}?{parts.query}" if parts.query else target,
                    headers or {},
                    data,
                ),
            )
        except errors.HowdahError as error:
            raise exceptions.TransportError(error) from error
        return _Response(answer.status, answer.headers, answer.body)


class _Held:
    """What one process has."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: Any = None


class Tokens:
    """Keeps the credentials of a bucket. Thread-safe, and usable in a forked child."""

    def __init__(self, settings: GoogleSettings, requests: Requests) -> None:
        self._settings = settings
        self._transport = _Transport(requests)
        self._held: PerProcess[_Held] = PerProcess(_Held)

    def header(self, where: str) -> dict[str, str]:
        """What a request says who asks. Raises `AccessDenied`, and what may be tried again."""
        if self._settings.auth == "UNAUTHENTICATED":
            return {}
        held = self._held.get()
        with held.lock:
            try:
                if held.made is None:
                    held.made = self._made()
                if not held.made.valid:
                    held.made.refresh(self._transport)
            except exceptions.GoogleAuthError as error:
                raise self._failed(error, where) from None
            except (OSError, ValueError) as error:
                # The file: its content is not repeated.
                raise errors.AccessDenied(
                    f"{where}: {self._settings.key_file or 'the credentials'} cannot be used: "
                    f"{error.strerror if isinstance(error, OSError) else type(error).__name__}"
                ) from None
            return {"Authorization": f"Bearer {held.made.token}"}

    def drop(self, header: Mapping[str, str]) -> bool:
        """Whether a refused token was still the one that is used, which it no more is."""
        held = self._held.get()
        with held.lock:
            if held.made is None or header.get("Authorization") != f"Bearer {held.made.token}":
                return False
            held.made.token = None
            return True

    def _failed(self, error: exceptions.GoogleAuthError, where: str) -> errors.HowdahError:
        if isinstance(error, exceptions.TransportError) and error.args:
            inner = error.args[0]
            if isinstance(inner, errors.HowdahError):
                return type(inner)(f"{where}: {inner}")
            return Failed(f"{where}: no token: {inner}")
        said = str(error.args[0]).splitlines()[0] if error.args else type(error).__name__
        if getattr(error, "retryable", False):
            return Failed(f"{where}: no token: {said}")
        if isinstance(error, exceptions.DefaultCredentialsError):
            return errors.AccessDenied(
                f"{where}: there are no credentials for this bucket: set fs.gs.auth.type and "
                f"its like, or GOOGLE_APPLICATION_CREDENTIALS ({said})"
            )
        return errors.AccessDenied(f"{where}: no token: {said}")

    def _made(self) -> Any:
        settings = self._settings
        if settings.auth == "COMPUTE_ENGINE":
            return compute_engine.Credentials(scopes=_SCOPES)
        if settings.auth == "SERVICE_ACCOUNT_JSON_KEYFILE":
            made = service_account.Credentials.from_service_account_file(
                settings.key_file, scopes=_SCOPES
            )
            if settings.token_url:
                made = made.with_token_uri(settings.token_url)
            return made
        if settings.auth == "USER_CREDENTIALS":
            secrets = settings.secrets
            return user_credentials.Credentials(
                None,
                refresh_token=secrets.refresh_token,
                token_uri=settings.token_url or _TOKEN_URL,
                client_id=secrets.client_id,
                client_secret=secrets.client_secret,
            )
        if settings.key_file is not None:
            credentials, _ = google.auth.load_credentials_from_file(
                settings.key_file, scopes=_SCOPES, request=self._transport
            )
            return credentials
        credentials, _ = google.auth.default(scopes=_SCOPES, request=self._transport)
        return credentials
