"""What is kept with an object beside its bytes: one extended attribute, as JSON.

Content type and such, what the client calls metadata, the sum that came with the bytes, and the
upload that made the object, by which a completion that is sent again is known.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

from howdah.gateway.s3.protocol import locks, tags, versions
from howdah.gateway.s3.protocol.acls import Others
from howdah.gateway.s3.protocol.checksums import PREFIX as CHECKSUM_PREFIX
from howdah.gateway.s3.protocol.locks import Lock
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.requests import S3Request

MAX_PARTS: Final = 10_000
FULL_OBJECT: Final = "FULL_OBJECT"
COMPOSITE: Final = "COMPOSITE"
CHECKSUM_TYPE: Final = "x-amz-checksum-type"
_MAX_PART_ROWS: Final = 100
_MAX_PART_SUM_CHARACTERS: Final = 4096
ATTRIBUTE: Final = "user.howdah.s3"
MADE: Final = "user.howdah.s3.made"
"""On a directory that the gateway has made, or that a client has asked for."""
FOR_KEYS: Final = b"1"
"""No client asked for it: it goes with the last object in it."""
WANTED: Final = b"2"
"""A client asked for it: it is an object, whatever is in it."""
TAGGING: Final = "x-amz-tagging"
META_PREFIX: Final = "x-amz-meta-"
MAX_META_BYTES: Final = 2048
DEFAULT_TYPE: Final = "binary/octet-stream"
DIRECTORY_TYPE: Final = "application/x-directory"
_KEPT: Final = {
    "content-type": "Content-Type",
    "cache-control": "Cache-Control",
    "content-disposition": "Content-Disposition",
    "content-encoding": "Content-Encoding",
    "content-language": "Content-Language",
    "expires": "Expires",
}
_MAX_KEPT_BYTES: Final = 4096
"""Of all headers together: the attribute has to fit into what HDFS allows, 16 KiB."""
_ANSWERS: Final = {f"response-{name}": shown for name, shown in _KEPT.items()}
_FRAMING: Final = "aws-chunked"


@dataclass(frozen=True, slots=True)
class PartTable:
    """The parts that an object came in: how many in a row have how many bytes, and their sums,
    where they fit in."""

    rows: tuple[tuple[int, int], ...] = ()
    sums: tuple[str, ...] = ()
    """In base64; none, or one for each part."""

    @classmethod
    def of(cls, sizes: Sequence[int], sums: Sequence[bytes]) -> PartTable:
        """Without what would not fit into an attribute."""
        rows = tuple((len(list(same)), size) for size, same in groupby(sizes))
        if len(rows) > _MAX_PART_ROWS:
            return cls()
        texts = tuple(base64.b64encode(each).decode() for each in sums)
        is_short = all(texts) and sum(map(len, texts)) <= _MAX_PART_SUM_CHARACTERS
        return cls(rows, texts if is_short else ())

    def sizes(self, length: int) -> list[int]:
        """The sizes of the parts of a file; none where they are not those of a file of this
        length, to which something else has happened."""
        if sum(count * size for count, size in self.rows) != length:
            return []
        return [size for count, size in self.rows for _ in range(count)]


@dataclass(frozen=True, slots=True)
class Metadata:
    """Of one object; names of `headers` are in lower case."""

    headers: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    """By names without their prefix."""
    checksum: Mapping[str, str] = field(default_factory=dict)
    """The sum of the whole object, as a header."""
    checksum_type: str = FULL_OBJECT
    parts: PartTable = field(default_factory=PartTable)
    upload: str = ""
    """The id of the upload that it came by."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """In an attribute of their own."""
    others: Others | None = None
    """In the file's mode."""
    version: str = ""
    """The id of the version that it is, in an attribute of its own; empty for none."""
    lock: Lock | None = None
    """In an attribute of its own."""

    def encoded(self) -> bytes:
        """Return it as the attribute has it; empty where there is nothing to keep."""
        fields: dict[str, object] = {
            "headers": dict(self.headers),
            "meta": dict(self.meta),
            "checksum": dict(self.checksum),
            "upload": self.upload,
            "type": "" if self.checksum_type == FULL_OBJECT else self.checksum_type,
            "parts": self.parts.rows,
            "sums": self.parts.sums,
        }
        kept = {name: value for name, value in fields.items() if value}
        return json.dumps(kept, separators=(",", ":")).encode() if kept else b""

    def of_copy(self) -> Metadata:
        """Return what a copy keeps, which is one file that came at once."""
        is_full = self.checksum_type == FULL_OBJECT
        return replace(
            self,
            checksum=self.checksum if is_full else {},
            checksum_type=FULL_OBJECT,
            parts=PartTable(),
            upload="",
            version="",
            lock=None,
        )

    def part_checksum(self, number: int) -> dict[str, str]:
        """Return the headers that say the sum of a part, whose sums are kept."""
        return {
            **{name: self.parts.sums[number - 1] for name in self.checksum},
            CHECKSUM_TYPE: self.checksum_type,
        }

    def answer(self, *, with_checksum: bool) -> dict[str, str]:
        """Return the headers of an answer about the object."""
        shown = {_KEPT[name]: value for name, value in self.headers.items()}
        shown.setdefault("Content-Type", DEFAULT_TYPE)
        shown |= {META_PREFIX + name: value for name, value in self.meta.items()}
        if with_checksum and self.checksum:
            shown |= self.checksum
            shown[CHECKSUM_TYPE] = self.checksum_type
        if self.tags:
            shown["x-amz-tagging-count"] = str(len(self.tags))
        return shown | locks.headers_of(self.lock)


