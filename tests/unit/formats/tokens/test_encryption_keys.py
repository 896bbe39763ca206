"""Keys by which data connections are encrypted: what they are made of, and their names."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.tokens.block_keys import BlockKey
from howdah.formats.tokens.encryption_keys import DataEncryptionKey, NamedKey

IDS = st.integers(0, (1 << 31) - 1)
POOLS = st.text(st.characters(codec="utf-8", exclude_characters=" "), min_size=1)
NONCES = st.binary(min_size=1, max_size=64)


@given(IDS, POOLS, NONCES, st.binary(min_size=1, max_size=64))
def test_a_key_is_made_again_of_its_name_and_the_block_key(
    key_id: int, pool_id: str, nonce: bytes, secret: bytes
) -> None:
    block_key = BlockKey(key_id, 99, secret)
    made = DataEncryptionKey.made_by(block_key, pool_id, nonce, 7, "rc4")
    named = NamedKey.parse(made.credentials[0])
    assert (named.key_id, named.pool_id, named.nonce) == (key_id, pool_id, nonce)
    again = DataEncryptionKey.made_by(block_key, named.pool_id, named.nonce, 99)
    assert again.credentials == made.credentials
    assert base64.b64decode(made.credentials[1]) == hmac.new(secret, nonce, hashlib.sha1).digest()
    assert DataEncryptionKey.from_proto(made.to_proto()) == made


def test_the_name_is_as_hadoop_writes_it() -> None:
    key = DataEncryptionKey(7, "BP-1-127.0.0.1-2", bytes(range(8)), b"k" * 20, 1)
    assert key.credentials == (b"7 BP-1-127.0.0.1-2 AAECAwQFBgc=", b"a2tra2tra2tra2tra2tra2tra2s=")
    assert not key.to_proto().HasField("encryptionAlgorithm")


def test_neither_key_nor_nonce_is_shown() -> None:
    key = DataEncryptionKey(7, "BP-1", b"nonce-of", b"secret", 1)
    assert "secret" not in repr(key)
    assert "nonce-of" not in repr((key, NamedKey.parse(key.credentials[0])))


@pytest.mark.parametrize(
    "name",
    [
        b"",
        b"7 BP-1",
        b"7 BP-1 AAAA more",
        b"-7 BP-1 AAAA",
        b"2147483648 BP-1 AAAA",
        b"\xb2 BP-1 AAAA",
        b"seven BP-1 AAAA",
        b"7 BP-\xff AAAA",
        b"7 BP-1 A*AA",
        b"7 BP-1 AAA",
        b"7 " + b"B" * 2000 + b" AAAA",
    ],
)
def test_what_is_no_name_of_a_key_is_refused(name: bytes) -> None:
    with pytest.raises(errors.AuthenticationFailed, match="whose name"):
        NamedKey.parse(name)


@given(st.binary(max_size=64) | st.lists(st.binary(max_size=20), max_size=4).map(b" ".join))
def test_whatever_is_sent_for_a_name_is_taken_or_refused(name: bytes) -> None:
    try:
        named = NamedKey.parse(name)
    except errors.AuthenticationFailed:
        return
    assert named.key_id >= 0
