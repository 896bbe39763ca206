"""Logins to a real ZooKeeper by Kerberos: whoever has a ticket of the right one uses what is there,
and nobody else does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.config.value_types import Address
from howdah.failover.zookeeper import ZooKeeperSettings
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper as NoZooKeeperHere
from howdah.protocol.sasl.principals import Principal
from howdah.protocol.zookeeper import Ensemble, NoZooKeeper, Session, parse_acls
from howdah.router.store.factory import store_at, store_place
from howdah.router.store.state_store import StateStore
from howdah.security.login import KerberosLogin, LoginSource
from howdah.security.zookeeper import ZooKeeperLogin
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_quorum import NAMESERVICE, SecuredQuorum
from tests.support.security.zookeeper import PRINCIPAL, sasl_zookeeper
from tests.support.zookeeper import zookeeper_server

pytest.importorskip("kazoo", reason="sessions with ZooKeeper need kazoo")
pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

TIMEOUT_S = 8.0


@pytest.fixture(scope="module")
def zookeeper(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    try:
        with sasl_zookeeper(tmp_path_factory.mktemp("zookeeper"), kdc) as address:
            yield address
    except (NoZooKeeperHere, NoJava) as error:
        pytest.skip(str(error))


def ensemble(address: Address, kdc: Kdc, who: str | None, server: str = PRINCIPAL) -> Ensemble:
    """As a principal uses it; None shows nothing."""
    mechanism = None
    if who is not None:
        keytab = kdc.services_keytab if "/" in who else kdc.keytab(who)
        login = KerberosLogin(LoginSource(str(keytab), f"{who}@{REALM}"))
        mechanism = ZooKeeperLogin(login, Principal.parse(server), "a.key", TIMEOUT_S)
    servers, acls = f"{address[0]}:{address[1]}", parse_acls("sasl:nn:rwcda", "acl")
    return Ensemble("a.quorum", servers, TIMEOUT_S, acls, (), 2, mechanism)


def test_what_a_ticket_has_made_is_for_that_principal_alone(zookeeper: Address, kdc: Kdc) -> None:
    with closing(Session(ensemble(zookeeper, kdc, "nn/localhost"))) as session:
        session.make_directory("/kept")
        assert session.create("/kept/znode", b"data")
        assert session.unprotected(["/kept", "/kept/znode"]) == {}
    for who in (None, "alice", "dn/localhost"):
        with closing(Session(ensemble(zookeeper, kdc, who))) as session:
            for refused in (
                lambda: session.read("/kept/znode"),
                lambda: session.create("/kept/other", b""),
                lambda: session.write("/kept/znode", b"", 0),
                lambda: session.remove("/kept/znode"),
                lambda: session.protect(["/kept"]),
            ):
                with pytest.raises(errors.ServiceFailed, match="NoAuth"):
                    refused()
    with closing(Session(ensemble(zookeeper, kdc, "nn/localhost"))) as session:
        found = session.read("/kept/znode")
        assert found is not None
        assert (found.content, found.version) == (b"data", 0)


def test_every_connection_of_a_session_is_proven(kdc: Kdc, tmp_path: Path) -> None:
    """The server goes down and comes back, and the session with it."""
    try:
        with sasl_zookeeper(tmp_path, kdc) as address:
            session = Session(ensemble(address, kdc, "nn/localhost"))
            session.make_directory("/kept")
    except (NoZooKeeperHere, NoJava) as error:
        pytest.skip(str(error))
    with closing(session), sasl_zookeeper(tmp_path, kdc, address):

        def is_back() -> bool:
            try:
                return session.read("/kept") is not None
            except NoZooKeeper:
                return False

        wait_until(is_back, 60)


def test_a_server_that_takes_no_logins_is_not_used(kdc: Kdc, tmp_path: Path) -> None:
    """It would go on with a client that has proven nothing."""
    try:
        with zookeeper_server(tmp_path) as address:
            with pytest.raises(errors.AuthenticationFailed, match="not set up for SASL"):
                Session(ensemble(address, kdc, "nn/localhost"))
    except (NoZooKeeperHere, NoJava) as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("server", "failure"),
    [
        # It is another server than the one that is expected.
        (f"jn/_HOST@{REALM}", errors.AuthenticationFailed),
        (f"nobody/_HOST@{REALM}", errors.LoginFailed),
    ],
)
def test_a_server_that_is_not_the_one_that_is_named_is_not_used(
    zookeeper: Address, kdc: Kdc, server: str, failure: type[errors.HowdahError]
) -> None:
    with pytest.raises(failure):
        Session(ensemble(zookeeper, kdc, "nn/localhost", server))


def test_routers_keep_their_state_by_their_tickets(zookeeper: Address, kdc: Kdc) -> None:
    conf = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.auth_to_local": "DEFAULT",
        "dfs.federation.router.rpc-address": "localhost:8888",
        "dfs.federation.router.keytab.file": str(kdc.services_keytab),
        "dfs.federation.router.kerberos.principal": f"router/_HOST@{REALM}",
        "dfs.federation.router.store.driver.class": "StateStoreZooKeeperImpl",
        "hadoop.zk.address": f"{zookeeper[0]}:{zookeeper[1]}",
        "hadoop.zk.acl": "sasl:router:rwcda",
        "hadoop.zk.server.principal": PRINCIPAL,
    }
    store = store_at(store_place(Configuration(conf)))
    StateStore.prepare_for_tokens(store)
    store.prepare()
    store.close()
    with closing(Session(ensemble(zookeeper, kdc, "nn/localhost"))) as stranger:
        place = "/hdfs-federation/DelegationKey"
        with pytest.raises(errors.ServiceFailed, match="NoAuth"):
            stranger.create(f"{place}/planted", b"")


@pytest.mark.torture
def test_controllers_elect_by_their_tickets(
    kdc: Kdc, zookeeper: Address, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    conf = {
        "ha.zookeeper.quorum": f"{zookeeper[0]}:{zookeeper[1]}",
        "ha.zookeeper.session-timeout.ms": "8000",
        "ha.zookeeper.acl": "sasl:nn:rwcda",
        "howdah.ha.zookeeper.server.principal": PRINCIPAL,
    }
    caplog.set_level(logging.WARNING)
    quorum = SecuredQuorum(tmp_path, "", kdc, conf, journal_nodes=1, has_controllers=True)
    try:
        assert quorum.kill_active() == "nn2"
        place = f"/hadoop-ha/{NAMESERVICE}"
        lock, crumb = f"{place}/ActiveStandbyElectorLock", f"{place}/ActiveBreadCrumb"
        plain = ZooKeeperSettings.of(
            Configuration({**quorum.conf, "howdah.ha.zookeeper.server.principal": ""}), NAMESERVICE
        ).ensemble
        strangers = (
            plain,
            ensemble(zookeeper, kdc, "alice"),
            ensemble(zookeeper, kdc, "jn/localhost"),
        )
        for stranger in strangers:
            with closing(Session(replace(stranger, tries=1))) as session:
                for path in (lock, crumb):
                    with pytest.raises(errors.ServiceFailed, match="NoAuth"):
                        session.read(path)
                    with pytest.raises(errors.ServiceFailed, match="NoAuth"):
                        session.remove(path)
        with closing(Session(ensemble(zookeeper, kdc, "nn/localhost"))) as session:
            assert session.read(lock) is not None
            assert session.unprotected([place, lock, crumb]) == {}
    finally:
        quorum.close()
