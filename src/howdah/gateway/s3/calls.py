"""What each operation of S3 does (shell). `CALLS` has them by their names."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.gateway.s3.body import Body
from howdah.gateway.s3.bucket_rules import BucketRules
from howdah.gateway.s3.buckets import Buckets
from howdah.gateway.s3.objects import Bucket, Deleted, Shared, Written, no_such_key, pieces_of
from howdah.gateway.s3.protocol import acls, conditions, cors, listing, locks, versions
from howdah.gateway.s3.protocol.acls import Others, others_of
from howdah.gateway.s3.protocol.checksums import BodySums
from howdah.gateway.s3.protocol.conditions import etag_of, http_time, iso_time
from howdah.gateway.s3.protocol.documents import (
    CONTENT_TYPE,
    Child,
    Element,
    document,
    parsed,
    url_encoded,
)
from howdah.gateway.s3.protocol.forms import Form
from howdah.gateway.s3.protocol.locks import Lock, Locking
from howdah.gateway.s3.protocol.metadata import (
    DIRECTORY_TYPE,
    MAX_PARTS,
    Metadata,
    check_supported,
    metadata_of,
    overrides,
    tags_of,
)
from howdah.gateway.s3.protocol.multipart import Part as UploadedPart
from howdah.gateway.s3.protocol.multipart import kind_of_upload, part_number, wanted_parts
from howdah.gateway.s3.protocol.names import Key, checked_key
from howdah.gateway.s3.protocol.operations import COPY_SOURCE
from howdah.gateway.s3.protocol.part_sums import ALGORITHM, TYPE, element_of, kind_of
from howdah.gateway.s3.protocol.policies import Lengths, headers_of_form, redirection
from howdah.gateway.s3.protocol.refusals import Refused, refused_by
from howdah.gateway.s3.protocol.requests import S3Request, decoded
from howdah.gateway.s3.protocol.signatures import Signed
from howdah.gateway.s3.protocol.tags import MAX_DOCUMENT_BYTES, tags_of_document
from howdah.gateway.s3.protocol.tags import children as children_of_tags
from howdah.gateway.s3.protocol.versions import ID_HEADER, MARKER_HEADER, Versioning
from howdah.gateway.s3.uploads import Sweeper, Uploads
from howdah.gateway.s3.versions import VersionedBucket
from howdah.web.channel import Channel
from howdah.web.http import Part, Response, part_wanted

OWNER: Final = "x-amz-expected-bucket-owner"
_SOURCE_ID: Final = "x-amz-copy-source-version-id"
SOURCE_OWNER: Final = "x-amz-source-expected-bucket-owner"
_MAX_DELETE_BYTES: Final = 4 << 20
_MAX_COMPLETE_BYTES: Final = 4 << 20
_MAX_CREATE_BYTES: Final = 64 << 10
_MAX_DELETED: Final = 1000
_MAX_UPLOADS: Final = 1000
_MAX_SHOWN_PARTS: Final = 1000
_MAX_BUCKETS: Final = 10_000
_RANGE: Final = re.compile(r"\s{0,9}bytes=\d{1,19}-\d{1,19}\s{0,9}\Z", re.ASCII)
_CONDITIONS: Final = {
    "ETag": "if-match",
    "LastModifiedTime": conditions.IF_MODIFIED_AT,
    "Size": conditions.IF_SIZE,
}
"""Headers of a deletion, by the elements that say the same for one of many."""
_ATTRIBUTES: Final = frozenset({"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"})


@dataclass(frozen=True, slots=True)
class Gateway:
    """What all calls have in common."""

    buckets: Buckets
    shared: Shared
    sweeper: Sweeper
    cors: BucketRules
    knows_everybody: bool = True
    """No request comes without a name."""


@dataclass(frozen=True, slots=True)
class PostedForm:
    """A form whose policy allows what it asks for; its file is not read yet."""

    form: Form
    fields: Mapping[str, str]
    lengths: Lengths


@dataclass(frozen=True, slots=True)
class Call:
    """One request, of a user who may ask."""

    gateway: Gateway
    fs: FileSystem
    user: str
    request: S3Request
    channel: Channel
    signed: Signed | None
    secret_key: str
    posted: PostedForm | None = None

    @property
    def key(self) -> Key:
        """Raises Refused."""
        return checked_key(self.request.key)

    @property
    def version(self) -> str:
        """The id of the version that it is about; empty for the current one."""
        return self.request.text("versionId")

    def body(self, *, has_sums: bool = True) -> Body:
        """The body of the request, which is not read yet; its headers may have sums of something
        else. Raises Refused."""
        return Body(self.channel, self.request, self.signed, self.secret_key, has_sums=has_sums)

    @property
    def others(self) -> Others | None:
        """What the request lets others do with what it makes. Raises Refused."""
        return others_of(self.request.headers, knows_everybody=self.gateway.knows_everybody)

    def metadata(self, checksum: Mapping[str, str] | None = None) -> Metadata:
        """What the request gives a new object. Raises Refused."""
        return metadata_of(self.request, checksum, self.others)

    def bucket(self, name: str | None = None) -> VersionedBucket:
        """The bucket of the request, or another one. Raises Refused."""
        name = self.request.bucket if name is None else name
        path = self.gateway.buckets.path(name)
        return VersionedBucket(self.fs, name, path, self.user, self.gateway.shared)


Answer = Response | None
"""None: the call has answered by itself."""


# Buckets.


def list_buckets(call: Call) -> Answer:
    request = call.request
    prefix, token = request.text("prefix"), request.text("continuation-token")
    after = _key_of_token(token) if token else ""
    most = request.number("max-buckets", _MAX_BUCKETS, least=1, most=_MAX_BUCKETS)
    found = [
        (name, status)
        for name, status in call.gateway.buckets.all(call.fs)
        if name.startswith(prefix) and name > after
    ]
    children: list[Child] = [
        (
            "Bucket",
            [("Name", name), ("CreationDate", iso_time(status.modification_time_ms))],
        )
        for name, status in found[:most]
    ]
    told: list[Child] = [("Owner", _owner(call.user)), ("Buckets", children)]
    if len(found) > most:
        told.append(("ContinuationToken", _token(found[most - 1][0])))
    if prefix:
        told.append(("Prefix", prefix))
    return _xml("ListAllMyBucketsResult", told)


def head_bucket(call: Call) -> Answer:
    call.gateway.buckets.existing(call.fs, call.request.bucket)
    return Response(200, {"x-amz-bucket-region": "us-east-1"})


def create_bucket(call: Call) -> Answer:
    if call.request.headers.get("content-length", "0") != "0" or (
        "transfer-encoding" in call.request.headers
    ):
        call.body().read(_MAX_CREATE_BYTES)
    is_locking = call.request.headers.get(locks.ENABLED, "").lower() == "true"
    if is_locking:
        call.bucket().check_may_have_versions()
    call.gateway.buckets.create(call.fs, call.request.bucket, call.user, call.others)
    bucket = call.bucket()
    call.gateway.shared.states.forget(bucket.path)
    if is_locking:
        bucket.set_versioning(Versioning.ENABLED)
        bucket.set_locking(Locking())
    return Response(200, {"Location": f"/{call.request.bucket}"})


def delete_bucket(call: Call) -> Answer:
    gateway = call.gateway
    gateway.buckets.delete(call.fs, call.request.bucket, call.user, gateway.shared.own_files)
    gateway.shared.states.forget(call.bucket().path)
    return Response(204)


def get_bucket_location(call: Call) -> Answer:
    call.gateway.buckets.existing(call.fs, call.request.bucket)
    return _xml("LocationConstraint", [])


def get_bucket_versioning(call: Call) -> Answer:
    call.gateway.buckets.existing(call.fs, call.request.bucket)
    return _xml("VersioningConfiguration", versions.children(call.bucket().versioning()))


def put_bucket_versioning(call: Call) -> Answer:
    wanted = versions.versioning_of_document(call.body().read(versions.MAX_DOCUMENT_BYTES))
    _check_own(call, call.gateway.buckets.existing(call.fs, call.request.bucket))
    call.bucket().set_versioning(wanted)
    return Response(200)


# Locks.


def get_object_lock_configuration(call: Call) -> Answer:
    call.gateway.buckets.existing(call.fs, call.request.bucket)
    locking = call.bucket().state().locking
    if locking is None:
        raise Refused(
            "ObjectLockConfigurationNotFoundError",
            "Object Lock configuration does not exist for this bucket",
            BucketName=call.request.bucket,
        )
    return _xml("ObjectLockConfiguration", locks.children_of_locking(locking))


def put_object_lock_configuration(call: Call) -> Answer:
    wanted = locks.locking_of_document(call.body().read(locks.MAX_DOCUMENT_BYTES))
    _check_own(call, call.gateway.buckets.existing(call.fs, call.request.bucket))
    call.bucket().set_locking(wanted)
    return Response(200)


def get_object_retention(call: Call) -> Answer:
    retention = _lock(call, call.bucket()).retention
    if retention is None:
        raise _without_lock()
    return _xml("Retention", locks.children_of_retention(retention))


def put_object_retention(call: Call) -> Answer:
    wanted = locks.retention_of_document(call.body().read(locks.MAX_DOCUMENT_BYTES))
    call.bucket().put_retention(call.key, call.version, wanted, call.request.headers)
    return Response(200)


def get_object_legal_hold(call: Call) -> Answer:
    lock = _lock(call, call.bucket())
    return _xml("LegalHold", [("Status", "ON" if lock.is_held else "OFF")])


def put_object_legal_hold(call: Call) -> Answer:
    wanted = locks.hold_of_document(call.body().read(locks.MAX_DOCUMENT_BYTES))
    call.bucket().put_hold(call.key, call.version, wanted)
    return Response(200)


def _lock(call: Call, bucket: VersionedBucket) -> Lock:
    """What locks the version that is asked for. Raises Refused where there is nothing."""
    bucket.check_lockable(call.key)
    lock = bucket.described(call.key, call.version)[1].lock
    if lock is None:
        raise _without_lock()
    return lock


def _without_lock() -> Refused:
    return Refused(
        "NoSuchObjectLockConfiguration",
        "The specified object does not have a ObjectLock configuration",
    )


# What pages of other servers may do.


def get_bucket_cors(call: Call) -> Answer:
    _check_own(call, call.gateway.buckets.existing(call.fs, call.request.bucket))
    rules = call.bucket().cors_rules()
    if rules is None:
        raise Refused(
            "NoSuchCORSConfiguration",
            "The CORS configuration does not exist",
            BucketName=call.request.bucket,
        )
    return _xml("CORSConfiguration", cors.children(rules))


def put_bucket_cors(call: Call) -> Answer:
    rules = cors.rules_of_document(call.body().read(cors.MAX_DOCUMENT_BYTES))
    _check_own(call, call.gateway.buckets.existing(call.fs, call.request.bucket))
    _set_cors_rules(call, rules)
    return Response(200)


def delete_bucket_cors(call: Call) -> Answer:
    _check_own(call, call.gateway.buckets.existing(call.fs, call.request.bucket))
    _set_cors_rules(call, ())
    return Response(204)


def _set_cors_rules(call: Call, rules: Sequence[cors.CorsRule]) -> None:
    try:
        call.bucket().set_cors_rules(rules)
    finally:
        call.gateway.cors.forget(call.request.bucket)


def _check_own(call: Call, status: FileStatus) -> None:
    """Raises Refused unless the bucket belongs to the user: to write to it is not enough."""
    if status.owner != call.user:
        raise Refused(
            "AccessDenied", f"Access Denied: the bucket {call.request.bucket} is {status.owner}'s"
        )


# What others may do.


def get_bucket_acl(call: Call) -> Answer:
    status = call.gateway.buckets.existing(call.fs, call.request.bucket)
    return _acl(call, status)


def get_object_acl(call: Call) -> Answer:
    return _acl(call, call.bucket().existing(call.key, call.version))


def _acl(call: Call, status: FileStatus) -> Response:
    found = acls.children(status, knows_everybody=call.gateway.knows_everybody)
    return _xml("AccessControlPolicy", found)


def put_bucket_acl(call: Call) -> Answer:
    status = call.gateway.buckets.existing(call.fs, call.request.bucket)
    others = _wanted_others(call, status)
    if others is not None:
        call.bucket().let_others(status, others)
    return Response(200)


def put_object_acl(call: Call) -> Answer:
    bucket = call.bucket()
    others = _wanted_others(call, bucket.existing(call.key, call.version))
    if others is not None:
        bucket.put_others(call.key, call.version, others)
    return Response(200)


def _wanted_others(call: Call, status: FileStatus) -> Others | None:
    """What a request lets others do with what is there. Raises Refused."""
    body = call.body().read(acls.MAX_DOCUMENT_BYTES)
    if acls.HEADER not in call.request.headers:
        return acls.others_of_document(body, status.owner)
    if body:
        raise Refused("UnexpectedContent", "This request does not support content")
    return call.others


# Listings.


def list_objects(call: Call) -> Answer:
    request = call.request
    marker = request.text("marker")
    page, shown = _page(call, marker)
    children: list[Child] = [("Marker", shown(marker))]
    if page.is_truncated and page.entries:
        children.append(("NextMarker", shown(page.entries[-1].key)))
    return _listed(call, page, shown, children, with_owner=True)


def list_objects_v2(call: Call) -> Answer:
    request = call.request
    if request.text("list-type") != "2":
        raise Refused("InvalidArgument", "list-type is 2", ArgumentName="list-type")
    token, start_after = request.query.get("continuation-token"), request.text("start-after")
    after = start_after if token is None else _key_of_token(token)
    page, shown = _page(call, after)
    children: list[Child] = [("KeyCount", str(len(page.entries)))]
    if token is not None:
        children.append(("ContinuationToken", token))
    if page.is_truncated and page.entries:
        children.append(("NextContinuationToken", _token(page.entries[-1].key)))
    if start_after:
        children.append(("StartAfter", shown(start_after)))
    with_owner = request.text("fetch-owner") == "true"
    return _listed(call, page, shown, children, with_owner=with_owner)


def list_object_versions(call: Call) -> Answer:
    request, bucket = call.request, call.bucket()
    marker, place = request.text("key-marker"), request.text("version-id-marker")
    if place and not marker:
        raise Refused(
            "InvalidArgument",
            "A version-id marker cannot be specified without a key marker.",
            ArgumentName="version-id-marker",
        )
    shown = _key_encoder(request)
    page = listing.list_versions(
        bucket.version_source(),
        bucket.versions_of,
        prefix=request.text("prefix"),
        delimiter=request.text("delimiter"),
        after=marker,
        place=place,
        max_keys=request.number("max-keys", listing.MAX_KEYS, most=listing.MAX_KEYS),
    )
    if not page.entries:
        bucket.check_exists()
    children: list[Child] = [("KeyMarker", shown(marker)), ("VersionIdMarker", place)]
    if page.is_truncated and page.entries:
        key, behind = page.next_marker
        children.append(("NextKeyMarker", shown(key)))
        if behind:
            children.append(("NextVersionIdMarker", behind))
    children = _of_listing(request, children, shown, is_truncated=page.is_truncated)
    for entry in page.entries:
        if not isinstance(entry, str):
            children.append(_version(entry, shown))
    prefixes = [entry for entry in page.entries if isinstance(entry, str)]
    children += [("CommonPrefixes", [("Prefix", shown(prefix))]) for prefix in prefixes]
    return _xml("ListVersionsResult", children)


def _version(version: listing.Version, shown: Callable[[str], str]) -> Child:
    fields: list[Child] = [("VersionId", version.id), ("IsLatest", _flag(version.is_latest))]
    if not version.is_marker:
        return "Version", fields + _contents(version.key, version.status, shown, with_owner=True)
    fields += [
        ("Key", shown(version.key)),
        ("LastModified", iso_time(version.status.modification_time_ms)),
        ("Owner", _owner(version.status.owner)),
    ]
    return "DeleteMarker", fields


def _page(call: Call, after: str) -> tuple[listing.Page, Callable[[str], str]]:
    """What is listed, and how keys are shown in it."""
    request, bucket = call.request, call.bucket()
    shown = _key_encoder(request)
    page = listing.list_page(
        bucket.source(),
        prefix=request.text("prefix"),
        delimiter=request.text("delimiter"),
        after=after,
        max_keys=request.number("max-keys", listing.MAX_KEYS, most=listing.MAX_KEYS),
    )
    if not page.entries:
        bucket.check_exists()
    return page, shown


def _key_encoder(request: S3Request) -> Callable[[str], str]:
    """How keys are shown in a listing. Raises Refused."""
    encoding = request.text("encoding-type")
    if encoding not in ("", "url"):
        raise Refused("InvalidArgument", "Invalid Encoding Method specified in Request")
    return url_encoded if encoding else str


def _of_listing(
    request: S3Request, children: list[Child], shown: Callable[[str], str], *, is_truncated: bool
) -> list[Child]:
    """What all listings say of themselves, with what one of them says."""
    found: list[Child] = [
        ("Name", request.bucket),
        ("Prefix", shown(request.text("prefix"))),
        *children,
        ("MaxKeys", str(request.number("max-keys", listing.MAX_KEYS, most=listing.MAX_KEYS))),
        ("IsTruncated", _flag(is_truncated)),
    ]
    if request.text("delimiter"):
        found.append(("Delimiter", shown(request.text("delimiter"))))
    if request.text("encoding-type"):
        found.append(("EncodingType", "url"))
    return found


def _listed(
    call: Call,
    page: listing.Page,
    shown: Callable[[str], str],
    children: list[Child],
    *,
    with_owner: bool,
) -> Response:
    children = _of_listing(call.request, children, shown, is_truncated=page.is_truncated)
    for entry in page.entries:
        if entry.status is not None:
            children.append(("Contents", _contents(entry.key, entry.status, shown, with_owner)))
    for entry in page.entries:
        if entry.status is None:
            children.append(("CommonPrefixes", [("Prefix", shown(entry.key))]))
    return _xml("ListBucketResult", children)


def _contents(
    key: str, status: FileStatus, shown: Callable[[str], str], with_owner: bool = False
) -> list[Child]:
    fields: list[Child] = [
        ("Key", shown(key)),
        ("LastModified", iso_time(status.modification_time_ms)),
        ("ETag", etag_of(status)),
        ("Size", str(0 if status.is_directory else status.length)),
        ("StorageClass", "STANDARD"),
    ]
    if with_owner:
        fields.append(("Owner", _owner(status.owner)))
    return fields


def _token(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()


def _key_of_token(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise Refused(
            "InvalidArgument",
            "The continuation token provided is incorrect",
            ArgumentName="continuation-token",
        ) from None


# Objects.


def get_object(call: Call) -> Answer:
    return _answer_object(call, with_body=True)


def head_object(call: Call) -> Answer:
    return _answer_object(call, with_body=False)


def _answer_object(call: Call, *, with_body: bool) -> Answer:
    bucket, key = call.bucket(), call.key
    if key.is_directory or not with_body:
        head = _head_of(call, bucket, *bucket.described(key, call.version))
        if head.status != 304:
            call.channel.begin(head.status, head.headers)
            call.channel.end()
            return None
        return head
    with bucket.opened(key, call.version) as found:
        size_bytes = found.status.length
        head = _head_of(call, bucket, found.status, found.metadata)
        if head.status == 304:
            return head
        sizes = found.metadata.parts.sizes(size_bytes)
        part = _part(call.request, found.status, sizes) or Part(0, size_bytes)
        call.channel.begin(head.status, head.headers)
        for piece in pieces_of(found.stream, part.offset, part.length_bytes):
            call.channel.send(piece)
    call.channel.end()
    return None


def _head_of(
    call: Call, bucket: VersionedBucket, status: FileStatus, metadata: Metadata
) -> Response:
    """The head of an answer about an object. Raises Refused."""
    request = call.request
    about = {"ETag": etag_of(status), "Last-Modified": http_time(status.modification_time_ms)}
    if conditions.check_reading(request.headers, status):
        return Response(304, about)
    about |= _id_header(bucket, metadata)
    sizes = metadata.parts.sizes(0 if status.is_directory else status.length)
    part = _part(request, status, sizes)
    with_checksum = request.headers.get("x-amz-checksum-mode", "").upper() == "ENABLED"
    shown = metadata.answer(with_checksum=with_checksum and part is None)
    size_bytes = 0 if status.is_directory else status.length
    if status.is_directory:
        shown["Content-Type"] = metadata.headers.get("content-type", DIRECTORY_TYPE)
    shown |= about
    shown |= {"Accept-Ranges": "bytes", "Content-Length": str(size_bytes), **_overrides(call)}
    if part is not None:
        last = part.offset + part.length_bytes - 1
        shown["Content-Length"] = str(part.length_bytes)
        shown["Content-Range"] = f"bytes {part.offset}-{last}/{size_bytes}"
    if "partNumber" in request.query:
        shown["x-amz-mp-parts-count"] = str(len(sizes) or 1)
        if with_checksum and metadata.parts.sums:
            shown |= metadata.part_checksum(part_number(request.text("partNumber")))
    return Response(200 if part is None else 206, shown)


def _id_header(bucket: VersionedBucket, metadata: Metadata) -> dict[str, str]:
    """The id of a version, in a bucket that has any."""
    if bucket.versioning() is Versioning.OFF:
        return {}
    return {ID_HEADER: metadata.version or versions.NULL}


def _overrides(call: Call) -> dict[str, str]:
    """What the answer says instead of what is kept. Raises Refused."""
    wanted = overrides(call.request)
    if wanted and call.signed is None:
        # Whoever makes others follow a link would choose what their browsers do with an object.
        raise Refused("InvalidRequest", "parameters response-… are for requests that are signed")
    return wanted


def _part(request: S3Request, status: FileStatus, sizes: Sequence[int]) -> Part | None:
    """The part that is asked for; None for all. `sizes` are those of the parts that it came in.
    Raises Refused."""
    size_bytes = 0 if status.is_directory else status.length
    if "partNumber" in request.query:
        number = part_number(request.text("partNumber"))
        if number > (len(sizes) or 1):
            raise Refused("InvalidPartNumber", "The requested partnumber is not satisfiable")
        if sizes and size_bytes:
            return Part(sum(sizes[: number - 1]), sizes[number - 1])
        return Part(0, size_bytes) if size_bytes else None
    if not conditions.may_be_part(request.headers, status):
        return None
    try:
        return part_wanted(request.headers.get("range"), size_bytes)
    except ValueError:
        raise Refused(
            "InvalidRange",
            "The requested range is not satisfiable",
            headers={"Content-Range": f"bytes */{size_bytes}"},
            RangeRequested=request.headers.get("range", "")[:100],
            ActualObjectSize=str(size_bytes),
        ) from None


def put_object(call: Call) -> Answer:
    request, bucket, key = call.request, call.bucket(), call.key
    body = call.body()
    if key.is_directory:
        if body.length_bytes:
            raise Refused(
                "InvalidArgument", "a key that ends in a slash is a directory, without bytes"
            )
        body.read(0)
        written = bucket.put_directory(key, request.headers, call.metadata())
    else:
        # What is wrong with it is said before the body comes.
        bucket.check_metadata(key, call.metadata())
        written = bucket.put(
            key, body.pieces(), request.headers, lambda: call.metadata(body.sums.header)
        )
        call.gateway.sweeper.sweep(bucket)
    return Response(200, {**_written(written), **body.sums.header})


def _written(written: Written) -> dict[str, str]:
    """What is said of an object that was made."""
    headers = {"ETag": etag_of(written.status)}
    return {**headers, ID_HEADER: written.version} if written.version else headers


def post_object(call: Call) -> Answer:
    posted = call.posted
    assert posted is not None, "who posts is known by a form"
    fields, key = posted.fields, checked_key(posted.fields["key"])
    if key.is_directory:
        raise Refused("InvalidArgument", "a key that ends in a slash is a directory, without bytes")
    request = replace(call.request, headers=headers_of_form(fields))
    check_supported(request)
    sums = BodySums(request.headers, None, None)
    metadata = replace(call, request=request).metadata()
    if "tagging" in fields:
        metadata = replace(metadata, tags=tags_of_document(fields["tagging"].encode()))
    bucket = call.bucket()
    bucket.check_metadata(key, metadata)
    written = bucket.put(
        key,
        _posted_pieces(posted, sums),
        {},
        lambda: replace(metadata, checksum=sums.header),
    )
    call.gateway.sweeper.sweep(bucket)
    etag = etag_of(written.status)
    location = f"/{call.request.bucket}/{url_encoded(key.text)}"
    headers = {**_written(written), "Location": location, **sums.header}
    target = redirection(fields, call.request.bucket, key.text, etag)
    if target:
        return Response(303, {**headers, "Location": target})
    wanted = fields.get("success_action_status")
    if wanted == "201":
        children: list[Child] = [
            ("Location", location),
            ("Bucket", call.request.bucket),
            ("Key", key.text),
            ("ETag", etag),
        ]
        return Response(
            201, {"Content-Type": CONTENT_TYPE, **headers}, document("PostResponse", children)
        )
    return Response(200 if wanted == "200" else 204, headers)


def _posted_pieces(posted: PostedForm, sums: BodySums) -> Iterator[bytes]:
    count = 0
    for piece in posted.form.file():
        count += len(piece)
        posted.lengths.check(count)
        sums.update(piece)
        yield piece
    posted.lengths.check_whole(count)
    sums.check({})


def get_object_attributes(call: Call) -> Answer:
    bucket, key = call.bucket(), call.key
    names = call.request.headers.get("x-amz-object-attributes", "")
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    if not wanted or not wanted <= _ATTRIBUTES:
        raise Refused(
            "InvalidArgument",
            f"x-amz-object-attributes names some of {', '.join(sorted(_ATTRIBUTES))}",
            ArgumentName="x-amz-object-attributes",
        )
    status, metadata = bucket.described(key, call.version)
    conditions.check_reading(call.request.headers, status)
    children: list[Child] = []
    if "ETag" in wanted:
        children.append(("ETag", etag_of(status).strip('"')))
    if "Checksum" in wanted and metadata.checksum:
        sums: list[Child] = [(element_of(name), value) for name, value in metadata.checksum.items()]
        children.append(("Checksum", [*sums, ("ChecksumType", metadata.checksum_type)]))
    sizes = metadata.parts.sizes(0 if status.is_directory else status.length)
    if "ObjectParts" in wanted and sizes:
        children.append(("ObjectParts", _object_parts(call.request, metadata, sizes)))
    if "StorageClass" in wanted:
        children.append(("StorageClass", "STANDARD"))
    if "ObjectSize" in wanted:
        children.append(("ObjectSize", str(0 if status.is_directory else status.length)))
    return _xml(
        "GetObjectAttributesOutput",
        children,
        {
            "Last-Modified": http_time(status.modification_time_ms),
            **_id_header(bucket, metadata),
        },
    )


def _object_parts(request: S3Request, metadata: Metadata, sizes: Sequence[int]) -> list[Child]:
    """Of the parts that an object came in, those that are asked for. Raises Refused."""
    after = request.header_number("x-amz-part-number-marker", 0, most=MAX_PARTS)
    most = request.header_number("x-amz-max-parts", _MAX_SHOWN_PARTS, most=_MAX_SHOWN_PARTS)
    numbers = range(1, len(sizes) + 1)[after : after + most]
    element = next(map(element_of, metadata.checksum), "")
    children: list[Child] = [
        ("TotalPartsCount", str(len(sizes))),
        ("PartsCount", str(len(sizes))),
        ("PartNumberMarker", str(after)),
        ("NextPartNumberMarker", str(numbers[-1] if numbers else 0)),
        ("MaxParts", str(most)),
        ("IsTruncated", _flag(after + most < len(sizes))),
    ]
    for number in numbers:
        fields: list[Child] = [("PartNumber", str(number)), ("Size", str(sizes[number - 1]))]
        if element and metadata.parts.sums:
            fields.append((element, metadata.parts.sums[number - 1]))
        children.append(("Part", fields))
    return children


# Tags.


def get_object_tagging(call: Call) -> Answer:
    bucket = call.bucket()
    _, metadata = bucket.described(call.key, call.version)
    return _xml("Tagging", children_of_tags(metadata.tags), _id_header(bucket, metadata))


def put_object_tagging(call: Call) -> Answer:
    wanted = tags_of_document(call.body().read(MAX_DOCUMENT_BYTES))
    return Response(200, _tagged(call, wanted))


def delete_object_tagging(call: Call) -> Answer:
    return Response(204, _tagged(call, {}))


def _tagged(call: Call, wanted: Mapping[str, str]) -> dict[str, str]:
    """Give a version these tags; return the header that says which one it is."""
    version = call.bucket().put_tags(call.key, call.version, wanted)
    return {ID_HEADER: version} if version else {}


# Deletions.


def delete_object(call: Call) -> Answer:
    deleted = call.bucket().delete(call.key, call.request.headers, call.version)
    headers = {ID_HEADER: deleted.version} if deleted.version else {}
    if deleted.is_marker:
        headers[MARKER_HEADER] = "true"
    return Response(204, headers)


def delete_objects(call: Call) -> Answer:
    wanted = parsed(call.body().read(_MAX_DELETE_BYTES), "Delete")
    keys = list(wanted.all("Object"))
    if not 1 <= len(keys) <= _MAX_DELETED:
        raise Refused("MalformedXML", f"it names 1 to {_MAX_DELETED} objects")
    bucket, is_quiet = call.bucket(), (wanted.value("Quiet") or "").lower() == "true"
    bucket.check_exists()
    children: list[Child] = []
    for element in keys:
        # Blanks around a key are part of it.
        name = next((child.text for child in element.all("Key")), "")
        version = element.value("VersionId") or ""
        try:
            deleted = _delete_one(call, bucket, name, version, element)
        except Refused as refused:
            children.append(("Error", _error_of_key(name, version, refused)))
        except errors.HowdahError as error:
            children.append(("Error", _error_of_key(name, version, refused_by(error))))
        else:
            if not is_quiet:
                children.append(("Deleted", _deleted(name, version, deleted)))
    return _xml("DeleteResult", children)


def _delete_one(call: Call, bucket: Bucket, name: str, version: str, element: Element) -> Deleted:
    wanted = {header: element.value(name) for name, header in _CONDITIONS.items()}
    wanted[locks.BYPASS] = call.request.headers.get(locks.BYPASS)
    headers = {header: value for header, value in wanted.items() if value is not None}
    return bucket.delete(checked_key(name), headers, version)


def _deleted(name: str, version: str, deleted: Deleted) -> list[Child]:
    fields: list[Child] = [("Key", name)]
    if version:
        fields.append(("VersionId", version))
    if deleted.is_marker:
        fields += [("DeleteMarker", _flag(True)), ("DeleteMarkerVersionId", deleted.version)]
    return fields


def _error_of_key(name: str, version: str, refused: Refused) -> list[Child]:
    fields: list[Child] = [("Key", name), ("Code", refused.code), ("Message", refused.message)]
    return [*fields, ("VersionId", version)] if version else fields


# Copies.


def copy_object(call: Call) -> Answer:
    request, key = call.request, call.key
    source_bucket, source_key, version = _source(call)
    replaces = _replaces(request, "x-amz-metadata-directive")
    replaces_tags = _replaces(request, "x-amz-tagging-directive")
    target = call.bucket()
    is_same = (target.path, key.text, "") == (source_bucket.path, source_key.text, version)
    if is_same and not replaces and not replaces_tags:
        raise Refused(
            "InvalidRequest",
            "This copy request is illegal because it is trying to copy an object to itself without "
            "changing the object's metadata.",
        )
    if source_key.is_directory or key.is_directory:
        written = _copy_directory(call, source_bucket, source_key, target, key)
        copied: dict[str, str] = {}
    else:
        with source_bucket.opened(source_key, version) as found:
            conditions.check_copying(request.headers, found.status)
            copied = _source_header(source_bucket, found.metadata)
            metadata = kept = found.metadata.of_copy()
            if replaces:
                metadata = call.metadata(kept.checksum)
            metadata = replace(
                metadata,
                tags=tags_of(request) if replaces_tags else kept.tags,
                others=call.others,
                lock=locks.lock_of_headers(request.headers),
            )
            target.check_metadata(key, metadata)
            written = target.put(
                key,
                pieces_of(found.stream, 0, found.status.length),
                _own(request),
                lambda: metadata,
            )
    if written.version:
        copied[ID_HEADER] = written.version
    return _copied("CopyObjectResult", written.status, etag_of(written.status), copied)


def _source_header(bucket: VersionedBucket, metadata: Metadata) -> dict[str, str]:
    """The id of the version that was copied."""
    found = _id_header(bucket, metadata)
    return {_SOURCE_ID: found[ID_HEADER]} if found else {}


def _replaces(request: S3Request, name: str) -> bool:
    """Whether a copy has something of its own instead of its source's. Raises Refused."""
    directive = request.headers.get(name, "COPY").upper()
    if directive not in ("COPY", "REPLACE"):
        raise Refused("InvalidArgument", f"{name} is COPY or REPLACE", ArgumentName=name)
    return directive == "REPLACE"


