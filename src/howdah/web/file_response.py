"""A file, or the beginning of one, as the answer to a request (shell)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from howdah.runtime.byte_rate import Throttle
from howdah.web.channel import Channel
from howdah.web.http import Request, Response, part_wanted, text_response
from howdah.web.image_transfer import FILE_NAME_HEADER, MD5_HEADER, Patience

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """What is sent: all of a file, or its first `length_bytes`. `md5` is its sum, if there
    is one."""

    path: Path
    length_bytes: int | None = None
    md5: str | None = None


class FileOut:
    """Sends a file, or the part that the request's Range asks for; an `Exchange` of
    `howdah.web.server`."""

    def __init__(
        self,
        request: Request,
        find: Callable[[], OutgoingFile],
        bytes_per_s: int,
        timeout_s: float,
        *,
        missing_status: int,
    ) -> None:
        """`find` is called on the thread, and raises OSError; then the answer is
        `missing_status` and the reason. 0 is without a limit."""
        self._request = request
        self._find = find
        self._bytes_per_s = bytes_per_s
        self._timeout_s = timeout_s
        self._missing_status = missing_status
        self._answer: Response | None = None

    def run(self, channel: Channel) -> None:
        try:
            outgoing, file = self._opened()
        except OSError as error:
            log.warning("cannot send what was asked for: %s", error)
            self._answer = text_response(self._missing_status, str(error))
            return
        with file:
            path, size_bytes = outgoing.path, outgoing.length_bytes
            if size_bytes is None:
                size_bytes = file.seek(0, 2)
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Disposition": f"attachment; filename={path.name}",
                "Accept-Ranges": "bytes",
                FILE_NAME_HEADER: path.name,
            }
            if outgoing.md5 is not None:
                headers[MD5_HEADER] = outgoing.md5
            try:
                part = part_wanted(self._request.headers.get("range"), size_bytes)
            except ValueError as error:
                refusal = text_response(416, str(error))
                whole = {"Content-Range": f"bytes */{size_bytes}"}
                self._answer = Response(416, {**refusal.headers, **whole}, refusal.body)
                return
            offset, length_bytes = (
                (0, size_bytes) if part is None else (part.offset, part.length_bytes)
            )
            if part is not None:
                last = offset + length_bytes - 1
                headers["Content-Range"] = f"bytes {offset}-{last}/{size_bytes}"
            headers["Content-Length"] = str(length_bytes)
            channel.begin(200 if part is None else 206, headers)
            self._pour(channel, path, file, offset, length_bytes)
            channel.end()
        log.info("sent %s, %d bytes", path, length_bytes)

    def _pour(
        self, channel: Channel, path: Path, file: FileIO, offset: int, length_bytes: int
    ) -> None:
        throttle = Throttle(self._bytes_per_s)
        patience = Patience(length_bytes, self._bytes_per_s, self._timeout_s, time.monotonic())
        sent = 0
        while sent < length_bytes:
            count = min(throttle.piece_bytes, length_bytes - sent)
            moved = channel.send_file(file, offset + sent, count)
            if not moved:
                raise OSError(f"{path} has become shorter")
            sent += moved
            patience.check(time.monotonic())
            time.sleep(throttle.delay_s(moved, time.monotonic()))

    def _opened(self) -> tuple[OutgoingFile, FileIO]:
        """Open the file; look for it again if it was renamed since it was found."""
        outgoing = self._find()
        try:
            return outgoing, FileIO(outgoing.path)
        except FileNotFoundError:
            outgoing = self._find()
            return outgoing, FileIO(outgoing.path)

    def done(self) -> Response | None:
        return self._answer
