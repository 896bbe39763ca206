"""Refusals in S3's words: codes, their statuses, and what they are made of.

A code says what a client does next: it tries again after `ServiceUnavailable`, goes on after
`NoSuchKey`, and takes `PreconditionFailed` for the answer that it asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from howdah import errors

STATUSES: Final[Mapping[str, int]] = {
    "AccessDenied": 403,
    "AccessForbidden": 403,
    "AuthorizationHeaderMalformed": 400,
    "AuthorizationQueryParametersError": 400,
    "BadDigest": 400,
    "BadRequest": 400,
    "BucketAlreadyExists": 409,
    "BucketAlreadyOwnedByYou": 409,
    "BucketNotEmpty": 409,
    "EntityTooLarge": 400,
    "EntityTooSmall": 400,
    "ExistingObjectIsDirectory": 409,
    "ExistingObjectIsFile": 409,
    "IncompleteBody": 400,
    "InsufficientStorage": 507,
    "InternalError": 500,
    "InvalidAccessKeyId": 403,
    "InvalidArgument": 400,
    "InvalidBucketName": 400,
    "InvalidBucketState": 409,
    "InvalidDigest": 400,
    "InvalidPart": 400,
    "InvalidPartNumber": 416,
    "InvalidPartOrder": 400,
    "InvalidPolicyDocument": 400,
    "InvalidRange": 416,
    "InvalidRequest": 400,
    "InvalidStorageClass": 400,
    "InvalidTag": 400,
    "InvalidToken": 400,
    "InvalidURI": 400,
    "KeyTooLongError": 400,
    "MalformedACLError": 400,
    "MalformedPOSTRequest": 400,
    "MalformedXML": 400,
    "MaxMessageLengthExceeded": 400,
    "MaxPostPreDataLengthExceededError": 400,
    "MetadataTooLarge": 400,
    "MethodNotAllowed": 405,
    "MissingContentLength": 411,
    "NoSuchBucket": 404,
    "NoSuchCORSConfiguration": 404,
    "NoSuchKey": 404,
    "NoSuchObjectLockConfiguration": 404,
    "NoSuchUpload": 404,
    "NoSuchVersion": 404,
    "NotImplemented": 501,
    "ObjectLockConfigurationNotFoundError": 404,
    "PreconditionFailed": 412,
    "QuotaExceeded": 403,
    "RequestTimeTooSkewed": 403,
    "ServiceUnavailable": 503,
    "SignatureDoesNotMatch": 403,
    "UnexpectedContent": 400,
    "XAmzContentSHA256Mismatch": 400,
}


class Refused(Exception):
    """A request that is not done, with one of the codes of `STATUSES`."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        **fields: str,
    ) -> None:
        """`fields` are further elements of the answer, by their names."""
        super().__init__(message)
        self.code = code
        self.status = STATUSES[code]
        self.message = message
        self.headers = headers or {}
        self.fields = fields


@dataclass(frozen=True, slots=True)
class _Translation:
    kind: type[errors.HowdahError]
    code: str
    headers: Mapping[str, str]


_COME_AGAIN: Final = {"Retry-After": "3"}
_TRANSLATIONS: Final = tuple(
    _Translation(kind, code, _COME_AGAIN if code == "ServiceUnavailable" else {})
    for kind, code in (
        # The first that fits counts: subclasses stand before their classes.
        (errors.PathThroughFile, "ExistingObjectIsFile"),
        (errors.PathNotFound, "NoSuchKey"),
        (errors.AccessDenied, "AccessDenied"),
        (errors.AuthorizationFailed, "AccessDenied"),
        (errors.PathIsDirectory, "ExistingObjectIsDirectory"),
        (errors.PathExists, "PreconditionFailed"),
        (errors.ParentNotDirectory, "ExistingObjectIsFile"),
        (errors.PathIsNotDirectory, "ExistingObjectIsFile"),
        (errors.QuotaExceeded, "QuotaExceeded"),
        (errors.PathComponentTooLong, "KeyTooLongError"),
        (errors.InvalidPath, "InvalidArgument"),
        (errors.IllegalArgument, "InvalidArgument"),
        (errors.UnsupportedOperation, "NotImplemented"),
        (errors.NoDatanodes, "InsufficientStorage"),
        (errors.DiskOutOfSpace, "InsufficientStorage"),
        (errors.SafeMode, "ServiceUnavailable"),
        (errors.RetriableError, "ServiceUnavailable"),
        (errors.StandbyError, "ServiceUnavailable"),
        (errors.NoNamenodes, "ServiceUnavailable"),
        (errors.Unreachable, "ServiceUnavailable"),
        (errors.CallTimeout, "ServiceUnavailable"),
    )
)


def refused_by(error: errors.HowdahError) -> Refused:
    """Return what a filesystem's error is to a client of S3.

    >>> refused_by(errors.PathNotFound("File does not exist: /b/k")).code
    'NoSuchKey'
    """
    message = str(error) or type(error).__name__
    for translation in _TRANSLATIONS:
        if isinstance(error, translation.kind):
            return Refused(translation.code, message, headers=translation.headers)
    return Refused("InternalError", message)
