"""Encrypts and decrypts the bytes of one file, wherever they are in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from howdah.protocol.encryption_zones.counter import counter_at
from howdah.security.aes import aes_ctr

Data = bytes | bytearray | memoryview
_PURPOSE: Final = "files in encryption zones"


@dataclass(frozen=True, slots=True)
class FileCipher:
    """That of one file. In counter mode encryption and decryption are the same."""

    key: bytes = field(repr=False)
    iv: bytes

    def stream_at(self, offset: int) -> Any:
        """Return what has `update` and `update_into` for the bytes from an offset on."""
        counter, skipped = counter_at(self.iv, offset)
        stream = aes_ctr(self.key, counter, _PURPOSE).encryptor()
        if skipped:
            stream.update(bytes(skipped))
        return stream

    def apply(self, offset: int, view: memoryview) -> None:
        """Encrypt or decrypt, in place, what is at an offset of the file."""
        self.stream_at(offset).update_into(view, view)


class SequentialCipher:
    """The same for bytes that mostly follow each other. For one thread at a time."""

    def __init__(self, cipher: FileCipher) -> None:
        self._cipher = cipher
        self._stream: Any = None
        self._position = 0

    def _stream_at(self, offset: int, count: int) -> Any:
        stream = self._stream
        if stream is None or offset != self._position:
            stream = self._cipher.stream_at(offset)
        # Kept when the bytes are done: what is interrupted before must not be half-way.
        self._stream = None
        self._position = offset + count
        return stream

    def apply(self, offset: int, view: memoryview) -> None:
        """Encrypt or decrypt in place."""
        stream = self._stream_at(offset, len(view))
        stream.update_into(view, view)
        self._stream = stream

    def applied(self, offset: int, data: Data) -> bytes:
        """Return the same bytes, encrypted or decrypted."""
        stream = self._stream_at(offset, len(data))
        result: bytes = stream.update(data)
        self._stream = stream
        return result
