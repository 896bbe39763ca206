"""Tokens and their files, with bytes that Hadoop 3.5.0 wrote."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.credentials import PROTOBUF, WRITABLE, Credentials
from howdah.formats.tokens.identifiers import BlockTokenIdentifier, DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token

IDENTIFIER = bytes.fromhex("0005616c6963650468646673008a01a21fc89f9b8a01a243d5239b0308")
"""Of an edit that a namenode of Hadoop wrote: alice's token, which hdfs may renew."""


BLOCK_IDENTIFIER = bytes.fromhex(
    "8a01a227c676bb8c5d09bc2900000005616c6963650000002542502d313038333234383731322d3132372e302e30"
    "2e312d313739353932373438353833338c4000001b01045245414401044449534b010000002744532d3334353033"
    "6465662d303361342d343262362d393863312d613436623631666632333831"
)
"""Of a token that a namenode of Hadoop gave alice to read a block."""


def test_the_identifier_of_hadoops_block_token_is_read_and_written() -> None:
    identifier = BlockTokenIdentifier.decode(BLOCK_IDENTIFIER)
    assert identifier == BlockTokenIdentifier(
        1795963647675,
        1560919081,
        "alice",
        "BP-1083248712-127.0.0.1-1795927485833",
        1073741851,
        ("READ",),
        ("DISK",),
        ("DS-34503def-03a4-42b6-98c1-a46b61ff2381",),
    )
    assert identifier.encode() == BLOCK_IDENTIFIER


def test_hadoops_identifier_is_read_and_written() -> None:
    identifier = DelegationTokenIdentifier.decode(IDENTIFIER)
    assert identifier == DelegationTokenIdentifier(
        "alice", "hdfs", "", 1795829571483, 1796434371483, 3, 8
    )
    assert identifier.encode() == IDENTIFIER
    week_ms = 7 * 24 * 3600 * 1000
    assert identifier.max_date_ms - identifier.issue_date_ms == week_ms


@pytest.mark.parametrize("data", [b"", b"\1", IDENTIFIER[:-1], IDENTIFIER + b"\0"])
def test_what_is_no_identifier_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedRecord):
        DelegationTokenIdentifier.decode(data)


texts = st.text(st.sampled_from("az/é\0\U0001f600"), max_size=9)
tokens = st.builds(Token, st.binary(max_size=60), st.binary(max_size=30), texts, texts)


@settings(max_examples=30)
@given(
    st.dictionaries(texts, tokens, max_size=3),
    st.dictionaries(texts, st.binary(max_size=9), max_size=2),
)
def test_both_versions_of_a_file_come_back(
    known: dict[str, Token], secrets: dict[str, bytes]
) -> None:
    credentials = Credentials(known, secrets)
    for version in (WRITABLE, PROTOBUF):
        assert Credentials.decode(credentials.encode(version)) == credentials


@given(st.binary(max_size=80), st.sampled_from([b"", b"HDTS\0", b"HDTS\1", b"HDTS\2"]))
def test_no_file_fails_in_another_way(data: bytes, begin: bytes) -> None:
    try:
        Credentials.decode(begin + data)
    except MalformedRecord:
        pass


@settings(max_examples=30)
@given(tokens)
def test_a_token_is_text_for_urls(token: Token) -> None:
    text = token.url_string
    assert not set(text) & set("+/=")
    assert Token.from_url_string(text) == token
    assert Token.from_proto(token.to_proto()) == token


@pytest.mark.parametrize("text", ["", "x", "!!!!", "é", "AAAA", "////"])
def test_what_is_no_token_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(errors.IllegalArgument) as caught:
        Token.from_url_string(text + "s3cr3t")
    assert "s3cr3t" not in str(caught.value)


def test_a_representation_has_no_secret() -> None:
    password = b"0123456789"
    token = Token(IDENTIFIER, password, HDFS_DELEGATION, "127.0.0.1:8020")
    credentials = Credentials({"a": token}, {"b": password})
    for shown in (repr(token), str(token), repr(credentials)):
        assert "0123456789" not in shown
    assert str(token) == "Kind: HDFS_DELEGATION_TOKEN, Service: 127.0.0.1:8020"


MODES = st.lists(st.sampled_from(["READ", "WRITE", "COPY", "REPLACE"]), unique=True).map(tuple)
KINDS = st.lists(st.sampled_from(["DISK", "SSD", "ARCHIVE"])).map(tuple)


@given(
    st.builds(
        BlockTokenIdentifier,
        st.integers(1 << 40, 1 << 50),
        st.integers(-(1 << 31), (1 << 31) - 1),
        texts,
        texts,
        st.integers(-(1 << 63), (1 << 63) - 1),
        MODES,
        KINDS,
        st.lists(texts, max_size=3).map(tuple),
        st.binary(max_size=8),
    ),
    st.booleans(),
)
def test_both_forms_of_a_block_token_come_back(
    identifier: BlockTokenIdentifier, protobuf: bool
) -> None:
    assert BlockTokenIdentifier.decode(identifier.encode(protobuf=protobuf)) == identifier


@given(st.binary(max_size=60))
def test_no_block_token_fails_in_another_way(data: bytes) -> None:
    try:
        BlockTokenIdentifier.decode(data)
    except MalformedRecord:
        pass


def test_a_password_is_what_the_masters_key_makes_of_an_identifier() -> None:
    """What the namenode checks: nothing here depends on it, the tokens are kept as they are."""
    key = bytes.fromhex("e778ff38483e8eec")
    assert len(hmac.digest(key, IDENTIFIER, hashlib.sha1)) == 20
