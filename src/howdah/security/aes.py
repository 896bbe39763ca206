"""AES in counter mode, as the package `cryptography` has it from OpenSSL."""

from __future__ import annotations

import threading
from typing import Any, Final

from howdah import errors


def aes_ctr(key: bytes, counter: bytes, purpose: str) -> Any:
    """Return a `Cipher` for one stream, which works without the interpreter's lock. `purpose` says
    what it is needed for. Raises UnsupportedOperation where the package is not installed."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError as error:
        raise errors.UnsupportedOperation(
            f"{purpose} need the package cryptography: pip install 'howdah[tls]'"
        ) from error
    return Cipher(algorithms.AES(key), modes.CTR(counter))


_FIRST_COUNTER: Final = bytes(16)


class ShortTexts:
    """Encrypts and decrypts many short texts by one key in counter mode. Thread-safe.

    A new cipher takes ten times as long as one that gets another counter.
    """

    def __init__(self, key: bytes, purpose: str) -> None:
        """Raises UnsupportedOperation, as `aes_ctr`."""
        self._stream = aes_ctr(key, _FIRST_COUNTER, purpose).encryptor()
        self._lock = threading.Lock()

    def apply(self, counter: bytes, data: bytes) -> bytes:
        """Return a text, encrypted or decrypted, whose first block has this counter."""
        with self._lock:
            self._stream.reset_nonce(counter)
            result: bytes = self._stream.update(data)
        return result
