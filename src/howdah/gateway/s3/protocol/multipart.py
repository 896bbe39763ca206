"""Uploads in parts: their ids, their parts, and what a completion may ask for.

An id is random, and has the key's hash in it, so that an id of one key is none of another one.
What an upload knows of itself is a document of JSON beside its parts.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol import locks, tags
from howdah.gateway.s3.protocol.acls import Others
from howdah.gateway.s3.protocol.checksums import ALGORITHMS, PREFIX
from howdah.gateway.s3.protocol.conditions import same_etag
from howdah.gateway.s3.protocol.documents import parsed
from howdah.gateway.s3.protocol.metadata import MAX_PARTS, Metadata, PartTable, decoded
from howdah.gateway.s3.protocol.part_sums import (
    TYPE,
    PartDigest,
    SumKind,
    SumType,
    element_of,
    sum_of_object,
)
from howdah.gateway.s3.protocol.refusals import Refused

LEAST_PART_BYTES: Final = 5 << 20
"""Of every part but the last one."""
RANDOM_BYTES: Final = 16
ABOUT: Final = "about.json"
_HASH_DIGITS: Final = 16
_SUM_HEADERS: Final = tuple(PREFIX + algorithm for algorithm in ALGORITHMS)
_ID: Final = re.compile(
    r"(?P<random>[0-9a-f]{32})(?P<hash>[0-9a-f]{16})(?:-(?P<algorithm>[a-z0-9]+)-(?P<type>[cf]))?\Z"
)
_PART: Final = re.compile(r"part-(\d{5})-([0-9a-f]{32})-((?:[0-9a-f]{2}){0,32})\Z", re.ASCII)
_TYPES: Final = {"c": SumType.COMPOSITE, "f": SumType.FULL_OBJECT}


@dataclass(frozen=True, slots=True)
class About:
    """What an upload will make."""

    key: str
    metadata: Metadata

    def encoded(self) -> bytes:
        others, lock = self.metadata.others, self.metadata.lock
        fields = {
            "key": self.key,
            "metadata": self.metadata.encoded().decode(),
            "tags": tags.encoded(self.metadata.tags).decode(),
            "others": None if others is None else [others.read, others.write],
            "lock": None if lock is None else locks.encoded(lock).decode(),
        }
        return json.dumps(fields).encode()


def about_of(data: bytes) -> About:
    """Return what an upload has written of itself. Raises Refused where it is damaged."""
    try:
        fields = json.loads(data)
        metadata = decoded(str(fields["metadata"]).encode())
        kept = tags.decoded(str(fields["tags"]).encode())
        rights = fields["others"]
        others = None if rights is None else Others(rights[0] is True, rights[1] is True)
        # Uploads that were begun before there were locks have none.
        text = fields.get("lock")
        lock = None if text is None else locks.decoded(str(text).encode())
        metadata = dataclasses.replace(metadata, tags=kept, others=others, lock=lock)
        return About(str(fields["key"]), metadata)
    except (ValueError, LookupError, TypeError, RecursionError):
        raise Refused("InternalError", f"{ABOUT} of this upload is damaged: abort it") from None


@dataclass(frozen=True, slots=True)
class Part:
    """A part that has come. Its file's name says what is known of its bytes, so that a listing has
    all that a completion needs."""

    number: int
    etag: str
    """With its quotes. It ends in `-1`, as it is no MD5."""
    sum: bytes
    """Of the upload's kind; empty where it has none."""
    status: FileStatus


@dataclass(frozen=True, slots=True)
class WantedPart:
    """A part as a completion names it."""

    number: int
    etag: str
    sums: Mapping[str, str] = field(default_factory=dict)
    """Those that it has there, by the names of their elements."""


def upload_id(key: str, random: bytes, kind: SumKind | None = None) -> str:
    """Return the id of a new upload; `random` has `RANDOM_BYTES`."""
    made = random.hex() + _hash(key)
    return made if kind is None else f"{made}-{kind.algorithm}-{kind.type.value[0].lower()}"


def is_upload_id(text: str, key: str) -> bool:
    """Return whether that can be the id of an upload of this key."""
    match = _ID.match(text)
    if match is None or match["hash"] != _hash(key):
        return False
    return match["algorithm"] is None or match["algorithm"] in ALGORITHMS


def kind_of_upload(text: str) -> SumKind | None:
    """Return the kind of sums that an upload has, by its id."""
    match = _ID.match(text)
    if match is None or match["algorithm"] is None:
        return None
    return SumKind(match["algorithm"], _TYPES[match["type"]])


def part_name(number: int, digest: PartDigest) -> str:
    """The name of a part's file; their order is that of the numbers.

    >>> part_name(7, PartDigest(None))
    'part-00007-00000000000000000000000000000000-'
    """
    return f"part-{number:05}-{digest.etag}-{digest.sum.hex()}"


