"""What fields of S3's requests and answers say, as botocore names them (pure)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

WRITER: Final = "howdah-writer"
"""The metadata by which a stream knows its own object again."""
ALGORITHM: Final = "CRC32C"
_DESCRIBED: Final = (
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Metadata",
    "TagCount",
)


_HEADERS: Final = {
    "CacheControl": "cache-control",
    "ChecksumAlgorithm": "x-amz-sdk-checksum-algorithm",
    "ChecksumCRC32C": "x-amz-checksum-crc32c",
    "ChecksumMode": "x-amz-checksum-mode",
    "ChecksumType": "x-amz-checksum-type",
    "ContentDisposition": "content-disposition",
    "ContentEncoding": "content-encoding",
    "ContentLanguage": "content-language",
    "ContentType": "content-type",
    "ETag": "etag",
    "IfMatch": "if-match",
    "IfNoneMatch": "if-none-match",
    "TagCount": "x-amz-tagging-count",
    "VersionId": "x-amz-version-id",
}
_TOLD: Final = {header: name for name, header in _HEADERS.items()}
_QUERY: Final = {
    "ContinuationToken": "continuation-token",
    "Delimiter": "delimiter",
    "MaxKeys": "max-keys",
    "PartNumber": "partNumber",
    "StartAfter": "start-after",
    "UploadId": "uploadId",
    "VersionId": "versionId",
}
_METADATA: Final = "x-amz-meta-"


def as_sent(wanted: Mapping[str, Any]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Fields of a request as headers and query.

    >>> as_sent({"IfNoneMatch": "*", "PartNumber": 3, "Metadata": {"a": "b"}})
    ({'if-none-match': '*', 'x-amz-meta-a': 'b'}, [('partNumber', '3')])
    """
    headers: dict[str, str] = {}
    query: list[tuple[str, str]] = []
    for name, value in wanted.items():
        if name in _QUERY:
            query.append((_QUERY[name], str(value)))
        elif name == "Metadata":
            headers |= {_METADATA + key: text for key, text in value.items()}
        else:
            headers[_HEADERS[name]] = value
    return headers, query


def as_told(headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the headers of an answer, with names in lower case, as fields."""
    fields: dict[str, Any] = {
        _TOLD[name]: value for name, value in headers.items() if name in _TOLD
    }
    fields["Metadata"] = {
        name.removeprefix(_METADATA): value
        for name, value in headers.items()
        if name.startswith(_METADATA)
    }
    return fields


def condition(exclusive: bool) -> dict[str, str]:
    return {"IfNoneMatch": "*"} if exclusive else {}


def metadata(writer: str | None) -> dict[str, Any]:
    return {} if writer is None else {"Metadata": {WRITER: writer}}


def described(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Select the fields that a copy takes over from its source, as in the store's own copies."""
    return {name: fields[name] for name in _DESCRIBED if name in fields}


def tagging(response: Mapping[str, Any]) -> dict[str, str]:
    """Return the tags of an object as a field for a request that sets them.

    >>> tagging({"TagSet": [{"Key": "a b", "Value": "1&2"}, {"Key": "c", "Value": ""}]})
    {'Tagging': 'a%20b=1%262&c='}
    """
    pairs = [(tag["Key"], tag["Value"]) for tag in response.get("TagSet", ())]
    return {"Tagging": urlencode(pairs, quote_via=quote)} if pairs else {}


def sent(crc32c: int | None) -> dict[str, str]:
    """Return the fields that let the store check a CRC32C."""
    if crc32c is None:
        return {}
    return {"ChecksumAlgorithm": ALGORITHM, "ChecksumCRC32C": crc_text(crc32c)}


def crc_text(crc32c: int) -> str:
    return base64.b64encode(crc32c.to_bytes(4, "big")).decode()


def crc_of(fields: Mapping[str, Any]) -> int | None:
    """Return the CRC32C of all bytes. One that is combined from those of parts contains a dash, and
    is ignored."""
    text = fields.get("ChecksumCRC32C")
    if not text or "-" in text or fields.get("ChecksumType", "FULL_OBJECT") != "FULL_OBJECT":
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return int.from_bytes(raw, "big") if len(raw) == 4 else None


def etag(fields: Mapping[str, Any]) -> str:
    return str(fields.get("ETag") or "").strip('"')


def version(fields: Mapping[str, Any]) -> str | None:
    version_id = fields.get("VersionId")
    return None if version_id in (None, "null") else str(version_id)


def ms(when: Any) -> int:
    """Milliseconds since 1970 of a time, which may be such a number."""
    if isinstance(when, int):
        return when
    return int(when.timestamp() * 1000) if when is not None else 0
