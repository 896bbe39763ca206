"""AES in counter mode, as the package `cryptography` has it from OpenSSL."""

from __future__ import annotations

from typing import Any

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
