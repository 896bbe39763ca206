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
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import WEBHDFS_DELEGATION, Token
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper as NoZooKeeperHere
from howdah.protocol.sasl.principals import Principal
from howdah.protocol.zookeeper import Ensemble, NoZooKeeper, Session, parse_acls
from howdah.router.store.factory import store_at, store_place
from howdah.router.store.state_store import StateStore
from howdah.security.login import KerberosLogin, LoginSource
from howdah.security.server_tokens import ServerTokens
from howdah.security.stored_tokens import TokenTimes
from howdah.security.zookeeper import ZooKeeperLogin
from howdah.security.zookeeper_tokens import TokenPlace, TokensInZooKeeper
from howdah.testing.waiting import wait_until
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.secured_quorum import NAMESERVICE, SecuredQuorum
from tests.support.security.zookeeper import PRINCIPAL, sasl_zookeeper
from tests.support.zookeeper import sessions_at, zookeeper_server

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


TIMES = TokenTimes(renewal_s=100, lifetime_s=250, key_s=60)


class Server:
    """One server's tokens over a store that others share."""

    def __init__(self, store: TokensInZooKeeper) -> None:
        self.store = store
        self.now_ms = 1_000_000
        self.tokens = ServerTokens(
            TIMES,
            store,
            WEBHDFS_DELEGATION,
            lambda name: name.partition("@")[0],
            lambda: self.now_ms,
            most_of_one=4,
        )


def tokens_at(zookeeper: Address, kdc: Kdc, path: str, who: str = "nn/localhost") -> Server:
    place = TokenPlace(ensemble(zookeeper, kdc, who), f"/{path}/ZKDTSMRoot")
    return Server(TokensInZooKeeper(place, "the gateways"))


def test_servers_have_their_delegation_tokens_in_common(zookeeper: Address, kdc: Kdc) -> None:
    one, other = (tokens_at(zookeeper, kdc, "gateways/tokens") for _ in range(2))
    with closing(one.store), closing(other.store):
        one.store.prepare()
        other.store.prepare()
        first = one.tokens.issue("alice", "rm", "", "here:1")
        second = other.tokens.issue("bob", "rm", "oozie", "")
        decode = DelegationTokenIdentifier.decode
        assert [decode(each.identifier).sequence_number for each in (first, second)] == [1, 2]
        # They are made by one key.
        assert {decode(each.identifier).master_key_id for each in (first, second)} == {1}
        assert other.tokens.proven(first).user == "alice"
        assert one.tokens.proven(second).real_user == "oozie"
        with pytest.raises(errors.AccessDenied, match="wrong password"):
            other.tokens.renew(Token(first.identifier, second.password, first.kind), "rm")
        one.now_ms = other.now_ms = one.now_ms + 90_000
        assert other.tokens.renew(first, "rm") == other.now_ms + 100_000
        one.tokens.cancel(second, "bob")
        with pytest.raises(errors.InvalidToken, match="can't be found"):
            other.tokens.proven(second)
        for call in (
            lambda: one.tokens.renew(second, "rm"),
            lambda: one.tokens.cancel(second, "rm"),
        ):
            with pytest.raises(errors.InvalidToken):
                call()
        # The first key makes none any more, and is good for what it has made.
        third = one.tokens.issue("alice", "rm", "", "")
        assert decode(third.identifier).master_key_id == 2
        assert other.tokens.proven(first).user == other.tokens.proven(third).user == "alice"
        assert (len(one.tokens), len(other.tokens)) == (2, 2)
        for _ in range(2):
            one.tokens.issue("alice", "rm", "", "")
        with pytest.raises(errors.AccessDenied, match="alice has 4 delegation tokens of the gate"):
            other.tokens.issue("alice", "rm", "", "")
        # All is over, the keys as well.
        one.now_ms += 1_000_000
        one.tokens.issue("carol", "rm", "", "")
        assert len(one.tokens) == 1
        with closing(Session(ensemble(zookeeper, kdc, "nn/localhost"))) as session:
            assert session.children("/gateways/tokens/ZKDTSMRoot/ZKDTSMMasterKeyRoot") == ["DK_3"]


