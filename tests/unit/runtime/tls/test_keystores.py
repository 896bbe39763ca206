"""Keystores that Java's keytool made, and what is wrong with others.

In `made_by_keytool`: a key of the password `key-pw-1` in a store of `store-pw` (of PKCS12 both are
`store-pw`), for localhost, and its certificate as a truststore of `trust-pw`.
"""

from __future__ import annotations

import os
import re
import ssl
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.config import Configuration
from howdah.errors import InvalidConfiguration
from howdah.local import certificates
from howdah.runtime.tls import jks
from howdah.runtime.tls.contexts import java_name, server_context
from howdah.runtime.tls.key_material import read_key, read_trusted
from howdah.runtime.tls.stores import Secret, Store, client_stores, server_stores, versions

pytestmark = [pytest.mark.req("FS-293"), pytest.mark.kind("hdfs")]

MADE = Path(__file__).with_name("made_by_keytool")
JKS = (MADE / "key.jks").read_bytes()


def store(name: str, kind: str, password: str | None, key_password: str | None = None) -> Store:
    return Store(
        "ssl.server.keystore.location",
        MADE / name,
        kind,
        Secret(password) if password else None,
        Secret(key_password or password or "") if password else None,
    )


def described(directory: Path, side: str, **values: str) -> Configuration:
    """A configuration with the file of one side."""
    named = {f"ssl.{side}.{name.replace('_', '.')}": value for name, value in values.items()}
    path = directory / f"ssl-{side}.xml"
    path.write_text(Configuration(named).to_xml())
    key = {"server": "dfs.https.server.keystore.resource", "client": "hadoop.ssl.client.conf"}
    return Configuration({key[side]: str(path)})


def of_key(directory: Path, **more: str) -> Configuration:
    values = {
        "keystore_location": str(MADE / "key.jks"),
        "keystore_password": "store-pw",
        "keystore_keypassword": "key-pw-1",
    }
    return described(directory, "server", **{**values, **more})


@pytest.mark.parametrize(
    ("name", "kind", "password", "key_password"),
    [
        ("key.jks", "jks", "store-pw", "key-pw-1"),
        ("key.p12", "pkcs12", "store-pw", None),
        # As with Java, whichever of the two it is.
        ("key.p12", "jks", "store-pw", None),
        ("key.jks", "pkcs12", "store-pw", "key-pw-1"),
    ],
)
def test_a_key_of_keytool_is_openssls(
    name: str, kind: str, password: str, key_password: str | None, tmp_path: Path
) -> None:
    found = read_key(store(name, kind, password, key_password))
    path = tmp_path / "key.pem"
    path.write_bytes(found.pem)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path)


@pytest.mark.parametrize("password", ["trust-pw", None])
def test_trusted_certificates_of_jks_want_no_password(password: str | None) -> None:
    (found,) = read_trusted(store("trusted.jks", "jks", password))
    assert found == read_key(store("key.jks", "jks", "store-pw", "key-pw-1")).certificates()[0]


def test_trusted_certificates_of_pkcs12() -> None:
    found = read_trusted(store("trusted.p12", "pkcs12", "trust-pw"))
    assert found == read_trusted(store("trusted.jks", "jks", "trust-pw"))


@pytest.mark.parametrize(
    ("name", "kind", "password", "key_password", "why"),
    [
        ("key.jks", "jks", "wrong-pw", "key-pw-1", "its sum is wrong"),
        ("key.jks", "jks", "store-pw", "wrong-pw", "the password of the key 'nn' is another one"),
        ("key.p12", "pkcs12", "wrong-pw", None, "no PKCS12, or the password is another one"),
        ("key.jceks", "jks", "store-pw", None, "JCEKS keystore, which is not supported"),
        ("trusted.jks", "jks", "trust-pw", None, "no private key"),
        ("key.jks", "pem", "store-pw", "key-pw-1", "it is JKS, and its type is said to be pem"),
        ("none.jks", "jks", "store-pw", None, "No such file"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(
    name: str, kind: str, password: str, key_password: str | None, why: str
) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        read_key(store(name, kind, password, key_password))
    said = str(caught.value)
    assert why in said
    assert str(MADE / name) in said
    assert not re.search(r"(wrong|store|key)-pw", said)
    assert caught.value.__cause__ is None or isinstance(caught.value.__cause__, OSError)


def test_a_secret_shows_nothing() -> None:
    shown = repr(store("key.jks", "jks", "store-pw")) + f"{Secret('store-pw')}"
    assert "store-pw" not in shown


@given(st.integers(0, len(JKS) - 1), st.integers(1, 255))
def test_any_changed_byte_of_a_keystore_is_noticed(place: int, change: int) -> None:
    changed = bytearray(JKS)
    changed[place] ^= change
    with pytest.raises(jks.Damaged):
        jks.parse(bytes(changed), "store-pw")


@given(st.integers(0, len(JKS)), st.binary(max_size=40))
def test_any_keystore_without_a_password_is_read_or_damaged(cut: int, behind: bytes) -> None:
    try:
        found = jks.parse(JKS[:cut] + behind, None)
        for entry in found.keys:
            jks.private_key(entry, "key-pw-1")
    except jks.Damaged:
        pass


@given(st.binary(max_size=200))
def test_any_hidden_key_is_revealed_or_damaged(data: bytes) -> None:
    with pytest.raises(jks.Damaged):
        jks.private_key(jks.KeyEntry("a", data, ()), "key-pw-1")


# The files that describe them.


@pytest.mark.parametrize("kind", ["JCEKS", "BCFKS", "PKCS11"])
def test_other_types_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=kind.lower()):
        server_stores(of_key(tmp_path, keystore_type=kind))


def test_a_password_of_a_credential_provider_is_refused_by_name(tmp_path: Path) -> None:
    conf = described(tmp_path, "server", keystore_location="/k.jks")
    conf = conf.with_values({"hadoop.security.credential.provider.path": "jceks://file/x"})
    with pytest.raises(InvalidConfiguration, match=r"credential.provider.path is not supported"):
        server_stores(conf)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "does not set ssl.server.keystore.location"),
        ({"keystore_location": "a", "stores_reload_interval": "soon"}, "stores.reload.interval"),
    ],
)
def test_a_server_says_what_its_file_lacks(
    values: Mapping[str, str], why: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidConfiguration, match=why):
        server_stores(described(tmp_path, "server", **values))


