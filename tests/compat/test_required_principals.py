"""Protocols between servers are for the principals of these, with and without access lists
(`hadoop.security.authorization`). Hadoop's servers look at principals only with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.recovery import inter_datanode
from howdah.datanode.security import guard_of
from howdah.journalnode.security import security_of as security_of_journalnode
from howdah.namenode.server.security import security_of as security_of_namenode
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.protocol.rpc.proven import KERBEROS, Proven
from howdah.security.server_methods import MethodsAtServer
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_hadoop import datanode_settings, security_settings

pytestmark = pytest.mark.usefixtures("kerberos_environment")

HDFS = "org.apache.hadoop.hdfs."
ELECTION = "org.howdah.journalnode.ElectionProtocol"


def methods_of(server: str, conf: Configuration) -> ServerMethods:
    """How clients prove themselves at a server."""
    if server == "datanode":
        guard = guard_of(conf)
        assert guard is not None
        assert guard.rpc_methods is not None
        return guard.rpc_methods
    if server == "journalnode":
        journal = security_of_journalnode(conf)
        assert journal is not None
        return journal.methods
    namenode = security_of_namenode(conf)
    assert namenode.lifeline_methods is not None
    return namenode.lifeline_methods


@pytest.mark.parametrize("authorization", ["true", "false"])
@pytest.mark.parametrize(
    ("server", "protocol", "whose"),
    [
        ("namenode", f"{HDFS}server.protocol.DatanodeProtocol", "dn"),
        ("namenode", f"{HDFS}server.protocol.DatanodeLifelineProtocol", "dn"),
        ("datanode", inter_datanode.PROTOCOL, "dn"),
        ("journalnode", f"{HDFS}qjournal.protocol.QJournalProtocol", "nn"),
        ("journalnode", f"{HDFS}qjournal.protocol.InterQJournalProtocol", "jn"),
        ("journalnode", ELECTION, "nn"),
    ],
)
def test_a_protocol_between_servers_is_for_their_principals_alone(
    kdc: Kdc, tmp_path: Path, authorization: str, server: str, protocol: str, whose: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret of this test alone")
    secret.chmod(0o600)
    conf = {
        **datanode_settings(tmp_path),
        **security_settings(kdc, secret),
        "fs.defaultFS": "hdfs://localhost:8020",
        "dfs.namenode.rpc-address": "localhost:8020",
        "dfs.journalnode.rpc-address": "localhost:8485",
        "dfs.namenode.http-address": "localhost:0",
        "dfs.journalnode.http-address": "localhost:0",
        "dfs.journalnode.kerberos.principal": f"jn/_HOST@{REALM}",
        "dfs.journalnode.keytab.file": str(kdc.services_keytab),
        "dfs.journalnode.kerberos.internal.spnego.principal": f"HTTP/_HOST@{REALM}",
        "ignore.secure.ports.for.testing": "true",
        "hadoop.security.authorization": authorization,
    }
    methods = methods_of(server, Configuration(conf))
    assert isinstance(methods, MethodsAtServer)
    methods.hosts.look_up("127.0.0.1")  # As is done when a server comes with its ticket.
    for primary, user in (("nn", "hdfs"), ("dn", "hdfs"), ("jn", "hdfs"), ("alice", "alice")):
        full = f"{primary}@{REALM}" if user == primary else f"{primary}/localhost@{REALM}"
        proven = Proven(KERBEROS, user, full)
        if primary == whose:
            methods.admit(proven, protocol, "127.0.0.1")
            continue
        with pytest.raises(errors.AuthorizationFailed):
            methods.admit(proven, protocol, "127.0.0.1")
