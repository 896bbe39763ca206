"""What a server makes of what its clients have proven."""

from __future__ import annotations

import base64
import socket
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.tokens.identifiers import BlockTokenIdentifier, DelegationTokenIdentifier
from howdah.protocol.rpc.negotiation import Offer
from howdah.protocol.rpc.proven import KERBEROS, SIMPLE, TOKEN, Proven
from howdah.protocol.sasl.auth_to_local import Rule, short_name
from howdah.protocol.sasl.mechanism import Layer
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.protocol.sasl.principals import Principal
from howdah.protocol.sasl.protection import Protection
from howdah.security.hosts import KnownHosts, canonical_host
from howdah.security.server_methods import (
    IssuedTokens,
    MethodsAtDatanode,
    MethodsAtServer,
    ServerIdentity,
)
from howdah.security.strangers import Strangers

BY_TOKEN = Offer(TOKEN, "DIGEST-MD5", "", "default")


class Believing(IssuedTokens):
    """Has issued whatever is shown."""

    def password_of(self, identifier: bytes) -> bytes:
        return b"password"


class Shown:
    """A mechanism by which somebody has shown a token."""

    is_complete = True
    protection = Protection.AUTHENTICATION
    layer: Layer | None = None

    def __init__(self, client: str) -> None:
        self.client = client

    def evaluate(self, response: bytes) -> bytes | None:
        raise NotImplementedError


METHODS = MethodsAtServer(
    ServerIdentity(Principal("nn", "h", "EXAMPLE.COM"), "/nowhere"),
    SameForAll(tuple(Protection)),
    lambda principal: short_name(principal, (Rule(),), "EXAMPLE.COM", "hadoop"),
    Believing(),
)


def shown(identifier: bytes) -> Proven:
    return METHODS.proven(BY_TOKEN, Shown(base64.b64encode(identifier).decode()))


def test_a_token_is_of_its_owner_and_says_who_acts_for_him() -> None:
    own = DelegationTokenIdentifier("alice@EXAMPLE.COM", "rm", "", 1, 2, 3, 4)
    assert shown(own.encode()) == Proven(TOKEN, "alice", "alice@EXAMPLE.COM")
    for_bob = DelegationTokenIdentifier("bob", "rm", "oozie/h@EXAMPLE.COM", 1, 2, 3, 4)
    real = "oozie/h@EXAMPLE.COM"
    assert shown(for_bob.encode()) == Proven(TOKEN, "bob", "bob", "oozie", real)


@pytest.mark.parametrize(
    "identifier",
    [
        b"",
        b"\0",
        b"\1" + bytes(20),
        b"\0\x05alice",
        DelegationTokenIdentifier("alice", "", "", 1, 2, 3, 4).encode() + b"\0",
        b"\0\x02\xff\xfe" + bytes(6),
    ],
)
def test_what_is_no_identifier_proves_nobody(identifier: bytes) -> None:
    with pytest.raises(errors.InvalidToken, match="no identifier of a token"):
        shown(identifier)


@pytest.mark.parametrize("name", ["", "é", "=", "AAA"])
def test_a_name_that_is_no_base64_proves_nobody(name: str) -> None:
    with pytest.raises(errors.InvalidToken):
        METHODS.proven(BY_TOKEN, Shown(name))


@given(st.binary(max_size=80))
def test_any_identifier_is_refused_in_words_or_of_somebody(identifier: bytes) -> None:
    with suppress(errors.HowdahError):
        assert shown(identifier).user


AT_DATANODE = MethodsAtDatanode(
    None, SameForAll(tuple(Protection)), lambda principal: principal, Believing()
)


def test_a_block_token_is_of_whom_it_names_and_goes_along() -> None:
    token = BlockTokenIdentifier(1, 2, "alice", "BP", 3, ("READ",)).encode()
    proven = AT_DATANODE.proven(BY_TOKEN, Shown(base64.b64encode(token).decode()))
    assert proven == Proven(TOKEN, "alice", "alice", identifier=token)
    assert repr(token) not in repr(proven)


