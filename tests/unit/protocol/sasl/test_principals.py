"""Principals: the configuration says whom to expect, and the offer has to match it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.sasl.keytab import principals_in
from howdah.protocol.sasl.principals import Principal, ServerPrincipals, matches

HOSTS = ["nn1.example.com", "nn1"]
KEY = "dfs.namenode.kerberos.principal"


def accept(principal: str, offer: str, pattern: str = "") -> str:
    protocol, _, host = offer.partition("/")
    return str(ServerPrincipals(KEY, principal, pattern).accept(protocol, host, HOSTS, "nn1:8020"))


def test_the_host_stands_for_the_names_of_the_server() -> None:
    assert accept("nn/_HOST@R.COM", "nn/nn1.example.com") == "nn/nn1.example.com@R.COM"
    assert accept("nn/_HOST@R.COM", "nn/nn1") == "nn/nn1@R.COM"
    assert accept("nn/_HOST", "nn/nn1") == "nn/nn1"


@pytest.mark.parametrize(
    ("principal", "offer"),
    [
        ("nn/_HOST@R.COM", "nn/evil.example.com"),
        ("nn/_HOST@R.COM", "dn/nn1.example.com"),
        ("nn/other@R.COM", "nn/nn1.example.com"),
    ],
)
def test_an_offer_of_another_service_is_refused(principal: str, offer: str) -> None:
    with pytest.raises(errors.AuthenticationFailed) as caught:
        accept(principal, offer)
    assert offer in str(caught.value)
    assert f"({KEY} = {principal})" in str(caught.value)


def test_without_a_configured_principal_nobody_is_believed() -> None:
    with pytest.raises(errors.AuthenticationFailed, match=f"{KEY} is not set"):
        accept("", "nn/nn1")


def test_a_principal_without_a_host_is_refused() -> None:
    with pytest.raises(errors.AuthenticationFailed, match="has no host"):
        accept("nn@R.COM", "nn/nn1")


def test_a_pattern_takes_the_place_of_the_principal() -> None:
    assert accept("nn/_HOST@R.COM", "hdfs/any.host", "hdfs/*@R.COM") == "hdfs/any.host@R.COM"
    assert accept("", "hdfs/any.host", "*") == "hdfs/any.host"
    assert accept("", "hdfs/any.host", "hdfs/*@*") == "hdfs/any.host"
    with pytest.raises(errors.AuthenticationFailed, match="does not match"):
        accept("", "dn/any.host", "hdfs/*@R.COM")


@pytest.mark.parametrize("offer", ["/nn1", "nn/", "nn/a/b", "nn/a@R", "n\nn/a", "nn@R/a"])
def test_what_is_no_principal_is_refused(offer: str) -> None:
    protocol, _, host = offer.partition("/")
    with pytest.raises(errors.AuthenticationFailed):
        ServerPrincipals(KEY, "", "*").accept(protocol, host, HOSTS, "nn1:8020")


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("nn/*", "nn/a.b", True),
        ("nn/?", "nn/ab", False),
        ("{nn,hdfs}/*", "hdfs/a", True),
        ("{nn,hdfs}/*", "dn/a", False),
        ("nn/[a-c]*", "nn/bx", True),
        ("nn/[^a-c]*", "nn/bx", False),
        ("nn/\\*", "nn/*", True),
        ("nn/\\*", "nn/a", False),
        ("a.b", "axb", False),
    ],
)
def test_patterns_are_globs(pattern: str, name: str, fits: bool) -> None:
    assert matches(pattern, name) is fits


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_pattern_fails_in_another_way(pattern: str, name: str) -> None:
    try:
        matches(pattern, name)
    except errors.InvalidConfiguration:
        pass


def test_principals_are_parsed() -> None:
    assert Principal.parse("nn/h@R") == Principal("nn", "h", "R")
    assert Principal.parse("alice@R") == Principal("alice", "", "R")
    assert Principal.parse("alice") == Principal("alice")


KEYTAB = bytes.fromhex(
    "0502"
    "00000030" "0001" "0001" "52" "0005" "616c696365"
    "00000001" "00000000" "01" "0012" "0010" "00112233445566778899aabbccddeeff" "00000000"
)  # fmt: skip


def test_the_principals_of_a_keytab_are_found() -> None:
    size = len(KEYTAB) - 6
    data = KEYTAB[:2] + size.to_bytes(4, "big") + KEYTAB[6:]
    assert principals_in(data) == ("alice@R",)
    hole = (-4 & 0xFFFFFFFF).to_bytes(4, "big") + b"hole"
    assert principals_in(data[:2] + hole + data[2:] + data[2:]) == ("alice@R",)


@given(st.binary(max_size=60))
def test_no_keytab_fails_in_another_way(data: bytes) -> None:
    try:
        principals_in(b"\x05\x02" + data)
    except errors.LoginFailed:
        pass
