"""A quick store that is not moto: as much of S3 as a stream, a copy and a listing need.

For measuring, where moto would be what is measured, and for streams that are longer than memory:
as a sink it keeps of a body its length, after it has held it against its checksum, and answers
with a pattern instead. `GET /?calls` tells how many requests there were.

A process of its own, which prints its port and ends when its standard input does. One thread a
connection, no signatures checked, paths of the style `/BUCKET/KEY`; buckets are there when they
are named.
"""

from __future__ import annotations

import argparse
import base64
import bisect
import itertools
import re
import socket
import socketserver
import ssl
import sys
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote
from xml.sax.saxutils import escape, unescape

import google_crc32c

from howdah.config import Configuration
from howdah.local import certificates
from howdah.runtime.tls.contexts import server_context
from howdah.runtime.tls.stores import server_stores

_HEAD_BYTES: Final = 64 << 10
_PIECE_BYTES: Final = 1 << 20
PATTERN: Final = bytes(range(251)) * (_PIECE_BYTES // 251)
"""What a sink answers, over and over: its length divides no power of two."""
_KEPT: Final = ("x-amz-meta-", "content-type")
_ENTITIES: Final = {"&quot;": '"', "&apos;": "'", "&#xD;": "\r"}


@dataclass
class Stored:
    """An object, or a part of one; a sink keeps no body."""

    length: int
    body: bytes | bytearray | None
    etag: str
    modified_s: float
    crc32c: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Upload:
    key: str
    headers: dict[str, str]
    parts: dict[int, Stored] = field(default_factory=dict)


class Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class Buckets:
    """All that is kept; keys have their bucket before them."""

    def __init__(self, *, is_sink: bool) -> None:
        self.is_sink = is_sink
        self.lock = threading.Lock()
        self.objects: dict[str, Stored] = {}
        self.uploads: dict[str, Upload] = {}
        self.calls = 0
        self._sorted: list[str] | None = None
        self._numbers = itertools.count(1)

    def number(self) -> str:
        return f"{next(self._numbers):032x}"

    def make(self, key: str, stored: Stored, *, exclusive: bool) -> None:
        with self.lock:
            if exclusive and key in self.objects:
                raise Refused(412, "PreconditionFailed")
            if key not in self.objects:
                self._sorted = None
            self.objects[key] = stored

    def drop(self, key: str) -> None:
        with self.lock:
            if self.objects.pop(key, None) is not None:
                self._sorted = None

    def find(self, key: str) -> Stored:
        try:
            return self.objects[key]
        except KeyError:
            raise Refused(404, "NoSuchKey") from None

    def upload(self, upload_id: str) -> Upload:
        try:
            return self.uploads[upload_id]
        except KeyError:
            raise Refused(404, "NoSuchUpload") from None

    def sorted_keys(self) -> list[str]:
        with self.lock:
            if self._sorted is None:
                self._sorted = sorted(self.objects)
            return self._sorted


@dataclass
class Request:
    method: str
    bucket: str
    key: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes | bytearray | None
    length: int
    crc: int


class Handler(socketserver.BaseRequestHandler):
    """One connection."""

    request: socket.socket
    kept: Buckets

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._left = b""
        try:
            while (asked := self._read()) is not None:
                self.kept.calls += 1
                try:
                    self._answer(asked)
                except Refused as refused:
                    text = f"<Error><Code>{refused.code}</Code><Message>no</Message></Error>"
                    self._say(asked, refused.status, {}, text.encode())
        except OSError:
            return  # the client has gone

    # --- reading ------------------------------------------------------------------------

    def _read(self) -> Request | None:
        head, found, rest = self._left.partition(b"\r\n\r\n")
        while not found:
            more = self.request.recv(_HEAD_BYTES)
            if not more:
                return None
            head, found, rest = (head + more).partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._left = rest
        path, _, query = target.partition("?")
        bucket, _, key = path.lstrip("/").partition("/")
        length = int(headers.get("content-length", 0))
        is_data = method == "PUT" and self.kept.is_sink
        body: bytearray | None = None
        crc = 0
        if headers.get("transfer-encoding", "") == "chunked":
            body = self._take_chunks()
        elif is_data:
            crc = self._swallow(length)
        else:
            body = self._take(length)
        if body is not None and "STREAMING" in headers.get("x-amz-content-sha256", ""):
            body = bytearray(_unchunked(bytes(body)))
            length = len(body)
        return Request(
            method,
            bucket,
            unquote(key),
            {name: values[0] for name, values in parse_qs(query, True).items()},
            headers,
            body,
            length,
            crc,
        )

    def _take(self, length: int) -> bytearray:
        body = bytearray(length)
        view = memoryview(body)
        have = min(length, len(self._left))
        view[:have] = self._left[:have]
        self._left = self._left[have:]
        while have < length:
            count = self.request.recv_into(view[have:])
            if not count:
                raise ConnectionError("half a body")
            have += count
        return body

    def _take_chunks(self) -> bytearray:
        body = bytearray()
        while True:
            while b"\r\n" not in self._left:
                more = self.request.recv(_HEAD_BYTES)
                if not more:
                    raise ConnectionError("half a body")
                self._left += more
            line, _, self._left = self._left.partition(b"\r\n")
            chunk = self._take(int(line, 16) + 2)
            if len(chunk) == 2:
                return body
            body += memoryview(chunk)[:-2]

    def _swallow(self, length: int) -> int:
        """The CRC32C of a body that nobody keeps."""
        piece = bytearray(_PIECE_BYTES)
        view = memoryview(piece)
        have = min(length, len(self._left))
        total: int = google_crc32c.value(self._left[:have])
        self._left = self._left[have:]
        while have < length:
            count = self.request.recv_into(view, min(_PIECE_BYTES, length - have))
            if not count:
                raise ConnectionError("half a body")
            total = google_crc32c.extend(total, bytes(view[:count]))
            have += count
        return total

    # --- answering ----------------------------------------------------------------------

    def _say(
        self, asked: Request, status: int, headers: dict[str, str], body: bytes | memoryview = b""
    ) -> None:
        lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        if asked.method == "HEAD":
            self.request.sendall(head)
        elif len(body) < _HEAD_BYTES:
            self.request.sendall(head + bytes(body))
        else:
            self.request.sendall(head)
            self.request.sendall(body)

    def _answer(self, asked: Request) -> None:
        place = f"{asked.bucket}/{asked.key}"
        match asked.method:
            case "GET" if "calls" in asked.query:
                self._say(asked, 200, {}, str(self.kept.calls).encode())
            case "HEAD" | "GET" if asked.key:
                self._get(asked, self.kept.find(place))
            case "GET" if "uploads" in asked.query:
                self._list_uploads(asked)
            case "GET" if "list-type" in asked.query:
                self._list(asked)
            case "GET" | "HEAD" | "PUT" if not asked.key:
                self._say(asked, 200, {})
            case "PUT":
                self._put(asked, place)
            case "POST" if "delete" in asked.query:
                self._delete(asked)
            case "POST" if "uploads" in asked.query:
                self._begin(asked, place)
            case "POST":
                self._complete(asked, place)
            case "DELETE":
                if "uploadId" in asked.query:
                    self.kept.uploads.pop(asked.query["uploadId"], None)
                else:
                    self.kept.drop(place)
                self._say(asked, 204, {})
            case _:
                raise Refused(501, "NotImplemented")

    def _get(self, asked: Request, found: Stored) -> None:
        match = asked.headers.get("if-match", "*").strip('"')
        if match not in ("*", found.etag):
            raise Refused(412, "PreconditionFailed")
        headers = {
            "ETag": f'"{found.etag}"',
            "Last-Modified": formatdate(found.modified_s, usegmt=True),
            "Accept-Ranges": "bytes",
            **found.headers,
        }
        if found.crc32c and asked.headers.get("x-amz-checksum-mode"):
            headers |= {"x-amz-checksum-crc32c": found.crc32c}
            headers |= {"x-amz-checksum-type": "FULL_OBJECT"}
        start, end, status = 0, found.length, 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", asked.headers.get("range", ""))
        if wanted and asked.method == "GET":
            start, status = int(wanted[1]), 206
            end = min(int(wanted[2]) + 1, end) if wanted[2] else end
            if start >= found.length:
                raise Refused(416, "InvalidRange")
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{found.length}"
        if found.body is not None:
            body = memoryview(found.body)[start:end] if asked.method == "GET" else found.body
            self._say(asked, status, headers, memoryview(body))
            return
        lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {end - start}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.request.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        if asked.method == "HEAD":
            return
        while start < end:
            within = start % len(PATTERN)
            piece = memoryview(PATTERN)[within : within + end - start]
            self.request.sendall(piece)
            start += len(piece)

    def _checked(self, asked: Request) -> Stored:
        sent = asked.headers.get("x-amz-checksum-crc32c", "")
        if sent and asked.body is None and _decoded(sent) != asked.crc:
            raise Refused(400, "BadDigest")
        return Stored(asked.length, asked.body, self.kept.number(), time.time(), sent)

    def _put(self, asked: Request, place: str) -> None:
        source = asked.headers.get("x-amz-copy-source")
        if source:
            found = self.kept.find(unquote(source.lstrip("/")))
            wanted = re.fullmatch(
                r"bytes=(\d+)-(\d+)", asked.headers.get("x-amz-copy-source-range", "")
            )
            body, length = found.body, found.length
            if wanted:
                length = int(wanted[2]) + 1 - int(wanted[1])
                body = None if body is None else bytes(body[int(wanted[1]) : int(wanted[2]) + 1])
            crc = "" if wanted else found.crc32c
            stored = Stored(length, body, self.kept.number(), time.time(), crc, found.headers)
        else:
            stored = self._checked(asked)
        if "partNumber" in asked.query:
            upload = self.kept.upload(asked.query["uploadId"])
            upload.parts[int(asked.query["partNumber"])] = stored
        else:
            if not source:
                stored.headers = _kept(asked)
            self.kept.make(place, stored, exclusive="if-none-match" in asked.headers)
        if source:
            kind = "CopyPartResult" if "partNumber" in asked.query else "CopyObjectResult"
            text = f"<{kind}><ETag>&quot;{stored.etag}&quot;</ETag></{kind}>"
            self._say(asked, 200, {}, text.encode())
            return
        self._say(asked, 200, {"ETag": f'"{stored.etag}"'})

    def _begin(self, asked: Request, place: str) -> None:
        upload_id = self.kept.number()
        self.kept.uploads[upload_id] = Upload(place, _kept(asked))
        kind = "InitiateMultipartUploadResult"
        self._say(asked, 200, {}, f"<{kind}><UploadId>{upload_id}</UploadId></{kind}>".encode())

    def _complete(self, asked: Request, place: str) -> None:
        upload = self.kept.upload(asked.query["uploadId"])
        parts = [each for _, each in sorted(upload.parts.items())]
        bodies = [each.body for each in parts if each.body is not None]
        stored = Stored(
            sum(each.length for each in parts),
            b"".join(bodies) if len(bodies) == len(parts) else None,
            f"{self.kept.number()}-{len(parts)}",
            time.time(),
            asked.headers.get("x-amz-checksum-crc32c", ""),
            upload.headers,
        )
        self.kept.make(place, stored, exclusive="if-none-match" in asked.headers)
        del self.kept.uploads[asked.query["uploadId"]]
        kind = "CompleteMultipartUploadResult"
        text = f"<{kind}><ETag>&quot;{stored.etag}&quot;</ETag></{kind}>"
        self._say(asked, 200, {}, text.encode())

    def _delete(self, asked: Request) -> None:
        text = bytes(asked.body or b"").decode()
        for key in re.findall("<Key>(.*?)</Key>", text, re.DOTALL):
            self.kept.drop(f"{asked.bucket}/{unescape(key, _ENTITIES)}")
        self._say(asked, 200, {}, b"<DeleteResult></DeleteResult>")

    def _list_uploads(self, asked: Request) -> None:
        prefix = f"{asked.bucket}/{asked.query.get('prefix', '')}"
        found = "".join(
            f"<Upload><Key>{quote(upload.key.partition('/')[2])}</Key>"
            f"<UploadId>{upload_id}</UploadId><Initiated>{_time(0)}</Initiated></Upload>"
            for upload_id, upload in list(self.kept.uploads.items())
            if upload.key.startswith(prefix)
        )
        kind = "ListMultipartUploadsResult"
        text = f"<{kind}><EncodingType>url</EncodingType>{found}</{kind}>"
        self._say(asked, 200, {}, text.encode())

    def _list(self, asked: Request) -> None:
        query = asked.query
        limit = int(query.get("max-keys", 1000))
        top = f"{asked.bucket}/"
        prefix = top + query.get("prefix", "")
        delimiter = query.get("delimiter", "")
        escaped = quote if query.get("encoding-type") == "url" else escape
        keys = self.kept.sorted_keys()
        after = query.get("start-after", "")
        if "continuation-token" in query:
            after = unquote(query["continuation-token"])
        at = max(bisect.bisect_left(keys, prefix), bisect.bisect_right(keys, top + after))
        found: list[str] = []
        last = ""
        while at < len(keys) and keys[at].startswith(prefix) and len(found) < limit:
            key = keys[at]
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            if cut >= 0:
                common = key[: cut + 1]
                found.append(
                    f"<CommonPrefixes><Prefix>{escaped(common[len(top) :])}</Prefix>"
                    "</CommonPrefixes>"
                )
                last = common + "\U0010ffff"
                at = bisect.bisect_right(keys, last)
                continue
            each = self.kept.objects.get(key)
            at += 1
            if each is None:
                continue
            found.append(
                f"<Contents><Key>{escaped(key[len(top) :])}</Key><LastModified>"
                f"{_time(each.modified_s)}</LastModified><ETag>&quot;{each.etag}&quot;</ETag>"
                f"<Size>{each.length}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            )
            last = key
        more = at < len(keys) and keys[at].startswith(prefix)
        token = f"<NextContinuationToken>{quote(last[len(top) :])}</NextContinuationToken>"
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token if more else ''}"
            f"<EncodingType>{query.get('encoding-type', '')}</EncodingType>"
            f"<KeyCount>{len(found)}</KeyCount>{''.join(found)}</ListBucketResult>"
        )
        self._say(asked, 200, {"Content-Type": "application/xml"}, text.encode())


