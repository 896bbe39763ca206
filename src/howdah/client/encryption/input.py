"""A file of an encryption zone that is being read: plain text to whoever reads.

What comes from datanodes is decrypted where it lies, in the reader's buffer. Replicas and their
checksums are of cipher text.
"""

from __future__ import annotations

from howdah.client.encryption.cipher import FileCipher, SequentialCipher
from howdah.client.reading.file_replicas import ReadContext
from howdah.client.reading.input import DFSInputStream
from howdah.client.reading.locations import FileLocations
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
        count = super()._read_some(view)
        self._sequential.apply(self._position - count, view[:count])
        return count

    def _view_in_block(self, offset: int, length: int) -> memoryview | None:
        """The memory of a replica's file is cipher text."""
        return None

    def _pread_in_block(self, offset: int, view: memoryview) -> None:
        super()._pread_in_block(offset, view)
        self._cipher.apply(offset, view)
