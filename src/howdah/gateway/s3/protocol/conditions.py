"""ETags, conditions of requests, and times as S3 writes them.

An ETag is made of what a listing has: the file's id, its time and its length. It is the same in
every answer, and another one after every change. It ends in `-1`, as those of objects that came in
parts: one of 32 digits alone would be taken for an MD5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import formatdate, parsedate_to_datetime
from typing import Final

from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol.refusals import Refused

DIRECTORY_ETAG: Final = '"d41d8cd98f00b204e9800998ecf8427e"'
"""Of the empty object that a directory is."""
IF_MODIFIED_AT: Final = "x-amz-if-match-last-modified-time"
IF_SIZE: Final = "x-amz-if-match-size"
COPY_PREFIX: Final = "x-amz-copy-source-"
_LAST_S: Final = 253_402_300_799
"""The end of the year 9999."""


def etag_of(status: FileStatus) -> str:
    """Return the ETag of a file, with its quotes."""
    if status.is_directory:
        return DIRECTORY_ETAG
    # Without ids the path takes their place.
    identity = status.file_id or status.path
    text = f"{identity} {status.modification_time_ms} {status.length}"
    digest = hashlib.md5(text.encode("utf-8", "surrogateescape"), usedforsecurity=False)
    return f'"{digest.hexdigest()}-1"'


def http_time(time_ms: int) -> str:
    """Return a time as headers have it."""
    return formatdate(_shown_s(time_ms), usegmt=True)


def iso_time(time_ms: int) -> str:
    """Return a time as XML has it.

    >>> iso_time(1_700_000_000_999)
    '2023-11-14T22:13:20.000Z'
    """
    return datetime.fromtimestamp(_shown_s(time_ms), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _shown_s(time_ms: int) -> int:
    """Return a time in seconds, within the years that can be written: users of HDFS give files
    whatever times they like."""
    return min(max(time_ms // 1000, 0), _LAST_S)


def check_reading(headers: Mapping[str, str], status: FileStatus, prefix: str = "") -> bool:
    """Return whether what the client has is still the same (304). `prefix` stands before the names
    of the headers, as of a copy's source. Raises Refused where a condition does not hold."""
    etag, time_s = etag_of(status), _shown_s(status.modification_time_ms)
    wanted = headers.get(f"{prefix}if-match")
    if wanted is not None:
        if not _names(wanted, etag):
            raise _failed("If-Match")
    else:
        since_s = _time(headers.get(f"{prefix}if-unmodified-since"))
        if since_s is not None and time_s > since_s:
            raise _failed("If-Unmodified-Since")
    known = headers.get(f"{prefix}if-none-match")
    if known is not None:
        return _names(known, etag)
    since_s = _time(headers.get(f"{prefix}if-modified-since"))
    return since_s is not None and time_s <= since_s


def may_be_part(headers: Mapping[str, str], status: FileStatus) -> bool:
    """Return whether the header Range counts: by `If-Range` the client says of which object it has
    other parts already."""
    wanted = headers.get("if-range")
    if wanted is None:
        return True
    since_s = _time(wanted)
    if since_s is not None:
        return since_s == _shown_s(status.modification_time_ms)
    return same_etag(wanted, etag_of(status))


def check_copying(headers: Mapping[str, str], status: FileStatus) -> None:
    """Raises Refused where a condition of a copy's source does not hold."""
    if check_reading(headers, status, COPY_PREFIX):
        raise _failed("x-amz-copy-source-If-None-Match or -If-Modified-Since")


def must_be_new(headers: Mapping[str, str]) -> bool:
    """Return whether a write is for a key that there is not."""
    return headers.get("if-none-match", "").strip() == "*"


def are_about_the_object(headers: Mapping[str, str]) -> bool:
    """Return whether a write depends on which object is there."""
    return "if-match" in headers or ("if-none-match" in headers and not must_be_new(headers))


def check_replacing(headers: Mapping[str, str], status: FileStatus | None) -> None:
    """Raises Refused where a write is not for the object that is there."""
    wanted, known = headers.get("if-match"), headers.get("if-none-match")
    if wanted is not None:
        if status is None or status.is_directory:
            raise Refused("NoSuchKey", "there is no object that If-Match could be about")
        if not _names(wanted, etag_of(status)):
            raise _failed("If-Match")
    if known is not None and status is not None and _names(known, etag_of(status)):
        raise _failed("If-None-Match")


def are_about_deletion(headers: Mapping[str, str]) -> bool:
    """Return whether a deletion depends on which object is there."""
    return any(name in headers for name in ("if-match", IF_MODIFIED_AT, IF_SIZE))


def check_deleting(headers: Mapping[str, str], status: FileStatus) -> None:
    """Raises Refused where a deletion is not for the object that is there."""
    if "if-match" in headers and not _names(headers["if-match"], etag_of(status)):
        raise _failed("If-Match")
    when = headers.get(IF_MODIFIED_AT)
    if when is not None and _time_of_any(when) != _shown_s(status.modification_time_ms):
        raise _failed(IF_MODIFIED_AT)
    size = headers.get(IF_SIZE)
    if size is not None:
        size_bytes = 0 if status.is_directory else status.length
        if size.strip() != str(size_bytes):
            raise _failed(IF_SIZE)


def same_etag(text: str, etag: str) -> bool:
    """Return whether a client's ETag is this one, with or without quotes.

    >>> same_etag("ab-1", '"ab-1"')
    True
    """
    return text.strip().removeprefix("W/").strip('"') == etag.strip('"')


def _names(wanted: str, etag: str) -> bool:
    return wanted.strip() == "*" or any(same_etag(part, etag) for part in wanted.split(","))


def _failed(condition: str) -> Refused:
    return Refused(
        "PreconditionFailed",
        "At least one of the pre-conditions you specified did not hold",
        Condition=condition,
    )


def _time_of_any(text: str) -> int | None:
    """Return a time of a header, or one as XML has it, in seconds; None for what is none."""
    found = _time(text)
    if found is not None:
        return found
    try:
        time = datetime.fromisoformat(text.strip())
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def _time(text: str | None) -> int | None:
    """Return a time of a header in seconds; None for what is none, which counts for nothing."""
    if text is None:
        return None
    try:
        time = parsedate_to_datetime(text)
        # One without a zone is of UTC, not of where this server stands.
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
