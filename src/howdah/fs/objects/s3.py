"""A store that speaks S3's protocol (shell).

Through botocore, Amazon's own client: it signs, knows the rules of hosts and regions, and
gives every request of the protocol with all its conditions, one call for one request.
(obstore, which wraps Rust's object_store, offers no uploads whose parts the caller holds, no
list of unfinished uploads and no copy of a part, and its threads don't outlive a fork; s3fs
and aiobotocore are botocore under an event loop, which howdah's client has none of.)

How a request gets there, and which ones do without botocore, is `amazon.connection`.

botocore makes each request once; `retrying` makes it again. Checksums are CRC32C of the whole
object, joined from those of its parts: the store checks them, and they compare with the
composite CRCs of HDFS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import unquote_plus

from howdah import errors
from howdah.fs.objects.amazon import field_codec
from howdah.fs.objects.http_client import Answer, check_range
from howdah.fs.objects.names import MAX_KEY_BYTES
from howdah.fs.objects.retrying import Failed
from howdah.fs.objects.settings import Settings
from howdah.fs.objects.store import (
    Body,
    NotDeleted,
    ObjectInfo,
    ObjectStore,
    Page,
    Part,
    Reading,
    Stored,
    Upload,
    crc_of_body,
    deleted_alone,
    in_one,
    joined_crc32c,
    onward,
    within,
)
from howdah.fs.paths import printable

try:
    from botocore.exceptions import ClientError

    from howdah.fs.objects.amazon.connection import PAGE, AnswerBody, Connection
    from howdah.fs.objects.amazon.http_requests import HttpRequests
    from howdah.fs.objects.failures import no_store, translated
except ImportError as error:
    raise errors.UnsupportedOperation(
        f"s3:// needs botocore, as howdah[s3] has it: {error}"
    ) from error

T = TypeVar("T")
_DIRECTORY_BUCKET: Final = "--x-s3"
"""How names of buckets end that Amazon calls directory buckets: they sort nothing."""
_IS_GONE: Final = ("NoSuchKey", "NoSuchVersion")
_STATUS_OF_ONE: Final = {
    "AccessDenied": 403,
    "InternalError": 500,
    "ServiceUnavailable": 503,
    "SlowDown": 503,
}
"""One object of many has a code, and no status."""
_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters of a key that a list in XML cannot have."""


