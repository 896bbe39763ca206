"""The sums that clients send with a body, and that are compared when all of it has come.

`Content-MD5`, and one of `x-amz-checksum-…` as a header or behind the chunks. Values are in base64.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from howdah.gateway.s3.protocol.crc64 import crc64nvme
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.protocol.data_transfer.checksum import ChecksumType, crc

if TYPE_CHECKING:
    from typing_extensions import Buffer

PREFIX: Final = "x-amz-checksum-"
ALGORITHM_HEADERS: Final = ("x-amz-sdk-checksum-algorithm", "x-amz-checksum-algorithm")
_NOT_SUMS: Final = frozenset({f"{PREFIX}mode", f"{PREFIX}algorithm", f"{PREFIX}type"})


class RunningSum(Protocol):
    """A sum that grows with the bytes that it is of."""

    def update(self, data: Buffer, /) -> None: ...
    def digest(self) -> bytes: ...


class _RunningCrc:
    def __init__(self, step: Callable[[Buffer, int], int], length_bytes: int) -> None:
        self._step = step
        self._length_bytes = length_bytes
        self._value = 0

    def update(self, data: Buffer, /) -> None:
        self._value = self._step(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._length_bytes, "big")


def _md5() -> RunningSum:
    return hashlib.md5(usedforsecurity=False)


def _sha1() -> RunningSum:
    return hashlib.sha1(usedforsecurity=False)


ALGORITHMS: Final[Mapping[str, Callable[[], RunningSum]]] = {
    "crc32": lambda: _RunningCrc(lambda data, value: crc(ChecksumType.CRC32, data, value), 4),
    "crc32c": lambda: _RunningCrc(lambda data, value: crc(ChecksumType.CRC32C, data, value), 4),
    "crc64nvme": lambda: _RunningCrc(crc64nvme, 8),
    "sha1": _sha1,
    "sha256": hashlib.sha256,
}
"""By the ends of their headers' names."""


class BodySums:
    """All sums of one body."""

    def __init__(
        self, headers: Mapping[str, str], sha256: str | None, announced: str | None
    ) -> None:
        """`sha256` is the one that is signed; `announced` the name of the line behind the chunks
        that will have one. Raises Refused."""
        self._expected: dict[str, bytes] = {}
        self._running: dict[str, RunningSum] = {}
        self._sha256 = sha256
        self.algorithm: str | None = None
        """Of the sum that is kept with the object."""
        if (md5 := headers.get("content-md5")) is not None:
            self._expected["md5"] = _decoded("Content-MD5", md5, 16)
            self._running["md5"] = _md5()
        for name, value in headers.items():
            if name.startswith(PREFIX) and name not in _NOT_SUMS:
                algorithm = self._begin(name)
                length_bytes = len(self._running[algorithm].digest())
                self._expected[algorithm] = _decoded(name, value, length_bytes)
        self._announced = announced
        if announced:
            self._begin(announced)
        if sha256 is not None and "sha256" not in self._running:
            self._running["sha256"] = hashlib.sha256()

    def _begin(self, name: str) -> str:
        algorithm = name.lower().removeprefix(PREFIX)
        if algorithm not in ALGORITHMS or not name.lower().startswith(PREFIX):
            raise Refused("InvalidRequest", f"{name[:60]} is no checksum that is known here")
        if self.algorithm is not None:
            raise Refused("InvalidRequest", f"a body has one sum {PREFIX}…, not several")
        self.algorithm = algorithm
        self._running[algorithm] = ALGORITHMS[algorithm]()
        return algorithm

    def update(self, data: Buffer) -> None:
        for running in self._running.values():
            running.update(data)

    def check(self, trailers: Mapping[str, str]) -> None:
        """Raises Refused unless the body, which is whole, has the sums that were said."""
        if self._announced:
            value = trailers.get(self._announced.lower())
            if value is None or self.algorithm is None:
                raise Refused("InvalidRequest", f"{self._announced} does not follow the body")
            length_bytes = len(self._running[self.algorithm].digest())
            self._expected[self.algorithm] = _decoded(self._announced, value, length_bytes)
        if self._sha256 is not None:
            digest = self._running["sha256"].digest().hex()
            if not hmac.compare_digest(digest, self._sha256):
                raise Refused(
                    "XAmzContentSHA256Mismatch",
                    "The provided 'x-amz-content-sha256' header does not match what was computed.",
                    ClientComputedContentSHA256=self._sha256,
                    S3ComputedContentSHA256=digest,
                )
        for algorithm, expected in self._expected.items():
            if self._running[algorithm].digest() != expected:
                raise Refused(
                    "BadDigest",
                    f"The {algorithm.upper()} you specified did not match the calculated checksum.",
                )

    def digest(self, algorithm: str) -> bytes | None:
        """The sum of what came, if it was taken by this algorithm."""
        running = self._running.get(algorithm)
        return None if running is None else running.digest()

    @property
    def header(self) -> dict[str, str]:
        """The sum that is kept, as a header has it; empty without one."""
        if self.algorithm is None:
            return {}
        value = base64.b64encode(self._running[self.algorithm].digest()).decode()
        return {f"{PREFIX}{self.algorithm}": value}


def _decoded(name: str, text: str, length_bytes: int) -> bytes:
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        value = b""
    if len(value) != length_bytes:
        raise Refused("InvalidDigest", f"{name} is {length_bytes} bytes in base64")
    return value
