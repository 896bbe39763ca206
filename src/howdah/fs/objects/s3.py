"""A store that speaks S3's protocol (shell).

Through botocore, Amazon's own client: it signs, knows the rules of hosts and regions, and
gives every request of the protocol with all its conditions, one call for one request.
(obstore, which wraps Rust's object_store, offers no uploads whose parts the caller holds, no
list of unfinished uploads and no copy of a part, and its threads don't outlive a fork; s3fs
and aiobotocore are botocore under an event loop, which howdah's client has none of.)

The requests that are made most do without botocore as soon as one of botocore's has shown how
(`amazon.quick`): reading, writing, looking, listing, removing.

botocore makes each request once; `retrying` makes it again. Checksums are CRC32C of the whole
object, joined from those of its parts: the store checks them, and they compare with the
composite CRCs of HDFS.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final, TypeVar
from urllib.parse import unquote_plus, urlsplit

from howdah import errors
from howdah.forks import PerProcess
from howdah.fs.objects import credentials
from howdah.fs.objects.amazon import fields
from howdah.fs.objects.amazon.listing import page_of
from howdah.fs.objects.names import MAX_KEY_BYTES
from howdah.fs.objects.rest import Answer, check_range
from howdah.fs.objects.retrying import Retrying
from howdah.fs.objects.settings import DEFAULT_REGION, Settings
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
)
from howdah.fs.paths import shown

try:
    import botocore.session
    from botocore import UNSIGNED
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.loaders import create_loader
    from botocore.parsers import ResponseParserError

    from howdah.fs.objects.amazon.quick import Elsewhere, Learning, Quick
    from howdah.fs.objects.failures import no_store, translated
except ImportError as error:
    raise errors.UnsupportedOperation(
        f"s3:// needs botocore, as howdah[s3] has it: {error}"
    ) from error

T = TypeVar("T")
_DIRECTORY_BUCKET: Final = "--x-s3"
"""How names of buckets end that Amazon calls directory buckets: they sort nothing."""
_DRAIN_BYTES: Final = 64 << 10
"""So much of an answer is read for nothing to keep its connection."""
_PAGE: Final = "HowdahPage"
"""Under which name an answer of botocore has the page that was read in its place."""
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

# What botocore knows about S3 takes long to read: once in a process is enough.
_descriptions = create_loader()
# Its debug log has whole requests.
logging.getLogger("botocore").setLevel(logging.WARNING)
# Keys that cannot be had are an error of the request that wants them, and no stack besides.
logging.getLogger("botocore.credentials").setLevel(logging.ERROR)


class _Client:
    """botocore's client in one process, made when it is first wanted, and what is learnt of it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: Any = None
        self.calls = 0
        self.learning: Learning | None = None

    @property
    def quick(self) -> Quick | None:
        return None if self.learning is None else self.learning.quick