def _copy_directory(
    call: Call, source_bucket: Bucket, source_key: Key, target: Bucket, key: Key
) -> Written:
    found = source_bucket.existing(source_key)
    conditions.check_copying(call.request.headers, found)
    if not (source_key.is_directory and key.is_directory):
        raise Refused("InvalidArgument", "a directory is copied to a key that ends in a slash")
    lock = locks.lock_of_headers(call.request.headers)
    return target.put_directory(key, _own(call.request), Metadata(lock=lock))


def upload_part_copy(call: Call) -> Answer:
    request, key = call.request, call.key
    number = part_number(request.text("partNumber"))
    source_bucket, source_key, version = _source(call)
    uploads = Uploads(call.bucket())
    uploads.check(key, request.text("uploadId"))
    if source_key.is_directory:
        raise no_such_key(source_key)
    with source_bucket.opened(source_key, version) as found:
        conditions.check_copying(request.headers, found.status)
        range_header = request.headers.get("x-amz-copy-source-range")
        part = _source_part(range_header, found.status.length)
        copied = _source_header(source_bucket, found.metadata)
        pieces = pieces_of(found.stream, part.offset, part.length_bytes)
        added = uploads.add(key, request.text("uploadId"), number, pieces)
    return _copied("CopyPartResult", added.status, added.etag, copied)


