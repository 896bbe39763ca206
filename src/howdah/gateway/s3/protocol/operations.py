"""The operations of S3: which request is which, and which of them are served.

A request is known by its method, by what it is about, and by parameters that select an operation
(`?uploads`, `?acl`), or the header of a copy. What is not served is here too, so that its refusal
has the name that clients and manuals call it by.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from howdah.gateway.s3.protocol import locks
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.requests import S3Request

COPY_SOURCE: Final = "x-amz-copy-source"


class Level(enum.Enum):
    """What an operation is about."""

    SERVICE = "service"
    BUCKET = "bucket"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, by the name that AWS calls it."""

    name: str
    method: str
    level: Level
    parameters: tuple[str, ...] = ()
    """Those that a request for it has, beside others."""
    is_copy: bool = False
    is_served: bool = True
    note: str = ""
    """What is particular here; of one that is not served, why."""

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.method in ("PUT", "POST", "DELETE")


_LOCKS: Final = "among requests of S3; who may delete files in HDFS may delete locked ones"
_CORS: Final = "for its owner; without rules of its own howdah.s3.cors.origins counts"
_RIGHTS: Final = "what others may do, as the permissions of HDFS say it"
_NO_SUCH_RIGHTS: Final = "permissions and ACLs are those of HDFS"


def _served() -> Iterator[Operation]:
    service, bucket, key = Level.SERVICE, Level.BUCKET, Level.OBJECT
    yield Operation("ListBuckets", "GET", service)
    yield Operation("HeadBucket", "HEAD", bucket)
    yield Operation("CreateBucket", "PUT", bucket, note="makes a directory below howdah.s3.root")
    yield Operation("DeleteBucket", "DELETE", bucket, note="an empty one")
    yield Operation("GetBucketAcl", "GET", bucket, ("acl",), note=_RIGHTS)
    yield Operation("PutBucketAcl", "PUT", bucket, ("acl",), note=_RIGHTS)
    for name, method in (("Get", "GET"), ("Put", "PUT"), ("Delete", "DELETE")):
        yield Operation(f"{name}BucketCors", method, bucket, ("cors",), note=_CORS)
    yield Operation("GetBucketLocation", "GET", bucket, ("location",))
    yield Operation("GetBucketVersioning", "GET", bucket, ("versioning",))
    yield Operation("PutBucketVersioning", "PUT", bucket, ("versioning",), note="for its owner")
    yield Operation("ListObjects", "GET", bucket)
    yield Operation("ListObjectsV2", "GET", bucket, ("list-type",))
    for method in ("GET", "PUT"):
        for name, level, parameter in (
            ("ObjectLockConfiguration", bucket, "object-lock"),
            ("ObjectLegalHold", key, "legal-hold"),
            ("ObjectRetention", key, "retention"),
        ):
            yield Operation(method.capitalize() + name, method, level, (parameter,), note=_LOCKS)
    yield Operation("ListObjectVersions", "GET", bucket, ("versions",))
    yield Operation("ListMultipartUploads", "GET", bucket, ("uploads",))
    yield Operation(
        "DeleteObjects", "POST", bucket, ("delete",), note="a directory is never deleted with it"
    )
    yield Operation(
        "PostObject",
        "POST",
        bucket,
        note="a form of a browser: its policy is signed by version 4 or 2",
    )
    yield Operation("GetObject", "GET", key, note="ranges, conditions, response-* parameters")
    yield Operation("HeadObject", "HEAD", key)
    yield Operation(
        "PutObject", "PUT", key, note="whole or not at all; a key with / makes a directory"
    )
    yield Operation("CopyObject", "PUT", key, is_copy=True, note="bytes go through the gateway")
    yield Operation("DeleteObject", "DELETE", key, note="a directory only if it is empty")
    yield Operation(
        "GetObjectAttributes",
        "GET",
        key,
        ("attributes",),
        note="parts, as they came",
    )
    yield Operation("GetObjectAcl", "GET", key, ("acl",), note=_RIGHTS)
    yield Operation("PutObjectAcl", "PUT", key, ("acl",), note=_RIGHTS)
    yield Operation("GetObjectTagging", "GET", key, ("tagging",))
    yield Operation("PutObjectTagging", "PUT", key, ("tagging",))
    yield Operation("DeleteObjectTagging", "DELETE", key, ("tagging",))
    yield Operation("CreateMultipartUpload", "POST", key, ("uploads",))
    yield Operation("UploadPart", "PUT", key, ("partNumber", "uploadId"))
    yield Operation("UploadPartCopy", "PUT", key, ("partNumber", "uploadId"), is_copy=True)
    yield Operation("CompleteMultipartUpload", "POST", key, ("uploadId",), note="by concat")
    yield Operation("AbortMultipartUpload", "DELETE", key, ("uploadId",))
    yield Operation("ListParts", "GET", key, ("uploadId",))