def test_a_server_without_the_file_says_which_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r"no file ssl-server.xml .* HTTPS needs it"):
        server_stores(Configuration())


def test_certificates_of_clients_want_a_truststore(tmp_path: Path) -> None:
    conf = of_key(tmp_path).with_values({"dfs.client.https.need-auth": "true"})
    with pytest.raises(InvalidConfiguration, match=r"ssl.server.truststore.location"):
        server_stores(conf)


def test_a_client_without_a_file_believes_whom_the_system_does() -> None:
    found = client_stores(Configuration())
    assert (found.keystore, found.truststore) == (None, None)


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("TLSv1.2", ("TLSv1.2",)),
        ("TLSv1,SSLv2Hello,TLSv1.1,TLSv1.2", ("TLSv1.2",)),
        ("TLSv1.3,TLSv1.2", ("TLSv1.2", "TLSv1.3")),
    ],
)
def test_old_versions_are_left_out(listed: str, found: tuple[str, ...]) -> None:
    assert versions(Configuration({"hadoop.ssl.enabled.protocols": listed})) == found


@pytest.mark.parametrize("listed", ["TLSv1.1", "SSLv3,TLSv1", "TLSv1.2,TLSv9"])
def test_nothing_older_than_1_2_is_spoken(listed: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"TLSv1.2 and TLSv1.3 are supported"):
        versions(Configuration({"hadoop.ssl.enabled.protocols": listed}))


# Ciphers.


def test_excluded_ciphers_have_javas_names(tmp_path: Path) -> None:
    excluded = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, .*_CBC_SHA, SSL_RSA_WITH_DES_CBC_SHA"
    conf = of_key(tmp_path, exclude_cipher_list=excluded)
    names = {java_name(each["name"]) for each in server_context(server_stores(conf)).get_ciphers()}
    assert "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" in names
    assert "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384" not in names
    assert not [name for name in names if name.endswith("_CBC_SHA")]


def test_no_cipher_of_tls_1_3_is_left_on_in_silence(tmp_path: Path) -> None:
    conf = of_key(tmp_path, exclude_cipher_list="TLS_AES_128_GCM_SHA256")
    with pytest.raises(InvalidConfiguration, match=r"take TLSv1.3 out"):
        server_context(server_stores(conf))
    older = conf.with_values({"hadoop.ssl.enabled.protocols": "TLSv1.2"})
    server_context(server_stores(older))


def test_a_list_of_ciphers_that_leaves_none_is_refused(tmp_path: Path) -> None:
    conf = of_key(tmp_path, include_cipher_list="NONE_SUCH")
    with pytest.raises(InvalidConfiguration, match="leave no cipher suite"):
        server_context(server_stores(conf))


def test_a_key_and_another_ones_certificate_do_not_belong_together(tmp_path: Path) -> None:
    key = read_key(store("key.p12", "pkcs12", "store-pw")).pem
    own = read_key(store("key.jks", "jks", "store-pw", "key-pw-1")).pem
    mixed = key[: key.index(b"-----BEGIN CERT")] + own[own.index(b"-----BEGIN CERT") :]
    (tmp_path / "k.pem").write_bytes(mixed)
    conf = described(tmp_path, "server", keystore_location="k.pem", keystore_type="pem")
    with pytest.raises(InvalidConfiguration, match="do not belong together"):
        server_context(server_stores(conf))


# What is not everywhere.


def test_where_the_system_has_no_files_in_memory_a_key_passes_through_one_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server_context(server_stores(of_key(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["ssl-server.xml"]


def test_pkcs12_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    with pytest.raises(InvalidConfiguration, match=r"pip install 'howdah\[tls\]'"):
        read_key(store("key.p12", "pkcs12", "store-pw"))
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(InvalidConfiguration, match=r"pip install 'howdah\[tls\]'"):
        certificates.make(tmp_path / "tls", [])


def test_a_key_with_a_password_that_is_not_said_asks_nobody_at_the_terminal(
    tmp_path: Path,
) -> None:
    from cryptography.hazmat.primitives import serialization

    found = read_key(store("key.jks", "jks", "store-pw", "key-pw-1")).pem
    key = serialization.load_pem_private_key(found, None)
    hidden = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"key-pw-1"),
    )
    (tmp_path / "k.pem").write_bytes(hidden + found[found.index(b"-----BEGIN CERT") :])
    values = {"keystore_location": "k.pem", "keystore_type": "pem"}
    with pytest.raises(InvalidConfiguration, match=r"k\.pem cannot be used"):
        server_context(server_stores(described(tmp_path, "server", **values)))
    values["keystore_keypassword"] = "key-pw-1"
    server_context(server_stores(described(tmp_path, "server", **values)))