def _source_part(header: str | None, size_bytes: int) -> Part:
    if header is None:
        return Part(0, size_bytes)
    try:
        part = part_wanted(header, size_bytes)
    except ValueError:
        part = None
    last = header.rpartition("-")[2].strip()
    if last.isdigit() and len(last) < 20 and _RANGE.match(header) and int(last) >= size_bytes:
        raise Refused(
            "InvalidRange",
            f"The requested range is not satisfiable: the source has {size_bytes} bytes",
            ActualObjectSize=str(size_bytes),
        )
    if part is None or not _RANGE.match(header):
        raise Refused(
            "InvalidArgument",
            "The x-amz-copy-source-range value must be of the form bytes=first-last where first "
            "and last are the zero-based offsets of the first and last bytes to copy, of "
            f"{size_bytes}",
        )
    return part


def _source(call: Call) -> tuple[VersionedBucket, Key, str]:
    """The object that is copied, and the id of its version. Raises Refused."""
    text, _, version = call.request.header(COPY_SOURCE).partition("?versionId=")
    bucket, slash, key = decoded(text.removeprefix("/")).partition("/")
    if not slash or not bucket or not key:
        raise Refused(
            "InvalidArgument", "x-amz-copy-source is BUCKET/KEY", ArgumentName=COPY_SOURCE
        )
    expected = call.request.headers.get(SOURCE_OWNER)
    if expected is not None:
        call.gateway.buckets.check_owner(call.fs, bucket, expected)
    return call.bucket(bucket), checked_key(key), version


