"""A bucket of Google's Cloud Storage, by its JSON API (shell).

Conditions are of generations: 0 stands for an object that is not there. What is small goes up in
one request with its CRC32C, what is large in a session, whose last request has it; the service
checks both, and what it says it has is compared again.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

from howdah import errors
from howdah.fs.objects import batches
from howdah.fs.objects.google import documents
from howdah.fs.objects.google.credentials import Tokens
from howdah.fs.objects.google.settings import GoogleSettings
from howdah.fs.objects.google.uploads import ResumableUpload
from howdah.fs.objects.http_client import Answer, Request, Requests, RestReading, check_range
from howdah.fs.objects.retrying import Retrying
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
    UploadLost,
    deleted_alone,
    in_one,
    joined_crc32c,
    onward,
    within,
)
from howdah.fs.paths import printable
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.tls.client import ClientTls

T = TypeVar("T")
Query = Sequence[tuple[str, str]]
_ROOT: Final = "/storage/v1"
_JSON: Final = {"Content-Type": "application/json; charset=UTF-8"}
_NO_UPLOADS: Final = (
    "Google has no list of uploads: a session that nobody ends costs nothing and is gone after a "
    "week"
)


class _Sessions:
    """Uploads of one process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open: dict[str, ResumableUpload] = {}


