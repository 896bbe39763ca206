"""The body of a request: read from its connection, out of its chunks, and checked at its end
(shell).

Pieces go on as they come, so that a body of any length takes the same memory. Whoever gets them
may not show them to anybody before the end: only then is known whether they are what the client
has signed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from howdah.gateway.s3.protocol.checksums import PREFIX, BodySums
from howdah.gateway.s3.protocol.chunks import ChunkDecoder
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.requests import S3Request
from howdah.gateway.s3.protocol.signatures import (
    DECODED_LENGTH,
    TRAILER,
    UNSIGNED_CHUNKS,
    ChunkSigner,
    Signed,
    is_chunked,
    unsigned_payload,
)
from howdah.web.channel import Channel

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Body:
    """Of one request."""

    def __init__(
        self,
        channel: Channel,
        request: S3Request,
        signed: Signed | None,
        secret_key: str,
        *,
        has_sums: bool = True,
    ) -> None:
        """`has_sums`: the sums `x-amz-checksum-…` are those of the body. Raises Refused."""
        self._channel = channel
        headers = request.headers
        payload = unsigned_payload(request) if signed is None else signed.payload
        trailer = headers.get("x-amz-trailer", "").strip() if payload.endswith(TRAILER) else ""
        self.sums = BodySums(
            headers if has_sums else _of_bytes(headers),
            None if signed is None else signed.sha256,
            trailer or None,
        )
        self._decoder: ChunkDecoder | None = None
        length = headers.get("content-length")
        if is_chunked(payload):
            signer = None
            if signed is not None and payload != UNSIGNED_CHUNKS:
                signer = ChunkSigner(signed, secret_key)
            self._decoder = ChunkDecoder(signer, has_trailers=payload.endswith(TRAILER))
            length = headers.get(DECODED_LENGTH)
            if length is None:
                raise Refused("MissingContentLength", f"a body in chunks needs {DECODED_LENGTH}")
            if not (length.isascii() and length.isdigit() and len(length) < 20):
                raise Refused("InvalidArgument", f"{DECODED_LENGTH} is a number")
        elif length is None and "transfer-encoding" not in headers:
            raise Refused(
                "MissingContentLength", "You must provide the Content-Length HTTP header."
            )
        self.length_bytes = None if length is None else int(length)
        """As the client says; None where it does not."""

    def pieces(self) -> Iterator[Buffer]:
        """Yield all pieces. Raises Refused, also behind the last piece, and OSError where the
        connection ends."""
        count = 0
        for piece in self._decoded():
            count += len(piece)
            if self.length_bytes is not None and count > self.length_bytes:
                raise Refused("IncompleteBody", "there are more bytes than the request said")
            self.sums.update(piece)
            yield piece
        if self.length_bytes is not None and count != self.length_bytes:
            raise Refused(
                "IncompleteBody",
                "You did not provide the number of bytes specified by the Content-Length HTTP "
                "header",
            )
        self.sums.check({} if self._decoder is None else self._decoder.trailers)

    def _decoded(self) -> Iterator[bytes | memoryview]:
        while received := self._channel.read():
            if self._decoder is None:
                yield received
            else:
                yield from self._decoder.decode(received)
        if self._decoder is not None and not self._decoder.is_whole:
            raise Refused("IncompleteBody", "the body ended before its last chunk")

    def read(self, most_bytes: int) -> bytes:
        """Return a whole body that is a document. Raises Refused, OSError."""
        if self.length_bytes is not None and self.length_bytes > most_bytes:
            raise _too_long(most_bytes)
        data = bytearray()
        for piece in self.pieces():
            data += piece
            if len(data) > most_bytes:
                raise _too_long(most_bytes)
        return bytes(data)


def _of_bytes(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers without the sums of what a document is about."""
    return {name: value for name, value in headers.items() if not name.startswith(PREFIX)}


def _too_long(most_bytes: int) -> Refused:
    return Refused(
        "MaxMessageLengthExceeded",
        "Your request was too large.",
        MaxMessageLengthBytes=str(most_bytes),
    )