class S3Store:
    """Stores objects in one bucket of an S3. Thread-safe, and usable in a forked child."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connection = Connection(settings)
        self._bucket = settings.bucket

    def __repr__(self) -> str:
        return f"S3Store({self._settings.location}, {self._bucket})"

    @property
    def calls(self) -> int:
        return self._connection.calls

    @property
    def sorts_keys(self) -> bool:
        return not self._bucket.endswith(_DIRECTORY_BUCKET)

    @property
    def bucket(self) -> str:
        return self._bucket

    @property
    def sums_copies(self) -> bool:
        return self._settings.with_checksums

    @property
    def keeps_etags(self) -> bool:
        return True

    def why_not_copied_from(self, other: ObjectStore) -> str | None:
        if not isinstance(other, S3Store):
            return "they are stores of two kinds"
        return self._settings.why_not_copied_from(other._settings)

    def close(self) -> None:
        self._connection.close()

    def _call(
        self,
        operation: str,
        key: str | None,
        ask: Callable[[Any], T],
        quickly: Callable[[HttpRequests], T] | None = None,
    ) -> T:
        """Make a request, with botocore or by `quickly` without it, and return its result."""
        return self._connection.call(operation, key, ask, quickly)

    # --- one object ---------------------------------------------------------------------

    def head(self, key: str) -> ObjectInfo:
        more = self._with_checksum()

        def head() -> Any:
            return self._call(
                "HEAD",
                key,
                lambda s3: s3.head_object(Bucket=self._bucket, Key=key, **more),
                lambda quick: quick.head(key, more),
            )

        try:
            response = head()
        except (errors.AccessDenied, errors.RemoteError):
            # An answer to HEAD has no room for a reason, or for the bucket's region.
            self.list_page(key, delimiter=False, limit=1)
            response = head()
        return self._info(key, response)

    def _info(self, key: str, response: Any) -> ObjectInfo:
        if not field_codec.etag(response):
            # A page of some web server, which has one for every name.
            raise no_store(self._settings, printable(f"s3://{self._bucket}/{key}"))
        return ObjectInfo(
            key=key,
            length=int(response["ContentLength"]),
            modified_ms=field_codec.ms(response.get("LastModified")),
            etag=field_codec.etag(response),
            version_id=field_codec.version(response),
            crc32c=field_codec.crc_of(response),
            writer=response.get("Metadata", {}).get(field_codec.WRITER),
            described=field_codec.described(response),
        )

    def _with_checksum(self) -> dict[str, str]:
        return {"ChecksumMode": "ENABLED"} if self._settings.with_checksums else {}

    def head_and_get(self, key: str) -> tuple[ObjectInfo, Reading | None]:
        """Read the whole object with its description, since Amazon sends no checksum for a range.
        Through botocore, which would compare the checksum itself, only request the description."""
        answer: tuple[Any, Reading] | None = None
        if self._connection.is_quick:
            answer = self._call(
                "GET",
                key,
                lambda _: None,
                lambda quick: quick.head_and_get(key, self._with_checksum()),
            )
        if answer is None:
            return self.head(key), None
        response, reading = answer
        try:
            return self._info(key, response), reading
        except errors.HowdahError:
            reading.close(0)
            raise

    def get(
        self, key: str, start: int, end: int, *, etag: str | None, version_id: str | None
    ) -> tuple[Reading, str]:
        more: dict[str, str] = {}
        if etag is not None:
            more["IfMatch"] = f'"{etag}"'
        if version_id is not None:
            more["VersionId"] = version_id

        def get(s3: Any) -> tuple[Reading, str]:
            response = s3.get_object(
                Bucket=self._bucket, Key=key, Range=f"bytes={start}-{end - 1}", **more
            )
            reading = AnswerBody(self._settings, key, response["Body"])
            meta = response["ResponseMetadata"]
            answer = Answer(meta["HTTPStatusCode"], meta["HTTPHeaders"], b"")
            try:
                check_range(answer, start, end, printable(f"s3://{self._bucket}/{key}"))
            except errors.ProtocolViolation:
                reading.close(0)
                raise
            return reading, field_codec.etag(response)

        def quickly(quick: HttpRequests) -> tuple[Reading, str]:
            return quick.get(key, start, end, more)

        return self._call("GET", key, get, quickly)

    def put(self, key: str, body: Body, *, exclusive: bool, writer: str | None) -> Stored:
        its_crc = self._crc_of(body)
        more: dict[str, Any] = {
            **self._condition(exclusive),
            **field_codec.metadata(writer),
            **field_codec.sent(its_crc),
        }
        if self._settings.content_encoding and not key.endswith("/"):
            more["ContentEncoding"] = self._settings.content_encoding
        response = self._call(
            "PUT",
            key,
            lambda s3: s3.put_object(Bucket=self._bucket, Key=key, Body=in_one(body), **more),
            lambda quick: quick.put(key, more, body),
        )
        etag = field_codec.etag(response) or self._etag_of_made(key, len(body), writer)
        return Stored(etag, field_codec.version(response), its_crc)

    def _etag_of_made(self, key: str, length: int, writer: str | None) -> str:
        """Look for an object that was made by an answer without an ETag: a web server that is no
        store, or stands before one that is away, may answer anything with status 200."""
        try:
            info = self.head(key)
        except errors.PathNotFound:
            info = None
        if info is None or (info.length, info.writer) != (length, writer):
            raise no_store(self._settings, printable(f"s3://{self._bucket}/{key}"))
        return info.etag

    def delete(self, key: str) -> None:
        self._call(
            "DELETE",
            key,
            lambda s3: s3.delete_object(Bucket=self._bucket, Key=key),
            lambda quick: quick.delete(key),
        )

    def copy(self, source: ObjectInfo, key: str) -> Stored:
        def copy(s3: Any) -> Stored:
            response = s3.copy_object(
                Bucket=self._bucket,
                Key=key,
                CopySource=self._source(source),
                CopySourceIfMatch=f'"{source.etag}"',
            )
            etag = self._etag_told(key, response.get("CopyObjectResult", {}))
            return Stored(etag, field_codec.version(response))

        return self._call("COPY", key, copy)

    def _etag_told(self, key: str, response: Any) -> str:
        """The ETag of what an answer says that it made. Status 200 comes before the store is done:
        without an ETag nothing is certain, and whoever renames would delete the source."""
        etag = field_codec.etag(response)
        if not etag:
            raise Failed(
                f"{printable(f's3://{self._bucket}/{key}')}: {self._settings.location} does not "
                "say what it made"
            )
        return etag

    def _source(self, source: ObjectInfo) -> dict[str, str]:
        copy_source = {"Bucket": source.bucket or self._bucket, "Key": source.key}
        if source.version_id is not None:
            copy_source["VersionId"] = source.version_id
        return copy_source

    def _condition(self, exclusive: bool) -> dict[str, str]:
        return field_codec.condition(exclusive and self._settings.has_conditions)

    def _crc_of(self, body: Body) -> int | None:
        if not self._settings.with_checksums:
            return None
        return crc_of_body(body)

    # --- uploads in parts ---------------------------------------------------------------

    def begin_upload(
        self, key: str, *, exclusive: bool, writer: str | None, like: ObjectInfo | None = None
    ) -> str:
        more: dict[str, Any] = field_codec.metadata(writer)
        if like is None:
            if self._settings.content_encoding:
                more["ContentEncoding"] = self._settings.content_encoding
        elif like.described is not None:
            theirs = dict(like.described)
            if int(theirs.pop("TagCount", 0)):
                theirs |= self._tagging(like)
            own = {**theirs.get("Metadata", {}), **more.get("Metadata", {})}
            more = {**theirs, "Metadata": own}
        if self._settings.with_checksums:
            more |= {"ChecksumAlgorithm": field_codec.ALGORITHM, "ChecksumType": "FULL_OBJECT"}
        response = self._call(
            "an upload",
            key,
            lambda s3: s3.create_multipart_upload(Bucket=self._bucket, Key=key, **more),
        )
        return str(response["UploadId"])

    def _tagging(self, source: ObjectInfo) -> dict[str, str]:
        where = self._source(source)
        response = self._call("the tags", source.key, lambda s3: s3.get_object_tagging(**where))
        return field_codec.tagging(response)

    def upload_part(self, key: str, upload_id: str, number: int, body: Body) -> Part:
        its_crc = self._crc_of(body)
        more: dict[str, Any] = field_codec.sent(its_crc)
        more |= {"UploadId": upload_id, "PartNumber": number}
        response = self._call(
            f"part {number}",
            key,
            lambda s3: s3.upload_part(Bucket=self._bucket, Key=key, Body=in_one(body), **more),
            lambda quick: quick.put(key, more, body),
        )
        return Part(number, field_codec.etag(response), len(body), its_crc)

    def copy_part(
        self, source: ObjectInfo, key: str, upload_id: str, number: int, start: int, end: int
    ) -> Part:
        response = self._call(
            f"a copy of part {number}",
            key,
            lambda s3: s3.upload_part_copy(
                Bucket=self._bucket,
                Key=key,
                UploadId=upload_id,
                PartNumber=number,
                CopySource=self._source(source),
                CopySourceIfMatch=f'"{source.etag}"',
                CopySourceRange=f"bytes={start}-{end - 1}",
            ),
        )
        copied = response.get("CopyPartResult", {})
        return Part(number, field_codec.etag(copied), end - start, field_codec.crc_of(copied))

    def complete_upload(
        self, key: str, upload_id: str, parts: Sequence[Part], *, exclusive: bool
    ) -> Stored:
        joined = joined_crc32c(parts)
        more: dict[str, Any] = self._condition(exclusive)
        if joined is not None:
            more |= {"ChecksumCRC32C": field_codec.crc_text(joined), "ChecksumType": "FULL_OBJECT"}
        listed = [
            {
                "PartNumber": part.number,
                "ETag": f'"{part.etag}"',
                **(
                    {}
                    if part.crc32c is None
                    else {"ChecksumCRC32C": field_codec.crc_text(part.crc32c)}
                ),
            }
            for part in parts
        ]

        def complete(s3: Any) -> Stored:
            response = s3.complete_multipart_upload(
                Bucket=self._bucket,
                Key=key,
                UploadId=upload_id,
                MultipartUpload={"Parts": listed},
                **more,
            )
            return Stored(self._etag_told(key, response), field_codec.version(response), joined)

        return self._call("the end of an upload", key, complete)

    def abort_upload(self, key: str, upload_id: str) -> None:
        self._call(
            "the abort of an upload",
            key,
            lambda s3: s3.abort_multipart_upload(Bucket=self._bucket, Key=key, UploadId=upload_id),
        )

    def _page_of_uploads(self, prefix: str, more: dict[str, str]) -> Any:
        return self._list(
            "a list of uploads",
            prefix,
            lambda s3: s3.list_multipart_uploads(
                Bucket=self._bucket, Prefix=prefix, EncodingType="url", **more
            ),
        )

    def uploads(self, prefix: str) -> list[Upload]:
        uploads: list[Upload] = []
        more: dict[str, str] = {}
        while True:
            page = self._page_of_uploads(prefix, more)
            # Unlike listings of objects, botocore leaves these as the store wrote them.
            plain = unquote_plus if page.get("EncodingType") == "url" else str
            uploads += [
                Upload(
                    plain(upload["Key"]),
                    upload["UploadId"],
                    field_codec.ms(upload.get("Initiated")),
                )
                for upload in page.get("Uploads", ())
            ]
            if not page.get("IsTruncated"):
                return uploads
            before = "\0".join(more.values())
            more = {
                "KeyMarker": plain(page["NextKeyMarker"]),
                "UploadIdMarker": page["NextUploadIdMarker"],
            }
            onward(before, "\0".join(more.values()))

    # --- many objects -------------------------------------------------------------------

    def list_page(
        self,
        prefix: str,
        *,
        delimiter: bool,
        start_after: str = "",
        token: str | None = None,
        limit: int | None = None,
    ) -> Page:
        if len(prefix.encode()) > MAX_KEY_BYTES:
            return Page((), (), None)  # no key is as long
        more: dict[str, Any] = {"MaxKeys": min(limit or 1000, self._settings.page_keys)}
        if delimiter:
            more["Delimiter"] = "/"
        if token is not None:
            more["ContinuationToken"] = token
        elif start_after:
            more["StartAfter"] = start_after
        while True:
            page: Page = self._list(
                "a listing",
                prefix,
                lambda s3: s3.list_objects_v2(Bucket=self._bucket, Prefix=prefix, **more)[PAGE],
                lambda quick: quick.page(prefix, more),
            )
            token = onward(token, page.token)
            # A page may be empty, and not the last: behind many versions that were deleted.
            if token is None or page.objects or page.prefixes:
                return within(prefix, page)
            more.pop("StartAfter", None)
            more["ContinuationToken"] = token

    def _list(
        self,
        operation: str,
        prefix: str,
        ask: Callable[[Any], T],
        quickly: Callable[[HttpRequests], T] | None = None,
    ) -> T:
        try:
            return self._call(operation, prefix, ask, quickly)
        except errors.PathNotFound:
            # A bucket that is not there has an error of its own, and a list is always there.
            raise no_store(self._settings, printable(f"s3://{self._bucket}/{prefix}")) from None

    def delete_many(self, keys: Sequence[str]) -> list[NotDeleted]:
        refused: list[NotDeleted] = []
        listed: list[str] = []
        for key in keys:
            if self._settings.deletes_many and not _NOT_IN_XML.search(key):
                listed.append(key)
                continue
            refused += deleted_alone(self.delete, key)
        for start in range(0, len(listed), self._settings.delete_keys):
            refused += self._delete_page(listed[start : start + self._settings.delete_keys])
        return refused

    def _delete_page(self, keys: Sequence[str]) -> list[NotDeleted]:
        if len(keys) == 1:
            return deleted_alone(self.delete, keys[0])
        left = list(keys)
        refused: list[NotDeleted] = []
        unfinished: list[NotDeleted] = []

        def once() -> None:
            """Delete what is left of a page, and raise if the store had no time for some of it."""
            nonlocal left, unfinished
            with self._connection.failing(left[0]):
                response = self._connection.made().delete_objects(
                    Bucket=self._bucket,
                    Delete={"Objects": [{"Key": key} for key in left], "Quiet": True},
                    ChecksumAlgorithm="CRC32",
                )
            refusals = self._refusals(response)
            unfinished = [
                refusal for refusal in refusals if isinstance(refusal.error, errors.RetriableError)
            ]
            refused.extend(refusal for refusal in refusals if refusal not in unfinished)
            left = [refusal.key for refusal in unfinished]
            if unfinished:
                raise unfinished[0].error

        operation = f"the removal of {len(keys)} objects of s3://{self._bucket}/"
        try:
            self._connection.again(operation, once)
        except errors.RetriableError as error:
            if not any(refusal.error is error for refusal in unfinished):
                raise  # the last request was refused as a whole
        return [*refused, *unfinished]

    def _refusals(self, response: Any) -> list[NotDeleted]:
        """Return the objects that stayed, by an answer."""
        refused: list[NotDeleted] = []
        for refusal in response.get("Errors", ()):
            code = refusal.get("Code", "")
            if code in _IS_GONE:
                continue
            meta = {"HTTPStatusCode": _STATUS_OF_ONE.get(code, 400)}
            error = ClientError({"Error": refusal, "ResponseMetadata": meta}, "DeleteObjects")
            refused.append(
                NotDeleted(refusal["Key"], translated(error, self._settings, refusal["Key"]))
            )
        return refused