def _own(request: S3Request) -> dict[str, str]:
    """The conditions of a copy that are about its target."""
    names = ("if-match", "if-none-match")
    return {name: request.headers[name] for name in names if name in request.headers}


def _copied(root: str, status: FileStatus, etag: str, headers: Mapping[str, str]) -> Response:
    children: list[Child] = [
        ("LastModified", iso_time(status.modification_time_ms)),
        ("ETag", etag),
    ]
    return _xml(root, children, headers)


# Uploads in parts.


def create_multipart_upload(call: Call) -> Answer:
    request, bucket, key = call.request, call.bucket(), call.key
    if key.is_directory:
        raise Refused("InvalidArgument", "a key that ends in a slash is a directory, without bytes")
    metadata, kind = call.metadata(), kind_of(request.headers)
    bucket.check_metadata(key, metadata)
    upload = Uploads(bucket).begin(key, metadata, kind)
    call.gateway.sweeper.sweep(bucket)
    headers = {} if kind is None else {ALGORITHM: kind.algorithm.upper(), TYPE: kind.type.value}
    return _xml(
        "InitiateMultipartUploadResult",
        [("Bucket", request.bucket), ("Key", key.text), ("UploadId", upload)],
        headers,
    )


def upload_part(call: Call) -> Answer:
    request = call.request
    number = part_number(request.text("partNumber"))
    uploads, body = Uploads(call.bucket()), call.body()
    uploads.check(call.key, request.text("uploadId"))
    text = request.text("uploadId")
    part = uploads.add(call.key, text, number, body.pieces())
    return Response(200, {"ETag": part.etag, **body.sums.header, **_sum_header(text, part)})


