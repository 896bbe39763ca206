"""A container of Azure's Blob Storage (shell).

Blocks of block blobs are the parts of an upload, and `Put Block List` completes it. Each request
carries the MD5 of its body, which the service checks; the CRC32C of the whole, which the service
does not have, goes into the blob's metadata, joined from those of the parts: it compares with
the composite CRCs of HDFS.

Two streams that write one blob at a time share its uncommitted blocks: who commits first has
the service drop the other's, and the other one's `close` says so.
"""

from __future__ import annotations

import base64
import hashlib
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from howdah import errors
from howdah.fs.objects import batches
from howdah.fs.objects.azure import documents
from howdah.fs.objects.azure.names import (
    CRC32C,
    FOLDER,
    WRITER,
    blob_of,
    crc_of,
    is_folder,
    is_marker,
)
from howdah.fs.objects.azure.requests import Query, Signer
from howdah.fs.objects.azure.settings import AzureSettings
from howdah.fs.objects.http_client import Answer, Requests, check_range
from howdah.fs.objects.retrying import Damaged, Retrying
from howdah.fs.objects.store import (
    Body,
    NotAsExpected,
    NotDeleted,
    ObjectInfo,
    ObjectStore,
    Page,
    Part,
    Reading,
    Stored,
    Upload,
    UploadLost,
    deleted_alone,
    in_one,
    joined_crc32c,
    onward,
    within,
)
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.runtime.tls.client import ClientTls

T = TypeVar("T")
_META: Final = "x-ms-meta-"
_COPY_PAUSE_S: Final = 0.5
_MOST_COMPARED_BYTES: Final = 256 << 20
"""In a copy that the service holds against an MD5."""
_NO_UPLOADS: Final = (
    "Azure has no list of uploads, and no way to end one: blocks that nobody committed go a week "
    "after the last of them was written"
)


