"""What a namenode wants to know before it is secured, and what keeps it from starting."""

from __future__ import annotations

import getpass

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.server.monitoring.startup_http import Starting
from howdah.namenode.server.security import (
    check_namenode_protection,
    make_block_tokens,
    security_of,
)
from howdah.namenode.server.web_access import web_guard
from howdah.namenode.service.block_tokens import BlockTokens
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.protocol.sasl.principals import Principal
from howdah.security.server_checks import takes_simple
from howdah.security.server_login import ServerLogin
from howdah.security.server_methods import ServerIdentity
from howdah.security.settings import SecuritySettings
from howdah.testing.in_memory import InMemoryNamenode
from howdah.web.http import Admitted, Request, Response

SECURED = {
    "fs.defaultFS": "hdfs://nn.example.com:8020",
    "hadoop.security.authentication": "kerberos",
    "dfs.namenode.kerberos.principal": "nn/_HOST@EXAMPLE.COM",
    "dfs.namenode.keytab.file": "/nowhere/nn.keytab",
    "dfs.datanode.kerberos.principal": "dn/_HOST@EXAMPLE.COM",
    "dfs.block.access.token.enable": "true",
}


def test_all_that_a_secured_namenode_needs_is_enough() -> None:
    check_namenode_protection(Configuration(SECURED))
    protected = {
        **SECURED,
        "hadoop.rpc.protection": "privacy",
        "dfs.data.transfer.protection": "privacy",
        "hadoop.security.authorization": "true",
    }
    check_namenode_protection(Configuration(protected))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dfs.namenode.kerberos.principal": ""}, "dfs.namenode.kerberos.principal is not set"),
        ({"dfs.namenode.keytab.file": ""}, "dfs.namenode.keytab.file is not set"),
        ({"dfs.datanode.kerberos.principal": ""}, "dfs.datanode.kerberos.principal is not set"),
        ({"dfs.block.access.token.enable": "false"}, "block access tokens .* aren't enabled"),
        (
            {
                "dfs.encrypt.data.transfer": "true",
                "dfs.encrypt.data.transfer.cipher.key.bitlength": "129",
            },
            "key.bitlength = 129",
        ),
        ({"hadoop.security.authentication": "token"}, "only 'simple' is supported"),
        (
            {"hadoop.security.sasl.mechanism": "SCRAM-SHA-256"},
            "sasl.mechanism = SCRAM-SHA-256 is not supported",
        ),
        (
            {"hadoop.security.saslproperties.resolver.class": "com.example.Resolver"},
            "resolver.class = com.example.Resolver .*is not supported",
        ),
        ({"hadoop.security.group.mapping": "LdapGroupsMapping"}, "is not supported"),
        ({"hadoop.http.authentication.type": "ldap"}, "type = ldap .* is not supported"),
        (
            {"hadoop.http.filter.initializers": "org.example.OurOwnFilter"},
            "OurOwnFilter .* is not supported",
        ),
    ],
)
def test_what_would_leave_a_door_open_stops_the_start(changes: dict[str, str], words: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=words):
        check_namenode_protection(Configuration({**SECURED, **changes}))


@pytest.mark.parametrize(
    "key",
    [
        "dfs.web.authentication.kerberos.principal",
        "dfs.namenode.kerberos.internal.spnego.principal",
        "hadoop.http.authentication.kerberos.principal",
    ],
)
def test_namenodes_that_send_each_other_images_need_a_principal_for_that(key: str) -> None:
    shared = {**SECURED, "dfs.nameservice.id": "ns", "dfs.nameservices": "ns"}
    check_namenode_protection(Configuration({**shared, "dfs.ha.namenodes.ns": "a"}))
    shared["dfs.ha.namenodes.ns"] = "a,b"
    with pytest.raises(
        errors.InvalidConfiguration,
        match=r"dfs\.web\.authentication\.kerberos\.principal is not set, .* send its images",
    ):
        check_namenode_protection(Configuration(shared))
    check_namenode_protection(Configuration({**shared, key: "HTTP/_HOST@EXAMPLE.COM"}))


@pytest.mark.parametrize("key", ["hadoop.rpc.protection", "dfs.data.transfer.protection"])
def test_without_kerberos_protection_is_still_refused(key: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=f"{key} = privacy"):
        check_namenode_protection(Configuration({key: "privacy"}))


def test_a_log_on_journal_nodes_whom_nobody_knows_stops_the_start() -> None:
    """Who they are has to be known before their first answer."""
    with pytest.raises(errors.InvalidConfiguration, match=r"journalnode\.kerberos\.principal is"):
        QuorumSettings.of(Configuration(SECURED), None)