class S3Store:
    """One bucket of an S3. Thread-safe, and usable in a forked child."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._methods = credentials.methods_of(settings.providers)
        self._retrying = Retrying(settings.retries)
        self._clients: PerProcess[_Client] = PerProcess(_Client)
        self._bucket = settings.bucket

    def __repr__(self) -> str:
        return f"S3Store({self._settings.place}, {self._bucket})"

    @property
    def calls(self) -> int:
        own = self._clients.get()
        return own.calls + (0 if own.learning is None else own.learning.calls)

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
        own = self._clients.get()
        with own.lock:
            made, own.made = own.made, None
        if made is not None:
            made.close()
        if own.learning is not None:
            own.learning.close()

    def _made(self) -> Any:
        own = self._clients.get()
        with own.lock:
            if own.made is None:
                own.made = self._connected(own)
            return own.made

    def _connected(self, own: _Client) -> Any:
        settings = self._settings
        session = botocore.session.Session()
        session.register_component("data_loader", _descriptions)
        is_signed = credentials.install(session, self._methods, settings.secrets, settings.role)
        options: dict[str, Any] = {
            "retries": {"total_max_attempts": 1},
            "max_pool_connections": settings.connections,
            "connect_timeout": settings.connect_timeout_s or None,
            "read_timeout": settings.read_timeout_s or None,
            "s3": {"addressing_style": _addressing(settings)},
            # What is wanted is said with each request.
            "request_checksum_calculation": "when_required",
            "response_checksum_validation": "when_required",
            "ignore_configured_endpoint_urls": True,
            "user_agent_extra": "howdah",
        }
        if not is_signed:
            options["signature_version"] = UNSIGNED
        if settings.fips:
            options["use_fips_endpoint"] = True
        region = settings.region or session.get_config_variable("region") or DEFAULT_REGION
        try:
            client = session.create_client(
                "s3", region_name=region, endpoint_url=settings.endpoint, config=Config(**options)
            )
        except ValueError as error:
            raise errors.InvalidConfiguration(
                f"fs.s3a.endpoint or fs.s3a.endpoint.region: {error}"
            ) from error

        bundle = session.get_config_variable("ca_bundle")
        learning = Learning(settings, session.get_credentials, bundle, is_signed=is_signed)

        def sends(request: Any, **_: object) -> None:
            own.calls += 1
            learning.sends(request)

        def answered(http_response: Any, model: Any, **_: object) -> None:
            if model.name != "HeadBucket":
                learning.succeeded(http_response.status_code)

        def add(params: dict[str, Any], model: Any, **_: object) -> None:
            known = model.input_shape.members
            for name, value in settings.additions.of(known, params.get("Key", "")).items():
                params.setdefault(name, value)

        own.learning = learning
        client.meta.events.register("before-send.s3", sends)
        client.meta.events.register("after-call.s3", answered)
        client.meta.events.register_first("before-parameter-build.s3", add)
        client.meta.events.register("before-call.s3.HeadBucket", _say_nothing)
        client.meta.events.register_last("before-parse.s3.ListObjectsV2", _read_page)
        return client

    @contextmanager
    def _failing(self, key: str | None) -> Iterator[None]:
        try:
            yield
        except (BotoCoreError, ClientError, ResponseParserError) as error:
            # The cause is not kept: it may show the request.
            raise translated(error, self._settings, key) from None

    def _ask(
        self,
        what: str,
        key: str | None,
        ask: Callable[[Any], T],
        quickly: Callable[[Quick], T] | None = None,
    ) -> T:
        """What botocore answers, or the same without it."""
        own = self._clients.get()

        def once() -> T:
            with self._failing(key):
                quick = own.quick
                if quick is not None and quickly is not None:
                    try:
                        return quickly(quick)
                    except Elsewhere:
                        quick.forget()
                return ask(self._made())

        return self._retrying(f"{what} of s3://{self._bucket}/{key or ''}", once)

    # --- one object ---------------------------------------------------------------------

    def head(self, key: str) -> ObjectInfo:
        more = self._with_checksum()

        def head() -> Any:
            return self._ask(
                "HEAD",
                key,
                lambda s3: s3.head_object(Bucket=self._bucket, Key=key, **more),
                lambda quick: quick.head(key, more),
            )

        try:
            found = head()
        except (errors.AccessDenied, errors.RemoteError):
            # An answer to HEAD has no room for a reason, or for the bucket's region.
            self.list_page(key, delimiter=False, limit=1)
            found = head()
        return self._info(key, found)

    def _info(self, key: str, found: Any) -> ObjectInfo:
        if not fields.etag(found):
            # A page of some web server, which has one for every name.
            raise no_store(self._settings, shown(f"s3://{self._bucket}/{key}"))
        return ObjectInfo(
            key=key,
            length=int(found["ContentLength"]),
            modified_ms=fields.ms(found.get("LastModified")),
            etag=fields.etag(found),
            version_id=fields.version(found),
            crc32c=fields.crc_of(found),
            writer=found.get("Metadata", {}).get(fields.WRITER),
            described=fields.described(found),
        )

    def _with_checksum(self) -> dict[str, str]:
        return {"ChecksumMode": "ENABLED"} if self._settings.with_checksums else {}

    def head_and_get(self, key: str) -> tuple[ObjectInfo, Reading | None]:
        """Not of a part of the object: of that Amazon tells no checksum. Through botocore, which
        would compare that itself, it is a look."""
        found: tuple[Any, Reading] | None = None
        if self._clients.get().quick is not None:
            found = self._ask(
                "GET",
                key,
                lambda _: None,
                lambda quick: quick.head_and_get(key, self._with_checksum()),
            )
        if found is None:
            return self.head(key), None
        told, reading = found
        try:
            return self._info(key, told), reading
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
            found = s3.get_object(
                Bucket=self._bucket, Key=key, Range=f"bytes={start}-{end - 1}", **more
            )
            reading = _Reading(self._settings, key, found["Body"])
            meta = found["ResponseMetadata"]
            answer = Answer(meta["HTTPStatusCode"], meta["HTTPHeaders"], b"")
            try:
                check_range(answer, start, end, shown(f"s3://{self._bucket}/{key}"))
            except errors.ProtocolViolation:
                reading.close(0)
                raise
            return reading, fields.etag(found)

        def quickly(quick: Quick) -> tuple[Reading, str]:
            return quick.get(key, start, end, more)

        return self._ask("GET", key, get, quickly)

    def put(self, key: str, body: Body, *, exclusive: bool, writer: str | None) -> Stored:
        its_crc = self._crc_of(body)
        more: dict[str, Any] = {
            **self._condition(exclusive),
            **fields.metadata(writer),
            **fields.sent(its_crc),
        }
        if self._settings.content_encoding and not key.endswith("/"):
            more["ContentEncoding"] = self._settings.content_encoding
        found = self._ask(
            "PUT",
            key,
            lambda s3: s3.put_object(Bucket=self._bucket, Key=key, Body=in_one(body), **more),
            lambda quick: quick.put(key, more, body),
        )
        return Stored(fields.etag(found), fields.version(found), its_crc)

    def delete(self, key: str) -> None:
        self._ask(
            "DELETE",
            key,
            lambda s3: s3.delete_object(Bucket=self._bucket, Key=key),
            lambda quick: quick.delete(key),
        )

    def copy(self, source: ObjectInfo, key: str) -> Stored:
        found = self._ask(
            "COPY",
            key,
            lambda s3: s3.copy_object(
                Bucket=self._bucket,
                Key=key,
                CopySource=self._source(source),
                CopySourceIfMatch=f'"{source.etag}"',
            ),
        )
        return Stored(fields.etag(found.get("CopyObjectResult", {})), fields.version(found))

    def _source(self, source: ObjectInfo) -> dict[str, str]:
        found = {"Bucket": source.bucket or self._bucket, "Key": source.key}
        if source.version_id is not None:
            found["VersionId"] = source.version_id
        return found

    def _condition(self, exclusive: bool) -> dict[str, str]:
        return fields.condition(exclusive and self._settings.has_conditions)

    def _crc_of(self, body: Body) -> int | None:
        if not self._settings.with_checksums:
            return None
        return crc_of_body(body)

    # --- uploads in parts ---------------------------------------------------------------

    def begin_upload(
        self, key: str, *, exclusive: bool, writer: str | None, like: ObjectInfo | None = None
    ) -> str:
        more: dict[str, Any] = fields.metadata(writer)
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
            more |= {"ChecksumAlgorithm": fields.ALGORITHM, "ChecksumType": "FULL_OBJECT"}
        found = self._ask(
            "an upload",
            key,
            lambda s3: s3.create_multipart_upload(Bucket=self._bucket, Key=key, **more),
        )
        return str(found["UploadId"])

    def _tagging(self, source: ObjectInfo) -> dict[str, str]:
        where = self._source(source)
        found = self._ask("the tags", source.key, lambda s3: s3.get_object_tagging(**where))
        return fields.tagging(found)

    def upload_part(self, key: str, upload_id: str, number: int, body: Body) -> Part:
        its_crc = self._crc_of(body)
        more: dict[str, Any] = fields.sent(its_crc)
        more |= {"UploadId": upload_id, "PartNumber": number}
        found = self._ask(
            f"part {number}",
            key,
            lambda s3: s3.upload_part(Bucket=self._bucket, Key=key, Body=in_one(body), **more),
            lambda quick: quick.put(key, more, body),
        )
        return Part(number, fields.etag(found), len(body), its_crc)

    def copy_part(
        self, source: ObjectInfo, key: str, upload_id: str, number: int, start: int, end: int
    ) -> Part:
        found = self._ask(
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
        told = found.get("CopyPartResult", {})
        return Part(number, fields.etag(told), end - start, fields.crc_of(told))

    def complete_upload(
        self, key: str, upload_id: str, parts: Sequence[Part], *, exclusive: bool
    ) -> Stored:
        joined = joined_crc32c(parts)
        more: dict[str, Any] = self._condition(exclusive)
        if joined is not None:
            more |= {"ChecksumCRC32C": fields.crc_text(joined), "ChecksumType": "FULL_OBJECT"}
        listed = [
            {
                "PartNumber": each.number,
                "ETag": f'"{each.etag}"',
                **({} if each.crc32c is None else {"ChecksumCRC32C": fields.crc_text(each.crc32c)}),
            }
            for each in parts
        ]
        found = self._ask(
            "the end of an upload",
            key,
            lambda s3: s3.complete_multipart_upload(
                Bucket=self._bucket,
                Key=key,
                UploadId=upload_id,
                MultipartUpload={"Parts": listed},
                **more,
            ),
        )
        return Stored(fields.etag(found), fields.version(found), joined)

    def abort_upload(self, key: str, upload_id: str) -> None:
        self._ask(
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
        found: list[Upload] = []
        more: dict[str, str] = {}
        while True:
            page = self._page_of_uploads(prefix, more)
            # Unlike listings of objects, botocore leaves these as the store wrote them.
            plain = unquote_plus if page.get("EncodingType") == "url" else str
            found += [
                Upload(plain(each["Key"]), each["UploadId"], fields.ms(each.get("Initiated")))
                for each in page.get("Uploads", ())
            ]
            if not page.get("IsTruncated"):
                return found
            more = {
                "KeyMarker": plain(page["NextKeyMarker"]),
                "UploadIdMarker": page["NextUploadIdMarker"],
            }

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
        page: Page = self._list(
            "a listing",
            prefix,
            lambda s3: s3.list_objects_v2(Bucket=self._bucket, Prefix=prefix, **more)[_PAGE],
            lambda quick: quick.page(prefix, more),
        )
        return page

    def _list(
        self,
        what: str,
        prefix: str,
        ask: Callable[[Any], T],
        quickly: Callable[[Quick], T] | None = None,
    ) -> T:
        try:
            return self._ask(what, prefix, ask, quickly)
        except errors.PathNotFound:
            # A bucket that is not there has an error of its own, and a list is always there.
            raise no_store(self._settings, shown(f"s3://{self._bucket}/{prefix}")) from None

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
            """What of a page the store had no time for is asked for again, without the rest."""
            nonlocal left, unfinished
            with self._failing(left[0]):
                found = self._made().delete_objects(
                    Bucket=self._bucket,
                    Delete={"Objects": [{"Key": key} for key in left], "Quiet": True},
                    ChecksumAlgorithm="CRC32",
                )
            told = self._refusals(found)
            unfinished = [each for each in told if isinstance(each.error, errors.RetriableError)]
            refused.extend(each for each in told if each not in unfinished)
            left = [each.key for each in unfinished]
            if unfinished:
                raise unfinished[0].error

        what = f"the removal of {len(keys)} objects of s3://{self._bucket}/"
        try:
            self._retrying(what, once)
        except errors.RetriableError as error:
            if not any(each.error is error for each in unfinished):
                raise  # the last request was refused as a whole
        return [*refused, *unfinished]

    def _refusals(self, found: Any) -> list[NotDeleted]:
        """What an answer says of objects that stayed."""
        refused: list[NotDeleted] = []
        for each in found.get("Errors", ()):
            code = each.get("Code", "")
            if code in _IS_GONE:
                continue
            meta = {"HTTPStatusCode": _STATUS_OF_ONE.get(code, 400)}
            told = ClientError({"Error": each, "ResponseMetadata": meta}, "DeleteObjects")
            refused.append(NotDeleted(each["Key"], translated(told, self._settings, each["Key"])))
        return refused


def _read_page(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Read a listing in botocore's place, which then finds an empty one."""
    if response_dict["status_code"] == 200:
        customized_response_dict[_PAGE] = page_of(response_dict["body"])
        response_dict["body"] = b"<ListBucketResult/>"