@given(st.binary(max_size=80))
def test_any_block_token_is_refused_in_words_or_of_somebody(identifier: bytes) -> None:
    with suppress(errors.HowdahError):
        proven = AT_DATANODE.proven(BY_TOKEN, Shown(base64.b64encode(identifier).decode()))
        assert proven.method == TOKEN


# -- who may speak a protocol ------------------------------------------------------


DATANODES = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"


def of_datanodes(required: str) -> MethodsAtServer:
    hosts = KnownHosts({"10.0.0.5": "dn5.example.com", "10.0.0.6": "*"}.__getitem__, lambda: 0.0)
    for address in ("10.0.0.5", "10.0.0.6"):
        hosts.look_up(address)
    return replace(METHODS, required={DATANODES: required}, hosts=hosts)


def test_a_datanode_comes_from_the_host_of_its_principal() -> None:
    methods = of_datanodes("dn/_HOST@EXAMPLE.COM")
    own = Proven(KERBEROS, "dn", "dn/dn5.example.com@EXAMPLE.COM")
    methods.admit(own, DATANODES, "10.0.0.5")
    methods.admit(own, "another.Protocol", "10.0.0.9")
    for address in ("10.0.0.6", "10.0.0.9"):
        with pytest.raises(errors.AuthorizationFailed, match="only accessible by dn/"):
            methods.admit(own, DATANODES, address)


@pytest.mark.parametrize(
    "proven",
    [
        Proven(KERBEROS, "dn", "dn/dn6.example.com@EXAMPLE.COM"),
        Proven(KERBEROS, "dn", "dn/dn5.example.com@OTHER.ORG"),
        Proven(KERBEROS, "nn", "nn/dn5.example.com@EXAMPLE.COM"),
        Proven(KERBEROS, "dn", "dn@EXAMPLE.COM"),
        Proven(TOKEN, "dn", "dn/dn5.example.com@EXAMPLE.COM"),
    ],
)
def test_nobody_else_speaks_the_protocol_of_datanodes(proven: Proven) -> None:
    with pytest.raises(errors.AuthorizationFailed):
        of_datanodes("dn/_HOST@EXAMPLE.COM").admit(proven, DATANODES, "10.0.0.5")


def test_a_pattern_may_name_all_datanodes() -> None:
    methods = of_datanodes("dn/*@EXAMPLE.COM")
    methods.admit(Proven(KERBEROS, "dn", "dn/far@EXAMPLE.COM"), DATANODES, "10.0.0.9")
    with pytest.raises(errors.AuthorizationFailed):
        methods.admit(Proven(KERBEROS, "nn", "nn/far@EXAMPLE.COM"), DATANODES, "10.0.0.9")


@pytest.mark.parametrize(
    ("principal", "looked_up"),
    [
        ("dn/dn5.example.com@EXAMPLE.COM", ["10.0.0.5"]),
        ("dn/elsewhere@EXAMPLE.COM", ["10.0.0.5"]),
        ("hive/h@EXAMPLE.COM", []),
        ("dn/dn5.example.com@OTHER", []),
        ("alice@EXAMPLE.COM", []),
        ("a/b/c@EXAMPLE.COM", []),
    ],
)
def test_name_servers_are_asked_about_those_whose_host_counts_alone(
    principal: str, looked_up: list[str]
) -> None:
    """Where they hang, four services would keep all others from showing a ticket."""
    asked: list[str] = []

    def look_up(address: str) -> str:
        asked.append(address)
        return "dn5.example.com"

    methods = replace(
        METHODS,
        required={DATANODES: "dn/_HOST@EXAMPLE.COM", "another": "jn/h@EXAMPLE.COM"},
        hosts=KnownHosts(look_up, lambda: 0.0),
    )
    methods.established(principal, "10.0.0.5")
    assert asked == looked_up


