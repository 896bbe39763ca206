"""What the principals of datanodes and journal nodes are good for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.recovery import inter_datanode
from howdah.journalnode.protocol import INTER_QJOURNAL, QJOURNAL
from howdah.namenode.server import lifeline
from howdah.namenode.service.protocols import client
from howdah.namenode.service.protocols.datanodes.protocol import DatanodeProtocol
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.protocol.rpc import protocol_info
from howdah.protocol.rpc.proven import KERBEROS, TOKEN, Proven
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.security.confinement import OF_DATANODES, OF_JOURNAL_NODES, Confinement
from howdah.security.server_methods import MethodsAtServer

CONF = {
    "dfs.namenode.kerberos.principal": "nn/_HOST@R",
    "dfs.datanode.kerberos.principal": "dn/_HOST@R",
    "dfs.journalnode.kerberos.principal": "jn/_HOST@R",
}
DATANODE, JOURNAL_NODE = "dn/one.example@R", "jn/one.example@R"


def of(**conf: str) -> Confinement:
    return Confinement.from_configuration(
        Configuration({**CONF, **{f"dfs.{kind}.kerberos.principal": p for kind, p in conf.items()}})
    )


@pytest.mark.parametrize("kind", ["datanode", "journalnode"])
def test_a_principal_without_realm_is_refused_since_it_would_confine_nobody(kind: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=f"{kind}.* would confine nobody"):
        of(**{kind: "dn/_HOST"})


def test_the_protocols_of_servers_are_those_that_they_speak() -> None:
    own = {DatanodeProtocol.PROTOCOL, lifeline.PROTOCOL, inter_datanode.PROTOCOL}
    assert own | {protocol_info.PROTOCOL} == OF_DATANODES
    assert {INTER_QJOURNAL, protocol_info.PROTOCOL} == OF_JOURNAL_NODES


@pytest.mark.parametrize(
    ("principal", "protocols"), [(DATANODE, OF_DATANODES), (JOURNAL_NODE, OF_JOURNAL_NODES)]
)
def test_a_server_makes_the_calls_of_its_kind_alone(
    principal: str, protocols: frozenset[str]
) -> None:
    """Whatever its short name is: that is the superuser's in most clusters."""
    confinement = of()
    assert confinement.confines(principal)
    for protocol in protocols:
        confinement.check(principal, protocol)
    for protocol in {client.PROTOCOL, NamenodeProtocol.PROTOCOL, QJOURNAL} | (
        (OF_DATANODES | OF_JOURNAL_NODES) - protocols
    ):
        with pytest.raises(errors.AuthorizationFailed, match="principal of a server"):
            confinement.check(principal, protocol)


@pytest.mark.parametrize(
    "principal", ["nn/one.example@R", "hdfs@R", "dn@R", "dn/one.example@ELSEWHERE", "alice", ""]
)
def test_nobody_else_is_confined(principal: str) -> None:
    confinement = of()
    assert not confinement.confines(principal)
    confinement.check(principal, client.PROTOCOL)


@pytest.mark.parametrize(
    "kind", ["namenode", "secondary.namenode", "federation.router", "balancer", "mover"]
)
def test_a_principal_of_another_kind_as_well_is_free(kind: str) -> None:
    confinement = of(**{kind: "dn/_HOST@R"})
    confinement.check(DATANODE, client.PROTOCOL)
    assert confinement.confines(JOURNAL_NODE)


def test_one_principal_of_both_speaks_the_protocols_of_both() -> None:
    confinement = of(journalnode="dn/_HOST@R")
    confinement.check(DATANODE, INTER_QJOURNAL)
    confinement.check(DATANODE, DatanodeProtocol.PROTOCOL)
    with pytest.raises(errors.AuthorizationFailed):
        confinement.check(DATANODE, client.PROTOCOL)


def test_without_configuration_and_without_hosts_nobody_is_confined() -> None:
    assert not Confinement().confines(DATANODE)
    assert not of(datanode="dn@R").confines("dn@R")


def test_a_port_keeps_to_it_for_tickets_and_tokens() -> None:
    methods = MethodsAtServer(None, SameForAll(()), str, confinement=of())
    for method in (KERBEROS, TOKEN):
        proven = Proven(method, "hdfs", DATANODE)
        methods.admit(proven, DatanodeProtocol.PROTOCOL, "10.0.0.1")
        with pytest.raises(errors.AuthorizationFailed):
            methods.admit(proven, client.PROTOCOL, "10.0.0.1")
        replace(methods, confinement=Confinement()).admit(proven, client.PROTOCOL, "10.0.0.1")