class GoogleStore:
    """Stores objects in one bucket. Thread-safe, and usable in a forked child."""

    def __init__(self, settings: GoogleSettings, tls: ClientTls) -> None:
        self._settings = settings
        self._requests = Requests(settings, tls)
        # What is asked for tokens is no call of the store.
        self._token_requests = Requests(settings, tls)
        self._tokens = Tokens(settings, self._token_requests)
        self._retrying = Retrying(settings.retries)
        self._sessions: PerProcess[_Sessions] = PerProcess(_Sessions)
        self._objects = _objects(settings.bucket)

    def __repr__(self) -> str:
        return f"GoogleStore({self._settings.place}, {self._settings.bucket})"

    @property
    def calls(self) -> int:
        return self._requests.calls

    @property
    def sorts_keys(self) -> bool:
        return True

    @property
    def bucket(self) -> str:
        return self._settings.bucket

    @property
    def sums_copies(self) -> bool:
        return True

    @property
    def keeps_etags(self) -> bool:
        return False  # they are generations

    def why_not_copied_from(self, other: ObjectStore) -> str | None:
        if not isinstance(other, GoogleStore):
            return "they are stores of two kinds"
        return self._settings.why_not_copied_from(other._settings)

    def close(self) -> None:
        self._requests.close()
        self._token_requests.close()

    def _where(self, key: str | None) -> str:
        return printable(f"gs://{self._settings.bucket}/{key or ''}")

    def _path(self, key: str) -> str:
        return f"{self._objects}/{quote(key, safe='')}"

    # --- requests -----------------------------------------------------------------------

    def _with_token(self, request: Request, act: Callable[[Request], tuple[T, int]]) -> T:
        """Return the result of `act` for a request with a token. If that token is refused, use
        another one."""
        token = self._tokens.header(request.where)
        result, status = act(_with(request, token))
        if status == 401 and self._tokens.drop(token):
            result, _ = act(_with(request, self._tokens.header(request.where)))
        return result

    def _answer(self, request: Request) -> Answer:
        def act(signed: Request) -> tuple[Answer, int]:
            answer = self._requests.send(self._settings.place, signed)
            return answer, answer.status

        return self._with_token(request, act)

    def _failure(
        self, answer: Answer, key: str | None, *, is_of_bucket: bool = False
    ) -> errors.HowdahError:
        return documents.failure(
            answer.status,
            answer.body,
            where=self._where(key),
            place=str(self._settings.place),
            bucket=self._settings.bucket,
            is_of_bucket=is_of_bucket,
        )

    def _call(
        self,
        operation: str,
        method: str,
        key: str | None,
        path: str,
        query: Query = (),
        headers: Mapping[str, str] | None = None,
        body: Body = b"",
        *,
        is_of_bucket: bool = False,
    ) -> Answer:
        target = f"{path}?{urlencode(query, quote_via=quote)}" if query else path
        request = Request(operation, self._where(key), method, target, headers or {}, body)

        def once() -> Answer:
            answer = self._answer(request)
            if answer.status >= 300:
                raise self._failure(answer, key, is_of_bucket=is_of_bucket)
            return answer

        return self._retrying(f"{operation} of {request.where}", once)

    # --- one object ---------------------------------------------------------------------

    def head(self, key: str) -> ObjectInfo:
        answer = self._call("a look", "GET", key, self._path(key), [("fields", documents.FIELDS)])
        return documents.resource(documents.parsed(answer.body))

    def head_and_get(self, key: str) -> tuple[ObjectInfo, Reading | None]:
        """A look: an answer with bytes promises no checksum."""
        return self.head(key), None

    def get(
        self, key: str, start: int, end: int, *, etag: str | None, version_id: str | None
    ) -> tuple[Reading, str]:
        query = [("alt", "media")]
        if etag is not None:
            query.append(("ifGenerationMatch", etag))
        # With gzip allowed, the service sends objects as they are, whatever their encoding.
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "gzip"}
        target = f"{self._path(key)}?{urlencode(query)}"
        request = Request("GET", self._where(key), "GET", target, headers)

        def act(signed: Request) -> tuple[tuple[RestReading | None, Answer], int]:
            opened = self._requests.open(self._settings.place, signed)
            return opened, opened[1].status

        def once() -> tuple[Reading, str]:
            reading, answer = self._with_token(request, act)
            if reading is None:
                raise self._failure(answer, key)
            try:
                check_range(answer, start, end, request.where)
            except errors.ProtocolViolation:
                reading.close(0)
                raise
            return reading, answer.headers.get("x-goog-generation", "")

        return self._retrying(f"GET of {request.where}", once)

    def put(self, key: str, body: Body, *, exclusive: bool, writer: str | None) -> Stored:
        body = in_one(body)
        its_crc = crc(ChecksumType.CRC32C, body)
        resource = {**_described(key, writer), "crc32c": documents.crc_text(its_crc)}
        boundary = uuid.uuid4().hex
        head = (
            f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
            f"{json.dumps(resource)}\r\n--{boundary}\r\n"
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        answer = self._call(
            "PUT",
            "POST",
            key,
            f"/upload{self._objects}",
            [("uploadType", "multipart"), *_condition(exclusive)],
            {"Content-Type": f"multipart/related; boundary={boundary}"},
            b"".join((head.encode(), body, f"\r\n--{boundary}--\r\n".encode())),
        )
        stored = documents.resource(documents.parsed(answer.body))
        return Stored(stored.etag, None, stored.crc32c)

    def delete(self, key: str) -> None:
        self._call("DELETE", "DELETE", key, self._path(key))

    def copy(self, source: ObjectInfo, key: str) -> Stored:
        objects = _objects(source.bucket or self._settings.bucket)
        target = self._path(key).removeprefix(_ROOT)
        path = f"{objects}/{quote(source.key, safe='')}/rewriteTo{target}"
        query = [("ifSourceGenerationMatch", source.etag)]
        token: list[tuple[str, str]] = []
        while True:
            answer = self._call("COPY", "POST", key, path, [*query, *token], _JSON)
            response = documents.parsed(answer.body)
            if response.get("done"):
                stored = documents.resource(response.get("resource") or {})
                return Stored(stored.etag, None, stored.crc32c)
            token = [("rewriteToken", str(response.get("rewriteToken") or ""))]
            if not token[0][1]:
                raise errors.ProtocolViolation(
                    f"{self._where(key)}: a copy is neither done nor goes on"
                )

    # --- uploads in parts ---------------------------------------------------------------

    def begin_upload(
        self, key: str, *, exclusive: bool, writer: str | None, like: ObjectInfo | None = None
    ) -> str:
        answer = self._call(
            "an upload",
            "POST",
            key,
            f"/upload{self._objects}",
            [("uploadType", "resumable"), ("name", key), *_condition(exclusive)],
            {**_JSON, "X-Upload-Content-Type": "application/octet-stream"},
            json.dumps(_described(key, writer)).encode(),
        )

        def send(method: str, target: str, headers: Mapping[str, str], body: Body) -> Answer:
            return self._answer(
                Request("", self._where(key), method, target, headers, body, is_repeatable=False)
            )

        upload = ResumableUpload(
            answer.headers.get("location", ""),
            self._where(key),
            send,
            lambda refused: self._failure(refused, key),
            self._retrying,
        )
        # Not by its URI, with which anybody could write to it.
        name = uuid.uuid4().hex
        own = self._sessions.get()
        with own.lock:
            own.open[name] = upload
        return name

    def _upload(self, key: str, upload_id: str, *, ends: bool = False) -> ResumableUpload:
        own = self._sessions.get()
        with own.lock:
            upload = own.open.pop(upload_id, None) if ends else own.open.get(upload_id)
        if upload is None:
            raise UploadLost(f"{self._where(key)}: this process has no such upload")
        return upload

    def upload_part(self, key: str, upload_id: str, number: int, body: Body) -> Part:
        body = in_one(body)
        self._upload(key, upload_id).put(number, body)
        return Part(number, "", len(body), crc(ChecksumType.CRC32C, body))

    def copy_part(
        self, source: ObjectInfo, key: str, upload_id: str, number: int, start: int, end: int
    ) -> Part:
        raise errors.UnsupportedOperation("a copy at Google is one call, whatever its size")

    def complete_upload(
        self, key: str, upload_id: str, parts: Sequence[Part], *, exclusive: bool
    ) -> Stored:
        joined = joined_crc32c(parts)
        stored = documents.resource(self._upload(key, upload_id).finish(joined))
        self._upload(key, upload_id, ends=True)
        if stored.crc32c is not None and stored.crc32c != joined:
            # A store that did not look at what it was told.
            query = [("ifGenerationMatch", stored.etag)]
            self._call("DELETE", "DELETE", key, self._path(key), query)
            raise errors.ChecksumMismatch(
                f"{self._where(key)}: the store has the CRC32C {stored.crc32c:08x} of what was "
                f"written with {joined or 0:08x}; it is removed again"
            )
        return Stored(stored.etag, None, stored.crc32c)

    def abort_upload(self, key: str, upload_id: str) -> None:
        self._upload(key, upload_id, ends=True).cancel()

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
        wanted = min(limit or self._settings.page_keys, self._settings.page_keys)
        objects: list[ObjectInfo] = []
        prefixes: list[str] = []
        while True:
            query = [
                ("fields", f"items({documents.FIELDS}),prefixes,nextPageToken"),
                ("maxResults", str(wanted)),
                *([("prefix", prefix)] if prefix else []),
                *([("delimiter", "/")] if delimiter else []),
                *([("startOffset", start_after)] if start_after else []),
                *([("pageToken", token)] if token else []),
            ]
            answer = self._call("a listing", "GET", prefix, self._objects, query, is_of_bucket=True)
            page = documents.page(answer.body)
            objects += [info for info in page.objects if info.key != start_after]
            prefixes += [prefix for prefix in page.prefixes if prefix not in prefixes]
            token = onward(token, page.token)
            # A page may be empty, and not the last.
            if token is None or len(objects) + len(prefixes) >= (limit or 1):
                return within(prefix, Page(tuple(objects), tuple(prefixes), token))

    def delete_many(self, keys: Sequence[str]) -> list[NotDeleted]:
        refused: list[NotDeleted] = []
        for start in range(0, len(keys), self._settings.delete_keys):
            refused += self._delete_batch(keys[start : start + self._settings.delete_keys])
        return refused

    def _delete_batch(self, keys: Sequence[str]) -> list[NotDeleted]:
        if len(keys) == 1:
            return deleted_alone(self.delete, keys[0])
        boundary = f"batch_{uuid.uuid4().hex}"
        answer = self._call(
            f"the removal of {len(keys)} objects",
            "POST",
            None,
            "/batch/storage/v1",
            (),
            {"Content-Type": f"multipart/mixed; boundary={boundary}"},
            batches.joined(
                boundary,
                (f"DELETE {self._path(key)} HTTP/1.1\r\n" for key in keys),
                number="<{}>",
            ),
        )
        statuses = batches.answers(answer.body, answer.headers.get("content-type", ""))
        refused: list[NotDeleted] = []
        for number, key in enumerate(keys):
            status, _ = statuses.get(number, (0, ""))
            if not 200 <= status < 300 and status != 404:
                # What was refused within the batch says alone why, or has more time.
                refused += deleted_alone(self.delete, key)
        return refused


def _objects(bucket: str) -> str:
    return f"{_ROOT}/b/{quote(bucket, safe='')}/o"


def _with(request: Request, more: Mapping[str, str]) -> Request:
    headers = {**request.headers, **more}
    return replace(request, headers=headers)


def _condition(exclusive: bool) -> list[tuple[str, str]]:
    return [("ifGenerationMatch", "0")] if exclusive else []


def _described(key: str, writer: str | None) -> dict[str, object]:
    resource: dict[str, object] = {"name": key}
    if writer is not None:
        resource["metadata"] = {documents.WRITER: writer}
    return resource