def test_names_of_hosts_are_looked_up_anew_after_a_while() -> None:
    asked: list[str] = []
    now_s = [0.0]

    def look_up(address: str) -> str:
        asked.append(address)
        return f"host{len(asked)}"

    hosts = KnownHosts(look_up, lambda: now_s[0])
    assert hosts.known("10.0.0.1") == "10.0.0.1"
    assert [hosts.look_up("10.0.0.1"), hosts.look_up("10.0.0.1")] == ["host1", "host1"]
    now_s[0] = 301
    assert hosts.look_up("10.0.0.1") == "host2"
    assert hosts.known("10.0.0.1") == "host2"


def test_a_name_server_that_is_away_keeps_nobody_out_for_long() -> None:
    names = {"10.0.0.1": "nn.example.com"}
    now_s = [0.0]
    hosts = KnownHosts(lambda address: names.get(address, address), lambda: now_s[0])
    assert hosts.look_up("10.0.0.1") == "nn.example.com"
    assert hosts.look_up("10.0.0.2") == "10.0.0.2"
    names = {"10.0.0.2": "jn.example.com"}
    now_s[0] = 6
    assert hosts.look_up("10.0.0.2") == "jn.example.com", "it is asked for again at once"
    for now_s[0] in (301, 599):
        assert hosts.look_up("10.0.0.1") == "nn.example.com", "nobody says otherwise"
    now_s[0] = 610
    assert hosts.look_up("10.0.0.1") == "10.0.0.1"


def test_a_host_is_called_what_leads_back_to_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getnameinfo", lambda address, flags: ("DN5.Example.COM", "0"))
    where = {"DN5.Example.COM": "10.0.0.5"}
    monkeypatch.setattr(socket, "getaddrinfo", lambda name, port: [(2, 1, 6, "", (where[name], 0))])
    assert canonical_host("10.0.0.5") == "dn5.example.com"
    assert canonical_host("10.0.0.66") == "10.0.0.66", "it says that it is another host"

    def unknown(address: object, flags: object) -> object:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getnameinfo", unknown)
    assert canonical_host("10.0.0.5") == "10.0.0.5"


# -- while a cluster changes over --------------------------------------------------


def test_nobody_is_believed_without_a_proof_unless_it_is_said() -> None:
    assert [offer.method for offer in METHODS.offers] == [TOKEN, KERBEROS]
    assert [offer.method for offer in replace(METHODS, tokens=None).offers] == [KERBEROS]
    assert [offer.method for offer in AT_DATANODE.offers] == [TOKEN, SIMPLE]


def test_during_a_change_what_proves_more_is_offered_first() -> None:
    both = replace(METHODS, takes_simple=True)
    assert [offer.method for offer in both.offers] == [TOKEN, KERBEROS, SIMPLE]
    assert both.offers[-1] == Offer(SIMPLE, ""), "as Hadoop's clients know it"


def test_during_a_change_tickets_are_asked_for_what_they_always_were() -> None:
    both = replace(of_datanodes("dn/_HOST@EXAMPLE.COM"), takes_simple=True)
    both.admit(Proven(KERBEROS, "dn", "dn/dn5.example.com@EXAMPLE.COM"), DATANODES, "10.0.0.5")
    for stranger in (Proven(KERBEROS, "eve", "eve@EXAMPLE.COM"), Proven(TOKEN, "dn", "dn")):
        with pytest.raises(errors.AuthorizationFailed):
            both.admit(stranger, DATANODES, "10.0.0.5")


def test_who_is_believed_is_told_of_where_that_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Strangers()
    monkeypatch.setattr("howdah.security.server_methods.STRANGERS", seen)
    AT_DATANODE.believed("bob", "10.0.0.5")
    assert "Nobody came" in seen.reminder("datanode")
    replace(METHODS, takes_simple=True).believed("bob", "10.0.0.5")
    assert "bob from 10.0.0.5" in seen.reminder("namenode")
