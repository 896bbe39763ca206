"""Who may ask a secured cluster for what: each cell of docs/who-may.md, asked."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator

import pytest

from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.rpc import protocol_info
from howdah.runtime.users.service_policy import SERVICES
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import Kdc
from tests.support.security.secured_quorum import SecuredQuorum
from tests.support.security.servers import free_port
from tests.support.security.who_may.askers import Asker
from tests.support.security.who_may.asking import Askers
from tests.support.security.who_may.calls import (
    ALLOWED,
    ANSWERED,
    REFUSALS,
    ROWS,
    RpcRow,
    Rule,
    expected,
)
from tests.support.security.who_may.requests import DIRECTORY, POOL

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

HDFS = "org.apache.hadoop.hdfs."
PORTS = list(dict.fromkeys(row.port for row in ROWS))
TOKEN_LIFE_S = 8
ENDING = ("shutdownDatanode",)
"""Calls after which a server is no more."""


@pytest.fixture(scope="module")
def lifeline_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def cluster(
    kdc: Kdc, lifeline_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredQuorum]:
    """Two namenodes, a journal node, a datanode and controllers, and something of the owner's."""
    conf = {
        "dfs.namenode.lifeline.rpc-address.ns.nn1": f"localhost:{lifeline_port}",
        "dfs.namenode.delegation.token.renew-interval": str(TOKEN_LIFE_S * 1000),
        "dfs.storage.policy.satisfier.mode": "external",
    }
    directory = tmp_path_factory.mktemp("who-may")
    with kdc.in_environment():
        cluster = SecuredQuorum(directory, "", kdc, conf, journal_nodes=1, has_controllers=True)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def askers(kdc: Kdc, cluster: SecuredQuorum, lifeline_port: int) -> Iterator[Askers]:
    with kdc.in_environment():
        owner = cluster.connect("alice")
        expired, issued_s = issued(owner), time.monotonic()
        owner.mkdirs(DIRECTORY)
        owner.set_permission(DIRECTORY, 0o700)
        with cluster.connect("hdfs") as fs:
            fs.add_cache_pool(POOL, owner="alice", mode=0o700)
        ports = cluster.ports
        addresses = {
            "namenode": ("localhost", ports["nn1"]["rpc"]),
            "lifeline": ("localhost", lifeline_port),
            "datanode": ("localhost", datanode_port(cluster)),
            "journalnode": ("localhost", ports["jn1"]["rpc"]),
            "controller": ("localhost", ports["nn1"]["zkfc"]),
            # Whoever may has the standby stay what it is.
            "transitionToStandby": ("localhost", ports["nn2"]["rpc"]),
            "cedeActive": ("localhost", ports["nn2"]["zkfc"]),
        }
        conf = cluster.client_conf()
        made = Askers(kdc, conf, addresses, lambda: issued(owner), expired, pool_of(cluster))
        wait_until(lambda: time.monotonic() > issued_s + TOKEN_LIFE_S, 2 * TOKEN_LIFE_S)
    yield made
    made.close()
    owner.close()


def pool_of(cluster: SecuredQuorum) -> str:
    """The block pool, by the file that a namenode keeps of it."""
    version = (cluster.directory / "nn1" / "current" / "VERSION").read_text()
    found = re.search(r"^blockpoolID=(.+)$", version, re.M)
    assert found is not None
    return found[1]


def issued(owner: HdfsFileSystem) -> Token:
    token = owner.get_delegation_token("alice")
    assert token is not None
    return token


def datanode_port(cluster: SecuredQuorum) -> int:
    with cluster.connect("hdfs") as fs:
        (node,) = fs.datanode_report("live")
    return node.ipc_port


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_call_is_answered_to_whom_the_table_says(askers: Askers, row: RpcRow) -> None:
    # Those whom it obeys are heard in a test of their own.
    not_now = ALLOWED[row.rule] if row.method in ENDING else ()
    found = {who: askers.ask(row, who) for who in Asker if who not in not_now}
    wrong = {
        who.name: (answer, wanted)
        for who, answer in found.items()
        if (wanted := expected(row, who)) != answer and (wanted != ANSWERED or answer in REFUSALS)
    }
    assert not wrong, "; ".join(f"{n}: {a}, not {w}" for n, (a, w) in wrong.items())


SPEAKERS = {
    f"{HDFS}server.protocol.DatanodeProtocol": Asker.DATANODE,
    f"{HDFS}server.protocol.DatanodeLifelineProtocol": Asker.DATANODE,
    f"{HDFS}server.protocol.InterDatanodeProtocol": Asker.DATANODE,
    f"{HDFS}qjournal.protocol.InterQJournalProtocol": Asker.JOURNALNODE,
}
"""Of protocols that namenodes do not speak."""


@pytest.mark.parametrize("port", PORTS)
def test_a_port_speaks_the_protocols_of_the_table_and_no_other(askers: Askers, port: str) -> None:
    """What has no access lists is spoken by nobody where there are any."""
    spoken = {
        protocol
        for protocol in SERVICES
        if askers.speaks(port, protocol, SPEAKERS.get(protocol, Asker.NAMENODE))
    }
    told = {row.protocol for row in ROWS if row.port == port} - {protocol_info.PROTOCOL}
    assert spoken == told


@pytest.mark.parametrize("who", [Asker.ADMINISTRATOR, Asker.NAMENODE])
def test_a_datanode_ends_where_whoever_may_says_so(
    cluster: SecuredQuorum, askers: Askers, who: Asker
) -> None:
    """The last test here: the datanode is another one afterwards."""
    (row,) = [row for row in ROWS if row.method == "shutdownDatanode"]
    assert row.rule is Rule.OPERATOR
    assert askers.ask(row, who) == ANSWERED
    cluster.restart_ended("dn1")
    wait_until(lambda: datanode_is_back(cluster), 60)
    askers.moved("datanode", ("localhost", datanode_port(cluster)))


def datanode_is_back(cluster: SecuredQuorum) -> bool:
    """Whether a namenode knows the port of the datanode that was started last."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", datanode_port(cluster))) == 0
