"""What keeps a router from starting with Kerberos, and what does not."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.router.security import check_router_protection

WHOLE = {
    "hadoop.security.authentication": "kerberos",
    "hadoop.rpc.protection": "privacy,authentication",
    "dfs.data.transfer.protection": "privacy",
    "dfs.block.access.token.enable": "true",
    "dfs.namenode.kerberos.principal": "nn/_HOST@R",
    "dfs.datanode.kerberos.principal": "dn/_HOST@R",
    "dfs.journalnode.kerberos.principal": "jn/_HOST@R",
    "dfs.federation.router.kerberos.principal": "router/_HOST@R",
    "dfs.federation.router.keytab.file": "/etc/router.keytab",
    "dfs.federation.router.store.driver.file.directory": "/var/lib/store",
}
ZOOKEEPER = {
    "dfs.federation.router.store.driver.class": "StateStoreZooKeeperImpl",
    "hadoop.zk.address": "zk:2181",
}


def test_a_router_that_has_all_may_start() -> None:
    check_router_protection(Configuration(WHOLE))
    closed = {"hadoop.zk.acl": "digest:routers:hash=:cdrwa"}
    check_router_protection(Configuration({**WHOLE, **ZOOKEEPER, **closed}))


@pytest.mark.parametrize(
    "missing",
    [
        "dfs.namenode.kerberos.principal",
        "dfs.datanode.kerberos.principal",
        "dfs.journalnode.kerberos.principal",
        "dfs.federation.router.kerberos.principal",
        "dfs.federation.router.keytab.file",
    ],
)
def test_what_is_missing_is_named(missing: str) -> None:
    values = {name: value for name, value in WHOLE.items() if name != missing}
    with pytest.raises(errors.InvalidConfiguration, match=f"{missing} is not set"):
        check_router_protection(Configuration(values))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {
                "dfs.federation.router.secret.manager.class": (
                    "org.apache.hadoop.hdfs.server.federation.router.security.token."
                    "SQLDelegationTokenSecretManagerImpl"
                )
            },
            "keeps delegation tokens in its state store",
        ),
        (ZOOKEEPER, "hadoop.zk.acl .* opens the state store to world:anyone"),
        ({"dfs.datanode.kerberos.principal": "dn/_HOST"}, "datanode.* names no realm"),
        ({"dfs.journalnode.kerberos.principal": "jn/_HOST"}, "journalnode.* names no realm"),
        ({"hadoop.security.saslproperties.resolver.class": "a.Resolver"}, "resolver"),
        ({"dfs.encrypt.data.transfer": "true"}, None),
    ],
)
def test_what_would_leave_a_door_open_is_refused(more: dict[str, str], words: str | None) -> None:
    conf = Configuration({**WHOLE, **more})
    if words is None:
        check_router_protection(conf)  # Data never goes through a router.
        return
    with pytest.raises(errors.InvalidConfiguration, match=words):
        check_router_protection(conf)


def test_a_router_before_several_nameservices_warns_of_encrypted_data(
    caplog: pytest.LogCaptureFixture,
) -> None:
    conf = Configuration({"dfs.nameservices": "east", "dfs.encrypt.data.transfer": "true"})
    check_router_protection(conf.with_values(WHOLE))
    assert "one encryption key" not in caplog.text
    check_router_protection(conf.with_values({**WHOLE, "dfs.nameservices": "east,west"}))
    assert "one encryption key" in caplog.text


def test_a_keytab_alone_asks_for_nothing() -> None:
    check_router_protection(Configuration({"dfs.federation.router.keytab.file": "/keytab"}))


def test_where_hadoops_routers_keep_their_tokens_is_said_to_count_for_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = "zk-dt-secret-manager.zkConnectionString"
    check_router_protection(Configuration({**WHOLE, key: "zk:2181"}))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [key]