class AzureStore:
    """Stores objects in one container. Thread-safe, and usable in a forked child."""

    def __init__(self, settings: AzureSettings, tls: ClientTls) -> None:
        self._settings = settings
        self._requests = Requests(settings, tls)
        self._retrying = Retrying(settings.retries)
        self._signer = Signer(settings)

    def __repr__(self) -> str:
        return f"AzureStore({self._settings.place}, {self._settings.container})"

    @property
    def calls(self) -> int:
        return self._requests.calls

    @property
    def sorts_keys(self) -> bool:
        return False  # a marker has its name without the slash, and stands where that is

    @property
    def bucket(self) -> str:
        return self._settings.container

    @property
    def sums_copies(self) -> bool:
        return False  # the CRC32C is metadata, which goes with the copy

    @property
    def keeps_etags(self) -> bool:
        return False

    def why_not_copied_from(self, other: ObjectStore) -> str | None:
        if not isinstance(other, AzureStore):
            return "they are stores of two kinds"
        return self._settings.why_not_copied_from(other._settings)

    def close(self) -> None:
        self._requests.close()

    def _again(self, operation: str, key: str | None, ask: Callable[[], T]) -> T:
        return self._retrying(f"{operation} of {self._signer.where(key)}", ask)

    def _call(
        self,
        operation: str,
        method: str,
        key: str | None,
        query: Query = (),
        headers: Mapping[str, str] | None = None,
        body: Body = b"",
        *,
        about: str | None = None,
    ) -> Answer:
        def once() -> Answer:
            # Signed anew each time: a signature ages.
            request = self._signer.request(
                operation, method, key, query, headers, body, about=about
            )
            answer = self._requests.send(self._settings.place, request)
            return self._signer.raise_for(answer, key or about)

        return self._again(operation, key or about, once)

    # --- one object ---------------------------------------------------------------------

    def head(self, key: str) -> ObjectInfo:
        return self._info(key, self._call("HEAD", "HEAD", key))

    def _info(self, key: str, answer: Answer) -> ObjectInfo:
        metadata = _metadata(answer)
        if is_folder(metadata) != is_marker(key):
            raise errors.PathNotFound(f"File does not exist: {self._signer.where(key)}")
        self._check_flat(answer.headers.get("x-ms-resource-type") == "directory")
        length = int(answer.headers.get("content-length") or 0)
        return ObjectInfo(
            key=key,
            length=length,
            modified_ms=documents.milliseconds(answer.headers.get("last-modified")),
            etag=_etag(answer),
            version_id=answer.headers.get("x-ms-version-id"),
            crc32c=crc_of(metadata),
            writer=metadata.get(WRITER),
            md5=answer.headers.get("content-md5") if length <= _MOST_COMPARED_BYTES else None,
        )

    def _check_flat(self, is_directory: bool) -> None:
        if is_directory:
            raise errors.UnsupportedOperation(
                f"account {self._settings.account} has a hierarchical namespace, whose "
                "directories are not served by howdah: use an account without one"
            )

    def head_and_get(self, key: str) -> tuple[ObjectInfo, Reading | None]:
        def once() -> tuple[ObjectInfo, Reading] | None:
            request = self._signer.request("GET", "GET", key)
            reading, answer = self._requests.open(self._settings.place, request)
            if reading is None:
                self._signer.raise_for(answer, key)
                raise errors.ProtocolViolation(f"{request.where}: HTTP status {answer.status}")
            try:
                if answer.status == 200 and "content-length" in answer.headers:
                    return self._info(key, answer), reading
            except errors.HowdahError:
                reading.close(0)
                raise
            reading.close(0)
            return None

        return self._again("GET", key, once) or (self.head(key), None)

    def get(
        self, key: str, start: int, end: int, *, etag: str | None, version_id: str | None
    ) -> tuple[Reading, str]:
        headers = {"Range": f"bytes={start}-{end - 1}"}
        if etag is not None:
            headers["If-Match"] = f'"{etag}"'
        query = [] if version_id is None else [("versionid", version_id)]

        def once() -> tuple[Reading, str]:
            request = self._signer.request("GET", "GET", key, query, headers)
            reading, answer = self._requests.open(self._settings.place, request)
            if reading is None:
                self._signer.raise_for(answer, key)
                raise errors.ProtocolViolation(f"{request.where}: HTTP status {answer.status}")
            try:
                check_range(answer, start, end, request.where)
            except errors.ProtocolViolation:
                reading.close(0)
                raise
            return reading, _etag(answer)

        return self._again("GET", key, once)

    def put(self, key: str, body: Body, *, exclusive: bool, writer: str | None) -> Stored:
        body = in_one(body)
        its_crc = crc(ChecksumType.CRC32C, body)
        described = _described(writer, its_crc)
        if is_marker(key):
            # Of a file of this name nothing must be lost.
            described[_META + FOLDER] = "true"
            exclusive = True
        headers = {"x-ms-blob-type": "BlockBlob", **_sent(body), **described}
        try:
            answer = self._call("PUT", "PUT", key, (), headers | _condition(exclusive), body)
        except NotAsExpected:
            if not self._is_there(key):
                # Blocks of a stream that was given up are in the way.
                answer = self._put_as_block(key, body, described)
            elif is_marker(key):
                return self._marked_already(key)
            else:
                raise
        return self._stored(key, answer, its_crc)

    def _stored(self, key: str, answer: Answer, its_crc: int | None) -> Stored:
        """What the service says that it has made. Raises `ProtocolViolation` if it says nothing: a
        web server before a service that is away may answer anything with status 200."""
        etag = _etag(answer)
        if not etag:
            raise errors.ProtocolViolation(
                f"{self._signer.where(key)}: {self._settings.place} does not answer as the Blob "
                f"service does (HTTP status {answer.status} without an ETag)"
            )
        return Stored(etag, answer.headers.get("x-ms-version-id"), its_crc)

    def _is_there(self, key: str) -> bool:
        try:
            self._call("HEAD", "HEAD", key)
        except errors.PathNotFound:
            return False
        return True

    def _put_as_block(self, key: str, body: Body, described: Mapping[str, str]) -> Answer:
        part = self.upload_part(key, uuid.uuid4().hex, 1, body) if body else None
        return self._commit("PUT", key, [part] if part else [], described, exclusive=True)

    def _commit(
        self,
        operation: str,
        key: str,
        parts: Sequence[Part],
        described: Mapping[str, str],
        *,
        exclusive: bool,
    ) -> Answer:
        body = documents.block_list(part.etag for part in parts)
        headers = {**_sent(body), **described, **_condition(exclusive)}
        return self._call(operation, "PUT", key, [("comp", "blocklist")], headers, body)

    def _marked_already(self, key: str) -> Stored:
        try:
            return Stored(self.head(key).etag)
        except errors.PathNotFound:
            raise errors.PathExists(f"{self._signer.where(blob_of(key))} is a file") from None

    def delete(self, key: str) -> None:
        self._call("DELETE", "DELETE", key, (), _WITH_SNAPSHOTS)

    def copy(self, source: ObjectInfo, key: str) -> Stored:
        headers = {
            "x-ms-copy-source": self._signer.url(source.key, source.bucket),
            "x-ms-source-if-match": f'"{source.etag}"',
        }
        return self._copied(source, key, self._call("COPY", "PUT", key, (), headers))

    def copy_with_md5(self, source: ObjectInfo, key: str) -> Stored:
        """`Copy Blob From URL`, which compares, and needs leave to read that its signature is
        not. A refusal is none of the object: its MD5 is whatever its writer said."""
        assert source.md5 is not None

        def once() -> Answer:
            headers = {
                "x-ms-copy-source": self._signer.readable_url(
                    source.key, source.bucket, time.time()
                ),
                "x-ms-requires-sync": "true",
                "x-ms-source-content-md5": source.md5 or "",
                "x-ms-source-if-match": f'"{source.etag}"',
            }
            request = self._signer.request("COPY", "PUT", key, (), headers)
            answer = self._requests.send(self._settings.place, request)
            try:
                return self._signer.raise_for(answer, key)
            except (Damaged, errors.PathNotFound) as error:
                raise errors.NotCopiedByServer(f"the store refuses: {error}") from error

        return self._copied(source, key, self._again("COPY", key, once))

    def _copied(self, source: ObjectInfo, key: str, answer: Answer) -> Stored:
        while answer.headers.get("x-ms-copy-status") == "pending":
            time.sleep(_COPY_PAUSE_S)
            answer = self._call("HEAD", "HEAD", key)
        status = answer.headers.get("x-ms-copy-status")
        if status != "success":
            raise errors.RemoteError(f"{self._signer.where(key)}: its copy ended as {status}")
        return Stored(_etag(answer), answer.headers.get("x-ms-version-id"), source.crc32c)

    # --- uploads in parts ---------------------------------------------------------------

    def begin_upload(
        self, key: str, *, exclusive: bool, writer: str | None, like: ObjectInfo | None = None
    ) -> str:
        """The service knows of no beginning; the name is ours, and its blocks have it."""
        return writer or uuid.uuid4().hex

    def upload_part(self, key: str, upload_id: str, number: int, body: Body) -> Part:
        body = in_one(body)
        # All blocks of a blob have names of one length.
        name = base64.b64encode(f"{upload_id}-{number:06}".encode()).decode()
        query = [("comp", "block"), ("blockid", name)]
        self._call(f"part {number}", "PUT", key, query, _sent(body), body)
        return Part(number, name, len(body), crc(ChecksumType.CRC32C, body))

    def copy_part(
        self, source: ObjectInfo, key: str, upload_id: str, number: int, start: int, end: int
    ) -> Part:
        raise errors.UnsupportedOperation("a copy at Azure is one request, whatever its size")

    def complete_upload(
        self, key: str, upload_id: str, parts: Sequence[Part], *, exclusive: bool
    ) -> Stored:
        joined = joined_crc32c(parts)
        described = _described(upload_id, joined)
        try:
            answer = self._commit(
                "the end of an upload", key, parts, described, exclusive=exclusive
            )
        except UploadLost as error:
            if exclusive and self._is_anothers(key, upload_id):
                raise NotAsExpected(f"{self._signer.where(key)} is there") from error
            raise
        return self._stored(key, answer, joined)

    def _is_anothers(self, key: str, writer: str) -> bool:
        try:
            return self.head(key).writer != writer
        except errors.PathNotFound:
            return False

    def abort_upload(self, key: str, upload_id: str) -> None:
        """There is nothing to ask for: nobody sees blocks that are not committed, and the
        service drops them."""

    def uploads(self, prefix: str) -> list[Upload]:
        raise errors.UnsupportedOperation(_NO_UPLOADS)

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
        """List a page of keys. A marker of a directory is given the slash at the end of its key.
        Request the marker of the directory `prefix` by its name where it may count."""
        wanted = min(limit or self._settings.page_keys, self._settings.page_keys)
        objects: list[ObjectInfo] = []
        prefixes: dict[str, None] = {}
        if token is None and limit is None and not delimiter:
            objects += self._own_marker(prefix)
        marker = token or ""
        while True:
            marker = self._listed(prefix, delimiter, marker, wanted, objects, prefixes)
            # A page may be empty, and not the last.
            if not marker or len(objects) + len(prefixes) >= (limit or 1):
                break
        if token is None and not objects and not prefixes:
            objects += self._own_marker(prefix)
        if start_after:
            objects = [info for info in objects if info.key > start_after]
            prefixes = {below: None for below in prefixes if below > start_after}
        return within(prefix, Page(tuple(objects), tuple(prefixes), marker or None))

    def _listed(
        self,
        prefix: str,
        delimiter: bool,
        marker: str,
        wanted: int,
        objects: list[ObjectInfo],
        prefixes: dict[str, None],
    ) -> str:
        query = [
            ("restype", "container"),
            ("comp", "list"),
            ("include", "metadata"),
            ("maxresults", str(wanted)),
            *([("prefix", prefix)] if prefix else []),
            *([("delimiter", "/")] if delimiter else []),
            *([("marker", marker)] if marker else []),
        ]
        answer = self._call("a listing", "GET", None, query, about=prefix)
        page = documents.listing(answer.body)
        for blob in page.blobs:
            self._check_flat(blob.is_directory)
            if is_folder(blob.metadata):
                key = f"{blob.name}/"
                if delimiter:
                    prefixes[key] = None
                    continue
            else:
                key = blob.name
            objects.append(
                ObjectInfo(
                    key, blob.length, blob.modified_ms, blob.etag, None, crc_of(blob.metadata)
                )
            )
        prefixes.update(dict.fromkeys(page.prefixes))
        return onward(marker, page.marker) or ""

    def _own_marker(self, prefix: str) -> list[ObjectInfo]:
        if not is_marker(prefix):
            return []
        try:
            return [self.head(prefix)]
        except errors.PathNotFound:
            return []

    def delete_many(self, keys: Sequence[str]) -> list[NotDeleted]:
        refused: list[NotDeleted] = []
        for start in range(0, len(keys), self._settings.delete_keys):
            refused += self._delete_batch(keys[start : start + self._settings.delete_keys])
        return refused

    def _delete_batch(self, keys: Sequence[str]) -> list[NotDeleted]:
        if len(keys) == 1:
            return deleted_alone(self.delete, keys[0])
        boundary = f"batch_{uuid.uuid4().hex}"

        def once() -> dict[int, tuple[int, str]]:
            heads = [self._signer.head_of_part("DELETE", key, _WITH_SNAPSHOTS) for key in keys]
            request = self._signer.request(
                "a batch",
                "POST",
                None,
                [("restype", "container"), ("comp", "batch")],
                {"Content-Type": f"multipart/mixed; boundary={boundary}"},
                batches.joined(boundary, heads),
            )
            answer = self._requests.send(self._settings.place, request)
            self._signer.raise_for(answer, None)
            return batches.answers(answer.body, answer.headers.get("content-type", ""))

        answers = self._again(f"the removal of {len(keys)} blobs", None, once)
        refused: list[NotDeleted] = []
        for number, key in enumerate(keys):
            status, code = answers.get(number, (0, "no answer"))
            if not 200 <= status < 300 and status != 404:
                # What had no time within the batch gets some alone.
                refused += (
                    deleted_alone(self.delete, key)
                    if status in (0, 500, 503)
                    else [NotDeleted(key, self._signer.error(status, code, "", key))]
                )
        return refused


_WITH_SNAPSHOTS: Final = {"x-ms-delete-snapshots": "include"}


def _metadata(answer: Answer) -> dict[str, str]:
    return {
        name.removeprefix(_META): value
        for name, value in answer.headers.items()
        if name.startswith(_META)
    }


def _described(writer: str | None, its_crc: int | None) -> dict[str, str]:
    headers: dict[str, str] = {}
    if writer is not None:
        headers[_META + WRITER] = writer
    if its_crc is not None:
        headers[_META + CRC32C] = f"{its_crc:08x}"
    return headers


def _condition(exclusive: bool) -> dict[str, str]:
    return {"If-None-Match": "*"} if exclusive else {}


def _sent(body: bytes | bytearray) -> dict[str, str]:
    digest = hashlib.md5(body, usedforsecurity=False).digest()
    return {"Content-MD5": base64.b64encode(digest).decode()}


def _etag(answer: Answer) -> str:
    return answer.headers.get("etag", "").strip('"')
