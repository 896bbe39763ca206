"""What a datanode wants to know before it is secured, and what keeps it from starting."""

from __future__ import annotations

import getpass

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.security import guard_of
from howdah.datanode.settings import DataSettings, check_datanode_protection
from howdah.datanode.web_access import RULES, web_guard
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.protocol.sasl.principals import Principal
from howdah.security.server_login import ServerLogin
from howdah.security.server_methods import ServerIdentity
from howdah.security.settings import SecuritySettings
from howdah.web.access.rules import Rule
from howdah.web.http import Request, Response

SECURED = {
    "hadoop.security.authentication": "kerberos",
    "dfs.datanode.kerberos.principal": "dn/_HOST@EXAMPLE.COM",
    "dfs.datanode.keytab.file": "/nowhere/dn.keytab",
    "dfs.journalnode.kerberos.principal": "jn/_HOST@EXAMPLE.COM",
    "dfs.namenode.kerberos.principal": "nn/_HOST@EXAMPLE.COM",
    "dfs.block.access.token.enable": "true",
    "dfs.data.transfer.protection": "privacy",
    "dfs.http.policy": "HTTPS_ONLY",
    "hadoop.rpc.protection": "privacy",
}


def test_a_datanode_warns_where_keytabs_of_journal_nodes_are_the_superuser(
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = "dfs.journalnode.kerberos.principal"
    check_datanode_protection(Configuration(SECURED))
    assert key not in caplog.text
    check_datanode_protection(Configuration({**SECURED, key: ""}))
    assert f"{key} is not set" in caplog.text


def test_all_that_a_secured_datanode_needs_is_enough() -> None:
    check_datanode_protection(Configuration(SECURED))
    assert DataSettings.of(Configuration(SECURED)).guard is None, "its process makes one"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dfs.datanode.kerberos.principal": ""}, "dfs.datanode.kerberos.principal is not set"),
        ({"dfs.datanode.keytab.file": ""}, "dfs.datanode.keytab.file is not set"),
        ({"dfs.namenode.kerberos.principal": ""}, "dfs.namenode.kerberos.principal is not set"),
        ({"dfs.block.access.token.enable": "false"}, "block access tokens .* aren't enabled"),
        ({"dfs.data.transfer.protection": ""}, "config: set dfs.data.transfer.protection, or have"),
        (
            {"dfs.http.policy": "HTTP_AND_HTTPS"},
            "config: set dfs.http.policy = HTTPS_ONLY, or",
        ),
        (
            {"dfs.data.transfer.protection": "", "dfs.http.policy": "HTTP_ONLY"},
            "dfs.datanode.address end in a port below 1024; and .*http.address end in a port below",
        ),
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
    ],
)
def test_what_would_leave_a_door_open_stops_the_start(changes: dict[str, str], words: str) -> None:
    conf = Configuration({**SECURED, **changes})
    with pytest.raises(errors.InvalidConfiguration, match=words):
        guard_of(conf)
    with pytest.raises(errors.InvalidConfiguration, match=words):
        DataSettings.of(conf)


PRIVILEGED = {
    "dfs.data.transfer.protection": "",
    "dfs.http.policy": "HTTP_ONLY",
    "dfs.datanode.address": "0.0.0.0:1004",
    "dfs.datanode.http.address": "0.0.0.0:1006",
}


@pytest.mark.parametrize(
    "changes",
    [
        {"dfs.http.policy": "HTTP_ONLY", "dfs.datanode.http.address": "0.0.0.0:1006"},
        {"dfs.data.transfer.protection": "", "dfs.datanode.address": "0.0.0.0:1004"},
        PRIVILEGED,
        {
            "dfs.data.transfer.protection": "",
            "dfs.http.policy": "HTTP_ONLY",
            "ignore.secure.ports.for.testing": "true",
        },
    ],
)
def test_ports_that_root_opened_prove_a_datanode_as_well(changes: dict[str, str]) -> None:
    check_datanode_protection(Configuration({**SECURED, **changes}))


def test_a_protection_that_a_privileged_port_leaves_out_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = {**SECURED, **PRIVILEGED, "dfs.data.transfer.protection": "privacy"}
    check_datanode_protection(Configuration(plain))
    assert "data are not protected as dfs.data.transfer.protection = privacy says" in caplog.text
    caplog.clear()
    check_datanode_protection(Configuration({**plain, "dfs.encrypt.data.transfer": "true"}))
    check_datanode_protection(Configuration(SECURED))
    assert not caplog.records


@pytest.mark.parametrize("name", ["dfs.datanode.address", "dfs.datanode.http.address"])
@pytest.mark.parametrize("port", ["1024", "0"])
def test_a_port_that_anybody_can_open_proves_nothing(name: str, port: str) -> None:
    conf = {**SECURED, **PRIVILEGED, name: f"0.0.0.0:{port}"}
    with pytest.raises(errors.InvalidConfiguration, match=f"{name} end in a port below 1024"):
        check_datanode_protection(Configuration(conf))


def test_without_kerberos_protection_is_still_refused() -> None:
    key = "dfs.data.transfer.protection"
    with pytest.raises(errors.InvalidConfiguration, match=f"{key} = privacy"):
        guard_of(Configuration({key: "privacy"}))


@pytest.mark.parametrize("encrypts", ["true", "false"])
def test_without_kerberos_block_tokens_are_asked_for(encrypts: str) -> None:
    conf = {"dfs.block.access.token.enable": "true", "dfs.encrypt.data.transfer": encrypts}
    guard = guard_of(Configuration(conf))
    assert guard is not None
    assert (guard.user, guard.rpc_user, guard.web) == (getpass.getuser(), None, None)
    methods = guard.rpc_methods
    assert methods is not None
    assert [offer.method for offer in methods.offers] == ["TOKEN", "SIMPLE"], "as Hadoop offers"


def test_without_kerberos_there_is_no_guard() -> None:
    assert guard_of(Configuration()) is None


def test_a_keytab_that_is_not_there_stops_the_start() -> None:
    with pytest.raises(errors.LoginFailed, match=r"/nowhere/dn\.keytab cannot be read"):
        guard_of(Configuration(SECURED))


def test_over_http_a_datanode_has_a_rule_for_each_address() -> None:
    """Files are for tokens alone; without a principal for its web ports nothing is answered."""
    assert {path: RULES.of(path) for path in ("/", "/jmx", "/webhdfs/v1/a", "/logs", "/x")} == {
        "/": Rule.PAGE,
        "/jmx": Rule.FIGURES,
        "/webhdfs/v1/a": Rule.TOKEN,
        "/logs": Rule.ADMINISTRATOR,
        "/x": None,
    }
    login = ServerLogin(
        SecuritySettings(),
        ServerIdentity(Principal("dn", "host", "EXAMPLE.COM"), "/nowhere"),
        *("EXAMPLE.COM", "hdfs", "hdfs"),
        SameForAll(()),
    )
    refused = web_guard(Configuration(SECURED), login).admit(Request("GET", "/"))
    assert isinstance(refused, Response)
    assert refused.status == 403