def test_a_server_that_stops_ends_its_session(zookeeper: Address, kdc: Kdc) -> None:
    before = sessions_at(zookeeper)
    server = tokens_at(zookeeper, kdc, "gateways/stopped")
    server.store.prepare()
    token = server.tokens.issue("alice", "rm", "", "")
    assert sessions_at(zookeeper) == before + 1
    server.tokens.close()
    assert sessions_at(zookeeper) == before
    with pytest.raises(errors.RetriableError, match="this server stops"):
        server.tokens.proven(token)
    assert sessions_at(zookeeper) == before


def test_an_administrator_may_make_the_place_of_tokens(zookeeper: Address, kdc: Kdc) -> None:
    """Where the servers have no right to make it."""
    hers = parse_acls("sasl:alice:cdrwa", "acl")
    with closing(Session(ensemble(zookeeper, kdc, "nn/localhost"))) as session:
        session.make_directory("/administrators")
    as_hers = replace(ensemble(zookeeper, kdc, "nn/localhost"), acls=hers)
    with closing(Session(as_hers)) as session:
        session.create("/administrators/hers", b"")
    place = TokenPlace(
        replace(ensemble(zookeeper, kdc, "alice"), acls=hers), "/administrators/hers/ZKDTSMRoot"
    )
    server = Server(TokensInZooKeeper(place, "the gateways"))
    with closing(server.store):
        server.store.prepare()
        assert server.tokens.proven(server.tokens.issue("bob", "rm", "", "")).user == "bob"


def test_keys_that_others_may_have_planted_are_refused(zookeeper: Address, kdc: Kdc) -> None:
    root = "/open/tokens/ZKDTSMRoot"
    anybody = replace(ensemble(zookeeper, kdc, None), acls=parse_acls("world:anyone:cdrwa", "acl"))
    with closing(Session(anybody)) as session:
        session.make_directory(f"{root}/ZKDTSMMasterKeyRoot")
    mine = tokens_at(zookeeper, kdc, "open/tokens")
    with closing(mine.store), pytest.raises(errors.InvalidConfiguration, match="another ACL"):
        mine.store.prepare()
    theirs = tokens_at(zookeeper, kdc, "hers/tokens", "alice")
    with closing(theirs.store), pytest.raises(errors.ServiceFailed, match="no right to make it"):
        # What she makes is for nn.
        theirs.store.prepare()


def test_damaged_records_count_for_nothing(
    zookeeper: Address, kdc: Kdc, caplog: pytest.LogCaptureFixture
) -> None:
    mine = tokens_at(zookeeper, kdc, "damaged")
    root = "/damaged/ZKDTSMRoot"
    with closing(mine.store), closing(Session(ensemble(zookeeper, kdc, "nn/localhost"))) as session:
        mine.store.prepare()
        token = mine.tokens.issue("alice", "rm", "", "")
        session.create(f"{root}/ZKDTSMTokensRoot/DT_9", b"\x00damaged")
        session.create(f"{root}/ZKDTSMMasterKeyRoot/DK_9", b"\xff" * 9)
        assert mine.store.count_of("alice") == 1
        assert mine.tokens.proven(token).user == "alice"
        assert mine.tokens.proven(mine.tokens.issue("bob", "", "", "")).user == "bob"
        session.replace(f"{root}/ZKDTSMTokensRoot/DT_1", b"x")
        with pytest.raises(errors.InvalidToken):
            mine.tokens.proven(token)
        session.replace(f"{root}/ZKDTSMSeqNumRoot", b"x")
        with pytest.raises(errors.ServiceFailed, match="ZKDTSMSeqNumRoot at ZooKeeper is damaged"):
            mine.tokens.issue("alice", "rm", "", "")
    assert "DT_9 at ZooKeeper is damaged" in caplog.text
    assert "DK_9 at ZooKeeper is damaged" in caplog.text
