"""The requests that are made most, without botocore (shell).

botocore takes a millisecond of the processor for a request, by a model of the protocol that is
asked for each member of it; these take a tenth. Where a bucket is, how its requests are
addressed and what they are signed for is botocore's to say: `RequestTemplates` looks at the
requests that it makes, and once one of them has succeeded, those here are made alike. Whatever is
out of the ordinary stays botocore's: a proxy, what requests carry besides (`request_options`), a
kind of bucket with a protocol of its own, an answer that says that the bucket is elsewhere.

Requests are wanted and answers told as by botocore, and refusals are translated from the same
records.
"""

from __future__ import annotations

import calendar
import hashlib
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit
from xml.etree import ElementTree

from botocore.httpsession import get_cert_path
from botocore.utils import get_environ_proxies

from howdah import errors
from howdah.config import Configuration
from howdah.fs.objects.amazon.field_codec import as_sent, as_told
from howdah.fs.objects.amazon.listing import page_of
from howdah.fs.objects.amazon.signing import EMPTY, UNSIGNED, Scope, path_text, query_text
from howdah.fs.objects.failures import is_elsewhere, no_store, refused
from howdah.fs.objects.http_client import Answer, Request, Requests, RestReading, check_range
from howdah.fs.objects.parts import Pieces
from howdah.fs.objects.settings import Settings
from howdah.fs.objects.store import Body, Page
from howdah.fs.paths import printable
from howdah.runtime.tls.client import ClientTls, NotTrusted
from howdah.runtime.tls.http_policy import Place

_ORDINARY: Final = re.compile(r"(?!.*--[a-z]+-s3$)[a-zA-Z0-9._-]+")
"""Names of buckets without a protocol of their own, and no ARNs."""
_SCOPE: Final = re.compile(r"AWS4-HMAC-SHA256 Credential=[^/,]+/\d{8}/([^/]+)/s3/aws4_request,")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_DATE: Final = re.compile(r"\w{3}, (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT")
Credentials = Callable[[], Any]
"""botocore's, as they are now; None where there are none."""


class Elsewhere(Exception):
    """The bucket is not where it was: botocore is to look for it."""


class _Believed(ClientTls):
    """Believes whom botocore believes."""

    def __init__(self, ca_file: str | None) -> None:
        super().__init__(Configuration())
        self._ca_file = ca_file
        self._made: ssl.SSLContext | None = None

    def context(self, host: str) -> ssl.SSLContext:
        if self._made is None:
            self._made = ssl.create_default_context(cafile=self._ca_file or get_cert_path(True))
        return self._made


@dataclass(frozen=True, slots=True)
class Manner:
    """How requests for a bucket are addressed, and for which region they are signed; None if
    they are not signed."""

    place: Place
    before_key: str
    """What is before a key in the path of a request."""
    region: str | None


def manner_of(url: str, authorization: str | None, settings: Settings) -> Manner | None:
    """Return how botocore built a request; None if others are not to be built alike."""
    bucket = settings.bucket
    if settings.additions or not _ORDINARY.fullmatch(bucket) or get_environ_proxies(url):
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    is_secure = parts.scheme == "https"
    place = Place(is_secure, parts.hostname, parts.port or (443 if is_secure else 80))
    region = None
    if authorization is not None:
        match = _SCOPE.match(authorization)
        if match is None:
            return None
        region = match[1]
    own = urlsplit(settings.endpoint or "").hostname
    if parts.hostname != own and parts.hostname.startswith(f"{bucket}."):
        return Manner(place, "/", region)
    if parts.path == f"/{bucket}" or parts.path.startswith(f"/{bucket}/"):
        return Manner(place, f"/{bucket}/", region)
    return None