def _sum_header(text: str, part: UploadedPart) -> dict[str, str]:
    kind = kind_of_upload(text)
    return {} if kind is None else {kind.header: base64.b64encode(part.sum).decode()}


def complete_multipart_upload(call: Call) -> Answer:
    request, key = call.request, call.key
    wanted = wanted_parts(call.body(has_sums=False).read(_MAX_COMPLETE_BYTES))
    bucket = call.bucket()
    written = Uploads(bucket).complete(key, request.text("uploadId"), wanted, request.headers)
    status = written.status
    children: list[Child] = [
        ("Location", f"/{request.bucket}/{url_encoded(key.text)}"),
        ("Bucket", request.bucket),
        ("Key", key.text),
        ("ETag", etag_of(status)),
    ]
    metadata = written.metadata
    if kind_of_upload(request.text("uploadId")) is not None and metadata is not None:
        children += [(element_of(name), value) for name, value in metadata.checksum.items()]
        children.append(("ChecksumType", metadata.checksum_type))
    headers = {ID_HEADER: written.version} if written.version else {}
    return _xml("CompleteMultipartUploadResult", children, headers)


def abort_multipart_upload(call: Call) -> Answer:
    Uploads(call.bucket()).abort(call.key, call.request.text("uploadId"))
    return Response(204)


