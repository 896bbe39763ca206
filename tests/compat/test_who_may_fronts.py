"""Who may ask routers, gateways and secondary namenodes for what: their part of docs/who-may.md."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import howdah
from howdah.config import Configuration
from howdah.config.value_types import Address
from howdah.formats.tokens.token import Token
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem
from howdah.router.state.table.cache_ids import routers_id
from howdah.router.state.table.mount_table import Destination, MountEntry
from howdah.router.store.factory import store_at, store_place
from howdah.testing.waiting import wait_until
from tests.compat.test_secured_secondary import settings as secondary_settings
from tests.support.security.httpfs import OurSecuredHttpFs
from tests.support.security.kdc import REALM, Kdc
from tests.support.security.our_routers import OurRouters
from tests.support.security.our_servers import OurSecuredCluster
from tests.support.security.servers import START_S, HadoopServers, free_port
from tests.support.security.who_may.addresses import (
    WEB_FRONTS,
    WEB_ROWS,
    WebRow,
    expected_status,
)
from tests.support.security.who_may.askers import Asker
from tests.support.security.who_may.asking import Askers
from tests.support.security.who_may.calls import ANSWERED, FRONTS, ROWS, RpcRow, expected
from tests.support.security.who_may.checking import check_answers, check_statuses
from tests.support.security.who_may.requests import DIRECTORY, MOUNT, POOL

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("kerberos_environment")]

TOKEN_LIFE_S = 8
LIFE = {
    "dfs.namenode.delegation.token.renew-interval": str(TOKEN_LIFE_S * 1000),
    "delegation-token.renew-interval.sec": str(TOKEN_LIFE_S),
    "dfs.storage.policy.satisfier.mode": "external",
    "dfs.federation.router.quota.enable": "true",
}


@pytest.fixture(scope="module")
def held() -> Iterator[ExitStack]:
    """What is closed at the end, the last first."""
    with ExitStack() as held:
        yield held


@pytest.fixture(scope="module")
def secondary_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def cluster(
    kdc: Kdc, held: ExitStack, secondary_port: int, tmp_path_factory: pytest.TempPathFactory
) -> OurSecuredCluster:
    """With a secondary namenode, and something of the owner's."""
    directory = tmp_path_factory.mktemp("behind")
    conf = {
        **LIFE,
        **secondary_settings(kdc, http_port=secondary_port),
        "dfs.namenode.checkpoint.dir": f"file://{directory}/secondary",
        # Whose keytab is confined where its key is known.
        "dfs.journalnode.kerberos.principal": f"jn/_HOST@{REALM}",
    }
    with kdc.in_environment():
        cluster = OurSecuredCluster(directory, "", kdc, conf)
        held.callback(cluster.close)
        servers = HadoopServers(tmp_path_factory.mktemp("secondary"), "", kdc.environment)
        held.callback(servers.close)
        servers.start_ours("secondary", "secondarynamenode", cluster.conf_dir)
        wait_until(lambda: listens(servers, secondary_port), START_S)
        with cluster.connect("alice") as owner, cluster.connect("hdfs") as fs:
            owner.mkdirs(DIRECTORY)
            owner.set_permission(DIRECTORY, 0o700)
            fs.add_cache_pool(POOL, owner="alice", mode=0o700)
            assert owner.add_cache_directive(DIRECTORY, POOL) == 1
    return cluster


def listens(servers: HadoopServers, port: int) -> bool:
    """Whether somebody listens at a port. Raises AssertionError where a server has ended."""
    servers.check()
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def pool_of(cluster: OurSecuredCluster) -> str:
    """The id of its block pool."""
    version = (cluster.name_directory / "current" / "VERSION").read_text()
    (found,) = re.findall(r"^blockpoolID=(.+)$", version, re.M)
    return str(found)


def issued(fs: HdfsFileSystem | WebHdfsFileSystem) -> Token:
    token = fs.get_delegation_token("alice")
    assert token is not None
    return token


