"""Which configurations have servers log in to ZooKeeper by Kerberos; what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.failover.zookeeper import ZooKeeperSettings
from howdah.router.store.factory import store_place

SECURED = {"hadoop.security.authentication": "kerberos"}
CONTROLLER = {
    "ha.zookeeper.quorum": "zk:2181",
    "ha.zookeeper.acl": "sasl:nn:rwcda",
    "howdah.ha.zookeeper.server.principal": "zookeeper/_HOST@EXAMPLE.COM",
}
ROUTER = {
    "dfs.federation.router.store.driver.class": "StateStoreZooKeeperImpl",
    "hadoop.zk.address": "zk:2181",
    "hadoop.zk.acl": "sasl:router:rwcda",
    "hadoop.zk.server.principal": "zookeeper/_HOST@EXAMPLE.COM",
}


def controller(values: Mapping[str, str]) -> None:
    ZooKeeperSettings.of(Configuration({**CONTROLLER, **values}), "east")


def router(values: Mapping[str, str]) -> None:
    store_place(Configuration({**ROUTER, **values}))


@pytest.mark.parametrize("read", [controller, router])
def test_a_login_without_kerberos_is_refused(read: Callable[[Mapping[str, str]], None]) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"hadoop\.security\.authentication"):
        read({})


@pytest.mark.parametrize(
    ("read", "changed", "words"),
    [
        (controller, {"howdah.ha.zookeeper.server.principal": "zookeeper"}, "has no host"),
        (controller, {"howdah.ha.zookeeper.server.principal": "/@"}, "not a Kerberos principal"),
        (controller, {"ha.zookeeper.acl": "auth:any:rwcda"}, "ha.zookeeper.acl has to say who may"),
        (router, {"hadoop.zk.server.principal": "zookeeper"}, "has no host"),
        (router, {"hadoop.zk.acl": "auth:any:rwcda"}, "hadoop.zk.acl has to say who may"),
    ],
)
def test_what_would_let_in_nobody_or_anybody_is_refused(
    read: Callable[[Mapping[str, str]], None], changed: dict[str, str], words: str
) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=words):
        read({**SECURED, **changed})


@pytest.mark.parametrize("read", [controller, router])
def test_a_server_without_a_keytab_does_not_log_in(
    read: Callable[[Mapping[str, str]], None],
) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="a server that is secured by Kerberos"):
        read({**SECURED, "fs.defaultFS": "hdfs://localhost:8020"})
