"""Keys and certificates out of the files that hold them (shell: reads files).

PEM is read as it is. JKS has a reader here. PKCS12 is read by `cryptography`, a package that
`pip install howdah[tls]` brings: it is cryptography of many kinds, which is no work for us. As
with Java, a file that is said to be JKS may be PKCS12, and the other way round.
"""

from __future__ import annotations

import base64
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah.errors import InvalidConfiguration
from howdah.runtime.tls import jks
from howdah.runtime.tls.stores import Secret, Store

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates

_PEM: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----")
_CERTIFICATE: Final = re.compile(
    r"-----BEGIN (?:TRUSTED )?CERTIFICATE-----(.+?)-----END (?:TRUSTED )?CERTIFICATE-----",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, repr=False)
class KeyMaterial:
    """A key with its certificates, as PEM; `password` is that of the key in it."""

    pem: bytes
    password: Secret | None

    def certificates(self) -> list[bytes]:
        """DER, its own first. Raises ValueError."""
        return _certificates(self.pem)


def read_key(store: Store) -> KeyMaterial:
    """Return the key of a server or client. Raises InvalidConfiguration."""
    data, kind = _read(store)
    try:
        if kind == "pem":
            if not any(section.endswith(b"PRIVATE KEY") for section in _PEM.findall(data)):
                raise ValueError("there is no private key in it")
            if not _certificates(data):
                raise ValueError("there is no certificate in it")
            return KeyMaterial(data, store.key_password)
        if store.password is None:
            password = store.key.replace("location", "password")
            raise ValueError(f"{password} is not set")
        if kind == "jks":
            return KeyMaterial(_jks_key(store, data, store.password), None)
        return KeyMaterial(_pkcs12_key(data, store.password), None)
    except ValueError as error:
        raise _unreadable(store, str(error)) from None


def read_trusted(store: Store) -> list[bytes]:
    """Return the certificates of a truststore, DER. Raises InvalidConfiguration."""
    data, kind = _read(store)
    password = None if store.password is None else store.password.text
    try:
        if kind == "pem":
            certificates = _certificates(data)
        elif kind == "jks":
            stored = jks.parse(data, password)
            certificates = [
                *stored.trusted,
                *(entry.chain[0] for entry in stored.keys if entry.chain),
            ]
        else:
            certificates = _pkcs12_trusted(data, password)
        if not certificates:
            raise ValueError("there is no certificate in it")
        return certificates
    except ValueError as error:
        raise _unreadable(store, str(error)) from None


def _read(store: Store) -> tuple[bytes, str]:
    """The file, and of which kind it is."""
    try:
        with open(store.path, "rb") as file:
            data = file.read(jks.MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(store, error.strerror or str(error)) from error
    if len(data) > jks.MAX_BYTES:
        raise _unreadable(store, f"it is longer than {jks.MAX_BYTES} bytes")
    if data.startswith(jks.JCEKS_MAGIC):
        raise _unreadable(store, "it is a JCEKS keystore, which is not supported")
    kind = "jks" if data.startswith(jks.MAGIC) else "pem" if _PEM.search(data) else "pkcs12"
    if (kind == "pem") != (store.type == "pem"):
        raise _unreadable(store, f"it is {kind.upper()}, and its type is said to be {store.type}")
    return data, kind


def _unreadable(store: Store, why: str) -> InvalidConfiguration:
    return InvalidConfiguration(f"{store.key}: {store.path} cannot be used: {why}")


def _certificates(pem: bytes) -> list[bytes]:
    text = pem.decode("ascii", "replace")
    return [base64.b64decode("".join(body.split())) for body in _CERTIFICATE.findall(text)]


def _pem(label: str, der: bytes) -> bytes:
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n".encode()


def _jks_key(store: Store, data: bytes, password: Secret) -> bytes:
    stored = jks.parse(data, password.text)
    if not stored.keys:
        raise ValueError("there is no private key in it")
    entry = stored.keys[0]
    key = jks.private_key(entry, (store.key_password or password).text)
    return _pem("PRIVATE KEY", key) + b"".join(
        _pem("CERTIFICATE", certificate) for certificate in entry.chain
    )


def _pkcs12_key(data: bytes, password: Secret) -> bytes:
    bundle = _pkcs12(data, password.text)
    from cryptography.hazmat.primitives import serialization

    if bundle.key is None or bundle.cert is None:
        raise ValueError("there is no private key in it")
    key = bundle.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    chain = [bundle.cert, *bundle.additional_certs]
    pem = serialization.Encoding.PEM
    return key + b"".join(cert.certificate.public_bytes(pem) for cert in chain)


def _pkcs12_trusted(data: bytes, password: str | None) -> list[bytes]:
    bundle = _pkcs12(data, password)
    from cryptography.hazmat.primitives import serialization

    own = [] if bundle.cert is None else [bundle.cert]
    der = serialization.Encoding.DER
    return [cert.certificate.public_bytes(der) for cert in (*own, *bundle.additional_certs)]


def _pkcs12(data: bytes, password: str | None) -> PKCS12KeyAndCertificates:
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise ValueError(
            "PKCS12 is read by the package cryptography: pip install 'howdah[tls]'"
        ) from None
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError:
        raise ValueError("it is no PKCS12, or the password is another one") from None