def test_who_calls_journal_nodes_has_logged_in_before() -> None:
    """Once a process: there is no keytab here."""
    journals = {"dfs.journalnode.kerberos.principal": "jn/_HOST@EXAMPLE.COM"}
    conf = Configuration({**SECURED, **journals})
    assert QuorumSettings.of(conf, "the namenode's user").user == "the namenode's user"


def test_a_keytab_that_is_not_there_stops_the_start() -> None:
    with pytest.raises(errors.LoginFailed, match=r"/nowhere/nn\.keytab cannot be read"):
        security_of(Configuration(SECURED))


@pytest.mark.parametrize("principal", ["nn@EXAMPLE.COM", "nn/_HOST"])
def test_a_principal_without_host_or_realm_is_refused(principal: str) -> None:
    conf = Configuration({**SECURED, "dfs.namenode.kerberos.principal": principal})
    with pytest.raises(errors.InvalidConfiguration, match="names no host or no realm"):
        security_of(conf)


def changing(user: str) -> ServerLogin:
    return ServerLogin(
        SecuritySettings(),
        ServerIdentity(Principal("nn", "host", "EXAMPLE.COM"), "/nowhere"),
        *("EXAMPLE.COM", user, user),
        SameForAll(()),
        takes_simple=True,
    )


def test_during_a_change_the_superuser_is_the_same_on_both_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A namenode without Kerberos obeys the user of its own process."""
    conf = Configuration({**SECURED, "howdah.security.transition": "true"})
    monkeypatch.setattr(
        "howdah.namenode.server.security.log_in_namenode", lambda conf: changing("somebody")
    )
    me = getpass.getuser()
    with pytest.raises(errors.InvalidConfiguration, match="makes somebody of nn/host") as caught:
        security_of(conf)
    assert f"RULE:[2:$1@$0](nn@EXAMPLE.COM)s/.*/{me}/" in caught.value.message
    monkeypatch.setattr(
        "howdah.namenode.server.security.log_in_namenode", lambda conf: changing(me)
    )
    security = security_of(conf)
    assert (security.superuser, security.takes_simple) == (me, True)
    methods = security.lifeline_methods
    assert methods is not None
    assert [offer.method for offer in methods.offers] == ["KERBEROS", "SIMPLE"]


def test_who_proves_nothing_is_believed_by_the_key_alone_and_with_kerberos_alone() -> None:
    key = "howdah.security.transition"
    assert not takes_simple(Configuration(SECURED))
    assert not takes_simple(Configuration({**SECURED, key: "false"}))
    assert not takes_simple(Configuration({key: "true"}))
    assert takes_simple(Configuration({**SECURED, key: "true"}))


def test_without_kerberos_the_superuser_is_who_runs_the_namenode() -> None:
    security = security_of(Configuration())
    assert (security.superuser, security.identity) == (getpass.getuser(), None)
    assert security.lifeline_methods is None


@pytest.mark.parametrize("path", ["/", "/jmx", "/webhdfs/v1/?op=LISTSTATUS", "/imagetransfer"])
def test_without_a_principal_for_it_a_secured_namenode_answers_nothing_over_http(
    path: str,
) -> None:
    login = ServerLogin(
        SecuritySettings(),
        ServerIdentity(Principal("nn", "host", "EXAMPLE.COM"), "/nowhere"),
        *("EXAMPLE.COM", "hdfs", "hdfs"),
        SameForAll(()),
    )
    guard = web_guard(Configuration(SECURED), login)
    assert Starting(Configuration(SECURED), guard).http.guard is guard
    refused = guard.admit(Request("GET", path))
    assert isinstance(refused, Response)
    assert refused.status == 403
    assert b"dfs.web.authentication.kerberos.principal is not set" in refused.body
    assert guard.admit(Request("GET", "/health")) == Admitted(Request("GET", "/health"))


def test_namenodes_that_share_a_log_tell_their_keys_apart() -> None:
    conf = {
        "dfs.block.access.token.enable": "true",
        "dfs.nameservices": "ns",
        "dfs.ha.namenodes.ns": "a,b,c",
    }
    namesystem = InMemoryNamenode().namesystem
    firsts = []
    for own in "abc":
        others = {"a", "b", "c"} - {own}
        tokens = make_block_tokens(Configuration(conf), namesystem, others)
        assert isinstance(tokens, BlockTokens)
        firsts.append(tokens.exported().currentKey.keyId // ((1 << 31) // 3))
    assert firsts == [0, 1, 2]
    assert make_block_tokens(Configuration(), namesystem, ()) is None
