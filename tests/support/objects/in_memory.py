"""An `ObjectStore` in this process's memory, for tests of what is made of one.

It does what a store does and nothing more: no connection, no retries, no time. A test makes it
fail by a subclass, or by its `before` and `behind`, which are called around each request.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from howdah import errors
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
    in_one,
    joined_crc32c,
)
from howdah.protocol.data_transfer.checksum import ChecksumType, crc


@dataclass
class _Upload:
    key: str
    writer: str | None
    parts: dict[int, tuple[Part, bytes]] = field(default_factory=dict)


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._left = memoryview(data)

    def readinto(self, view: memoryview) -> int:
        count = min(len(view), len(self._left))
        view[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self, left: int) -> None:
        self._left = self._left[:0]


def _nothing(what: str, key: str) -> None:
    pass


class InMemoryStore:
    """One bucket."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.objects: dict[str, tuple[ObjectInfo, bytes]] = {}
        self.open: dict[str, _Upload] = {}
        self.requests: list[str] = []
        """What was asked, and of which key."""
        self.before: Callable[[str, str], None] = _nothing
        self.behind: Callable[[str, str], None] = _nothing
        self._numbers = itertools.count(1)

    @property
    def calls(self) -> int:
        return len(self.requests)

    bucket = "b"
    sums_copies = True
    """As it tells CRCs of copies it does of all else."""
    keeps_etags = False
    sorts_keys = True

    def why_not_copied_from(self, other: ObjectStore) -> str | None:
        return None if other is self else "they are two"

    def data(self, key: str) -> bytes | None:
        """What an object has; None without one."""
        found = self.objects.get(key)
        return None if found is None else found[1]

    def _asked(self, what: str, key: str) -> None:
        self.requests.append(f"{what} {key}")
        self.before(what, key)

    def _crc(self, data: bytes) -> int | None:
        return crc(ChecksumType.CRC32C, data) if self.sums_copies else None

    def _etag(self, data: bytes) -> str:
        if self.keeps_etags:
            return hashlib.md5(data, usedforsecurity=False).hexdigest()
        return f"{next(self._numbers):08x}"

    def _made(self, key: str, data: bytes, writer: str | None, etag: str = "") -> Stored:
        info = ObjectInfo(
            key=key,
            length=len(data),
            modified_ms=1,
            etag=etag or self._etag(data),
            crc32c=self._crc(data),
            writer=writer,
        )
        self.objects[key] = info, data
        return Stored(info.etag, None, info.crc32c)

    def _check(self, key: str, *, exclusive: bool) -> None:
        if exclusive and key in self.objects:
            raise NotAsExpected(f"{key} is there")

    def _upload(self, key: str, upload_id: str) -> _Upload:
        found = self.open.get(upload_id)
        if found is None or found.key != key:
            raise UploadLost(f"{key}: no such upload")
        return found

    # --- one object ---------------------------------------------------------------------

    def head(self, key: str) -> ObjectInfo:
        self._asked("head", key)
        found = self.objects.get(key)
        if found is None:
            raise errors.PathNotFound(f"File does not exist: {key}")
        return found[0]

    def head_and_get(self, key: str) -> tuple[ObjectInfo, Reading | None]:
        self._asked("head and get", key)
        found = self.objects.get(key)
        if found is None:
            raise errors.PathNotFound(f"File does not exist: {key}")
        return found[0], _Bytes(found[1])

    def get(
        self, key: str, start: int, end: int, *, etag: str | None, version_id: str | None
    ) -> tuple[Reading, str]:
        info = self.head(key)
        if etag is not None and etag != info.etag:
            raise NotAsExpected(f"{key} is another one")
        return _Bytes(self.objects[key][1][start:end]), info.etag

    def put(self, key: str, body: Body, *, exclusive: bool, writer: str | None) -> Stored:
        self._asked("put", key)
        with self.lock:
            self._check(key, exclusive=exclusive)
            made = self._made(key, bytes(in_one(body)), writer)
        self.behind("put", key)
        return made

    def copy(self, source: ObjectInfo, key: str) -> Stored:
        self._asked("copy", key)
        with self.lock:
            info, data = self.objects[source.key]
            if info.etag != source.etag:
                raise NotAsExpected(f"{source.key} is another one")
            made = self._made(key, data, info.writer)
        self.behind("copy", key)
        return made

    def delete(self, key: str) -> None:
        self._asked("delete", key)
        self.objects.pop(key, None)

    def delete_many(self, keys: Sequence[str]) -> list[NotDeleted]:
        for key in keys:
            self.delete(key)
        return []

    # --- uploads in parts ---------------------------------------------------------------

    def begin_upload(
        self, key: str, *, exclusive: bool, writer: str | None, like: ObjectInfo | None = None
    ) -> str:
        self._asked("begin", key)
        upload_id = f"upload-{next(self._numbers)}"
        self.open[upload_id] = _Upload(key, writer)
        self.behind("begin", key)
        return upload_id

    def _take(self, key: str, upload_id: str, number: int, data: bytes) -> Part:
        with self.lock:
            upload = self._upload(key, upload_id)
            part = Part(number, self._etag(data), len(data), self._crc(data))
            upload.parts[number] = part, data
        return part

    def upload_part(self, key: str, upload_id: str, number: int, body: Body) -> Part:
        self._asked("part", key)
        part = self._take(key, upload_id, number, bytes(in_one(body)))
        self.behind("part", key)
        return part

    def copy_part(
        self, source: ObjectInfo, key: str, upload_id: str, number: int, start: int, end: int
    ) -> Part:
        self._asked("copy of a part", key)
        info, data = self.objects[source.key]
        if info.etag != source.etag:
            raise NotAsExpected(f"{source.key} is another one")
        part = self._take(key, upload_id, number, data[start:end])
        self.behind("copy of a part", key)
        return part

    def complete_upload(
        self, key: str, upload_id: str, parts: Sequence[Part], *, exclusive: bool
    ) -> Stored:
        """As a store does: it takes the parts that are named, and asks for no others."""
        self._asked("complete", key)
        with self.lock:
            upload = self._upload(key, upload_id)
            self._check(key, exclusive=exclusive)
            data = b"".join(upload.parts[each.number][1] for each in parts)
            del self.open[upload_id]
            raw = b"".join(bytes.fromhex(each.etag) for each in parts)
            etag = f"{hashlib.md5(raw, usedforsecurity=False).hexdigest()}-{len(parts)}"
            made = self._made(key, data, upload.writer, etag if self.keeps_etags else "")
        assert joined_crc32c(parts) == made.crc32c
        self.behind("complete", key)
        return made

    def abort_upload(self, key: str, upload_id: str) -> None:
        self._asked("abort", key)
        with self.lock:
            self._upload(key, upload_id)
            del self.open[upload_id]
        self.behind("abort", key)

    def uploads(self, prefix: str) -> list[Upload]:
        return [
            Upload(each.key, name, 1)
            for name, each in self.open.items()
            if each.key.startswith(prefix)
        ]

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
        """All in one page."""
        self._asked("list", prefix)
        objects: list[ObjectInfo] = []
        prefixes: dict[str, None] = {}
        for key in sorted(self.objects):
            if not key.startswith(prefix) or key <= start_after:
                continue
            name, slash, _ = key.removeprefix(prefix).partition("/")
            if delimiter and slash:
                prefixes[f"{prefix}{name}/"] = None
            else:
                objects.append(self.objects[key][0])
        return Page(tuple(objects[:limit]), tuple(prefixes), None)

    def close(self) -> None:
        """Nothing to let go of."""
