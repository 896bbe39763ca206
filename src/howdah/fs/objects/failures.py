"""Errors of botocore as those of howdah: what happened, to which object, what to do (shell).

A message names bucket and key, never a secret: of a signature that did not fit the store's
sentence is repeated, and not what was signed.
"""

from __future__ import annotations

import socket
from typing import Any, Final

from botocore import exceptions

from howdah import errors
from howdah.fs.objects.retrying import Failed, Throttled
from howdah.fs.objects.settings import Settings
from howdah.fs.objects.store import NotAsExpected, UploadLost
from howdah.fs.paths import shown

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
        "RequestTimeTooSkewed",
    )
)
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
_FAILED_WITH_4XX: Final = frozenset(
    ("RequestTimeout", "ConditionalRequestConflict", "OperationAborted")
)


def translated(error: Exception, settings: Settings, key: str | None) -> errors.HowdahError:
    """The error that a call on an object (or, without `key`, on the bucket) comes to."""
    where = shown(f"s3://{settings.bucket}/{key or ''}")
    if isinstance(error, exceptions.ClientError):
        return _answered(error.response, settings, key, where)
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
        return errors.CallTimeout(f"{where}: {settings.place} did not answer in time")
    if isinstance(error, exceptions.SSLError):
        # A certificate that is refused now is refused the next time.
        return errors.RemoteError(f"{where}: no TLS with {settings.place}: {_inner(error)}")
    if isinstance(error, exceptions.HTTPClientError):
        if _is_unknown_host(error):
            return errors.UnknownHost(f"{where}: no address is known for {settings.place}")
        return errors.Unreachable(f"{where}: {settings.place} broke off: {_inner(error)}")
    if isinstance(
        error,
        exceptions.ResponseStreamingError
        | exceptions.IncompleteReadError
        | exceptions.ConnectionError,
    ):
        return errors.Unreachable(f"{where}: the answer of {settings.place} broke off")
    if isinstance(error, exceptions.ParamValidationError):
        return errors.IllegalArgument(f"{where} cannot be asked for: {error}")
    return errors.RemoteError(f"{where}: {error}")


def _answered(response: Any, settings: Settings, key: str | None, where: str) -> errors.HowdahError:
    told = response.get("Error", {})
    code = str(told.get("Code", ""))
    meta = response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode", 0))
    said = f"{code}: {told.get('Message') or 'no message'} (HTTP status {status})"
    if code == "NoSuchBucket":
        return errors.UnknownStore(f"Bucket {settings.bucket} does not exist at {settings.place}")
    if code == "NoSuchUpload":
        return UploadLost(f"{where}: {said}")
    if code in _WRONG_REGION or status in (301, 307):
        region = meta.get("HTTPHeaders", {}).get("x-amz-bucket-region") or told.get("Region")
        hint = f"set fs.s3a.endpoint.region to {region}" if region else "set its endpoint or region"
        return errors.RemoteError(
            f"Bucket {settings.bucket} is in another region than "
            f"{settings.region or 'the default one'}: {hint}"
        )
    if code in _THROTTLED or status in (429, 503):
        return Throttled(f"{where}: {settings.place} asks to slow down: {said}")
    if status >= 500 or code in _FAILED_WITH_4XX:
        return Failed(f"{where}: {settings.place} failed: {said}")
    if code in _BAD_KEY or (status == 401):
        return errors.AccessDenied(f"{where}: {settings.place} refuses the credentials: {said}")
    if status == 403:
        return errors.AccessDenied(f"{where}: access denied by {settings.place}: {said}")
    if status == 412:
        return NotAsExpected(f"{where}: {said}")
    if status == 416:
        return errors.EndOfFile(f"{where}: {said}")
    if status == 404:
        return errors.PathNotFound(f"File does not exist: {where}" if key else f"{where}: {said}")
    return errors.RemoteError(f"{where}: {said}")


def _inner(error: Exception) -> str:
    """What broke, in one line, without the URL of the request."""
    inner = getattr(error, "kwargs", {}).get("error", error)
    text = str(getattr(inner, "reason", None) or inner)
    return text.rpartition(">: ")[2].splitlines()[0] if text else type(inner).__name__


def _is_unknown_host(error: BaseException | None) -> bool:
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, socket.gaierror) or type(error).__name__ == "NameResolutionError":
            return True
        inner = getattr(error, "kwargs", {}).get("error")
        error = inner if isinstance(inner, BaseException) else error.__cause__ or error.__context__
        seen += 1
    return False