def part_of(status: FileStatus) -> Part | None:
    """Return the part that a file is, by its name; None for another file."""
    match = _PART.match(status.name)
    if match is None:
        return None
    return Part(int(match[1]), f'"{match[2]}-1"', bytes.fromhex(match[3]), status)


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


def parts_there(statuses: Sequence[FileStatus]) -> dict[int, Part]:
    """Return the parts among the files of an upload, by their numbers, in order. Of several with
    one number the last one counts that came."""
    found: dict[int, Part] = {}
    for part in map(part_of, statuses):
        if part is not None:
            before = found.get(part.number)
            if before is None or _came(before) < _came(part):
                found[part.number] = part
    return dict(sorted(found.items()))


def _came(part: Part) -> tuple[int, int]:
    return part.status.modification_time_ms, part.status.file_id


def wanted_parts(document: bytes) -> list[WantedPart]:
    """Return the parts that a completion names. Raises Refused unless their numbers grow."""
    parts = []
    for element in parsed(document, "CompleteMultipartUpload").all("Part"):
        number, etag = element.value("PartNumber"), element.value("ETag")
        if number is None or etag is None:
            raise Refused("MalformedXML", "a Part has PartNumber and ETag")
        sums = {
            name: value
            for name in map(element_of, _SUM_HEADERS)
            if (value := element.value(name)) is not None
        }
        parts.append(WantedPart(part_number(number), etag, sums))
    if not parts:
        raise Refused("MalformedXML", "You must specify at least one part")
    if any(one.number >= two.number for one, two in pairwise(parts)):
        raise Refused(
            "InvalidPartOrder",
            "The list of parts was not in ascending order. Parts must be ordered by part number.",
        )
    return parts


def check_parts(
    wanted: Sequence[WantedPart], there: Mapping[int, Part], kind: SumKind | None
) -> None:
    """Raises Refused unless all parts are there as they are named, and long enough."""
    for part in wanted:
        found = there.get(part.number)
        if found is None or not same_etag(part.etag, found.etag) or not _fits(part, found, kind):
            raise Refused(
                "InvalidPart",
                "One or more of the specified parts could not be found. The part may not have "
                "been uploaded, or the specified entity tag may not match the part's entity tag.",
                PartNumber=str(part.number),
            )
    for part in wanted[:-1]:
        size_bytes = there[part.number].status.length
        if size_bytes < LEAST_PART_BYTES:
            raise Refused(
                "EntityTooSmall",
                "Your proposed upload is smaller than the minimum allowed size",
                PartNumber=str(part.number),
                ProposedSize=str(size_bytes),
                MinSizeAllowed=str(LEAST_PART_BYTES),
            )


def _fits(wanted: WantedPart, found: Part, kind: SumKind | None) -> bool:
    """Whether the sum is that of the part, if the completion names one."""
    if kind is None or kind.element not in wanted.sums:
        return True
    return wanted.sums[kind.element] == base64.b64encode(found.sum).decode()


def completed(
    metadata: Metadata, parts: Sequence[Part], kind: SumKind | None, headers: Mapping[str, str]
) -> Metadata:
    """Return what is kept with the object that parts become. Raises Refused where the completion
    says something else of it."""
    sizes = [part.status.length for part in parts]
    told = headers.get("x-amz-mp-object-size")
    if told is not None and told.strip() != str(sum(sizes)):
        raise Refused(
            "InvalidRequest", f"the parts have {sum(sizes)} bytes, and not {told[:40]} together"
        )
    metadata = dataclasses.replace(
        metadata, parts=PartTable.of(sizes, [part.sum for part in parts])
    )
    if kind is None:
        return metadata
    if headers.get(TYPE, kind.type.value).upper() != kind.type.value:
        raise Refused("InvalidRequest", f"the upload was begun with {TYPE}: {kind.type.value}")
    value = sum_of_object(kind, [(part.status.length, part.sum) for part in parts])
    expected = headers.get(kind.header, value)
    # A composite sum may come without the number of parts.
    if expected not in (value, value.partition("-")[0]):
        raise Refused(
            "BadDigest",
            f"The {kind.algorithm.upper()} you specified did not match the calculated checksum.",
        )
    return dataclasses.replace(
        metadata, checksum={kind.header: value}, checksum_type=kind.type.value
    )


def joined_name(wanted: Sequence[WantedPart]) -> str:
    """The name of the file that these parts become. A completion that is sent again finds by it how
    far the one before has come."""
    text = "".join(f"{part.number} {part.etag.strip()}\n" for part in wanted)
    return f"joined-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
