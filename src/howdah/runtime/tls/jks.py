"""Java's own keystores, type JKS (pure). Hadoop reads them through java.security.KeyStore.

The layout is that of Java's class documentation and of every reader of it:

    magic FEEDFEED | version 1 or 2 | number of entries | entries | SHA-1
    entry: 1 | alias | milliseconds | length, protected key | number, certificates
           2 | alias | milliseconds | certificate
    certificate: type (version 2 alone) | length, DER

All numbers are big-endian. The sum is over the password as UTF-16, a fixed phrase and all that
stands before it, so that nothing is believed that the password does not vouch for. A key is
PKCS#8, hidden by a stream of sums: this is what Java does, and is no protection against those who
can read the file.

Not read: JCEKS, whose keys are hidden in another way.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass, field
from typing import Final

MAGIC: Final = bytes.fromhex("feedfeed")
JCEKS_MAGIC: Final = bytes.fromhex("cececece")
MAX_BYTES: Final = 16 << 20
_PHRASE: Final = b"Mighty Aphrodite"
_SUM_BYTES: Final = 20
_PROTECTION: Final = bytes.fromhex("060a2b060104012a02110101")
"""1.3.6.1.4.1.42.2.17.1.1, as DER: how keys are hidden."""


class Damaged(ValueError):
    """This is no such keystore, or the password is another one. Says nothing of the password."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key that is hidden, and its certificates, its own first; all of it DER."""

    alias: str
    protected: bytes = field(repr=False)
    chain: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyStore:
    """What a file holds."""

    keys: tuple[KeyEntry, ...]
    trusted: tuple[bytes, ...] = field(repr=False)
    """Certificates, DER."""


def parse(data: bytes, password: str | None) -> KeyStore:
    """What is in a file. Without a password nobody knows whether it is as it was written, which
    Java allows for certificates that are trusted. Raises Damaged."""
    if password is not None:
        _check_sum(data, password)
    reader = _Reader(data[:-_SUM_BYTES])
    if reader.read(4) != MAGIC:
        raise Damaged("it does not begin as a JKS keystore does")
    version = reader.number()
    if version not in (1, 2):
        raise Damaged(f"its version is {version}, not 1 or 2")
    found_keys: list[KeyEntry] = []
    trusted: list[bytes] = []
    for _ in range(reader.number()):
        tag, alias, _ = reader.number(), reader.text(), reader.read(8)
        if tag == 1:
            protected = reader.sized()
            chain = tuple(reader.certificate(version) for _ in range(reader.number()))
            found_keys.append(KeyEntry(alias, protected, chain))
        elif tag == 2:
            trusted.append(reader.certificate(version))
        else:
            raise Damaged(f"an entry is of the unknown kind {tag}")
    reader.expect_end()
    return KeyStore(tuple(found_keys), tuple(trusted))


def private_key(entry: KeyEntry, password: str) -> bytes:
    """Return the key as PKCS#8, DER. Raises Damaged."""
    hidden = _hidden(entry.protected)
    secret = password.encode("utf-16-be")
    salt, body, check = hidden[:20], hidden[20:-20], hidden[-20:]
    stream = b""
    block = salt
    while len(stream) < len(body):
        block = hashlib.sha1(secret + block, usedforsecurity=False).digest()
        stream += block
    plain = bytes(a ^ b for a, b in zip(body, stream, strict=False))
    digest = hashlib.sha1(secret + plain, usedforsecurity=False).digest()
    if not hmac.compare_digest(digest, check):
        raise Damaged(f"the password of the key {entry.alias!r} is another one")
    return plain


def _check_sum(data: bytes, password: str) -> None:
    digest = hashlib.sha1(usedforsecurity=False)
    digest.update(password.encode("utf-16-be") + _PHRASE)
    digest.update(data[:-_SUM_BYTES])
    if not hmac.compare_digest(digest.digest(), data[-_SUM_BYTES:]):
        raise Damaged("its sum is wrong: the password is another one, or the file is damaged")


def _hidden(protected: bytes) -> bytes:
    """The bytes within EncryptedPrivateKeyInfo."""
    whole, rest = _element(protected, 0x30)
    algorithm, octets = _element(whole, 0x30)
    hidden, behind = _element(octets, 0x04)
    if rest or behind or not algorithm.startswith(_PROTECTION) or len(hidden) < 41:
        raise Damaged("a key in it is hidden in a way that is not known")
    return hidden


def _element(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """The contents of the first element of DER, and what stands behind it."""
    if len(data) < 2 or data[0] != tag:
        raise Damaged("a key in it is no PKCS#8")
    length, start = data[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(data[2:start], "big")
    if start + length > len(data) or start > 6:
        raise Damaged("a key in it is cut off")
    return data[start : start + length], data[start + length :]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self, count: int) -> bytes:
        content = self._data[self._at : self._at + count]
        if len(content) < count:
            raise Damaged("it is cut off")
        self._at += count
        return content

    def number(self) -> int:
        (number,) = struct.unpack(">I", self.read(4))
        return int(number)

    def text(self) -> str:
        (length,) = struct.unpack(">H", self.read(2))
        return self.read(length).decode("utf-8", "replace")

    def sized(self) -> bytes:
        return self.read(self.number())

    def certificate(self, version: int) -> bytes:
        kind = self.text() if version == 2 else "X.509"
        if kind != "X.509":
            raise Damaged(f"a certificate in it is {kind!r}, not X.509")
        return self.sized()

    def expect_end(self) -> None:
        if self._at != len(self._data):
            raise Damaged("something stands behind its entries")