class RequestTemplates:
    """Takes the manner of requests from those of botocore that succeed, in one process."""

    def __init__(
        self,
        settings: Settings,
        credentials: Credentials,
        ca_file: str | None,
        *,
        is_signed: bool,
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._is_signed = is_signed
        self._requests = Requests(settings, _Believed(ca_file))
        self._sent: Any = None
        self.quick: HttpRequests | None = None

    @property
    def calls(self) -> int:
        return self._requests.calls

    def sends(self, request: Any) -> None:
        """botocore sends a request."""
        self._sent = request

    def succeeded(self, status: int) -> None:
        """The last one was answered."""
        request, self._sent = self._sent, None
        if self.quick is not None or request is None or status >= 300:
            return
        text = request.headers.get("Authorization")
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        if (text is not None) is not self._is_signed:
            return
        manner = manner_of(request.url, text, self._settings)
        if manner is not None:
            self.quick = HttpRequests(
                self._settings, manner, self._credentials, self._requests, self.forget
            )

    def forget(self) -> None:
        self.quick = None

    def close(self) -> None:
        self._requests.close()


class HttpRequests:
    """Makes requests for one bucket. Raises errors of howdah, and `Elsewhere`."""

    def __init__(
        self,
        settings: Settings,
        manner: Manner,
        credentials: Credentials,
        requests: Requests,
        forget: Callable[[], None],
    ) -> None:
        """`forget` is to be called after `Elsewhere`."""
        self.forget = forget
        self._settings = settings
        self._place = manner.place
        self._before_key = manner.before_key
        self._scope = None if manner.region is None else Scope(manner.region, "s3")
        self._credentials = credentials
        self._requests = requests
        is_usual = manner.place.port == (443 if manner.place.is_secure else 80)
        header = manner.place.header
        self._host = header.rpartition(":")[0] if is_usual else header

    # --- requests -----------------------------------------------------------------------

    def head(self, key: str, more: Mapping[str, Any]) -> dict[str, Any]:
        return _error_fields(self._send("HEAD", key, more))

    def head_and_get(
        self, key: str, more: Mapping[str, Any]
    ) -> tuple[dict[str, Any], RestReading] | None:
        """As `head`, and the bytes; None if the answer does not tell how many there are."""
        request = self._signed("GET", key, more, {})
        with _Translating(self._settings, request.where):
            reading, answer = self._requests.open(self._place, request)
            if reading is None:
                raise self._refusal(answer, key)
        if answer.status != 200 or "content-length" not in answer.headers:
            reading.close(0)
            return None
        return _error_fields(answer), reading

    def get(
        self, key: str, start: int, end: int, more: Mapping[str, Any]
    ) -> tuple[RestReading, str]:
        request = self._signed("GET", key, more, {"range": f"bytes={start}-{end - 1}"})
        with _Translating(self._settings, request.where):
            reading, answer = self._requests.open(self._place, request)
            if reading is None:
                raise self._refusal(answer, key)
            try:
                check_range(answer, start, end, request.where)
            except errors.ProtocolViolation:
                reading.close(0)
                raise
        return reading, answer.headers.get("etag", "").strip('"')

    def put(self, key: str, more: Mapping[str, Any], body: Body) -> dict[str, Any]:
        return as_told(self._send("PUT", key, more, body).headers)

    def delete(self, key: str) -> dict[str, Any]:
        return as_told(self._send("DELETE", key, {}).headers)

    def page(self, prefix: str, more: Mapping[str, Any]) -> Page:
        answer = self._send("GET", None, more, about=prefix)
        try:
            return page_of(answer.body)
        except errors.ProtocolViolation:
            raise no_store(self._settings, self._where(prefix)) from None

    # --- how they are made ----------------------------------------------------------------

    def _where(self, key: str | None) -> str:
        return printable(f"s3://{self._settings.bucket}/{key or ''}")

    def _send(
        self,
        method: str,
        key: str | None,
        more: Mapping[str, Any],
        body: Body = b"",
        about: str | None = None,
    ) -> Answer:
        """Without a key it is a listing of what begins with `about`."""
        request = self._signed(method, key, more, {}, body, about)
        with _Translating(self._settings, request.where):
            answer = self._requests.send(self._place, request)
        if answer.status >= 300:
            raise self._refusal(answer, key or about)
        return answer

    def _signed(
        self,
        method: str,
        key: str | None,
        more: Mapping[str, Any],
        headers: Mapping[str, str],
        body: Body = b"",
        about: str | None = None,
    ) -> Request:
        fields, query = as_sent(more)
        fields |= headers
        path = self._before_key
        if key is None:
            # The bucket itself has no slash behind it, unless there is nothing else.
            path = path.removesuffix("/") or "/"
            query += [("list-type", "2"), ("encoding-type", "url"), ("prefix", about or "")]
        else:
            path += path_text(key)
        text = query_text(query)
        if self._scope is not None:
            sha256 = EMPTY
            if body:
                is_secure = self._place.is_secure
                sha256 = UNSIGNED if is_secure else _sha256(body)
            fields |= self._signature(self._scope, (method, path, text), fields, sha256)
        fields["Host"] = self._host
        target = f"{path}?{text}" if text else path
        # Made again by the rules alone, as those of botocore are.
        where = self._where(key or about)
        return Request(method, where, method, target, fields, body, is_repeatable=False)

    def _signature(
        self, scope: Scope, request: tuple[str, str, str], headers: Mapping[str, str], sha256: str
    ) -> dict[str, str]:
        credentials = self._credentials()
        if credentials is None:
            raise Elsewhere
        frozen = credentials.get_frozen_credentials()
        when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        more = {"x-amz-date": when, "x-amz-content-sha256": sha256}
        if frozen.token:
            more["x-amz-security-token"] = frozen.token
        signed = {name: value for name, value in headers.items() if name.startswith("x-amz-")}
        signed |= {"host": self._host, **more}
        account = frozen.access_key, frozen.secret_key
        more["authorization"] = scope.authorization(request, signed, sha256, account, when)
        return more

    def _refusal(self, answer: Answer, key: str | None) -> errors.HowdahError:
        error = _error_of(answer)
        response = {
            "Error": error or {},
            "ResponseMetadata": {
                "HTTPStatusCode": answer.status,
                "HTTPHeaders": dict(answer.headers),
            },
        }
        if is_elsewhere(response):
            raise Elsewhere
        if error is None:
            return no_store(self._settings, self._where(key))
        return refused(response, self._settings, key)


def _sha256(body: Body) -> str:
    digest = hashlib.sha256()
    for piece in body if isinstance(body, Pieces) else (body,):
        digest.update(piece)
    return digest.hexdigest()


def _error_fields(answer: Answer) -> dict[str, Any]:
    fields = as_told(answer.headers)
    fields["ContentLength"] = int(answer.headers.get("content-length") or 0)
    fields["LastModified"] = milliseconds(answer.headers.get("last-modified"))
    return fields


class _Translating:
    """Errors of a connection as those of a store."""

    def __init__(self, settings: Settings, where: str) -> None:
        self._settings = settings
        self._where = where

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NotTrusted):
            raise errors.RemoteError(
                f"{self._where}: no TLS with {self._settings.location}: {error.message}"
            ) from None
        if isinstance(error, errors.ProtocolViolation):
            raise no_store(self._settings, self._where) from None


def _error_of(answer: Answer) -> dict[str, str] | None:
    """Return the members of a refusal. If it has none, its status stands for its code. Return None
    for a page that another server sent."""
    members: dict[str, str] = {}
    if answer.body:
        try:
            root = ElementTree.fromstring(answer.body)
        except (ElementTree.ParseError, ValueError):
            return {"Code": "500"} if answer.status >= 500 else None
        members = {child.tag.rpartition("}")[2]: child.text or "" for child in root}
    members.setdefault("Code", str(answer.status))
    return members


def milliseconds(text: str | None) -> int:
    """Convert an HTTP date to milliseconds since 1970; return 0 for none.

    >>> milliseconds("Thu, 26 Nov 2026 16:19:56 GMT")
    1795709996000
    """
    match = _DATE.fullmatch(text or "")
    if match is not None and match[2] in _MONTHS:
        day, month, year, hour, minute, second = match.groups()
        date = int(year), _MONTHS.index(month) + 1, int(day)
        parts = (*date, int(hour), int(minute), int(second))
        return calendar.timegm((*parts, 0, 0, 0)) * 1000
    try:
        return int(parsedate_to_datetime(text).timestamp() * 1000) if text else 0
    except (TypeError, ValueError):
        return 0
