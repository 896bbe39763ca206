"""Errors of botocore as those of howdah: what happened, to which object, what to do (shell).

A message names bucket and key, never a secret: of a signature that did not fit the store's
sentence is repeated, and not what was signed.
"""

from __future__ import annotations

import re
import socket
import time
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from botocore import exceptions
from botocore.parsers import ResponseParserError

from howdah import errors
from howdah.fs.objects.retrying import Damaged, Failed, Throttled
from howdah.fs.objects.settings import Settings
from howdah.fs.objects.store import NotAsExpected, UploadLost
from howdah.fs.paths import printable

_THROTTLED: Final = frozenset(
    ("SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequests")
)
_BAD_KEY: Final = frozenset(
    (
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "InvalidToken",
        "TokenRefreshRequired",
    )
)
_DAMAGED: Final = frozenset(
    ("BadDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch", "InvalidChecksum")
)
_NO_KEY: Final = frozenset(("KeyTooLongError", "XMinioInvalidObjectName", "InvalidURI"))
_WRONG_REGION: Final = frozenset(
    (
        "PermanentRedirect",
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "TemporaryRedirect",
        "Redirect",
        "301",
        "307",
    )
)
_CONNECTION: Final = re.compile(r"^.*(?:>|\w+Connection\([^()]*\)): ", re.DOTALL)
"""What urllib3 puts before its reason, in two manners."""
_PLAIN: Final = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
"""How OpenSSL names an answer that is none of TLS."""
_FAILED_WITH_4XX: Final = frozenset(
    ("RequestTimeout", "ConditionalRequestConflict", "OperationAborted")
)


def translated(error: Exception, settings: Settings, key: str | None) -> errors.HowdahError:
    """Return the error for a call on an object or, without `key`, on the bucket."""
    where = printable(f"s3://{settings.bucket}/{key or ''}")
    if isinstance(error, exceptions.ClientError):
        return refused(error.response, settings, key)
    if isinstance(
        error,
        exceptions.NoCredentialsError
        | exceptions.PartialCredentialsError
        | exceptions.CredentialRetrievalError,
    ):
        return errors.AccessDenied(
            f"{where}: there are no credentials for this bucket: set fs.s3a.access.key and "
            "fs.s3a.secret.key, or have one of fs.s3a.aws.credentials.provider find some"
        )
    if isinstance(error, exceptions.ConnectTimeoutError | exceptions.ReadTimeoutError):
        return errors.CallTimeout(f"{where}: {settings.location} did not answer in time")
    if isinstance(error, exceptions.SSLError):
        # A certificate that is refused now is refused the next time.
        said = _inner(error)
        hint = ""
        if settings.endpoint is not None and any(phrase in said for phrase in _PLAIN):
            hint = "; if it speaks plain HTTP, say http:// in fs.s3a.endpoint"
        return errors.RemoteError(f"{where}: no TLS with {settings.location}: {said}{hint}")
    if isinstance(error, exceptions.EndpointConnectionError | exceptions.HTTPClientError):
        if _is_unknown_host(error):
            hint = ""
            if settings.endpoint is not None and not settings.is_path_style:
                hint = (
                    " (or for the bucket's name before it): name another fs.s3a.endpoint, or set "
                    "fs.s3a.path.style.access to true"
                )
            return errors.UnknownHost(f"{where}: no address is known for {settings.location}{hint}")
        problem = "broke off"
        if isinstance(error, exceptions.EndpointConnectionError):
            problem = "cannot be reached"
        return errors.Unreachable(f"{where}: {settings.location} {problem}: {_inner(error)}")
    if isinstance(
        error,
        exceptions.ResponseStreamingError
        | exceptions.IncompleteReadError
        | exceptions.ConnectionError,
    ):
        return errors.Unreachable(f"{where}: the answer of {settings.location} broke off")
    if isinstance(error, ResponseParserError):
        return no_store(settings, where)
    if isinstance(error, exceptions.ParamValidationError):
        if "Invalid bucket name" in str(error):
            return errors.IllegalArgument(f"{settings.bucket!r} cannot be the name of a bucket")
        return errors.IllegalArgument(f"{where} cannot be asked for: {error}")
    return errors.RemoteError(f"{where}: {error}")


def no_store(settings: Settings, where: str) -> errors.HowdahError:
    """Whoever answers there is no store."""
    return errors.RemoteError(
        f"{where}: {settings.location} does not answer as S3 does: is fs.s3a.endpoint right?"
    )


