"""A small Cloud Storage for tests: what its documentation of the JSON API says, strictly.

Generations and their conditions, resumable sessions, rewrites in several steps, listings by page,
batches and service accounts' tokens. What a client gets wrong is an error here: a piece of a
session that is no multiple of 256 KiB, a slash in a path, a token of nobody.

A bucket whose name begins with `sparse-` has an empty page before each page of a listing. Of
every third piece of a session only the first 256 KiB are kept, as the service may do.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import google_crc32c

from howdah.config import Configuration
from howdah.fs.objects.google.filesystem import GoogleFileSystem
from howdah.fs.objects.google.store import GoogleStore
from tests.support.objects.clouds import dotted, tune
from tests.support.objects.serving import served

UNIT_BYTES: Final = 256 << 10
Name = tuple[str, str]
"""Of a bucket, and of an object in it."""
_REWRITTEN_BYTES: Final = 512 << 10
"""So much one call of a rewrite copies."""
_CONTENT_RANGE: Final = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_RANGE: Final = re.compile(r"bytes=(\d+)-(\d+)")
_PART: Final = re.compile(r"content-id: <?(\d+)>?.*?\r\n\r\n(\w+) (\S+) HTTP/1.1", re.I | re.S)
_numbers = itertools.count(1)


@dataclass
class Stored:
    """An object."""

    data: bytes
    generation: int
    metadata: dict[str, str]
    updated: str


@dataclass
class Session:
    """A resumable upload. `condition` is the generation that there is to be, or None."""

    bucket: str
    name: str
    metadata: dict[str, str]
    condition: int | None
    data: bytearray = field(default_factory=bytearray)
    resource: dict[str, Any] | None = None
    pieces: int = 0


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


def _crc(data: bytes) -> str:
    return base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()


class CloudStorage:
    """What the server has. Thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.buckets: dict[str, dict[str, Stored]] = {}
        self.sessions: dict[str, Session] = {}
        self.tokens: set[str] | None = None
        """Those that are taken; None: nobody is asked."""
        self.issued = 0
        self.public_key: Any = None
        self._generation = int(time.time() * 1_000_000)
        self._rewrites: dict[str, int] = {}

    # --- objects ------------------------------------------------------------------------

    def bucket(self, name: str) -> dict[str, Stored]:
        if name not in self.buckets:
            raise Refused(404, "notFound", "The specified bucket does not exist.")
        return self.buckets[name]

    def find(self, bucket: str, name: str, condition: str | None = None) -> Stored:
        found = self.bucket(bucket).get(name)
        if found is None:
            raise Refused(404, "notFound", f"No such object: {bucket}/{name}")
        if condition is not None and str(found.generation) != condition:
            raise Refused(412, "conditionNotMet", "At least one of the pre-conditions did not hold")
        return found

    def check(self, bucket: str, name: str, condition: int | None) -> None:
        there = self.bucket(bucket).get(name)
        if condition is not None and condition != (there.generation if there else 0):
            raise Refused(412, "conditionNotMet", "At least one of the pre-conditions did not hold")

    def make(
        self, bucket: str, name: str, data: bytes, metadata: dict[str, str], crc: str | None
    ) -> dict[str, Any]:
        if crc is not None and crc != _crc(data):
            raise Refused(400, "invalid", "Provided CRC32C does not match calculated CRC32C")
        self._generation += 1
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        made = Stored(data, self._generation, metadata, now)
        self.bucket(bucket)[name] = made
        return self.resource(bucket, name, made)

    @staticmethod
    def resource(bucket: str, name: str, found: Stored) -> dict[str, Any]:
        return {
            "kind": "storage#object",
            "bucket": bucket,
            "name": name,
            "size": str(len(found.data)),
            "generation": str(found.generation),
            "updated": found.updated,
            "crc32c": _crc(found.data),
            **({"metadata": found.metadata} if found.metadata else {}),
        }

    # --- calls --------------------------------------------------------------------------

    def insert(self, bucket: str, query: dict[str, str], body: bytes, kind: str) -> dict[str, Any]:
        """`uploadType=multipart`."""
        boundary = kind.partition("boundary=")[2].encode()
        _, described, media = body.split(b"--" + boundary + b"\r\n")
        head = json.loads(described.partition(b"\r\n\r\n")[2])
        data = media.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n--" + boundary + b"--\r\n")
        self.check(bucket, head["name"], _condition(query))
        metadata = head.get("metadata", {})
        return self.make(bucket, head["name"], data, metadata, head.get("crc32c"))

    def begin(self, bucket: str, query: dict[str, str], body: bytes) -> str:
        condition = _condition(query)
        self.check(bucket, query["name"], condition)
        name = f"session-{next(_numbers)}"
        metadata = json.loads(body or b"{}").get("metadata", {})
        self.sessions[name] = Session(bucket, query["name"], metadata, condition)
        return name

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            raise Refused(404, "notFound", "No such upload")
        return self.sessions[name]

    def piece(self, name: str, content_range: str, body: bytes, crc: str | None) -> Session:
        """A request of a session; it is done if it has a resource."""
        session = self.session(name)
        told = _CONTENT_RANGE.fullmatch(content_range)
        if told is None:
            raise Refused(400, "invalid", f"Content-Range {content_range!r}")
        if session.resource is not None:
            return session
        if told[1] is None:
            if body:
                raise Refused(400, "invalid", "a question with a body")
        else:
            start, end = int(told[1]), int(told[2]) + 1
            if start != len(session.data) or end - start != len(body):
                raise Refused(400, "invalid", f"there are {len(session.data)} bytes")
            if told[3] == "*" and len(body) % UNIT_BYTES:
                raise Refused(400, "invalid", "a piece that is no multiple of 256 KiB")
            session.pieces += 1
            session.data += body[:UNIT_BYTES] if session.pieces % 3 == 0 else body
        if told[3] != "*" and int(told[3]) == len(session.data):
            self.check(session.bucket, session.name, session.condition)
            session.resource = self.make(
                session.bucket, session.name, bytes(session.data), session.metadata, crc
            )
        return session

    def rewrite(self, source: Name, target: Name, query: dict[str, str]) -> Any:
        found = self.find(*source, query.get("ifSourceGenerationMatch"))
        token = query.get("rewriteToken")
        done = self._rewrites.pop(token, 0) if token else 0
        done += _REWRITTEN_BYTES
        if done < len(found.data):
            name = f"rewrite-{next(_numbers)}"
            self._rewrites[name] = done
            return {"done": False, "rewriteToken": name, "totalBytesRewritten": str(done)}
        made = self.make(*target, found.data, dict(found.metadata), None)
        return {"done": True, "resource": made}

    def listing(self, bucket: str, query: dict[str, str]) -> dict[str, Any]:
        objects = self.bucket(bucket)
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        token, limit = query.get("pageToken", ""), int(query.get("maxResults", 1000))
        if bucket.startswith("sparse-") and not token.endswith("!"):
            return {"nextPageToken": token + "!"}
        after = token.removesuffix("!")
        items: list[dict[str, Any]] = []
        prefixes: list[str] = []
        last = ""
        for name in sorted(objects):
            if not name.startswith(prefix) or name < query.get("startOffset", ""):
                continue
            rest = name[len(prefix) :]
            entry = name
            if delimiter and delimiter in rest:
                entry = prefix + rest[: rest.index(delimiter) + 1]
            if entry <= after or entry in prefixes:
                continue
            if len(items) + len(prefixes) == limit:
                return {"items": items, "prefixes": prefixes, "nextPageToken": last}
            last = entry
            if not delimiter or delimiter not in rest:
                items.append(self.resource(bucket, name, objects[name]))
            else:
                prefixes.append(entry)
        return {"items": items, "prefixes": prefixes}

    def delete(self, bucket: str, name: str, query: dict[str, str]) -> None:
        self.find(bucket, name, query.get("ifGenerationMatch"))
        del self.buckets[bucket][name]

    def token(self, body: bytes) -> dict[str, Any]:
        """For an assertion that a service account signed."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        assertion = dict(parse_qsl(body.decode()))["assertion"]
        text, _, signature = assertion.rpartition(".")
        raw = base64.urlsafe_b64decode(signature + "==")
        self.public_key.verify(raw, text.encode(), padding.PKCS1v15(), hashes.SHA256())
        self.issued += 1
        token = f"token-of-nobody-else-{self.issued}"
        self.tokens = {token}
        return {"access_token": token, "expires_in": 3600, "token_type": "Bearer"}


def _condition(query: dict[str, str]) -> int | None:
    found = query.get("ifGenerationMatch")
    return None if found is None else int(found)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud: CloudStorage

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            with self.cloud.lock:
                self._serve(body)
        except Refused as refused:
            text = {
                "error": {
                    "code": refused.status,
                    "message": str(refused),
                    "errors": [{"reason": refused.reason, "message": str(refused)}],
                }
            }
            self._answer(refused.status, json.dumps(text).encode())

    do_GET = do_PUT = do_POST = do_DELETE = do_any

    def _serve(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path == "/token":
            self._json(self.cloud.token(body))
            return
        tokens = self.cloud.tokens
        if tokens is not None and "upload_id" not in query:
            told = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if told not in tokens:
                raise Refused(401, "authError", "Invalid Credentials")
        if parts.path == "/batch/storage/v1":
            self._batch(body)
            return
        self._route(parts.path.split("/")[1:], query, body)

    def _route(self, steps: list[str], query: dict[str, str], body: bytes) -> None:
        cloud = self.cloud
        names = [unquote(each) for each in steps]
        match (self.command, *steps):
            case (_, "upload", "storage", "v1", "b", _, "o"):
                self._upload(names[4], query, body)
            case ("GET", "storage", "v1", "b", _, "o"):
                self._json(cloud.listing(names[3], query))
            case ("GET", "storage", "v1", "b", _, "o", _) if query.get("alt") == "media":
                self._media(cloud.find(names[3], names[5], query.get("ifGenerationMatch")))
            case ("GET", "storage", "v1", "b", _, "o", _):
                found = cloud.find(names[3], names[5])
                self._json(cloud.resource(names[3], names[5], found))
            case ("DELETE", "storage", "v1", "b", _, "o", _):
                cloud.delete(names[3], names[5], query)
                self._answer(204, b"")
            case ("POST", "storage", "v1", "b", _, "o", _, "rewriteTo", "b", _, "o", _):
                self._json(cloud.rewrite((names[3], names[5]), (names[8], names[10]), query))
            case _:
                raise Refused(404, "notFound", f"nothing is at {self.path}")

    def _upload(self, bucket: str, query: dict[str, str], body: bytes) -> None:
        cloud = self.cloud
        if "upload_id" in query:
            if self.command == "DELETE":
                cloud.session(query["upload_id"])
                del cloud.sessions[query["upload_id"]]
                self._answer(499, b"")
                return
            crc = self.headers.get("x-goog-hash", "").partition("crc32c=")[2] or None
            content_range = self.headers.get("Content-Range", "")
            session = cloud.piece(query["upload_id"], content_range, body, crc)
            if session.resource is not None:
                self._json(session.resource)
                return
            had = len(session.data)
            self._answer(308, b"", {"Range": f"bytes=0-{had - 1}"} if had else {})
            return
        if query["uploadType"] == "multipart":
            kind = self.headers.get("Content-Type", "")
            self._json(cloud.insert(bucket, query, body, kind))
            return
        name = cloud.begin(bucket, query, body)
        # Another host than the one that was asked, as it may be behind a proxy.
        location = f"http://upload.invalid{self.path}&upload_id={name}"
        self._answer(200, b"", {"Location": location})

    def _media(self, found: Stored) -> None:
        told = _RANGE.fullmatch(self.headers.get("Range", ""))
        if told is None:
            raise Refused(400, "invalid", "no range")
        start, end = int(told[1]), min(int(told[2]) + 1, len(found.data))
        if start >= len(found.data):
            raise Refused(416, "requestedRangeNotSatisfiable", "Request range not satisfiable")
        more = {
            "Content-Range": f"bytes {start}-{end - 1}/{len(found.data)}",
            "x-goog-generation": str(found.generation),
        }
        self._answer(206, found.data[start:end], more)

    def _batch(self, body: bytes) -> None:
        found = ""
        for number, method, target in _PART.findall(body.decode()):
            steps = [unquote(each) for each in target.split("/")[1:]]
            status = 204
            try:
                if method != "DELETE" or len(steps) != 6 or target.count("/") != 6:
                    raise Refused(400, "invalid", target)
                self.cloud.delete(steps[3], steps[5], {})
            except Refused as refused:
                status = refused.status
            found += (
                f"--there\r\nContent-Type: application/http\r\nContent-ID: <response-{number}>"
                f"\r\n\r\nHTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n\r\n"
            )
        kind = {"Content-Type": "multipart/mixed; boundary=there"}
        self._answer(200, f"{found}--there--".encode(), kind)

    def _json(self, found: object) -> None:
        self._answer(200, json.dumps(found).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response_only(status, "So")
        for name, value in (more or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@dataclass(frozen=True)
class GoogleServer:
    """A store that runs; `port` is its own or a proxy's."""

    port: int
    cloud: CloudStorage

    def behind(self, port: int) -> GoogleServer:
        return replace(self, port=port)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def keys(self, **more: str) -> dict[str, str]:
        """Hadoop's keys to reach it; `more` are `fs.gs.` keys with `_` for dots."""
        found = {
            "fs.gs.storage.root.url": self.endpoint,
            "fs.gs.auth.type": "UNAUTHENTICATED",
            # The machine may be busy.
            "fs.gs.http.connect-timeout": "60s",
            "fs.gs.http.read-timeout": "60s",
        }
        return found | dotted("fs.gs.", more)

    def service_account(self, path: Path) -> dict[str, str]:
        """Let nobody in without a token from now on; keys for who has the file at `path`."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        text = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        found = {
            "type": "service_account",
            "client_email": "tests@howdah.invalid",
            "private_key_id": "1",
            "private_key": text.decode(),
            "token_uri": f"{self.endpoint}/token",
        }
        path.write_text(json.dumps(found))
        self.cloud.public_key = key.public_key()
        self.cloud.tokens = set()
        return self.keys(auth_type="SERVICE_ACCOUNT_JSON_KEYFILE") | {
            "fs.gs.auth.service.account.json.keyfile": str(path)
        }

    def uri(self, bucket: str) -> str:
        return f"gs://{bucket}"

    def new_bucket(self, prefix: str = "bucket") -> str:
        """An empty bucket that nobody else has."""
        name = f"{prefix}-{next(_numbers)}"
        self.cloud.buckets[name] = {}
        return name

    def connect(
        self, bucket: str, *, part_bytes: int | None = None, retries: int | None = None
    ) -> GoogleFileSystem:
        """Requests are made again without a pause that nobody needs."""
        more = {} if retries is None else {"http_max_retry": str(retries)}
        made = GoogleFileSystem(bucket, Configuration(self.keys(**more)))
        rules = replace(made._settings.retries, interval_s=0.01, throttle_interval_s=0.01)
        assert isinstance(made._store, GoogleStore)
        made._store._retrying._rules = rules
        tune(made, retries=rules, part_bytes=part_bytes or made._settings.part_bytes)
        return made


@contextmanager
def google_server() -> Iterator[GoogleServer]:
    """A store in threads of this process, for as long as the context lasts."""
    cloud = CloudStorage()
    handler: type[_Handler] = type("Handler", (_Handler,), {"cloud": cloud})
    with served(handler) as port:
        yield GoogleServer(port, cloud)