def _say_nothing(**_: object) -> tuple[Any, dict[str, Any]]:
    """botocore asks for the bucket where an answer sends it elsewhere without naming a region,
    and if that is answered in the same manner, without end."""
    return SimpleNamespace(status_code=200), {"ResponseMetadata": {"HTTPHeaders": {}}}


class _Reading:
    """The body of an answer."""

    def __init__(self, settings: Settings, key: str, body: Any) -> None:
        self._settings = settings
        self._key = key
        self._body = body

    def readinto(self, view: memoryview) -> int:
        """Some bytes; 0 at the end. Raises `Unreachable`, `CallTimeout`."""
        try:
            data = self._body.read(len(view))
        except BotoCoreError as error:
            raise translated(error, self._settings, self._key) from None
        except (OSError, ValueError) as error:
            raise errors.Unreachable(
                f"s3://{self._settings.bucket}/{self._key}: the answer of "
                f"{self._settings.place} broke off: {error}"
            ) from None
        view[: len(data)] = data
        return len(data)

    def close(self, left: int) -> None:
        try:
            if 0 < left <= _DRAIN_BYTES:
                self._body.read(left)
        except (BotoCoreError, OSError, ValueError):
            logging.getLogger(__name__).debug("an answer ended early, which nobody wanted")
        self._body.close()


def _addressing(settings: Settings) -> str:
    """Left to itself botocore puts buckets into the path wherever an endpoint is given."""
    if settings.is_path_style:
        return "path"
    host = urlsplit(settings.endpoint or "").hostname
    return "auto" if host in (None, "localhost") else "virtual"
