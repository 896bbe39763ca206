"""Who has signed a request, and how its body is secured: Signature Version 4 as servers check it.

A request is signed in its header `Authorization`, or in its query (a presigned URL). Both say
access key, day, region and the names of the headers that are signed. `x-amz-content-sha256` says
of the body

- its SHA-256, which is compared when the whole body has come,
- that it is not signed (`UNSIGNED-PAYLOAD`), or
- that it comes in chunks (`STREAMING-…`), which `howdah.gateway.s3.protocol.chunks` reads.

Region and time are the client's; the time may differ by a quarter of an hour. What is signed is
made anew out of the request, so that a path escaped in another way has the same signature.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from howdah.fs.objects.amazon.signing import ALGORITHM, EMPTY, UNSIGNED, Scope, request_digest
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.requests import S3Request

CONTENT_SHA256: Final = "x-amz-content-sha256"
DECODED_LENGTH: Final = "x-amz-decoded-content-length"
SIGNED_CHUNKS: Final = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
TRAILER: Final = "-TRAILER"
UNSIGNED_CHUNKS: Final = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_CHUNKED: Final = frozenset({SIGNED_CHUNKS, SIGNED_CHUNKS + TRAILER, UNSIGNED_CHUNKS})
_SKEW_S: Final = 15 * 60
_LONGEST_S: Final = 7 * 24 * 3600
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")
_WHEN: Final = re.compile(r"\d{8}T\d{6}Z\Z", re.ASCII)
_FIELD: Final = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]{1,2000})\Z")
_MAY_BE_UNSIGNED: Final = frozenset({CONTENT_SHA256})
"""Of the headers `x-amz-*`: the value is signed by itself."""


@dataclass(frozen=True, slots=True)
class Signed:
    """What a request says of its signature."""

    access_key: str
    scope: Scope
    when: str
    """As `20261126T161956Z`."""
    names: tuple[str, ...]
    """Of the headers that are signed."""
    signature: str
    payload: str
    """What is signed of the body: its SHA-256, or a word."""
    is_presigned: bool = False
    until_s: int | None = None
    """When a presigned URL ends, since the epoch."""

    @property
    def sha256(self) -> str | None:
        """The SHA-256 that the body has to have, in hexadecimal digits; None where none is
        said."""
        return self.payload if _SHA256.match(self.payload) else None


def is_chunked(payload: str) -> bool:
    """Return whether a body that is secured so comes in chunks."""
    return payload in _CHUNKED


def unsigned_payload(request: S3Request) -> str:
    """Return how the body of a request comes that nobody has signed. Raises Refused."""
    payload = _payload(request.headers.get(CONTENT_SHA256, UNSIGNED))
    if payload in _CHUNKED and payload != UNSIGNED_CHUNKS:
        raise Refused("InvalidRequest", "the chunks of a body are signed only if the request is")
    return payload


def signed_of(request: S3Request) -> Signed | None:
    """Return what a request says of its signature; None where it has none. Raises Refused for
    what is not Signature Version 4."""
    header = request.headers.get("authorization")
    if "X-Amz-Algorithm" in request.query or "X-Amz-Signature" in request.query:
        if header is not None:
            raise Refused("InvalidRequest", "a request is signed once: by a header or by a query")
        return _of_query(request)
    if "AWSAccessKeyId" in request.query or (header or "").startswith("AWS "):
        raise Refused(
            "InvalidRequest",
            "Signature Version 2 is not supported, only AWS4-HMAC-SHA256: with botocore, "
            "Config(signature_version='s3v4') makes presigned URLs by it",
        )
    return None if header is None else _of_header(request, header)


def check_signature(request: S3Request, signed: Signed, secret_key: str, now_s: float) -> None:
    """Raises Refused unless the request was signed by the secret, and in time."""
    _check_time(signed, now_s)
    unsigned = sorted(
        name
        for name in request.headers
        if name.startswith("x-amz-") and name not in signed.names and name not in _MAY_BE_UNSIGNED
    )
    if unsigned:
        raise Refused(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            HeadersNotSigned=", ".join(unsigned),
        )
    if "host" not in signed.names:
        raise Refused("AccessDenied", "the header host has to be signed")
    headers = {}
    for name in signed.names:
        if name not in request.headers:
            raise Refused("AccessDenied", f"the header {name} is signed, and is not there")
        headers[name] = _signed_value(request.headers[name])
    query = request.signed_query("X-Amz-Signature")
    if not any(
        _is_signature(signed, secret_key, (request.method, path, query), headers)
        for path in request.signed_paths
    ):
        raise Refused(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. Check "
            "your key and signing method.",
            AWSAccessKeyId=signed.access_key,
        )


def _is_signature(
    signed: Signed, secret_key: str, request: tuple[str, str, str], headers: Mapping[str, str]
) -> bool:
    digest = request_digest(request, headers, signed.payload)
    expected = signed.scope.signature(ALGORITHM, secret_key, signed.when, digest)
    return hmac.compare_digest(expected.encode(), signed.signature.encode())


def _check_time(signed: Signed, now_s: float) -> None:
    since_s = _seconds(signed.when)
    if signed.until_s is None:
        if abs(now_s - since_s) > _SKEW_S:
            raise Refused(
                "RequestTimeTooSkewed",
                "The difference between the request time and the current time is too large: more "
                f"than {_SKEW_S // 60} minutes. Set the clocks of client and gateway",
                RequestTime=signed.when,
            )
    elif now_s > signed.until_s:
        raise Refused("AccessDenied", "Request has expired")
    elif now_s < since_s - _SKEW_S:
        raise Refused("AccessDenied", "Request is not yet valid")


def _of_header(request: S3Request, header: str) -> Signed:
    algorithm, _, rest = header.partition(" ")
    if algorithm != ALGORITHM:
        raise Refused(
            "InvalidRequest",
            "The authorization mechanism you have provided is not supported. Please use "
            f"{ALGORITHM}.",
        )
    fields = {}
    for part in rest.split(","):
        match = _FIELD.match(part.strip())
        if match is None:
            raise Refused(
                "AuthorizationHeaderMalformed",
                "Authorization has Credential, SignedHeaders and Signature, parted by commas",
            )
        fields[match[1]] = match[2]
    if len(fields) != 3:
        raise Refused(
            "AuthorizationHeaderMalformed",
            "Authorization has Credential, SignedHeaders and Signature",
        )
    payload = request.headers.get(CONTENT_SHA256)
    if payload is None:
        raise Refused(
            "InvalidRequest", f"Missing required header for this request: {CONTENT_SHA256}"
        )
    when = request.headers.get("x-amz-date", "")
    code = "AuthorizationHeaderMalformed"
    access_key, scope = credential_of(fields["Credential"], when, code)
    names = _names(fields["SignedHeaders"], code)
    return Signed(access_key, scope, when, names, fields["Signature"], _payload(payload))


def _of_query(request: S3Request) -> Signed:
    code = "AuthorizationQueryParametersError"
    for name in ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"):
        if f"X-Amz-{name}" not in request.query:
            raise Refused(code, f"a presigned URL has the parameter X-Amz-{name}")
    if request.query["X-Amz-Algorithm"] != ALGORITHM:
        raise Refused(code, f"X-Amz-Algorithm only supports {ALGORITHM}")
    text = request.query["X-Amz-Expires"]
    if not (text.isascii() and text.isdigit() and len(text) < 10) or not (
        1 <= int(text) <= _LONGEST_S
    ):
        raise Refused(code, f"X-Amz-Expires is a number of seconds, at most {_LONGEST_S}")
    when = request.query["X-Amz-Date"]
    access_key, scope = credential_of(request.query["X-Amz-Credential"], when, code)
    payload = request.headers.get(CONTENT_SHA256) or UNSIGNED
    return Signed(
        access_key,
        scope,
        when,
        _names(request.query["X-Amz-SignedHeaders"], code),
        request.query["X-Amz-Signature"],
        _payload(payload),
        is_presigned=True,
        until_s=_seconds(when) + int(text),
    )


def credential_of(text: str, when: str, code: str) -> tuple[str, Scope]:
    """Return the access key and the scope of a credential. Raises Refused, with the code for one
    that is malformed."""
    parts = text.rsplit("/", 4)
    if len(parts) != 5 or parts[3] != "s3" or parts[4] != "aws4_request":
        raise Refused(code, "Credential is ACCESS_KEY/DAY/REGION/s3/aws4_request")
    if not _WHEN.match(when) or _seconds(when) < 0:
        raise Refused(
            "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header"
        )
    if parts[1] != when[:8]:
        raise Refused(code, f"Credential is for {parts[1][:20]}, and the request of {when[:8]}")
    return parts[0], Scope(parts[2], "s3")


def _names(text: str, code: str) -> tuple[str, ...]:
    names = tuple(text.split(";"))
    if len(set(names)) != len(names) or text != text.lower():
        raise Refused(code, "SignedHeaders are names in lower case, each once, parted by ;")
    return names


def _payload(text: str) -> str:
    if text == UNSIGNED or text in _CHUNKED or _SHA256.match(text):
        return text
    if text.startswith("STREAMING-"):
        raise Refused("NotImplemented", f"bodies by {text[:60]} are not supported")
    raise Refused(
        "InvalidArgument",
        f"{CONTENT_SHA256} is {UNSIGNED}, {UNSIGNED_CHUNKS}, {SIGNED_CHUNKS} or a SHA-256 in "
        "hexadecimal digits",
    )


def _seconds(when: str) -> int:
    """Return a time of the form that `_WHEN` matches, in seconds since the epoch; -1 for what is
    none."""
    try:
        return int(datetime.fromisoformat(when).timestamp())
    except ValueError:
        return -1


def _signed_value(value: str) -> str:
    """Return the value of a header as it is signed: single blanks, and its bytes as they came."""
    text = re.sub(" +", " ", value).strip()
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


class ChunkSigner:
    """Signatures of chunks, each of which has the one before it in it."""

    def __init__(self, signed: Signed, secret_key: str) -> None:
        self._signed = signed
        self._secret_key = secret_key
        self._last = signed.signature

    def check_chunk(self, sha256: str, signature: str) -> None:
        """Raises Refused unless this is the signature of the next chunk."""
        self._check("AWS4-HMAC-SHA256-PAYLOAD", signature, EMPTY, sha256)

    def check_trailer(self, sha256: str, signature: str) -> None:
        """Raises Refused unless this is the signature of the lines behind the chunks."""
        self._check("AWS4-HMAC-SHA256-TRAILER", signature, sha256)

    def _check(self, algorithm: str, signature: str, *lines: str) -> None:
        signed = self._signed
        expected = signed.scope.signature(
            algorithm, self._secret_key, signed.when, self._last, *lines
        )
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise Refused("SignatureDoesNotMatch", "a chunk of the body has another signature")
        self._last = expected
