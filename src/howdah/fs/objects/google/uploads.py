"""A resumable upload (shell): `resumable` says what is sent, this sends it.

The URI of a session lets anybody write to it, and is in no message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from howdah import errors
from howdah.fs.objects.google import documents
from howdah.fs.objects.google.resumable import Progress
from howdah.fs.objects.http_client import Answer
from howdah.fs.objects.retrying import Retrying
from howdah.fs.objects.store import Body, UploadLost

Send = Callable[[str, str, Mapping[str, str], Body], Answer]
"""Method, target, headers, body; an answer of any status."""
_INCOMPLETE: Final = 308
_CANCELLED: Final = 499


class ResumableUpload:
    """Sends an upload in one session, part after part."""

    def __init__(
        self,
        location: str,
        where: str,
        send: Send,
        refused: Callable[[Answer], errors.HowdahError],
        retrying: Retrying,
    ) -> None:
        """Of `location` only path and query count: nothing is sent to another server."""
        parts = urlsplit(location)
        if not parts.query:
            raise errors.ProtocolViolation(f"{where}: the store begins an upload without a name")
        self._target = f"{parts.path}?{parts.query}"
        self._where = where
        self._send = send
        self._refused = refused
        self._retrying = retrying
        self._progress = Progress()
        self._lock = threading.Lock()
        self.next_number = 1

    def put(self, number: int, data: bytes | bytearray) -> None:
        """Send a part, but for what does not fill a unit. Raises `UploadLost`."""
        with self._lock:
            assert number == self.next_number, "parts of a session come in order"
            self.next_number += 1
            self._progress.give(data)
            self._pushed(f"part {number}", is_last=False, headers={})

    def finish(self, crc: int | None) -> dict[str, Any]:
        """Send the rest and the end, and return the object's resource. Raises `UploadLost`,
        `NotAsExpected`."""
        headers = {} if crc is None else {"x-goog-hash": f"crc32c={documents.crc_text(crc)}"}
        with self._lock:
            resource = self._pushed("the end", is_last=True, headers=headers)
            assert resource is not None
            return resource

    def cancel(self) -> None:
        """Raises `UploadLost`."""

        def once() -> None:
            answer = self._send("DELETE", self._target, {}, b"")
            if answer.status != _CANCELLED and answer.status >= 300:
                raise self._failure(answer)

        self._retrying(f"the abort of an upload of {self._where}", once)

    def _pushed(
        self, operation: str, *, is_last: bool, headers: Mapping[str, str]
    ) -> dict[str, Any] | None:
        is_again = False

        def once() -> dict[str, Any] | None:
            nonlocal is_again
            if is_again:
                resource = self._query_status()
                if resource is not None:
                    return resource
            is_again = True
            return self._sent(is_last=is_last, headers=headers)

        return self._retrying(f"{operation} of an upload of {self._where}", once)

    def _sent(self, *, is_last: bool, headers: Mapping[str, str]) -> dict[str, Any] | None:
        """Send all that may be sent now. Return the resource if that was the end."""
        progress = self._progress
        while True:
            count = progress.sendable(is_last=is_last)
            if not count and not is_last:
                return None
            request_headers = {
                **headers,
                "Content-Range": progress.content_range(count, is_last=is_last),
            }
            # The session keeps what is pending until the service says that it has it.
            body = bytes(memoryview(progress.pending)[:count])
            answer = self._send("PUT", self._target, request_headers, body)
            if answer.status in (200, 201):
                return documents.parsed(answer.body)
            if answer.status != _INCOMPLETE:
                raise self._failure(answer)
            before = progress.confirmed
            progress.note_stored(answer.headers.get("range"))
            if progress.confirmed == before:
                raise errors.Unreachable(f"{self._where}: the store kept nothing of a request")

    def _query_status(self) -> dict[str, Any] | None:
        """Where the upload stands; the resource, if it is whole already."""
        answer = self._send("PUT", self._target, {"Content-Range": "bytes */*"}, b"")
        if answer.status in (200, 201):
            return documents.parsed(answer.body)
        if answer.status != _INCOMPLETE:
            raise self._failure(answer)
        self._progress.note_stored(answer.headers.get("range"))
        return None

    def _failure(self, answer: Answer) -> errors.HowdahError:
        if answer.status in (404, 410, _CANCELLED):
            return UploadLost(f"{self._where}: its upload is gone (HTTP status {answer.status})")
        return self._refused(answer)