@pytest.fixture(scope="module")
def at_router(
    kdc: Kdc, cluster: OurSecuredCluster, held: ExitStack, tmp_path_factory: pytest.TempPathFactory
) -> Askers:
    with kdc.in_environment():
        routers = OurRouters(tmp_path_factory.mktemp("router"), cluster, LIFE)
        held.callback(routers.close)
        store = store_at(store_place(Configuration(routers.conf)))
        entry = MountEntry(MOUNT, (Destination("ns", "/user"),), owner="alice", mode=0o700)
        assert store.add_mount(entry)
        store.close()
        routers.start()
        owner = held.enter_context(routers.connect())
        expired, issued_s = issued(owner), time.monotonic()
        host, _, port = routers.http_address().rpartition(":")
        asking = Askers(
            kdc,
            routers.client_conf(),
            {
                "router": ("localhost", routers.ports["router"]),
                "router-admin": ("localhost", routers.admin_ports["router"]),
            },
            lambda: issued(owner),
            expired,
            pool_of(cluster),
            {"router": (host, int(port))},
            directive_id=routers_id("ns", 1),
        )
        held.callback(asking.close)
        wait_until(lambda: time.monotonic() > issued_s + TOKEN_LIFE_S, 2 * TOKEN_LIFE_S)
    return asking


def web_askers(
    kdc: Kdc, cluster: OurSecuredCluster, held: ExitStack, web: dict[str, Address], uri: str
) -> Askers:
    """Those who come to a web port alone, whose tokens are issued at a URI."""
    fs = howdah.connect(
        uri,
        conf=Configuration(cluster.client_conf()),
        keytab=str(kdc.keytab("alice")),
        principal=f"alice@{REALM}",
    )
    assert isinstance(fs, HdfsFileSystem | WebHdfsFileSystem)
    held.enter_context(fs)
    over = issued(fs)
    fs.cancel_delegation_token(over)
    return Askers(kdc, cluster.client_conf(), {}, lambda: issued(fs), over, "", web)


@pytest.fixture(scope="module")
def at_gateway(
    kdc: Kdc, cluster: OurSecuredCluster, held: ExitStack, tmp_path_factory: pytest.TempPathFactory
) -> Askers:
    with kdc.in_environment():
        proxies = {"httpfs.proxyuser.oozie.groups": "", "httpfs.proxyuser.oozie.users": "bob"}
        front = OurSecuredHttpFs(tmp_path_factory.mktemp("gateway"), "", cluster, proxies)
        held.callback(front.close)
        place = {"gateway": ("localhost", front.port)}
        return web_askers(kdc, cluster, held, place, f"webhdfs://localhost:{front.port}")


@pytest.fixture(scope="module")
def at_secondary(
    kdc: Kdc, cluster: OurSecuredCluster, held: ExitStack, secondary_port: int
) -> Askers:
    with kdc.in_environment():
        place = {"secondary": ("localhost", secondary_port)}
        return web_askers(kdc, cluster, held, place, cluster.uri)


@pytest.mark.parametrize("row", [row for row in ROWS if row.port in FRONTS], ids=str)
def test_a_call_is_answered_to_whom_the_table_says(at_router: Askers, row: RpcRow) -> None:
    found = {who: at_router.ask(row, who) for who in Asker}
    if row.method == "enterSafeMode":
        (leaving,) = [each for each in ROWS if each.method == "leaveSafeMode"]
        assert at_router.ask(leaving, Asker.ADMINISTRATOR) == ANSWERED
    check_answers(found, {who: expected(row, who) for who in Asker})


@pytest.mark.parametrize("row", [row for row in WEB_ROWS if row.port in WEB_FRONTS], ids=str)
def test_an_address_is_answered_to_whom_the_table_says(
    request: pytest.FixtureRequest, row: WebRow
) -> None:
    asking: Askers = request.getfixturevalue(f"at_{row.port}")
    check_statuses(
        {who: asking.status_of(row.port, row.target(""), who) for who in Asker},
        {who: expected_status(row, who) for who in Asker},
    )