def _kept(asked: Request) -> dict[str, str]:
    return {name: value for name, value in asked.headers.items() if name.startswith(_KEPT)}


def _decoded(text: str) -> int:
    return int.from_bytes(base64.b64decode(text), "big")


def _time(at_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at_s))


def _unchunked(body: bytes) -> bytes:
    """What is in a body of `aws-chunked`, trailers left out."""
    found: list[bytes] = []
    at = 0
    while True:
        line, at = body[at : body.index(b"\r\n", at)], body.index(b"\r\n", at) + 2
        length = int(line.partition(b";")[0], 16)
        if not length:
            return b"".join(found)
        found.append(body[at : at + length])
        at += length + 2


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128
    tls: ssl.SSLContext | None = None

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self.tls is not None:
            # The handshake is its thread's, with the first bytes that it reads.
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        return connection, address


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sink", action="store_true")
    parser.add_argument("--tls", type=Path, help="a directory of `howdah.local.certificates`")
    arguments = parser.parse_args()
    kept = Buckets(is_sink=arguments.sink)
    handler = type("Bound", (Handler,), {"kept": kept})
    with _Server(("127.0.0.1", 0), handler) as server:
        if arguments.tls:
            conf = Configuration(certificates.settings(arguments.tls))
            server.tls = server_context(server_stores(conf))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
