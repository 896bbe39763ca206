"""What is asked of a store, and what it answers (pure).

A narrow seam: everything above it knows keys, bytes and these records, and no protocol. A
store raises errors of howdah, and has made requests again that may be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from howdah import errors
from howdah.fs.objects.parts import Pieces
from howdah.native.records import quickly_made
from howdah.protocol.data_transfer.checksum import ChecksumType, combine, crc

Body = bytes | bytearray | Pieces


def in_one(body: Body) -> bytes | bytearray:
    """For who takes no pieces."""
    return body.joined() if isinstance(body, Pieces) else body


def crc_of_body(body: Body) -> int:
    """Return the CRC32C of a body."""
    if not isinstance(body, Pieces):
        return crc(ChecksumType.CRC32C, body)
    crc32c = 0
    for piece in body:
        crc32c = crc(ChecksumType.CRC32C, piece, crc32c)
    return crc32c


class NotAsExpected(errors.HowdahError, OSError):
    """A condition of a request does not hold: an object is there, or is another one."""


class UploadLost(errors.HowdahError, OSError):
    """The store knows no such upload (any more): it was completed, or aborted by somebody."""


@quickly_made
@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object. `crc32c` is of all its bytes, where the store knows it; `writer` is what
    the stream that wrote it put into its metadata; `described` is what others did, in the
    store's own terms, for a copy of it (only where the object was asked for by name)."""

    key: str
    length: int
    modified_ms: int
    etag: str
    version_id: str | None = None
    crc32c: int | None = None
    writer: str | None = None
    bucket: str | None = None
    """Where it is, unless that is the bucket of the store that is asked."""
    described: Mapping[str, Any] | None = field(default=None, compare=False)
    md5: str | None = None
    """Of all its bytes, in Base64, where the store may hold a copy of it against that."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a listing. `prefixes` are what is behind a delimiter, slash included; `token`
    asks for the next page, and is None at the end."""

    objects: tuple[ObjectInfo, ...]
    prefixes: tuple[str, ...]
    token: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an upload that the store has."""

    number: int
    etag: str
    length: int
    crc32c: int | None


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload that was begun, and neither completed nor aborted."""

    key: str
    upload_id: str
    started_ms: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store says of an object that it has just made."""

    etag: str
    version_id: str | None = None
    crc32c: int | None = None


@dataclass(frozen=True, slots=True)
class NotDeleted:
    """An object that stayed, and why."""

    key: str
    error: errors.HowdahError


def onward(asked: str | None, answered: str | None) -> str | None:
    """Return the token that a page of a listing gave for the next one, if that is another one
    than was `asked` for: else the listing would never end. Raises `ProtocolViolation`."""
    if answered and answered == asked:
        raise errors.ProtocolViolation("a listing of the store goes on where it began")
    return answered


def within(prefix: str, page: Page) -> Page:
    """Return a page of a listing, if all of it begins with the prefix that was asked for: else a
    removal of a directory would remove what lies elsewhere. Raises `ProtocolViolation`."""
    for info in page.objects:
        if not info.key.startswith(prefix):
            raise _astray(prefix, info.key)
    for below in page.prefixes:
        if not below.startswith(prefix):
            raise _astray(prefix, below)
    return page


def _astray(prefix: str, key: str) -> errors.HowdahError:
    return errors.ProtocolViolation(f"a listing of what begins with {prefix!r} has the key {key!r}")


def deleted_alone(delete: Callable[[str], None], key: str) -> list[NotDeleted]:
    """Remove one object of many: a refusal is told, and one that is gone already is none."""
    try:
        delete(key)
    except errors.PathNotFound:
        return []
    except errors.AccessDenied as error:
        return [NotDeleted(key, error)]
    return []


def joined_crc32c(parts: Sequence[Part]) -> int | None:
    """The CRC32C of all parts one after the other; None if one of them has none."""
    total: int | None = None
    for part in parts:
        if part.crc32c is None:
            return None
        if total is None:
            total = part.crc32c
        else:
            total = combine(ChecksumType.CRC32C, total, part.crc32c, part.length)
    return total


class Reading(Protocol):
    """The bytes of an answer. Raises `Unreachable` or `CallTimeout` where they break off."""

    def readinto(self, view: memoryview) -> int: ...
    def close(self, left: int) -> None:
        """`left` bytes are not read; the connection is kept if it is worth it."""


class ObjectStore(Protocol):
    """One bucket. Thread-safe, and usable in a forked child."""

    @property
    def calls(self) -> int:
        """Requests that were made, repetitions included."""

    @property
    def sorts_keys(self) -> bool:
        """Whether a listing has all keys, markers included, in the order of their characters,
        and may begin behind any of them without reading those before."""

    @property
    def bucket(self) -> str: ...
    @property
    def sums_copies(self) -> bool:
        """Whether a CRC32C is told of a copy, of its bytes, and not handed on with what else
        describes the source."""

    @property
    def keeps_etags(self) -> bool:
        """Whether ETags are made of bytes, so that a copied part may have its source's."""

    def why_not_copied_from(self, other: ObjectStore) -> str | None:
        """What keeps the service from copying objects of another bucket to this one; None if
        both are its own, and one user asks for both."""

    def head(self, key: str) -> ObjectInfo: ...
    def head_and_get(self, key: str) -> tuple[ObjectInfo, Reading | None]:
        """What `head` tells (but perhaps the writer), and an answer with all bytes of the object,
        in one request. None where the store does not tell enough with the bytes: it was asked for
        a look, and no more."""

    def get(
        self, key: str, start: int, end: int, *, etag: str | None, version_id: str | None
    ) -> tuple[Reading, str]:
        """The bytes from `start` up to before `end`, and the ETag of what they are of. Raises
        `NotAsExpected` if that is not `etag`."""

    def put(self, key: str, body: Body, *, exclusive: bool, writer: str | None) -> Stored:
        """Make an object; raises `NotAsExpected` if it is there and `exclusive`."""

    def begin_upload(
        self, key: str, *, exclusive: bool, writer: str | None, like: ObjectInfo | None = None
    ) -> str:
        """`exclusive` as for `complete_upload`: some stores want to know it at once. The object
        is to be described as `like` is."""

    def upload_part(self, key: str, upload_id: str, number: int, body: Body) -> Part: ...
    def copy_part(
        self, source: ObjectInfo, key: str, upload_id: str, number: int, start: int, end: int
    ) -> Part: ...
    def complete_upload(
        self, key: str, upload_id: str, parts: Sequence[Part], *, exclusive: bool
    ) -> Stored:
        """Raises `UploadLost`, `NotAsExpected`."""

    def abort_upload(self, key: str, upload_id: str) -> None: ...
    def uploads(self, prefix: str) -> list[Upload]: ...
    def copy(self, source: ObjectInfo, key: str) -> Stored: ...
    def list_page(
        self,
        prefix: str,
        *,
        delimiter: bool,
        start_after: str = "",
        token: str | None = None,
        limit: int | None = None,
    ) -> Page: ...
    def delete(self, key: str) -> None: ...
    def delete_many(self, keys: Sequence[str]) -> list[NotDeleted]: ...
    def close(self) -> None: ...


@runtime_checkable
class HoldsCopies(Protocol):
    """A store that can hold the bytes of a copy against a sum that is known."""

    def copy_with_md5(self, source: ObjectInfo, key: str) -> Stored:
        """Copy an object whose MD5 is known, if what arrives has it; else there is no copy.
        Raises `NotCopiedByServer`."""