def is_elsewhere(response: Any) -> bool:
    """Whether an answer says that the bucket is to be asked for at another place."""
    code = str(response.get("Error", {}).get("Code", ""))
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return code in _WRONG_REGION or status in (301, 302, 307, 308)


def refused(response: Any, settings: Settings, key: str | None) -> errors.HowdahError:
    """Return the error for an answer as botocore records it: `Error` has the members of the
    answer's document, `ResponseMetadata` its status and headers."""
    where = printable(f"s3://{settings.bucket}/{key or ''}")
    error = response.get("Error", {})
    code = str(error.get("Code", ""))
    meta = response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode", 0))
    said = f"{code}: {error.get('Message') or 'no message'} (HTTP status {status})"
    if code == "NoSuchBucket":
        return errors.UnknownStore(
            f"Bucket {settings.bucket} does not exist at {settings.location}"
        )
    if code == "NoSuchUpload":
        return UploadLost(f"{where}: {said}")
    if is_elsewhere(response):
        return _elsewhere(error, meta, settings, where)
    if code in _THROTTLED or status in (429, 503):
        return Throttled(f"{where}: {settings.location} asks to slow down: {said}")
    if code == "RequestTimeTooSkewed":
        return errors.AccessDenied(
            f"{where}: {settings.location} refuses the request, as {_skew(meta)}: set the clock"
        )
    if code in _DAMAGED:
        return Damaged(f"{where} was damaged on the way to {settings.location}: {said}")
    if code in _NO_KEY:
        return errors.InvalidPath(f"{where} cannot be a key of {settings.location}: {said}")
    if code == "500":
        # Neither an answer to HEAD nor what is no XML, whatever its status was, has a reason.
        return Failed(
            f"{where}: {settings.location} failed without a reason (HTTP status 500, or an answer "
            "that is not S3's: is fs.s3a.endpoint right?)"
        )
    if status >= 500 or code in _FAILED_WITH_4XX:
        return Failed(f"{where}: {settings.location} failed: {said}")
    if code in _BAD_KEY or (status == 401):
        return errors.AccessDenied(f"{where}: {settings.location} refuses the credentials: {said}")
    if status == 403:
        return errors.AccessDenied(f"{where}: access denied by {settings.location}: {said}")
    if status == 412:
        return NotAsExpected(f"{where}: {said}")
    if status == 416:
        return errors.EndOfFile(f"{where}: {said}")
    if status == 404:
        return errors.PathNotFound(f"File does not exist: {where}" if key else f"{where}: {said}")
    return errors.RemoteError(f"{where}: {said}")


def _elsewhere(error: Any, meta: Any, settings: Settings, where: str) -> errors.HowdahError:
    """Return the error for a bucket that is in another place."""
    headers = meta.get("HTTPHeaders", {})
    region = headers.get("x-amz-bucket-region") or error.get("Region")
    target = urlsplit(headers.get("location", ""))
    if not region and target.hostname:
        return errors.RemoteError(
            f"{where}: {settings.location} sends us on to {target.scheme}://{target.netloc}: set "
            "fs.s3a.endpoint"
        )
    hint = f"set fs.s3a.endpoint.region to {region}" if region else "set its endpoint or region"
    return errors.RemoteError(
        f"Bucket {settings.bucket} is in another region than "
        f"{settings.region or 'the default one'}: {hint}"
    )


def _skew(meta: Any) -> str:
    """How the clocks differ, by the date of the answer."""
    try:
        theirs_s = parsedate_to_datetime(meta.get("HTTPHeaders", {}).get("date")).timestamp()
    except (TypeError, ValueError):
        return "this machine's clock differs too much from the store's"
    ahead_s = round(time.time() - theirs_s)
    direction = "ahead of" if ahead_s > 0 else "behind"
    return f"this machine's clock is {abs(ahead_s)} s {direction} the store's"


def _inner(error: Exception) -> str:
    """What broke, in one line, without the URL of the request."""
    inner = getattr(error, "kwargs", {}).get("error", error)
    text = str(getattr(inner, "reason", None) or inner)
    return _CONNECTION.sub("", text, count=1).splitlines()[0] if text else type(inner).__name__


def _is_unknown_host(error: BaseException | None) -> bool:
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, socket.gaierror) or type(error).__name__ == "NameResolutionError":
            return True
        inner = getattr(error, "kwargs", {}).get("error")
        error = inner if isinstance(inner, BaseException) else error.__cause__ or error.__context__
        seen += 1
    return False