def list_parts(call: Call) -> Answer:
    request, key = call.request, call.key
    text = request.text("uploadId")
    after = request.number("part-number-marker", 0, most=MAX_PARTS)
    most = request.number("max-parts", 1000, most=1000)
    there = Uploads(call.bucket()).parts(key, text)
    numbers = [number for number in there if number > after]
    shown = numbers[:most]
    children: list[Child] = [
        ("Bucket", request.bucket),
        ("Key", key.text),
        ("UploadId", text),
        ("Initiator", _owner(call.user)),
        ("Owner", _owner(call.user)),
        ("StorageClass", "STANDARD"),
        ("PartNumberMarker", str(after)),
        ("NextPartNumberMarker", str(shown[-1] if shown else 0)),
        ("MaxParts", str(most)),
        ("IsTruncated", _flag(len(shown) < len(numbers))),
    ]
    kind = kind_of_upload(text)
    if kind is not None:
        children.append(("ChecksumAlgorithm", kind.algorithm.upper()))
        children.append(("ChecksumType", kind.type.value))
    for number in shown:
        part = there[number]
        fields: list[Child] = [
            ("PartNumber", str(number)),
            ("LastModified", iso_time(part.status.modification_time_ms)),
            ("ETag", part.etag),
            ("Size", str(part.status.length)),
        ]
        if kind is not None:
            fields.append((kind.element, base64.b64encode(part.sum).decode()))
        children.append(("Part", fields))
    return _xml("ListPartsResult", children)


