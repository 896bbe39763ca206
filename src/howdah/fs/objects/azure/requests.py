"""Signed requests for one container, and their answers or errors (shell: it knows the time)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from typing import Final
from urllib.parse import quote, urlencode

from howdah import errors
from howdah.errors import HowdahError
from howdah.fs.objects.azure import documents
from howdah.fs.objects.azure.names import blob_of, encoded
from howdah.fs.objects.azure.settings import AzureSettings
from howdah.fs.objects.azure.signing import authorization, shared_access, string_to_sign
from howdah.fs.objects.http_client import Answer, Request
from howdah.fs.objects.retrying import Damaged, Failed, Throttled, refusal
from howdah.fs.objects.store import Body, NotAsExpected, UploadLost
from howdah.fs.paths import printable

# Refusals of the Blob service as errors of howdah.
#
# Codes are those of "Blob Storage error codes" of Microsoft's reference. A message has the
# service's first line and no more: the rest of some quotes the request.

_EXISTS: Final = frozenset(("BlobAlreadyExists",))
_LOST: Final = frozenset(("InvalidBlockList",))
_BUSY: Final = frozenset(("ServerBusy", "TooManyRequests"))
_AGAIN: Final = frozenset(
    ("InternalError", "OperationTimedOut", "PendingCopyOperation", "ContainerBeingDeleted")
)
_BAD_KEY: Final = frozenset(
    ("AuthenticationFailed", "InvalidAuthenticationInfo", "NoAuthenticationInformation")
)


def translated(
    status: int, code: str, message: str, *, where: str, place: str, container: str
) -> errors.HowdahError:
    """The error that a request for `where` comes to."""
    said = f"{code or 'no code'}: {message or 'no message'} (HTTP status {status})"
    if code == "ContainerNotFound":
        return errors.UnknownStore(f"Container {container} does not exist at {place}")
    if code in _LOST:
        return UploadLost(f"{where}: {said}")
    if code in _EXISTS or status == 412:
        return NotAsExpected(f"{where}: {said}")
    if code == "Md5Mismatch":
        return Damaged(f"{where}: {said}")
    if code in _BUSY or status in (429, 503):
        return Throttled(f"{where}: {place} asks to slow down: {said}")
    if code in _AGAIN or status >= 500 or status == 408:
        return Failed(f"{where}: {place} failed: {said}")
    return refusal(401 if code in _BAD_KEY else status, said, where=where, place=place)


VERSION: Final = "2021-12-02"
"""Of the service's protocol."""
_READABLE_S: Final = 3600
"""How long a SAS of ours holds: a copy of what it is for takes less."""
Query = Sequence[tuple[str, str]]


class Signer:
    """Makes requests for one container, with its key or its SAS."""

    def __init__(self, settings: AzureSettings) -> None:
        self._settings = settings

    def where(self, key: str | None) -> str:
        """How messages name a blob, or the container."""
        settings = self._settings
        return printable(f"az://{settings.container}@{settings.account}/{key or ''}")

    def path(self, key: str | None, container: str | None = None) -> str:
        """The path of a request for a blob, or for the container; of another one than ours."""
        root = f"{self._settings.root}/{quote(container or self._settings.container)}"
        return root if key is None else f"{root}/{encoded(blob_of(key))}"

    def url(self, key: str, container: str | None = None) -> str:
        """Of a blob that the service itself is to read: with the SAS, which is no signature of
        this request."""
        sas = self._settings.secrets.sas
        place = self._settings.place
        return f"{place.scheme}://{place.header}{self.path(key, container)}" + (
            f"?{sas}" if sas else ""
        )

    def readable_url(self, key: str, container: str | None, now_s: float) -> str:
        """The same for requests that read with no key of an account: with a SAS of our own."""
        secrets = self._settings.secrets
        if secrets.key is None:
            return self.url(key, container)
        blob = f"{container or self._settings.container}/{blob_of(key)}"
        expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now_s + _READABLE_S))
        sas = shared_access(self._settings.account, secrets.key, blob, expires, VERSION)
        return f"{self.url(key, container)}?{urlencode(sas, quote_via=quote, safe='')}"

    def request(
        self,
        operation: str,
        method: str,
        key: str | None,
        query: Query = (),
        headers: Mapping[str, str] | None = None,
        body: Body = b"",
        *,
        about: str | None = None,
    ) -> Request:
        """Build a signed request; `about` is the subject of a request for the container."""
        path = self.path(key)
        lines = {"x-ms-version": VERSION, **(headers or {})}
        if body:
            lines["Content-Length"] = str(len(body))
        signed = self._signed(method, path, query, lines)
        return Request(
            operation, self.where(key or about), method, self._target(path, query), signed, body
        )

    def head_of_part(self, method: str, key: str, headers: Mapping[str, str]) -> str:
        """A request within a batch: its line and its headers."""
        path = self.path(key)
        lines = self._signed(method, path, (), {**headers, "Content-Length": "0"})
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"{method} {self._target(path, ())} HTTP/1.1\r\n{text}"

    def _signed(
        self, method: str, path: str, query: Query, headers: Mapping[str, str]
    ) -> dict[str, str]:
        secrets = self._settings.secrets
        signed = {"x-ms-date": formatdate(usegmt=True), **headers}
        if secrets.key is not None:
            account = self._settings.account
            text = string_to_sign(method, account, path, query, signed)
            signed["Authorization"] = authorization(account, secrets.key, text)
        return signed

    def _target(self, path: str, query: Query) -> str:
        own = urlencode(query, quote_via=quote)
        parts = [part for part in (own, self._settings.secrets.sas) if part]
        return f"{path}?{'&'.join(parts)}" if parts else path

    def raise_for(self, answer: Answer, key: str | None) -> Answer:
        """The answer, if it is no error."""
        if answer.status < 300:
            return answer
        code, message = documents.refusal(answer.body)
        raise self.error(answer.status, answer.headers.get("x-ms-error-code") or code, message, key)

    def error(self, status: int, code: str, message: str, key: str | None) -> HowdahError:
        return translated(
            status,
            code,
            message,
            where=self.where(key),
            place=str(self._settings.place),
            container=self._settings.container,
        )
