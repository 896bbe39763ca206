"""Where a resumable upload stands, and what to send next (pure).

1. The service takes bytes in order, and keeps whole multiples of `UNIT_BYTES` of a request that
   is not the last. What is left of a part waits for the next one.
2. The answer to such a request, and to the question where the upload stands, says how many
   bytes there are; what comes next begins there. That is never before what is known to be
   there, nor behind what was sent.
3. The last request says the length of the whole; the object is there with its answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from howdah import errors

UNIT_BYTES: Final = 256 << 10
_RANGE: Final = re.compile(r"bytes=0-(\d+)")


@dataclass(slots=True)
class Progress:
    """Tracks what the service has; `pending` are the bytes from `confirmed` on, still to be
    sent."""

    confirmed: int = 0
    pending: bytearray = field(default_factory=bytearray)

    @property
    def length(self) -> int:
        """Bytes that were given so far."""
        return self.confirmed + len(self.pending)

    def give(self, data: bytes | bytearray | memoryview) -> None:
        self.pending += data

    def sendable(self, *, is_last: bool) -> int:
        """How many bytes of `pending` may go in the next request."""
        return len(self.pending) if is_last else len(self.pending) // UNIT_BYTES * UNIT_BYTES

    def content_range(self, count: int, *, is_last: bool) -> str:
        """The header `Content-Range` for a request with so many bytes.

        >>> Progress(0, bytearray(10)).content_range(10, is_last=True)
        'bytes 0-9/10'
        >>> Progress(10).content_range(0, is_last=True)
        'bytes */10'
        """
        total = str(self.length) if is_last else "*"
        if not count:
            return f"bytes */{total}"
        return f"bytes {self.confirmed}-{self.confirmed + count - 1}/{total}"

    def note_stored(self, header: str | None) -> None:
        """Record the bytes that the service has by the header `Range` of its answer. Raises
        `ProtocolViolation` for an impossible count."""
        count = 0
        if header is not None:
            match = _RANGE.fullmatch(header.strip())
            if match is None:
                raise errors.ProtocolViolation(f"an upload is answered with the range {header!r}")
            count = int(match[1]) + 1
        if not self.confirmed <= count <= self.length:
            raise errors.ProtocolViolation(
                f"an upload has {count} bytes by what the store says: it had {self.confirmed}, and "
                f"{self.length} were written"
            )
        del self.pending[: count - self.confirmed]
        self.confirmed = count
