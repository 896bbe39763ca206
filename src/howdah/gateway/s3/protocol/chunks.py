"""Bodies in chunks, as `aws-chunked` frames them: bytes in, bytes of the object out.

    SIZE[;chunk-signature=HEX]CRLF  DATA CRLF  …  0[…]CRLF  [NAME:VALUE CRLF …]  CRLF

This framing is within HTTP's own, whose chunks have other borders. Data goes on before the
signature of its chunk is checked, so it may not be shown to anybody before the end.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.signatures import ChunkSigner

_MAX_LINE_BYTES: Final = 1024
_MAX_TRAILERS: Final = 16
_HEAD: Final = re.compile(rb"([0-9a-fA-F]{1,15})(?:;chunk-signature=([0-9a-f]{64}))?\Z")
_TRAILER_SIGNATURE: Final = "x-amz-trailer-signature"


class _State(enum.Enum):
    HEAD = enum.auto()
    DATA = enum.auto()
    BEHIND_DATA = enum.auto()
    TRAILERS = enum.auto()
    END = enum.auto()


class ChunkDecoder:
    """Decodes one body."""

    def __init__(self, signer: ChunkSigner | None, *, has_trailers: bool) -> None:
        """Without `signer` chunks are not signed."""
        self._signer = signer
        self._has_trailers = has_trailers
        self._state = _State.HEAD
        self._line = bytearray()
        self._left_bytes = 0
        self._signature = ""
        self._digest = hashlib.sha256()
        self._signed_lines = ""
        self.trailers: dict[str, str] = {}
        """What stands behind the chunks, with names in lower case."""

    @property
    def is_whole(self) -> bool:
        """Whether the body has come to its end."""
        return self._state is _State.END

    def decode(self, received: bytes) -> Iterator[memoryview]:
        """Yield the pieces of the object that are in the next bytes of the body. Raises Refused."""
        view = memoryview(received)
        at = 0
        while at < len(view):
            if self._state is _State.DATA:
                piece = view[at : at + self._left_bytes]
                at += len(piece)
                self._left_bytes -= len(piece)
                if self._signer is not None:
                    self._digest.update(piece)
                if not self._left_bytes:
                    self._end_chunk()
                    self._state = _State.BEHIND_DATA
                yield piece
            elif self._state is _State.END:
                raise Refused("IncompleteBody", "there are bytes behind the last chunk")
            else:
                at = self._read_line(received, at)

    def _read_line(self, received: bytes, at: int) -> int:
        """Read to the end of a line, and act by it; return where the next one begins."""
        end = received.find(b"\n", at)
        self._line += received[at : len(received) if end < 0 else end]
        if len(self._line) > _MAX_LINE_BYTES:
            raise _malformed(f"a line has more than {_MAX_LINE_BYTES} bytes")
        if end < 0:
            return len(received)
        line = bytes(self._line).removesuffix(b"\r")
        self._line.clear()
        if self._state is _State.HEAD:
            self._begin_chunk(line)
        elif self._state is _State.BEHIND_DATA:
            if line:
                raise _malformed("a chunk is longer than it says")
            self._state = _State.HEAD
        elif line:
            self._add_trailer(line)
        else:
            self._end()
        return end + 1

    def _begin_chunk(self, line: bytes) -> None:
        match = _HEAD.match(line)
        if match is None:
            raise _malformed("a chunk begins with its size")
        if (match[2] is None) != (self._signer is None):
            raise _malformed("all chunks are signed, or none is")
        self._signature = (match[2] or b"").decode()
        self._digest = hashlib.sha256()
        self._left_bytes = int(match[1], 16)
        if self._left_bytes:
            self._state = _State.DATA
        else:
            self._end_chunk()
            self._state = _State.TRAILERS

    def _end_chunk(self) -> None:
        if self._signer is not None:
            self._signer.check_chunk(self._digest.hexdigest(), self._signature)

    def _add_trailer(self, line: bytes) -> None:
        name, colon, value = line.decode("latin-1").partition(":")
        name, value = name.strip().lower(), value.strip()
        if not self._has_trailers or not colon or name in self.trailers:
            raise _malformed("that is no line behind the chunks")
        if len(self.trailers) >= _MAX_TRAILERS:
            raise _malformed(f"there are more than {_MAX_TRAILERS} lines behind the chunks")
        self.trailers[name] = value
        if name != _TRAILER_SIGNATURE:
            self._signed_lines += f"{name}:{value}\n"

    def _end(self) -> None:
        if self._signer is not None and self._has_trailers:
            digest = hashlib.sha256(self._signed_lines.encode("latin-1")).hexdigest()
            self._signer.check_trailer(digest, self.trailers.get(_TRAILER_SIGNATURE, ""))
        self._state = _State.END


def _malformed(why: str) -> Refused:
    return Refused("InvalidRequest", f"the chunks of the body are malformed: {why}")