def metadata_in(attributes: Mapping[str, bytes]) -> Metadata:
    """Return what the attributes of a file say."""
    found = replace(
        decoded(attributes.get(ATTRIBUTE, b"")),
        version=versions.id_in(attributes),
        lock=locks.lock_in(attributes),
    )
    if tags.ATTRIBUTE in attributes:
        return replace(found, tags=tags.decoded(attributes[tags.ATTRIBUTE]))
    return found


def decoded(data: bytes) -> Metadata:
    """Return what an attribute says. What is none of ours says nothing: whoever may write a file
    may set its attributes."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return Metadata()
    if not isinstance(fields, dict):
        return Metadata()
    upload = fields.get("upload")
    return Metadata(
        {name: value for name, value in _texts(fields, "headers").items() if name in _KEPT},
        {name: value for name, value in _texts(fields, "meta").items() if _is_token(name)},
        {
            name: value
            for name, value in _texts(fields, "checksum").items()
            if name.startswith(CHECKSUM_PREFIX) and _is_token(name)
        },
        COMPOSITE if fields.get("type") == COMPOSITE else FULL_OBJECT,
        _part_table(fields.get("parts"), fields.get("sums")),
        upload if isinstance(upload, str) else "",
    )


def _part_table(rows: Any, sums: Any) -> PartTable:
    if not isinstance(rows, list) or len(rows) > _MAX_PART_ROWS:
        return PartTable()
    found, count = [], 0
    for row in rows:
        if not (
            isinstance(row, list)
            and len(row) == 2
            and all(type(number) is int and 0 <= number < 1 << 63 for number in row)
        ):
            return PartTable()
        count += row[0]
        found.append((row[0], row[1]))
    if count > MAX_PARTS:
        return PartTable()
    texts = tuple(sums) if isinstance(sums, list) and len(sums) == count else ()
    if not all(isinstance(text, str) and text.isascii() and text.isprintable() for text in texts):
        texts = ()
    return PartTable(tuple(found), texts)


def _texts(fields: Mapping[str, Any], name: str) -> dict[str, str]:
    found = fields.get(name)
    if not isinstance(found, dict):
        return {}
    return {
        key: value.strip()
        for key, value in found.items()
        if isinstance(value, str) and value.isprintable()
    }


def _is_token(name: str) -> bool:
    return name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()


def metadata_of(
    request: S3Request,
    checksum: Mapping[str, str] | None = None,
    others: Others | None = None,
) -> Metadata:
    """Return what a request gives a new object. Raises Refused."""
    headers, meta = {}, {}
    for name in request.headers:
        if name in _KEPT:
            headers[name] = request.header(name)
        elif name.startswith(META_PREFIX):
            meta[name.removeprefix(META_PREFIX)] = request.header(name)
    encodings = [part.strip() for part in headers.pop("content-encoding", "").split(",")]
    kept = ",".join(part for part in encodings if part and part.lower() != _FRAMING)
    if kept:
        headers["content-encoding"] = kept
    size_bytes = _size(meta)
    if size_bytes > MAX_META_BYTES:
        raise Refused(
            "MetadataTooLarge",
            "Your metadata headers exceed the maximum allowed metadata size",
            Size=str(size_bytes),
            MaxSizeAllowed=str(MAX_META_BYTES),
        )
    if _size(headers) > _MAX_KEPT_BYTES:
        raise Refused(
            "MetadataTooLarge",
            f"Content-Type and the headers like it have at most {_MAX_KEPT_BYTES} bytes",
        )
    for name, value in (*headers.items(), *meta.items()):
        if not value.isprintable():
            raise Refused("InvalidArgument", f"the value of {name} has unprintable characters")
    if any(not _is_token(name) for name in meta):
        raise Refused("InvalidArgument", f"names of {META_PREFIX}… are letters, digits and - _ .")
    return Metadata(
        headers,
        meta,
        checksum or {},
        tags=tags_of(request),
        others=others,
        lock=locks.lock_of_headers(request.headers),
    )


def tags_of(request: S3Request) -> dict[str, str]:
    """Return the tags that a request gives a new object. Raises Refused."""
    text = request.header(TAGGING)
    return tags.tags_of_header(text) if text else {}


def _size(fields: Mapping[str, str]) -> int:
    return sum(len(name) + len(value.encode()) for name, value in fields.items())


def overrides(request: S3Request) -> dict[str, str]:
    """Return the headers that the query of a request wants in its answer. Raises Refused."""
    wanted = {
        shown: request.query[name].strip()
        for name, shown in _ANSWERS.items()
        if name in request.query
    }
    for name, value in wanted.items():
        if not value.isprintable():
            raise Refused("InvalidArgument", f"the value for {name} has unprintable characters")
    return wanted


_UNSUPPORTED: Final = {
    "x-amz-grant-full-control": "permissions are those of HDFS",
    "x-amz-grant-read": "permissions are those of HDFS",
    "x-amz-grant-read-acp": "permissions are those of HDFS",
    "x-amz-grant-write": "permissions are those of HDFS",
    "x-amz-grant-write-acp": "permissions are those of HDFS",
    "x-amz-website-redirect-location": "there are no websites",
    "x-amz-write-offset-bytes": "objects are not appended to",
}
_ENCRYPTION: Final = (
    "x-amz-server-side-encryption",
    "x-amz-copy-source-server-side-encryption",
)


def check_supported(request: S3Request) -> None:
    """Raises Refused for a header that asks for something that is not here, by its name."""
    for name in request.headers:
        why = _UNSUPPORTED.get(name)
        if name.startswith(_ENCRYPTION):
            # Each of them: whoever sends a key does not want plain bytes to be kept.
            why = "keys of encryption are those of HDFS"
        if why is not None:
            raise Refused("NotImplemented", f"{name} is not supported: {why}")
    storage = request.headers.get("x-amz-storage-class", "STANDARD")
    if storage != "STANDARD":
        raise Refused(
            "InvalidStorageClass", "the storage class is STANDARD: HDFS has storage policies"
        )
