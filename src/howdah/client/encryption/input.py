"""A file of an encryption zone that is being read: plain text to whoever reads.

What comes from datanodes is decrypted where it lies, in the reader's buffer; of a large read while
the rest of it is received (`overlap`). Replicas and their checksums are of cipher text.
"""

from __future__ import annotations

from howdah import errors
from howdah.client.encryption.cipher import FileCipher, SequentialCipher
from howdah.client.encryption.overlap import LEAST_BYTES, OverlappedDecryption
from howdah.client.reading.file_replicas import ReadContext
from howdah.client.reading.input import DFSInputStream
from howdah.client.reading.locations import FileLocations
from howdah.client.reading.readers import Cancellation
from howdah.runtime.tracing.span import NOTHING, Span


class DecryptingInputStream(DFSInputStream):
    """The raw stream of one open file that is encrypted."""

    def __init__(
        self,
        locations: FileLocations,
        context: ReadContext,
        cipher: FileCipher,
        span: Span = NOTHING,
    ) -> None:
        super().__init__(locations, context, span)
        self._cipher = cipher
        self._sequential = SequentialCipher(cipher)

    def _forked(self) -> None:
        self._sequential = SequentialCipher(self._cipher)
        super()._forked()

    def _read_some(self, view: memoryview) -> int:
        if len(view) >= LEAST_BYTES:
            return self._read_much(view)
        count = super()._read_some(view)
        self._sequential.apply(self._position - count, view[:count])
        return count

    def _read_much(self, view: memoryview) -> int:
        filled = 0
        with OverlappedDecryption(self._cipher) as decryption:
            while filled < len(view):
                try:
                    count = super()._read_some(view[filled:])
                except (errors.HowdahError, OSError):
                    if not filled:
                        raise
                    break  # The next read meets it again.
                if not count:
                    break
                decryption.add(self._position - count, view[filled:], count)
                filled += count
        return filled

    def _view_in_block(self, offset: int, length: int) -> memoryview | None:
        """The memory of a replica's file is cipher text."""
        return None

    def _fill_in_block(self, offset: int, view: memoryview, cancellation: Cancellation) -> None:
        if len(view) < LEAST_BYTES:
            super()._fill_in_block(offset, view, cancellation)
            self._cipher.apply(offset, view)
            return
        with OverlappedDecryption(self._cipher) as decryption:
            self._receive_in_block(offset, view, cancellation, decryption.add)

    def _take_hedged(self, offset: int, view: memoryview, data: bytes | bytearray) -> None:
        super()._take_hedged(offset, view, data)
        self._cipher.apply(offset, view)
