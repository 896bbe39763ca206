"""A certificate authority of a cluster on one machine, and what it signs (shell).

`DIR/tls` has, made once:

    ca.pem              for `curl --cacert` and whoever else asks for a CA
    keystore.p12        the servers' key and certificate, for localhost and loopback addresses
    truststore.p12      the CA as Java's keystores have it
    ssl-server.xml, ssl-client.xml

The CA's key is thrown away: nothing more is signed. The password of the keystore is drawn, and
stands in ssl-server.xml, which its owner alone can read. `cryptography` signs
(`pip install 'howdah[tls]'`).
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from howdah.config import Configuration, keys
from howdah.errors import InvalidConfiguration

VALID: Final = datetime.timedelta(days=825)
CLIENT_FILE: Final = "ssl-client.xml"
SERVER_FILE: Final = "ssl-server.xml"
_TRUST_PASSWORD: Final = "changeit"
"""Java's own: it hides nothing, but says that the file is whole."""


def settings(directory: Path) -> dict[str, str]:
    """What a server needs to find what is in `directory`, if it is not in the directory of its
    configuration too."""
    server = str(directory / SERVER_FILE)
    return {
        keys.DFS_HTTPS_SERVER_KEYSTORE_RESOURCE.name: server,
        keys.HADOOP_SSL_SERVER_CONF.name: server,
        **client_settings(directory),
    }


def client_settings(directory: Path) -> dict[str, str]:
    """What a client of ours needs. Java's read no path: they find the file beside
    core-site.xml."""
    return {keys.DFS_CLIENT_HTTPS_KEYSTORE_RESOURCE.name: str(directory / CLIENT_FILE)}


def lay_beside(directory: Path, conf_dir: Path, *, for_server: bool) -> None:
    """Where Hadoop's programs look for what is in `directory`."""
    for name in (CLIENT_FILE, *((SERVER_FILE,) if for_server else ())):
        _write(conf_dir / name, (directory / name).read_bytes())


def make(directory: Path, hosts: Iterable[str], lies_at: str | None = None) -> None:
    """Make what is not there yet; the certificate is for localhost and `hosts`, names or
    addresses. `lies_at` is where the files will be read, if that is another directory. Raises
    InvalidConfiguration where `cryptography` is missing."""
    place = lies_at or str(directory)
    if (directory / CLIENT_FILE).is_file():
        return
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError:
        raise InvalidConfiguration(
            "certificates are made by the package cryptography: pip install 'howdah[tls]'"
        ) from None
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    now = datetime.datetime.now(datetime.UTC)

    def certificate(
        name: str, issuer: str, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        def named(text: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

        return (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(issuer))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + VALID)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )

    ca_name = f"howdah, a cluster in {directory.parent.name}"[:60]
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = (
        certificate(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                **dict.fromkeys(_USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
            ),
            critical=True,
        )
        .sign(ca_key, hashes.SHA256())
    )
    names: list[x509.GeneralName] = [x509.DNSName("localhost")]
    for host in dict.fromkeys(("127.0.0.1", "::1", *hosts)):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    own = (
        certificate("localhost", ca_name, key.public_key())
        .add_extension(x509.SubjectAlternativeName(dict.fromkeys(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()),
            critical=False,
        )
        .sign(ca_key, hashes.SHA256())
    )
    password = secrets.token_urlsafe(24)
    _write(directory / "ca.pem", ca.public_bytes(serialization.Encoding.PEM))
    _write(
        directory / "keystore.p12",
        pkcs12.serialize_key_and_certificates(
            b"server",
            key,
            own,
            [ca],
            serialization.BestAvailableEncryption(password.encode()),
        ),
    )
    _write(
        directory / "truststore.p12",
        pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(ca, b"ca")],
            serialization.BestAvailableEncryption(_TRUST_PASSWORD.encode()),
        ),
    )
    trust = {
        "truststore.location": f"{place}/truststore.p12",
        "truststore.password": _TRUST_PASSWORD,
        "truststore.type": "pkcs12",
    }
    store = {
        "keystore.location": f"{place}/keystore.p12",
        "keystore.password": password,
        "keystore.keypassword": password,
        "keystore.type": "pkcs12",
    }
    _write(directory / SERVER_FILE, _described("server", store | trust))
    # The last one: that it is there says that all are.
    _write(directory / CLIENT_FILE, _described("client", trust))


_USAGES: Final = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
    *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


def _described(side: str, values: dict[str, str]) -> bytes:
    named = {f"ssl.{side}.{name}": value for name, value in values.items()}
    return Configuration(named).to_xml().encode()


def _write(path: Path, data: bytes) -> None:
    """For its owner alone."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(number, "wb") as file:
        file.write(data)
