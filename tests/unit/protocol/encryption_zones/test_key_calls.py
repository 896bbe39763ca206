"""Messages of key servers, and their addresses."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import types_pb2
from howdah.protocol.encryption_zones import key_calls
from howdah.protocol.encryption_zones.messages import (
    EncryptedKey,
    encrypted_key_of,
    encryption_info_of,
)
from howdah.protocol.encryption_zones.provider_address import ProviderAddress

KEYS = st.builds(
    EncryptedKey,
    st.text(st.characters(categories=("Ll", "Nd")), min_size=1, max_size=9),
    st.just("payroll@1"),
    st.binary(min_size=16, max_size=16),
    st.sampled_from((16, 24, 32)).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
)


@given(KEYS)
def test_a_key_comes_back_as_it_was(key: EncryptedKey) -> None:
    fields = json.loads(json.dumps(key_calls.encrypted_key_fields(key)))
    assert key_calls.encrypted_key_from(fields, key.key_name) == key
    assert encrypted_key_of(encryption_info_of(key)) == key


@given(st.binary(max_size=40))
def test_bytes_come_back_in_both_alphabets(data: bytes) -> None:
    text = key_calls.encode(data)
    assert "=" not in text
    assert key_calls.decode(text, "it") == data
    assert key_calls.decode(text.replace("-", "+").replace("_", "/") + "==", "it") == data


@pytest.mark.parametrize("text", [None, 3, "a", "a\n", "ä", "*", "a b="])
def test_what_is_no_base64_is_refused(text: object) -> None:
    with pytest.raises(errors.ProtocolViolation, match="the key"):
        key_calls.decode(text, "the key")


@given(st.binary(max_size=60))
def test_no_body_is_a_defect(body: bytes) -> None:
    for read in (key_calls.object_of, key_calls.list_of):
        try:
            read(body)
        except errors.ProtocolViolation:
            continue
    assert isinstance(key_calls.error_of(500, body, "it"), errors.RemoteError)


@pytest.mark.parametrize(
    "fields",
    [
        None,
        [],
        {},
        {"encryptedKeyVersion": []},
        {"versionName": "a@0", "iv": "AA", "encryptedKeyVersion": {"material": "AA"}},
        {"versionName": "a@0", "iv": key_calls.encode(bytes(16)), "encryptedKeyVersion": {}},
        {"versionName": 3, "iv": key_calls.encode(bytes(16)), "encryptedKeyVersion": {}},
    ],
)
def test_what_is_no_encrypted_key_is_refused(fields: object) -> None:
    with pytest.raises(errors.ProtocolViolation):
        key_calls.encrypted_key_from(fields, "a")


def test_a_cipher_that_is_not_known_is_refused_by_name() -> None:
    info = encryption_info_of(EncryptedKey("k", "k@0", bytes(16), bytes(16)))
    info.suite = types_pb2.SM4_CTR_NOPADDING
    with pytest.raises(errors.UnsupportedOperation, match="SM4_CTR_NOPADDING"):
        encrypted_key_of(info)


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (
            403,
            key_calls.error_fields(
                "org.apache.hadoop.security.authorize.AuthorizationException", "not you"
            ),
            errors.AccessDenied,
            "it: not you",
        ),
        (500, key_calls.error_fields("java.io.IOException", "lost"), errors.RemoteError, "lost"),
        (403, {}, errors.AccessDenied, "status 403"),
        (400, {"RemoteException": "text"}, errors.RemoteError, "status 400"),
    ],
)
def test_refusals_become_errors(
    status: int, body: object, kind: type[errors.HowdahError], words: str
) -> None:
    error = key_calls.error_of(status, json.dumps(body).encode(), "it")
    assert type(error) is kind
    assert words in error.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kms://https@a/kms", "kms://https@a:9600/kms"),
        ("kms://http@a;b:1/kms/", "kms://http@a;b:1/kms"),
        ("kms://http@[::1]:7/kms", "kms://http@[::1]:7/kms"),
    ],
)
def test_addresses(text: str, shown: str) -> None:
    assert str(ProviderAddress.of(text)) == shown


@pytest.mark.parametrize(
    "text",
    ["", "jceks://file@/a", "kms://a:9600/kms", "kms://http@/kms", "kms://ftp@a/kms",
     "kms://http@a:0/kms", "kms://http@a:x/kms", "kms://http@a:70000/kms"],
)  # fmt: skip
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"key server|port"):
        ProviderAddress.of(text)
