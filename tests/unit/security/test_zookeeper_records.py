"""Delegation tokens, keys and counters as they stand in ZooKeeper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.security import zookeeper_records as records
from howdah.security.stored_tokens import StoredToken

NAMES = st.text(max_size=20)
MS = st.integers(min_value=0, max_value=1 << 50)
NUMBERS = st.integers(min_value=0, max_value=(1 << 31) - 1)
IDENTIFIERS = st.builds(DelegationTokenIdentifier, NAMES, NAMES, NAMES, MS, MS, NUMBERS, NUMBERS)


@given(IDENTIFIERS, MS, st.binary(max_size=40))
def test_a_token_is_read_as_it_was_written(
    identifier: DelegationTokenIdentifier, until_ms: int, password: bytes
) -> None:
    token = StoredToken(identifier, until_ms)
    content = records.encode_token(token, password)
    assert records.decode_token(content) == token
    assert content.endswith(
        until_ms.to_bytes(8, "big") + len(password).to_bytes(4, "big") + password
    )
    for damaged in (content + b"x", content[:-1]):
        with pytest.raises(MalformedRecord):
            records.decode_token(damaged)


@given(st.binary(max_size=60))
def test_what_is_no_record_is_refused(content: bytes) -> None:
    for decode in (records.decode_token, records.decode_key, records.decode_counter):
        try:
            decode(content)
        except MalformedRecord:
            continue


@given(NUMBERS, MS, st.binary(max_size=40))
def test_a_key_is_read_as_it_was_written(key_id: int, expiry_ms: int, key: bytes) -> None:
    made = DelegationKey(key_id, expiry_ms, key)
    assert records.decode_key(made.encode()) == made
    with pytest.raises(MalformedRecord) as caught:
        records.decode_key(made.encode() + b"more")
    assert key.hex() == "" or key.hex() not in str(caught.value)


@given(NUMBERS)
def test_a_counter_is_four_bytes(value: int) -> None:
    assert records.encode_counter(value) == value.to_bytes(4, "big")
    assert records.decode_counter(records.encode_counter(value)) == value
    with pytest.raises(MalformedRecord):
        records.decode_counter(b"\0\0\0")
