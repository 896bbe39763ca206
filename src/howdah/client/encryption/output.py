"""A file of an encryption zone that is being written: datanodes get cipher text.

The stream below counts, splits and repeats cipher text, and knows of nothing else.
"""

from __future__ import annotations

import threading
from typing import Final

from howdah.client.encryption.cipher import FileCipher, SequentialCipher
from howdah.client.state.writing.packetizer import Buffer
from howdah.client.writing.output import DFSOutputStream
from howdah.client.writing.output_stream import OutputStream
from howdah.client.writing.striped_output import DFSStripedOutputStream

_PIECE_BYTES: Final = 1 << 20
"""Of plain text that is encrypted at a time, so that a large write is not in memory twice."""


class _Encrypting(OutputStream):
    """Goes before the class of a stream. `begin` is called before anything is written."""

    def begin(self, cipher: FileCipher) -> None:
        self._cipher = SequentialCipher(cipher)
        self._cipher_lock = threading.Lock()

    def write(self, data: Buffer) -> None:
        self._check_open()  # Before a lock that the parent of a forked child may have held.
        with self._cipher_lock, memoryview(data) as given, given.cast("B") as plain:
            for start in range(0, len(plain) or 1, _PIECE_BYTES):
                piece = plain[start : start + _PIECE_BYTES]
                # That of the class of streams behind this one.
                super().write(self._cipher.applied(self.get_pos(), piece))  # type: ignore[safe-super]


class EncryptingOutputStream(_Encrypting, DFSOutputStream):
    """A stream of replicated blocks of cipher text."""


class EncryptingStripedOutputStream(_Encrypting, DFSStripedOutputStream):
    """A stream of block groups of cipher text."""
