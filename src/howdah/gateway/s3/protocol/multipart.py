"""Uploads in parts: their ids, their parts, and what a completion may ask for.

An id is random, and has the key's hash in it, so that an id of one key is none of another one.
What an upload knows of itself is a document of JSON beside its parts.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol import tags
from howdah.gateway.s3.protocol.conditions import etag_of, same_etag
from howdah.gateway.s3.protocol.documents import parsed
from howdah.gateway.s3.protocol.metadata import Metadata, decoded
from howdah.gateway.s3.protocol.refusals import Refused

MAX_PARTS: Final = 10_000
LEAST_PART_BYTES: Final = 5 << 20
"""Of every part but the last one."""
RANDOM_BYTES: Final = 16
ABOUT: Final = "about.json"
_HASH_DIGITS: Final = 16
_ID: Final = re.compile(r"[0-9a-f]{48}\Z")
_PART: Final = re.compile(r"part-(\d{5})\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class About:
    """What an upload will make."""

    key: str
    metadata: Metadata

    def encoded(self) -> bytes:
        fields = {
            "key": self.key,
            "metadata": self.metadata.encoded().decode(),
            "tags": tags.encoded(self.metadata.tags).decode(),
        }
        return json.dumps(fields).encode()


def about_of(data: bytes) -> About:
    """Return what an upload has written of itself. Raises Refused where it is damaged."""
    try:
        fields = json.loads(data)
        metadata = decoded(str(fields["metadata"]).encode())
        kept = tags.decoded(str(fields["tags"]).encode())
        return About(str(fields["key"]), dataclasses.replace(metadata, tags=kept))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused("InternalError", f"{ABOUT} of this upload is damaged: abort it") from None


@dataclass(frozen=True, slots=True)
class WantedPart:
    """A part as a completion names it."""

    number: int
    etag: str


def upload_id(key: str, random: bytes) -> str:
    """Return the id of a new upload; `random` has `RANDOM_BYTES`."""
    return random.hex() + _hash(key)


def is_upload_id(text: str, key: str) -> bool:
    """Return whether that can be the id of an upload of this key."""
    return _ID.match(text) is not None and text.endswith(_hash(key))


def part_name(number: int) -> str:
    """The name of a part's file; their order is that of the numbers.

    >>> part_name(7)
    'part-00007'
    """
    return f"part-{number:05}"


def part_number(text: str) -> int:
    """Return the number that a request names. Raises Refused."""
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MAX_PARTS):
        raise Refused(
            "InvalidArgument",
            f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive",
            ArgumentName="partNumber",
            ArgumentValue=text[:100],
        )
    return int(text)


def parts_there(statuses: Sequence[FileStatus]) -> dict[int, FileStatus]:
    """Return the parts among the files of an upload, by their numbers, in order."""
    found = {}
    for status in statuses:
        match = _PART.match(status.name)
        if match is not None:
            found[int(match[1])] = status
    return dict(sorted(found.items()))


def wanted_parts(document: bytes) -> list[WantedPart]:
    """Return the parts that a completion names. Raises Refused unless their numbers grow."""
    parts = []
    for element in parsed(document, "CompleteMultipartUpload").all("Part"):
        number, etag = element.value("PartNumber"), element.value("ETag")
        if number is None or etag is None:
            raise Refused("MalformedXML", "a Part has PartNumber and ETag")
        parts.append(WantedPart(part_number(number), etag))
    if not parts:
        raise Refused("MalformedXML", "You must specify at least one part")
    if any(one.number >= two.number for one, two in pairwise(parts)):
        raise Refused(
            "InvalidPartOrder",
            "The list of parts was not in ascending order. Parts must be ordered by part number.",
        )
    return parts


def check_parts(wanted: Sequence[WantedPart], there: Mapping[int, FileStatus]) -> None:
    """Raises Refused unless all parts are there as they are named, and long enough."""
    for part in wanted:
        status = there.get(part.number)
        if status is None or not same_etag(part.etag, etag_of(status)):
            raise Refused(
                "InvalidPart",
                "One or more of the specified parts could not be found. The part may not have "
                "been uploaded, or the specified entity tag may not match the part's entity tag.",
                PartNumber=str(part.number),
            )
    for part in wanted[:-1]:
        size_bytes = there[part.number].length
        if size_bytes < LEAST_PART_BYTES:
            raise Refused(
                "EntityTooSmall",
                "Your proposed upload is smaller than the minimum allowed size",
                PartNumber=str(part.number),
                ProposedSize=str(size_bytes),
                MinSizeAllowed=str(LEAST_PART_BYTES),
            )


def joined_name(wanted: Sequence[WantedPart]) -> str:
    """The name of the file that these parts become. A completion that is sent again finds by it how
    far the one before has come."""
    text = "".join(f"{part.number} {part.etag.strip()}\n" for part in wanted)
    return f"joined-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