def list_multipart_uploads(call: Call) -> Answer:
    request, bucket = call.request, call.bucket()
    bucket.check_exists()
    prefix, marker = request.text("prefix"), request.text("key-marker")
    if request.text("delimiter"):
        raise Refused("NotImplemented", "delimiter of ListMultipartUploads is not supported")
    most = request.number("max-uploads", _MAX_UPLOADS, most=_MAX_UPLOADS)
    after = (marker, request.text("upload-id-marker"))
    found = [
        upload
        for upload in Uploads(bucket).all(prefix)
        if not marker or _is_behind((upload.key, upload.id), after)
    ]
    shown = found[:most]
    children: list[Child] = [
        ("Bucket", request.bucket),
        ("KeyMarker", marker),
        ("UploadIdMarker", after[1]),
        ("Prefix", prefix),
        ("MaxUploads", str(most)),
        ("IsTruncated", _flag(len(shown) < len(found))),
    ]
    if len(shown) < len(found) and shown:
        children += [("NextKeyMarker", shown[-1].key), ("NextUploadIdMarker", shown[-1].id)]
    for upload in shown:
        children.append(
            (
                "Upload",
                [
                    ("Key", upload.key),
                    ("UploadId", upload.id),
                    ("Initiator", _owner(call.user)),
                    ("Owner", _owner(call.user)),
                    ("StorageClass", "STANDARD"),
                    ("Initiated", iso_time(upload.begun_ms)),
                ],
            )
        )
    return _xml("ListMultipartUploadsResult", children)


