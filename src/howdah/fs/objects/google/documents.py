"""What Cloud Storage answers: resources of objects, listings, errors."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from howdah import errors
from howdah.fs.objects.retrying import Damaged, Failed, Throttled, refusal
from howdah.fs.objects.store import NotAsExpected, ObjectInfo, Page

WRITER: Final = "howdah-writer"
"""The metadata by which a stream knows its own object again."""
FIELDS: Final = "name,size,updated,generation,crc32c,metadata"
_THROTTLED: Final = ("rateLimitExceeded", "userRateLimitExceeded", "slowDown")


def parsed(body: bytes) -> dict[str, Any]:
    """Raises `ProtocolViolation`."""
    try:
        document = json.loads(body)
    except ValueError as error:
        raise errors.ProtocolViolation(f"the store answers no JSON: {error}") from None
    if not isinstance(document, dict):
        raise errors.ProtocolViolation("the store answers something else than an object of JSON")
    return document


def crc_of(text: object) -> int | None:
    """A CRC32C as the API writes it: four bytes in Base64."""
    if not isinstance(text, str):
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return int.from_bytes(raw, "big") if len(raw) == 4 else None


def crc_text(crc: int) -> str:
    """
    >>> crc_text(0xe3069283)
    '4waSgw=='
    """
    return base64.b64encode(crc.to_bytes(4, "big")).decode()


def _ms(text: object) -> int:
    if not isinstance(text, str):
        return 0
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError as error:
        raise errors.ProtocolViolation(f"{text!r} is no time: {error}") from error


def resource(fields: Mapping[str, Any]) -> ObjectInfo:
    """Read an object, whose generation is its ETag. Raises `ProtocolViolation`."""
    metadata = fields.get("metadata")
    try:
        return ObjectInfo(
            key=str(fields["name"]),
            length=int(fields["size"]),
            modified_ms=_ms(fields.get("updated")),
            etag=str(fields.get("generation") or ""),
            crc32c=crc_of(fields.get("crc32c")),
            writer=metadata.get(WRITER) if isinstance(metadata, dict) else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise errors.ProtocolViolation(f"a resource of an object lacks {error}") from error


def page(body: bytes) -> Page:
    """Raises `ProtocolViolation`."""
    document = parsed(body)
    items, prefixes = document.get("items", []), document.get("prefixes", [])
    token = document.get("nextPageToken")
    if not isinstance(items, list) or not isinstance(prefixes, list):
        raise errors.ProtocolViolation("a listing has no list")
    if not all(isinstance(item, dict) for item in items):
        raise errors.ProtocolViolation("a listing has an entry that is no object")
    return Page(
        tuple(resource(item) for item in items),
        tuple(str(prefix) for prefix in prefixes),
        str(token) if token else None,
    )


def reason_of(body: bytes) -> tuple[str, str]:
    """Return reason and message of an error; empty where the answer has none."""
    try:
        error = json.loads(body)["error"]
        reasons = error.get("errors") or [{}]
        message = str(error.get("message") or "").strip()
        return str(reasons[0].get("reason") or ""), message.splitlines()[0] if message else ""
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return "", ""


def failure(
    status: int, body: bytes, *, where: str, place: str, bucket: str, is_of_bucket: bool
) -> errors.HowdahError:
    """The error that a request for `where` comes to."""
    reason, message = reason_of(body)
    said = f"{reason or 'no reason'}: {message or 'no message'} (HTTP status {status})"
    if status == 404 and (is_of_bucket or "bucket does not exist" in message):
        return errors.UnknownStore(f"Bucket {bucket} does not exist at {place}")
    if status == 412:
        return NotAsExpected(f"{where}: {said}")
    if status in (429, 503) or reason in _THROTTLED:
        return Throttled(f"{where}: {place} asks to slow down: {said}")
    if status >= 500 or status == 408:
        return Failed(f"{where}: {place} failed: {said}")
    if status == 400 and ("crc32c" in message.lower() or "md5" in message.lower()):
        return Damaged(f"{where}: {said}")
    return refusal(status, said, where=where, place=place)