def _refused() -> Iterator[Operation]:
    for name, parameter, methods, why in (
        ("BucketAccelerateConfiguration", "accelerate", "GET PUT", "there is no such service"),
        ("BucketAnalyticsConfiguration", "analytics", "GET PUT DELETE", "there is no such service"),
        ("BucketEncryption", "encryption", "GET PUT DELETE", "HDFS has encryption zones"),
        (
            "BucketIntelligentTieringConfiguration",
            "intelligent-tiering",
            "GET PUT DELETE",
            "there is no such service",
        ),
        ("BucketInventoryConfiguration", "inventory", "GET PUT DELETE", "there is no such service"),
        ("BucketLifecycleConfiguration", "lifecycle", "GET PUT DELETE", "there is no such service"),
        ("BucketLogging", "logging", "GET PUT", "the gateway has an audit log"),
        ("BucketMetricsConfiguration", "metrics", "GET PUT DELETE", "there is no such service"),
        ("BucketNotificationConfiguration", "notification", "GET PUT", "HDFS has inotify"),
        ("BucketOwnershipControls", "ownershipControls", "GET PUT DELETE", _NO_SUCH_RIGHTS),
        ("BucketPolicy", "policy", "GET PUT DELETE", _NO_SUCH_RIGHTS),
        ("BucketPolicyStatus", "policyStatus", "GET", _NO_SUCH_RIGHTS),
        ("BucketReplication", "replication", "GET PUT DELETE", "there is howdah sync"),
        ("BucketRequestPayment", "requestPayment", "GET PUT", "there is no such service"),
        ("BucketTagging", "tagging", "GET PUT DELETE", "there is no such service"),
        ("BucketWebsite", "website", "GET PUT DELETE", "there is no such service"),
        ("PublicAccessBlock", "publicAccessBlock", "GET PUT DELETE", _NO_SUCH_RIGHTS),
    ):
        for method in methods.split():
            yield _refusal(name, method, Level.BUCKET, parameter, why)
    for name, parameter, methods, why in (
        ("ObjectTorrent", "torrent", "GET", "there is no such service"),
    ):
        for method in methods.split():
            yield _refusal(name, method, Level.OBJECT, parameter, why)
    for name, parameter, why in (
        ("RestoreObject", "restore", "there is no such service"),
        ("SelectObjectContent", "select", "there is no such service"),
    ):
        yield Operation(name, "POST", Level.OBJECT, (parameter,), is_served=False, note=why)


def _refusal(name: str, method: str, level: Level, parameter: str, why: str) -> Operation:
    return Operation(
        method.capitalize() + name, method, level, (parameter,), is_served=False, note=why
    )


OPERATIONS: Final = (*_served(), *_refused())


def operation_of(request: S3Request) -> Operation:
    """Return the operation that a request asks for. Raises Refused where it is none."""
    level = Level.OBJECT if request.key else Level.BUCKET if request.bucket else Level.SERVICE
    is_copy = request.method == "PUT" and COPY_SOURCE in request.headers
    matching = [
        operation
        for operation in OPERATIONS
        if operation.method == request.method
        and operation.level is level
        and operation.is_copy == is_copy
        and all(name in request.query for name in operation.parameters)
    ]
    if not matching:
        raise Refused(
            "MethodNotAllowed", f"{request.method} of a {level.value} is no operation of S3"
        )
    return max(matching, key=lambda each: len(each.parameters))


_OF_PARTS: Final = ("partNumber", "uploadId")
_VERSION: Final = "versionId"
_OF_VERSIONS: Final = frozenset(
    {
        "DeleteObject",
        "DeleteObjectTagging",
        "GetObject",
        "GetObjectAcl",
        "GetObjectAttributes",
        "GetObjectLegalHold",
        "GetObjectRetention",
        "GetObjectTagging",
        "HeadObject",
        "PutObjectAcl",
        "PutObjectLegalHold",
        "PutObjectRetention",
        "PutObjectTagging",
    }
)
"""Operations on one of several versions."""
_MAKING: Final = frozenset({"CopyObject", "CreateMultipartUpload", "PostObject", "PutObject"})
"""Operations that can give what they make a lock."""


def check_parameters(request: S3Request, operation: Operation) -> None:
    """Raises Refused for parameters by which a request would mean another operation than one that
    changes what is there: one of a part that lacks a parameter, or one that is not known here."""
    if request.text(_VERSION) not in ("", "null") and operation.name not in _OF_VERSIONS:
        raise Refused(
            "InvalidArgument",
            f"{operation.name} does not accept a version-id",
            ArgumentName=_VERSION,
        )
    if not operation.writes:
        return
    for name in request.headers:
        if name.startswith(locks.PREFIX) and operation.name not in _MAKING:
            raise Refused("InvalidArgument", f"{operation.name} has no {name}", ArgumentName=name)
    for name, value in request.query.items():
        if name in operation.parameters:
            continue
        if name in _OF_PARTS:
            raise Refused(
                "InvalidArgument",
                f"{operation.name} has no {name}: parts have {' and '.join(_OF_PARTS)}",
                ArgumentName=name,
            )
        if not value and name != "versionId" and not name.lower().startswith("x-"):
            raise Refused("NotImplemented", f"{request.method} with ?{name[:60]} is not supported")


def check_served(operation: Operation) -> None:
    """Raises Refused, with the operation's name, for one that is not served."""
    if not operation.is_served:
        raise Refused("NotImplemented", f"{operation.name} is not supported: {operation.note}")
