"""The operations that move bytes, between a connection and a file (shell).

Bytes pass in pieces, so that a request of any length costs the same memory. A body that breaks
off leaves what came before it, as in Hadoop, and gets no 201.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote

from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.streams import FSDataOutputStream
from howdah.options import CreateFlag
from howdah.web.channel import Channel
from howdah.web.http import Response, answer
from howdah.web.webhdfs.parameters import ParsedRequest
from howdah.web.webhdfs.redirects import URI_SAFE

log = logging.getLogger(__name__)

FILE_MODE: Final = 0o644
_PIECE_BYTES: Final = 256 * 1024
_JSON: Final = "application/json; charset=utf-8"
_BYTES: Final = "application/octet-stream"
_COMBINED: Final = "MD5MD5CRC"
_SUM_BYTES: Final = 28
"""Of such a sum: Hadoop tells four bytes more, which it does not count."""
_FLAGS: Final = {flag.name: flag for flag in CreateFlag}
_IMPLIED: Final = frozenset({"CREATE", "OVERWRITE"})


def open_file(fs: HdfsFileSystem, wanted: ParsedRequest, channel: Channel, location: str) -> None:
    offset = wanted.number("offset") or 0
    length = wanted.number("length")
    with fs.open(wanted.path) as stream:
        size = stream.size
        if offset > size:
            raise errors.EndOfFile("Cannot seek after EOF")
        stream.seek(offset)
        left_bytes = max(size - offset, 0)
        if length is not None:
            left_bytes = min(left_bytes, length)
        channel.begin(200, {"Content-Type": _BYTES, "Content-Length": str(left_bytes)})
        if not channel.wants_body:
            left_bytes = 0
        piece = memoryview(bytearray(min(_PIECE_BYTES, left_bytes)))
        while left_bytes:
            count = stream.readinto(piece[: min(len(piece), left_bytes)])
            if not count:
                raise errors.RemoteError(f"{wanted.path} ends {left_bytes} bytes too early")
            channel.send(piece[:count])
            left_bytes -= count
    channel.end()


def create(fs: HdfsFileSystem, wanted: ParsedRequest, channel: Channel, location: str) -> Response:
    unmasked = wanted.number("unmaskedpermission")
    mode = wanted.number("permission")
    chosen = wanted.chosen("createflag")
    flags = CreateFlag.NONE
    for name in chosen - _IMPLIED:
        if name not in _FLAGS:
            raise errors.UnsupportedOperation(f"createflag={name} is not supported")
        flags |= _FLAGS[name]
    if unmasked is None:
        unmasked = FILE_MODE if mode is None else mode
    out = fs.client.create(
        fs.resolve(wanted.path),
        masked=FILE_MODE if mode is None else mode,
        unmasked=unmasked,
        overwrite=wanted.flag("overwrite") or "OVERWRITE" in chosen,
        create_parent=wanted.flag("createparent"),
        replication=wanted.number("replication"),
        block_size=wanted.number("blocksize"),
        flags=flags,
    )
    _pour(channel, FSDataOutputStream(out), wanted.path)
    return Response(201, {"Location": _ascii(location)})


def append(fs: HdfsFileSystem, wanted: ParsedRequest, channel: Channel, location: str) -> Response:
    _pour(channel, fs.append(wanted.path), wanted.path)
    return Response(200)


def checksum(
    fs: HdfsFileSystem, wanted: ParsedRequest, channel: Channel, location: str
) -> Response:
    """Return the checksum, of the one kind that Hadoop has over HTTP."""
    file_checksum = fs.get_file_checksum(wanted.path, combine_mode=_COMBINED)
    if file_checksum is None:
        raise errors.RemoteError(f"there is no checksum of {wanted.path}")
    fields = {
        "algorithm": file_checksum.algorithm,
        "bytes": file_checksum.hex(),
        "length": _SUM_BYTES,
    }
    body = json.dumps({"FileChecksum": fields}, separators=(",", ":")).encode()
    return answer(200, body, _JSON)


Transfer = Callable[[HdfsFileSystem, ParsedRequest, Channel, str], Response | None]
TRANSFERS: Final[Mapping[str, Transfer]] = {
    "OPEN": open_file,
    "CREATE": create,
    "APPEND": append,
    "GETFILECHECKSUM": checksum,
}
"""What each does with a file, and its answer, if it has not begun one. The last argument is the
address that a new file is told to have."""


def _pour(channel: Channel, out: FSDataOutputStream, path: str) -> None:
    """The body of the request into a file, which is closed in the end."""
    with _closed(out, path):
        while data := channel.read():
            out.write(data)


@contextmanager
def _closed(out: FSDataOutputStream, path: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Also after a defect: this client lives on, and would renew the lease for ever.
        log.warning("%s keeps the %d bytes that came: %s", path, out.get_pos(), error)
        try:
            out.close()
        except (errors.HowdahError, OSError) as second:
            log.warning("%s stays open until its lease is recovered: %s", path, second)
        raise
    out.close()


def _ascii(location: str) -> str:
    """For a header, where only ASCII is safe."""
    return quote(location, safe=f"{URI_SAFE}?[]~")
