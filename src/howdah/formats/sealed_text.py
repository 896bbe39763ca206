"""Texts that are encrypted by a passphrase, as files have them (pure).

    # howdah sealed 1
    scrypt ln=15,r=8,p=1 SALT
    aes-256-gcm NONCE
    CIPHERTEXT

Salt, nonce and ciphertext are in base64; the ciphertext is one line, with its tag at the end. The
first three lines are authenticated with it.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from howdah.formats.malformed import MalformedRecord

HEADER: Final = "# howdah sealed 1"
SALT_BYTES: Final = 16
NONCE_BYTES: Final = 12
_SCRYPT: Final = re.compile(r"scrypt ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3}) (\S{1,100})\Z", re.ASCII)
_CIPHER: Final = re.compile(r"aes-256-gcm (\S{1,100})\Z", re.ASCII)
_MAX_LN: Final = 20
_MAX_R: Final = 16
_MAX_P: Final = 4


@dataclass(frozen=True, slots=True)
class SealedText:
    """One text, encrypted."""

    salt: bytes
    nonce: bytes
    ciphertext: bytes = b""
    ln: int = 15
    r: int = 8
    p: int = 1

    @property
    def head(self) -> str:
        """The lines before the ciphertext.

        >>> print(SealedText(b"salt", b"nonce").head, end="")
        # howdah sealed 1
        scrypt ln=15,r=8,p=1 c2FsdA==
        aes-256-gcm bm9uY2U=
        """
        return (
            f"{HEADER}\nscrypt ln={self.ln},r={self.r},p={self.p} {_encoded(self.salt)}\n"
            f"aes-256-gcm {_encoded(self.nonce)}\n"
        )

    @property
    def text(self) -> str:
        """The whole file."""
        return f"{self.head}{_encoded(self.ciphertext)}\n"


def is_sealed(text: str) -> bool:
    """Return whether a file says of itself that it is encrypted."""
    return text.partition("\n")[0].rstrip() == HEADER


def sealed(text: str) -> SealedText:
    """Return what a file has in it. Raises MalformedRecord, which shows nothing of it."""
    lines = text.splitlines()
    if len(lines) != 4 or lines[0].rstrip() != HEADER:
        raise MalformedRecord(f"it has not the four lines of a file {HEADER!r}")
    cost, cipher = _SCRYPT.match(lines[1]), _CIPHER.match(lines[2])
    if cost is None or cipher is None:
        raise MalformedRecord("it is not sealed by scrypt and aes-256-gcm")
    ln, r, p = int(cost[1]), int(cost[2]), int(cost[3])
    if not (1 <= ln <= _MAX_LN and 1 <= r <= _MAX_R and 1 <= p <= _MAX_P):
        raise MalformedRecord(f"scrypt by ln={ln},r={r},p={p} is not supported")
    salt, nonce = _decoded(cost[4]), _decoded(cipher[1])
    if len(salt) != SALT_BYTES or len(nonce) != NONCE_BYTES:
        raise MalformedRecord("its salt or its nonce has another length")
    return SealedText(salt, nonce, _decoded(lines[3]), ln, r, p)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedRecord("it has lines that are not in base64") from None
