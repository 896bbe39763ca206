"""Encryption of small files by a passphrase: scrypt makes the key, AES-256-GCM encrypts.

`cryptography` has the cipher; the format is that of `howdah.formats.sealed_text`.
"""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.sealed_text import NONCE_BYTES, SALT_BYTES, SealedText, sealed
from howdah.security.guarded_file import read_guarded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FEWEST_CHARACTERS: Final = 12
_KEY_BYTES: Final = 32
_MOST_BYTES: Final = 256 << 20
"""Of memory for scrypt."""


def seal(text: str, passphrase: str) -> str:
    """Return a text encrypted, as a file has it.

    Raises InvalidConfiguration for a passphrase that is too short, and where `cryptography` is
    missing.
    """
    if len(passphrase) < FEWEST_CHARACTERS:
        raise errors.InvalidConfiguration(
            f"a passphrase has at least {FEWEST_CHARACTERS} characters"
        )
    made = SealedText(secrets.token_bytes(SALT_BYTES), secrets.token_bytes(NONCE_BYTES))
    ciphertext = _cipher(made, passphrase).encrypt(made.nonce, text.encode(), made.head.encode())
    return SealedText(made.salt, made.nonce, ciphertext).text


def unseal(text: str, passphrase: str) -> str:
    """Return what was encrypted.

    Raises InvalidConfiguration for another passphrase, and for a file that is damaged.
    """
    try:
        found = sealed(text)
    except MalformedRecord as error:
        raise errors.InvalidConfiguration(error.message) from None
    cipher = _cipher(found, passphrase)
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(found.nonce, found.ciphertext, found.head.encode()).decode()
    except InvalidTag:
        raise errors.InvalidConfiguration(
            "this is not its passphrase, or the file is damaged"
        ) from None


def _cipher(found: SealedText, passphrase: str) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise errors.InvalidConfiguration(
            "encrypted files need the package cryptography: pip install 'howdah[tls]'"
        ) from error
    key = hashlib.scrypt(
        passphrase.encode(),
        salt=found.salt,
        n=1 << found.ln,
        r=found.r,
        p=found.p,
        maxmem=_MOST_BYTES,
        dklen=_KEY_BYTES,
    )
    return AESGCM(key)


def passphrase_in(path: Path) -> str:
    """Return the passphrase in a file: its first line.

    Raises InvalidConfiguration where there is none, or others than its owner can read the file.
    """
    text, is_shown = read_guarded(path)
    if is_shown:
        raise errors.InvalidConfiguration(
            f"{path} can be read by others than its owner, and has a passphrase in it: chmod 600"
        )
    line = text.partition("\n")[0].rstrip("\r")
    if not line:
        raise errors.InvalidConfiguration(f"{path} has no passphrase in its first line")
    return line