def _is_behind(upload: tuple[str, str], marker: tuple[str, str]) -> bool:
    return upload > marker if marker[1] else upload[0] > marker[0]


# Documents.


def _owner(user: str) -> list[Child]:
    return [("ID", user), ("DisplayName", user)]


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _xml(root: str, children: list[Child], headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        200, {"Content-Type": CONTENT_TYPE, **(headers or {})}, document(root, children)
    )


CALLS: Final[Mapping[str, Callable[[Call], Answer]]] = {
    "AbortMultipartUpload": abort_multipart_upload,
    "CompleteMultipartUpload": complete_multipart_upload,
    "CopyObject": copy_object,
    "CreateBucket": create_bucket,
    "CreateMultipartUpload": create_multipart_upload,
    "DeleteBucket": delete_bucket,
    "DeleteObject": delete_object,
    "DeleteObjectTagging": delete_object_tagging,
    "DeleteObjects": delete_objects,
    "DeleteBucketCors": delete_bucket_cors,
    "GetBucketAcl": get_bucket_acl,
    "GetBucketCors": get_bucket_cors,
    "GetBucketLocation": get_bucket_location,
    "GetBucketVersioning": get_bucket_versioning,
    "GetObject": get_object,
    "GetObjectAcl": get_object_acl,
    "GetObjectLegalHold": get_object_legal_hold,
    "GetObjectLockConfiguration": get_object_lock_configuration,
    "GetObjectRetention": get_object_retention,
    "GetObjectAttributes": get_object_attributes,
    "GetObjectTagging": get_object_tagging,
    "HeadBucket": head_bucket,
    "HeadObject": head_object,
    "ListBuckets": list_buckets,
    "ListMultipartUploads": list_multipart_uploads,
    "ListObjectVersions": list_object_versions,
    "ListObjects": list_objects,
    "ListObjectsV2": list_objects_v2,
    "ListParts": list_parts,
    "PostObject": post_object,
    "PutBucketAcl": put_bucket_acl,
    "PutBucketCors": put_bucket_cors,
    "PutBucketVersioning": put_bucket_versioning,
    "PutObject": put_object,
    "PutObjectAcl": put_object_acl,
    "PutObjectLegalHold": put_object_legal_hold,
    "PutObjectLockConfiguration": put_object_lock_configuration,
    "PutObjectRetention": put_object_retention,
    "PutObjectTagging": put_object_tagging,
    "UploadPart": upload_part,
    "UploadPartCopy": upload_part_copy,
}
