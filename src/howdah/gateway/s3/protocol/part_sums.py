"""The sums of parts, and those of objects that were made of parts.

An upload says at its beginning which algorithm its parts' sums are of, and of which type that of
the object is: `COMPOSITE` is the sum of the parts' sums, with their number behind it; `FULL_OBJECT`
that of the bytes, which only CRCs can be put together to.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from howdah.gateway.s3.protocol import crc64, metadata
from howdah.gateway.s3.protocol.checksums import ALGORITHMS, PREFIX
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.protocol.data_transfer.checksum import ChecksumType, combine, crc

if TYPE_CHECKING:
    from typing_extensions import Buffer

ALGORITHM: Final = "x-amz-checksum-algorithm"
TYPE: Final = metadata.CHECKSUM_TYPE


class SumType(Enum):
    """What the sum of an object is of."""

    COMPOSITE = metadata.COMPOSITE
    FULL_OBJECT = metadata.FULL_OBJECT


_TYPES: Final[Mapping[str, tuple[SumType, ...]]] = {
    "crc32": (SumType.COMPOSITE, SumType.FULL_OBJECT),
    "crc32c": (SumType.COMPOSITE, SumType.FULL_OBJECT),
    "crc64nvme": (SumType.FULL_OBJECT,),
    "sha1": (SumType.COMPOSITE,),
    "sha256": (SumType.COMPOSITE,),
}
"""Those that an algorithm has; the first one, unless something else is asked for."""


@dataclass(frozen=True, slots=True)
class SumKind:
    """The sums of one upload."""

    algorithm: str
    type: SumType

    @property
    def header(self) -> str:
        """The header that such a sum comes in."""
        return PREFIX + self.algorithm

    @property
    def element(self) -> str:
        """The element of XML that such a sum comes in."""
        return element_of(self.header)


def element_of(header: str) -> str:
    """Return the element of XML for the header of a sum.

    >>> element_of("x-amz-checksum-crc32c")
    'ChecksumCRC32C'
    """
    return f"Checksum{header.removeprefix(PREFIX).upper()}"


def kind_of(headers: Mapping[str, str]) -> SumKind | None:
    """Return the kind that the beginning of an upload asks for. Raises Refused."""
    name = headers.get(ALGORITHM)
    if name is None:
        if TYPE in headers:
            raise Refused("InvalidRequest", f"{TYPE} needs {ALGORITHM}")
        return None
    types = _TYPES.get(name.lower())
    if types is None:
        raise Refused(
            "InvalidRequest",
            f"Checksum algorithm provided is unsupported. It is one of {', '.join(_TYPES)}.",
        )
    wanted = headers.get(TYPE, types[0].value).upper()
    for kind in types:
        if kind.value == wanted:
            return SumKind(name.lower(), kind)
    raise Refused(
        "InvalidRequest",
        f"The {wanted[:40]} checksum type cannot be used with the {name.lower()} checksum "
        "algorithm.",
    )


class PartDigest:
    """What the name of a part's file says of its bytes: an ETag, and the sum of the upload's
    kind."""

    def __init__(self, algorithm: str | None) -> None:
        self._crc32c = self._crc32 = self._length = 0
        self._running = None if algorithm is None else ALGORITHMS[algorithm]()

    def update(self, data: Buffer) -> None:
        self._crc32c = crc(ChecksumType.CRC32C, data, self._crc32c)
        self._crc32 = crc(ChecksumType.CRC32, data, self._crc32)
        self._length += memoryview(data).nbytes
        if self._running is not None:
            self._running.update(data)

    @property
    def etag(self) -> str:
        """32 digits, which are the same for the same bytes."""
        return f"{self._crc32c:08x}{self._crc32:08x}{self._length:016x}"

    @property
    def sum(self) -> bytes:
        """Empty without an algorithm."""
        return b"" if self._running is None else self._running.digest()


def sum_of_object(kind: SumKind, parts: Sequence[tuple[int, bytes]]) -> str:
    """Return the sum of an object as its header has it, from the lengths and sums of its parts.

    >>> sum_of_object(SumKind("crc32", SumType.FULL_OBJECT), [(1, bytes.fromhex("e8b7be43"))])
    '6Le+Qw=='
    """
    if kind.type is SumType.COMPOSITE:
        running = ALGORITHMS[kind.algorithm]()
        for _, digest in parts:
            running.update(digest)
        return f"{base64.b64encode(running.digest()).decode()}-{len(parts)}"
    value = 0
    for length, digest in parts:
        value = _combined(kind.algorithm, value, int.from_bytes(digest, "big"), length)
    return base64.b64encode(value.to_bytes(len(parts[0][1]), "big")).decode()


def _combined(algorithm: str, sum_a: int, sum_b: int, length_b: int) -> int:
    if algorithm == "crc64nvme":
        return crc64.combine(sum_a, sum_b, length_b)
    return combine(
        ChecksumType.CRC32C if algorithm == "crc32c" else ChecksumType.CRC32,
        sum_a,
        sum_b,
        length_b,
    )
